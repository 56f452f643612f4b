"""What one new trajectory should be like: drawn per item, the same in every process, and free of domain rules.

Simia (arXiv 2511.01824) leaves diversity to temperature 1.0 and the choice of the exemplar. A plan adds to that what
a model does not vary by itself: who speaks and how, how hard it is, and that not everything ends well.
"""

from collections.abc import Sequence
from typing import Literal, TypeVar

from pydantic import Field, model_validator

from simia.config import Settings, rng_for
from simia.types import Plan, PlannedOutcome, Seed

T = TypeVar("T")

FORMULATIONS: tuple[str, ...] = (
    "The user states the whole task at once, with every detail that is needed.",
    "The user states the goal only; the agent has to ask for each missing detail.",
    "The user gives the details one by one, over several messages.",
    "The user asks a question first and decides what to do after hearing the answer.",
    "The user has two unrelated requests and brings up the second after the first is settled.",
    "The user describes a problem, not a wish; what to do about it has to be worked out.",
    "The user names things imprecisely, so that the agent has to look up which one is meant.",
    "The user changes one detail of the request halfway through.",
    "The user gives one wrong detail at first and corrects it when told.",
    "The user wants a comparison of several options and then picks one.",
    "The user wants the same thing done to several objects at once.",
    "The user sets a condition: do this, but only if something else holds.",
    "The user names a first choice and a fallback, should the first not be possible.",
    "The user wants to undo or correct something that was done earlier.",
    "The user only wants to know something; nothing is changed.",
)

PERSONAS: tuple[str, ...] = (
    "a hurried professional who writes short sentences without greetings",
    "a polite elderly person who writes in whole, old-fashioned sentences",
    "a student who writes in lower case with abbreviations",
    "an anxious person who asks twice whether everything really worked",
    "a friendly talker who mixes the request with small stories",
    "an impatient customer who has been through this before and says so",
    "a precise engineer who numbers the points of a request",
    "a parent with a child on the arm who answers in fragments",
    "a non-native speaker who writes simple sentences with small mistakes",
    "a sceptic who wants to know why each step is necessary",
    "a cheerful optimist with exclamation marks",
    "a dry, laconic person who answers with single words where possible",
    "a careful person who reads everything back before agreeing",
    "a forgetful person who has to look up the numbers and names while writing",
    "a bargainer who tries to get a little more than is offered",
    "an assistant who writes on behalf of somebody else, with that person's agreement",
    "a newcomer who does not know the usual terms and describes things instead",
    "an expert who uses the right terms and expects short answers",
    "a worried person in an urgent situation who needs calm guidance",
    "a disappointed regular who wants to be taken seriously before anything else",
    "a night-shift worker, tired, who makes typing mistakes and corrects them",
    "a decisive manager who delegates and wants a summary at the end",
    "a curious person who asks a side question in between",
    "a grateful person who thanks for each step",
)

REASONINGS: tuple[str, ...] = (
    "Look everything up before saying anything about it.",
    "Check the rules that apply before acting, and name the one that decides.",
    "Plan all the steps first, then carry them out in order.",
    "Go one step at a time and decide after each result.",
    "Make independent look-ups in parallel, dependent ones one after another.",
    "Compare the results of several look-ups before choosing.",
    "Ask one short question whenever two readings of the request are possible.",
    "Confirm the exact consequences with the user before any change.",
    "After a change, verify with a look-up that it took effect.",
    "Work backwards from what the user wants to what has to be known.",
    "Prefer one call that handles several objects to many single calls.",
    "When something does not add up, say so and check it, do not guess.",
)

OUTCOMES: tuple[PlannedOutcome, ...] = ("success", "refusal", "recoverable_fault")
DIFFICULTIES: tuple[Literal["easy", "medium", "hard"], ...] = ("easy", "medium", "hard")

_TURNS_SPREAD = 0.2


class OutcomeWeights(Settings):
    """How often each outcome is planned, relative to the others. ``success``: the agent does what is asked;
    ``refusal``: the policy forbids it and the agent says so; ``recoverable_fault``: a tool meets a technical error and
    the agent gets over it.
    """

    success: float = Field(default=0.7, ge=0)
    refusal: float = Field(default=0.15, ge=0)
    recoverable_fault: float = Field(default=0.15, ge=0)

    @model_validator(mode="after")
    def _some_weight(self) -> "OutcomeWeights":
        if self.success + self.refusal + self.recoverable_fault <= 0:
            raise ValueError("at least one outcome needs a weight above 0")
        return self


class DifficultyWeights(Settings):
    """How often each difficulty is planned, relative to the others. Easy conversations are up to a fifth shorter than
    their seed, hard ones up to a fifth longer.
    """

    easy: float = Field(default=0.3, ge=0)
    medium: float = Field(default=0.45, ge=0)
    hard: float = Field(default=0.25, ge=0)

    @model_validator(mode="after")
    def _some_weight(self) -> "DifficultyWeights":
        if self.easy + self.medium + self.hard <= 0:
            raise ValueError("at least one difficulty needs a weight above 0")
        return self


class PlanSettings(Settings):
    """Each new conversation is made after a plan: one of ``formulations`` (how the user brings the request up), one of
    ``personas`` (who the user is), one of ``reasonings`` (how the agent goes about it), an outcome and a difficulty.
    The lists may be replaced.
    """

    seed: int = Field(default=0, exclude=True)
    """Moves all draws. A recipe has one seed for everything and puts it here: see ``Recipe.seed``."""
    outcomes: OutcomeWeights = OutcomeWeights()
    difficulties: DifficultyWeights = DifficultyWeights()
    formulations: tuple[str, ...] = Field(default=FORMULATIONS, min_length=1)
    personas: tuple[str, ...] = Field(default=PERSONAS, min_length=1)
    reasonings: tuple[str, ...] = Field(default=REASONINGS, min_length=1)


def draw_plan(seed: Seed, item_id: str, attempt: int, settings: PlanSettings) -> Plan:
    """The plan of one attempt at one item: depends on nothing but the arguments.

    ``turns`` lies within a fifth of the exemplar's number of messages, shorter for easy and longer for hard ones.
    """
    rng = rng_for(settings.seed, item_id, attempt)

    def weighted(options: Sequence[T], weights: Settings) -> T:
        return rng.choices(options, weights=[getattr(weights, str(option)) for option in options])[0]

    formulation = rng.choice(settings.formulations)
    persona = rng.choice(settings.personas)
    reasoning = rng.choice(settings.reasonings)
    difficulty = weighted(DIFFICULTIES, settings.difficulties)
    outcome = weighted(OUTCOMES, settings.outcomes)
    third = _TURNS_SPREAD * 2 / 3
    low = 1 - _TURNS_SPREAD + third * DIFFICULTIES.index(difficulty)
    turns = max(2, round(len(seed.reference) * rng.uniform(low, low + third)))
    return Plan(
        formulation=formulation,
        persona=persona,
        reasoning=reasoning,
        difficulty=difficulty,
        outcome=outcome,
        turns=turns,
    )
