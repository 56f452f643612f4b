"""Whether a tool call fits the tools of a world, in words that an agent can act on."""

from simia.types import ToolCall, WorldSpec


def call_problem(world: WorldSpec, call: ToolCall) -> str | None:
    """Why ``call`` cannot be run in ``world``, as one line, or None if it fits.

    The text depends on nothing but the two, so that executable worlds and simulators refuse a call in the same words,
    without asking anybody.
    """
    tool = world.tool.get(call.name)
    if tool is None:
        return f"unknown tool {call.name!r}; available tools: {', '.join(sorted(world.tool))}"
    violations = tool.arguments_schema.violations(call.arguments)
    if violations:
        return f"invalid arguments for {call.name}: {'; '.join(violations)}"
    return None
