"""The environment as TRL trains in it: a tokenizer made in process, and an agent that is a script of texts."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from simia import worlds
from simia.environment.arena import Arena
from simia.environment.loop_thread import LoopThread
from simia.environment.settings import EnvironmentSettings
from simia.train.recipe import GrpoRecipe, recipe_of
from simia.worlds import World

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is imported: its waiting threads shall not spin
pytest.importorskip("trl", reason="needs the extra 'trl'")
pytest.importorskip("peft", reason="needs the extra 'trl'")


@pytest.fixture(scope="session")
def lamps() -> World:
    return worlds.load("lamps")


@pytest.fixture(scope="session")
def tokenizer(lamps: World) -> Any:
    from simia.train import tiny

    return tiny.make_tokenizer(lamps)


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    with LoopThread() as thread:
        yield thread


@pytest.fixture
def arena(lamps: World) -> Arena:
    settings = EnvironmentSettings(world="lamps", tasks=8, dynamics="executable", user="one_request")
    return Arena(settings, {}, world=lamps)


@pytest.fixture
def script(tokenizer: Any) -> Callable[[Callable[[str], str]], Any]:
    """A generator that answers each prompt with the text that a function of the prompt's text gives."""

    def made(answer: Callable[[str], str]) -> Any:
        def generate(prompts: list[list[int]], room: int) -> tuple[list[list[int]], None]:
            texts: Sequence[str] = [tokenizer.decode(ids) for ids in prompts]
            return [tokenizer.encode(answer(text)) for text in texts], None

        return generate

    return made


@pytest.fixture(scope="session")
def agent(lamps: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an agent that has learned next to nothing."""
    from simia.train.tiny import make_tiny

    folder = tmp_path_factory.mktemp("agent")
    make_tiny(lamps, folder, steps=5)
    return folder


@pytest.fixture
def recipe_for() -> Callable[..., GrpoRecipe]:
    """The recipe of one small step of an agent in a folder."""

    def made(agent: Path, **learn: Any) -> GrpoRecipe:
        return recipe_of(
            {
                "name": "batch",
                "environment": {"world": "lamps", "tasks": 8, "dynamics": "executable", "user": "one_request"},
                "agent": {"model": str(agent)},
                "learn": {
                    "steps": 1,
                    "groups": 2,
                    "group_size": 2,
                    "micro_batch": 2,
                    "turn_tokens": 16,
                    "completion_tokens": 64,
                    "learning_rate": 1e-3,
                    "gradient_checkpointing": False,
                    "device": "cpu",
                    "tensorboard": False,
                    **learn,
                },
            },
            [],
            "the test",
        )

    return made
