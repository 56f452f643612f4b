"""tau2's train tasks as seeds: true observations, small states, and no test task."""

import importlib
from collections import Counter
from functools import cache
from typing import Any

import pytest

from simia import seeds
from simia.seeds.invariants import violations
from simia.types import AssistantMessage, Seed, ToolMessage

pytest.importorskip("tau2", reason="needs the extra tau2")
pytestmark = [pytest.mark.tau2, pytest.mark.slow]

COUNTS = {"airline": 30, "retail": 74, "telecom": 74}


@cache
def seeds_of(domain: str) -> tuple[Seed, ...]:
    return tuple(seeds.read(f"tau2:{domain}"))


@cache
def environment(domain: str) -> Any:
    return importlib.import_module(f"tau2.domains.{domain}.environment")


@cache
def tasks(domain: str, split: str) -> dict[str, Any]:
    return {task.id: task for task in environment(domain).get_tasks(split)}


def agent_calls(seed: Seed) -> list[tuple[str, Any]]:
    messages = [message for message in seed.reference if isinstance(message, AssistantMessage)]
    return [(call.name, call.arguments) for message in messages for call in message.tool_calls]


@pytest.mark.parametrize("domain", COUNTS)
def test_there_is_one_seed_per_train_task(domain: str) -> None:
    found = [seed.metadata["task_id"] for seed in seeds_of(domain)]
    assert found == list(tasks(domain, "train"))
    assert len(found) == COUNTS[domain]


@pytest.mark.parametrize("domain", COUNTS)
def test_no_test_task_enters(domain: str) -> None:
    held_out = tasks(domain, "test")
    assert len(held_out) >= 20
    assert not {seed.metadata["task_id"] for seed in seeds_of(domain)} & set(held_out)


@pytest.mark.parametrize("domain", COUNTS)
def test_the_calls_are_the_gold_actions_in_their_order_after_the_added_reads(domain: str) -> None:
    for seed in seeds_of(domain):
        actions = tasks(domain, "train")[seed.metadata["task_id"]].evaluation_criteria.actions or []
        gold = [(action.name, action.arguments) for action in actions if action.requestor == "assistant"]
        calls = agent_calls(seed)
        added = len(seed.metadata["added_reads"])
        assert calls[added:] == gold
        assert [name for name, _ in calls[:added]] == seed.metadata["added_reads"]


@pytest.mark.parametrize("domain", COUNTS)
def test_the_real_environment_gives_the_same_observations_on_the_projected_state(domain: str) -> None:
    from tau2.data_model.message import ToolCall

    for seed in seeds_of(domain):
        env = _environment_on(domain, seed)
        actions = tasks(domain, "train")[seed.metadata["task_id"]].evaluation_criteria.actions or []
        steps = [("assistant", *call) for call in agent_calls(seed)[: len(seed.metadata["added_reads"])]]
        steps += [(action.requestor, action.name, action.arguments) for action in actions]
        observed = [
            env.get_response(ToolCall(id="1", name=name, arguments=arguments, requestor=who))
            for who, name, arguments in steps
        ]
        of_agent = [answer for answer, (who, *_) in zip(observed, steps, strict=True) if who == "assistant"]
        recorded = [message for message in seed.reference if isinstance(message, ToolMessage)]
        assert [(m.content, m.is_error) for m in recorded] == [(a.content, bool(a.error)) for a in of_agent]
        said = [message.content for message in seed.reference]
        reports = [answer.content for answer, (who, *_) in zip(observed, steps, strict=True) if who == "user"]
        assert all(f"Done. It says: {report}" in said for report in reports)


@pytest.mark.parametrize("domain", COUNTS)
def test_the_projected_states_obey_the_state_schema(domain: str) -> None:
    for seed in seeds_of(domain):
        assert seed.initial_state is not None
        assert violations(seed.world, seed.initial_state) == ()


@pytest.mark.parametrize("domain", COUNTS)
def test_the_projected_states_fit_a_prompt(domain: str) -> None:
    import orjson

    sizes = sorted(len(orjson.dumps(seed.initial_state)) for seed in seeds_of(domain))
    assert sizes[len(sizes) // 2] < 15_000
    assert sizes[-1] < 50_000


@pytest.mark.parametrize("domain", COUNTS)
def test_every_result_fits_the_returns_schema(domain: str) -> None:
    import orjson

    for seed in seeds_of(domain):
        for message in seed.reference:
            if isinstance(message, ToolMessage) and not message.is_error:
                schema = seed.world.tool[message.name].returns_schema
                if schema is not None:
                    assert schema.violations(orjson.loads(message.content)) == ()


def test_the_added_reads_change_nothing_that_telecom_asserts() -> None:
    from tau2.data_model.message import ToolCall

    outcomes: Counter[bool] = Counter()
    for seed in seeds_of("telecom"):
        task = tasks("telecom", "train")[seed.metadata["task_id"]]
        env = _environment_on("telecom", seed)
        for name, arguments in agent_calls(seed)[: len(seed.metadata["added_reads"])]:
            env.get_response(ToolCall(id="1", name=name, arguments=arguments))
        for action in task.evaluation_criteria.actions:
            env.get_response(ToolCall(id="1", name=action.name, arguments=action.arguments, requestor=action.requestor))
        for assertion in task.evaluation_criteria.env_assertions:
            outcomes[env.run_env_assertion(assertion, raise_assertion_error=False)] += 1
    assert outcomes[False] == 0
    assert outcomes[True] >= 74


@pytest.mark.parametrize("domain", COUNTS)
def test_the_seeds_carry_both_licences(domain: str) -> None:
    assert {seed.licence for seed in seeds_of(domain)} == {"MIT AND Apache-2.0"}


def _environment_on(domain: str, seed: Seed) -> Any:
    module = environment(domain)
    pristine = module.get_environment()
    state: Any = seed.initial_state
    if domain == "telecom":
        return module.get_environment(
            db=type(pristine.tools.db).model_validate(state["company"]),
            user_db=type(pristine.user_tools.db).model_validate(state["user_device"]),
        )
    return module.get_environment(db=type(pristine.tools.db).model_validate(state))
