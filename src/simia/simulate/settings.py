"""What a user may set about the simulation."""

from typing import Literal

from pydantic import Field

from simia.config import Settings


class SimulateSettings(Settings):
    """How new conversations are made.

    ``mode`` "trajectory": a model writes a whole conversation in one reply, as in Simia (arXiv 2511.01824, section 3:
    temperature 1.0). "turns": user, agent and tools are played apart, with the tools over tracked state.
    ``attempts`` is how often a whole conversation is asked for before an item is given up (mode "trajectory");
    ``max_repairs`` how often one inadmissible answer of a role is sent back with its reason (mode "turns").
    ``structured`` sends a JSON Schema with each request; switch it off for servers that mistreat large schemas (how a
    schema is sent is ``model.structured``). ``temperature`` is how freely a model writes, ``max_tokens`` the longest
    single reply. ``max_exchanges`` is how often the user speaks at most, and in mode "turns" ``max_turns`` the most
    messages of a conversation and ``max_parallel_calls`` the most calls of one message. ``thoughts``: the agent writes
    down its reasoning before it acts. ``operations``: a simulated tool may have sums, dates and new ids computed by the
    program before it answers (mode "turns").

    Lengths in characters keep a prompt within a small model's context: the tools' result schemas are shown if all of
    them together have at most ``returns_chars`` (0: never), the results in a longer exemplar than ``exemplar_chars``
    are thinned out, and a tool simulator sees ``state_chars`` of the state and ``history_chars`` of the past.

    ``profile`` "small" bounds what a whole conversation may hold, and where they are not set lowers ``max_tokens`` to
    1280, ``max_exchanges`` to 3, ``attempts`` to 1, ``returns_chars`` to 0 and the other lengths to 3000; "auto" means
    "small" for the embedded model and for GGUF files below 3 GB, and "full" for all others.
    """

    profile: Literal["auto", "full", "small"] = "auto"
    mode: Literal["trajectory", "turns"] = "trajectory"
    temperature: float = Field(default=1.0, ge=0)
    max_tokens: int = Field(default=4096, ge=64)
    max_exchanges: int = Field(default=12, ge=1)
    max_turns: int = Field(default=40, ge=2)
    max_parallel_calls: int = Field(default=4, ge=1)
    max_repairs: int = Field(default=2, ge=0)
    attempts: int = Field(default=2, ge=1)
    thoughts: bool = False
    operations: bool = False
    structured: bool = True
    returns_chars: int = Field(default=8000, ge=0)
    exemplar_chars: int = Field(default=8000, ge=200)
    state_chars: int = Field(default=8000, ge=200)
    history_chars: int = Field(default=8000, ge=200)
    seed: int = Field(default=0, exclude=True)
    """Moves all draws. A recipe has one seed for everything and puts it here: see ``Recipe.seed``."""

    def for_model(self, *, is_small: bool) -> "SimulateSettings":
        """These settings with the profile decided, and for a small one with :data:`SMALL` where nothing was set."""
        profile = self.profile if self.profile != "auto" else "small" if is_small else "full"
        values = {key: value for key, value in SMALL.items() if key not in self.model_fields_set}
        return self.model_copy(update={"profile": profile, **(values if profile == "small" else {})})


SMALL: dict[str, int] = {
    "max_tokens": 1280,
    "max_exchanges": 3,
    "attempts": 1,
    "returns_chars": 0,
    "exemplar_chars": 3000,
    "state_chars": 3000,
    "history_chars": 3000,
}
"""What a model of a few billion weights at most can use: it is slow on a processor, and lost in long prompts."""
