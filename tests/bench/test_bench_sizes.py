"""Every call falls into one place of the axis of changes."""

import pytest

from simia.bench.sample import Sample
from simia.bench.sizes import BEYOND, REFUSED, bucket_name, size_bucket
from simia.bench.suite import Suite
from simia.types import Put, StateDelta


@pytest.mark.parametrize(
    ("size", "is_error", "bucket", "name"),
    [
        (0, False, 0, "0"),
        (0, True, REFUSED, "refused"),
        (3, True, REFUSED, "refused"),
        (1, False, 1, "1"),
        (12, False, 12, "12"),
        (13, False, BEYOND, "over 12"),
        (99, False, BEYOND, "over 12"),
    ],
)
def test_a_call_has_its_place(suite: Suite, size: int, is_error: bool, bucket: int, name: str) -> None:
    changes = tuple(Put(path=(f"k{number}",), value=1) for number in range(size))
    update = {"is_error": is_error, "delta": StateDelta(changes=changes)}
    sample: Sample = suite.samples[0].model_copy(update=update)
    assert size_bucket(sample) == bucket
    assert bucket_name(bucket) == name
