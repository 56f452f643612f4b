"""The benchmark on BFCL's APIs: its instrument is right, and all three settings can be asked."""

from collections.abc import Callable

import pytest

from simia.worlds.bfcl_package import APIS

pytest.importorskip("bfcl", reason="needs the extra bfcl")
pytestmark = [pytest.mark.bfcl, pytest.mark.slow]


def test_the_world_itself_is_always_right_and_doing_nothing_never(examined: Callable[..., None]) -> None:
    examined(*(f"bfcl:{api}:base" for api in APIS), tasks=40)
