"""The past of a conversation as a tool simulator reads it."""

from simia.formats import transcript
from simia.types import AssistantMessage, Message, ToolMessage


def shown_history(messages: tuple[Message, ...], budget_chars: int) -> str:
    """The last messages that fit the budget, oldest first, without reasoning; empty if there are none.

    While everything fits, the text only grows at its end, so that it stays a cached prefix.
    """
    spoken = tuple(_without_reasoning(message) for message in messages)
    start, room = len(spoken), budget_chars
    while start:
        room -= len(transcript.render(spoken[start - 1 : start])) + 1
        if room < 0:
            break
        start -= 1
    # A transcript never begins with an observation whose call is not shown.
    while start < len(spoken) and isinstance(spoken[start], ToolMessage):
        start += 1
    return transcript.render(spoken[start:], start=start + 1)


def _without_reasoning(message: Message) -> Message:
    if isinstance(message, AssistantMessage) and message.reasoning is not None:
        return message.model_copy(update={"reasoning": None})
    return message
