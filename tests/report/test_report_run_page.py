"""The page of a run, read back from its HTML."""

import asyncio
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from simia.report import render_run_page
from simia.report.page import policy_hash
from simia.store import Manifest, Run
from simia.types import (
    AssistantMessage,
    Dropped,
    Failed,
    Kept,
    Outcome,
    Provenance,
    Put,
    StateDelta,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Trajectory,
    UserMessage,
    WorldSpec,
)

HOSTILE = "</script><script>alert(1)</script><!-- <b>&amp;"
WORLD = WorldSpec(
    name="shop", policy="Be kind.", tools=(ToolSpec(name="get_order", parameters={"type": "object"}),), licence="MIT"
)


def conversation(task: str, said: str = "Hello") -> Trajectory:
    return Trajectory(
        world=WORLD.content_id,
        task=task,
        messages=(
            UserMessage(content=said),
            AssistantMessage(
                reasoning="I should look.",
                tool_calls=(ToolCall(id="call_1", name="get_order", arguments={"z": 1, "a": 2}),),
            ),
            ToolMessage(call_id="call_1", name="get_order", content='{"total":1.10}'),
            AssistantMessage(content="It costs 1.10."),
        ),
        deltas={"call_1": StateDelta(changes=(Put(path=("orders", "7"), value="seen"),))},
        provenance=Provenance(run="first", seed="shop-1", attempt=0, model="tiny", prompts={}, licence="CC-BY-NC-4.0"),
        repairs=("json",),
    )


def make_run(folder: Path, streams: dict[str, list[Outcome[Any]]], **manifest: Any) -> Run:
    made = Manifest(
        run="first",
        version="0.1.0",
        created="2026-01-02T03:04:05Z",
        config={"plan": {"count": 3}},
        prompts={"trajectory_world": "ab" * 32},
        seeds={"bundled:shop": "cd" * 32},
        model="tiny",
        model_reason="OPENAI_BASE_URL is set",
        **manifest,
    )

    async def fill(run: Run) -> None:
        for name, outcomes in streams.items():
            for ordinal, outcome in enumerate(outcomes):
                await run.stream(name).append(ordinal, f"item-{ordinal}", outcome)

    with Run.create(folder, made) as run:
        run.worlds.put(WORLD)
        run.save_meter(
            {
                "requests": 3,
                "usage": {"prompt_tokens": 2000, "cached_tokens": 1500, "completion_tokens": 90},
                "cost": 0.5,
            }
        )
        asyncio.run(fill(run))
    return Run.read(folder)


def page_of(folder: Path, streams: dict[str, list[Outcome[Any]]], *, most_shown: int = 500, **manifest: Any) -> str:
    with make_run(folder, streams, **manifest) as run:
        return render_run_page(run, most_shown=most_shown)


FULL: dict[str, list[Outcome[Any]]] = {
    "generate": [
        Kept(conversation("keep me", HOSTILE)),
        Kept(conversation("drop me")),
        Failed("ModelTimeout", "no answer in 600 s"),
    ],
    "postprocess": [Kept(conversation("keep me", HOSTILE)), Dropped("unknown_tool", "no tool <i>refund</i>")],
}


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    return page_of(tmp_path_factory.mktemp("page") / "run", FULL, licences=("CC-BY-NC-4.0",))


