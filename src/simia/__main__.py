"""``python -m simia``: the command, where no script is on the path."""

from simia.cli.main import main

main()
