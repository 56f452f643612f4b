"""Gymnasium: its own checker is content, and episodes are played to their reward."""

import asyncio
import json
import math
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from simia import worlds
from simia.environment.arena import Arena
from simia.environment.episodes import EPISODES
from simia.environment.recipe import ArenaRecipe
from simia.environment.settings import EnvironmentSettings
from simia.errors import ConfigError, EpisodeMisused
from simia.models.mock_server import MockServer
from simia.models.scripted import ScriptedModel
from simia.models.settings import ModelSettings
from simia.store import Run
from simia.types import ChatModel, Episode

checker = pytest.importorskip("gymnasium.utils.env_checker", reason="needs the extra gymnasium")
pytestmark = pytest.mark.gymnasium

TASK = "lamps:0:0"
Make = Callable[..., Any]


def settings(**changes: Any) -> EnvironmentSettings:
    executed = {"world": "lamps", "tasks": 3, "dynamics": "executable", "user": "one_request"}
    return EnvironmentSettings(**executed | changes)


def arena(models: dict[str, ChatModel] | None = None, **changes: Any) -> Arena:
    return Arena(settings(**changes), models or {}, world=worlds.load("lamps"))


@pytest.fixture
def make() -> Iterator[Make]:
    """Makes environments that are closed at the end of the test; of executable lamps unless others are given."""
    from simia.environment.adapters.gymnasium import SimiaEnv

    made: list[SimiaEnv] = []

    def one(source: Arena | ArenaRecipe | None = None, **options: Any) -> SimiaEnv:
        made.append(SimiaEnv(source or arena(), **options))
        return made[-1]

    yield one
    for env in made:
        env.close()


def call(name: str, **arguments: Any) -> str:
    return json.dumps({"calls": [{"name": name, "arguments": arguments}]})


def solved(env: Any) -> tuple[Any, ...]:
    env.reset(seed=1, options={"task": TASK})
    for gold in arena().task(TASK).gold:
        env.step(call(gold.name, **gold.arguments))
    step: tuple[Any, ...] = env.step('{"say": "It is done."}')
    return step


def test_gymnasiums_own_checker_finds_nothing(make: Make) -> None:
    with pytest.warns(UserWarning, match="not having a spec") as told:
        checker.check_env(make(render_mode="ansi"))
    assert len(told) == 1  # only that other render modes cannot be tried


def test_a_reset_shows_the_first_messages_and_the_tools(make: Make) -> None:
    seed = arena().task(TASK).seed

    observation, info = make().reset(seed=1, options={"task": TASK})

    assert json.loads(observation) == [
        {"role": "system", "content": seed.world.policy.strip()},
        {"role": "user", "content": seed.task},
    ]
    assert (info["task"], info["episode"]) == (TASK, f"{TASK}/1/0")
    assert info["tools"] == [tool.as_openai() for tool in seed.world.tools]


