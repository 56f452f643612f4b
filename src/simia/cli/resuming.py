"""What the commands that fill a run folder share: their settings, the folder, the command to go on with."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from simia.errors import ConfigError

if TYPE_CHECKING:
    from simia.types import JsonObject


def all_words(
    words: list[str] | None, model: str | None, max_cost: float | None, **options: str | int | bool | None
) -> list[str]:
    """The settings of the command line, options after words, because they are more explicit; an option that is None was
    not given.
    """
    import orjson

    given = {"model.name": model, **options}
    extra = [f"{key}={orjson.dumps(value).decode()}" for key, value in given.items() if value is not None]
    if max_cost is not None:
        extra.append(f"model.max_cost={max_cost!r}")
    return [*(words or []), *extra]


def demand_folder(folder: Path, command: str, *, resume: bool) -> None:
    """Refuse a folder that cannot be meant by ``command`` (``simia synth``) before anything is fetched or asked.

    Raises:
        ConfigError: it holds a run and should not, or holds none, or one of another command, and should.
    """
    if resume and not (folder / "run.json").exists():
        raise ConfigError(f"{folder} holds no run to go on with: leave --resume out, or check --run")
    if not resume and (folder / "run.json").exists():
        raise ConfigError(f"{folder} holds a run already: add --resume to go on with it, or take another --run")
    if resume:
        begun_by = _begun_by(recorded(folder))
        if begun_by != command:
            raise ConfigError(f"{folder} holds a run of {begun_by}, which {command} cannot go on with: check --run")


def _begun_by(config: "JsonObject") -> str:
    """The command that makes runs with such settings."""
    marks = {"setting": "simia bench run", "worlds": "simia reward calibrate", "learn": "simia train grpo"}
    return next((command for key, command in marks.items() if key in config), "simia synth")


def recorded(folder: Path) -> "JsonObject":
    """The settings that a run was begun with.

    Raises:
        StoreError: there is no run, or its manifest cannot be read.
    """
    from simia.store import Run

    with Run.read(folder) as run:
        return run.manifest.config


def same_command(*more: str) -> list[str]:
    """The very command that was given, with ``more`` at its end."""
    return ["simia", *(word for word in sys.argv[1:] if word not in more), *more]


def without_ceiling(command: list[str]) -> list[str]:
    """``command`` without its ceiling, however that was spelled."""
    words = iter(command)
    kept = []
    for word in words:
        if word == "--max-cost":
            next(words, None)
        elif not word.startswith(("--max-cost=", "model.max_cost=")):
            kept.append(word)
    return kept
