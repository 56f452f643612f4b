"""What the simulators work on: a seed with the plan drawn for one new conversation, and its random numbers."""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from simia.config import bits_for, rng_for
from simia.prompts import new_tag
from simia.types import Plan, Seed

_SEED_BITS = 31
_CHARACTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789"


@dataclass(frozen=True, slots=True)
class PlannedSeed:
    """One conversation to be made. ``item_id`` is its identity in the run; ``attempt`` tells apart items that share
    seed and plan.
    """

    seed: Seed
    plan: Plan
    attempt: int
    item_id: str


@dataclass(frozen=True, slots=True)
class Draws:
    """The random numbers of one conversation, by purpose: each purpose is independent of all others."""

    seed: int
    item_id: str
    attempt: int = 0

    def rng(self, purpose: str) -> Random:
        """The numbers of one purpose."""
        return rng_for(self.seed, f"{self.item_id}\x1f{purpose}", self.attempt)

    def sampling_seed(self, purpose: str) -> int:
        """What ``Sampling.seed`` is for one request; 31 bits, because some servers refuse more."""
        return bits_for(self.seed, f"{self.item_id}\x1f{purpose}", self.attempt, _SEED_BITS)

    def characters(self, purpose: str) -> str:
        """Three groups of random letters and digits: what a model builds new ids from, instead of its habits."""
        rng = self.rng(purpose)
        return " ".join("".join(rng.choices(_CHARACTERS, k=6)) for _ in range(3))

    def tag(self, purpose: str, texts: Iterable[str]) -> str:
        """A fence's tag for one reader: the same as long as none of the ``texts`` contains it, so that the growing
        history of a conversation stays a cached prefix.
        """
        rng, known = self.rng(purpose), tuple(texts)
        while True:
            tag = new_tag(rng)
            if not any(tag in text for text in known):
                return tag
