"""ShareGPT with tool roles, as APIGen-MT and LLaMA-Factory spell it: human, gpt, function_call, observation.

The items alternate as LLaMA-Factory's converter demands: the calls of one turn are one ``function_call`` (a JSON
object, or a list where they are parallel), their observations one ``observation``, joined as LLaMA-Factory's OpenAI
converter joins them. Text beside a call stands before the JSON, which is then wrapped in ``<tool_call>`` (LLaMA-Factory
reads both since its ``tool_call_words``); reasoning stands in a ``<think>`` block before that. A malformed call without
a name is its text, or a string in the list.

Reading also takes consecutive ``function_call`` and ``observation`` items as parallel.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from simia.errors import FormatError
from simia.formats.calls import Call, SpelledCall, Turn, calls_of, read_calls, record_of, turns
from simia.formats.markers import escape, json_line, render_reasoning, split_blocks, split_reasoning, unescape
from simia.formats.observation import JOINER, unwrap, wrap
from simia.formats.pairing import ConversationReader, Pending
from simia.types import AssistantMessage, Message, SystemMessage, ToolCall, UserMessage

_ROLES = "system, human, user, gpt, assistant, function_call, observation, tool"
_OBSERVATION = ("observation", "tool")


def render(messages: Sequence[Message]) -> list[dict[str, str]]:
    """The items ``{"from": ..., "value": ...}``.

    Raises:
        FormatError: an observation answers no call of the turn before it.
    """
    items = []
    for turn in turns(messages):
        message = turn.message
        if isinstance(message, AssistantMessage):
            items += _render_turn(message, turn)
        elif isinstance(message, UserMessage | SystemMessage):
            role = "human" if isinstance(message, UserMessage) else "system"
            items.append({"from": role, "value": message.content})
    return items


def parse(items: Sequence[Mapping[str, Any]]) -> tuple[Message, ...]:
    """The messages; call ids are ``call_1``, ``call_2`` and so on. Inverts :func:`render` for normalised messages.

    Raises:
        FormatError: an unknown role, a value that is no text, or an observation without a call; names index and role.
    """
    reader = ConversationReader()
    calling = False
    for index, item in enumerate(items):
        role, value = _role_and_value(index, record_of(index, item))
        if role == "function_call":
            reasoning, content, calls = _read_turn(value)
            if calling and reasoning is None and not content:
                reader.extend_turn(calls)
            else:
                reader.add_turn(content, reasoning, calls)
            calling = True
            continue
        calling = False
        if role in ("human", "user"):
            reader.add(UserMessage(content=value))
        elif role in ("gpt", "assistant"):
            reasoning, rest = split_reasoning(value)
            reader.add(AssistantMessage(content=unescape(rest), reasoning=reasoning))
        elif role in _OBSERVATION:
            for part in value.split(JOINER):
                content, is_error, position = unwrap(part)
                reader.add_observation(index, content, is_error, position)
        elif role == "system":
            reader.add(SystemMessage(content=value))
        else:
            raise FormatError(f"item {index} has the role {role!r}; known roles: {_ROLES}")
    return tuple(reader.messages)


def _render_turn(message: AssistantMessage, turn: Turn) -> list[dict[str, str]]:
    thought = render_reasoning(message.reasoning)
    if not turn.calls:
        return [{"from": "gpt", "value": thought + escape(message.content)}]
    spelled = _spell_calls(calls_of(message))
    if message.content:
        spelled = f"{escape(message.content)}\n<tool_call>{spelled}</tool_call>"
    items = [{"from": "function_call", "value": thought + spelled}]
    pending = Pending.of(turn.calls)
    observations = []
    for position, _, observation in turn.answered():
        place = None if pending.guess() == position else position
        pending.close(position)
        observations.append(wrap(observation.content, observation.is_error, place))
    if observations:
        items.append({"from": "observation", "value": JOINER.join(observations)})
    return items


def _spell_calls(calls: Sequence[Call]) -> str:
    spelled: list[object] = []
    for call in calls:
        if isinstance(call, ToolCall):
            spelled.append({"name": call.name, "arguments": call.arguments})
        else:
            spelled.append({"name": call.name, "arguments": call.text} if call.name else call.text)
    if len(spelled) > 1:
        return json_line(spelled)
    if isinstance(spelled[0], str):
        text = escape(spelled[0])
        return text if read_calls(text) is None and text == text.strip() else json_line(spelled)
    return json_line(spelled[0])


def _read_turn(value: str) -> tuple[str | None, str, list[SpelledCall]]:
    reasoning, rest = split_reasoning(value)
    content, blocks = split_blocks(rest)
    if not blocks:
        content, blocks = "", [rest]
    calls: list[SpelledCall] = []
    for block in blocks:
        calls += read_calls(block) or [(None, unescape(block))]
    return reasoning, content, calls


def _role_and_value(index: int, item: Mapping[str, Any]) -> tuple[Any, str]:
    role = item.get("from", item.get("role"))
    value = item.get("value", item.get("content"))
    if not isinstance(value, str):
        raise FormatError(f"item {index} ({role}) has a value that is no text: {value!r:.80}")
    return role, value
