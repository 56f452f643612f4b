"""Reads the file format of the released EnvSimBench, where a user has it, as a suite of simia.

A file is a JSON array, or JSON Lines, of samples: ``env_code`` (the class), ``task_info`` (``env_id``, ``task``), and
``step_detail`` with ``action`` (``name``, ``arguments``), ``observation``, ``config_before``, ``config_after``; or with
many steps in ``trajectory`` in its place. The data are the benchmark's own, and no part of simia.
"""

import ast
import hashlib
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import orjson

from simia.bench.normal import NOT_JSON, parsed
from simia.bench.published import object_in
from simia.bench.questions import cell_name
from simia.bench.sample import Sample, sample_id
from simia.bench.suite import Suite, SuiteHead
from simia.errors import ConfigError
from simia.formats.calls import dump_json
from simia.store.atomic import LOOK, disk
from simia.types import JsonObject, StateDelta, ToolCall, ToolSpec, WorldSpec, content_id

ORIGIN = "released"


def read_released(path: Path, licence: str = "LicenseRef-unknown") -> Suite:
    """The samples of ``path`` as a suite. Each environment is a world whose tools are those that its samples call, with
    the whole class as their code.

    Raises:
        ConfigError: the file is none of the released format; the message says where.
        StoreError: it cannot be read.
    """
    with disk(path, "read", LOOK):
        content = path.read_bytes()
    samples: list[Sample] = []
    tools: dict[str, dict[str, ToolSpec]] = {}
    for number, record in enumerate(_records(path, content), start=1):
        for step in _steps(record, f"{path}, sample {number}"):
            name, spec, sample = _sample(record, step, f"{path}, sample {number}")
            world, variant = name, 2
            while tools.setdefault(world, {}).setdefault(spec.name, spec) != spec:  # the same id, and other code
                world, variant = f"{name}~{variant}", variant + 1
            samples.append(sample if world == name else _moved(sample, world))
    if not samples:
        raise ConfigError(f"{path} holds no sample: give the JSON file of the released EnvSimBench")
    worlds = {
        name: WorldSpec(
            name=name, policy="", tools=tuple(specs.values()), state_schema={"type": "object"}, licence=licence
        )
        for name, specs in tools.items()
    }
    distinct = _distinct(samples)
    cells: dict[str, Counter[str]] = {}
    for sample in distinct:
        cells.setdefault(cell_name(sample), Counter())[sample.world] += 1
    head = SuiteHead(
        name=path.name.split(".json")[0],
        version="released",
        licence=licence,
        made_by="EnvSimBench",
        seed=0,
        worlds=worlds,
        quotas={cell: counts.total() for cell, counts in cells.items()},
        worlds_by_cell={cell: dict(counts) for cell, counts in cells.items()},
        note="read from the released format of EnvSimBench (arXiv 2605.07247)",
    )
    return Suite(head, (), distinct, hashlib.sha256(content).hexdigest())


def _moved(sample: Sample, world: str) -> Sample:
    named = sample_id(world, sample.call, content_id(sample.state))
    return sample.model_copy(update={"world": world, "id": named})


def _records(path: Path, content: bytes) -> Iterator[JsonObject]:
    try:
        whole = orjson.loads(content)
        listed = whole if isinstance(whole, list) else [whole]
    except orjson.JSONDecodeError:
        try:
            listed = [orjson.loads(line) for line in content.splitlines() if line.strip()]
        except orjson.JSONDecodeError as cause:
            raise ConfigError(f"{path} is neither JSON nor JSON Lines: {cause}") from cause
    for number, record in enumerate(listed, start=1):
        if not isinstance(record, dict):
            raise ConfigError(f"{path}, sample {number}: no JSON object")
        yield record


def _steps(record: JsonObject, where: str) -> Iterator[JsonObject]:
    found = [record["step_detail"]] if "step_detail" in record else record.get("trajectory")
    if not isinstance(found, list):
        raise ConfigError(f"{where}: neither step_detail nor trajectory: is it a file of the released EnvSimBench?")
    for step in found:
        if isinstance(step, dict) and isinstance(step.get("action"), dict):
            yield step


def _sample(record: JsonObject, step: JsonObject, where: str) -> tuple[str, ToolSpec, Sample]:
    code = record.get("env_code") or record.get("env") or record.get("environment")
    before, after, action = step.get("config_before"), step.get("config_after"), step["action"]
    if not isinstance(code, str) or not isinstance(before, dict) or not isinstance(after, dict):
        raise ConfigError(f"{where}: env_code, config_before and config_after are needed")
    arguments = action.get("arguments") or action.get("args") or {}
    if isinstance(arguments, str):
        arguments = object_in(arguments)
    if not isinstance(arguments, dict):
        raise ConfigError(f"{where}: the arguments of {action.get('name')!r} are no object")
    info = record.get("task_info") if isinstance(record.get("task_info"), dict) else {}
    world = str((info or {}).get("env_id") or content_id(code)[:8])
    name = action.get("name") or action.get("action")
    if not isinstance(name, str):
        raise ConfigError(f"{where}: the action has no name")
    call = ToolCall(id="call_1", name=name, arguments=arguments)
    shown = step.get("observation")
    observation = shown.get("content") if isinstance(shown, dict) else shown
    text = _as_json(observation) if isinstance(observation, str) else dump_json(observation)
    value = parsed(text)
    spec = ToolSpec(name=call.name, parameters={"type": "object"}, source=code)
    sample = Sample(
        id=sample_id(world, call, content_id(before)),
        world=world,
        origin=ORIGIN,
        call=call,
        state=before,
        observation=text,
        is_error=isinstance(value, dict) and value.get("success") is False,
        delta=StateDelta.between(before, after),
    )
    return world, spec, sample


def _as_json(text: str) -> str:
    """``text``, or the JSON of the Python literal that it is: the released observations were written with ``str``, and
    a simulator answers in JSON.
    """
    if parsed(text) is not NOT_JSON:
        return text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns about backslashes that it does not know
            value = ast.literal_eval(text.strip())
        return dump_json(value) if value is None or isinstance(value, dict | list | tuple | bool) else text
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def _distinct(samples: list[Sample]) -> tuple[Sample, ...]:
    """The first sample of each question."""
    found: dict[str, Sample] = {}
    for sample in samples:
        found.setdefault(sample.id, sample)
    return tuple(found.values())
