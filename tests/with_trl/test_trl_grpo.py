"""Training by TRL in a run folder: what it keeps, how it goes on, and when it gives up."""

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="needs the extra 'trl'")

from simia.environment.episodes import EpisodeLog
from simia.environment.recipe import choose_players
from simia.errors import ConfigError, CostCeilingReached, ManifestMismatch, ModelError, ServerFailed
from simia.models.cast import Cast
from simia.models.choose import ChosenModel
from simia.store import Run
from simia.train.curves import Curves, read_curves
from simia.train.examination import held_out
from simia.train.grpo import CURVES, Learned, TooMuchMasked, grpo
from simia.train.recipe import GrpoRecipe, recipe_of
from simia.types import ChatModel, ChatReply, ChatRequest, Party
from simia.worlds import World

pytestmark = [
    pytest.mark.trl,
    pytest.mark.filterwarnings("default"),  # what TRL and transformers warn each other about is not ours to mend
]


@pytest.fixture(scope="module")
def agent(lamps: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from simia.train.tiny import make_tiny

    folder = tmp_path_factory.mktemp("agent")
    make_tiny(lamps, folder, steps=60)
    return folder


@pytest.fixture
def recipe(agent: Path) -> Callable[..., GrpoRecipe]:
    def made(**changes: Any) -> GrpoRecipe:
        config = {
            "name": "rehearsal",
            "environment": {
                "world": "lamps",
                "tasks": 12,
                "user": "one_request",
                "limits": {"max_turns": 4},
            },
            "model": {"name": "rehearsal:0.1"},
            "agent": {"model": str(agent)},
            "learn": {
                "steps": 4,
                "groups": 2,
                "group_size": 4,
                "micro_batch": 4,
                "learning_rate": 1e-4,
                "turn_tokens": 32,
                "completion_tokens": 160,
                "gradient_checkpointing": False,
                "checkpoint_every": 2,
                "device": "cpu",
                "tensorboard": False,
            },
            "evaluation": {"tasks": 4},
        }
        return recipe_of(config, [f"{key.replace('__', '.')}={value}" for key, value in changes.items()], "the test")

    return made


def trained(recipe: GrpoRecipe, lamps: World, folder: Path, **options: Any) -> Learned:
    return grpo(recipe, choose_players(recipe, {}, lamps), lamps, folder, **options)


def test_a_run_keeps_every_episode_every_call_and_a_row_a_step(
    recipe: Callable[..., GrpoRecipe], lamps: World, tmp_path: Path
) -> None:
    trained(recipe(), lamps, tmp_path / "run")

    with Run.read(tmp_path / "run") as run:
        ids = [episode.id for _, episode in EpisodeLog(run).iterate()]
        asked = {(record.episode, record.role) for record in run.calls}
    played = [one for one in ids if one.startswith("train/")]
    assert len(played) == 4 * 2 * 4
    for kind in ("trained", "executed"):  # before and after
        assert len([one for one in ids if one.startswith(f"eval-{kind}/")]) == 2 * 4
    assert {(one, "agent") for one in ids} == {(one, role) for one, role in asked if role == "agent"}
    rows = read_curves(tmp_path / "run" / CURVES)
    assert sorted(rows) == [0, 1, 2, 3, 4]
    assert all({"reward", "success", "turns", "masked", "loss"} <= rows[step].keys() for step in (1, 2, 3, 4))
    assert {"trained_success", "executed_success"} <= rows[0].keys() & rows[4].keys()
    assert (tmp_path / "run" / "model" / "model.safetensors").exists()


def test_a_resumed_run_is_the_run_that_was_never_interrupted(
    recipe: Callable[..., GrpoRecipe], lamps: World, tmp_path: Path
) -> None:
    import torch
    from safetensors.torch import load_file

    trained(recipe(), lamps, tmp_path / "whole")
    steps: list[int] = []
    stopped = trained(
        recipe(),
        lamps,
        tmp_path / "parts",
        should_stop=lambda: len(steps) >= 2,
        on_row=lambda step, row: steps.append(step),
    )
    assert stopped.interrupted
    assert stopped.step < 4

    resumed = trained(recipe(), lamps, tmp_path / "parts", resume=True)

    assert resumed.step == 4
    weights = [load_file(tmp_path / name / "model" / "model.safetensors") for name in ("whole", "parts")]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    timed = ("environment_s", "step_s", "prompt_tokens", "simulator_tokens")
    curves = [read_curves(tmp_path / name / CURVES) for name in ("whole", "parts")]
    for step, row in curves[0].items():
        assert {k: v for k, v in row.items() if k not in timed} == {
            k: v for k, v in curves[1][step].items() if k not in timed
        }


def test_a_simulator_that_always_fails_ends_the_run_with_a_reason_and_no_zero_reward(
    recipe: Callable[..., GrpoRecipe], lamps: World, tmp_path: Path
) -> None:
    broken = recipe(environment__limits__observation_chars=1, learn__masked_over=2, learn__steps=6)

    with pytest.raises(TooMuchMasked, match="because of the simulator"):
        trained(broken, lamps, tmp_path / "run")

    with Run.read(tmp_path / "run") as run:
        called = [
            episode
            for _, episode in EpisodeLog(run).iterate()
            if any(message.role == "tool" and not message.is_error for message in episode.trajectory.messages)
            or episode.attributed_to is Party.SIMULATOR
        ]
    assert called
    assert all(episode.is_masked for episode in called)


def test_an_outage_of_the_simulator_masks_episodes_and_plays_them_again_but_no_step_dies_of_it(
    recipe: Callable[..., GrpoRecipe], lamps: World, tmp_path: Path
) -> None:
    without_retries = recipe(model__retry_for_s=0, evaluation__tasks=0, environment__tasks=40, learn__steps=6)
    cast = choose_players(without_retries, {}, lamps)
    assert cast is not None

    learned = grpo(without_retries, away(cast, since=12, until=24), lamps, tmp_path / "run")

    assert learned.step == 6
    rows = read_curves(tmp_path / "run" / CURVES)
    with Run.read(tmp_path / "run") as run:
        unanswered = {record.episode for record in run.calls if record.error}
        episodes = {episode.id: episode for _, episode in EpisodeLog(run).iterate()}
    assert unanswered
    assert sum(row["reruns"] for row in rows.values()) > 0
    assert sum(row["masked_infrastructure"] for row in rows.values()) > 0
    assert rows[6]["masked"] == 0
    kept = [episodes[one] for one in unanswered & episodes.keys()]
    assert kept
    assert all(episode.is_masked and episode.attributed_to is Party.INFRASTRUCTURE for episode in kept)


def test_a_run_that_dies_in_a_batch_tells_the_end_of_every_episode_that_it_began(
    recipe: Callable[..., GrpoRecipe], lamps: World, tmp_path: Path
) -> None:
    unexamined = recipe(evaluation__tasks=0, environment__tasks=40)
    cast = choose_players(unexamined, {}, lamps)
    assert cast is not None

    with pytest.raises(CostCeilingReached):
        grpo(
            unexamined,
            away(cast, since=12, until=10_000, error=CostCeilingReached("enough was paid")),
            lamps,
            tmp_path / "run",
        )

    with Run.read(tmp_path / "run") as run:
        begun = {record.episode for record in run.calls}
        kept = {episode.id for _, episode in EpisodeLog(run).iterate()}
        failed = dict(EpisodeLog(run).failed())
    assert failed
    assert begun == kept | failed.keys()
    assert {why.error for why in failed.values()} == {"CostCeilingReached"}

    grpo(unexamined, cast, lamps, tmp_path / "run", resume=True)

    with Run.read(tmp_path / "run") as run:
        assert not dict(EpisodeLog(run).failed())


def away(cast: Cast, *, since: int, until: int, error: ModelError | None = None) -> Cast:
    """``cast`` with models that answer nothing, or raise ``error``, from request ``since`` to request ``until``."""
    asked = count()

    class Away:
        def __init__(self, inner: ChatModel) -> None:
            self._inner = inner
            self.name = inner.name

        async def complete(self, request: ChatRequest) -> ChatReply:
            if since <= next(asked) < until:
                raise error or ServerFailed("the endpoint is away")
            return await self._inner.complete(request)

    def opener(chosen: ChosenModel) -> Callable[[], AbstractAsyncContextManager[ChatModel]]:
        @asynccontextmanager
        async def opened() -> AsyncIterator[ChatModel]:
            async with chosen.open() as model:
                yield Away(model)

        return opened

    return Cast({role: replace(chosen, _opener=opener(chosen)) for role, chosen in cast.chosen.items()})


def test_another_learning_rate_is_another_run(recipe: Callable[..., GrpoRecipe], lamps: World, tmp_path: Path) -> None:
    trained(recipe(learn__steps=2, evaluation__tasks=0), lamps, tmp_path / "run")

    with pytest.raises(ManifestMismatch, match="learning_rate"):
        trained(
            recipe(learn__steps=2, evaluation__tasks=0, learn__learning_rate=1e-3), lamps, tmp_path / "run", resume=True
        )


def test_more_steps_go_on_where_the_run_ended(recipe: Callable[..., GrpoRecipe], lamps: World, tmp_path: Path) -> None:
    trained(recipe(learn__steps=2, evaluation__tasks=0), lamps, tmp_path / "run")

    more = trained(recipe(learn__steps=3, evaluation__tasks=0), lamps, tmp_path / "run", resume=True)

    assert more.step == 3
    assert sorted(read_curves(tmp_path / "run" / CURVES)) == [1, 2, 3]


def test_more_steps_of_a_falling_learning_rate_are_another_run(
    recipe: Callable[..., GrpoRecipe], lamps: World, tmp_path: Path
) -> None:
    falling = {"evaluation__tasks": 0, "learn__schedule": "linear"}
    trained(recipe(learn__steps=2, **falling), lamps, tmp_path / "run")

    with pytest.raises(ManifestMismatch, match=r"falls to 0 at step 2 .* learn\.steps"):
        trained(recipe(learn__steps=3, **falling), lamps, tmp_path / "run", resume=True)


def test_held_out_tasks_are_about_nothing_that_is_trained_on(recipe: Callable[..., GrpoRecipe], lamps: World) -> None:
    from simia.environment.tasks import world_tasks

    trained_on = {(task.seed.task, str(task.seed.initial_state)) for task in world_tasks(lamps, 12)}

    examined = held_out(lamps, recipe())

    assert len(examined) == 4
    assert not trained_on & {(task.seed.task, str(task.seed.initial_state)) for task in examined}


@pytest.mark.parametrize("is_there", [False, True])
def test_an_agent_that_cannot_be_loaded_leaves_no_folder(
    recipe: Callable[..., GrpoRecipe], lamps: World, tmp_path: Path, is_there: bool
) -> None:
    if is_there:
        (tmp_path / "nothing").mkdir()

    with pytest.raises(ConfigError, match="load the agent"):
        trained(recipe(agent__model=str(tmp_path / "nothing")), lamps, tmp_path / "run")

    assert not (tmp_path / "run").exists()


def test_a_start_that_fails_takes_the_agent_that_was_made_for_it_away(
    recipe: Callable[..., GrpoRecipe], agent: Path, lamps: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made_already(world: World, folder: Path, *, seed: int) -> None:
        shutil.copytree(agent, folder)

    monkeypatch.setattr("simia.train.tiny.make_tiny", made_already)
    odd = recipe(agent__model="tiny", agent__lora__targets="nothing")

    with pytest.raises(ConfigError, match="set up the trainer"):
        trained(odd, lamps, tmp_path / "run")

    assert not (tmp_path / "run").exists()


def test_seeds_that_are_too_few_for_a_step_are_told_and_leave_no_folder(
    recipe: Callable[..., GrpoRecipe], lamps: World, tmp_path: Path
) -> None:
    few = recipe(learn__groups=40, learn__micro_batch=8, evaluation__tasks=0, environment__tasks=40)
    settings = few.environment.model_copy(update={"tasks": 8})

    with pytest.raises(ConfigError, match=r"a step plays 40 different tasks .* there are 8"):
        trained(few.model_copy(update={"environment": settings}), lamps, tmp_path / "run")

    assert not (tmp_path / "run").exists()


def test_what_an_examination_used_belongs_to_no_step(
    recipe: Callable[..., GrpoRecipe], lamps: World, tmp_path: Path
) -> None:
    trained(recipe(learn__steps=1, evaluation__tasks=30), lamps, tmp_path / "run")

    with Run.read(tmp_path / "run") as run:
        asked = [record for record in run.calls if record.episode.startswith("train/") and record.role == "tools"]
    paid = sum(record.usage.prompt_tokens for record in asked)
    assert read_curves(tmp_path / "run" / CURVES)[1]["prompt_tokens"] <= paid


def test_a_run_that_was_killed_before_its_last_examination_is_examined_as_it_would_have_been(
    recipe: Callable[..., GrpoRecipe], lamps: World, tmp_path: Path
) -> None:
    import torch
    from safetensors.torch import load_file

    settings = recipe(learn__learning_rate=1e-3, evaluation__tasks=30)
    whole = trained(settings, lamps, tmp_path / "run")
    weights = load_file(tmp_path / "run" / "model" / "model.safetensors")
    curves = (tmp_path / "run" / CURVES).read_text()
    ids = episode_ids(tmp_path / "run")
    assert trained(settings, lamps, tmp_path / "run", resume=True).after == whole.after  # there was nothing to do

    shutil.rmtree(tmp_path / "run" / "model")
    rows = Curves(tmp_path / "run" / CURVES)
    for column in ("trained_success", "trained_masked", "executed_success", "executed_masked"):
        del rows.rows[4][column]
    rows.put(4, {})

    again = trained(settings, lamps, tmp_path / "run", resume=True)

    assert (again.step, again.before, again.after) == (4, whole.before, whole.after)
    assert (tmp_path / "run" / CURVES).read_text() == curves
    assert episode_ids(tmp_path / "run") == ids
    restored = load_file(tmp_path / "run" / "model" / "model.safetensors")
    assert all(torch.equal(weights[name], restored[name]) for name in weights)


def episode_ids(folder: Path) -> list[str]:
    with Run.read(folder) as run:
        return [episode.id for _, episode in EpisodeLog(run).iterate()]


def test_adapters_alone_are_trained_and_gone_on_with(
    recipe: Callable[..., GrpoRecipe], lamps: World, tmp_path: Path
) -> None:
    import torch
    from safetensors.torch import load_file

    adapted = {"agent__lora__rank": 4, "learn__learning_rate": 1e-2}
    trained(recipe(**adapted), lamps, tmp_path / "whole")
    steps: list[int] = []
    trained(
        recipe(**adapted),
        lamps,
        tmp_path / "parts",
        should_stop=lambda: len(steps) >= 2,
        on_row=lambda step, row: steps.append(step),
    )
    parts = trained(recipe(**adapted), lamps, tmp_path / "parts", resume=True)
    again = trained(recipe(**adapted), lamps, tmp_path / "parts", resume=True)

    assert not (tmp_path / "whole" / "model" / "model.safetensors").exists()
    adapters = [load_file(tmp_path / name / "model" / "adapter_model.safetensors") for name in ("whole", "parts")]
    assert any(name.endswith("lora_B.weight") and weights.any() for name, weights in adapters[0].items())
    assert all(torch.equal(adapters[0][name], adapters[1][name]) for name in adapters[0])
    assert again.after == parts.after
