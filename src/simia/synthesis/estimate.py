"""What a run would use, estimated from prompts that are really rendered, without asking any model."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import orjson

from simia.errors import ConfigError, RecordError
from simia.formats import exchanges
from simia.models.prices import FREE, PriceTable
from simia.models.scripted import ScriptedModel
from simia.models.tokens import estimate_prompt, estimate_tokens
from simia.pipeline import Item
from simia.seeds.plan import draw_plan
from simia.simulate import PlannedSeed, TrajectorySimulator, TurnSimulator
from simia.synthesis import prefilter
from simia.synthesis.cast import Cast
from simia.synthesis.recipe import Recipe
from simia.synthesis.sources import seed_items
from simia.types import ChatRequest, Seed, Usage

_SAMPLE = 64


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate for the whole recipe. Tokens are guessed from characters; ``cost`` is in US dollars and None where
    the model has no price. It assumes one try per item, and that no prompt is cached.

    ``sampled`` items were rendered; ``longest_prompt_tokens`` must fit the model's context together with the reply.
    """

    conversations: int
    requests: int
    prompt_tokens: int
    completion_tokens: int
    longest_prompt_tokens: int
    cost: float | None
    sampled: int
    seeds: int


def estimate(recipe: Recipe, cast: Cast) -> Estimate:
    """What ``recipe`` would use with the models of ``cast``.

    Raises:
        SeedError: the source cannot be used at all.
        ConfigError: no seed passes the rules, or a price file is wrong.
    """
    recipe = cast.settled(recipe)
    seeds = [seed for seed in _sound_seeds(recipe) if seed is not None]
    if not seeds:
        raise ConfigError(f"no seed of {recipe.seeds.source} passes the rules: see simia seeds inspect")
    settings = recipe.simulate.model_copy(update={"seed": recipe.seed})
    nobody = ScriptedModel([], name=cast.chosen["model"].name)
    simulator: TrajectorySimulator | TurnSimulator = (
        TrajectorySimulator(nobody, settings, recipe.name)
        if settings.mode == "trajectory"
        else TurnSimulator(nobody, settings, recipe.name)
    )
    sampled = min(recipe.count, _SAMPLE)
    prompts: list[int] = []
    completion = 0
    for ordinal in range(sampled):
        attempt, place = divmod(ordinal, len(seeds))
        seed = seeds[place]
        key = f"{seed.id}#{attempt}"
        plan = draw_plan(seed, key, attempt, recipe.plan.model_copy(update={"seed": recipe.seed}))
        item = Item(ordinal, key, PlannedSeed(seed=seed, plan=plan, attempt=attempt, item_id=key))
        prompts.extend(_prompt_size(request) for request in _requests(simulator, item))
        completion += round(_written_size(seed) * plan.turns / max(1, len(seed.reference)))
    scale = recipe.count / sampled
    usage = Usage(prompt_tokens=round(sum(prompts) * scale), completion_tokens=round(completion * scale))
    chosen = cast.chosen["model"]
    price = FREE if chosen.is_local else PriceTable(recipe.model.prices).price(chosen.name)
    return Estimate(
        conversations=recipe.count,
        requests=round(len(prompts) * scale),
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        longest_prompt_tokens=max(prompts),
        cost=None if price is None else price.cost(usage),
        sampled=sampled,
        seeds=len(seeds),
    )


def _sound_seeds(recipe: Recipe) -> Iterator[Seed | None]:
    for item in islice(seed_items(recipe.seeds), _SAMPLE):
        value = item.value
        yield None if isinstance(value, RecordError) or prefilter.broken_rule(value) else value


def _requests(simulator: TrajectorySimulator | TurnSimulator, item: Item[PlannedSeed]) -> Iterator[ChatRequest]:
    if isinstance(simulator, TrajectorySimulator):
        yield simulator.request_for(item)
    else:
        yield from simulator.requests_for(item)


def _prompt_size(request: ChatRequest) -> int:
    # A schema steers the decoder and is no part of the prompt where the server knows structured output.
    return estimate_prompt(request.model_copy(update={"response_schema": None}))


def _written_size(seed: Seed) -> int:
    return estimate_tokens(orjson.dumps(exchanges.render(seed.task, seed.reference)).decode())
