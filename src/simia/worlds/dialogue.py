"""Scripted conversations in an executable world: the lines are written, the observations are what the world says."""

import string
from dataclasses import dataclass
from typing import Any

import orjson

from simia.seeds.invariants import violations
from simia.types import AssistantMessage, JsonObject, Message, Seed, State, ToolCall, ToolMessage, UserMessage
from simia.worlds.executable import ExecutableWorld


@dataclass(frozen=True, slots=True)
class User:
    """The user says ``text``."""

    text: str


@dataclass(frozen=True, slots=True)
class Say:
    """The agent says ``text``. ``{0[key]}`` stands for the result of the first call, ``{1[key]}`` for the second."""

    text: str


@dataclass(frozen=True, slots=True)
class Do:
    """The agent makes ``calls`` (name and arguments), in parallel if several, saying ``text`` beside them."""

    calls: tuple[tuple[str, JsonObject], ...]
    text: str = ""


Line = User | Say | Do


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One scripted conversation: its task, the state it starts from, its lines."""

    id: str
    task: str
    state: State
    lines: tuple[Line, ...]


def do(name: str, **arguments: Any) -> Do:
    """One call of ``name``."""
    return Do(((name, arguments),))


def do_all(*calls: tuple[str, JsonObject], say: str = "") -> Do:
    """Parallel calls of one turn."""
    return Do(calls, say)


def play(world: ExecutableWorld, dialogue: Dialogue) -> Seed:
    """The dialogue as a seed, every call executed in ``world``.

    Raises:
        ValueError: a state on the way breaks a law of the world, or a line refers to a result that does not exist.
    """
    state = dialogue.state
    _demand_lawful(world, dialogue, state)
    results: list[Any] = []
    messages: list[Message] = []
    for line in dialogue.lines:
        if isinstance(line, User):
            messages.append(UserMessage(content=_fill(line.text, results, dialogue)))
        elif isinstance(line, Say):
            messages.append(AssistantMessage(content=_fill(line.text, results, dialogue)))
        else:
            calls = tuple(
                ToolCall(id=f"call_{len(results) + position}", name=name, arguments=_filled(given, results, dialogue))
                for position, (name, given) in enumerate(line.calls, start=1)
            )
            messages.append(AssistantMessage(content=_fill(line.text, results, dialogue), tool_calls=calls))
            for call in calls:
                transition, state = world.run(state, call)
                _demand_lawful(world, dialogue, state)
                results.append(orjson.loads(transition.observation))
                messages.append(
                    ToolMessage(
                        call_id=call.id,
                        name=call.name,
                        content=transition.observation,
                        is_error=transition.is_error,
                    )
                )
    return Seed(
        id=dialogue.id,
        world=world.spec,
        task=dialogue.task,
        reference=tuple(messages),
        initial_state=dialogue.state,
        licence=world.spec.licence,
    )


def _fill(text: str, results: list[Any], dialogue: Dialogue) -> str:
    try:
        return string.Formatter().vformat(text, results, {})
    except (IndexError, KeyError, TypeError) as cause:
        raise ValueError(f"dialogue {dialogue.id}: {text!r} refers to a result that is not there: {cause}") from cause


def _filled(value: Any, results: list[Any], dialogue: Dialogue) -> Any:
    if isinstance(value, str):
        return _fill(value, results, dialogue)
    if isinstance(value, dict):
        return {key: _filled(inner, results, dialogue) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, results, dialogue) for inner in value]
    return value


def _demand_lawful(world: ExecutableWorld, dialogue: Dialogue, state: State) -> None:
    broken = violations(world.spec, state)
    if broken:
        raise ValueError(f"dialogue {dialogue.id}: {broken[0]}")
