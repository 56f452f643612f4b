"""A recipe taken through all its stages, with a scripted model in the place of the endpoint."""

import asyncio
import json
import random
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia import __version__
from simia.errors import ConfigError, CorruptStream, ManifestMismatch, ServerFailed, StoreError
from simia.models.cast import Cast
from simia.models.choose import ChosenModel
from simia.models.scripted import Answer, ScriptedModel
from simia.models.settings import ModelSettings
from simia.pipeline import Silent
from simia.seeds.front_door import BUNDLED
from simia.store import Run
from simia.synthesis.estimate import estimate
from simia.synthesis.manifest import STAGES
from simia.synthesis.recipe import Recipe, read_recipe, recipe_of
from simia.synthesis.run import Summary, synthesise
from simia.types import ChatModel, ChatReply, ChatRequest, Outcome, Trajectory, Usage, Value

WORDS = "lamp teapot kettle planter tent blanket candle vase basket mirror shelf stool rug clock bench".split()


def conversation(request: ChatRequest) -> ChatReply:
    """A sound conversation about the shop that no other request gets."""
    rng = random.Random(request.sampling.seed)
    said = [" ".join(rng.choices(WORDS, k=25)) for _ in range(4)]
    mail = f"{rng.choice(WORDS)}.{rng.randrange(10**6)}@example.com"
    address = {"street": f"{rng.randrange(1, 99)} Mill Lane", "city": "Leeds", "postcode": "LS1 4AP"}
    customer = {"customer_id": f"C-{rng.randrange(100, 999)}", "name": "Jo Bell", "email": mail, "address": address}
    result = {**customer, "card_last4": "4471", "store_credit": 0.0}
    call = {"name": "find_customer", "arguments": {"email": mail}, "result": result}
    first = {"user": f"{said[0]} I am {mail}.", "steps": [{"calls": [call]}], "reply": said[1]}
    second = {"user": said[2], "steps": [], "reply": said[3]}
    text = json.dumps({"task": f"You are {mail}. {said[0]}", "exchanges": [first, second]})
    return ChatReply(text=text, model="scripted", usage=Usage(prompt_tokens=100, completion_tokens=10))


def cast_of(answer: Callable[[ChatRequest], Answer]) -> Cast:
    @asynccontextmanager
    async def opened() -> AsyncIterator[ChatModel]:
        yield ScriptedModel(answer)

    settings = ModelSettings(name="scripted", retry_for_s=0, max_in_flight=4)
    return Cast({"model": ChosenModel("scripted", "a test needs it", settings, True, opened)})


def taken(
    recipe: Recipe, folder: Path, answer: Callable[[ChatRequest], Answer] = conversation, *, resume: bool = False
) -> Summary:
    return asyncio.run(synthesise(recipe, cast_of(answer), folder, resume=resume))


def shop(*words: str) -> Recipe:
    return read_recipe("shop", ["count=30", 'export.formats=["trl"]', *words])


def kept(folder: Path) -> list[tuple[int, str, str]]:
    with Run.read(folder) as run:
        return [(n, key, value.content_id) for n, key, value in run.stream("postprocess").kept(Trajectory)]


class StopAfter(Silent):
    """Sets the event once so many items of a stage are settled."""

    def __init__(self, count: int, stop: asyncio.Event, stage: str = "generate") -> None:
        self.left = count
        self.stop = stop
        self.stage = stage

    def settled(self, stage: str, key: str, outcome: Outcome[Value] | Outcome[bytes]) -> None:
        self.left -= stage == self.stage
        if self.left <= 0:
            self.stop.set()


def test_seeds_become_training_files(tmp_path: Path) -> None:
    summary = taken(shop(), tmp_path / "run")
    assert summary.exported is not None
    assert summary.exported.records == 30
    lines = (tmp_path / "run/export/trl/train.jsonl").read_text().splitlines()
    assert len(lines) == 30
    assert {"messages", "tools"} <= json.loads(lines[0]).keys()


def test_every_item_has_exactly_one_outcome_in_every_stage(tmp_path: Path) -> None:
    summary = taken(shop(), tmp_path / "run")
    assert {name: (counts.seen, counts.kept) for name, counts in summary.stages.items()} == {
        "prefilter": (20, 20),
        "generate": (30, 30),
        "postprocess": (30, 30),
    }


def test_a_stopped_run_that_is_resumed_equals_one_that_was_not(tmp_path: Path) -> None:
    async def stopped() -> Summary:
        stop = asyncio.Event()
        observer = StopAfter(7, stop)
        return await synthesise(shop(), cast_of(conversation), tmp_path / "run", observer=observer, stop=stop)

    first = asyncio.run(stopped())
    assert first.interrupted
    assert first.exported is None
    taken(shop(), tmp_path / "run", resume=True)
    taken(shop(), tmp_path / "whole")
    assert kept(tmp_path / "run") == kept(tmp_path / "whole")
    exports = [tmp_path / name / "export/trl/train.jsonl" for name in ("run", "whole")]
    assert exports[0].read_bytes() == exports[1].read_bytes()


