"""Faults around any answerer of tool calls: which calls of an episode meet one, and what becomes of the answer."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field, model_validator

from simia.config import Settings
from simia.errors import FormatError
from simia.formats.calls import dump_json, load_json
from simia.seeds.calls import call_problem
from simia.simulate.faults import OBSERVATIONS, fault_transition
from simia.simulate.planned import Draws
from simia.types import Dynamics, Transition, TransitionQuery, differences

FaultKind = Literal[
    "timeout",
    "rate_limit",
    "server_error",
    "permission_denied",
    "stale_read",
    "partial_result",
    "malformed_body",
]
"""The first four stand in the place of an answer, and nothing is changed. A ``stale_read`` is answered on the state
before the last change. A ``partial_result`` lacks the second half of what was found and says so; a ``malformed_body``
is cut in its middle.
"""


class FaultRule(Settings):
    """Which calls meet the fault ``kind``: the ``call``-th of an episode, the ``nth`` of the tool ``tool``, both
    counted from 1 among those that fit their schema, or each with the probability ``rate``. With ``tool`` a ``call`` or
    a ``rate`` means calls of that tool only.
    """

    kind: FaultKind
    call: int | None = Field(default=None, ge=1)
    nth: int | None = Field(default=None, ge=1)
    rate: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    tool: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _says_when_once(self) -> "FaultRule":
        given = [key for key in ("call", "nth", "rate") if getattr(self, key) is not None]
        if len(given) != 1:
            said = f"{' and '.join(given)} are set" if given else "nothing is set"
            raise ValueError(f"a fault needs exactly one of call, nth and rate, and {said}")
        if self.nth is not None and self.tool is None:
            raise ValueError(f"nth={self.nth} counts the calls of one tool: name it in tool, or set call={self.nth}")
        return self


class FaultyDynamics:
    """A ``Dynamics`` for one episode whose calls meet faults according to ``rules``, of which the first that is due
    decides. ``inner`` may be simulated or executable; a call that does not fit its schema is left to it, and not
    counted.

    A fault that cannot be shown does not happen, and the call is answered as it is: an error has no parts to leave out,
    a call that changes something is no read, and before the first change there is nothing stale.

    Whether a call meets a fault by its rate follows from ``draws`` and the number of the call, nothing else, so an
    episode meets the same faults whenever it is played.
    """

    def __init__(self, inner: Dynamics, rules: Sequence[FaultRule], draws: Draws) -> None:
        self._inner = inner
        self._rules = tuple(rules)
        self._draws = draws
        self._calls = 0
        self._calls_of: Counter[str] = Counter()
        self._last: TransitionQuery | None = None
        self._before_change: TransitionQuery | None = None

    async def transition(self, query: TransitionQuery) -> Transition:
        """What the call in ``query`` shows and changes; its ``fault`` says what stands in the place of the answer.

        Raises:
            SimulatorError: ``inner`` has no admissible answer.
        """
        if call_problem(query.world, query.call) is not None:
            return await self._inner.transition(query)
        self._look_back(query)
        kind = self._due(query.call.name)
        if kind is None:
            return await self._inner.transition(query)
        if kind in OBSERVATIONS:
            return fault_transition(kind, tracked=query.state is not None).model_copy(update={"fault": kind})
        if kind == "stale_read":
            stale = await self._stale(query)
            return await self._inner.transition(query) if stale is None else stale
        return _spoiled(await self._inner.transition(query), kind)

    def _look_back(self, query: TransitionQuery) -> None:
        """Remember the last call that was made before the state became what it is in ``query``."""
        last, self._last = self._last, query
        if last is None or last.state is None or query.state is None:
            return
        if differences(last.state, query.state):
            self._before_change = last

    def _due(self, name: str) -> FaultKind | None:
        self._calls += 1
        self._calls_of[name] += 1
        rng = self._draws.rng(f"faults/{self._calls}")
        for rule in self._rules:
            draw = rng.random()  # of every rule, so that no rule moves the draws of those behind it
            if rule.tool is not None and rule.tool != name:
                continue
            if rule.rate is not None and draw < rule.rate:
                return rule.kind
            if rule.call == self._calls or rule.nth == self._calls_of[name]:
                return rule.kind
        return None

    async def _stale(self, query: TransitionQuery) -> Transition | None:
        """The answer from before the last change, with the past of then: a model that is told of the change would tell
        of it. None where there is none, or where the call would change something.
        """
        before = self._before_change
        if before is None:
            return None
        old = query.model_copy(update={"state": before.state, "history": before.history})
        answer = await self._inner.transition(old)
        if answer.delta is not None and answer.delta.size:
            return None
        return answer.model_copy(update={"fault": "stale_read"})


def _spoiled(answer: Transition, kind: FaultKind) -> Transition:
    if answer.is_error:
        return answer
    observation = _halved(answer.observation) if kind == "partial_result" else _cut(answer.observation)
    if observation is None:
        return answer
    return answer.model_copy(update={"observation": observation, "fault": kind})


def _halved(observation: str) -> str | None:
    """JSON with the first half of each list, or where no list has two entries, of an object; None where nothing can be
    left out.
    """
    try:
        value = load_json(observation)
    except FormatError:
        return None
    for shorter in (_lists_halved(value), _entries_halved(value)):
        if shorter != value:
            shown = shorter if isinstance(shorter, dict) else {"items": shorter}
            return dump_json({**shown, "truncated": True})
    return None


def _lists_halved(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lists_halved(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_lists_halved(entry) for entry in value[: (len(value) + 1) // 2]]
    return value


def _entries_halved(value: Any) -> Any:
    """The same for the outermost object with two entries; no list has as many."""
    if isinstance(value, dict):
        if len(value) > 1:
            return dict(list(value.items())[: (len(value) + 1) // 2])
        return {key: _entries_halved(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_entries_halved(entry) for entry in value]
    return value


def _cut(observation: str) -> str | None:
    """The first half of the text, or less where that is JSON again, as half a number is; None where it is empty."""
    for end in range(len(observation) // 2, -1, -1):
        text = observation[:end]
        try:
            load_json(text)
        except FormatError:
            return text if observation else None
    return None
