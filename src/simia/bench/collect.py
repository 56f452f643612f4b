"""Harvests transitions of executable worlds: from gold calls, from an agent's calls, and from perturbed ones."""

import hashlib
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from simia.bench.perturb import ILL_FORMED, KINDS, perturbed
from simia.bench.sample import GOLD, Episode, Sample, Step, exchange, sample_id
from simia.bench.stopped import stopped_by
from simia.config import rng_for
from simia.errors import SandboxViolation, StateError
from simia.seeds.calls import call_problem
from simia.types import (
    Message,
    State,
    StateDelta,
    ToolCall,
    Transition,
    UserMessage,
    WorldTask,
    canonical_json,
    content_id,
)
from simia.worlds import World

WELL_FORMED = tuple(kind for kind in KINDS if kind not in ILL_FORMED)
"""The perturbations that a simulator is asked about."""

_REMEMBERED_CALLS = 64


@dataclass(frozen=True)
class Walk:
    """Calls to make one after another from a task's initial state, and where they come from."""

    task: WorldTask
    calls: tuple[ToolCall, ...]
    origin: str = GOLD

    @classmethod
    def gold(cls, task: WorldTask) -> "Walk":
        """The task's own calls."""
        return cls(task, task.gold)


class Seen:
    """What was harvested already. A transition is new if neither its question (tool, arguments, state) nor its content
    (tool, arguments, observation, delta) was met. Memory: about 200 bytes a transition.

    ``stopped`` counts, by the reason, calls that have no transition: strange code ran into a wall, or left no state.
    """

    def __init__(self) -> None:
        self._questions: set[str] = set()
        self._contents: set[bytes] = set()
        self.stopped: Counter[str] = Counter()

    def has_question(self, question: str) -> bool:
        """Whether the question with this id was met."""
        return question in self._questions

    def meets(self, question: str, world: str, call: ToolCall, transition: Transition) -> bool:
        """Whether the transition is new. From now on it is not."""
        delta = transition.delta or StateDelta()
        changes = [(change.op, *change.path, getattr(change, "value", None)) for change in delta.changes]
        content = hashlib.blake2b(
            canonical_json([world, call.name, call.arguments, transition.observation, changes]), digest_size=16
        ).digest()
        is_new = question not in self._questions and content not in self._contents
        self._questions.add(question)
        self._contents.add(content)
        return is_new


def harvest(
    name: str,
    world: World,
    walks: Iterable[Walk],
    *,
    seed: int = 0,
    kinds: Collection[str] = WELL_FORMED,
    seen: Seen | None = None,
) -> Iterator[Sample]:
    """The distinct transitions along ``walks`` through ``world``, called ``name`` in samples, and beside them.

    At each call the ``kinds`` of perturbation are tried on the same state; only the walk's own call is followed. One
    that does not fit the world's tools is made, and is no sample, nor is a perturbed one, unless such are among
    ``kinds``: nobody would be asked about it. Neither is one of a tool that draws. A walk ends where its call runs into
    a wall of the sandbox. The draws depend on ``seed`` and the task, so that more walks only add
    samples. Memory: see :class:`Seen`.
    """
    seen = seen or Seen()
    others: deque[ToolCall] = deque(maxlen=_REMEMBERED_CALLS)
    for walk in walks:
        rng = rng_for(seed, f"{walk.task.id}/{walk.origin}")
        state = walk.task.initial_state
        history: tuple[Message, ...] = (UserMessage(content=walk.task.instruction),)
        for call in walk.calls:
            state_id = content_id(state)
            done = _run(seen, world, state, call)
            if done is None:
                break
            own, after = done
            is_question = call_problem(world.spec, call) is None
            if is_question:
                if world.is_foretellable(call.name):
                    yield from _new(seen, name, walk.origin, call, state, state_id, own, history)
                for kind, other in perturbed(world.spec, state, call, others, rng):
                    if kind in kinds and (kind in ILL_FORMED or call_problem(world.spec, other) is None):
                        other = other.model_copy(update={"id": call.id}) if other.id != call.id else other
                        yield from _asked(seen, name, world, f"perturbed:{kind}", other, state, state_id, history)
            history = (*history, *exchange(call, own.observation, is_error=own.is_error))
            if is_question and after is not state and "repeated" in kinds:
                again = call.model_copy(update={"id": f"{call.id}_again"})
                yield from _asked(seen, name, world, "perturbed:repeated", again, after, content_id(after), history)
            state = after
        others.extend(call for call in walk.calls if call_problem(world.spec, call) is None)


def episode_of(name: str, world: World, task: WorldTask, role: Literal["example", "drift"]) -> Episode:
    """The gold trajectory of ``task``, executed."""
    state = task.initial_state
    steps = []
    for call in task.gold:
        transition, state = world.run(state, call)
        steps.append(
            Step(
                call=call,
                observation=transition.observation,
                is_error=transition.is_error,
                delta=transition.delta or StateDelta(),
            )
        )
    return Episode(
        id=task.id,
        world=name,
        role=role,
        instruction=task.instruction,
        initial_state=task.initial_state,
        steps=tuple(steps),
    )


def _asked(
    seen: Seen,
    name: str,
    world: World,
    origin: str,
    call: ToolCall,
    state: State,
    state_id: str,
    history: tuple[Message, ...],
) -> Iterator[Sample]:
    question = sample_id(name, call, state_id)
    if seen.has_question(question) or (call.name in world.spec.tool and not world.is_foretellable(call.name)):
        return
    done = _run(seen, world, state, call)
    if done is not None:
        yield from _new(seen, name, origin, call, state, state_id, done[0], history)


def _run(seen: Seen, world: World, state: State, call: ToolCall) -> tuple[Transition, State] | None:
    """What the call does; None where strange code runs into a wall or leaves no state, which is counted."""
    try:
        return world.run(state, call)
    except (SandboxViolation, StateError) as cause:
        seen.stopped[stopped_by(cause)] += 1
        return None


def _new(
    seen: Seen,
    name: str,
    origin: str,
    call: ToolCall,
    state: State,
    state_id: str,
    transition: Transition,
    history: tuple[Message, ...],
) -> Iterator[Sample]:
    question = sample_id(name, call, state_id)
    if seen.meets(question, name, call, transition):
        yield Sample(
            id=question,
            world=name,
            origin=origin,
            call=call,
            state=state,
            observation=transition.observation,
            is_error=transition.is_error,
            delta=transition.delta or StateDelta(),
            history=history,
        )
