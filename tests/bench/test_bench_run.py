"""A run of the benchmark in its folder: what is asked, what is asked again, what may change, what is left behind."""

import asyncio
import gzip
import hashlib
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from simia import worlds
from simia.bench.prediction import Prediction
from simia.bench.questions import chosen
from simia.bench.results import read_results
from simia.bench.run import ANSWERS, DRIFT, SUITE_FILE, Examination, Measured, measure
from simia.bench.settings import BenchSettings
from simia.bench.suite import Suite, read_suite, write_suite
from simia.errors import (
    AuthenticationFailed,
    ConfigError,
    EndpointLost,
    ManifestMismatch,
    ServerFailed,
    StoreError,
)
from simia.models.cast import Cast
from simia.models.scripted import Answer
from simia.pipeline import Silent
from simia.store import Run
from simia.types import ChatReply, ChatRequest, Outcome, Usage, Value

MakeCast = Callable[..., Cast]
Take = Callable[..., Measured]
Script = Callable[[ChatRequest], Answer | Awaitable[Answer]]


def mixed(request: ChatRequest) -> Answer:
    """An answer that depends on the request alone: three kinds, one of which cannot be read."""
    number = int(hashlib.sha256(request.messages[-1].content.encode()).hexdigest(), 16) % 3
    texts = ("no json", '{"observation": {"success": true}, "is_error": false, "changes": []}', '{"observation": "?"}')
    return ChatReply(text=texts[number], model="scripted", usage=Usage(prompt_tokens=100, completion_tokens=10))


async def slow(request: ChatRequest) -> Answer:
    """The same, so late that somebody else comes to work meanwhile."""
    await asyncio.sleep(0.003)
    return mixed(request)


