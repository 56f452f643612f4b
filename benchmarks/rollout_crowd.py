"""Many episodes at once through the whole stack of a run: a thousand of them, and groups of them during an outage.

Agent and tools are asked at ``rollout_endpoint.py``, over HTTP, through cache, retry, limit and meter; every call is
audited and every episode kept, as in a training.
"""

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import uvloop

from rollout_endpoint import endpoint, told_apart
from simia import worlds
from simia.environment.arena import Arena
from simia.environment.audit import AuditedModel
from simia.environment.episodes import EpisodeLog
from simia.environment.policy import ModelPolicy
from simia.environment.recipe import ArenaRecipe, choose_players, open_arena
from simia.environment.rollout import Group, run_episode, run_group
from simia.environment.session import Session
from simia.environment.together import together
from simia.models.choose import choose_model
from simia.models.meter import Meter
from simia.models.stack import build_stack
from simia.store import Manifest, Run
from simia.types import ChatModel, Task

_WORLD = "library"
_GROUPS, _SIZE = 8, 4
_TASKS = 64


@dataclass
class Stage:
    """What episodes are played in: the arena, the agent's model and the run that keeps everything."""

    arena: Arena
    agent: ChatModel
    run: Run
    tasks: list[Task]

    def player(self, session: Session) -> ModelPolicy:
        """The agent of one episode."""
        return ModelPolicy(self.agent, episode=session.id)


@asynccontextmanager
async def staged(
    url: str, folder: Path, count: int, *, in_flight: int, retry_for_s: float = 900.0
) -> AsyncIterator[Stage]:
    """The stage over the endpoint at ``url``."""
    world = worlds.load(_WORLD)
    tasks = told_apart(world, count)
    recipe = _recipe(url, in_flight, retry_for_s)
    manifest = Manifest(run="rollouts", version="0", created="", config=recipe.model_dump(mode="json"))
    with Run.create(folder, manifest) as run:
        meter = Meter()
        cast = choose_players(recipe, {}, world)
        opening = open_arena(recipe, cast, world, meter=meter, journal=run.replies, sink=run.calls)
        chosen = choose_model(None, settings=recipe.model, env={})
        async with opening as arena, chosen.open() as bare:
            agent = build_stack(bare, chosen.settings, meter=meter, journal=run.replies)
            yield Stage(arena.with_tasks(tasks), AuditedModel(agent, "agent", run.calls), run, tasks)


def _recipe(url: str, in_flight: int, retry_for_s: float) -> ArenaRecipe:
    model = {"name": "mock", "base_url": url, "max_in_flight": in_flight, "retry_for_s": retry_for_s}
    environment = {"world": _WORLD, "tasks": 1, "user": "one_request"}
    return ArenaRecipe.model_validate({"model": model, "environment": environment})


def thousand(count: int, latency: str) -> None:
    """So many episodes at once in a process of its own, and their figures."""
    with endpoint(_WORLD, count, latency=latency) as url:
        done = subprocess.run(
            [sys.executable, __file__, url, str(count)], stdout=subprocess.PIPE, text=True, check=True
        )
        with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as answer:
            stats = json.load(answer)
    figures = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{count:,} episodes at once of {_WORLD}, agent and tools at the endpoint, latency {latency}: "
        f"{figures['seconds']:.1f} s, {count / figures['seconds']:.1f} episodes/s, "
        f"{1000 * figures['cpu_s'] / count:.1f} ms CPU an episode; {stats['requests']:,} requests, at most "
        f"{stats['most_in_flight']:,} in flight; peak {figures['peak_mb']:.0f} MB, of which {figures['before_mb']:.0f} "
        f"before the first episode; at most {figures['most_open']:,} open; right {figures['right']:,}, masked "
        f"{figures['masked']}; on disk {figures['calls']:,} calls, {figures['folder_mb']:.0f} MB"
    )


