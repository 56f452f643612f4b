"""What all tests share: the same examples at every run, so that a change, not chance, makes a test fail.

``HYPOTHESIS_PROFILE=search`` draws new examples, to look for what the fixed ones miss. ``--no-skips`` is for an
environment that was made for a test: a package that is missing there would skip the test that it was made for.
"""

import ast
import asyncio
import os
from collections.abc import Callable, Generator
from pathlib import Path
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
def examined(tmp_path: Path) -> Callable[..., None]:
    """Makes sure that the benchmark can measure simulators on the worlds of these names, which a package has."""
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
    from simia.worlds.door import open_world

    def made(names: tuple[str, ...], tasks: int) -> Suite:
        plan = SuitePlan("small", tasks=tasks, examples=1, drift=2, cells=scaled(PUBLISHED, 0.3), max_state=64_000)
        built = build(plan, {name: open_world(name) for name in names})
        write_suite(tmp_path / "small.jsonl.gz", built.head, built.episodes, built.samples)
        return read_suite(tmp_path / "small.jsonl.gz")

    def taken(baseline: str) -> Results:
        settings = BenchSettings.model_validate(
            {"suite": str(tmp_path / "small.jsonl.gz"), "drift": 2, "model": {"name": f"baseline:{baseline}"}}
        )
        measured = asyncio.run(measure(Examination.settle(settings, {}, open_world), tmp_path / baseline))
        assert measured.failed == 0
        return read_results(tmp_path / baseline)

    def examine(*names: str, tasks: int) -> None:
        suite = made(names, tasks)
        assert {sample.world for sample in suite.samples} == set(names)
        oracle, nothing = taken("oracle"), taken("do-nothing")
        scores = {verdict.sample.id: verdict.score for verdict in oracle.verdicts}
        assert scores.keys() == {sample.id for sample in suite.samples}
        assert [one for one in scores.items() if not (one[1].config_match and one[1].feedback_match)] == []
        assert all(score.error_match for score in scores.values())
        assert len(oracle.drifts) == sum(episode.role == "drift" for episode in suite.episodes) >= 2
        assert all(step.state_match and step.feedback_match for steps in oracle.drifts for step in steps)
        assert {verdict.group for verdict in nothing.changing()} >= {"simple", "medium"}
        assert not any(verdict.score.config_match for verdict in nothing.changing())
        for tool in [tool for spec in suite.head.worlds.values() for tool in spec.tools]:
            code = tool.source or ""
            assert "state" in code.splitlines()[0]
            assert f"def {tool.name}(" in ast.unparse(ast.parse(code))
            assert len(code.encode()) < 8_500
        model = ScriptedModel(lambda request: ChatReply(text="{}", model="scripted"))
        for setting in ("constrained", "tracked", "hidden"):
            subject = ModelSubject(model, suite, BenchSettings.model_validate({"setting": setting}))
            for sample in suite.samples:
                shown = subject.request(sample).messages[0].content
                code = suite.head.worlds[sample.world].tool[sample.call.name].source or ""
                assert (code in shown) == (setting == "constrained")
            for episode in suite.episodes:
                if episode.role == "drift":
                    asyncio.run(drift(subject, episode, hidden=setting == "hidden"))

    return examine
