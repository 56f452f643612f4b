"""Is a world folder fit to make conversations from? Everything that is wrong with it, each with what to do."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from simia.config import read_toml
from simia.errors import ConfigError, FormatError, RecordError, SchemaError
from simia.formats.calls import load_json
from simia.seeds.calls import call_problem
from simia.seeds.invariants import check_expression, violations
from simia.seeds.world_folder.reading import WORLD_FILE, read_seeds, read_settings, read_world
from simia.seeds.world_folder.scaffold import EXAMPLE
from simia.types import AssistantMessage, Dropped, Seed, ToolMessage, UserMessage, WorldSpec, schema_for

_FEW_SEEDS = 3
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SPDX = re.compile(r"[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+-]+)*")
_PLACEHOLDER = re.compile(
    r"\b(TODO|FIXME|REPLACE ME|lorem ipsum|your[ _-]?(company|domain|name)[ _-]?here)\b", re.IGNORECASE
)
_COPIED = ("policy.md", "tools.json", "seeds.jsonl")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about a world folder. With an ``error`` it cannot be used; a ``warning`` is worth a thought."""

    severity: Literal["error", "warning"]
    where: str
    problem: str
    remedy: str


def no_rules(seed: Seed) -> Dropped | None:
    """Finds nothing wrong with any seed."""
    return None


def check_world(folder: Path, broken_rule: Callable[[Seed], Dropped | None] = no_rules) -> list[Finding]:
    """Everything that is wrong with the folder: errors first, otherwise in the order of files. Empty: all is well.

    ``broken_rule`` says which rule of those who use the seeds a seed breaks. It is asked where nothing else is wrong.
    """
    try:
        settings = read_settings(folder)
        world = read_world(folder)
    except ConfigError as cause:
        return [_error(str(folder), str(cause), f"correct it; `{WORLD_FILE}` names the files of the folder")]
    found = [*_world_findings(world), *_invariant_findings(world)]
    seeds_file = settings.seeds
    found += _placeholder_findings(folder, (settings.policy, settings.tools, seeds_file))
    found += _recipe_findings(folder)
    bad: list[RecordError] = []
    seeds = 0
    called: Counter[str] = Counter()
    try:
        for seed in read_seeds(folder, bad.append):
            seeds += 1
            called.update(call.name for m in seed.reference if isinstance(m, AssistantMessage) for call in m.tool_calls)
            wrong = list(_seed_findings(seed, seeds_file))
            found += wrong
            if not any(finding.severity == "error" for finding in wrong):
                found += _rule_findings(broken_rule(seed), f"{seeds_file}: {seed.id}")
    except ConfigError as cause:
        found.append(_error(seeds_file, str(cause), "write at least one seed conversation"))
        return _sorted(found)
    found += [_error(f"{seeds_file}:{error.line}", error.reason, "correct or remove the record") for error in bad]
    found += [
        _warning("tools.json", f"no seed calls the tool {tool.name!r}", "add a seed that does, or drop the tool")
        for tool in world.tools
        if seeds and tool.name not in called
    ]
    if 0 < seeds < _FEW_SEEDS:
        found.append(
            _warning(
                seeds_file, f"only {seeds} seeds", "conversations will resemble them; ten different ones do better"
            )
        )
    return _sorted(found)


def _world_findings(world: WorldSpec) -> Iterator[Finding]:
    if not world.policy:
        yield _error("policy.md", "the policy is empty", "say what the agent may do, must do and must refuse")
    if not world.tools:
        yield _error("tools.json", "there are no tools", "declare at least one tool")
    if world.licence == "NOASSERTION":
        yield _warning(
            WORLD_FILE, "the licence is NOASSERTION", "name the licence of your seeds, for example Apache-2.0"
        )
    elif not _SPDX.fullmatch(world.licence):
        yield _warning(WORLD_FILE, f"{world.licence!r} is no SPDX identifier", "see https://spdx.org/licenses")
    for tool in world.tools:
        where = f"tools.json: {tool.name}"
        if not _TOOL_NAME.fullmatch(tool.name):
            yield _error(where, "model servers refuse this name", "use letters, digits, _ and -, at most 64")
        if tool.parameters.get("type") != "object":
            yield _error(where, "the parameters are no object schema", 'start them with {"type": "object", ...}')
        if not tool.description:
            yield _warning(where, "the tool has no description", "say in one sentence what it does")
        if tool.returns is None:
            yield _warning(where, "the tool has no returns schema", "add one, or any invented result will pass")


