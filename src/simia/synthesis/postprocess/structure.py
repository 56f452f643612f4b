"""Passes that only judge: calls, their observations, the order of turns, the end."""

import orjson

from simia.errors import FormatError
from simia.formats.calls import load_json
from simia.synthesis import checks
from simia.synthesis.postprocess.edit import Context
from simia.types import Dropped, Schema, StopReason, Trajectory


def readable_calls(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Drops what still has a malformed call (``unreadable_call``)."""
    return checks.readable_calls(trajectory.messages) or trajectory


def known_tools(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Drops a call of a tool that the world does not have (``unknown_tool``)."""
    return checks.known_tools(trajectory.messages, context.world) or trajectory


def valid_arguments(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Drops a call whose arguments break the tool's schema (``invalid_arguments``)."""
    return checks.valid_arguments(trajectory.messages, context.world) or trajectory


def answered_calls(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Drops ``duplicate_call_id``, ``orphan_observation`` and ``unanswered_call``."""
    return checks.answered_calls(trajectory.messages) or trajectory


def valid_results(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Drops an observation that breaks what its tool ``returns`` (``invalid_result``).

    An observation is JSON text, or, where the tool returns a string, that string as it is. Errors, and the results of
    tools that declare nothing, may be anything.
    """
    tools = context.tools
    for message in trajectory.messages:
        if message.role != "tool" or message.is_error:
            continue
        tool = tools.get(message.name)
        if tool is None or tool.returns is None or _fits(message.content, tool.returns):
            continue
        return Dropped("invalid_result", f"{message.call_id} {message.name}: {_problem(message.content, tool.returns)}")
    return trajectory


def turn_order(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Drops ``no_user_turn``, ``broken_turn_order`` and ``empty_turn``."""
    return checks.turn_order(trajectory.messages) or trajectory


def complete_end(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Drops ``empty_end`` and ``cut_end``; a trajectory that stopped for any reason but completion is cut, too."""
    if trajectory.stop_reason is not StopReason.COMPLETED:
        return Dropped("cut_end", f"stopped by {trajectory.stop_reason.value}")
    return checks.ending(trajectory.messages) or trajectory


def _fits(content: str, returns: Schema) -> bool:
    # Not calls.load_json, which looks for long integers first: a schema takes their floats as well.
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        return returns.accepts(content)
    return returns.accepts(value) or returns.accepts(content)


def _problem(content: str, returns: Schema) -> str:
    try:
        return "; ".join(returns.violations(load_json(content)))
    except FormatError:
        return f"the result is no JSON: {content!r:.80}"
