"""The page of benchmark runs, read back from its HTML; the runs are real ones of baselines, and one that is made up."""

import asyncio
import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from simia import worlds
from simia.bench.build import SuitePlan, build
from simia.bench.diagnosis import went_wrong
from simia.bench.leaderboard import by_size, interval_text, leaderboard
from simia.bench.prediction import Prediction
from simia.bench.questions import ordered
from simia.bench.reference import published_notes
from simia.bench.results import Results, read_results
from simia.bench.run import ANSWERS, SUITE_FILE, Examination, measure
from simia.bench.sample import Sample
from simia.bench.settings import BenchSettings
from simia.bench.strata import PUBLISHED, scaled
from simia.bench.suite import Suite, read_suite, write_suite
from simia.models.settings import ModelSettings
from simia.report.bench_counts import by_tool, by_world
from simia.report.bench_curves import cliff
from simia.report.bench_entries import entries, lead, sentence, warnings
from simia.report.bench_failures import FLAG, INVENTED, MISSED, OBSERVATION, UNUSABLE, WRONG, Failures, comparable, cut
from simia.report.bench_page import render_bench_page
from simia.report.bench_tables import board
from simia.report.page import policy_hash
from simia.store import Run
from simia.types import Failed, Kept, Outcome, Put, Remove

HOSTILE = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> \x00\x1b[31m \u202e" + "W" * 5_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bench")


@pytest.fixture(scope="module")
def suite_file(folder: Path) -> Path:
    plan = SuitePlan(name="small", tasks=40, examples=1, drift=2, cells=scaled(PUBLISHED, 0.05))
    built = build(plan, {"bank": worlds.load("bank"), "shop": worlds.load("shop")})
    path = folder / "suite.jsonl.gz"
    write_suite(path, built.head, built.episodes, built.samples)
    return path


@pytest.fixture(scope="module")
def suite(suite_file: Path) -> Suite:
    return read_suite(suite_file)


def settled(suite_file: Path, name: str, **settings: Any) -> Examination:
    made = BenchSettings(suite=str(suite_file), model=ModelSettings(name=f"baseline:{name}"), **settings)
    return Examination.settle(made, {}, worlds.load)


def measured(suite_file: Path, folder: Path, name: str, **settings: Any) -> Results:
    asyncio.run(measure(settled(suite_file, name, **settings), folder))
    return read_results(folder)


def made_up(suite_file: Path, folder: Path, answers: Sequence[Outcome[Prediction]], **settings: Any) -> Results:
    """A run in which the samples in order got ``answers``; those beyond have none."""
    examination = settled(suite_file, "do-nothing", **settings)
    manifest = examination.manifest().model_copy(
        update={"model": f"tiny {HOSTILE[:30]}", "prompts": {"turn": "ab" * 32}}
    )

    async def fill(run: Run) -> None:
        for ordinal, (sample, answer) in enumerate(zip(ordered(examination.suite), answers, strict=False)):
            await run.stream(ANSWERS).append(ordinal, sample.id, answer)

    with Run.create(folder, manifest) as run:
        (folder / SUITE_FILE).write_bytes(suite_file.read_bytes())
        run.save_meter({"requests": 3, "usage": {"prompt_tokens": 2000, "completion_tokens": 90}, "cost": 0.5})
        asyncio.run(fill(run))
    return read_results(folder)


@pytest.fixture(scope="module")
def oracle(suite_file: Path, folder: Path) -> Results:
    return measured(suite_file, folder / "oracle", "oracle", drift=2)


@pytest.fixture(scope="module")
def nothing(suite_file: Path, folder: Path) -> Results:
    return measured(suite_file, folder / "nothing", "do-nothing")


@pytest.fixture(scope="module")
def hidden(suite_file: Path, folder: Path) -> Results:
    return measured(suite_file, folder / "hidden", "nearest", setting="hidden", drift=1)


