"""Training data for a simulator: prompts as a run asks them, answers that score as right, worlds that are held out."""

import ast
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simia import worlds
from simia.bench.build import SuitePlan, build
from simia.bench.collect import Walk, harvest
from simia.bench.pairs import PairPlan, Pairs, answer_text, demand_training, write_pairs
from simia.bench.prediction import read_prediction
from simia.bench.sample import Sample
from simia.bench.score import score
from simia.bench.settings import BenchSettings
from simia.bench.strata import BALANCE2, Cell, group_of, scaled
from simia.bench.subjects import ModelSubject
from simia.bench.suite import Suite
from simia.errors import ConfigError
from simia.formats.json_text import read_json
from simia.models.scripted import ScriptedModel
from simia.synthesis.export import ExportSettings
from simia.worlds import World

PLAN = PairPlan(tasks=15, cells=scaled(BALANCE2, 0.01))
ALL = PairPlan(
    tasks=3, cells=(Cell("all", 10**6, ("failure", "no_change", "simple", "medium", "difficult", "beyond")),)
)


def functions(names: Iterable[str]) -> set[str]:
    """Every function in the code that simulators of these worlds are shown, as text."""
    found = set()
    for world in map(worlds.load, names):
        for tool in world.spec.tools:
            tree = ast.parse(world.source_of(tool.name) or "")
            found |= {ast.unparse(node) for node in tree.body if isinstance(node, ast.FunctionDef)}
    return found


@pytest.fixture(scope="module")
def training() -> dict[str, World]:
    return {name: worlds.load(name) for name in ("campus", "library")}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, training: dict[str, World]) -> tuple[Path, Pairs]:
    folder = tmp_path_factory.mktemp("pairs")
    return folder, write_pairs(PLAN, training, folder)


@pytest.fixture(scope="module")
def written_all(tmp_path_factory: pytest.TempPathFactory, training: dict[str, World]) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("all")
    write_pairs(ALL, training, folder)
    return records(folder)


@pytest.fixture(scope="module")
def harvested(training: dict[str, World]) -> list[Sample]:
    """Every transition that the data could be drawn from."""
    return [
        sample
        for name, world in training.items()
        for sample in harvest(name, world, map(Walk.gold, world.tasks(ALL.tasks, ALL.seed)), seed=ALL.seed)
    ]


