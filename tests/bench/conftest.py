"""A small suite of every world of the benchmark, and models that answer it from a script."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from simia import worlds
from simia.bench.build import SuitePlan, build
from simia.bench.results import Results, read_results
from simia.bench.run import Examination, measure
from simia.bench.settings import BenchSettings
from simia.bench.strata import PUBLISHED, scaled
from simia.bench.suite import Suite, read_suite, write_suite
from simia.models.cast import Cast
from simia.models.choose import ChosenModel
from simia.models.scripted import Answer, ScriptedModel
from simia.models.settings import ModelSettings
from simia.types import ChatModel, ChatRequest
from simia.worlds import World

Script = Callable[[ChatRequest], Answer | Awaitable[Answer]]
MakeCast = Callable[[Script], Cast]

SMALL = SuitePlan(name="small", tasks=6, examples=2, drift=1, cells=scaled(PUBLISHED, 0.1))


@pytest.fixture(scope="session")
def benchmark_worlds() -> dict[str, World]:
    """The worlds that simulators are measured on, by name."""
    return {name: worlds.load(name) for name in worlds.BENCHMARK}


@pytest.fixture(scope="session")
def suite_file(tmp_path_factory: pytest.TempPathFactory, benchmark_worlds: dict[str, World]) -> Path:
    """A suite with a tenth of the published quotas."""
    path = tmp_path_factory.mktemp("suites") / "small.jsonl.gz"
    built = build(SMALL, benchmark_worlds)
    write_suite(path, built.head, built.episodes, built.samples)
    return path


@pytest.fixture(scope="session")
def suite(suite_file: Path) -> Suite:
    """The same, read."""
    return read_suite(suite_file)


@pytest.fixture(scope="session")
def baselines(suite_file: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    """Finished runs of all baselines, which followed an episode of every world."""
    home = tmp_path_factory.mktemp("runs")
    found = {}
    for name in ("oracle", "do-nothing", "echo", "nearest"):
        settings = BenchSettings.model_validate(
            {"suite": str(suite_file), "model": {"name": f"baseline:{name}"}, "drift": 1}
        )
        examination = Examination(settings, read_suite(suite_file), suite_file, None, worlds.load)
        asyncio.run(measure(examination, home / name))
        found[name] = read_results(home / name)
    return found


@pytest.fixture
def make_cast() -> MakeCast:
    """Makes a cast whose one model answers from a script, four requests at a time."""

    def make(answer: Script, **settings: object) -> Cast:
        @asynccontextmanager
        async def opened() -> AsyncIterator[ChatModel]:
            yield ScriptedModel(answer)

        chosen = ModelSettings.model_validate({"name": "scripted", "retry_for_s": 0, "max_in_flight": 4} | settings)
        return Cast({"model": ChosenModel("scripted", "scripted, for a test", chosen, not settings, opened)})

    return make
