"""How many items met which fate."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Counts:
    """Items seen and what became of them; ``dropped`` is by rule.

    ``interrupted`` says that a stop was asked for, so that items of the source may be unseen.

    Raises:
        ValueError: ``kept + dropped + failed`` is not ``seen``: an item has no outcome, or two.
    """

    seen: int
    kept: int
    failed: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    interrupted: bool = False

    def __post_init__(self) -> None:
        settled = self.kept + self.dropped_total + self.failed
        if settled != self.seen:
            raise ValueError(f"{self.seen} items were seen but {settled} have an outcome: {self}")

    @property
    def dropped_total(self) -> int:
        """Items dropped, over all rules."""
        return sum(self.dropped.values())