def hostile_answer(sample: Sample) -> Prediction:
    changes = (
        Put(path=(HOSTILE,), value=[10**30, HOSTILE]),
        *(change for change in sample.delta.changes[1:]),
    )
    return Prediction(observation=HOSTILE, is_error=not sample.is_error, changes=changes, reply=HOSTILE)


@pytest.fixture(scope="module")
def tiny(suite_file: Path, folder: Path, suite: Suite) -> Results:
    samples = ordered(suite)
    answers: list[Outcome[Prediction]] = [
        Kept(Prediction(problem="unreadable: no JSON", reply=HOSTILE)),
        Failed("ModelTimeout", "no answer in 600 s"),
        Kept(Prediction(observation="{}", is_error=False, changes=(Remove(path=("nowhere",)),))),
    ]
    answers += [Kept(hostile_answer(sample)) for sample in samples[3:12]]
    return made_up(suite_file, folder / "tiny", answers)


@pytest.fixture(scope="module")
def html(oracle: Results, nothing: Results, hidden: Results, tiny: Results) -> str:
    return render_bench_page([nothing, hidden, oracle, tiny])


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


def data_of(html: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Elements(html).scripts[0])
    return data


def failures_of(*runs: Results) -> dict[str, Any]:
    return Failures.of(entries(runs)).as_json()


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html.split("<body>")[1].split("<script")[0]))


def test_a_hostile_reply_survives_as_data_and_adds_no_element(html: str) -> None:
    elements = Elements(html)
    replies = [item["reply"] for item in data_of(html)["items"]]

    assert any(reply.startswith(HOSTILE[:1_000]) for reply in replies)
    assert len(elements.scripts) == 2
    assert not [tag for tag, _ in elements.found if tag == "img"]


def test_the_only_scripts_and_styles_that_may_run_are_those_of_the_page(html: str) -> None:
    elements = Elements(html)
    policy = next(tag["content"] for name, tag in elements.found if name == "meta" and "http-equiv" in tag)
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    names = {name for _, attributes in elements.found for name in attributes}

    assert policy is not None
    assert style is not None
    assert "default-src 'none'" in policy
    assert f"script-src '{policy_hash(elements.scripts[1])}'" in policy
    assert f"style-src '{policy_hash(style[1])}'" in policy
    assert not {name for name in names if name.startswith("on")} | (names & {"style"})


def test_the_page_asks_no_server_for_anything(html: str) -> None:
    links = [value for _, tag in Elements(html).found for name, value in tag.items() if name in ("src", "href")]

    assert all(link is not None and link.startswith(("#", "data:")) for link in links)
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|innerHTML", html)


def test_every_picture_says_in_words_what_it_shows(html: str) -> None:
    pictures = [tag for name, tag in Elements(html).found if name == "svg" and tag.get("role") == "img"]

    assert len(pictures) > 5
    assert all(tag["aria-label"] for tag in pictures)


def test_a_number_beyond_64_bits_is_shown_as_it_is(html: str) -> None:
    said = [change.get("said", "") for item in data_of(html)["items"] for change in item["changes"]]

    assert any(str(10**30) in text for text in said)


def test_a_long_key_is_shortened(html: str) -> None:
    assert (
        max(len(key) for item in data_of(html)["items"] for change in item["changes"] for key in change["path"]) < 300
    )


def test_the_page_is_the_same_twice(oracle: Results, tiny: Results) -> None:
    assert render_bench_page([oracle, tiny]) == render_bench_page([tiny, oracle])


def test_runs_stand_as_the_leaderboard_ranks_them(html: str) -> None:
    names = data_of(html)["runs"]

    assert (names[0], names[1], names[-1]) == ("oracle", "do nothing", "replay nearest seed")


def test_runs_of_one_name_are_told_apart(suite_file: Path, folder: Path, nothing: Results) -> None:
    tracked = measured(suite_file, folder / "tracked", "do-nothing", setting="tracked")
    again = measured(suite_file, folder / "again", "do-nothing")

    names = [entry.name for entry in entries([nothing, tracked, again])]

    assert sorted(names) == [
        "do nothing · constrained · again",
        "do nothing · constrained · nothing",
        "do nothing · tracked",
    ]
    assert len({entry.name for entry in entries([nothing, nothing])}) == 2


