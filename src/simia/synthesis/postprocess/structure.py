"""Passes that only judge: calls, their observations, the order of turns, the end."""

from simia.synthesis import checks
from simia.synthesis.postprocess.edit import Context
from simia.types import Dropped, StopReason, Trajectory


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


def turn_order(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Drops ``no_user_turn``, ``broken_turn_order`` and ``empty_turn``."""
    return checks.turn_order(trajectory.messages) or trajectory


def complete_end(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Drops ``empty_end`` and ``cut_end``; a trajectory that stopped for any reason but completion is cut, too."""
    if trajectory.stop_reason is not StopReason.COMPLETED:
        return Dropped("cut_end", f"stopped by {trajectory.stop_reason.value}")
    return checks.ending(trajectory.messages) or trajectory
