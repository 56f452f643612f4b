"""The benchmark on the worlds of other packages: the instrument is right there too, and every setting can be asked."""

import ast
import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from simia.bench.build import SuitePlan, build
from simia.bench.drift import drift
from simia.bench.results import Results, read_results
from simia.bench.run import Examination, measure
from simia.bench.settings import BenchSettings
from simia.bench.strata import PUBLISHED, scaled
from simia.bench.subjects import ModelSubject
from simia.bench.suite import Suite, read_suite, write_suite
from simia.models.scripted import ScriptedModel
from simia.types import ChatReply
from simia.worlds.agentdojo import SUITES
from simia.worlds.bfcl_package import APIS
from simia.worlds.door import open_world

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Package:
    module: str
    worlds: tuple[str, ...]
    tasks: int


PACKAGES = (
    Package("tau2", ("tau2:airline", "tau2:retail", "tau2:telecom"), tasks=8),
    Package("bfcl", tuple(f"bfcl:{api}:base" for api in APIS), tasks=40),
    Package("agentdojo", tuple(f"agentdojo:{suite}" for suite in SUITES), tasks=12),
)


@pytest.fixture(
    scope="module",
    params=[pytest.param(one, id=one.module, marks=getattr(pytest.mark, one.module)) for one in PACKAGES],
)
def package(request: pytest.FixtureRequest) -> Package:
    """A package that has worlds, where it is installed."""
    found: Package = request.param
    pytest.importorskip(found.module, reason=f"needs the extra {found.module}")
    return found


@pytest.fixture(scope="module")
def suite_file(package: Package, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite of all its worlds, with three tenths of the published quotas."""
    plan = SuitePlan("small", tasks=package.tasks, examples=1, drift=2, cells=scaled(PUBLISHED, 0.3), max_state=64_000)
    built = build(plan, {name: open_world(name) for name in package.worlds})
    path = tmp_path_factory.mktemp(package.module) / "small.jsonl.gz"
    write_suite(path, built.head, built.episodes, built.samples)
    return path


@pytest.fixture(scope="module")
def suite(suite_file: Path) -> Suite:
    """The same, read."""
    return read_suite(suite_file)


def measured(baseline: str, suite_file: Path) -> Results:
    settings = BenchSettings.model_validate(
        {"suite": str(suite_file), "drift": 2, "model": {"name": f"baseline:{baseline}"}}
    )
    folder = suite_file.parent / baseline
    asyncio.run(measure(Examination.settle(settings, {}, open_world), folder))
    return read_results(folder)


def test_a_suite_has_samples_of_every_world(package: Package, suite: Suite) -> None:
    assert {sample.world for sample in suite.samples} == set(package.worlds)


def test_the_world_itself_is_right_on_every_sample_and_every_step(suite_file: Path, suite: Suite) -> None:
    oracle = measured("oracle", suite_file)
    assert oracle.unanswered == 0
    assert {one.sample.id for one in oracle.verdicts} == {sample.id for sample in suite.samples}
    wrong = [one for one in oracle.verdicts if not (one.score.config_match and one.score.feedback_match)]
    assert wrong == []
    assert all(one.score.error_match for one in oracle.verdicts)
    assert len(oracle.drifts) == sum(episode.role == "drift" for episode in suite.episodes) >= 2
    assert all(step.state_match and step.feedback_match for steps in oracle.drifts for step in steps)


def test_doing_nothing_is_never_right_where_the_state_changes(suite_file: Path) -> None:
    nothing = measured("do-nothing", suite_file)
    assert {one.group for one in nothing.changing()} >= {"simple", "medium"}
    assert not any(one.score.config_match for one in nothing.changing())


def test_the_code_of_a_tool_defines_it_and_fits_a_prompt(suite: Suite) -> None:
    for tool in [tool for spec in suite.head.worlds.values() for tool in spec.tools]:
        code = tool.source or ""
        assert "state" in code.splitlines()[0]
        assert f"def {tool.name}(" in ast.unparse(ast.parse(code))
        assert len(code.encode()) < 8_500


@pytest.mark.parametrize("setting", ["constrained", "tracked", "hidden"])
def test_only_the_constrained_setting_shows_the_code(suite: Suite, setting: str) -> None:
    model = ScriptedModel(lambda request: ChatReply(text="{}", model="scripted"))
    subject = ModelSubject(model, suite, BenchSettings.model_validate({"setting": setting}))
    for sample in suite.samples:
        shown = subject.request(sample).messages[0].content
        code = suite.head.worlds[sample.world].tool[sample.call.name].source or ""
        assert (code in shown) == (setting == "constrained")


@pytest.mark.parametrize("setting", ["constrained", "tracked", "hidden"])
def test_a_model_can_follow_every_drift_episode(suite: Suite, setting: str) -> None:
    model = ScriptedModel(lambda request: ChatReply(text="{}", model="scripted"))
    subject = ModelSubject(model, suite, BenchSettings.model_validate({"setting": setting}))
    for episode in [episode for episode in suite.episodes if episode.role == "drift"]:
        followed = asyncio.run(drift(subject, episode, hidden=setting == "hidden"))
        assert len(followed.steps) == len(episode.steps)