def test_the_sentence_of_a_run_says_how_many_answers_were_unusable(tiny: Results) -> None:
    unusable = sum(tiny.problems().values())

    assert unusable
    assert sentence(entries([tiny])[0]).endswith(f"; {unusable} of its answers could not be read or applied.")


def test_the_result_of_a_run_is_one_honest_sentence(nothing: Results, suite: Suite) -> None:
    still, moving = len(nothing.unchanging()), len(nothing.changing())

    said = sentence(entries([nothing])[0]).replace("\u00a0", " ")

    assert said == (
        f"was right about the state after 100 % of the {still} calls that change nothing and 0 % of the {moving} calls "
        "that change something, and about the observation of 0 % of all."
    )


def test_the_lead_says_what_was_asked(nothing: Results, hidden: Results) -> None:
    assert "small, version 1" in lead(entries([nothing]))
    assert "the code of the called tool" in lead(entries([nothing]))
    assert "no state" in lead(entries([hidden]))
    assert "constrained: the whole state" in lead(entries([nothing, hidden]))


def test_what_a_reader_must_know_first_is_warned_of(nothing: Results, tiny: Results, hidden: Results) -> None:
    said = " ".join(warnings(entries([nothing, tiny, hidden])))

    assert f"incomplete, 11 of {tiny.asked} samples" in said
    assert f"1 of {tiny.asked} samples failed" in said
    assert "no Config Match" in said
    assert "did not answer the same samples" in said
    assert not list(warnings(entries([nothing])))


def test_tables_and_page_warn_in_the_same_words(tiny: Results, html: str) -> None:
    said = leaderboard([tiny]).remarks

    assert len(said) == 2
    assert all(remark.partition(": ")[2] in text_of(html) for remark in said)


def test_runs_of_several_suites_say_which(suite_file: Path, folder: Path, nothing: Results) -> None:
    head = read_suite(suite_file).head.model_copy(update={"version": "2"})
    other = folder / "other.jsonl.gz"
    write_suite(other, head, read_suite(suite_file).episodes, read_suite(suite_file).samples)
    shown = entries([nothing, measured(other, folder / "elsewhere", "oracle")])

    table = board(shown)

    place = table.header.index("suite") - 1
    assert [row.cells[place].text[:7] for row in table.rows] == ["small 2", "small 1"]
    assert "not measured on the same suite" in " ".join(warnings(shown))
    assert "Are two of them really different?" not in render_bench_page([entry.run for entry in shown])


def test_every_row_of_the_board_is_of_its_run(oracle: Results, nothing: Results, tiny: Results) -> None:
    shown = entries([tiny, nothing, oracle])

    assert "imilarity" not in f"{board(shown).header} {board(shown).note}"
    for row, entry in zip(board(shown).rows, shown, strict=True):
        rate, bracket, between = interval_text(entry.run.config_match()).partition(" (")
        assert row.cells[0].text == rate
        assert f'<span class="below">{between.removesuffix(")")}</span>' in row.cells[0].bar
        assert bracket


def test_an_oracle_that_is_wrong_is_a_warning(suite_file: Path, folder: Path, oracle: Results) -> None:
    broken = made_up(suite_file, folder / "broken", [Kept(Prediction(observation="?", is_error=False, changes=()))] * 9)
    config = {**broken.manifest.config, "model": {**broken.manifest.config["model"], "name": "baseline:oracle"}}
    settings = BenchSettings.model_validate(config)
    broken = Results(**{**{name: getattr(broken, name) for name in broken.__dataclass_fields__}, "settings": settings})

    assert not [words for words in warnings(entries([oracle])) if "trust no number" in words]
    assert [words for words in warnings(entries([broken])) if "trust no number" in words]