def test_a_resumed_run_asks_nothing_again_and_counts_on(tmp_path: Path) -> None:
    taken(shop(), tmp_path / "run")
    asked: list[ChatRequest] = []

    def spy(request: ChatRequest) -> ChatReply:
        asked.append(request)
        return conversation(request)

    summary = taken(shop(), tmp_path / "run", spy, resume=True)
    assert asked == []
    assert summary.totals is not None
    assert summary.totals.usage == Usage(prompt_tokens=3000, completion_tokens=300)


def test_paid_replies_are_counted_although_the_meter_was_lost(tmp_path: Path) -> None:
    taken(shop(), tmp_path / "run")
    (tmp_path / "run/meter.json").unlink()
    summary = taken(shop(), tmp_path / "run", resume=True)
    assert summary.totals is not None
    assert summary.totals.requests == 30


def test_an_item_whose_model_stays_broken_has_failed_and_runs_again_at_resume(tmp_path: Path) -> None:
    def broken(request: ChatRequest) -> Answer:
        fails = request.sampling.seed is not None and request.sampling.seed % 3 == 0
        return ServerFailed("status 500") if fails else conversation(request)

    first = taken(shop(), tmp_path / "run", broken)
    assert first.failed > 0
    second = taken(shop(), tmp_path / "run", resume=True)
    assert second.failed == 0
    taken(shop(), tmp_path / "whole")
    assert kept(tmp_path / "run") == kept(tmp_path / "whole")


def test_a_larger_count_only_adds_conversations(tmp_path: Path) -> None:
    taken(shop(), tmp_path / "small")
    taken(shop("count=45"), tmp_path / "large")
    assert kept(tmp_path / "large")[:30] == kept(tmp_path / "small")


JUDGED = ("prefilter.judge=true", "count=12")
PASSES = json.dumps({name: {"reason": "fine", "passes": True} for name in ("completeness", "logic", "format")})


def judge_and_writer(broken: frozenset[int] = frozenset()) -> Callable[[ChatRequest], Answer]:
    """Judges seeds and writes conversations; fails for the seeds whose judgement is asked for at these places."""
    asked = iter(range(10**6))

    def answer(request: ChatRequest) -> Answer:
        if "completeness" not in (request.response_schema or {}).get("properties", {}):
            return conversation(request)
        if next(asked) in broken:
            return ServerFailed("status 500")
        return ChatReply(text=PASSES, model="scripted")

    return answer


def judged(
    folder: Path,
    answer: Callable[[ChatRequest], Answer],
    *words: str,
    resume: bool = False,
    stages: tuple[str, ...] = STAGES,
) -> Summary:
    cast = cast_of(answer)
    cast = Cast({**cast.chosen, "judge": cast.chosen["model"]})
    return asyncio.run(synthesise(shop(*JUDGED, *words), cast, folder, resume=resume, stages=stages))


def test_no_conversation_is_made_while_seeds_failed_and_the_resumed_run_equals_a_whole_one(tmp_path: Path) -> None:
    first = judged(tmp_path / "run", judge_and_writer(frozenset({0, 3, 7})))
    assert first.unread_seeds == 3
    assert first.failed == 3
    assert "generate" not in first.stages
    assert first.exported is None
    second = judged(tmp_path / "run", judge_and_writer(), resume=True)
    assert second.failed == 0
    judged(tmp_path / "whole", judge_and_writer())
    assert kept(tmp_path / "run") == kept(tmp_path / "whole")


def test_a_run_that_went_on_without_failed_seeds_stays_without_them(tmp_path: Path) -> None:
    judged(tmp_path / "run", judge_and_writer(frozenset({0, 3, 7})))
    judged(tmp_path / "run", judge_and_writer(), resume=True, stages=("generate", "postprocess", "export"))
    before = kept(tmp_path / "run")
    assert len(before) == 12
    second = judged(tmp_path / "run", judge_and_writer(), "count=25", resume=True)
    assert second.late_seeds == 3
    after = kept(tmp_path / "run")
    assert after[:12] == before
    assert len({key.partition("#")[0] for _, key, _ in after}) == 17
    assert len({key for _, key, _ in after}) == 25


def test_a_list_of_used_seeds_that_is_broken_is_named(tmp_path: Path) -> None:
    taken(shop(), tmp_path / "run")
    (tmp_path / "run/seeds.json").write_text("{}")
    with pytest.raises(CorruptStream, match=r"seeds\.json does not say which seeds"):
        taken(shop(), tmp_path / "run", resume=True)