async def _play_thousand(url: str, count: int, folder: Path) -> dict[str, Any]:
    async with staged(url, folder, count, in_flight=count) as stage:
        log = EpisodeLog(stage.run)
        before_mb, began, cpu = _peak_mb(), time.perf_counter(), time.process_time()
        is_open = most_open = 0

        async def played(ordinal: int, task: Task) -> tuple[float | None, bool]:
            nonlocal is_open, most_open
            is_open += 1
            most_open = max(most_open, is_open)
            session = stage.arena.session(task, f"{ordinal:05}")
            episode = await run_episode(session, stage.player(session))
            is_open -= 1
            await log.append(ordinal, episode, task.seed.world)
            return None if episode.reward is None else episode.reward.value, episode.is_masked

        outcomes = await together(played(ordinal, task) for ordinal, task in enumerate(stage.tasks))
        figures = {"seconds": time.perf_counter() - began, "cpu_s": time.process_time() - cpu, "before_mb": before_mb}
        figures |= {"peak_mb": _peak_mb(), "most_open": most_open}
        figures |= {"right": sum(value == 1 for value, _ in outcomes), "masked": sum(masked for _, masked in outcomes)}
        figures |= {"calls": sum(1 for _ in stage.run.calls)}
    return figures | {"folder_mb": _size_mb(folder)}


def _size_mb(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def _peak_mb() -> float:
    """The most memory that this process ever had resident, in MB. Not ``ru_maxrss``, which begins with the parent's."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def outage(start_s: float, length_s: float) -> None:
    """Groups of episodes, step by step as a training plays them, while the endpoint goes away and comes back: with a
    budget for retries that outlasts it, with one of a third of it, and without retries.
    """
    for label, retry_for_s in (
        ("900 s, the default", 900.0),
        (f"{length_s / 3:g} s", length_s / 3),
        ("no time at all", 0.0),
    ):
        folder = Path(tempfile.mkdtemp(prefix="simia-bench-"))
        with endpoint(_WORLD, _TASKS, latency="lognormal:0.2", outage=f"{start_s:g}:{length_s:g}") as url:
            try:
                figures = uvloop.run(_play_outage(url, folder / "run", start_s + length_s, retry_for_s))
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        usual, longest = median(figures["steps_s"]), max(figures["steps_s"])
        print(
            f"outage of {length_s:g} s, retries for {label}: {len(figures['steps_s'])} steps of {_GROUPS} groups of "
            f"{_SIZE}, {figures['episodes']} episodes; raised {figures['raised']}; played again {figures['reruns']}; "
            f"masked in the end {figures['masked']} {figures['stops']}, void groups {figures['void']}; scored below 1 "
            f"{figures['wrong']}; a step took {usual:.1f} s, the longest {longest:.1f} s"
        )


async def _play_outage(url: str, folder: Path, over_s: float, retry_for_s: float) -> dict[str, Any]:
    """Steps until the outage has been over for three seconds."""
    async with staged(url, folder, _TASKS, in_flight=64, retry_for_s=retry_for_s) as stage:
        began = time.perf_counter()
        counts: Counter[str] = Counter()
        stops: Counter[str] = Counter()
        steps_s: list[float] = []
        while time.perf_counter() - began < over_s + 3:
            step_began, step = time.perf_counter(), len(steps_s)
            tasks = [stage.tasks[(step * _GROUPS + place) % _TASKS] for place in range(_GROUPS)]
            groups = await asyncio.gather(
                *(_group(stage, task, f"{step:04}/{place}") for place, task in enumerate(tasks)), return_exceptions=True
            )
            steps_s.append(time.perf_counter() - step_began)
            for group in groups:
                if isinstance(group, BaseException):
                    print(f"a group raised {type(group).__name__}: {group}", file=sys.stderr)
                    counts["raised"] += 1
                else:
                    _count(group, counts, stops)
    names = ("raised", "episodes", "reruns", "masked", "void", "wrong")
    return {**{name: counts[name] for name in names}, "stops": dict(stops), "steps_s": steps_s}


async def _group(stage: Stage, task: Task, key: str) -> Group:
    maker = stage.arena.group(task, key)

    def make(member: int, attempt: int) -> tuple[Session, ModelPolicy]:
        session = maker.session(member, attempt)
        return session, stage.player(session)

    return await run_group(make, _SIZE)


def _count(group: Group, counts: Counter[str], stops: Counter[str]) -> None:
    counts["episodes"] += len(group.episodes) + group.reruns
    counts["reruns"] += group.reruns
    counts["void"] += group.is_void
    for episode in group.episodes:
        if episode.reward is None:
            counts["masked"] += 1
            stops[episode.trajectory.stop_reason.value] += 1
        else:
            counts["wrong"] += episode.reward.value < 1


def main() -> None:
    """The measured process of :func:`thousand`: its figures as JSON on standard output."""
    url, count = sys.argv[1], int(sys.argv[2])
    folder = Path(tempfile.mkdtemp(prefix="simia-bench-"))
    try:
        print(json.dumps(uvloop.run(_play_thousand(url, count, folder / "run"))))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