def _invariant_findings(world: WorldSpec) -> Iterator[Finding]:
    if world.state_schema is not None:
        try:
            schema_for(world.state_schema)
        except SchemaError as cause:
            yield _error("state_schema.json", str(cause), "see https://json-schema.org")
    elif world.invariants:
        yield _warning(WORLD_FILE, "there are invariants but no state_schema", "without a state they are never asked")
    for invariant in world.invariants:
        for expression in filter(None, (invariant.expression, invariant.refers_to)):
            try:
                check_expression(expression)
            except SchemaError as cause:
                yield _error(f"{WORLD_FILE}: invariant {invariant.name!r}", str(cause), "see https://jmespath.org")


def _placeholder_findings(folder: Path, names: tuple[str, ...]) -> Iterator[Finding]:
    for name, example in zip(names, _COPIED, strict=True):
        path = folder / name
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if folder.resolve() != EXAMPLE.resolve() and text == (EXAMPLE / example).read_text(encoding="utf-8"):
            yield _warning(name, "this is still the scaffold's example", "replace it by your own")
        placeholder = _PLACEHOLDER.search(text)
        if placeholder is not None:
            line = text.count("\n", 0, placeholder.start()) + 1
            yield _warning(f"{name}:{line}", f"{placeholder.group()!r} looks like a placeholder", "fill it in")


def _recipe_findings(folder: Path) -> Iterator[Finding]:
    if (folder / "recipe.toml").is_file():
        try:
            read_toml(folder / "recipe.toml")
        except ConfigError as cause:
            yield _error("recipe.toml", str(cause), "correct the TOML")


def _seed_findings(seed: Seed, file: str) -> Iterator[Finding]:
    where = f"{file}: {seed.id}"
    yield from _state_findings(seed, where)
    if not isinstance(seed.reference[0], UserMessage):
        yield _error(where, "the conversation does not start with the user", "start it with what the user wants")
    last = seed.reference[-1]
    if not isinstance(last, AssistantMessage) or last.tool_calls or not last.content:
        yield _error(where, "the conversation does not end with the agent's words", "let the agent have the last word")
    waiting: dict[str, str] = {}
    for message in seed.reference:
        if isinstance(message, ToolMessage):
            if message.call_id not in waiting:
                yield _error(
                    where, f"the observation {message.call_id!r} answers no call", "pair ids of calls and results"
                )
                continue
            name = waiting.pop(message.call_id)
            problem = None if message.is_error else _result_problem(seed.world, name, message.content)
            if problem is not None:
                yield _error(where, problem, "correct the result, or the schema")
            continue
        if waiting:
            yield _error(where, f"no observation follows the call of {', '.join(waiting.values())}", "add its result")
            waiting = {}
        if isinstance(message, AssistantMessage):
            for malformed in message.malformed_calls:
                yield _error(
                    where, f"a call cannot be read: {malformed.reason}", "write its arguments as a JSON object"
                )
            for call in message.tool_calls:
                waiting[call.id] = call.name
                problem = call_problem(seed.world, call)
                if problem is not None:
                    yield _error(where, problem, "correct the call, or take it out: agents would learn it")
    if waiting:
        yield _error(where, f"no observation follows the call of {', '.join(waiting.values())}", "add its result")


def _rule_findings(broken: Dropped | None, where: str) -> Iterator[Finding]:
    if broken is not None:
        yield _error(where, f"the prefilter drops it as {broken.rule}: {broken.detail}", "correct the conversation")


def _state_findings(seed: Seed, where: str) -> Iterator[Finding]:
    if seed.world.state_schema is None:
        if seed.initial_state is not None:
            yield _warning(where, "it has an initial_state, but the world has no state_schema", "add the schema")
        return
    if seed.initial_state is None:
        yield _warning(where, "it has no initial_state", "add one, or its tools are simulated without a state")
        return
    try:
        broken = violations(seed.world, seed.initial_state)
    except SchemaError:
        return  # told once, for the world
    for sentence in broken:
        yield _error(where, f"initial_state: {sentence}", "correct the state, or the law that it breaks")


def _result_problem(world: WorldSpec, name: str, content: str) -> str | None:
    """Why a result does not fit what its tool declares, or None."""
    tool = world.tool.get(name)
    schema = None if tool is None else tool.returns_schema
    if schema is None:
        return None
    try:
        value = load_json(content)
    except FormatError:
        value = content
    broken = schema.violations(value)
    return f"the result of {name} does not fit its returns schema: {broken[0]}" if broken else None


def _sorted(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: finding.severity != "error")


def _error(where: str, problem: str, remedy: str) -> Finding:
    return Finding("error", where, problem, remedy)


def _warning(where: str, problem: str, remedy: str) -> Finding:
    return Finding("warning", where, problem, remedy)
