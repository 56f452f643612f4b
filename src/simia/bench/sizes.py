"""By how much a call changes the state, as every table and curve over the number of changes sorts calls."""

from simia.bench.sample import Sample
from simia.bench.strata import LARGEST

REFUSED = -1
"""Calls that the world turns down, however little they change. EnvSimBench counts them among 0."""


BEYOND = LARGEST + 1


def size_bucket(sample: Sample) -> int:
    """:data:`REFUSED`, the number of changes up to :data:`LARGEST`, or :data:`BEYOND`."""
    return REFUSED if sample.is_error else min(sample.size, BEYOND)


def bucket_name(bucket: int) -> str:
    """``refused``, ``0``, ``1``, and so on to ``over 12``."""
    return {REFUSED: "refused", BEYOND: f"over {LARGEST}"}.get(bucket, str(bucket))
