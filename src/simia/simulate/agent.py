"""An agent that a language model plays: follows the policy, decides to speak or to call tools."""

from typing import Any

from simia.errors import FormatError
from simia.formats.calls import dump_json
from simia.formats.json_text import lossless_json
from simia.prompts import fence, load
from simia.simulate.asking import Inadmissible, ask
from simia.simulate.parts import remembered, tool_lines
from simia.simulate.planned import Draws
from simia.simulate.schemas import decision_schema
from simia.simulate.settings import SimulateSettings
from simia.types import (
    AssistantMessage,
    ChatModel,
    ChatRequest,
    JsonObject,
    MalformedToolCall,
    Message,
    Sampling,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
    WorldSpec,
)

PROMPTS = ("turns_agent",)


class SimulatedAgent:
    """Acts for an agent. Sees policy, tools and conversation; never the task, the state or the tools' source.

    Whether a call fits the tools is not decided here: whoever answers the calls refuses it in words that the agent
    can act on, as a real system would.
    """

    def __init__(self, model: ChatModel, settings: SimulateSettings) -> None:
        self._model = model
        self._settings = settings
        self._systems: dict[tuple[str, str], SystemMessage] = {}
        self._schemas: dict[str, JsonObject] = {}

    def request(
        self, world: WorldSpec, messages: tuple[Message, ...], draws: Draws, reasoning: str = ""
    ) -> ChatRequest:
        """The question for the agent's next decision; ``reasoning`` is its way of working, in a sentence."""
        settings = self._settings
        texts = (message.content for message in messages if not isinstance(message, AssistantMessage))
        tag = draws.tag("agent/fence", texts)
        system = remembered(self._systems, (world.content_id, reasoning), lambda: self._system(world, reasoning))
        schema = remembered(self._schemas, world.content_id, lambda: self._schema(world))
        return ChatRequest(
            model=self._model.name,
            messages=(system, *_as_seen(messages, tag, thoughts=settings.thoughts)),
            sampling=Sampling(
                temperature=settings.temperature,
                max_tokens=settings.max_tokens,
                seed=draws.sampling_seed(f"agent/{len(messages)}"),
            ),
            response_schema=schema if settings.structured else None,
        )

    async def decide(
        self, world: WorldSpec, messages: tuple[Message, ...], draws: Draws, reasoning: str = ""
    ) -> tuple[AssistantMessage, bool]:
        """The agent's next message, and whether its JSON had to be repaired.

        An answer that stays unreadable becomes a malformed call, verbatim. Arguments that are JSON inside a string are
        a repair like any other, made here so that the call is answered as what it means.
        """
        request = self.request(world, messages, draws, reasoning)
        first = 1 + sum(_count_calls(message) for message in messages)

        def read(value: Any) -> tuple[AssistantMessage, bool]:
            return _read(value, first, thoughts=self._settings.thoughts)

        answer = await ask(self._model, request, read, self._settings.max_repairs)
        if isinstance(answer, Inadmissible):
            malformed = MalformedToolCall(id=f"call_{first}", text=answer.text, reason=answer.reason)
            return AssistantMessage(malformed_calls=(malformed,)), False
        message, decoded = answer.value
        return message, answer.repaired or decoded

    def _system(self, world: WorldSpec, reasoning: str) -> SystemMessage:
        content = load("turns_agent").render(
            policy=world.policy.strip(),
            tools=tool_lines(world, show_returns=False),
            thoughts=self._settings.thoughts,
            reasoning=reasoning,
        )
        return SystemMessage(content=content)

    def _schema(self, world: WorldSpec) -> JsonObject:
        settings = self._settings
        return decision_schema(world, thoughts=settings.thoughts, max_calls=settings.max_parallel_calls)


def _as_seen(messages: tuple[Message, ...], tag: str, *, thoughts: bool) -> list[Message]:
    """The conversation as the agent reads it: its own decisions as it wrote them, everything else in fences; the
    results of one step in one message, because many chat templates demand that the roles alternate.
    """
    seen: list[Message] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            seen.append(AssistantMessage(content=dump_json(_decision(message, thoughts=thoughts))))
            continue
        if isinstance(message, ToolMessage):
            label = f"{message.call_id} {message.name}".strip() + (" (error)" if message.is_error else "")
            content = f"Result of {label}:\n{fence(message.content, tag, 'result')}"
        else:
            content = fence(message.content, tag, "user")
        if seen and isinstance(seen[-1], UserMessage):
            content = f"{seen.pop().content}\n{content}"
        seen.append(UserMessage(content=content))
    return seen


def _decision(message: AssistantMessage, *, thoughts: bool) -> JsonObject:
    thought = {"thought": message.reasoning} if thoughts and message.reasoning else {}
    calls = [{"name": call.name, "arguments": call.arguments} for call in message.tool_calls]
    calls += [{"name": call.name or "", "arguments": call.text} for call in message.malformed_calls]
    said = {"say": message.content} if message.content or not calls else {}
    return {**thought, **said, **({"calls": calls} if calls else {})}


def _count_calls(message: Message) -> int:
    if not isinstance(message, AssistantMessage):
        return 0
    return len(message.tool_calls) + len(message.malformed_calls)


def _read(value: Any, first: int, *, thoughts: bool) -> tuple[AssistantMessage, bool]:
    """The message that a decision spells, its calls numbered from ``first``, and whether arguments were decoded."""
    if not isinstance(value, dict):
        raise FormatError('the answer is neither {"say": "..."} nor {"calls": [...]}')
    say, calls = value.get("say", ""), value.get("calls", [])
    if not isinstance(say, str) or not isinstance(calls, list):
        raise FormatError('"say" must be a text and "calls" a list')
    if not say.strip() and not calls:
        raise FormatError('the answer neither says nor calls anything: give "say" or "calls"')
    thought = value.get("thought")
    read: list[ToolCall] = []
    malformed: list[MalformedToolCall] = []
    decoded = False
    for number, call in enumerate(calls, first):
        name = call.get("name") if isinstance(call, dict) else None
        arguments = call.get("arguments") if isinstance(call, dict) else None
        if isinstance(arguments, str):
            arguments = _decoded(arguments)
            decoded = decoded or not isinstance(arguments, str)
        if isinstance(name, str) and name and isinstance(arguments, dict):
            read.append(ToolCall(id=f"call_{number}", name=name, arguments=arguments))
        else:
            malformed.append(
                MalformedToolCall(
                    id=f"call_{number}",
                    name=name if isinstance(name, str) and name else None,
                    text=dump_json(call if name is None else arguments),
                    reason='a call needs "name" (a text) and "arguments" (an object)',
                )
            )
    message = AssistantMessage(
        content=say.strip(),
        reasoning=thought if thoughts and isinstance(thought, str) and thought.strip() else None,
        tool_calls=tuple(read),
        malformed_calls=tuple(malformed),
    )
    return message, decoded


def _decoded(text: str) -> Any:
    """The object that ``text`` spells as JSON, or the text itself."""
    try:
        value = lossless_json(text)
    except FormatError:
        return text
    return value if isinstance(value, dict) else text
