"""A double of a language model: it plays the tools of an executable world by running their code.

It reads the prompts of :class:`simia.simulate.TrackedDynamics` and answers in their form, so that everything around a
model is rehearsed and only the model is not. It can be told to be wrong now and then, as models are, so that what an
agent learns in the simulated world is not quite what holds in the real one.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson

from simia.config import rng_for
from simia.errors import ConfigError
from simia.formats.calls import dump_json
from simia.models.choose import ChosenModel
from simia.models.settings import ModelSettings
from simia.models.tokens import estimate_prompt, estimate_tokens
from simia.types import ChatModel, ChatReply, ChatRequest, JsonObject, ToolCall, Usage
from simia.worlds import World

PREFIX = "rehearsal"
_BLOCK = re.compile(r"<(call|state)-([0-9a-f]{12})>\n(.*?)\n</\1-\2>", re.DOTALL)


class RehearsalModel:
    """Answers as ``world`` would, but wrongly in a share of the states and calls: then it says that the call worked and
    changes nothing, or refuses what is allowed. Which ones follows from ``seed`` and content alone.
    """

    def __init__(self, world: World, *, mistakes: float = 0.0, seed: int = 0) -> None:
        self._world = world
        self._mistakes = mistakes
        self._seed = seed

    @property
    def name(self) -> str:
        """``rehearsal``, and the share of mistakes."""
        return f"{PREFIX}:{self._mistakes:g}"

    async def complete(self, request: ChatRequest) -> ChatReply:
        """What the world shows and changes, in the form that the prompt asks for.

        Raises:
            ConfigError: the prompt is none of a tracked simulator, or shows a part of the state only.
        """
        prompt = request.messages[1].content
        blocks, tags = {}, {}
        for found in _BLOCK.finditer(prompt):  # the last of each name: what an agent wrote stands before them
            blocks[found[1]], tags[found[1]] = found[3], found[2]
        if blocks.keys() != {"call", "state"}:
            raise ConfigError('the rehearsal plays tools over a tracked state only: set environment.dynamics="tracked"')
        if f"</state-{tags['state']}>\nNot shown: " in prompt:
            raise ConfigError(
                "the rehearsal runs the world on what a prompt shows of the state, and this one leaves some of it out: "
                "raise environment.simulate.state_chars"
            )
        state, spelled = orjson.loads(blocks["state"]), orjson.loads(blocks["call"])
        call = ToolCall(id="call", name=spelled["name"], arguments=spelled["arguments"])
        transition, _ = self._world.run(state, call)
        changes = [] if transition.delta is None else transition.delta.model_dump(mode="json")["changes"]
        answer: JsonObject = {
            "is_error": transition.is_error,
            "observation": orjson.loads(transition.observation),
            "changes": changes,
        }
        rng = rng_for(self._seed, f"{blocks['state']}\x1f{blocks['call']}")
        if changes and rng.random() < self._mistakes:
            refusal = {"error": "this is not possible at the moment"}
            wrong = {"is_error": True, "observation": refusal, "changes": []}
            answer = wrong if rng.random() < 0.5 else {**answer, "changes": []}
        text = dump_json(answer)
        usage = Usage(prompt_tokens=estimate_prompt(request), completion_tokens=estimate_tokens(text))
        return ChatReply(text=text, model=self.name, usage=usage)


def chosen_rehearsal(name: str, settings: ModelSettings, world: World | None, seed: int) -> ChosenModel:
    """The model that ``rehearsal`` or ``rehearsal:SHARE`` means, SHARE being that of its mistakes.

    Raises:
        ConfigError: the share is none, or there is no executable world to play.
    """
    _, _, share = name.partition(":")
    try:
        mistakes = float(share or 0)
    except ValueError:
        mistakes = -1.0
    if not 0 <= mistakes <= 1:
        raise ConfigError(f"{name!r}: the share of mistakes is a number from 0 to 1, for example {PREFIX}:0.1")
    if world is None:
        raise ConfigError(f"{name!r} plays the tools of an executable world: set environment.world=NAME")
    model = RehearsalModel(world, mistakes=mistakes, seed=seed)

    @asynccontextmanager
    async def opened() -> AsyncIterator[ChatModel]:
        yield model

    reason = f"a program plays the tools, wrong in {mistakes:.0%} of the changes: for rehearsal, no model is asked"
    return ChosenModel(model.name, reason, settings.model_copy(update={"name": name}), True, opened)
