"""Tokens before a server has counted them: an estimate for ``--dry-run``, and an upper bound for the cost ceiling."""

from simia.formats.calls import dump_json
from simia.models.wire import ByIdentity
from simia.types import AssistantMessage, ChatRequest, JsonObject, Message, ToolSpec

_LETTERS_PER_TOKEN = 3.6
_MESSAGE_TOKENS = 4
# A template's marks around a message, and its own words about how to call tools: generous on purpose.
_MOST_MESSAGE_TOKENS = 32
_MOST_TOOL_TOKENS = 1024

_tool_texts: ByIdentity[tuple[ToolSpec, ...], str] = ByIdentity()
_schema_texts: ByIdentity[JsonObject, str] = ByIdentity()


def estimate_tokens(text: str) -> int:
    """About how many tokens ``text`` has, for a tokenizer nobody asked.

    An estimate: 3.6 letters to a token, as English and JSON have with the tokenizers in use, and one token for a
    letter of three bytes. Expect it to be off by up to a quarter; a server's own count replaces it in every report.
    """
    if text.isascii():
        return round(len(text) / _LETTERS_PER_TOKEN)
    extra = len(text.encode("utf-8", "surrogatepass")) - len(text)
    return max(1, round(max(0.0, len(text) - extra * 0.6) / _LETTERS_PER_TOKEN + extra / 2))


def estimate_prompt(request: ChatRequest) -> int:
    """About how many tokens the prompt of ``request`` has, tools and schema included."""
    texts = _texts(request)
    return sum(map(estimate_tokens, texts)) + _MESSAGE_TOKENS * len(request.messages)


def most_prompt_tokens(request: ChatRequest) -> int:
    """More tokens than the prompt of ``request`` can have: no tokenizer in use makes two tokens of one byte."""
    size = sum(len(text) if text.isascii() else 4 * len(text) for text in _texts(request))
    return size + _MOST_MESSAGE_TOKENS * (len(request.messages) + 1) + (_MOST_TOOL_TOKENS if request.tools else 0)


def _texts(request: ChatRequest) -> list[str]:
    texts = [text for message in request.messages for text in _message_texts(message)]
    if request.tools:
        known = _tool_texts.get(request.tools)
        texts.append(known or _tool_texts.put(request.tools, dump_json([tool.as_openai() for tool in request.tools])))
    schema = request.response_schema
    if schema is not None:
        texts.append(_schema_texts.get(schema) or _schema_texts.put(schema, dump_json(schema)))
    return texts


def _message_texts(message: Message) -> list[str]:
    if not isinstance(message, AssistantMessage):
        return [message.content]
    texts = [message.content, message.reasoning or ""]
    texts.extend(call.name + dump_json(call.arguments) for call in message.tool_calls)
    texts.extend((call.name or "") + call.text for call in message.malformed_calls)
    return texts