def test_published_rows_stand_apart_from_ours_and_say_what_they_are(html: str) -> None:
    text = text_of(html)

    assert "published, other samples, released rule: a reference, no comparison" in text
    assert "Published: other samples, other prompts" in text
    assert (
        html.index(">oracle</th>")
        < html.index('class="published"')
        < html.index("DeepSeek-V3.2</th>", html.index('id="released"'))
    )
    assert html.count('class="reference"') == 8 + 1  # the published ones, and what changing nothing gets in drift


def test_the_published_zero_covers_refused_calls_and_says_so(html: str, nothing: Results) -> None:
    text = text_of(html)
    line = re.search(
        r'<g class="reference"><title>DeepSeek-V3.2[^<]*</title><polyline class="reach" points="([^"]+)"', html
    )

    assert line is not None
    heights = [point.split(",")[1] for point in line[1].split()]
    assert len(heights) == 9
    assert heights[0] != heights[1]
    assert heights[-2] == heights[-1]
    assert text.count("ublished: 0 changes, refusals included") == 2
    assert "0, refusals included" in text


def test_terminal_and_page_count_the_same_calls_at_each_number(nothing: Results) -> None:
    ours = by_size([nothing])
    curve = cliff(entries([nothing]))

    assert curve is not None
    page = dict(zip(curve.table.header[1:], curve.table.rows[0][1:], strict=True))
    words = {"refused": "refused calls", "0": "no change", "1": "1 change", "over 12": "more than 12 changes"}
    for name, cell in zip(ours.header[1:], ours.rows[0][1:], strict=True):
        assert page[words.get(name, f"{name} changes")].startswith(f"{cell} of ")


def test_a_published_figure_that_does_not_fit_says_so_in_both_tables(html: str) -> None:
    assert text_of(html).count(published_notes()) == 2


def test_the_cliff_says_its_rates_by_number_of_changes(html: str, nothing: Results) -> None:
    chart = next(tag for name, tag in Elements(html).found if str(tag.get("aria-label")).startswith("Config Match by"))
    single = [verdict for verdict in nothing.verdicts if verdict.sample.size == 1 and not verdict.sample.is_error]

    assert f"1 change 0 of {len(single)} (0 %" in str(chart["aria-label"])


def test_drift_is_shown_where_it_was_measured_and_named_where_not(html: str, nothing: Results) -> None:
    assert "Not measured: do nothing" in text_of(html)
    assert "No run followed an episode" in render_bench_page([nothing])


def test_the_surest_to_be_bad_stand_first(tiny: Results, nothing: Results) -> None:
    rows = by_tool(entries([nothing])[0]).rows
    highs = [row.whole.rate.high for row in rows]

    assert highs == sorted(highs)
    assert sum(row.whole.rate.count for row in by_world(entries([nothing])[0]).rows) == len(nothing.verdicts)
    assert all(sum(c.rate.count for c in row.cells) == row.whole.rate.count for row in rows)


def test_what_went_wrong_is_counted(tiny: Results) -> None:
    rows = {row.name: row.counts[0] for row in went_wrong([tiny])}

    assert rows["answers"] == "11"
    assert (rows["unreadable"], rows["does not fit the state"]) == ("1", "1")
    assert int(rows["invented changes"]) == 9
    assert rows["mean text similarity, 0 to 1"] == f"{tiny.similarity:.2f}" != "1.00"


def test_precision_and_recall_over_a_run_are_those_of_its_changes_together(nothing: Results, oracle: Results) -> None:
    rows = {row.name: row.counts for row in went_wrong([oracle, nothing])}

    assert rows["precision over changes"] == ["100 %", "-"]
    assert rows["recall over changes"] == ["100 %", "0 %"]


def test_what_the_hidden_setting_cannot_know_is_not_counted(hidden: Results) -> None:
    rows = {row.name: row.counts[0] for row in went_wrong([hidden])}

    assert (rows["wrong next state"], rows["missed"], rows["precision over changes"]) == ("-", "-", "-")


