"""``simia serve`` where the extras are not installed: its help, and what it says to install."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

Simia = Callable[..., Any]


@pytest.mark.parametrize("protocol", ["openenv", "mcp"])
def test_the_help_has_examples_without_the_extra(simia: Simia, protocol: str) -> None:
    ended = simia("serve", protocol, "--help")

    assert ended.code == 0
    assert f"simia serve {protocol} --world " in ended.out.split("Examples")[1]


@pytest.mark.parametrize(("protocol", "package"), [("openenv", "uvicorn"), ("mcp", "mcp_types")])
def test_without_the_extra_the_error_says_how_to_get_it(
    simia: Simia, monkeypatch: pytest.MonkeyPatch, protocol: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"simia.environment.adapters.{protocol}", raising=False)

    ended = simia("serve", protocol, "--world", "lamps")

    assert ended.code == 2
    assert f"pip install 'simia[{protocol}]'" in ended.err