@given(st.integers(1, 12), st.integers(1, 30))
@settings(max_examples=8, deadline=None)
def test_a_run_that_grew_equals_one_that_was_begun_as_large(first: int, more: int) -> None:
    with TemporaryDirectory() as scratch:
        grown, whole = Path(scratch) / "grown", Path(scratch) / "whole"
        taken(shop(f"count={first}"), grown)
        taken(shop(f"count={first + more}"), grown, resume=True)
        taken(shop(f"count={first + more}"), whole)
        assert kept(grown) == kept(whole)
        exports = [folder / "export/trl/train.jsonl" for folder in (grown, whole)]
        assert exports[0].read_bytes() == exports[1].read_bytes()


def test_a_stop_during_the_export_leaves_the_files_of_the_one_before(tmp_path: Path) -> None:
    async def stopped() -> Summary:
        stop = asyncio.Event()
        stop.set()
        cast = cast_of(conversation)
        return await synthesise(shop(), cast, tmp_path / "run", resume=True, stages=("export",), stop=stop)

    taken(shop(), tmp_path / "run")
    folder = tmp_path / "run/export"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    summary = asyncio.run(stopped())
    assert summary.interrupted
    assert summary.exported is None
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def exported_alone(folder: Path, *words: str) -> Summary:
    return asyncio.run(synthesise(shop(*words), cast_of(conversation), folder, resume=True, stages=("export",)))


def test_the_files_stay_where_the_stage_before_the_export_was_stopped(tmp_path: Path) -> None:
    async def stopped() -> Summary:
        stop = asyncio.Event()
        observer = StopAfter(5, stop, "postprocess")
        cast = cast_of(conversation)
        stages = ("postprocess", "export")
        return await synthesise(
            shop(), cast, tmp_path / "run", resume=True, stages=stages, observer=observer, stop=stop
        )

    taken(shop(), tmp_path / "run")
    before = (tmp_path / "run/export/trl/train.jsonl").read_bytes()
    assert asyncio.run(stopped()).interrupted
    with pytest.raises(ConfigError, match=r"25 conversations of .* not postprocessed yet: run simia postprocess .*run"):
        exported_alone(tmp_path / "run")
    assert (tmp_path / "run/export/trl/train.jsonl").read_bytes() == before


def test_conversations_that_came_later_must_be_postprocessed_before_they_are_exported(tmp_path: Path) -> None:
    taken(shop(), tmp_path / "run")
    grown = shop("count=33")
    asyncio.run(synthesise(grown, cast_of(conversation), tmp_path / "run", resume=True, stages=("generate",)))
    with pytest.raises(ConfigError, match=r"3 conversations of .* not postprocessed yet"):
        exported_alone(tmp_path / "run", "count=33")


def test_an_export_of_what_was_never_postprocessed_names_the_command(tmp_path: Path) -> None:
    cast = cast_of(conversation)
    asyncio.run(synthesise(shop(), cast, tmp_path / "run", stages=("prefilter", "generate")))
    with pytest.raises(ConfigError, match=r"no postprocessed conversations yet: run simia postprocess .*run"):
        exported_alone(tmp_path / "run")


def test_a_run_from_seeds_of_another_fingerprint_may_not_be_gone_on_with(tmp_path: Path) -> None:
    taken(shop(), tmp_path / "run")
    path = tmp_path / "run/run.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | {"seeds": {"bundled:shop": f"simia {__version__}"}}))
    with pytest.raises(ManifestMismatch, match="seeds"):
        taken(shop(), tmp_path / "run", resume=True)


def test_another_configuration_may_not_resume_a_run_and_is_told_which_key(tmp_path: Path) -> None:
    taken(shop(), tmp_path / "run")
    with pytest.raises(ManifestMismatch, match=r"simulate\.temperature: was 1\.0, now 0\.5"):
        taken(shop("simulate.temperature=0.5"), tmp_path / "run", resume=True)


def test_how_a_model_is_reached_may_change_at_resume(tmp_path: Path) -> None:
    taken(shop(), tmp_path / "run")
    summary = taken(shop("model.max_in_flight=9", "model.timeout_s=5"), tmp_path / "run", resume=True)
    assert summary.stages["generate"].kept == 30


def test_a_folder_that_holds_a_run_is_not_begun_anew(tmp_path: Path) -> None:
    taken(shop(), tmp_path / "run")
    with pytest.raises(StoreError, match="--resume"):
        taken(shop(), tmp_path / "run")


