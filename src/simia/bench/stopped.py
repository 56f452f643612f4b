"""Why a call of strange code has no transition, in a few words that can be counted."""

from simia.errors import SandboxViolation, StateError


def stopped_by(cause: SandboxViolation | StateError) -> str:
    """The wall that the call ran into, or that it left a state without JSON."""
    if isinstance(cause, SandboxViolation):
        return f"a wall of the sandbox, {cause.wall}"
    return "a state that has no JSON"
