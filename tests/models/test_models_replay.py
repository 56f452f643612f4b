"""A whole run against a mock endpoint, recorded, and played back without it."""

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest

from simia.errors import ConfigError
from simia.models.mock_server import MockServer
from simia.store import Run
from simia.synthesis.cast import choose_cast
from simia.synthesis.recipe import Recipe, read_recipe
from simia.synthesis.run import Summary, synthesise
from simia.types import Trajectory

OFFLINE = {"OLLAMA_HOST": "127.0.0.1:1"}


def conversation(body: dict[str, Any]) -> str:
    """A conversation about the shop that follows from the request's seed."""
    rng = random.Random(body["seed"])
    said = [" ".join(str(rng.randrange(10**6)) for _ in range(12)) for _ in range(3)]
    return json.dumps({"task": said[0], "exchanges": [{"user": said[1], "steps": [], "reply": said[2]}]})


def shop(*words: str) -> Recipe:
    return read_recipe("shop", ["count=12", 'export.formats=["trl"]', "simulate.attempts=1", *words])


def recorded(tape: Path, folder: Path) -> Summary:
    async def run() -> Summary:
        async with MockServer(conversation, model="tiny") as server:
            recipe = shop(f"model.record={tape}")
            env = {**OFFLINE, "OPENAI_BASE_URL": server.base_url}
            cast = await asyncio.to_thread(choose_cast, recipe, env)
            return await synthesise(recipe, cast, folder, stages=("prefilter", "generate"))

    return asyncio.run(run())


def replayed(tape: Path, folder: Path, *words: str) -> Summary:
    recipe = shop(f"model.name=cassette:{tape}", *words)
    return asyncio.run(synthesise(recipe, choose_cast(recipe, OFFLINE), folder, stages=("prefilter", "generate")))


def made(folder: Path) -> list[tuple[str, str]]:
    with Run.read(folder) as run:
        return [(key, value.content_id) for _, key, value in run.stream("generate").kept(Trajectory)]


def test_a_recorded_run_makes_the_same_conversations_offline(tmp_path: Path) -> None:
    assert recorded(tmp_path / "tape.jsonl", tmp_path / "live").stages["generate"].kept == 12
    replayed(tmp_path / "tape.jsonl", tmp_path / "again")
    assert made(tmp_path / "again") == made(tmp_path / "live")


def test_a_replayed_run_names_the_model_that_was_recorded(tmp_path: Path) -> None:
    recorded(tmp_path / "tape.jsonl", tmp_path / "live")
    replayed(tmp_path / "tape.jsonl", tmp_path / "again")
    with Run.read(tmp_path / "again") as run:
        assert run.manifest.model == "tiny"
        assert {value.provenance.model for _, _, value in run.stream("generate").kept(Trajectory)} == {"tiny"}


def test_another_recipe_than_the_recorded_one_ends_soon_and_says_why(tmp_path: Path) -> None:
    recorded(tmp_path / "tape.jsonl", tmp_path / "live")
    with pytest.raises(ConfigError, match=r"parts are new: sampling\.temperature"):
        replayed(tmp_path / "tape.jsonl", tmp_path / "again", "simulate.temperature=0.5", "count=100")


def test_a_run_may_be_gone_on_with_without_recording(tmp_path: Path) -> None:
    recorded(tmp_path / "tape.jsonl", tmp_path / "live")

    async def resumed() -> Summary:
        async with MockServer(conversation, model="tiny") as server:
            recipe = shop()
            cast = await asyncio.to_thread(choose_cast, recipe, {**OFFLINE, "OPENAI_BASE_URL": server.base_url})
            return await synthesise(recipe, cast, tmp_path / "live", resume=True, stages=("generate",))

    assert asyncio.run(resumed()).stages["generate"].kept == 12
