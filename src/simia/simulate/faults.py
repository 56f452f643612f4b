"""Programmed faults: a call meets a technical error at a place drawn beforehand, not whenever a model feels like it."""

import orjson

from simia.simulate.planned import Draws
from simia.types import Plan, StateDelta, Transition

OBSERVATIONS = {
    "timeout": "the request timed out after 30 s; nothing was changed; try again",
    "rate_limit": "too many requests; nothing was changed; try again",
    "server_error": "internal server error (503); nothing was changed; try again",
    "permission_denied": "permission denied (403) for this request; nothing was changed",
}
"""What the agent sees of each kind of fault that stands in the place of an answer."""

RECOVERABLE = ("rate_limit", "server_error", "timeout")
"""Those that the same call gets over: what a plan draws from, in this order."""


def planned_faults(plan: Plan, draws: Draws) -> dict[int, str]:
    """The kind of fault by index of the call, from 0, among the calls that fit their schema; empty unless the plan
    wants a recoverable fault.

    The first or the second call: later ones often never come.
    """
    if plan.outcome != "recoverable_fault":
        return {}
    rng = draws.rng("fault")
    return {rng.randrange(2): rng.choice(RECOVERABLE)}


def fault_transition(kind: str, *, tracked: bool) -> Transition:
    """What a call that meets the fault ``kind`` shows. It changes nothing."""
    text = orjson.dumps({"error": OBSERVATIONS[kind]}).decode()
    return Transition(observation=text, is_error=True, delta=StateDelta() if tracked else None)