def test_bad_records_are_dropped_with_file_and_line_and_the_run_goes_on(tmp_path: Path) -> None:
    source = tmp_path / "seeds.jsonl"
    tools = [{"name": "find_customer", "parameters": {"type": "object"}}]
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hello, is anybody there?"},
        {"role": "assistant", "content": "Yes, how can I help?"},
    ]
    sound = json.dumps({"messages": messages, "tools": tools, "licence": "MIT"})
    source.write_text(f'{sound}\n{{"messages": 5}}\n{sound}\n')
    taken(shop("count=2", f"seeds.source={source}"), tmp_path / "run")
    with Run.read(tmp_path / "run") as run:
        (dropped,) = [why for _, _, why in run.stream("prefilter").dropped()]
        assert run.stream("prefilter").counts().kept == 2
    assert dropped.rule == "bad_record"
    assert "seeds.jsonl:2" in dropped.detail


def test_conversations_take_the_licence_of_their_seed(tmp_path: Path) -> None:
    taken(shop("seeds.licence=CC-BY-NC-4.0"), tmp_path / "run")
    assert "cc-by-nc-4.0" in (tmp_path / "run/export/README.md").read_text().lower()


def test_copies_of_the_exemplar_are_dropped(tmp_path: Path) -> None:
    from simia.formats import exchanges
    from simia.seeds import read

    copies = {seed.task: exchanges.render(seed.task, seed.reference) for seed in read("bundled:shop")}

    def parrot(request: ChatRequest) -> Answer:
        text = "".join(message.content for message in request.messages)
        return next(copy for task, copy in copies.items() if json.dumps(task, ensure_ascii=False)[1:-1] in text)

    summary = taken(shop("count=20"), tmp_path / "run", parrot)
    assert summary.stages["postprocess"].dropped == {"exemplar_copy": 20}


def test_a_stage_without_the_one_before_it_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="run the stage generate first"):
        asyncio.run(synthesise(shop(), cast_of(conversation), tmp_path / "run", stages=("prefilter", "postprocess")))


def test_an_estimate_renders_the_real_prompts_and_asks_nobody() -> None:
    def nobody(request: ChatRequest) -> Answer:
        raise AssertionError("a dry run asked the model")

    guess = estimate(shop("count=200"), cast_of(nobody))
    assert (guess.conversations, guess.requests, guess.seeds, guess.cost) == (200, 200, 20, 0.0)
    assert guess.prompt_tokens > 200 * 2000


def test_a_recipe_names_its_unknown_keys_and_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"simulate\.temprature: unknown key \(known: .*temperature"):
        read_recipe("shop", ["simulate.temprature=1"])


def test_an_unknown_recipe_is_told_the_bundled_ones() -> None:
    with pytest.raises(ConfigError, match="office, shop"):
        read_recipe("shopp", [])


def test_a_world_folder_without_a_recipe_and_a_seed_file_have_one_of_defaults(tmp_path: Path) -> None:
    shutil.copytree(BUNDLED / "shop", tmp_path / "my shop")
    shutil.copy(BUNDLED / "shop" / "seeds.jsonl", tmp_path / "seeds.jsonl")
    shutil.copy(BUNDLED / "shop" / "seeds.jsonl", tmp_path / "_x.jsonl")
    for source, name in (("my shop", "my-shop"), ("seeds.jsonl", "seeds"), ("_x.jsonl", "x")):
        recipe = read_recipe(str(tmp_path / source), ["count=3"])
        assert (recipe.name, recipe.seeds.source, recipe.count) == (name, str(tmp_path / source), 3)


def test_a_world_file_in_the_place_of_its_folder_is_told() -> None:
    with pytest.raises(ConfigError, match=r"world\.toml describes a world: give its folder"):
        read_recipe(str(BUNDLED / "shop" / "world.toml"), [])


def test_a_recipe_file_may_name_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "mine.toml").write_text(
        'name = "mine"\n[seeds]\nsource = "~/seeds.jsonl"\n[model]\nprices = "~/p.toml"\n'
    )
    recipe = read_recipe(str(tmp_path / "mine.toml"), [])
    assert recipe.seeds.source == str(tmp_path / "home/seeds.jsonl")
    assert recipe.model.prices == tmp_path / "home/p.toml"


def test_a_recorded_part_has_no_seed_of_its_own() -> None:
    with pytest.raises(ConfigError, match=r"set seed, not plan\.seed"):
        recipe_of(shop().recorded() | {"plan": {"seed": 3}}, [])


def test_what_a_run_records_gives_its_recipe_again() -> None:
    recipe = shop("roles.judge.name=strict", "model.max_cost=5", "simulate.mode=turns")
    assert recipe_of(recipe.recorded(), []) == recipe


def test_a_secret_in_a_base_url_never_comes_to_disk() -> None:
    recipe = shop("roles.judge.base_url=https://me:hidden@example.com/v1", "model.name=embedded")
    with pytest.raises(ConfigError, match="holds a secret"):
        recipe.recorded()


def test_paths_in_a_recipe_file_are_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('name = "mine"\n[seeds]\nsource = "seeds.jsonl"\n')
    assert read_recipe(str(tmp_path / "mine.toml"), []).seeds.source == str(tmp_path / "seeds.jsonl")
