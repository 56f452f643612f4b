"""Whether an environment keeps the promises of :class:`simia.types.Environment`, in the spirit of Gymnasium's checker.

Nothing is known of it but its two methods and its tools, so that an environment of anybody can be checked.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from simia.errors import EpisodeMisused, SchemaError, SimiaError, boundary
from simia.seeds.world_folder import Finding
from simia.types import (
    AssistantMessage,
    Environment,
    JsonObject,
    MalformedToolCall,
    Step,
    StopReason,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)

T = TypeVar("T")

_UNKNOWN = "no_such_tool"
_WRONG: tuple[JsonObject, ...] = ({}, {"no_such_argument": 1}, {"": []})
_GOODBYE = AssistantMessage(content="Goodbye.")


async def check_environment(
    make: Callable[[], Environment],
    *,
    asked: Callable[[], int] | None = None,
    most_turns: int = 100,
    timeout_s: float = 120.0,
) -> list[Finding]:
    """The faults of the environments that ``make`` gives, one sentence each; empty: all is well.

    About ten environments are made; ``make`` must give a new one about the same task each time. Models behind them are
    asked for the user's words, and for what the tools that need no arguments answer.

    Args:
        asked: how often anybody behind the environments was asked so far, where that is known: a refusal may not ask.
        most_turns: how often an agent that only says goodbye may speak before the conversation must have ended.
        timeout_s: how long one answer may take.
    """
    check = _Check(make, asked or (lambda: 0), most_turns, timeout_s)
    have_schemas = check.look_at_tools()
    is_begun = await check.look_at_start()
    if have_schemas and is_begun:
        await check.look_at_refusals()
        await check.look_at_parallel_calls()
        await check.look_at_end()
    return check.findings


class _Check:
    """One kind of environment being looked at."""

    def __init__(
        self, make: Callable[[], Environment], asked: Callable[[], int], most_turns: int, timeout_s: float
    ) -> None:
        self.findings: list[Finding] = []
        self._make = make
        self._asked = asked
        self._most_turns = most_turns
        self._timeout_s = timeout_s

    def look_at_tools(self) -> bool:
        """Names and schemas; whether all are schemas, so that calls can be made up."""
        tools, are_schemas = self._make().tools, True
        names = [tool.name for tool in tools]
        for name in sorted({name for name in names if names.count(name) > 1}):
            self._fault(f"tool {name}", "stands more than once among the tools", "give every tool a name of its own")
        for tool in tools:
            for what, schema in (("parameters", "arguments_schema"), ("returns", "returns_schema")):
                try:
                    getattr(tool, schema)
                except SchemaError as error:
                    self._fault(f"tool {tool.name}, {what}", str(error), "correct the schema")
                    are_schemas = False
        if _UNKNOWN in names:
            self._fault(f"tool {_UNKNOWN}", "has the name by which unknown tools are tried", "call it otherwise")
        return are_schemas

    async def look_at_start(self) -> bool:
        """That it begins once, and how; whether it can be played."""
        environment = self._make()
        await self._misused("a step before the start", environment.step(_GOODBYE))
        environment = self._make()
        tools = environment.tools
        step = await self._started(environment)
        if step is None:
            return False
        if environment.tools != tools:
            self._fault("tools", "are others after the start", "settle the tools before the start")
        roles = [message.role for message in step.messages]
        if roles != ["system", "user"]:
            said = ", ".join(roles) or "nothing"
            self._fault("start", f"gives {said} instead of a system and a user message", "begin with the two of them")
        await self._misused("a second start", environment.start())
        return True

    async def look_at_refusals(self) -> None:
        """Calls that nobody need be asked about are refused, in the same words each time."""
        wrong = _wrong_call(self._make().tools)
        probes = {
            "a call of an unknown tool": AssistantMessage(
                tool_calls=(ToolCall(id="call_1", name=_UNKNOWN, arguments={}),)
            ),
            "a call that cannot be read": AssistantMessage(malformed_calls=(_malformed("call_1"),)),
        }
        if wrong is not None:
            probes[f"a call of {wrong.name} with wrong arguments"] = AssistantMessage(tool_calls=(wrong,))
        for what, message in probes.items():
            texts = [text for _ in range(2) for text in await self._refused(what, message)]
            if len(set(texts)) > 1:
                self._fault(what, "is refused in other words the next time", "let the text depend on the call only")

    async def look_at_parallel_calls(self) -> None:
        """The calls of one message are answered in their order, the unreadable ones last."""
        environment = self._make()
        calls = [ToolCall(id="call_1", name=_UNKNOWN, arguments={})]
        for tool in [tool for tool in environment.tools if tool.arguments_schema.accepts({})][:2]:
            calls.append(ToolCall(id=f"call_{len(calls) + 1}", name=tool.name, arguments={}))
        calls.append(ToolCall(id=f"call_{len(calls) + 1}", name=_UNKNOWN, arguments={"again": True}))
        last = _malformed(f"call_{len(calls) + 1}")
        message = AssistantMessage(tool_calls=tuple(calls), malformed_calls=(last,))
        step = await self._acted("parallel calls", environment, message)
        if step is None or (step.stop is not None and not step.messages):
            return
        wanted = [(call.id, call.name) for call in calls] + [(last.id, last.name)]
        found = [(one.call_id, one.name) for one in step.messages if isinstance(one, ToolMessage)]
        if found != wanted:
            told = ", ".join(f"{name} {call_id}" for call_id, name in found) or "nothing"
            asked = ", ".join(f"{name} {call_id}" for call_id, name in wanted)
            problem = f"are answered by {told}, asked were {asked}"
            self._fault("parallel calls", problem, "give one tool message for each call, in the order of the calls")

    async def look_at_end(self) -> None:
        """The conversation ends, once, and stays over."""
        environment = self._make()
        if await self._started(environment) is None:
            return
        for _ in range(self._most_turns):
            step = await self._answer("the agent's words", environment.step(_GOODBYE))
            if step is None:
                return
            if step.stop is not None:
                break
            if len(step.messages) != 1 or not isinstance(step.messages[0], UserMessage):
                said = ", ".join(message.role for message in step.messages) or "nothing"
                self._fault("the agent's words", f"are answered by {said}", "answer words with one user message")
                return
        else:
            self._fault("end", f"does not come within {self._most_turns} turns", "end by the user, or by a limit")
            return
        if step.stop.is_failure:
            problem = f"comes as {step.stop.value}: {step.detail or 'without a reason'}"
            self._fault("end", problem, "mend whatever could not go on")
        await self._misused("a step after the end", environment.step(_GOODBYE))
        await self._misused("a start after the end", environment.start())

    async def _refused(self, what: str, message: AssistantMessage) -> list[str]:
        """The text of the refusal, twice in one environment where that is not over after the first."""
        environment, texts = self._make(), []
        if await self._started(environment) is None:
            return []
        before = self._asked()
        for _ in range(2):
            step = await self._answer(what, environment.step(message))
            if step is None or (step.stop is not None and not step.messages):
                break
            told = [one for one in step.messages if isinstance(one, ToolMessage)]
            if len(told) != 1 or len(step.messages) != 1 or not told[0].is_error or told[0].call_id != "call_1":
                problem = "is not answered by one tool message that is an error and names the call"
                self._fault(what, problem, "refuse it with a reason that the agent can act on")
                break
            texts.append(told[0].content)
            if step.stop is not None:
                break
        if self._asked() != before:
            self._fault(what, "is put to a model", "refuse it by the program, which costs nothing")
        return texts

    async def _started(self, environment: Environment) -> Step | None:
        step = await self._answer("start", environment.start())
        if step is None or step.stop is None:
            return step
        problem = f"ends the episode at once as {step.stop.value}: {step.detail or 'without a reason'}"
        self._fault("start", problem, "mend whatever could not begin")
        return None

    async def _acted(self, what: str, environment: Environment, message: AssistantMessage) -> Step | None:
        if await self._started(environment) is None:
            return None
        return await self._answer(what, environment.step(message))

    async def _answer(self, what: str, answer: Awaitable[Step]) -> Step | None:
        """The step, or None where there is none: then there is a finding."""
        try:
            with boundary(SimiaError, "answer"):
                async with asyncio.timeout(self._timeout_s):
                    step = await answer
        except SimiaError as error:
            self._fault(what, f"raises {type(error).__name__}: {error}", "tell it by a step with a stop")
            return None
        if not isinstance(step, Step) or not (step.stop is None or isinstance(step.stop, StopReason)):
            self._fault(what, f"gives {step!r:.80}, which is no step", "give a simia.types.Step")
            return None
        return step

    async def _misused(self, what: str, answer: Awaitable[Step]) -> None:
        remedy = "raise EpisodeMisused"
        try:
            with boundary(SimiaError, "refuse it"):
                async with asyncio.timeout(self._timeout_s):
                    await answer
        except EpisodeMisused:
            return
        except SimiaError as error:
            self._fault(what, f"raises {type(error).__name__}: {error}", remedy)
        else:
            self._fault(what, "is accepted, although an environment is for one use", remedy)

    def _fault(self, where: str, problem: str, remedy: str) -> None:
        finding = Finding("error", where, problem, remedy)
        if finding not in self.findings:
            self.findings.append(finding)


def _wrong_call(tools: tuple[ToolSpec, ...]) -> ToolCall | None:
    """A call that does not fit its tool, or None where every tool takes anything."""
    for tool in tools:
        for arguments in _WRONG:
            if not tool.arguments_schema.accepts(arguments):
                return ToolCall(id="call_1", name=tool.name, arguments=arguments)
    return None


def _malformed(call_id: str) -> MalformedToolCall:
    return MalformedToolCall(id=call_id, name=_UNKNOWN, text="{", reason="the text is cut")
