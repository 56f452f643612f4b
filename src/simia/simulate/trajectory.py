"""A whole conversation in one reply of a model: the simulation of Simia-SFT (arXiv 2511.01824, section 3).

As in the paper the model gets the policy, the full tool schemas, the format and one exemplar, and writes user, agent
and tool results at once. Deviations: the reply is one JSON object in which a wrong order of roles cannot be written,
decoded under a schema where the server can; and a drawn plan, not temperature alone, makes the conversations differ.
"""

from typing import Any

import orjson

from simia.config import rng_for
from simia.errors import ContextOverflow, FormatError
from simia.formats import exchanges
from simia.formats.json_text import read_json
from simia.pipeline import Item
from simia.prompts import fence, hashes, load, new_tag
from simia.simulate.parts import remembered, tool_lines
from simia.simulate.planned import Draws, PlannedSeed, shape
from simia.simulate.settings import SimulateSettings
from simia.types import (
    ChatModel,
    ChatReply,
    ChatRequest,
    Dropped,
    JsonObject,
    Kept,
    Outcome,
    Provenance,
    Sampling,
    Seed,
    SystemMessage,
    Trajectory,
    UserMessage,
    WorldSpec,
)

PROMPTS = ("trajectory_world", "trajectory_item")
"""The templates of this simulation, for the manifest."""


class TrajectorySimulator:
    """A stage: a planned seed becomes a conversation, or is dropped with the rule that the reply broke.

    Rules: ``reply_cut``, ``content_filter``, ``empty_reply``, ``unreadable_reply`` (after ``settings.attempts``
    tries), ``context_overflow`` (a property of the item, so never tried again). Errors of the model go through and
    are the pipeline's. What the conversation says is not judged here.
    """

    name = "simulate"

    def __init__(self, model: ChatModel, settings: SimulateSettings, run_name: str) -> None:
        self._model = model
        self._settings = settings
        self._run_name = run_name
        self._prompts = hashes(PROMPTS)
        self._item_prompt = load("trajectory_item")
        self._systems: dict[str, SystemMessage] = {}
        self._schemas: dict[tuple[str, int], JsonObject] = {}
        self._exemplars: dict[str, str] = {}

    def request_for(self, item: Item[PlannedSeed], trial: int = 0) -> ChatRequest:
        """The request that ``item`` becomes. Its first message is the same, byte for byte, for all items of a world,
        and the second begins alike for all items of a seed, so that a server's prefix cache serves both.

        Raises:
            FormatError: the seed's reference cannot be spelled as an exemplar.
        """
        planned, settings = item.value, self._settings
        seed, plan = planned.seed, planned.plan
        world = seed.world
        count, calls = shape(planned, settings.max_exchanges)
        draws = Draws(settings.seed, planned.item_id, planned.attempt)
        content = self._item_prompt.render(
            exemplar=remembered(self._exemplars, seed.content_id, lambda: self._exemplar(seed)),
            plan=plan,
            exchanges=count,
            calls=calls,
            nonce=draws.characters("nonce"),
        )
        schema = None
        if settings.structured:
            key = (world.content_id, count)
            schema = remembered(self._schemas, key, lambda: self._schema(world, count))
        return ChatRequest(
            model=self._model.name,
            messages=(
                remembered(self._systems, world.content_id, lambda: self._system(world)),
                UserMessage(content=content),
            ),
            sampling=Sampling(
                temperature=settings.temperature,
                max_tokens=settings.max_tokens,
                seed=draws.sampling_seed(f"trajectory/{trial}"),
            ),
            response_schema=schema,
        )

    async def __call__(self, item: Item[PlannedSeed]) -> Outcome[Trajectory]:
        """The conversation that the model wrote for ``item``."""
        outcome: Outcome[Trajectory] = Dropped("unreadable_reply", "no attempt was made")
        for trial in range(self._settings.attempts):
            try:
                reply = await self._model.complete(self.request_for(item, trial))
            except ContextOverflow as cause:
                return Dropped("context_overflow", str(cause))
            outcome = self._read(item.value, reply)
            if isinstance(outcome, Kept):
                break
        return outcome

    def _read(self, planned: PlannedSeed, reply: ChatReply) -> Outcome[Trajectory]:
        if reply.finish_reason == "length":
            allowed = self._settings.max_tokens
            return Dropped("reply_cut", f"the reply was cut at {allowed} tokens: raise simulate.max_tokens")
        if reply.finish_reason == "content_filter":
            return Dropped("content_filter", "the server withheld the reply")
        if not reply.text.strip():
            return Dropped("empty_reply", "the reply has no text")
        try:
            value, repaired = read_json(reply.text)
            task, messages = exchanges.parse(value)
        except FormatError as cause:
            return Dropped("unreadable_reply", str(cause))
        if not messages:
            return Dropped("empty_reply", "the reply has no exchange")
        seed = planned.seed
        trajectory = Trajectory(
            world=seed.world.content_id,
            task=task,
            messages=messages,
            provenance=Provenance(
                run=self._run_name,
                seed=seed.id,
                attempt=planned.attempt,
                model=reply.model,
                prompts=self._prompts,
                licence=seed.licence,
            ),
            plan=planned.plan,
            repairs=("json",) if repaired else (),
        )
        return Kept(trajectory)

    def _system(self, world: WorldSpec) -> SystemMessage:
        settings = self._settings
        content = load("trajectory_world").render(
            policy=world.policy.strip(),
            tools=tool_lines(world, show_returns=settings.show_returns),
            thoughts=settings.thoughts,
            show_returns=settings.show_returns,
        )
        return SystemMessage(content=content)

    def _schema(self, world: WorldSpec, count: int) -> JsonObject:
        return exchanges.reply_schema(world.tools, max_exchanges=count, thoughts=self._settings.thoughts)

    def _exemplar(self, seed: Seed) -> str:
        # The tag may be the same for all items of a seed: the exemplar was written before the run and cannot know it.
        value = exchanges.render(seed.task, seed.reference)
        if not self._settings.thoughts:
            value = _without_thoughts(value)
        tag = new_tag(rng_for(self._settings.seed, seed.content_id))
        return fence(orjson.dumps(value).decode(), tag, "example")


def _without_thoughts(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_thoughts(entry) for entry in value]
    if isinstance(value, dict):
        return {
            key: entry if key in ("arguments", "result") else _without_thoughts(entry)
            for key, entry in value.items()
            if key not in ("thought", "reply_thought")
        }
    return value
