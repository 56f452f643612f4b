"""A new world folder: a small working example to write over."""

import re
from pathlib import Path

import orjson

from simia.errors import ConfigError

EXAMPLE = Path(__file__).parent / "example"
"""The example: a lending library with five tools and three seeds."""

_EXAMPLE_NAME = "library"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def scaffold(folder: Path, name: str) -> list[Path]:
    """Write the example into ``folder`` as the world ``name``; gives the files written. It passes ``check_world``.

    Raises:
        ConfigError: the name has other characters than letters, digits, ``_``, ``.`` and ``-``, the folder has content
            already, or it cannot be written.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is no name for a world: use letters, digits, _, . and -")
    written = []
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ConfigError(f"{folder} exists and is not empty: choose another folder")
        folder.mkdir(parents=True, exist_ok=True)
        for source in sorted(EXAMPLE.iterdir()):
            text = source.read_text(encoding="utf-8")
            if source.suffix in (".toml", ".md"):
                text = text.replace(f'name = "{_EXAMPLE_NAME}"', f"name = {orjson.dumps(name).decode()}")
                text = text.replace(f"# The world `{_EXAMPLE_NAME}`", f"# The world `{name}`")
            path = folder / source.name
            written.append(path)
            path.write_text(text, encoding="utf-8")
    except OSError as cause:
        for path in written:
            path.unlink(missing_ok=True)
        raise ConfigError(f"cannot write {folder}: {cause.strerror}: take a place with room to write") from cause
    return written
