"""Rules that a seed must pass before anything is made from it. They cost no model call."""

from simia.synthesis import checks
from simia.types import Dropped, Kept, Outcome, Seed


def broken_rule(seed: Seed) -> Dropped | None:
    """The first rule that ``seed`` breaks, or None.

    In order: ``unreadable_call``, ``unknown_tool``, ``invalid_arguments``, ``no_user_turn``/``broken_turn_order``/
    ``empty_turn``, ``duplicate_call_id``/``orphan_observation``/``unanswered_call``, ``empty_end``/``cut_end``. A
    missing observation is reported as such and not as the broken order that it also is.
    """
    messages, world = seed.reference, seed.world
    if not any(message.role == "user" for message in messages):
        return Dropped("no_user_turn", f"{len(messages)} messages, none by the user")
    return (
        checks.readable_calls(messages)
        or checks.known_tools(messages, world)
        or checks.valid_arguments(messages, world)
        or checks.answered_calls(messages)
        or checks.turn_order(messages)
        or checks.ending(messages)
    )


def apply_rules(seed: Seed) -> Outcome[Seed]:
    """``seed`` kept as it is, or dropped with the first rule that it breaks."""
    return broken_rule(seed) or Kept(seed)
