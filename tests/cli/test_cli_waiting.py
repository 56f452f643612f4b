"""What is said while requests wait."""

import pytest

from simia.cli.waiting import Waiting
from simia.errors import ServerFailed


def test_many_requests_that_wait_are_told_by_one_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter((0.0, 1.0, 2.0, 29.0, 31.0, 32.0))
    waiting = Waiting(lambda: next(times))
    for _ in range(6):
        waiting(ServerFailed("away"), 8.0)

    told = capsys.readouterr().err.splitlines()
    assert told == ["trying again in 8 s: away", "trying again in 8 s, and 3 more since: away"]


def test_a_short_wait_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    Waiting()(ServerFailed("busy"), 2.0)

    assert capsys.readouterr().err == ""
