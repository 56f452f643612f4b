"""What a conversation must satisfy to be an example, as checks that seeds and synthesised trajectories share.

Each check looks at messages alone, or at messages and their world, and gives the rule that is broken, or None. The
names of the rules are stable: reports count by them.
"""

from collections.abc import Sequence

from simia.types import Dropped, MalformedToolCall, Message, ToolCall, WorldSpec

# Which role may come after which; "calling" is an assistant message with calls.
_FOLLOWERS = {
    "start": frozenset({"user"}),
    "user": frozenset({"assistant", "calling"}),
    "assistant": frozenset({"user"}),
    "calling": frozenset({"tool"}),
    "tool": frozenset({"tool", "assistant", "calling"}),
}


def readable_calls(messages: Sequence[Message]) -> Dropped | None:
    """``unreadable_call``: a call is still malformed."""
    for message in messages:
        if message.role == "assistant" and message.malformed_calls:
            call = message.malformed_calls[0]
            return Dropped("unreadable_call", f"{call.id}: {call.reason}")
    return None


def known_tools(messages: Sequence[Message], world: WorldSpec) -> Dropped | None:
    """``unknown_tool``: a call names a tool that the world does not have."""
    tools = world.tool
    for message in messages:
        if message.role == "assistant":
            for call in message.tool_calls:
                if call.name not in tools:
                    return Dropped("unknown_tool", f"{call.id} calls {call.name!r}")
    return None


def valid_arguments(messages: Sequence[Message], world: WorldSpec) -> Dropped | None:
    """``invalid_arguments``: the arguments of a call break the tool's schema. Unknown tools are another rule's."""
    tools = world.tool
    for message in messages:
        if message.role == "assistant":
            for call in message.tool_calls:
                tool = tools.get(call.name)
                if tool is not None and not tool.arguments_schema.accepts(call.arguments):
                    reasons = "; ".join(tool.arguments_schema.violations(call.arguments))
                    return Dropped("invalid_arguments", f"{call.id} {call.name}: {reasons}")
    return None


def answered_calls(messages: Sequence[Message]) -> Dropped | None:
    """Every call has exactly one observation before anybody else speaks, under an id used once.

    ``duplicate_call_id``, ``orphan_observation`` (its id or its name is no open call's), ``unanswered_call``.
    """
    used: set[str] = set()
    waiting: dict[str, str | None] = {}
    for position, message in enumerate(messages, 1):
        if message.role == "tool":
            if message.call_id not in waiting:
                return Dropped("orphan_observation", f"message {position} answers {message.call_id!r}")
            name = waiting.pop(message.call_id)
            if name is not None and name != message.name:
                return Dropped("orphan_observation", f"message {position} answers {name} as {message.name!r}")
            continue
        if waiting:
            return Dropped("unanswered_call", f"{next(iter(waiting))} has no observation before message {position}")
        if message.role == "assistant":
            calls: tuple[ToolCall | MalformedToolCall, ...] = (*message.tool_calls, *message.malformed_calls)
            for call in calls:
                if call.id in used:
                    return Dropped("duplicate_call_id", f"message {position} uses {call.id!r} again")
                used.add(call.id)
                waiting[call.id] = call.name
    if waiting:
        return Dropped("unanswered_call", f"{next(iter(waiting))} has no observation at the end")
    return None


def turn_order(messages: Sequence[Message]) -> Dropped | None:
    """The user opens, the assistant answers, calls are followed by observations.

    ``no_user_turn``, ``broken_turn_order``, ``empty_turn`` (a user who says nothing; an assistant who, before the
    end, neither says nor calls anything).
    """
    before = "start"
    last = len(messages)
    for position, message in enumerate(messages, 1):
        role: str = message.role
        if role == "assistant" and (message.tool_calls or message.malformed_calls):  # type: ignore[union-attr]
            role = "calling"
        if role not in _FOLLOWERS[before]:
            if all(other.role != "user" for other in messages):
                return Dropped("no_user_turn", f"{last} messages, none by the user")
            return Dropped("broken_turn_order", f"message {position}: {role} after {before}")
        silent = role == "user" or (role == "assistant" and position < last)
        if silent and (not message.content or message.content.isspace()):
            return Dropped("empty_turn", f"message {position}: {role} says nothing")
        before = role
    if before == "start":
        return Dropped("no_user_turn", "no messages")
    return None


def ending(messages: Sequence[Message]) -> Dropped | None:
    """The agent has the last word: ``empty_end`` if it says nothing, ``cut_end`` if somebody else is last or a call
    stands open.
    """
    if not messages:
        return Dropped("empty_end", "no messages")
    last = messages[-1]
    if last.role != "assistant":
        return Dropped("cut_end", f"the last message is by {last.role}")
    if last.tool_calls or last.malformed_calls:
        return Dropped("cut_end", "the last message calls a tool and nothing follows")
    if not last.content or last.content.isspace():
        return Dropped("empty_end", "the last message says nothing")
    return None
