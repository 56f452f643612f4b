"""What the commands that fill a run folder share: their settings, the folder, the command to go on with."""

import sys
from pathlib import Path

from simia.errors import ConfigError


def all_words(words: list[str] | None, model: str | None, max_cost: float | None) -> list[str]:
    """The settings of the command line, options after words, because they are more explicit."""
    import orjson

    extra = [] if model is None else [f"model.name={orjson.dumps(model).decode()}"]
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
        begun_by = _command_of(folder)
        if begun_by != command:
            raise ConfigError(f"{folder} holds a run of {begun_by}, which {command} cannot go on with: check --run")


def _command_of(folder: Path) -> str:
    """Which command a run was begun by."""
    from simia.store import Run

    with Run.read(folder) as run:
        return "simia bench run" if {"suite", "setting"} <= run.manifest.config.keys() else "simia synth"


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