class Spy:
    """Answers as :func:`mixed` and remembers the requests."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, request: ChatRequest) -> Answer:
        self.asked.append(request.messages[-1].content)
        return mixed(request)


@pytest.fixture
def examine(suite_file: Path, make_cast: MakeCast) -> Callable[..., Examination]:
    """What is settled before a run: keywords are settings, and may say who answers and which file the suite is."""

    def settle(answer: Script = mixed, path: Path = suite_file, **given: Any) -> Examination:
        model = given.pop("model", {})
        values = {"suite": str(path), "model": {"name": "scripted"} | model, "limit": 20}
        settings = BenchSettings.model_validate(values | given)
        return Examination(settings, read_suite(path), path, make_cast(answer, **model), worlds.load)

    return settle


@pytest.fixture
def take(examine: Callable[..., Examination], tmp_path: Path) -> Take:
    """Takes a run in a folder, ``run`` unless named."""

    def run(*words: Any, folder: str = "run", resume: bool = False, observer: Any = None, **given: Any) -> Measured:
        stop = getattr(observer, "stop", None)
        return asyncio.run(
            measure(examine(*words, **given), tmp_path / folder, resume=resume, observer=observer, stop=stop)
        )

    return run


def answers(folder: Path) -> dict[str, Prediction]:
    with Run.read(folder) as run:
        return {key: value for _, key, value in run.stream(ANSWERS).kept(Prediction)}


def drifts(folder: Path) -> set[str]:
    with Run.read(folder) as run:
        return {line for line in (folder / f"streams/{DRIFT}.jsonl").read_text().splitlines() if run}


class StopAfter(Silent):
    """Sets its event once so many items are settled."""

    def __init__(self, count: int) -> None:
        self.left = count
        self.stop = asyncio.Event()

    def settled(self, stage: str, key: str, outcome: Outcome[Value] | Outcome[bytes]) -> None:
        self.left -= 1
        if self.left <= 0:
            self.stop.set()


def test_every_sample_is_asked_once(take: Take, suite: Suite, tmp_path: Path) -> None:
    spy = Spy()
    measured = take(spy, limit=0)
    assert len(spy.asked) == len(suite.samples)
    assert answers(tmp_path / "run").keys() == {sample.id for sample in suite.samples}
    assert (measured.stages[ANSWERS].kept, measured.failed, measured.interrupted) == (len(suite.samples), 0, False)


def test_a_limit_asks_only_so_many(take: Take, suite: Suite, tmp_path: Path) -> None:
    take(limit=7)
    assert answers(tmp_path / "run").keys() == chosen(suite, 7)


def test_usage_is_counted(take: Take) -> None:
    totals = take().totals
    assert totals is not None
    assert totals.usage == Usage(prompt_tokens=2000, completion_tokens=200)


def test_the_folder_holds_a_copy_of_the_suite_and_needs_nothing_else(
    take: Take, suite_file: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.jsonl.gz"
    mine.write_bytes(suite_file.read_bytes())
    take(path=mine)
    mine.unlink()
    assert (tmp_path / "run" / SUITE_FILE).read_bytes() == suite_file.read_bytes()
    assert len(read_results(tmp_path / "run").verdicts) == 20


def test_a_resumed_run_needs_only_its_folder(take: Take, suite_file: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.jsonl.gz"
    mine.write_bytes(suite_file.read_bytes())
    take(path=mine, limit=5)
    mine.unlink()
    settings = BenchSettings.model_validate({"suite": str(mine), "limit": 9, "model": {"name": "baseline:echo"}})
    settled = Examination.settle(settings, {}, worlds.load, resumed=tmp_path / "run")
    assert settled.suite_file == tmp_path / "run" / SUITE_FILE
    with pytest.raises(ConfigError, match="no suite"):
        Examination.settle(settings, {}, worlds.load)


def test_a_stopped_run_that_is_resumed_equals_one_that_was_not(take: Take, tmp_path: Path) -> None:
    first = take(slow, observer=StopAfter(6), drift=1)
    assert first.interrupted
    assert DRIFT not in first.stages
    take(resume=True, drift=1)
    take(folder="whole", drift=1)
    assert answers(tmp_path / "run") == answers(tmp_path / "whole")
    assert drifts(tmp_path / "run") == drifts(tmp_path / "whole")


def test_a_resumed_run_asks_only_what_is_missing(take: Take, tmp_path: Path) -> None:
    take(slow, observer=StopAfter(6))
    before = answers(tmp_path / "run")
    spy = Spy()
    take(spy, resume=True)
    assert 6 <= len(before) < 20
    assert len(spy.asked) == 20 - len(before)


def test_resuming_a_finished_run_asks_nothing_and_counts_on(take: Take) -> None:
    take(drift=1)
    spy = Spy()
    totals = take(spy, drift=1, resume=True).totals
    assert spy.asked == []
    assert totals is not None
    assert totals.usage.prompt_tokens > 2000


def test_samples_that_nobody_answered_are_tried_again(take: Take, tmp_path: Path) -> None:
    asked = iter(range(10**6))

    def broken(request: ChatRequest) -> Answer:
        return ServerFailed("status 500") if next(asked) % 3 == 0 else mixed(request)

    first = take(broken)
    assert first.failed == 7
    spy = Spy()
    second = take(spy, resume=True)
    assert (second.failed, len(spy.asked)) == (0, 7)
    take(folder="whole")
    assert answers(tmp_path / "run") == answers(tmp_path / "whole")


@pytest.mark.parametrize("larger", [15, 0])
def test_a_limit_may_grow_up_to_all(take: Take, tmp_path: Path, suite: Suite, larger: int) -> None:
    take(limit=8)
    before = answers(tmp_path / "run")
    spy = Spy()
    take(spy, limit=larger, resume=True)
    count = larger or len(suite.samples)
    assert len(spy.asked) == count - 8
    assert answers(tmp_path / "run").items() >= before.items()
    results = read_results(tmp_path / "run")
    assert (results.asked, results.is_complete) == (count, True)


@pytest.mark.parametrize("first", [20, 0])
def test_a_limit_may_not_shrink(take: Take, first: int) -> None:
    take(limit=first)
    with pytest.raises(ManifestMismatch, match=r"config\.limit: was \d+, now 5, and may only grow"):
        take(limit=5, resume=True)


def test_episodes_may_be_followed_later(take: Take, suite: Suite) -> None:
    take()
    spy = Spy()
    measured = take(spy, drift=1, resume=True)
    episodes = [one for one in suite.episodes if one.role == "drift"]
    assert measured.stages[DRIFT].kept == len(episodes)
    assert len(spy.asked) == len(set(spy.asked)) <= sum(len(one.steps) for one in episodes)


def test_another_content_of_the_suite_is_refused_by_name(take: Take, suite: Suite, tmp_path: Path) -> None:
    take()
    other = tmp_path / "other.jsonl.gz"
    write_suite(other, suite.head, suite.episodes[:-1], suite.samples)
    with pytest.raises(ManifestMismatch, match=r"seeds\.suite has changed"):
        take(path=other, resume=True)


def test_the_same_suite_at_another_place_is_the_same(take: Take, suite_file: Path, tmp_path: Path) -> None:
    take()
    moved = tmp_path / "moved.jsonl.gz"
    moved.write_bytes(suite_file.read_bytes())
    assert take(path=moved, resume=True).stages[ANSWERS].kept == 20


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"setting": "tracked"}, r'config\.setting: was "constrained", now "tracked"'),
        ({"boxed": True}, r"config\.boxed: was false, now true"),
        ({"temperature": 0.7}, r"config\.temperature: was 0\.0, now 0\.7"),
        ({"seed": 3}, r"config\.seed: was 0, now 3"),
        ({"structured": False}, r"config\.structured: was true, now false"),
    ],
)
def test_another_setting_is_refused_by_name(take: Take, given: dict[str, Any], told: str) -> None:
    take()
    with pytest.raises(ManifestMismatch, match=told):
        take(resume=True, **given)


def test_how_the_model_is_reached_may_change(take: Take) -> None:
    take()
    spy = Spy()
    reached = {"timeout_s": 5, "base_url": "http://127.0.0.1:9/v1", "max_in_flight": 2}
    assert take(spy, resume=True, model=reached).stages[ANSWERS].kept == 20
    assert spy.asked == []


def test_a_folder_that_holds_a_run_is_not_begun_anew(take: Take) -> None:
    take()
    with pytest.raises(StoreError, match="--resume"):
        take()


@pytest.mark.parametrize("error", [AuthenticationFailed("status 401"), EndpointLost("gone")])
def test_a_new_run_that_fails_before_anything_leaves_no_folder(take: Take, tmp_path: Path, error: Exception) -> None:
    with pytest.raises(type(error)):
        take(lambda request: error)
    assert not (tmp_path / "run").exists()


def test_what_the_user_put_into_the_folder_stays(take: Take, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/notes.txt").write_text("mine")
    with pytest.raises(EndpointLost):
        take(lambda request: EndpointLost("gone"))
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["notes.txt"]


def test_an_endpoint_that_goes_away_leaves_what_was_answered(take: Take, tmp_path: Path) -> None:
    asked = iter(range(10**6))

    def dying(request: ChatRequest) -> Answer:
        return EndpointLost("gone") if next(asked) >= 9 else mixed(request)

    with pytest.raises(EndpointLost):
        take(dying)
    left = answers(tmp_path / "run")
    assert left
    take(resume=True)
    assert answers(tmp_path / "run").items() >= left.items()
    assert len(answers(tmp_path / "run")) == 20


def test_a_resumed_run_that_fails_stays(take: Take, tmp_path: Path) -> None:
    take(slow, observer=StopAfter(1))
    with pytest.raises(EndpointLost):
        take(lambda request: EndpointLost("gone"), resume=True)
    assert answers(tmp_path / "run")


def test_the_ceiling_ends_a_run_and_a_higher_one_goes_on(take: Take, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("[models.scripted]\ninput = 1.0\noutput = 2.0\n")
    model = {"prices": prices, "max_in_flight": 1}
    large = ChatReply(text="no json", model="scripted", usage=Usage(prompt_tokens=5000, completion_tokens=500))
    first = take(lambda request: large, model=model | {"max_cost": 0.02})
    assert first.ceiling is not None
    assert 0 < first.stages[ANSWERS].kept < 20
    assert first.totals is not None
    assert 0 < (first.totals.cost or 0) <= 0.02
    second = take(model=model | {"max_cost": 5}, resume=True)
    assert second.ceiling is None
    assert second.stages[ANSWERS].kept == 20


def test_an_answer_that_makes_no_sense_is_kept(take: Take, tmp_path: Path) -> None:
    take(lambda request: "no json")
    assert {one.problem.partition(":")[0] for one in answers(tmp_path / "run").values()} == {"unreadable"}


def test_a_baseline_asks_no_model(suite_file: Path, tmp_path: Path) -> None:
    settings = BenchSettings.model_validate(
        {"suite": str(suite_file), "model": {"name": "baseline:oracle"}, "drift": 1}
    )
    examination = Examination.settle(settings, {}, worlds.load)
    measured = asyncio.run(measure(examination, tmp_path / "run"))
    assert measured.totals is None
    assert examination.reason == "the baseline oracle"
    results = read_results(tmp_path / "run")
    assert results.label == "oracle"
    assert results.config_match() == results.feedback_match()
    assert all(verdict.score.config_match for verdict in results.verdicts)
    assert all(step.state_match for steps in results.drifts for step in steps)


def test_an_unknown_baseline_is_told_before_there_is_a_folder(suite_file: Path) -> None:
    settings = BenchSettings.model_validate({"suite": str(suite_file), "model": {"name": "baseline:best"}})
    with pytest.raises(ConfigError, match="no baseline 'best'"):
        Examination.settle(settings, {}, worlds.load)


def test_a_suite_without_code_is_told_before_there_is_a_folder(suite: Suite, tmp_path: Path) -> None:
    name, spec = next(iter(suite.head.worlds.items()))
    bare = spec.model_copy(update={"tools": tuple(t.model_copy(update={"source": None}) for t in spec.tools)})
    head = suite.head.model_copy(update={"worlds": {**suite.head.worlds, name: bare}})
    path = tmp_path / "bare.jsonl.gz"
    write_suite(path, head, suite.episodes, suite.samples)
    model = {"name": "tiny", "base_url": "http://127.0.0.1:9/v1"}
    settings = BenchSettings.model_validate({"suite": str(path), "model": model})
    with pytest.raises(ConfigError, match="has no code for the tools of"):
        Examination.settle(settings, {}, worlds.load)


def test_the_manifest_tells_what_the_answers_depend_on(take: Take, suite: Suite, tmp_path: Path) -> None:
    take()
    manifest = json.loads((tmp_path / "run/run.json").read_text())
    assert manifest["seeds"] == {"suite": suite.sha256}
    assert manifest["prompts"].keys() == {"constrained_tool", "turns_tools_call"}
    assert manifest["model"] == "scripted"
    assert manifest["licences"] == [suite.head.licence]


def test_a_secret_in_the_address_never_comes_to_disk(examine: Callable[..., Examination]) -> None:
    examination = examine()
    leaky = {"name": "scripted", "base_url": "https://me:hidden@example.com/v1"}
    settings = examination.settings.model_copy(update={"model": BenchSettings.model_validate({"model": leaky}).model})
    told = Examination(settings, examination.suite, examination.suite_file, examination.cast, worlds.load)
    with pytest.raises(ConfigError, match="holds a secret"):
        told.manifest()


def test_a_suite_that_was_changed_in_the_folder_is_not_scored(take: Take, suite: Suite, tmp_path: Path) -> None:
    take()
    path = tmp_path / "run" / SUITE_FILE
    content = gzip.decompress(path.read_bytes()).replace(b'"version":"1"', b'"version":"2"')
    path.write_bytes(gzip.compress(content))
    with pytest.raises(StoreError, match=r"the suite in .* is another one"):
        read_results(tmp_path / "run")
