"""How true synthetic trajectories are: every call is executed in the executable world, beside what was simulated."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import NamedTuple

from simia.bench.normal import same_observation
from simia.bench.stopped import stopped_by
from simia.errors import ConfigError, SandboxViolation, StateError
from simia.formats.calls import Call, calls_of
from simia.seeds.calls import call_problem
from simia.seeds.invariants import violations
from simia.store import Run
from simia.synthesis.seed_table import SeedTable
from simia.types import (
    AssistantMessage,
    MalformedToolCall,
    Message,
    State,
    ToolCall,
    ToolMessage,
    Trajectory,
    differences,
)
from simia.types.rate import Rate
from simia.worlds import World

_STREAMS = ("postprocess", "generate")
MALFORMED = "(malformed)"
"""What the tool of a call is called that could not be read so far."""


@dataclass(frozen=True, slots=True)
class CallCheck:
    """One call. ``fits``: it can be read, and its name and arguments fit the tools; ``accepted``: the world does not
    refuse it. All but ``fits`` is None where the call could not be read, where there was no state to execute it on, or
    where the program let it fail by a planned fault, and ``state_match`` also where the simulator tracked none.
    ``stopped`` says why a strange world could not execute it; neither are the calls after it.
    """

    number: int
    tool: str
    fits: bool
    simulated: str
    executed: str | None = None
    accepted: bool | None = None
    observation_match: bool | None = None
    error_match: bool | None = None
    state_match: bool | None = None
    stopped: str = ""


class ToolRates(NamedTuple):
    """The calls of one tool, as in :class:`Fidelity`."""

    valid: Rate
    accepted: Rate
    observations: Rate


@dataclass(frozen=True)
class TrajectoryCheck:
    """One trajectory. ``started`` says where from: ``own`` its own initial state, ``seed`` its seed's, ``nowhere`` that
    there is none that fits the world, so that nothing could be executed.
    """

    key: str
    seed: str
    started: str
    calls: tuple[CallCheck, ...] = ()

    @property
    def first_divergence(self) -> int | None:
        """The number, from 1, of the first call whose observation or state is another one; None where none is."""
        return next((call.number for call in self.calls if False in (call.observation_match, call.state_match)), None)


@dataclass
class Fidelity:
    """All trajectories of a run, checked. Observations may have been left out: then their texts are empty."""

    world: str
    trajectories: list[TrajectoryCheck] = field(default_factory=list)

    @property
    def calls(self) -> list[CallCheck]:
        """Every call."""
        return [call for trajectory in self.trajectories for call in trajectory.calls]

    @property
    def valid(self) -> Rate:
        """Calls that can be read and fit the tools."""
        return Rate.of(call.fits for call in self.calls)

    @property
    def accepted(self) -> Rate:
        """Calls that the world does not refuse."""
        return _rate(call.accepted for call in self.calls)

    @property
    def observations(self) -> Rate:
        """Observations that are what the world shows."""
        return _rate(call.observation_match for call in self.calls)

    @property
    def errors(self) -> Rate:
        """Calls on which simulator and world agree whether they fail."""
        return _rate(call.error_match for call in self.calls)

    @property
    def states(self) -> Rate:
        """Tracked states that are the world's, after each call."""
        return _rate(call.state_match for call in self.calls)

    @property
    def faithful(self) -> Rate:
        """Trajectories without any divergence, among those with an executed call and none that was stopped."""
        executed = (one for one in self.trajectories if any(call.executed is not None for call in one.calls))
        return Rate.of(one.first_divergence is None for one in executed if not any(call.stopped for call in one.calls))

    @property
    def stopped(self) -> dict[str, int]:
        """How many calls a strange world could not execute, by the reason."""
        return dict(Counter(call.stopped for call in self.calls if call.stopped))

    @property
    def median_divergence(self) -> float | None:
        """The median number of the first diverging call, over trajectories that diverge."""
        found = [one.first_divergence for one in self.trajectories if one.first_divergence is not None]
        return median(found) if found else None

    def by_tool(self) -> dict[str, ToolRates]:
        """Calls that fit, accepted ones and right observations by tool."""
        grouped: defaultdict[str, list[CallCheck]] = defaultdict(list)
        for call in self.calls:
            grouped[call.tool].append(call)
        return {
            tool: ToolRates(
                Rate.of(call.fits for call in calls),
                _rate(call.accepted for call in calls),
                _rate(call.observation_match for call in calls),
            )
            for tool, calls in sorted(grouped.items())
        }

    def started(self) -> dict[str, int]:
        """How many trajectories started from where."""
        return dict(Counter(one.started for one in self.trajectories))


