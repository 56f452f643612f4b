"""What an executable world is: a spec, tools that are plain functions, and a state that they are given and change."""

import random
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

import orjson

from simia.config import rng_for
from simia.formats.calls import dump_json, load_json
from simia.seeds.calls import call_problem
from simia.types import Invariant, State, StateDelta, ToolCall, Transition, WorldSpec, WorldTask
from simia.worlds.drafting import TaskKind, draw_chain, draw_task
from simia.worlds.source import source_of
from simia.worlds.typed import schema_of, tool_of
from simia.worlds.world import World

_PACKAGE = "simia.worlds"
_TASKS = 20

Action = Callable[..., Any]
"""A tool: takes the state, which it may change, and the arguments by name; gives the result, a JSON object."""


class Refused(Exception):
    """A tool does not do what it was asked; the text is the observation. The state stays as it was.

    It never leaves :class:`ExecutableWorld`: a refused call is an observation, no error of simia.
    """


class ExecutableWorld(World):
    """A world of simia's own, whose tools are plain functions over its state, a JSON object."""

    def __init__(self, spec: WorldSpec, actions: Mapping[str, Action], kinds: Sequence[TaskKind] = ()) -> None:
        self.spec = spec
        self._actions = dict(actions)
        self._kinds = tuple(kinds)

    @abstractmethod
    def initial_state(self, rng: random.Random) -> State:
        """A state to start from, drawn with ``rng``; it satisfies the spec's state schema and invariants."""

    def tasks(self, count: int | None = None, seed: int = 0) -> Iterator[WorldTask]:
        """``count`` tasks that ``seed`` draws; a larger count only adds some."""
        for number in range(_TASKS if count is None else count):
            task_id = f"{self.spec.name}:{seed}:{number}"
            yield draw_task(self, self._kinds, self.initial_state, rng_for(seed, task_id), task_id)

    def long_tasks(self, count: int, seed: int = 0, least_calls: int = 12) -> Iterator[WorldTask]:
        """Tasks that go on one from another, as a customer may have several wishes."""
        for number, first in enumerate(self.tasks(count, seed)):
            yield draw_chain(self, self._kinds, first, rng_for(seed, f"{first.id}/long", number), least_calls)

    def source_of(self, name: str) -> str | None:
        """The function of the tool with the helpers and constants that it uses."""
        return source_of(self._actions[name], _PACKAGE)

    def run(self, state: State, call: ToolCall) -> tuple[Transition, State]:
        """What ``call`` shows and changes in ``state``, and the state after it. ``state`` stays as it is.

        A call that does not fit the tools, or that the tool refuses, gives ``{"error": ...}`` and changes nothing.
        """
        problem = call_problem(self.spec, call)
        if problem is not None:
            return _failed(problem), state
        after = _copy(state)
        try:
            result = self._actions[call.name](after, **call.arguments)
        except Refused as refusal:
            return _failed(str(refusal)), state
        return Transition(observation=dump_json(result), delta=StateDelta.between(state, after)), after


def spec_of(
    name: str, package: str, state: Any, tools: Sequence[Action], invariants: tuple[Invariant, ...] = ()
) -> WorldSpec:
    """The spec of a world whose state is the typed dictionary ``state`` and whose tools are annotated functions.

    Its policy is ``policy.md`` in ``package``; the licence is simia's own.
    """
    return WorldSpec(
        name=name,
        policy=files(package).joinpath("policy.md").read_text(encoding="utf-8").strip(),
        tools=tuple(map(tool_of, tools)),
        state_schema=schema_of(state),
        invariants=invariants,
        licence="Apache-2.0",
    )


def found(table: Mapping[str, Any], key: str, what: str) -> Any:
    """``table[key]``, or a refusal that says what is not there.

    Raises:
        Refused: there is no such key.
    """
    if key not in table:
        raise Refused(f"{what} {key!r} not found")
    return table[key]


def _copy(state: State) -> State:
    try:
        copy: State = orjson.loads(orjson.dumps(state))
    except orjson.JSONEncodeError:  # integers beyond 64 bits
        copy = load_json(dump_json(state))
    return copy


def _failed(problem: str) -> Transition:
    return Transition(observation=dump_json({"error": problem}), is_error=True, delta=StateDelta())
