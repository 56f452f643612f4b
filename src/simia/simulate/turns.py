"""A conversation played turn by turn: user, agent and tools apart, each by a model of its own or by a program."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import orjson

from simia.errors import ContextOverflow, SimulatorError, StateError
from simia.pipeline import Item
from simia.prompts import hashes
from simia.seeds.calls import call_problem
from simia.simulate import agent, task, tracked, user
from simia.simulate.agent import SimulatedAgent
from simia.simulate.faults import fault_transition, planned_faults
from simia.simulate.planned import Draws, PlannedSeed
from simia.simulate.settings import SimulateSettings
from simia.simulate.task import TaskWriter
from simia.simulate.tracked import TrackedDynamics, tracked_state
from simia.simulate.user import SimulatedUser
from simia.types import (
    AssistantMessage,
    ChatModel,
    ChatRequest,
    Dropped,
    Dynamics,
    Fault,
    Kept,
    Message,
    Outcome,
    Provenance,
    State,
    StateDelta,
    StopReason,
    ToolCall,
    ToolMessage,
    Trajectory,
    TransitionQuery,
    UserMessage,
)

PROMPTS = (*task.PROMPTS, *user.PROMPTS, *agent.PROMPTS, *tracked.PROMPTS)
"""The templates of this simulation, for the manifest."""


@dataclass(slots=True)
class _Episode:
    """What has happened so far."""

    planned: PlannedSeed
    draws: Draws
    task: str
    state: State | None
    faults_due: dict[int, str]
    messages: list[Message] = field(default_factory=list)
    deltas: dict[str, StateDelta] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    fitting_calls: int = 0
    repaired: bool = False


class TurnSimulator:
    """A stage: a planned seed becomes a conversation between three simulators, or is dropped.

    ``model`` plays the tools, and whoever has no model of its own; ``dynamics`` plays the tools instead, for example an
    executable world. Only a conversation that the user ended is kept. Rules: ``max_turns``, ``malformed_call``,
    ``context_overflow``, and ``simulator_failed``, which says that the simulator and not the agent was wrong.
    """

    name = "simulate"

    def __init__(
        self,
        model: ChatModel,
        settings: SimulateSettings,
        run_name: str,
        *,
        user_model: ChatModel | None = None,
        agent_model: ChatModel | None = None,
        dynamics: Dynamics | None = None,
    ) -> None:
        self._settings = settings
        self._run_name = run_name
        self._tasks = TaskWriter(user_model or model, settings)
        self._user = SimulatedUser(user_model or model, settings)
        self._agent = SimulatedAgent(agent_model or model, settings)
        self._dynamics: Dynamics = dynamics or TrackedDynamics(model, settings)
        self._prompts = hashes(PROMPTS)
        tools = model.name if dynamics is None else f"program {type(dynamics).__name__}"
        names = {"agent": (agent_model or model).name, "user": (user_model or model).name, "tools": tools}
        same = len(set(names.values())) == 1
        self._models = model.name if same else ", ".join(f"{role} {name}" for role, name in names.items())

    def request_for(self, item: Item[PlannedSeed]) -> ChatRequest:
        """The first request that ``item`` becomes: the one for its task."""
        return self._tasks.request(item.value)

    def requests_for(self, item: Item[PlannedSeed]) -> Iterator[ChatRequest]:
        """The requests that ``item`` would become if its conversation went as its seed's did: for an estimate."""
        planned = item.value
        seed, plan = planned.seed, planned.plan
        draws = self._draws(planned)
        tools = self._dynamics if isinstance(self._dynamics, TrackedDynamics) else None
        exchanges = self._exchanges(planned)
        yield self._tasks.request(planned)
        for index, message in enumerate(seed.reference):
            past = seed.reference[:index]
            if isinstance(message, UserMessage):
                yield self._user.request(seed.task, plan, exchanges, past, draws)
            elif isinstance(message, AssistantMessage):
                yield self._agent.request(seed.world, past, draws, plan.reasoning)
                for call in message.tool_calls:
                    if tools is None or call_problem(seed.world, call) is not None:
                        continue
                    query = TransitionQuery(
                        world=seed.world, call=call, state=seed.initial_state, history=past, reference=seed.reference
                    )
                    yield tools.request(query)
        yield self._user.request(seed.task, plan, exchanges, seed.reference, draws)

    async def __call__(self, item: Item[PlannedSeed]) -> Outcome[Trajectory]:
        """The conversation that was played for ``item``."""
        planned = item.value
        draws = self._draws(planned)
        try:
            episode = _Episode(
                planned=planned,
                draws=draws,
                task=await self._tasks.write(planned),
                state=tracked_state(planned.seed.world, planned.seed.initial_state),
                faults_due=planned_faults(planned.plan, draws),
            )
            stop = await self._play(episode)
        except ContextOverflow as cause:
            return Dropped(StopReason.CONTEXT_OVERFLOW.value, str(cause))
        except SimulatorError as cause:
            return Dropped(StopReason.SIMULATOR_FAILED.value, str(cause))
        if stop is not StopReason.COMPLETED:
            return Dropped(stop.value, f"stopped after {len(episode.messages)} messages")
        return Kept(self._trajectory(episode))

    async def _play(self, episode: _Episode) -> StopReason:
        planned, settings, messages = episode.planned, self._settings, episode.messages
        exchanges = self._exchanges(planned)
        for left in range(settings.max_exchanges, -1, -1):
            turn = await self._user.next(episode.task, planned.plan, exchanges, tuple(messages), episode.draws)
            if turn.done:
                return StopReason.COMPLETED
            if not left:
                break
            messages.append(UserMessage(content=turn.say))
            stop = await self._act(episode)
            if stop is not None:
                return stop
        return StopReason.MAX_TURNS

    async def _act(self, episode: _Episode) -> StopReason | None:
        """The agent's steps until it only speaks; a stop reason if the episode cannot go on."""
        planned, messages, malformed_steps = episode.planned, episode.messages, 0
        while len(messages) < self._settings.max_turns:
            message, repaired = await self._agent.decide(
                planned.seed.world, tuple(messages), episode.draws, planned.plan.reasoning
            )
            episode.repaired = episode.repaired or repaired
            past = tuple(messages)
            messages.append(message)
            for call in message.tool_calls:
                messages.append(await self._answer(episode, call, past))
            for malformed in message.malformed_calls:
                error = f"the call could not be read: {malformed.reason}; call again with valid JSON"
                text = orjson.dumps({"error": error}).decode()
                answer = ToolMessage(call_id=malformed.id, name=malformed.name or "", content=text, is_error=True)
                messages.append(answer)
            if not message.tool_calls and not message.malformed_calls:
                return None
            malformed_steps = malformed_steps + 1 if message.malformed_calls else 0
            if malformed_steps > self._settings.max_repairs:
                return StopReason.MALFORMED_CALL
        return StopReason.MAX_TURNS

    async def _answer(self, episode: _Episode, call: ToolCall, past: tuple[Message, ...]) -> ToolMessage:
        """The observation of one call. Parallel calls are answered in their order, each on the state that the one
        before it left, and none sees the others in its history.
        """
        seed = episode.planned.seed
        kind = None
        if call_problem(seed.world, call) is None:
            kind = episode.faults_due.pop(episode.fitting_calls, None)
            episode.fitting_calls += 1
        if kind is not None:
            transition = fault_transition(kind, tracked=episode.state is not None)
            episode.faults.append(Fault(call_id=call.id, kind=kind))
        else:
            query = TransitionQuery(
                world=seed.world, call=call, state=episode.state, history=past, reference=seed.reference
            )
            transition = await self._dynamics.transition(query)
        if transition.delta is not None:
            if episode.state is not None:
                try:
                    episode.state = transition.delta.apply(episode.state)
                except StateError as cause:
                    raise SimulatorError(f"the changes of {call.name} do not fit the state: {cause}") from cause
            episode.deltas[call.id] = transition.delta
        return ToolMessage(
            call_id=call.id, name=call.name, content=transition.observation, is_error=transition.is_error
        )

    def _trajectory(self, episode: _Episode) -> Trajectory:
        planned = episode.planned
        seed = planned.seed
        return Trajectory(
            world=seed.world.content_id,
            task=episode.task,
            messages=tuple(episode.messages),
            provenance=Provenance(
                run=self._run_name,
                seed=seed.id,
                attempt=planned.attempt,
                model=self._models,
                prompts=self._prompts,
                licence=seed.licence,
            ),
            plan=planned.plan,
            initial_state=tracked_state(seed.world, seed.initial_state),
            deltas=episode.deltas,
            faults=tuple(episode.faults),
            repairs=("json",) if episode.repaired else (),
        )

    def _exchanges(self, planned: PlannedSeed) -> int:
        """How many messages of the user make up the plan's length, in the reference's proportions."""
        reference = planned.seed.reference
        users = sum(isinstance(message, UserMessage) for message in reference)
        count = round(users * planned.plan.turns / max(1, len(reference)))
        return min(self._settings.max_exchanges, max(1, count))

    def _draws(self, planned: PlannedSeed) -> Draws:
        return Draws(self._settings.seed, planned.item_id, planned.attempt)