def check_run(folder: Path, world: World, *, limit: int | None = None, with_texts: bool = True) -> Fidelity:
    """Execute every call of the conversations that the run in ``folder`` kept.

    A conversation starts from its own initial state where its simulator tracked one, else from its seed's. Those about
    a world with tools that ``world`` has not are passed over.

    Args:
        with_texts: keep what each call showed, which takes memory by the size of the run.

    Raises:
        ConfigError: the run has no conversations, or is about another world.
        StoreError, CorruptStream: the run cannot be read.
    """
    result = Fidelity(world.spec.name)
    with Run.read(folder) as run:
        fitting = _fitting(run, world)
        for key, trajectory, seed_state in _kept(run):
            if trajectory.world not in fitting:
                continue
            if limit is not None and len(result.trajectories) >= limit:
                break
            checked = check_trajectory(world, key, trajectory, seed_state)
            result.trajectories.append(checked if with_texts else _without_texts(checked))
    if not result.trajectories:
        raise ConfigError(
            f"{folder} holds no conversation that was kept: give a run of simia synth; simia runs show {folder} says "
            "what it holds"
        )
    return result


def check_trajectory(world: World, key: str, trajectory: Trajectory, seed_state: State | None) -> TrajectoryCheck:
    """Execute the calls of one conversation, each on the state that the executed ones before it left.

    A result belongs to the first call before it with its id that has none yet. Where calls share an id, it is not known
    whose changes were recorded, so that the simulator's state is not known from there on.
    """
    started, state = ("seed", seed_state) if trajectory.initial_state is None else ("own", trajectory.initial_state)
    if state is None or violations(world.spec, state):
        started, state = "nowhere", None
    simulated: State | None = trajectory.initial_state
    faulty = {fault.call_id for fault in trajectory.faults}
    pairs = _calls_with_results(trajectory.messages)
    uses = Counter(call.id for call, _ in pairs)
    calls = []
    for number, (call, result) in enumerate(pairs, start=1):
        shown = result.content if result else ""
        if isinstance(call, MalformedToolCall):
            calls.append(CallCheck(number, call.name or MALFORMED, False, shown))
            continue
        check = CallCheck(number, call.name, call_problem(world.spec, call) is None, shown)
        if state is not None and call.id not in faulty:
            try:
                transition, state = world.run(state, call)
            except (SandboxViolation, StateError) as cause:
                calls.append(replace(check, stopped=stopped_by(cause)))
                state = None
                continue
            simulated = _stepped(simulated, trajectory, call) if uses[call.id] == 1 else None
            check = replace(
                check,
                executed=transition.observation,
                accepted=not transition.is_error,
                observation_match=result is not None and same_observation(result.content, transition.observation),
                error_match=result is not None and result.is_error == transition.is_error,
                state_match=None if simulated is None else not differences(simulated, state),
            )
        calls.append(check)
    return TrajectoryCheck(key, trajectory.provenance.seed, started, tuple(calls))


def _calls_with_results(messages: Iterable[Message]) -> list[tuple[Call, ToolMessage | None]]:
    """Every call, malformed ones too, with the message that answers it."""
    calls: list[Call] = []
    results: dict[int, ToolMessage] = {}
    open_calls: defaultdict[str, deque[int]] = defaultdict(deque)
    for message in messages:
        if isinstance(message, AssistantMessage):
            for call in calls_of(message):
                open_calls[call.id].append(len(calls))
                calls.append(call)
        elif isinstance(message, ToolMessage) and open_calls[message.call_id]:
            results[open_calls[message.call_id].popleft()] = message
    return [(call, results.get(index)) for index, call in enumerate(calls)]


def _without_texts(checked: TrajectoryCheck) -> TrajectoryCheck:
    return replace(
        checked,
        calls=tuple(
            replace(call, simulated="", executed=None if call.executed is None else "") for call in checked.calls
        ),
    )


def _stepped(state: State | None, trajectory: Trajectory, call: ToolCall) -> State | None:
    """The simulator's own state after ``call``; a call without recorded changes leaves it."""
    delta = trajectory.deltas.get(call.id)
    if state is None or delta is None:
        return state
    try:
        return delta.apply(state)
    except StateError:  # a later pass of postprocess changed the conversation: the state is no longer its own
        return None


def _kept(run: Run) -> Iterator[tuple[str, Trajectory, State | None]]:
    stream = next((name for name in _STREAMS if name in run.stream_names()), None)
    if stream is None:
        return
    seeds = SeedTable(run)
    for _, key, trajectory in run.stream(stream).kept(Trajectory):
        seed = seeds.by_id(trajectory.provenance.seed)
        yield key, trajectory, None if seed is None else seed.initial_state


def _rate(verdicts: Iterable[bool | None]) -> Rate:
    return Rate.of(verdict for verdict in verdicts if verdict is not None)


def _fitting(run: Run, world: World) -> set[str]:
    """The worlds of ``run``, by content id, whose tools ``world`` has."""
    found = {world_id for world_id, spec in run.worlds if spec.tool.keys() <= world.spec.tool.keys()}
    names = sorted({spec.name for _, spec in run.worlds})
    if names and not found:
        raise ConfigError(
            f"{run.folder} is about {', '.join(names)}, with tools that the world {world.spec.name!r} does not have: "
            "name its executable world"
        )
    return found
