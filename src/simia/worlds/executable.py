"""What an executable world is: a spec, tools that are plain functions, and a state that they are given and change."""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from simia.errors import StateError
from simia.formats.calls import dump_json, load_json
from simia.seeds.calls import call_problem
from simia.types import JsonObject, State, StateDelta, ToolCall, Transition, TransitionQuery, WorldSpec

Action = Callable[..., JsonObject]
"""A tool: takes the state, which it may change, and the arguments by name; gives the result, a JSON object."""


class Refused(Exception):
    """A tool does not do what it was asked; the text is the observation. The state stays as it was.

    It never leaves :class:`ExecutableWorld`: a refused call is an observation, no error of simia.
    """


class ExecutableWorld(ABC):
    """A world whose tools are code: the truth about what a call shows and changes.

    It keeps no state of its own. ``transition`` is a pure function of the query's state and call; clock and counters
    are part of the state, so that the same call in the same state always gives the same answer.
    """

    def __init__(self, spec: WorldSpec, actions: Mapping[str, Action]) -> None:
        self.spec = spec
        self._actions = dict(actions)

    @abstractmethod
    def initial_state(self, rng: random.Random) -> State:
        """A state to start from, drawn with ``rng``; it satisfies the spec's state schema and invariants."""

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

    async def transition(self, query: TransitionQuery) -> Transition:
        """What the call in ``query`` shows and changes.

        Raises:
            StateError: the query hides the state; code cannot answer without it.
        """
        if query.state is None:
            raise StateError(f"world {self.spec.name!r} is executed on a state, and the query has none")
        return self.run(query.state, query.call)[0]


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
