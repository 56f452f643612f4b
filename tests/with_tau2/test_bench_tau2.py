"""The benchmark on tau2's domains: its instrument is right, and all three settings can be asked."""

from collections.abc import Callable

import pytest

pytest.importorskip("tau2", reason="needs the extra tau2")
pytestmark = [pytest.mark.tau2, pytest.mark.slow]


def test_the_world_itself_is_always_right_and_doing_nothing_never(examined: Callable[..., None]) -> None:
    examined("tau2:airline", "tau2:retail", "tau2:telecom", tasks=8)
