"""The benchmark on AgentDojo's suites: its instrument is right, and all three settings can be asked."""

from collections.abc import Callable

import pytest

from simia.worlds.agentdojo import SUITES

pytest.importorskip("agentdojo", reason="needs the extra agentdojo")
pytestmark = [pytest.mark.agentdojo, pytest.mark.slow]


def test_the_world_itself_is_always_right_and_doing_nothing_never(examined: Callable[..., None]) -> None:
    examined(*(f"agentdojo:{suite}" for suite in SUITES), tasks=12)
