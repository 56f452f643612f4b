"""Walks through worlds that have no gold calls."""

from itertools import islice
from pathlib import Path

from simia import worlds
from simia.bench.collect import harvest
from simia.bench.explore import EXPLORED, explored, walks_of
from simia.bench.sample import GOLD
from simia.config import rng_for
from simia.seeds.calls import call_problem
from simia.worlds.door import open_world

LOCKER = Path(__file__).parents[1] / "worlds" / "envscaler" / "parcel_locker.py"


def test_a_world_with_gold_calls_is_walked_along_them() -> None:
    assert {walk.origin for walk in walks_of(worlds.load("bank"), 5, 0)} == {GOLD}


def test_a_world_without_gold_calls_is_walked_along_drawn_ones() -> None:
    walks = list(walks_of(open_world(str(LOCKER)), 7, 0))
    assert [walk.origin for walk in walks] == [EXPLORED] * 7
    assert all(walk.calls for walk in walks)


def test_two_walks_from_one_state_differ() -> None:
    first, *_, last = walks_of(open_world(str(LOCKER)), 9, 0)
    assert first.calls != last.calls


def test_the_same_seed_draws_the_same_walks() -> None:
    world = open_world(str(LOCKER))
    assert list(walks_of(world, 3, 4)) == list(walks_of(world, 3, 4))
    assert list(walks_of(world, 3, 4)) != list(walks_of(world, 3, 5))


def test_drawn_calls_fit_the_tools_of_every_world_but_where_a_pattern_is_asked_for() -> None:
    for name in worlds.names():
        world = worlds.load(name)
        task = next(world.tasks(1))
        calls = explored(world, task.initial_state, rng_for(1, name), count=40)
        fitting = [call for call in calls if call_problem(world.spec, call) is None]
        assert len(fitting) > len(calls) // 2, name


def test_transitions_of_drawn_calls_change_the_state_and_fail() -> None:
    samples = list(islice(harvest("locker", world := open_world(str(LOCKER)), walks_of(world, 20, 0)), 200))
    assert any(sample.is_error for sample in samples)
    assert any(sample.size for sample in samples)
