"""Messages as the chat templates of tokenizers take them."""

from simia.types import AssistantMessage, JsonObject, Message, ToolMessage


def as_template(message: Message) -> JsonObject:
    """A message for ``apply_chat_template``: arguments are objects there, not their JSON text. A call that could not be
    read is left out: no template can spell it.
    """
    if isinstance(message, ToolMessage):
        return {"role": "tool", "name": message.name, "tool_call_id": message.call_id, "content": message.content}
    shown: JsonObject = {"role": message.role, "content": message.content}
    if isinstance(message, AssistantMessage):
        if message.tool_calls:
            shown["tool_calls"] = [
                {"type": "function", "id": call.id, "function": {"name": call.name, "arguments": call.arguments}}
                for call in message.tool_calls
            ]
        if message.reasoning is not None:
            shown["reasoning_content"] = message.reasoning
    return shown
