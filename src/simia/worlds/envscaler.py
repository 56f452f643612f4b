"""Environments in the style of EnvScaler (https://github.com/RUC-NLPIR/EnvScaler) as worlds, from files of the user.

Each is a Python class as text, with its public methods as tools and its attributes as state. EnvScaler's released file
of environments is an object by ``env_id``, or a list; of each we read ``env_class_name``, ``env_class_code``,
``environment_introduction`` and ``constraints_rules``. The schemas of the tools are read off the code, not ``tools``.
Its files of scenarios are lists of ``env_id``, ``task_id``, ``task`` and ``init_config``, or of ``env_id`` and
``init_config_list``; a configuration may be JSON text. Nothing of its check functions is executed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simia.errors import ConfigError, FormatError, RecordError, SandboxViolation, SeedError
from simia.formats.calls import dump_json, load_json
from simia.seeds.licence import licence_of
from simia.seeds.records import OnBad, records
from simia.types import JsonObject, State, WorldTask
from simia.worlds.sandbox import NOON, Limits, SandboxedWorld, read_module

LICENCE = "NOASSERTION"
"""The files state none; whoever has them may know it."""


def _raised(error: RecordError) -> None:
    raise error


def read_worlds(
    path: Path,
    scenarios: Path | None = None,
    *,
    licence: str = LICENCE,
    limits: Limits | None = None,
    now: float = NOON,
    on_bad: OnBad = _raised,
) -> Iterator[SandboxedWorld]:
    """The worlds of a file of environments, or the one of a ``.py`` file (:mod:`simia.worlds.sandbox.module`).

    They come one at a time, and none has a child process before it is used. Scenarios are held as JSON text, so memory
    grows with the size of their file.

    Args:
        scenarios: a file of scenarios for a file of environments.
        licence: of environments that do not state their own.
        now: the moment at which the clocks stand, in seconds since 1970.
        on_bad: takes the records that cannot be used, with the reason; without it the first one is raised.

    Raises:
        RecordError: a record cannot be used.
        SeedError: a file is missing, unreadable or empty, or no scenario belongs to any of the environments.
        ConfigError: the ``.py`` file cannot be used.
        SandboxViolation: the class in it runs into a wall when it is loaded.
    """
    if path.suffix == ".py":
        if scenarios is not None:
            raise ConfigError(f"{path} takes no file of scenarios: write states beside its class")
        world = read_module(path, licence=licence, limits=limits, now=now)
        world.close()
        yield world
        return
    starts = {} if scenarios is None else _read_scenarios(scenarios, on_bad)
    met: set[str] = set()
    for line, record in _environments(path, on_bad):
        try:
            name = _text(record, "env_id" if "env_id" in record else "env_class_name")
            if name in met:
                raise FormatError(f"the environment {name!r} stands twice: keep one")
            met.add(name)
            start = starts.get(name, _Starts(name))
            world = SandboxedWorld(
                name,
                _text(record, "env_class_code"),
                _text(record, "env_class_name"),
                licence=licence_of(record) or licence,
                policy=_policy(record),
                states=start.configurations,
                scenarios=start,
                limits=limits,
                now=now,
            )
            world.close()
        except (FormatError, ConfigError, SandboxViolation) as cause:
            on_bad(RecordError(str(path), line, str(cause)))
        else:
            yield world
    if scenarios is not None and not met & starts.keys():
        raise SeedError(
            f"no scenario of {scenarios} belongs to an environment of {path}: the scenarios name {_some(starts)}, the "
            f"environments are {_some(met)}; take files that belong together"
        )


def _environments(path: Path, on_bad: OnBad) -> Iterator[tuple[int, JsonObject]]:
    """Line and record of each environment, whether the file is a list or an object by ``env_id``."""
    for line, record in records(path, on_bad):
        if "env_class_code" in record or "env_class_name" in record:
            yield line, record
            continue
        for name, inner in record.items():
            if isinstance(inner, dict):
                yield line, {"env_id": name, **inner}
            else:
                on_bad(RecordError(str(path), line, f"{name!r} is no environment: {inner!r:.80}; write an object"))


@dataclass
class _Texts:
    """Configurations as JSON text, which are read when somebody asks for the states."""

    texts: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[State]:
        return map(load_json, self.texts)


@dataclass
class _Starts:
    """The scenarios of an environment, and configurations without a task."""

    name: str
    configurations: _Texts = field(default_factory=_Texts)
    told: list[tuple[str, str, str]] = field(default_factory=list)

    def __iter__(self) -> Iterator[WorldTask]:
        for task_id, task, configuration in self.told:
            yield WorldTask(
                id=f"{self.name}:{task_id}", instruction=task, initial_state=load_json(configuration), gold=()
            )


def _read_scenarios(path: Path, on_bad: OnBad) -> dict[str, _Starts]:
    found: dict[str, _Starts] = {}
    for line, record in records(path, on_bad):
        try:
            name = _text(record, "env_id")
            start = found.setdefault(name, _Starts(name))
            if "init_config_list" in record:
                configurations = record["init_config_list"]
                if not isinstance(configurations, list):
                    raise FormatError(f"'init_config_list' is no list: {configurations!r:.80}")
                start.configurations.texts += [_configuration(one) for one in configurations]
            else:
                task_id = str(record.get("task_id") or len(start.told) + 1)
                start.told.append((task_id, _text(record, "task"), _configuration(record.get("init_config"))))
        except FormatError as cause:
            on_bad(RecordError(str(path), line, str(cause)))
    return found


def _configuration(value: Any) -> str:
    if isinstance(value, str):
        try:
            value = load_json(value)
        except FormatError as cause:
            raise FormatError(f"'init_config' is text, and {cause}") from cause
    if not isinstance(value, dict):
        raise FormatError(f"'init_config' is no object: {value!r:.80}")
    return dump_json(value)


def _text(record: JsonObject, key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str) or not value.strip():
        raise FormatError(f"{key!r} is no text: {value!r:.80}; it has to be there")
    return value


def _policy(record: JsonObject) -> str:
    introduction = record.get("environment_introduction") or ""
    rules = record.get("constraints_rules") or []
    if isinstance(rules, str):
        rules = [rules]
    if not isinstance(introduction, str) or not isinstance(rules, list):
        raise FormatError("'environment_introduction' has to be text, and 'constraints_rules' a list of texts")
    listed = "\n".join(f"- {rule}" for rule in rules)
    return "\n\n".join(part for part in (introduction.strip(), listed and f"Rules:\n{listed}") if part)


def _some(names: Any) -> str:
    shown = sorted(names)
    return ", ".join(map(repr, shown[:3])) + (f" and {len(shown) - 3} others" if len(shown) > 3 else "") or "none"
