"""The episodes of a run: what is kept, what is counted, and how one is found again."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from simia.environment.episodes import EPISODES, EpisodeLog
from simia.errors import ConfigError, CorruptStream, StoreError
from simia.store import Manifest, Run
from simia.store.calls import CallRecord
from simia.types import (
    Episode,
    Failed,
    Party,
    Provenance,
    Reward,
    Sampling,
    StopReason,
    ToolSpec,
    Trajectory,
    UserMessage,
    WorldSpec,
)

MANIFEST = Manifest(run="audit", version="1", created="today", config={})
WORLD = WorldSpec(
    name="shop", policy="Be kind.", tools=(ToolSpec(name="look", parameters={"type": "object"}),), licence="MIT"
)


def episode(
    name: str,
    value: float | None = 1.0,
    *,
    party: Party = Party.AGENT,
    stop: StopReason = StopReason.COMPLETED,
) -> Episode:
    """One that is masked where it has no value."""
    return Episode(
        id=name,
        group=name.rpartition("/")[0],
        attributed_to=party,
        trajectory=Trajectory(
            world=WORLD.content_id,
            task="Look around.",
            messages=(UserMessage(content="Hello"),),
            provenance=Provenance(run="audit", seed="s", attempt=0, model="tiny", prompts={}, licence="MIT"),
            stop_reason=stop,
            reward=None if value is None else Reward(value=value, reason="as it is"),
        ),
    )


MASKED = episode("shop/1/1", None, party=Party.SIMULATOR, stop=StopReason.SIMULATOR_FAILED)


def keep(run: Run, *episodes: Episode, first: int = 0) -> None:
    async def fill() -> None:
        log = EpisodeLog(run)
        for ordinal, one in enumerate(episodes, start=first):
            await log.append(ordinal, one)

    asyncio.run(fill())


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with Run.create(tmp_path / "run", MANIFEST) as opened:
        yield opened


def ids(log: EpisodeLog) -> list[str]:
    return [one.id for _, one in log.iterate()]


# what is kept


def test_an_episode_comes_back_as_it_was_kept(run: Run) -> None:
    keep(run, episode("shop/0/0"), MASKED)

    assert list(EpisodeLog(run).iterate()) == [(0, episode("shop/0/0")), (1, MASKED)]


def test_a_world_that_is_given_is_kept_with_the_episode(run: Run) -> None:
    asyncio.run(EpisodeLog(run).append(0, episode("shop/0/0"), WORLD))

    assert run.worlds.get(episode("shop/0/0").trajectory.world) == WORLD


def test_an_episode_that_is_played_again_takes_the_place_of_the_one_before(run: Run) -> None:
    keep(run, MASKED, episode("shop/2/0"))
    keep(run, episode("shop/1/1+1"), first=0)

    assert ids(EpisodeLog(run)) == ["shop/1/1+1", "shop/2/0"]


def test_a_run_without_episodes_has_none(run: Run) -> None:
    assert ids(EpisodeLog(run)) == []


def test_a_run_that_is_being_written_shows_what_is_over(run: Run) -> None:
    keep(run, episode("shop/0/0"))

    with Run.read(run.folder) as reader:
        keep(run, episode("shop/0/1"), first=1)
        assert ids(EpisodeLog(reader)) == ["shop/0/0", "shop/0/1"]


def test_a_run_that_was_killed_while_it_wrote_shows_what_it_had_kept(run: Run) -> None:
    keep(run, episode("shop/0/0"))
    path = run.folder / "streams" / f"{EPISODES}.jsonl"
    with path.open("ab") as file:
        file.write(path.read_bytes()[:60])

    with Run.read(run.folder) as reader:
        assert ids(EpisodeLog(reader)) == ["shop/0/0"]


def test_a_run_that_is_open_for_reading_takes_no_episode(run: Run) -> None:
    with Run.read(run.folder) as reader, pytest.raises(StoreError, match="not open for writing"):
        keep(reader, episode("shop/0/0"))


def test_a_stream_of_something_else_is_told(run: Run) -> None:
    (run.folder / "streams").mkdir()
    (run.folder / "streams" / f"{EPISODES}.jsonl").write_text('{"n":0,"key":"a","kept":{"id":1}}\n')

    with Run.read(run.folder) as reader, pytest.raises(CorruptStream, match="no Episode"):
        ids(EpisodeLog(reader))


# what is counted


def test_masked_episodes_are_counted_by_party_and_not_in_the_mean(run: Run) -> None:
    keep(run, episode("a", 1.0), episode("b", 0.5), MASKED)

    counts = EpisodeLog(run).counts()

    assert (counts.kept, counts.scored, counts.masked) == (3, 2, {Party.SIMULATOR: 1})
    assert counts.mean_reward == 0.75


def test_truncated_episodes_are_counted_with_their_reasons(run: Run) -> None:
    keep(run, episode("a"), episode("b", stop=StopReason.MAX_TURNS), episode("c", stop=StopReason.MAX_TOKENS))

    counts = EpisodeLog(run).counts()

    assert counts.truncated == 2
    assert counts.stops == {StopReason.COMPLETED: 1, StopReason.MAX_TURNS: 1, StopReason.MAX_TOKENS: 1}


def test_without_a_scored_episode_there_is_no_mean(run: Run) -> None:
    keep(run, MASKED)

    assert EpisodeLog(run).counts().mean_reward is None


def test_an_episode_that_nobody_could_judge_is_counted_apart(run: Run) -> None:
    asyncio.run(run.stream(EPISODES).append(0, "shop/0/0", Failed("ModelNotFound", "no such model")))

    counts = EpisodeLog(run).counts()

    assert (counts.kept, counts.failed) == (0, 1)


# how one is found


@pytest.mark.parametrize("wanted", ["shop/1/0", "shop/1", "/1/0"])
def test_an_episode_is_found_by_its_id_or_enough_of_one_end(run: Run, wanted: str) -> None:
    keep(run, episode("shop/0/0"), episode("shop/1/0"))

    assert EpisodeLog(run).find(wanted).id == "shop/1/0"


def test_a_whole_id_is_never_ambiguous(run: Run) -> None:
    keep(run, episode("shop/1"), episode("shop/1+1"), episode("old/shop/1"))

    assert EpisodeLog(run).find("shop/1").id == "shop/1"


def test_an_ambiguous_beginning_names_the_episodes(run: Run) -> None:
    keep(run, episode("shop/0/0"), episode("shop/0/1"))

    with pytest.raises(ConfigError, match="several episodes: shop/0/0, shop/0/1; give more"):
        EpisodeLog(run).find("shop/0")


def test_of_many_that_fit_some_are_named(run: Run) -> None:
    keep(run, *(episode(f"shop/{number}/0") for number in range(20)))

    with pytest.raises(ConfigError, match=r"shop/5/0 and others; give more"):
        EpisodeLog(run).find("shop")


def test_an_unknown_id_names_those_that_are_near(run: Run) -> None:
    keep(run, episode("bank/0/0"), episode("shop/10/3"))

    with pytest.raises(ConfigError, match="near are shop/10/3, bank/0/0"):
        EpisodeLog(run).find("shop/10/4")


def test_an_id_in_a_run_without_episodes_says_so(run: Run) -> None:
    with pytest.raises(ConfigError, match="no episode of this run is over"):
        EpisodeLog(run).find("shop")


def test_an_episode_that_failed_says_why(run: Run) -> None:
    asyncio.run(run.stream(EPISODES).append(0, "shop/0/0", Failed("ModelNotFound", "no such model")))

    with pytest.raises(ConfigError, match="was not finished: ModelNotFound: no such model"):
        EpisodeLog(run).find("shop/0/0")


def test_an_episode_without_an_end_says_how_many_calls_it_made(run: Run) -> None:
    asked = CallRecord(
        episode="shop/0/0",
        role="user",
        model="tiny",
        request="r",
        messages=(),
        sampling=Sampling(temperature=0, max_tokens=1),
    )
    run.calls.put(asked, ())

    with pytest.raises(ConfigError, match=r"has no end yet: .* 1 call of a model"):
        EpisodeLog(run).find("shop/0/0")
