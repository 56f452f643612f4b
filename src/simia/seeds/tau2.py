"""Seeds by executing the gold actions of tau2's train tasks. Needs the extra ``tau2``."""

from collections.abc import Iterator

from simia.errors import ExtraMissing
from simia.types import Seed


def read_seeds(domain: str, licence: str | None = None) -> Iterator[Seed]:
    raise ExtraMissing("tau2", "reading tau2 seeds")
