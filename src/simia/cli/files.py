"""Files that a command writes where the user says: never over something by mistake, and whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from simia.errors import ConfigError

ForceOption = Annotated[bool, typer.Option("--force", help="Replace what is there.")]


def demand_free(path: Path, *, force: bool) -> None:
    """Refuse to write over a file or into a folder that holds a file, unless ``force`` is given. Called before any
    work is done.

    Raises:
        ConfigError: there is something.
        StoreError: it cannot be looked at.
    """
    with writing(path):
        is_taken = any(one.is_file() for one in path.rglob("*")) if path.is_dir() else path.exists()
    if is_taken and not force:
        raise ConfigError(f"{path} exists: take another name, or --force to replace it")


def write_text(path: Path, text: str) -> None:
    """Write a file in the place of an older one; its folder is made.

    Raises:
        StoreError: it cannot be written; the older one is untouched.
    """
    from simia.store.atomic import ELSEWHERE, write_atomically

    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode(), ELSEWHERE)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` inside the block into an error that names ``path``, and not a file beside it.

    Raises:
        StoreError: it cannot be written.
    """
    from simia.store.atomic import ELSEWHERE, disk

    with disk(path, "write", ELSEWHERE):
        yield
