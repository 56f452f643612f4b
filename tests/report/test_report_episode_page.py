"""The page of one episode, read back from its HTML."""

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from simia.environment.episodes import EpisodeLog
from simia.report.episode_page import render_episode_page
from simia.report.page import policy_hash
from simia.store import Run
from simia.types import Episode

HOSTILE = "</script><script>alert(1)</script>"

EpisodeOf = Callable[[str], Episode]


class Elements(HTMLParser):
    """Every start tag with its attributes, the text of each script, and all text that is seen."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.seen = ""
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.seen += data


@pytest.fixture(scope="module")
def pages(played_folder: Path) -> dict[str, str]:
    with Run.read(played_folder) as run:
        return {
            episode.group.removeprefix("lamps/"): render_episode_page(run, episode)
            for _, episode in EpisodeLog(run).iterate()
        }


def data_of(html: str) -> Any:
    return json.loads(Elements(html).scripts[0])


def seen(html: str) -> str:
    return re.sub(r"\s+", " ", Elements(html).seen)


def test_the_head_says_what_it_was_worth(pages: dict[str, str]) -> None:
    text = seen(pages["good"])

    assert "lamps/good/0 reward 0.8333" in text
    assert "completed (the user left)" in text
    assert "3 votes: 2 pass, 1 fail; agreement 66.7 %" in text


def test_a_masked_episode_says_at_its_top_whose_fault_it_is(pages: dict[str, str]) -> None:
    text = seen(pages["simulator"])

    assert "masked: simulator" in text
    assert "Masked, by simulator: the simulated tool 'look_around' answered inadmissibly" in text


def test_the_votes_are_a_table(pages: dict[str, str]) -> None:
    rows = pages["good"].split("<tbody>")[1].split("</tbody>")[0]

    assert rows.count("<tr>") == 3
    assert rows.count(">passes<") == 2
    assert rows.count(">fails<") == 1


def test_faults_and_errors_stand_at_their_calls(pages: dict[str, str]) -> None:
    calls = pages["good"].split('<div class="call')[1:]

    assert ["fault: timeout" in call for call in calls] == [True, False, False]
    assert [">error<" in call for call in calls] == [True, True, False]


def test_a_call_shows_what_it_changed(pages: dict[str, str]) -> None:
    call = pages["good"].split('<div class="call')[3]

    assert "lamps › hall" in call
    assert "<del>true</del>" in call
    assert "<ins>false</ins>" in call


def test_a_call_that_was_never_answered_says_so(pages: dict[str, str]) -> None:
    assert "no answer: the episode ended here" in pages["simulator"]
    assert "no answer" not in pages["good"]


def test_every_call_of_a_model_has_a_fold_with_its_role(pages: dict[str, str]) -> None:
    folds = [attributes for _, attributes in Elements(pages["good"]).found if "data-role" in attributes]

    assert [fold["data-role"] for fold in folds] == (
        ["user", "agent", "agent", "agent", "tools", "agent", "user", "judge", "judge", "judge"]
    )


def test_the_whole_prompt_and_the_reply_of_a_call_are_in_the_page(pages: dict[str, str], played: Run) -> None:
    data = data_of(pages["good"])
    records = list(played.calls.of("lamps/good/0"))

    for call, record in zip(data["calls"], records, strict=True):
        texts = [data["messages"][place]["text"] for place in call["prompt"]]
        assert texts == [played.calls.text(message).content for message in record.messages]
        assert call["text"] == record.text


def test_messages_that_prompts_share_are_in_the_page_once(pages: dict[str, str]) -> None:
    data = data_of(pages["good"])
    prompts = [call["prompt"] for call in data["calls"]]

    assert sum(map(len, prompts)) > len(data["messages"])
    assert len({json.dumps(message) for message in data["messages"]}) == len(data["messages"])


def test_the_text_of_models_cannot_become_markup(pages: dict[str, str]) -> None:
    page = Elements(pages["good"])

    assert HOSTILE in page.seen
    assert [tag for tag, _ in page.found if tag == "img"] == []
    assert len(page.scripts) == 2


def test_the_page_allows_its_own_script_and_style_and_nothing_else(pages: dict[str, str]) -> None:
    page = Elements(pages["good"])
    policy = next(
        attributes["content"] or "" for _, attributes in page.found if attributes.get("http-equiv") is not None
    )

    assert policy.startswith("default-src 'none'")
    assert f"script-src '{policy_hash(page.scripts[1])}'" in policy
    assert not any(name.startswith("on") or name == "style" for _, attributes in page.found for name in attributes)


def test_the_page_asks_no_server(pages: dict[str, str]) -> None:
    links = [value for _, attributes in Elements(pages["good"]).found for value in map(attributes.get, ("src", "href"))]

    assert [link for link in links if link and not link.startswith(("#", "data:"))] == []


def test_the_states_the_policy_and_the_tools_are_folds(pages: dict[str, str]) -> None:
    text = seen(pages["good"])

    for title in ("State at the start", "State at the end", "Policy of lamps", "Tools of lamps"):
        assert title in text


def test_two_pages_of_one_episode_are_equal(pages: dict[str, str], played: Run, episode_of: EpisodeOf) -> None:
    assert render_episode_page(played, episode_of("good")) == pages["good"]


def test_an_episode_without_recorded_calls_has_a_page(played: Run, episode_of: EpisodeOf) -> None:
    unknown = episode_of("good").model_copy(update={"id": "elsewhere/0"})

    assert "None is recorded for this episode." in seen(render_episode_page(played, unknown))
