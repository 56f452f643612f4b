"""How far an episode may go."""

from pydantic import Field

from simia.config import Settings


class Limits(Settings):
    """What ends an episode that does not end by itself, each with a stop reason of its own.

    ``max_turns`` is how often the agent may act, and ``max_tokens`` how long the whole conversation may be, tools and
    policy not counted (estimated from characters; a trainer counts its own). Both truncate: what happened so far is
    scored. ``malformed`` is how many messages in a row may hold a call that cannot be read before the agent is given
    up. ``timeout_s`` is how many seconds the environment may take in all, without the agent; beyond it the episode is
    masked. An answer longer than ``observation_chars`` is a failure of whoever gave it.

    The program refuses, and nobody is asked for, what could fill a simulator's context: the calls of one message beyond
    the first ``message_calls``, and a call whose arguments are longer than ``argument_chars``.
    """

    max_turns: int = Field(default=40, ge=1)
    max_tokens: int = Field(default=32_768, ge=1)
    malformed: int = Field(default=3, ge=1)
    timeout_s: float = Field(default=1800.0, gt=0)
    observation_chars: int = Field(default=100_000, ge=1)
    message_calls: int = Field(default=32, ge=1)
    argument_chars: int = Field(default=8000, ge=1)
