"""An episode as it is told: turn by turn, each call with what came of it and what it changed."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from simia.errors import StateError
from simia.formats.calls import calls_of, dump_json
from simia.types import (
    ABSENT,
    AssistantMessage,
    Episode,
    MalformedToolCall,
    Message,
    Path,
    Put,
    State,
    StateDelta,
    ToolCall,
    ToolMessage,
    Trajectory,
    differences,
)
from simia.worlds.play import found


@dataclass(frozen=True, slots=True)
class Changed:
    """What became of one place of the state, in JSON text; None where nothing was there, or is left."""

    path: Path
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class Called:
    """A call of the agent, and what came of it.

    ``arguments`` is JSON text, or what the agent wrote where ``problem`` says why that cannot be read. ``observation``
    is None where the episode ended before there was one. ``faults`` are the programmed ones that it met.
    ``remembered``: the answer is the one that another member of the group was given.
    """

    id: str
    name: str
    arguments: str
    problem: str
    observation: str | None
    is_error: bool
    faults: tuple[str, ...]
    changes: tuple[Changed, ...]
    remembered: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """What was said by one side, and the calls of the agent that went with it."""

    by: str
    said: str
    reasoning: str = ""
    calls: tuple[Called, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """An episode for a reader. ``final`` is the state at its end, and ``changes`` how it differs from the first one;
    both are None where no state was tracked.
    """

    turns: tuple[Turn, ...]
    final: State | None
    changes: tuple[Changed, ...] | None

    @property
    def calls(self) -> Iterator[Called]:
        """All calls in their order."""
        return (call for turn in self.turns for call in turn.calls)


def tell(episode: Episode) -> Told:
    """The turns of ``episode``, with its state followed from call to call.

    Where several calls have one id, changes and faults, which are kept by id, are told at the last of them.
    """
    trajectory = episode.trajectory
    trail = _Trail(trajectory, frozenset(episode.remembered))
    turns: list[Turn] = []
    messages = trajectory.messages
    for place, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            calls = tuple(trail.calls(message, _results(messages, place)))
            turns.append(Turn("agent", message.content, message.reasoning or "", calls))
        elif not isinstance(message, ToolMessage):
            turns.append(Turn(message.role, message.content))
    first = trajectory.initial_state
    changes = None if first is None or trail.state is None else _between(first, trail.state)
    return Told(tuple(turns), trail.state, changes)


def _results(messages: Sequence[Message], place: int) -> dict[str, list[ToolMessage]]:
    """What came of the calls of the message at ``place``, by call id."""
    results: dict[str, list[ToolMessage]] = defaultdict(list)
    for message in messages[place + 1 :]:
        if not isinstance(message, ToolMessage):
            break
        results[message.call_id].append(message)
    return results


class _Trail:
    """The state along the calls of a trajectory."""

    def __init__(self, trajectory: Trajectory, remembered: frozenset[str]) -> None:
        self._remembered = remembered
        self.state = trajectory.initial_state
        self._deltas = trajectory.deltas
        self._faults: dict[str, list[str]] = defaultdict(list)
        for fault in trajectory.faults:
            self._faults[fault.call_id].append(fault.kind)
        self._left = Counter(m.call_id for m in trajectory.messages if isinstance(m, ToolMessage))

    def calls(self, message: AssistantMessage, results: dict[str, list[ToolMessage]]) -> Iterator[Called]:
        for call in calls_of(message):
            waiting = results.get(call.id)
            yield self._called(call, waiting.pop(0) if waiting else None)

    def _called(self, call: ToolCall | MalformedToolCall, result: ToolMessage | None) -> Called:
        changes: tuple[Changed, ...] = ()
        self._left[call.id] -= result is not None
        is_last = self._left[call.id] <= 0
        if result is not None and is_last:
            changes = self._change(self._deltas.get(call.id))
        return Called(
            id=call.id,
            name=call.name or "",
            arguments=dump_json(call.arguments) if isinstance(call, ToolCall) else call.text,
            problem="" if isinstance(call, ToolCall) else call.reason,
            observation=None if result is None else result.content,
            is_error=result is not None and result.is_error,
            faults=tuple(self._faults.get(call.id, ())) if is_last else (),
            changes=changes,
            remembered=call.id in self._remembered,
        )

    def _change(self, delta: StateDelta | None) -> tuple[Changed, ...]:
        if delta is None:
            return ()
        if self.state is not None:
            before = self.state
            try:
                self.state = delta.apply(before)
                return _between(before, self.state)
            except StateError:  # calls of one id have lost a delta: it can only be told as it was proposed
                pass
        return tuple(
            Changed(change.path, None, dump_json(change.value) if isinstance(change, Put) else None)
            for change in delta.changes
        )


def _between(before: State, after: State) -> tuple[Changed, ...]:
    return tuple(
        Changed(path, _spelled(found(before, path)), _spelled(new)) for path, new in differences(before, after)
    )


def _spelled(value: Any) -> str | None:
    return None if value is ABSENT else dump_json(value)
