"""The prompts as models get them, byte for byte: a change of wording must be meant.

After a meant change run this file with ``SIMIA_WRITE_GOLDEN=1`` in the environment, then read the diff.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from simia.models.scripted import ScriptedModel
from simia.pipeline import Item
from simia.simulate import PlannedSeed, SimulateSettings, TrajectorySimulator, TurnSimulator
from simia.types import ChatRequest

MakeItem = Callable[..., Item[PlannedSeed]]

FOLDER = Path(__file__).parent / "golden"
NAMES = ("trajectory", "trajectory_refusal", "turns_task", "turns_user", "turns_agent", "turns_tools", "turns_hidden")


def spelled(request: ChatRequest) -> str:
    return "".join(f"=== {message.role}\n{message.content}\n" for message in request.messages)


def rendered(name: str, make_item: MakeItem) -> str:
    nobody, settings = ScriptedModel([]), SimulateSettings()
    if name.startswith("trajectory"):
        outcome = "refusal" if name.endswith("refusal") else "success"
        return spelled(TrajectorySimulator(nobody, settings, "run").request_for(make_item(outcome=outcome)))
    item = make_item()
    if name == "turns_hidden":
        item = make_item(seed=item.value.seed.model_copy(update={"initial_state": None}))
    task, *others = TurnSimulator(nobody, settings, "run").requests_for(item)
    begins = {"turns_user": "You play a user", "turns_agent": "You are an agent"}.get(name, "You are the tools")
    return spelled(task if name == "turns_task" else _last(request for request in others if _begins(request, begins)))


def _begins(request: ChatRequest, words: str) -> bool:
    return request.messages[0].content.startswith(words)


def _last(requests: Iterator[ChatRequest]) -> ChatRequest:
    *_, last = requests
    return last


@pytest.mark.parametrize("name", NAMES)
def test_the_prompt_is_the_golden_one(make_item: MakeItem, name: str) -> None:
    path, text = FOLDER / f"{name}.txt", rendered(name, make_item)
    if os.environ.get("SIMIA_WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
