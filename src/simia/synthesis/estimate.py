"""What a run would use, estimated from prompts that are really rendered, without asking any model."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from simia.errors import ConfigError, RecordError
from simia.formats import exchanges
from simia.formats.calls import dump_json
from simia.models.cast import Cast
from simia.models.scripted import ScriptedModel
from simia.models.tokens import estimate_prompt, estimate_tokens
from simia.pipeline import Item
from simia.seeds.plan import draw_plan
from simia.simulate import PlannedSeed, TrajectorySimulator, TurnSimulator
from simia.synthesis import prefilter
from simia.synthesis.cast import settled
from simia.synthesis.recipe import Recipe
from simia.synthesis.sources import seed_items
from simia.synthesis.stages import simulator
from simia.types import ChatModel, ChatRequest, Seed, Usage

_SAMPLE = 64
_VERDICT_TOKENS = 150  # three verdicts, each with a sentence


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate for the whole recipe. Tokens are guessed from characters; ``cost`` is in US dollars and None where
    a model has no price. It assumes one try per item, and that no prompt is cached.

    ``seeds`` are those that pass the rules, all of them counted; ``judged`` of the ``requests`` ask the judge about
    them. ``sampled`` conversations were rendered; ``longest_prompt_tokens`` must fit the model's context together with
    the reply.
    """

    conversations: int
    requests: int
    judged: int
    prompt_tokens: int
    completion_tokens: int
    longest_prompt_tokens: int
    cost: float | None
    sampled: int
    seeds: int


@dataclass(slots=True)
class _Use:
    """What the requests of one role come to."""

    prompts: list[int] = field(default_factory=list)
    completion: float = 0.0

    def times(self, scale: float) -> Usage:
        return Usage(prompt_tokens=round(sum(self.prompts) * scale), completion_tokens=round(self.completion * scale))


def estimate(recipe: Recipe, cast: Cast) -> Estimate:
    """What ``recipe`` would use with the models of ``cast``, each role at the price of its own. Reads all seeds once.

    Raises:
        SeedError: the source cannot be used at all.
        ConfigError: no seed passes the rules, or a price file is wrong.
    """
    recipe = settled(recipe, cast)
    seeds, sound = _sound_seeds(recipe)
    if not seeds:
        raise ConfigError(f"no seed of {recipe.seeds.source} passes the rules: see simia seeds inspect")
    sampled = min(recipe.count, _SAMPLE)
    used = {role: (use, recipe.count / sampled) for role, use in _conversations(recipe, cast, seeds, sound).items()}
    if recipe.prefilter.judge:
        used["judge"] = (_verdicts(recipe, seeds), sound / len(seeds))
    usage, cost, requests = Usage(), 0.0, 0.0
    unpriced = False
    for role, (use, scale) in used.items():
        price = cast.price_of_role(role)
        usage += use.times(scale)
        requests += len(use.prompts) * scale
        unpriced = unpriced or price is None
        cost += 0.0 if price is None else price.cost(use.times(scale))
    return Estimate(
        conversations=recipe.count,
        requests=round(requests),
        judged=sound if recipe.prefilter.judge else 0,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        longest_prompt_tokens=max(size for use, _ in used.values() for size in use.prompts),
        cost=None if unpriced else cost,
        sampled=sampled,
        seeds=sound,
    )


def _sound_seeds(recipe: Recipe) -> tuple[list[Seed], int]:
    """The first seeds that pass the rules, and how many do."""
    first: list[Seed] = []
    count = 0
    for item in seed_items(recipe.seeds):
        if not isinstance(item.value, RecordError) and prefilter.broken_rule(item.value) is None:
            count += 1
            if len(first) < _SAMPLE:
                first.append(item.value)
    return first, count


def _conversations(recipe: Recipe, cast: Cast, seeds: list[Seed], sound: int) -> dict[str, _Use]:
    """What the first conversations come to, by role. Where models are apart, their names are their roles here."""
    nobody: dict[str, ChatModel] = {role: ScriptedModel([], name=role) for role in cast.chosen}
    stage = simulator(recipe, nobody)
    settings = recipe.plan.model_copy(update={"seed": recipe.seed})
    used: dict[str, _Use] = defaultdict(_Use)
    for ordinal in range(min(recipe.count, _SAMPLE)):
        attempt, place = divmod(ordinal, sound)
        seed = seeds[place]
        key = f"{seed.id}#{attempt}"
        plan = draw_plan(seed, key, attempt, settings)
        item = Item(ordinal, key, PlannedSeed(seed=seed, plan=plan, attempt=attempt, item_id=key))
        for request in _requests(stage, item):
            used[request.model].prompts.append(_prompt_size(request))
        for role, size in _written(seed, stage).items():
            used[role].completion += size * plan.turns / max(1, len(seed.reference))
    return used


def _verdicts(recipe: Recipe, seeds: list[Seed]) -> _Use:
    judge = prefilter.SeedJudge(ScriptedModel([], name="judge"), recipe.prefilter)
    prompts = [_prompt_size(judge.request_for(Item(place, seed.id, seed))) for place, seed in enumerate(seeds)]
    return _Use(prompts, len(seeds) * float(min(_VERDICT_TOKENS, recipe.prefilter.max_tokens)))


def _requests(stage: TrajectorySimulator | TurnSimulator, item: Item[PlannedSeed]) -> Iterator[ChatRequest]:
    if isinstance(stage, TrajectorySimulator):
        yield stage.request_for(item)
    else:
        yield from stage.requests_for(item)


def _prompt_size(request: ChatRequest) -> int:
    # A schema steers the decoder and is no part of the prompt where the server knows structured output.
    return estimate_prompt(request.model_copy(update={"response_schema": None}))


def _written(seed: Seed, stage: TrajectorySimulator | TurnSimulator) -> dict[str, int]:
    """Tokens of a conversation like the seed's, by the role that writes them."""
    if isinstance(stage, TrajectorySimulator):
        return {"model": estimate_tokens(dump_json(exchanges.render(seed.task, seed.reference)))}
    written = {"user": estimate_tokens(seed.task), "agent": 0, "tools": 0}
    for message in seed.reference:
        if message.role == "assistant":
            calls = [call.model_dump(mode="json") for call in message.tool_calls]
            written["agent"] += estimate_tokens(message.content + (dump_json(calls) if calls else ""))
        elif message.role in ("user", "tool"):
            written["user" if message.role == "user" else "tools"] += estimate_tokens(message.content)
    return written