def test_a_failure_says_what_is_missed_invented_and_wrong(suite_file: Path, folder: Path, suite: Suite) -> None:
    samples = ordered(suite)
    number, sample = next((n, s) for n, s in enumerate(samples) if s.size > 2 and isinstance(s.delta.changes[0], Put))
    first, second, *rest = sample.delta.changes
    changed = Put(path=first.path, value="another")
    answer = Prediction(
        observation=sample.observation,
        is_error=not sample.is_error,
        changes=(changed, Put(path=("new",), value=1), *rest),
    )
    right = [Kept(Prediction(observation=s.observation, is_error=s.is_error, changes=s.delta.changes)) for s in samples]
    run = made_up(suite_file, folder / "one", [*right[:number], Kept(answer)])

    (item,) = failures_of(run)["items"]
    found = {(change["kind"], tuple(change["path"])): change for change in item["changes"]}

    assert [kind for kind in item["kinds"] if kind != "wrong next state"] == [MISSED, INVENTED, WRONG, FLAG]
    assert found["wrong", first.path]["said"] == '"another"'
    assert ("missed", second.path) in found
    assert found["invented", ("new",)] == {"kind": "invented", "path": ["new"], "said": "1"}
    assert sum(kind == "right" for kind, _ in found) == len(rest)


def test_an_answer_that_cannot_be_applied_shows_what_it_proposed(tiny: Results) -> None:
    item = next(item for item in failures_of(tiny)["items"] if item["problem"].startswith("does not fit"))

    assert item["kinds"][0] == UNUSABLE
    assert OBSERVATION in item["kinds"]
    assert item["changes"][0] == {"kind": "proposed", "path": ["nowhere"]}


def test_a_sample_is_embedded_once_and_tells_who_was_right(oracle: Results, nothing: Results, tiny: Results) -> None:
    data = failures_of(oracle, nothing, tiny)
    shared = next(data["samples"][item["sample"]] for item in data["items"] if item["run"] == 2)

    assert len(data["items"]) > len(data["samples"])
    assert 0 in shared["right"]
    assert data["states"][shared["state"]].startswith("{")
    assert data["codes"][shared["code"]].startswith("def ")
    assert shared["history"] == ""


def test_a_hidden_run_comes_with_the_conversation_that_it_saw(hidden: Results) -> None:
    data = failures_of(hidden)

    assert any("call: " in sample["history"] for sample in data["samples"].values())
    assert all(item["changes"] == [] and item["state_right"] is None for item in data["items"])


def test_a_page_holds_at_most_what_was_asked_from_every_stratum_and_says_so(nothing: Results) -> None:
    html = render_bench_page([nothing], most_shown=5)
    data = data_of(html)

    assert len(data["items"]) == 5
    assert len({data["samples"][item["sample"]]["group"] for item in data["items"]}) == 5
    assert f"5 of {len(nothing.verdicts)} of do nothing, drawn alike from every stratum" in text_of(html)


def test_facts_name_model_usage_cost_and_hashes(html: str, suite: Suite) -> None:
    for word in ("$0.50", "2,000", "ab" * 32, suite.sha256, "the baseline oracle", "constrained"):
        assert word in html


def test_runs_without_an_answer_have_a_page(suite_file: Path, folder: Path) -> None:
    html = render_bench_page([made_up(suite_file, folder / "empty", [])])

    assert data_of(html)["items"] == []
    assert "has no answer yet." in html
    assert "No run here has a Config Match." in html


def test_no_run_has_a_page_too() -> None:
    assert "No run was given." in render_bench_page([])


@pytest.mark.parametrize(
    ("one", "other"),
    [('{"b": 1.0, "a": [2]}', '{"a":[2],"b":1}'), ("  plain", "  plain"), ("1e400", "1e400")],
)
def test_observations_that_match_are_spelled_alike(one: str, other: str) -> None:
    assert comparable(one) == comparable(other)


def test_a_long_text_says_how_much_is_gone() -> None:
    assert cut("a" * 12, 10) == "a" * 10 + " … (2 more characters)"
    assert cut("a" * 10, 10) == "a" * 10
