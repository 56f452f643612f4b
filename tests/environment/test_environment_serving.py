"""Episodes for servers: who shares draws with whom, how an episode ends, what is kept, and going on with a run."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any, TypeVar

import pytest

from simia import worlds
from simia.environment.arena import Arena
from simia.environment.episodes import EPISODES
from simia.environment.recipe import ArenaRecipe
from simia.environment.serving import Answer, Episodes, Seat
from simia.environment.serving_run import open_episodes
from simia.environment.settings import EnvironmentSettings
from simia.errors import AuthenticationFailed, ConfigError, EpisodeMisused, ManifestMismatch, ModelTimeout
from simia.models.scripted import ScriptedModel
from simia.store import Manifest, Run
from simia.types import ChatModel, ChatRequest, Episode, Failed, Party, StopReason

T = TypeVar("T")

EXECUTED: dict[str, Any] = {"world": "lamps", "tasks": 3, "dynamics": "executable", "user": "one_request"}
MANIFEST = Manifest(run="served", version="1", created="today", config={})


def arena(models: dict[str, ChatModel] | None = None, **settings: Any) -> Arena:
    world = worlds.load("lamps")
    return Arena(EnvironmentSettings(**EXECUTED | settings), models or {}, world=world)


def recipe(**settings: Any) -> ArenaRecipe:
    return ArenaRecipe(environment=EnvironmentSettings(**EXECUTED | settings))


def play(work: Callable[[Episodes], Awaitable[T]], episodes: Episodes | None = None) -> T:
    async def main() -> T:
        return await work(episodes or Episodes(arena()))

    return asyncio.run(main())


@contextmanager
def a_run(folder: Path) -> Iterator[Run]:
    opened = Run.resume(folder, MANIFEST) if (folder / "run.json").exists() else Run.create(folder, MANIFEST)
    with opened as run:
        yield run


async def solved(episodes: Episodes, seed: int | None = None) -> Answer:
    seat = episodes.begin(seed=seed)
    await seat.start()
    for call in seat.session.task.gold:
        await seat.call(call.name, call.arguments)
    return await seat.say("It is done.")


# which episode


def test_the_members_of_a_group_have_the_same_task_and_seed() -> None:
    async def ids(episodes: Episodes) -> list[str]:
        return [episodes.begin("lamps:0:1", 7).session.id for _ in range(2)]

    assert play(ids) == ["lamps:0:1/7/0", "lamps:0:1/7/1"]


def test_without_a_task_the_seed_picks_it() -> None:
    async def tasks(episodes: Episodes) -> list[str]:
        return [episodes.begin(seed=seed).session.task.id for seed in (0, 1, 4)]

    assert play(tasks) == ["lamps:0:0", "lamps:0:1", "lamps:0:1"]


def test_without_task_and_seed_the_tasks_come_in_turn_and_share_no_draws() -> None:
    async def sessions(episodes: Episodes) -> list[tuple[str, str]]:
        begun = [episodes.begin().session for _ in range(4)]
        return [(session.task.id, session.group) for session in begun]

    assert play(sessions) == [
        ("lamps:0:0", "lamps:0:0/n0"),
        ("lamps:0:1", "lamps:0:1/n1"),
        ("lamps:0:2", "lamps:0:2/n2"),
        ("lamps:0:0", "lamps:0:0/n3"),
    ]


@pytest.mark.parametrize(("task", "seed"), [("lamps:9:9", 0), (3, 0), (None, "7"), (None, True)])
def test_what_no_episode_can_be_about_is_refused(task: Any, seed: Any) -> None:
    async def begin(episodes: Episodes) -> Seat:
        return episodes.begin(task, seed)

    with pytest.raises(ConfigError):
        play(begin)


# how it ends


def test_an_episode_is_judged_as_soon_as_it_is_over() -> None:
    episode = play(solved).episode

    assert episode is not None
    assert episode.reward is not None
    assert (episode.reward.value, episode.trajectory.stop_reason) == (1, StopReason.COMPLETED)


def test_who_leaves_before_the_end_leaves_a_masked_episode() -> None:
    async def leave(episodes: Episodes) -> Episode | None:
        seat = episodes.begin()
        await seat.start()
        await seat.leave()
        return seat.episode

    episode = play(leave)
    assert episode is not None
    assert (episode.is_masked, episode.attributed_to) == (True, Party.INFRASTRUCTURE)


def test_an_agent_cannot_act_after_the_end() -> None:
    async def again(episodes: Episodes) -> None:
        seat = episodes.begin()
        await seat.start()
        await seat.say("Goodbye.")
        await seat.say("Goodbye.")

    with pytest.raises(EpisodeMisused):
        play(again)


def test_a_call_whose_asker_is_cancelled_is_answered_all_the_same() -> None:
    words = iter(["Turn on the lamp in the hall.", "The one beside the stairs."])

    async def slowly(request: ChatRequest) -> str:
        await asyncio.sleep(0.05)
        return f'{{"done": false, "say": "{next(words)}"}}'

    async def cancelled(episodes: Episodes) -> list[str]:
        seat = episodes.begin()
        await seat.start()
        asking = asyncio.create_task(seat.say("What can I do for you?"))
        await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await seat.leave()
        return [message.role for message in seat.session.played().trajectory.messages]

    episodes = Episodes(arena({"user": ScriptedModel(slowly)}, user="simulated"))
    assert play(cancelled, episodes) == ["user", "assistant", "user"]


def test_what_ends_every_episode_is_raised_and_masks_this_one() -> None:
    async def start(episodes: Episodes) -> Seat:
        seat = episodes.begin()
        with pytest.raises(AuthenticationFailed):
            await seat.start()
        return seat

    user = ScriptedModel([AuthenticationFailed("wrong key")])
    seat = play(start, Episodes(arena({"user": user}, user="simulated")))
    assert seat.episode is not None
    assert seat.episode.is_masked


# what is kept


def test_an_episode_is_kept_with_its_world(tmp_path: Path) -> None:
    with a_run(tmp_path) as run:
        play(solved, Episodes(arena(), run))

    with Run.read(tmp_path) as run:
        ((_, key, episode),) = run.stream(EPISODES).kept(Episode)
        assert key == episode.id == "lamps:0:0/n0/0"
        assert run.worlds.get(episode.trajectory.world).name == "lamps"


def test_what_is_still_open_at_the_end_is_kept_as_masked(tmp_path: Path) -> None:
    async def abandoned(episodes: Episodes) -> None:
        await episodes.begin().start()
        await episodes.settled()

    with a_run(tmp_path) as run:
        play(abandoned, Episodes(arena(), run))
        ((_, _, episode),) = run.stream(EPISODES).kept(Episode)
    assert episode.is_masked


def test_an_episode_that_nobody_can_judge_any_more_is_kept_as_failed(tmp_path: Path) -> None:
    async def play_it(episodes: Episodes) -> None:
        with pytest.raises(AuthenticationFailed):
            await solved(episodes)
        await episodes.settled()

    judge = ScriptedModel(lambda request: AuthenticationFailed("wrong key"))
    judged = arena({"judge": judge}, reward={"parts": {"judge": 1.0}})
    with a_run(tmp_path) as run:
        play(play_it, Episodes(judged, run))
        ((_, _, why),) = run.stream(EPISODES).failed()
    assert why == Failed("AuthenticationFailed", "wrong key")


def test_a_run_that_is_gone_on_with_gives_no_number_twice(tmp_path: Path) -> None:
    for _ in range(2):
        with a_run(tmp_path) as run:
            episodes = Episodes(arena(), run)
            play(lambda begun: solved(begun, seed=7), episodes)

    with Run.read(tmp_path) as run:
        assert [key for _, key, _ in run.stream(EPISODES).kept(Episode)] == ["lamps:0:1/7/0", "lamps:0:1/7/1"]


def test_an_episode_that_was_lost_leaves_no_number_to_be_given_twice(tmp_path: Path) -> None:
    async def second_of_two(episodes: Episodes) -> None:
        episodes.begin()
        await solved(episodes)

    async def begun(episodes: Episodes) -> str:
        return episodes.begin().session.id

    with a_run(tmp_path) as run:
        play(second_of_two, Episodes(arena(), run))
    with a_run(tmp_path) as run:
        assert play(begun, Episodes(arena(), run)) == "lamps:0:2/n2/0"


# the folder of a run


def served(folder: Path | None, work: Callable[[Episodes], Awaitable[Any]] = solved, **settings: Any) -> Any:
    async def main() -> Any:
        async with open_episodes(recipe(**settings), None, worlds.load("lamps"), folder) as episodes:
            return await work(episodes)

    return asyncio.run(main())


def test_episodes_are_served_without_a_run() -> None:
    assert served(None).episode.reward.value == 1


def test_a_folder_is_begun_and_gone_on_with(tmp_path: Path) -> None:
    served(tmp_path / "run")
    served(tmp_path / "run", tasks=5)

    with Run.read(tmp_path / "run") as run:
        assert run.stream(EPISODES).counts().kept == 2


def test_a_folder_of_other_settings_is_refused(tmp_path: Path) -> None:
    served(tmp_path / "run")

    with pytest.raises(ManifestMismatch, match=r"environment\.feedback"):
        served(tmp_path / "run", feedback="bare")


def test_a_run_that_was_begun_in_vain_leaves_nothing(tmp_path: Path) -> None:
    async def nothing(episodes: Episodes) -> None:
        raise ModelTimeout("no answer")

    with pytest.raises(ModelTimeout):
        served(tmp_path / "run", nothing)
    assert not (tmp_path / "run").exists()


def test_every_member_of_a_group_is_told_the_same_by_a_simulator() -> None:
    moods = cycle((True, False))

    def answer(request: ChatRequest) -> dict[str, Any]:
        return {"is_error": False, "observation": {"attic": next(moods)}, "changes": []}

    async def looks(episodes: Episodes) -> list[str]:
        told = []
        for _ in range(2):
            seat = episodes.begin("lamps:0:0", 3)
            await seat.start()
            told += [message.content for message in (await seat.call("look_around", {})).messages]
        return told

    first, second = play(looks, Episodes(arena({"tools": ScriptedModel(answer)}, dynamics="tracked")))
    assert first == second
