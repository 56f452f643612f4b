"""How much strange code may use."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call of strange code may use. ``reply_mib`` also bounds what it prints, which nobody reads."""

    seconds: float = 5.0
    memory_mib: int = 512
    reply_mib: int = 16
