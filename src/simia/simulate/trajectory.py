"""A whole conversation in one reply of a model: the simulation of Simia-SFT (arXiv 2511.01824, section 3).

As in the paper the model gets the policy, the full tool schemas, the format and one exemplar, and writes user, agent
and tool results at once. Deviations: the reply is one JSON object in which a wrong order of roles cannot be written,
decoded under a schema where the server can; and a drawn plan, not temperature alone, makes the conversations differ.
"""

from collections.abc import Sequence

from simia.config import rng_for
from simia.errors import ContextOverflow, FormatError
from simia.formats import exchanges
from simia.formats.json_text import read_json
from simia.pipeline import Item
from simia.prompts import fence, hashes, load, new_tag
from simia.simulate.diversity import central_tool, user_name
from simia.simulate.exemplar import Exemplar
from simia.simulate.parts import remembered, returns_fit, tool_lines
from simia.simulate.planned import Draws, PlannedSeed
from simia.simulate.settings import SimulateSettings
from simia.types import (
    ChatModel,
    ChatReply,
    ChatRequest,
    Dropped,
    JsonObject,
    Kept,
    Message,
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

_MAKE_IT_FIT = (
    "lower simulate.exemplar_chars or simulate.max_tokens in a new --run; for a model that simia itself serves "
    "(embedded, gguf:PATH) a larger model.context there helps too"
)


class TrajectorySimulator:
    """A stage: a planned seed becomes a conversation, or is dropped with the rule that the reply broke.

    Rules: ``reply_cut``, ``text_cut``, ``content_filter``, ``empty_reply``, ``unreadable_reply`` (after
    ``settings.attempts`` tries), ``context_overflow`` and ``unusable_exemplar`` (properties of the item, so never tried
    again). Errors of the model go through and are the pipeline's. What the conversation says is not judged here.
    """

    name = "simulate"

    def __init__(self, model: ChatModel, settings: SimulateSettings, run_name: str) -> None:
        self._model = model
        self._settings = settings
        self._run_name = run_name
        self._prompts = hashes(PROMPTS)
        self._limits = exchanges.SMALL if settings.profile == "small" else exchanges.FULL
        self._item_prompt = load("trajectory_item")
        self._systems: dict[str, SystemMessage] = {}
        self._schemas: dict[tuple[str, int], JsonObject] = {}
        self._exemplars: dict[str, tuple[Exemplar, str]] = {}

    def request_for(self, item: Item[PlannedSeed], trial: int = 0) -> ChatRequest:
        """The request that ``item`` becomes. Its first message is the same, byte for byte, for all items of a world,
        and the second begins alike for all items of a seed, so that a server's prefix cache serves both.

        Raises:
            FormatError: the seed's reference cannot be spelled as an exemplar.
        """
        planned, settings = item.value, self._settings
        seed, plan = planned.seed, planned.plan
        world = seed.world
        exemplar, fenced = remembered(self._exemplars, seed.content_id, lambda: self._exemplar(seed))
        count, calls = exemplar.length(plan, settings.max_exchanges)
        draws = Draws(settings.seed, planned.item_id, planned.attempt)
        rng = draws.rng("diversity")
        name = user_name(rng)
        content = self._item_prompt.render(
            exemplar=fenced,
            plan=plan,
            exchanges=count,
            calls=calls,
            ids=exemplar.new_ids(rng, name),
            name=name,
            tool=central_tool(exemplar.tools, rng),
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
                request = self.request_for(item, trial)
            except FormatError as cause:
                return Dropped("unusable_exemplar", f"seed {item.value.seed.id}: {cause}")
            try:
                reply = await self._model.complete(request)
            except ContextOverflow as cause:
                return Dropped("context_overflow", f"{cause}; {_MAKE_IT_FIT}")
            outcome = self._read(item.value, reply)
            if isinstance(outcome, Kept):
                break
        return outcome

    def _read(self, planned: PlannedSeed, reply: ChatReply) -> Outcome[Trajectory]:
        if reply.finish_reason == "length":
            allowed = self._settings.max_tokens
            return Dropped(
                "reply_cut", f"the reply was cut at {allowed} tokens: raise simulate.max_tokens in a new --run"
            )
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
        if cut := self._cut_text(messages):
            return Dropped("text_cut", cut)
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

    def _cut_text(self, messages: Sequence[Message]) -> str:
        """Which text ends only because the schema lets it be no longer: a model that runs on, and half a sentence. A
        longer text was not cut: its server does not keep to the schema.
        """
        if not self._settings.structured:
            return ""
        for position, message in enumerate(messages, 1):
            allowed = {"user": self._limits.user, "assistant": self._limits.reply}.get(message.role)
            if allowed is not None and len(message.content) == allowed:
                return f"message {position} ({message.role}) fills all of its {allowed} characters"
        return ""

    def _system(self, world: WorldSpec) -> SystemMessage:
        show_returns = returns_fit(world, self._settings.returns_chars)
        content = load("trajectory_world").render(
            policy=world.policy.strip(),
            tools=tool_lines(world, show_returns=show_returns),
            thoughts=self._settings.thoughts,
            show_returns=show_returns,
        )
        return SystemMessage(content=content)

    def _schema(self, world: WorldSpec, count: int) -> JsonObject:
        most = min(count + 1, self._settings.max_exchanges)
        schema = exchanges.reply_schema(
            world.tools,
            max_exchanges=most,
            thoughts=self._settings.thoughts,
            limits=self._limits,
        )
        # A small model ends too early: the length of the plan holds from below as well.
        several = {**schema["properties"]["exchanges"], "minItems": max(1, count - 1)}
        return {**schema, "properties": {**schema["properties"], "exchanges": several}}

    def _exemplar(self, seed: Seed) -> tuple[Exemplar, str]:
        exemplar = Exemplar.of(seed, thoughts=self._settings.thoughts, budget_chars=self._settings.exemplar_chars)
        # The tag may be the same for all items of a seed: the exemplar was written before the run and cannot know it.
        tag = new_tag(rng_for(self._settings.seed, seed.content_id))
        return exemplar, fence(exemplar.text, tag, "example")
