"""The environment of one episode: tools that a ``Dynamics`` answers, and a user who speaks."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from enum import Enum

from simia.environment.limits import Limits
from simia.environment.user import User
from simia.errors import (
    AuthenticationFailed,
    ConfigError,
    ContextFilled,
    ContextOverflow,
    CostCeilingReached,
    EpisodeMisused,
    ModelError,
    ModelNotFound,
    SandboxViolation,
    SimulatedUserError,
    SimulatorError,
    StateError,
)
from simia.formats.calls import dump_json
from simia.models.tokens import estimate_tokens
from simia.seeds.calls import call_problem
from simia.simulate.feedback import FeedbackMode, reduced
from simia.types import (
    AssistantMessage,
    Dynamics,
    Fault,
    Message,
    Seed,
    State,
    StateDelta,
    Step,
    StopReason,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Transition,
    TransitionQuery,
    UserMessage,
)

FATAL = (ConfigError, AuthenticationFailed, ModelNotFound, CostCeilingReached)
"""What no other episode could get over either: it leaves the environment as it is."""


class _Phase(Enum):
    NEW = "was not started"
    OPEN = "is open"
    OVER = "is over"


class _Stopped(Exception):
    """The episode cannot go on. It never leaves this module."""

    def __init__(self, stop: StopReason, detail: str) -> None:
        super().__init__(detail)
        self.stop = stop
        self.detail = detail


class ToolEnvironment:
    """One episode: the agent's calls are answered by ``dynamics``, its words by ``user``. For one use only.

    A call that cannot be read, does not fit its tool, or is beyond the limits of one message, is answered by the
    program, in the same words every time, and nobody is asked. Parallel calls are answered in their order, each on the
    state that the one before it left; none sees the others in its history. The state is that of ``seed``; without one
    nothing is tracked and the history is all that ``dynamics`` goes by.

    It holds no lock and no client: thousands may be open on one loop. ``messages`` is the conversation as the agent saw
    it, ``explained`` the same with every failure explained in full, which is what ``dynamics`` is shown. ``remembered``
    are the ids of the calls that were answered as another member of the group was.

    Args:
        feedback: how failed calls are explained to the agent.
        count_tokens: how long a text is, in tokens; an estimate unless given.
        clock: seconds, for the limit on time.
    """

    def __init__(
        self,
        seed: Seed,
        dynamics: Dynamics,
        user: User,
        limits: Limits | None = None,
        *,
        feedback: FeedbackMode = "rich",
        count_tokens: Callable[[str], int] = estimate_tokens,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.seed = seed
        self.messages: list[Message] = []
        self.explained: list[Message] = []
        self.state: State | None = seed.initial_state
        self.deltas: dict[str, StateDelta] = {}
        self.faults: list[Fault] = []
        self.remembered: list[str] = []
        self.stop: StopReason | None = None
        self.detail = ""
        self.seconds = 0.0
        self._dynamics = dynamics
        self._user = user
        self._limits = limits or Limits()
        self._feedback: FeedbackMode = feedback
        self._count_tokens = count_tokens
        self._clock = clock
        self._phase = _Phase.NEW
        self._turns = 0
        self._malformed = 0
        self._tokens = 0

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """What the agent may call."""
        return self.seed.world.tools

    async def start(self) -> Step:
        """The policy as a system message, and what the user says first."""
        self._demand(_Phase.NEW)
        self._phase = _Phase.OPEN
        system = SystemMessage(content=self.seed.world.policy.strip())
        step = await self._answered(self._spoken_to())
        return step if step.stop is not None else step.model_copy(update={"messages": (system, *step.messages)})

    async def step(self, message: AssistantMessage) -> Step:
        """The results of the message's calls, or what the user says to it. What a call changed is kept under its id, so
        ids should be unique in the episode, as :func:`simia.environment.rollout.run_episode` sees to.
        """
        self._demand(_Phase.OPEN)
        past = tuple(self.explained)
        self._add(message)
        self._turns += 1
        self._malformed = self._malformed + 1 if message.malformed_calls else 0
        acts = bool(message.tool_calls or message.malformed_calls)
        step = await self._answered(self._called(message, past) if acts else self._spoken_to())
        if step.stop is not None:
            return step
        if self._malformed >= self._limits.malformed:
            return self._end(
                step, StopReason.MALFORMED_CALL, f"{self._malformed} messages in a row had unreadable calls"
            )
        if self._turns >= self._limits.max_turns:
            return self._end(step, StopReason.MAX_TURNS, f"the agent has acted {self._turns} times")
        if self._tokens >= self._limits.max_tokens:
            return self._end(step, StopReason.MAX_TOKENS, f"the conversation has about {self._tokens:,} tokens")
        return step

    def cut(self, stop: StopReason, detail: str) -> None:
        """End the episode from outside: the agent's context is full, or whoever plays the agent cannot go on."""
        if self._phase is not _Phase.OVER:
            self._end(Step(), stop, detail)

    async def _answered(self, answers: Coroutine[None, None, tuple[Message, ...]]) -> Step:
        """What ``answers`` comes to within the time that is left."""
        began = self._clock()
        try:
            async with asyncio.timeout(max(0.0, self._limits.timeout_s - self.seconds)):
                messages = await answers
            if self.seconds + self._clock() - began > self._limits.timeout_s:
                raise TimeoutError  # code that waits for nobody cannot be interrupted
            return Step(messages=messages)
        except TimeoutError:
            said = f"the environment took longer than {self._limits.timeout_s:g} s in all"
            return self._end(Step(), StopReason.TIMEOUT, said)
        except _Stopped as end:
            return self._end(Step(), end.stop, end.detail)
        except FATAL:
            self._end(Step(), StopReason.UNAVAILABLE, "the run ended")
            raise
        except ContextFilled as cause:
            return self._end(Step(), StopReason.CONTEXT_OVERFLOW, str(cause))
        except SimulatedUserError as cause:
            return self._end(Step(), StopReason.USER_FAILED, str(cause))
        except (SimulatorError, StateError, SandboxViolation, ContextOverflow) as cause:
            return self._end(Step(), StopReason.SIMULATOR_FAILED, str(cause))
        except ModelError as cause:
            return self._end(Step(), StopReason.UNAVAILABLE, str(cause))
        finally:
            self.seconds += self._clock() - began

    async def _spoken_to(self) -> tuple[Message, ...]:
        try:
            turn = await self._user.next(tuple(self.messages))
        except ContextFilled:
            raise
        except ContextOverflow as cause:
            raise SimulatedUserError(f"the conversation is too long for the simulated user: {cause}") from cause
        if turn.spent:
            raise _Stopped(StopReason.MAX_TURNS, "the user has no message left")
        if turn.done:
            if not self.messages:
                raise SimulatedUserError("the user left before saying anything")
            raise _Stopped(StopReason.COMPLETED, "the user left")
        if not turn.say.strip():
            raise SimulatedUserError("the user says nothing and does not leave")
        message = UserMessage(content=turn.say)
        self._add(message)
        return (message,)

    async def _called(self, message: AssistantMessage, past: tuple[Message, ...]) -> tuple[Message, ...]:
        results: list[Message] = []

        def answered(result: ToolMessage) -> None:
            seen = result
            if result.is_error:
                seen = result.model_copy(update={"content": reduced(result.content, self._feedback)})
            results.append(seen)
            self._add(seen, explained=result)

        most = self._limits.message_calls
        for call in message.tool_calls[:most]:
            answered(await self._result(call, past))
        for call in message.tool_calls[most:]:
            answered(_refused(call, f"one message may hold {most} calls at most: make this one in the next message"))
        for malformed in message.malformed_calls:
            text = dump_json({"error": f"the call could not be read: {malformed.reason}; call again with valid JSON"})
            answered(ToolMessage(call_id=malformed.id, name=malformed.name or "", content=text, is_error=True))
        return tuple(results)

    async def _result(self, call: ToolCall, past: tuple[Message, ...]) -> ToolMessage:
        size, most = len(dump_json(call.arguments)), self._limits.argument_chars
        if size > most:
            return _refused(
                call, f"the arguments have {size:,} characters, at most {most:,} may be: send less at a time"
            )
        problem = call_problem(self.seed.world, call)
        if problem is not None:
            return _refused(call, problem)
        query = TransitionQuery(
            world=self.seed.world, call=call, state=self.state, history=past, reference=self.seed.reference
        )
        transition = await self._dynamics.transition(query)
        self._apply(call, transition)
        return ToolMessage(
            call_id=call.id, name=call.name, content=transition.observation, is_error=transition.is_error
        )

    def _apply(self, call: ToolCall, transition: Transition) -> None:
        longest = self._limits.observation_chars
        if len(transition.observation) > longest:
            raise SimulatorError(
                f"the answer of {call.name} has {len(transition.observation):,} characters, at most {longest:,} may be"
            )
        if transition.fault is not None:
            self.faults.append(Fault(call_id=call.id, kind=transition.fault))
        if transition.remembered:
            self.remembered.append(call.id)
        if transition.delta is not None:
            if self.state is not None:
                try:
                    self.state = transition.delta.apply(self.state)
                except StateError as cause:
                    raise SimulatorError(f"the changes of {call.name} do not fit the state: {cause}") from cause
            self.deltas[call.id] = transition.delta

    def _add(self, message: Message, explained: Message | None = None) -> None:
        self.messages.append(message)
        self.explained.append(explained or message)
        self._tokens += self._count_tokens(message.content)
        if isinstance(message, AssistantMessage):
            for call in message.tool_calls:
                self._tokens += self._count_tokens(f"{call.name} {dump_json(call.arguments)}")

    def _end(self, step: Step, stop: StopReason, detail: str) -> Step:
        self._phase, self.stop, self.detail = _Phase.OVER, stop, detail
        return step.model_copy(update={"stop": stop, "detail": detail})

    def _demand(self, phase: _Phase) -> None:
        if self._phase is not phase:
            raise EpisodeMisused(
                f"this environment {self._phase.value}: start it once, step until a step has a stop, make another then"
            )


def _refused(call: ToolCall, problem: str) -> ToolMessage:
    return ToolMessage(call_id=call.id, name=call.name, content=dump_json({"error": problem}), is_error=True)
