"""One member of a group as verl's agent loop plays it: tokens, masks, limits, and what becomes of a masked episode."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from verl_doubles import DONE, END, ScriptedEngine, Styles, call

from simia.environment.adapters.verl_worker import Worker
from simia.environment.arena import Arena
from simia.environment.episodes import EPISODES
from simia.environment.settings import EnvironmentSettings
from simia.errors import AuthenticationFailed, ConfigError, ServerFailed, SimiaError
from simia.models.scripted import ScriptedModel
from simia.store import Run
from simia.types import ChatRequest, Episode
from simia.worlds import load

pytestmark = [pytest.mark.verl, pytest.mark.filterwarnings("ignore")]

T = TypeVar("T")

Rollouts = list[Any]


class Stage:
    """A worker of one process without Ray: plays groups of a recipe with a scripted engine."""

    def __init__(self, model: Path, recipe: Path, run: Path, **options: Any) -> None:
        self.options: dict[str, Any] = {"recipe": str(recipe), "run": str(run), **options}
        self.rollout: dict[str, Any] = {"prompt_length": 2048, "response_length": 2048, "max_model_len": None}
        self.turns: dict[str, Any] = {"format": "hermes", "max_assistant_turns": None, "max_user_turns": None}
        self.model = model
        self.worker: Worker | None = None
        self.engine = ScriptedEngine(model, ("right",))

    def loop(self) -> Any:
        """An agent loop as verl makes one for each rollout; to be made on a running event loop."""
        from omegaconf import OmegaConf
        from verl.experimental.agent_loop.agent_loop import DictConfigWrap

        from simia.environment.adapters.verl import SimiaAgentLoop

        config = OmegaConf.create(
            {"actor_rollout_ref": {"rollout": {**self.rollout, "multi_turn": self.turns}}, "data": {}}
        )
        worker = self.worker

        class Loop(SimiaAgentLoop):
            async def worker(self) -> Worker:
                return worker or await super().worker()

        return Loop(
            trainer_config=DictConfigWrap(config),
            server_manager=self.engine,
            tokenizer=self.engine.tokenizer,
            processor=None,
            dataset_cls=None,
            data_config=DictConfigWrap(config.data),
            hf_model_type="qwen2",
            name="simia_agent",
            **self.options,
        )

    async def group(self, styles: Styles, task: str, uid: str = "u", step: int = 1, split: str = "train") -> Rollouts:
        """The outputs of all members, or what they raised."""
        self.engine = ScriptedEngine(self.model, styles)
        row = {"uid": uid, "global_steps": step, "extra_info": {"task_id": task, "split": split}}
        params = {"temperature": 0.7, "top_p": 1.0}
        return await asyncio.gather(
            *(self.loop().run(params, session_id=member, **row) for member in range(len(styles))),
            return_exceptions=True,
        )

    def play(self, styles: Styles, task: str | None = None) -> Rollouts:
        """One group about ``task``, which is one with two calls unless given."""
        return self.job(self.group(styles, task or two_calls()))

    def job(self, work: Coroutine[Any, Any, T]) -> T:
        """A training job of its own: what its worker opened is closed at its end."""

        async def whole() -> T:
            try:
                return await work
            finally:
                await (await self.loop().worker()).close()

        return asyncio.run(whole())

    def text(self, ids: list[int]) -> str:
        return str(self.engine.tokenizer.decode(ids, skip_special_tokens=False))

    def said(self, output: Any) -> str:
        """What is masked in."""
        return self.text([token for token, mask in zip(output.response_ids, output.response_mask, strict=True) if mask])

    def told(self, output: Any) -> str:
        """What is masked out."""
        pairs = zip(output.response_ids, output.response_mask, strict=True)
        return self.text([token for token, mask in pairs if not mask])


def tasks(calls: int) -> list[Any]:
    return [task for task in load("lamps").tasks(8, 5) if len(task.gold) == calls]


def two_calls() -> str:
    return str(tasks(2)[0].id)


@pytest.fixture
def stage(model_folder: Path, lamps_recipe: Callable[[str], Path], tmp_path: Path) -> Callable[..., Stage]:
    pytest.importorskip("verl")

    def make(limits: str = "", **options: Any) -> Stage:
        return Stage(model_folder, lamps_recipe(limits), tmp_path / "run", **options)

    return make


def test_members_are_rewarded_by_what_they_did(stage: Callable[..., Stage]) -> None:
    right, lazy, garbled, parallel = stage().play(("right", "lazy", "garbled", "parallel"))
    assert [output.reward_score for output in (right, lazy, garbled, parallel)] == [1.0, 0.0, 1.0, 1.0]


def test_prompt_and_response_are_the_chat_template_of_the_conversation(stage: Callable[..., Stage]) -> None:
    from simia.formats.chat_template import as_template

    played = stage()
    for style in ("right", "parallel"):
        (output,) = played.play((style,))
        episode = next(reversed(kept(played)))
        system = {"role": "system", "content": load("lamps").spec.policy.strip()}
        conversation = [system, *(as_template(message) for message in episode.trajectory.messages)]
        tools = [tool.as_openai() for tool in load("lamps").spec.tools]
        whole = played.engine.tokenizer.apply_chat_template(conversation, tools=tools, tokenize=False)
        assert played.text(output.prompt_ids + output.response_ids) + "\n" == whole


def test_what_is_masked_in_is_what_the_agent_said(stage: Callable[..., Stage]) -> None:
    played = stage()
    right, garbled = played.play(("right", "garbled"))
    rooms = [gold.arguments["room"] for gold in tasks(2)[0].gold]
    name = tasks(2)[0].gold[0].name
    calls = [call(name, f'{{"room": "{room}"}}') for room in rooms]
    assert played.said(right) == "".join(f"{turn}{END}" for turn in (*calls, DONE))
    assert "<|im_start|>tool" in played.told(right)
    assert played.said(garbled).startswith('<tool_call>\n{"name": "turn_on", \n</tool_call>')
    assert "could not be read" in played.told(garbled)


def test_logprobs_stand_where_the_agent_spoke_and_nowhere_else(stage: Callable[..., Stage]) -> None:
    (output,) = stage().play(("right",))
    assert output.response_logprobs == [-0.5 * mask for mask in output.response_mask]
    assert len(output.response_logprobs) == len(output.response_ids)


def test_verl_is_told_the_versions_of_the_weights(stage: Callable[..., Stage]) -> None:
    (output,) = stage().play(("right",))
    assert output.extra_fields["min_global_steps"] == output.extra_fields["max_global_steps"] == 3


def test_a_response_is_never_longer_than_allowed_and_ends_with_the_agent(stage: Callable[..., Stage]) -> None:
    (whole,) = stage().play(("right",))
    for length in range(8, len(whole.response_ids), 7):
        short = stage()
        short.rollout["response_length"] = length
        (output,) = short.play(("right",))
        assert len(output.response_ids) <= length
        assert output.response_mask[-1] == 1
        assert output.response_ids == whole.response_ids[: len(output.response_ids)]


def test_a_turn_without_end_is_scored_as_it_stands(stage: Callable[..., Stage]) -> None:
    played = stage(turn_tokens=30)
    (output,) = played.play(("endless",))
    assert (len(output.response_ids), output.reward_score) == (30, 0.0)
    assert output.extra_fields["simia"]["stop"] == "max_tokens"


def test_the_engine_is_asked_for_no_more_than_there_is_room(stage: Callable[..., Stage]) -> None:
    played = stage()
    played.rollout["max_model_len"] = 700
    (output,) = played.play(("endless",))
    assert len(output.prompt_ids) + len(output.response_ids) == 700


def test_a_masked_member_comes_to_nothing_and_the_others_stand(stage: Callable[..., Stage]) -> None:
    right, nosy, lazy = stage("observation_chars = 60").play(("right", "nosy", "lazy"))
    assert nosy == []
    assert (right.reward_score, lazy.reward_score) == (1.0, 0.0)


def test_a_masked_member_is_played_again_before_it_is_given_up(stage: Callable[..., Stage]) -> None:
    played = stage("observation_chars = 60", reruns=2)
    played.play(("right", "nosy", "lazy"))
    masked = [episode.id for episode in kept(played) if episode.is_masked]
    key = f"train/000001/{two_calls()}"
    assert masked == [f"{key}/1", f"{key}/1+1", f"{key}/1+2"]


def test_a_turn_that_the_engine_gave_up_is_masked(stage: Callable[..., Stage]) -> None:
    assert stage().play(("right", "aborted", "lazy"))[1] == []


def test_a_group_with_too_few_scored_members_fails_as_a_whole(stage: Callable[..., Stage]) -> None:
    outputs = stage("observation_chars = 60").play(("right", "nosy", "nosy"))
    assert all(isinstance(output, SimiaError) for output in outputs)
    assert "only 1 of the 3 episodes" in str(outputs[0])


def test_a_group_of_one_needs_no_other(stage: Callable[..., Stage]) -> None:
    (output,) = stage().play(("lazy",))
    assert output.reward_score == 0.0


def test_a_prompt_that_is_too_long_trains_nothing(stage: Callable[..., Stage]) -> None:
    played = stage()
    played.rollout["prompt_length"] = 20
    outputs = played.play(("right", "right"))
    assert all(isinstance(output, SimiaError) for output in outputs)
    assert {episode.attributed_to.value for episode in kept(played)} == {"infrastructure"}


def test_the_same_task_twice_in_a_step_makes_two_groups(stage: Callable[..., Stage]) -> None:
    played = stage()

    async def twice() -> list[Rollouts]:
        return [await played.group(("right", "lazy"), two_calls(), uid) for uid in ("a", "b")]

    groups = [{output.extra_fields["simia"]["group"] for output in outputs} for outputs in played.job(twice())]
    assert groups == [{f"train/000001/{two_calls()}"}, {f"train/000001/{two_calls()}.1"}]


def test_a_run_is_gone_on_with_by_the_next_job(stage: Callable[..., Stage]) -> None:
    played = stage()
    played.play(("right", "lazy"))
    played.job(played.group(("right", "lazy"), two_calls(), step=2))
    assert [episode.id.split("/")[1] for episode in kept(played)] == ["000001"] * 2 + ["000002"] * 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"turns": {"max_assistant_turns": 5}}, "environment.limits.max_turns"),
        ({"row": {"extra_info": {}}}, "verl_rows"),
        ({"row": {"extra_info": {"task_id": "nobody/1"}}}, "no task 'nobody/1'"),
        ({"without": "session_id"}, "use_v1"),
    ],
)
def test_what_cannot_be_meant_is_said(stage: Callable[..., Stage], change: dict[str, Any], words: str) -> None:
    played = stage()
    played.turns |= change.get("turns", {})
    row = {"uid": "u", "global_steps": 1, "session_id": 0, "extra_info": {"task_id": two_calls()}}
    row |= change.get("row", {})
    row.pop(change.get("without", ""), None)

    async def run() -> None:
        await played.loop().run({}, **row)

    with pytest.raises(ConfigError, match=words):
        asyncio.run(run())


def test_calls_in_another_spelling_are_read_by_verls_own_reader(stage: Callable[..., Stage]) -> None:
    played = stage()
    played.turns["format"] = "qwen3_coder"

    async def read(text: str) -> Any:
        from simia.environment.adapters.verl_rollout import Rollout

        arena = Arena(
            EnvironmentSettings(world="lamps", dynamics="executable", user="one_request", task_seed=5),
            {},
            world=lamps(),
        )
        session = arena.session(next(iter(arena.tasks.values())), "k")
        ids = played.engine.tokenizer.encode(f"{text}{END}", add_special_tokens=False)
        return await played.loop()._read(ids, Rollout(session))

    spelled = "<tool_call>\n<function=turn_on>\n<parameter=room>\nhall\n</parameter>\n</function>\n</tool_call>"
    message = asyncio.run(read(spelled))
    assert [(made.name, made.arguments) for made in message.tool_calls] == [("turn_on", {"room": "hall"})]
    broken = asyncio.run(read("<tool_call>\nturn_on the hall\n</tool_call>"))
    assert not broken.tool_calls
    assert len(broken.malformed_calls) == 1


def test_members_of_a_group_are_told_the_same_by_a_simulator_that_is_asked_once(stage: Callable[..., Stage]) -> None:
    played, model = stage(), simulator()
    played.worker = Worker(simulated(model))

    async def groups() -> list[Rollouts]:
        styles = ("right", "right", "parallel")
        return [await played.group(styles, two_calls(), uid, step) for uid, step in (("a", 1), ("b", 2))]

    first, second = played.job(groups())
    assert len(model.requests) == 2 * len(tasks(2)[0].gold)
    assert {played.told(output) for output in first[:2]} == {played.told(first[0])}
    assert played.told(first[0]) != played.told(second[0])


def test_a_simulator_that_fails_masks_its_members_alone(stage: Callable[..., Stage]) -> None:
    played = stage(reruns=0)

    def down(request: ChatRequest) -> Any:
        raise ServerFailed("the server is down")

    played.worker = Worker(simulated(ScriptedModel(down)))
    right, lazy, idle = played.play(("right", "lazy", "lazy"))
    assert right == []
    assert (lazy.reward_score, idle.reward_score) == (0.0, 0.0)


def test_what_no_other_episode_would_get_over_is_raised_and_nobody_waits_for_it(stage: Callable[..., Stage]) -> None:
    played = stage()

    def refused(request: ChatRequest) -> Any:
        raise AuthenticationFailed("the key is wrong")

    played.worker = Worker(simulated(ScriptedModel(refused)))
    right, lazy, idle = played.play(("right", "lazy", "lazy"))
    assert isinstance(right, AuthenticationFailed)
    assert (lazy.reward_score, idle.reward_score) == (0.0, 0.0)


def lamps() -> Any:
    return load("lamps")


def simulated(model: ScriptedModel) -> Arena:
    settings = EnvironmentSettings(world="lamps", dynamics="tracked", user="one_request", tasks=8, task_seed=5)
    return Arena(settings, {"tools": model}, world=lamps(), seed=1)


def simulator() -> ScriptedModel:
    """A simulator that never says the same twice."""
    count = 0

    def answer(request: ChatRequest) -> Any:
        nonlocal count
        count += 1
        return {"is_error": False, "observation": {"room": f"hall {count}", "on": True}, "changes": []}

    return ScriptedModel(answer)


def kept(played: Stage) -> list[Episode]:
    """The episodes in the runs of all workers, in their order."""
    found: list[Episode] = []
    for folder in sorted(Path(played.options["run"]).iterdir()):
        with Run.read(folder) as run:
            found += [episode for _, _, episode in run.stream(EPISODES).kept(Episode)]
    return found