def test_equal_seeds_draw_equal_tasks(make: Make) -> None:
    env = make()
    drawn = [[env.reset(seed=seed)[1]["task"]] + [env.reset()[1]["task"] for _ in range(5)] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_step_shows_only_what_is_new(make: Make) -> None:
    env = make()
    env.reset(options={"task": TASK})

    observation, reward, terminated, truncated, info = env.step(call("look_around"))

    (message,) = json.loads(observation)
    assert (message["role"], message["tool_call_id"]) == ("tool", "call_1")
    assert (reward, terminated, truncated, info) == (0.0, False, False, {})


def test_an_episode_that_does_the_task_is_rewarded_at_its_end(make: Make) -> None:
    _, reward, terminated, truncated, info = solved(make())

    assert (reward, terminated, truncated) == (1.0, True, False)
    assert (info["masked"], info["stop_reason"], info["attributed_to"]) == (False, "completed", "agent")
    assert info["parts"] == {"state_goal": 1.0}


def test_a_limit_truncates(make: Make) -> None:
    env = make(arena(limits={"max_turns": 1}))
    env.reset(options={"task": TASK})

    _, reward, terminated, truncated, info = env.step(call("look_around"))
    assert (reward, terminated, truncated, info["stop_reason"]) == (0.0, False, True, "max_turns")


def test_a_text_that_is_no_action_is_told_to_the_agent(make: Make) -> None:
    env = make()
    env.reset(options={"task": TASK})

    observation, _, terminated, truncated, _ = env.step("turn on the lamp")
    assert "could not be read" in json.loads(observation)[0]["content"]
    assert (terminated, truncated) == (False, False)


def test_a_masked_episode_has_no_number_for_a_reward(make: Make) -> None:
    env = make(arena({"tools": ScriptedModel(lambda request: "I cannot.")}, dynamics="tracked"))
    env.reset(options={"task": TASK})

    _, reward, terminated, truncated, info = env.step(call("look_around"))
    assert math.isnan(reward)
    assert (terminated, truncated, info["masked"], info["attributed_to"]) == (False, True, True, "simulator")


def test_an_episode_that_cannot_begin_ends_with_its_first_step(make: Make) -> None:
    env = make(arena({"user": ScriptedModel(lambda request: "?")}, user="simulated"))
    _, info = env.reset(options={"task": TASK})

    _, reward, _, truncated, later = env.step('{"say": "Hello?"}')
    assert (math.isnan(reward), truncated, later["attributed_to"]) == (True, True, "user")
    assert info["masked"]


def test_the_words_of_a_user_are_spelled_within_the_space(make: Make) -> None:
    user = ScriptedModel([{"done": False, "say": "Schalte die Lampe im Flur an, größer geht’s nicht."}])
    env = make(arena({"user": user}, user="simulated"))

    observation, _ = env.reset(options={"task": TASK})
    assert observation in env.observation_space
    assert "größer" in json.loads(observation)[1]["content"]


def test_the_conversation_is_rendered_as_text(make: Make) -> None:
    env = make(render_mode="ansi")
    solved(env)
    assert "It is done." in env.render()


def test_an_action_without_an_episode_is_a_mistake_of_the_caller(make: Make) -> None:
    env = make()
    with pytest.raises(EpisodeMisused, match="reset"):
        env.step('{"say": "Hello?"}')
    solved(env)
    with pytest.raises(EpisodeMisused):
        env.step('{"say": "Hello?"}')


@pytest.mark.parametrize("options", [{"task": "lamps:9:9"}, {"tsak": TASK}])
def test_options_that_cannot_be_meant_are_refused(make: Make, options: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        make().reset(options=options)


def test_a_closed_environment_may_be_closed_again_and_not_be_used(make: Make) -> None:
    env = make()
    env.close()
    env.close()
    with pytest.raises(EpisodeMisused, match="closed"):
        env.reset()


def test_a_recipe_is_played_and_kept_with_every_call_of_a_model(make: Make, tmp_path: Path) -> None:
    with Endpoint(lambda body: json.dumps({"done": False, "say": "Turn on the lamp in the hall."})) as base_url:
        model = ModelSettings(name="tiny", base_url=base_url)
        env = make(ArenaRecipe(environment=settings(user="simulated"), model=model), run=tmp_path / "run")
        env.reset(seed=1, options={"task": TASK})
        env.close()

    with Run.read(tmp_path / "run") as run:
        ((_, key, episode),) = run.stream(EPISODES).kept(Episode)
        assert (key, episode.is_masked) == (f"{TASK}/1/0", True)
        assert [record.role for record in run.calls.of(key)] == ["user"]


class Endpoint:
    """A mock endpoint on a thread of its own, for the length of a ``with`` block: gives its base URL."""

    def __init__(self, replies: Callable[[dict[str, Any]], str]) -> None:
        self._replies = replies
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        async with MockServer(self._replies) as server:
            self._base_url = server.base_url
            self._ready.set()
            await self._over.wait()

    def __enter__(self) -> str:
        self._thread.start()
        assert self._ready.wait(10)
        return self._base_url

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)
