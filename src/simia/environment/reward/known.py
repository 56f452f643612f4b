"""Episodes whose truth is known: made by program, executed in a world, and checked by the laws of their goal."""

import random
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import islice

from simia.config import rng_for
from simia.environment.environment import ToolEnvironment
from simia.environment.limits import Limits
from simia.environment.reward import attacks
from simia.environment.reward.attacks import Ruse, acting
from simia.environment.reward.goal import StateGoal
from simia.environment.reward.perturbed import Course, perturbed
from simia.environment.session import Session
from simia.environment.tasks import task_of
from simia.environment.user import OneRequest
from simia.errors import ConfigError
from simia.types import AssistantMessage, Played, Provenance, Task, ToolCall, Value
from simia.worlds import World

KINDS = ("gold", "perturbed", *attacks.KINDS)
"""The kinds of known episodes. ``gold``: the gold calls and honest words. ``perturbed``: the same with one call left
out, changed or added, which may still do the task. The others never do it.
"""

_HONEST = ("gold", "perturbed")
_OTHERS = 20  # how many tasks of the world the calls that nobody wants are taken from
_SPARE_TURNS = 2
_CLOSINGS = (
    "I have done what you asked for.",
    "That is settled. Please tell me if you need anything else.",
    "Done. The changes that you asked for have been made.",
)


class KnownEpisode(Value):
    """An episode, and in ``truth`` whether it does its task. ``variant`` says how gold calls were perturbed."""

    id: str
    kind: str
    world: str
    played: Played
    truth: bool
    variant: str = ""


async def known_episodes(world: World, name: str, count: int, seed: int = 0) -> AsyncIterator[tuple[KnownEpisode, ...]]:
    """The episodes of each of ``count`` tasks that ``seed`` draws in the world called ``name``: one of every kind that
    the task allows, in the order of :data:`KINDS`. A larger count only adds some.

    Raises:
        ConfigError: the world has no task with gold calls and a goal that a program can check.
    """
    others = [call for task in islice(world.tasks(_OTHERS, seed), _OTHERS) for call in task.gold]
    has_any = False
    for number, drawn in enumerate(islice(world.tasks(count, seed), count)):
        rng = rng_for(seed, f"{drawn.id}/known")
        task = task_of(world, drawn)
        made = []
        for kind, variant, messages in _made(Course.of(world, drawn), others, number, rng):
            episode = await _known(world, name, task, kind, variant, messages)
            if kind == "gold" and (episode is None or not episode.truth):
                break  # nobody can tell when this task is done
            # An attack that does the task, as one that wants nothing done, is none.
            if episode is not None and (kind in _HONEST or not episode.truth):
                made.append(episode)
        has_any = has_any or bool(made)
        yield tuple(made)
    if not has_any:
        raise ConfigError(f"the world {name} has no task with gold calls and a goal: no judge can be measured in it")


async def play(world: World, task: Task, messages: Sequence[AssistantMessage]) -> Played:
    """What comes of an agent that sends ``messages`` one after another, whatever it is answered."""
    limits = Limits(max_turns=len(messages) + _SPARE_TURNS)
    provenance = Provenance(run="known", seed=task.id, attempt=0, model="none", prompts={}, licence=task.seed.licence)
    environment = ToolEnvironment(task.seed, world, OneRequest(task), limits)
    session = Session(task, environment, StateGoal(world), provenance, episode_id=task.id, group=task.id)
    await session.start()
    for message in messages:
        if session.is_over:
            break
        await session.step(message)
    return session.played()


def _made(
    course: Course, others: Sequence[ToolCall], number: int, rng: random.Random
) -> Iterator[tuple[str, str, tuple[AssistantMessage, ...]]]:
    """Kind, variant and what the agent does."""
    gold = course.task.gold
    if not gold:
        return
    yield "gold", "", acting(gold, rng.choice(_CLOSINGS))
    found = perturbed(course, others, number, rng)
    if found is not None:
        variant, calls = found
        yield "perturbed", variant, acting(calls, rng.choice(_CLOSINGS))
    for kind, messages in attacks.attacks(Ruse(gold, course.reads, rng)):
        yield kind, "", messages


async def _known(
    world: World, name: str, task: Task, kind: str, variant: str, messages: tuple[AssistantMessage, ...]
) -> KnownEpisode | None:
    """The episode, or None where it broke off or nobody can tell whether it does the task."""
    played = await play(world, task, messages)
    reward = None if played.trajectory.stop_reason.is_failure else await StateGoal(world)(played)
    if reward is None:
        return None
    return KnownEpisode(
        id=f"{task.id}/{kind}", kind=kind, world=name, played=played, truth=reward.value == 1, variant=variant
    )