class Elements(HTMLParser):
    """Every start tag with its attributes, and the text of each script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._inside = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._inside = tag == "script"
        if self._inside:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.scripts[-1] += data

    def tags(self, name: str) -> Iterator[dict[str, str | None]]:
        return (attributes for tag, attributes in self.found if tag == name)


def items_of(html: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads(Elements(html).scripts[0])["items"]
    return items


def test_a_hostile_text_survives_as_data(html: str) -> None:
    assert items_of(html)[0]["value"]["messages"][0]["content"] == HOSTILE


def test_a_hostile_text_adds_no_script(html: str) -> None:
    assert len(Elements(html).scripts) == 2


def test_the_only_scripts_and_styles_that_may_run_are_those_of_the_page(html: str) -> None:
    policy = next(tag["content"] for tag in Elements(html).tags("meta") if "http-equiv" in tag)
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)

    assert policy is not None
    assert style is not None
    assert "default-src 'none'" in policy
    assert f"script-src '{policy_hash(Elements(html).scripts[1])}'" in policy
    assert f"style-src '{policy_hash(style[1])}'" in policy


def test_no_element_carries_code_or_style_that_the_policy_forbids(html: str) -> None:
    names = {name for _, attributes in Elements(html).found for name in attributes}

    assert not {name for name in names if name.startswith("on")} | (names & {"style"})


def test_the_page_asks_no_server_for_anything(html: str) -> None:
    links = [value for _, tag in Elements(html).found for name, value in tag.items() if name in ("src", "href")]

    assert all(link is not None and link.startswith(("#", "data:")) for link in links)
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|innerHTML", html)


def test_the_page_has_a_language_a_title_and_labelled_controls(html: str) -> None:
    elements = Elements(html)

    assert next(elements.tags("html"))["lang"] == "en"
    assert "<title>first · simia run</title>" in html
    assert all(tag.get("role") == "img" and tag.get("aria-label") for tag in elements.tags("svg"))


def test_a_dropped_item_is_shown_with_the_conversation_that_the_stage_saw(html: str) -> None:
    dropped = next(item for item in items_of(html) if item["status"] == "dropped")

    assert (dropped["stage"], dropped["rule"], dropped["detail"]) == (
        "postprocess",
        "unknown_tool",
        "no tool <i>refund</i>",
    )
    assert dropped["value"]["task"] == "drop me"


def test_a_failed_item_is_shown_with_its_error(html: str) -> None:
    failed = next(item for item in items_of(html) if item["status"] == "failed")

    assert (failed["stage"], failed["rule"], failed["detail"]) == ("generate", "ModelTimeout", "no answer in 600 s")


def test_the_arguments_of_a_call_keep_their_order(html: str) -> None:
    call = items_of(html)[0]["value"]["messages"][1]["tool_calls"][0]

    assert list(call["arguments"]) == ["z", "a"]


def test_the_header_says_model_cost_tokens_and_hashes(html: str) -> None:
    for word in ("tiny", "OPENAI_BASE_URL is set", "$0.50", "2,000 (75 % cached)", "ab" * 32, "cd" * 32):
        assert word in html


def test_a_non_commercial_licence_is_a_warning(html: str) -> None:
    assert "forbids commercial use (CC-BY-NC-4.0)" in html


def test_the_licence_of_a_single_trajectory_counts_too(tmp_path: Path) -> None:
    assert "forbids commercial use (CC-BY-NC-4.0)" in page_of(tmp_path / "run", FULL)


def test_a_free_licence_is_no_warning(tmp_path: Path) -> None:
    assert "forbids commercial use" not in page_of(tmp_path / "run", {}, licences=("Apache-2.0",))


def test_the_funnel_says_how_many_came_through(html: str) -> None:
    assert "Trajectories kept: 1 of 3 (33.3 %)" in html


def test_a_page_holds_at_most_what_was_asked_and_says_so(tmp_path: Path) -> None:
    many: dict[str, list[Outcome[Any]]] = {"postprocess": [Kept(conversation(f"task {n}")) for n in range(30)]}

    html = page_of(tmp_path / "run", many, most_shown=7)

    assert len(items_of(html)) == 7
    assert "7 of 30 items" in html


def test_a_run_without_any_outcome_has_a_page(tmp_path: Path) -> None:
    html = page_of(tmp_path / "run", {})

    assert items_of(html) == []
    assert "No stage of this run has an outcome yet." in html


def test_the_page_of_a_run_is_the_same_twice(tmp_path: Path) -> None:
    with make_run(tmp_path / "run", FULL) as run:
        assert render_run_page(run) == render_run_page(run)