def records(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "prompt-completion/train.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def asked(training: dict[str, World], samples: list[Sample]) -> list[tuple[Sample, list[dict[str, str]]]]:
    """Each sample with the messages that a run of the benchmark would send."""
    suite_of_them = build(SuitePlan(name="training", tasks=1, examples=0, drift=0), training)
    suite = Suite(suite_of_them.head, (), tuple(samples), "0")
    subject = ModelSubject(ScriptedModel([]), suite, BenchSettings())
    return [(one, [{"role": m.role, "content": m.content} for m in subject.request(one).messages]) for one in samples]


def test_the_prompt_is_what_a_run_asks(
    training: dict[str, World], harvested: list[Sample], written_all: list[dict[str, Any]]
) -> None:
    prompts = {json.dumps(record["prompt"]) for record in written_all}
    assert prompts == {json.dumps(messages) for _, messages in asked(training, harvested)}


def test_the_completion_scores_as_right_when_it_is_read_back(
    training: dict[str, World], harvested: list[Sample], written_all: list[dict[str, Any]]
) -> None:
    answers = {json.dumps(record["prompt"]): record["completion"] for record in written_all}
    for sample, messages in asked(training, harvested):
        (completion,) = answers[json.dumps(messages)]
        assert completion["role"] == "assistant"
        value, repaired = read_json(completion["content"])
        verdict = score(sample, read_prediction(value, with_changes=True))
        assert (verdict.config_match, verdict.feedback_match, verdict.error_match) == (True, True, True)
        assert not repaired


@pytest.mark.parametrize("name", worlds.BENCHMARK)
def test_the_right_answer_to_every_sample_of_the_benchmark_scores_as_right(suite: Suite, name: str) -> None:
    for sample in suite.samples:
        if sample.world == name:
            value, _ = read_json(answer_text(sample))
            verdict = score(sample, read_prediction(value, with_changes=True))
            assert verdict.config_match
            assert verdict.feedback_match


def test_an_observation_that_is_no_json_is_a_text(suite: Suite) -> None:
    sample = suite.samples[0].model_copy(update={"observation": "Done: 3 notes."})
    assert json.loads(answer_text(sample))["observation"] == "Done: 3 notes."


@pytest.mark.parametrize("name", worlds.BENCHMARK)
def test_a_world_of_the_benchmark_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}: simulators are measured on these worlds"):
        write_pairs(PLAN, {name: worlds.load(name), "library": worlds.load("library")}, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_every_other_world_of_simia_may_be_trained_on() -> None:
    demand_training(worlds.TRAINING)
    assert not set(worlds.TRAINING) & set(worlds.BENCHMARK)


def test_the_mixture_is_kept(written: tuple[Path, Pairs]) -> None:
    folder, pairs = written
    counts = Counter(group_of(sample) for sample in pairs.drawn.samples)
    assert pairs.drawn.short_by_cell == {}
    assert (counts["failure"], counts["no_change"], counts["simple"]) == (10, 10, 20)
    assert counts["medium"] + counts["difficult"] + counts["beyond"] == 22
    assert len(records(folder)) == 62


def test_both_worlds_are_in_it(written: tuple[Path, Pairs]) -> None:
    _, pairs = written
    assert pairs.by_world.keys() == {"campus", "library"}
    assert sum(pairs.by_world.values()) == 62


def test_strata_and_worlds_are_shuffled(written: tuple[Path, Pairs]) -> None:
    folder, _ = written
    errors = [json.loads(record["completion"][0]["content"])["is_error"] for record in records(folder)]
    assert errors != sorted(errors, reverse=True)


def test_the_same_plan_gives_the_same_bytes(
    written: tuple[Path, Pairs], training: dict[str, World], tmp_path: Path
) -> None:
    folder, pairs = written
    assert write_pairs(PLAN, training, tmp_path).files == pairs.files
    assert (tmp_path / "README.md").read_bytes() == (folder / "README.md").read_bytes()


def test_another_seed_gives_other_data(written: tuple[Path, Pairs], training: dict[str, World], tmp_path: Path) -> None:
    assert write_pairs(replace(PLAN, seed=1), training, tmp_path).files != written[1].files


def test_other_formats_spell_the_same_pairs(training: dict[str, World], tmp_path: Path) -> None:
    export = ExportSettings(formats=("trl", "openai"), name="simulator")
    pairs = write_pairs(replace(PLAN, export=export), training, tmp_path)
    assert {file.path: file.records for file in pairs.files} == {"trl/train.jsonl": 62, "openai/train.jsonl": 62}
    first = json.loads((tmp_path / "trl/train.jsonl").read_text().splitlines()[0])
    assert [message["role"] for message in first["messages"]] == ["system", "user", "assistant"]


def test_a_pair_declares_no_tools(written: tuple[Path, Pairs]) -> None:
    assert {tuple(record) for record in records(written[0])} == {("prompt", "completion")}


def test_worlds_without_anything_of_the_mixture_are_refused(training: dict[str, World], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no transition of campus, library belongs to the mixture"):
        write_pairs(replace(PLAN, cells=(Cell("99", 5, ("beyond",), sizes=(99,)),)), training, tmp_path)


def test_the_number_of_transitions_is_told_by_world(training: dict[str, World], tmp_path: Path) -> None:
    told: dict[str, int] = {}
    write_pairs(PLAN, training, tmp_path, told.__setitem__)
    assert told.keys() == training.keys()
    assert min(told.values()) > 10


def test_the_card_says_what_the_data_are(written: tuple[Path, Pairs]) -> None:
    card = (written[0] / "README.md").read_text()
    assert "62 transitions of tool environments" in card
    assert "Every completion was executed by code; no language model wrote any of it." in card
    assert "the constrained setting" in card
    assert "failure 10, no_change 10, simple 20, complex 22" in card
    assert f"no code, policy or state of {', '.join(worlds.BENCHMARK)} is in here" in card


def test_the_card_does_not_call_them_conversations(written: tuple[Path, Pairs]) -> None:
    card = (written[0] / "README.md").read_text()
    assert "multi-turn" not in card
    assert "simulated;" not in card
    assert "seed source" not in card


def test_the_card_counts_worlds_and_strata(written: tuple[Path, Pairs]) -> None:
    folder, pairs = written
    card = (folder / "README.md").read_text()
    assert f"By world: campus ({pairs.by_world['campus']}), library ({pairs.by_world['library']})." in card
    assert '| answers to calls with the outcome "refused" | 10 |' in card
    assert "license: apache-2.0" in card


def test_no_function_of_a_world_that_is_held_out_is_among_the_training_data() -> None:
    assert functions(worlds.TRAINING)
    assert not functions(worlds.TRAINING) & functions(worlds.BENCHMARK)
