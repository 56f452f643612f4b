"""What all tests share: the same examples at every run, so that a change, not chance, makes a test fail.

``HYPOTHESIS_PROFILE=search`` draws new examples, to look for what the fixed ones miss. ``--no-skips`` is for an
environment that was made for a test: a package that is missing there would skip the test that it was made for.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Generator
from typing import TypeVar

import pytest
from hypothesis import settings

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

settings.register_profile("fixed", derandomize=True)
settings.register_profile("search", max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skips", action="store_true", help="a skipped test fails")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _demanded(item.config, (yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _demanded(collector.config, (yield))


def _demanded(config: pytest.Config, report: Report) -> Report:
    if report.skipped and config.getoption("--no-skips"):
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} was skipped, and --no-skips forbids it: {report.longrepr}"
    return report


@pytest.fixture
def printed_by_two_processes() -> Callable[[str], list[bytes]]:
    """What a program prints in two processes that differ in hash seed and time zone."""

    def run(code: str) -> list[bytes]:
        return [
            subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "PYTHONHASHSEED": salt, "TZ": zone},
                check=True,
                capture_output=True,
            ).stdout
            for salt, zone in (("0", "UTC"), ("42", "Asia/Tokyo"))
        ]

    return run
