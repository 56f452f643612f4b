"""A simulator under test: a language model that is asked one sample, and whose answer is taken as it is."""

from typing import Protocol

from simia.bench.prediction import (
    INADMISSIBLE,
    OVERFLOW,
    REFUSED,
    TOO_LONG,
    UNREADABLE,
    Prediction,
    read_prediction,
)
from simia.bench.sample import Sample, without_sources
from simia.bench.settings import BenchSettings, Setting
from simia.bench.suite import Suite
from simia.errors import ConfigError, ContextOverflow, FormatError, RequestRefused
from simia.formats.json_text import read_json
from simia.models.refusals import is_about_one_text
from simia.simulate import SimulateSettings
from simia.simulate.asking import Inadmissible
from simia.simulate.constrained import ConstrainedDynamics
from simia.simulate.schemas import answer_schema
from simia.simulate.tracked import TrackedDynamics
from simia.types import ChatModel, ChatRequest, Message, TransitionQuery, WorldSpec

_EVERYTHING = 10**9
"""No part of a question is shortened: a simulator that is shown half a state is not the one that was asked."""


class Subject(Protocol):
    """Who is measured."""

    @property
    def name(self) -> str:
        """What it is called on the leaderboard."""
        ...

    async def answer(self, sample: Sample) -> Prediction:
        """What it says. An answer that makes no sense is a prediction with a problem, never an error.

        Raises:
            ModelError: nobody answered, which says nothing about the simulator.
        """
        ...


class ModelSubject:
    """A language model in one of the three settings. In "hidden" it also sees what the called tool returned in one
    example episode of the world, where one calls it, as Simia's environment does in its seed.
    """

    def __init__(self, model: ChatModel, suite: Suite, settings: BenchSettings) -> None:
        self.name = model.name
        self._model = model
        self._setting: Setting = settings.setting
        self._schema = answer_schema(tracked=self._setting != "hidden")
        self._boxed = settings.boxed
        self._worlds = {name: self._seen(spec) for name, spec in suite.head.worlds.items()}
        self._suite = suite
        self._references: dict[tuple[str, str], tuple[Message, ...]] = {}
        kind = ConstrainedDynamics if self._setting == "constrained" else TrackedDynamics
        self._dynamics = kind(
            model,
            SimulateSettings(
                temperature=settings.temperature,
                max_tokens=settings.max_tokens,
                max_repairs=settings.max_repairs,
                structured=settings.structured,
                state_chars=_EVERYTHING,
                history_chars=_EVERYTHING,
                seed=settings.seed,
            ),
        )
        if self._setting == "constrained":
            demand_code(suite)

    def request(self, sample: Sample) -> ChatRequest:
        """The question that ``sample`` becomes, under a schema that any answer fits: what synthesis caps, so that a
        model cannot run on, may be right here.
        """
        request = self._dynamics.request(self.query(sample))
        if request.response_schema is None or self._boxed:
            return request
        return request.model_copy(update={"response_schema": self._schema})

    def query(self, sample: Sample) -> TransitionQuery:
        """What the setting shows of ``sample``."""
        world = self._worlds[sample.world]
        if self._setting == "hidden":
            key = (sample.world, sample.call.name)
            if key not in self._references:
                self._references[key] = _reference(self._suite, *key)
            reference = self._references[key]
            return TransitionQuery(world=world, call=sample.call, history=sample.history, reference=reference)
        return TransitionQuery(world=world, call=sample.call, state=sample.state)

    async def answer(self, sample: Sample) -> Prediction:
        """What the model says, as far as it can be read; see :class:`Subject`."""
        try:
            return await (self._boxed_answer(sample) if self._boxed else self._first_answer(sample))
        except ContextOverflow as cause:
            return Prediction(problem=f"{OVERFLOW}: {cause}")
        except RequestRefused as cause:
            if not is_about_one_text(cause):  # a setting that the endpoint does not bear says nothing about the answer
                raise
            return Prediction(problem=f"{REFUSED}: {cause}")

    async def _first_answer(self, sample: Sample) -> Prediction:
        reply = await self._model.complete(self.request(sample))
        try:
            value, _ = read_json(reply.text)
        except FormatError as cause:
            problem = f"{TOO_LONG}: the reply was cut" if reply.finish_reason == "length" else f"{UNREADABLE}: {cause}"
            return Prediction(problem=problem, reply=reply.text)
        if reply.finish_reason == "length":
            return Prediction(problem=f"{TOO_LONG}: the reply was cut", reply=reply.text)
        return read_prediction(value, with_changes=self._setting != "hidden", reply=reply.text)

    async def _boxed_answer(self, sample: Sample) -> Prediction:
        answer = await self._dynamics.propose(self.query(sample))
        if isinstance(answer, Inadmissible):
            return Prediction(problem=f"{INADMISSIBLE}: {answer.reason}", reply=answer.text)
        return Prediction.of(answer.value).model_copy(update={"reply": answer.text})

    def _seen(self, spec: WorldSpec) -> WorldSpec:
        return spec if self._setting == "constrained" else without_sources(spec)


def _reference(suite: Suite, world: str, tool: str) -> tuple[Message, ...]:
    """The first example episode of ``world`` that calls ``tool``, or the first where none does; nothing where there
    are no examples.
    """
    examples = suite.examples(world)
    calling = (one for one in examples if any(step.call.name == tool for step in one.steps))
    chosen = next(calling, examples[0] if examples else None)
    return () if chosen is None else chosen.messages()


def demand_code(suite: Suite) -> None:
    """Make sure that the constrained setting can be asked.

    Raises:
        ConfigError: a tool of the suite has no code.
    """
    without = sorted(name for name, spec in suite.head.worlds.items() if not all(tool.source for tool in spec.tools))
    if without:
        raise ConfigError(
            f"the suite {suite.head.name} has no code for the tools of {', '.join(without)}: measure with "
            "--setting tracked or hidden, or build a suite without them"
        )
