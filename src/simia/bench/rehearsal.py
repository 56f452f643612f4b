"""What a run of the benchmark would use, estimated from the prompts that it would send."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from simia.bench import questions
from simia.bench.prediction import right_answer
from simia.bench.run import ANSWERS, DRIFT, Examination
from simia.bench.sample import Sample
from simia.bench.subjects import ModelSubject
from simia.formats.calls import dump_json
from simia.models.scripted import ScriptedModel
from simia.models.tokens import estimate_prompt, estimate_tokens
from simia.pipeline import Item
from simia.store import Run
from simia.types import Usage, schema_for

T = TypeVar("T")

_ENVELOPE_TOKENS = 20
_RENDERED = 100


@dataclass(frozen=True, slots=True)
class BenchEstimate:
    """Tokens are guessed from characters; ``cost`` is in US dollars, None where the model has no price."""

    samples: int
    episodes: int
    steps: int
    requests: int
    prompt_tokens: int
    completion_tokens: int
    longest_prompt_tokens: int
    cost: float | None


def estimate(examination: Examination, resumed: Path | None = None) -> BenchEstimate:
    """What the run would ask, or what the one in the folder ``resumed`` still lacks, if each answer were as long as the
    truth. A baseline asks nothing.

    Raises:
        ManifestMismatch: the run in the folder was made from something else.
        StoreError: there is no run in the folder.
    """
    settings, suite = examination.settings, examination.suite
    if resumed is not None:
        examination.demand_same(resumed)
    samples = list(_missing(resumed, ANSWERS, questions.items(suite, settings.limit)))
    episodes = list(_missing(resumed, DRIFT, questions.episode_items(suite, settings.drift)))
    steps = sum(len(episode.steps) for episode in episodes)
    if examination.cast is None:
        return BenchEstimate(len(samples), len(episodes), steps, 0, 0, 0, 0, 0.0)
    subject = ModelSubject(ScriptedModel([], name="nobody"), suite, settings)
    basis = samples or suite.samples  # where only episodes are left
    rendered = basis[:: max(1, len(basis) // _RENDERED)]
    prompts = [
        estimate_prompt(subject.request(sample).model_copy(update={"response_schema": None})) for sample in rendered
    ]
    scale = (len(samples) + steps) / max(1, len(rendered))
    usage = Usage(
        prompt_tokens=round(sum(prompts) * scale),
        completion_tokens=round(sum(map(_written, rendered)) * scale),
    )
    price = examination.cast.price_of_role("model")
    return BenchEstimate(
        samples=len(samples),
        episodes=len(episodes),
        steps=steps,
        requests=len(samples) + steps,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        longest_prompt_tokens=max(prompts, default=0),
        cost=None if price is None else price.cost(usage),
    )


def unsayable(examination: Examination) -> int:
    """How many of the right answers the reply schema of a boxed run does not let through: simia's own simulators are
    held to a form of refusals, and to a size, that worlds of other packages do not keep to. 0 where a run is not boxed.
    """
    settings, suite = examination.settings, examination.suite
    if examination.cast is None or not (settings.boxed and settings.structured):
        return 0
    subject = ModelSubject(ScriptedModel([], name="nobody"), suite, settings)
    count = 0
    for item in questions.items(suite, settings.limit):
        schema = subject.request(item.value).response_schema
        answer = right_answer(item.value)
        if settings.setting == "hidden":
            del answer["changes"]
        count += schema is not None and not schema_for(schema).accepts(answer)
    return count


def _missing(folder: Path | None, stream: str, items: Iterator[Item[T]]) -> Iterator[T]:
    if folder is None:
        yield from (item.value for item in items)
        return
    with Run.read(folder) as run:
        is_begun = stream in run.stream_names()
        yield from (item.value for item in items if not (is_begun and run.stream(stream).is_done(item.ordinal)))


def _written(sample: Sample) -> int:
    changes = sample.delta.model_dump(mode="json")["changes"]
    return _ENVELOPE_TOKENS + estimate_tokens(sample.observation) + estimate_tokens(dump_json(changes))
