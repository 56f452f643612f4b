"""The exemplar of a prompt: its spelling, its length as a measure, and ids that are new but look alike."""

import random
import re

import orjson
import pytest

from simia.simulate.diversity import central_tool, tools_to_centre, user_name
from simia.simulate.exemplar import Exemplar
from simia.types import AssistantMessage, Message, Plan, Seed, ToolCall, ToolMessage, UserMessage


def with_result(seed: Seed, result: object) -> Seed:
    messages: tuple[Message, ...] = (
        UserMessage(content="hello"),
        AssistantMessage(tool_calls=(ToolCall(id="call_1", name="get_book", arguments={"book_id": "B-204"}),)),
        ToolMessage(call_id="call_1", name="get_book", content=orjson.dumps(result).decode()),
        AssistantMessage(content="bye"),
    )
    return seed.model_copy(update={"reference": messages})


def test_each_id_of_arguments_and_results_is_found_once_under_its_key(seed: Seed) -> None:
    ids = Exemplar.of(seed, thoughts=False, budget_chars=8000).ids
    assert ids == (("book_id", "B-204"), ("member_id", "M-731"))


@pytest.mark.parametrize("value", ["2025-04-07", "2025-04", "12345", "BS1 4QA", "Emma", "x@example.com", "1.50"])
def test_a_date_or_number_or_word_is_no_id(seed: Seed, value: str) -> None:
    assert Exemplar.of(with_result(seed, {"found": value}), thoughts=False, budget_chars=8000).ids == (
        ("book_id", "B-204"),
    )


@pytest.mark.parametrize(
    ("result", "key"),
    [
        ({"item_ids": ["A-1"]}, "item_id"),
        ({"orders": ["A-1"]}, "order"),
        ({"addresses": ["A-1"]}, "addresses"),
        ({"address": "A-1"}, "address"),
        ({"status": "A-1"}, "status"),
        (["A-1"], "id"),
    ],
)
def test_only_the_plural_of_a_list_becomes_a_singular(seed: Seed, result: object, key: str) -> None:
    ids = Exemplar.of(with_result(seed, result), thoughts=False, budget_chars=8000).ids
    assert ids == (("book_id", "B-204"), (key, "A-1"))


@pytest.mark.parametrize(
    ("old", "shape"),
    [
        ("NL-4702", r"NL-\d{4}"),
        ("emma_kim_9957", r"emma_kim_\d{4}"),
        ("66EEUA", r"\d\d[A-Z]{4}"),
        ("#W2378156", r"#W\d{7}"),
        ("HAT021", r"HAT\d{3}"),
    ],
)
def test_a_new_id_has_the_shape_of_the_old_one(seed: Seed, old: str, shape: str) -> None:
    exemplar = Exemplar.of(with_result(seed, {"one": old}), thoughts=False, budget_chars=8000)
    ids = exemplar.new_ids(random.Random(3), "Ada Wolff")
    assert re.fullmatch(rf"book_id: B-\d{{3}}, one: {shape}", ids)
    assert old not in ids


def test_the_user_gets_a_mail_address_where_the_example_has_some(seed: Seed) -> None:
    exemplar = Exemplar.of(with_result(seed, {"mail": "emma@books.example.com"}), thoughts=False, budget_chars=8000)
    assert exemplar.new_ids(random.Random(1), "Ada Wolff").startswith(
        "Ada Wolff's e-mail: ada.wolff@books.example.com, book_id: "
    )


def test_new_ids_depend_on_nothing_but_the_random_numbers(seed: Seed) -> None:
    exemplar = Exemplar.of(seed, thoughts=False, budget_chars=8000)
    assert exemplar.new_ids(random.Random(1), "Ada Wolff") == exemplar.new_ids(random.Random(1), "Ada Wolff")
    assert exemplar.new_ids(random.Random(1), "Ada Wolff") != exemplar.new_ids(random.Random(2), "Ada Wolff")


def test_a_thought_named_inside_a_result_is_data_and_stays(seed: Seed) -> None:
    assert (
        '"thought":"of Emma"'
        in Exemplar.of(with_result(seed, {"thought": "of Emma"}), thoughts=False, budget_chars=8000).text
    )


def test_the_length_follows_the_plan_in_the_exemplars_proportions(seed: Seed) -> None:
    plan = Plan(formulation="f", persona="p", reasoning="r", difficulty="easy", outcome="success", turns=16)
    exemplar = Exemplar.of(seed, thoughts=False, budget_chars=8000)
    assert exemplar.length(plan, 12) == (4, 4)
    assert exemplar.length(plan, 3) == (3, 4)


def test_a_long_exemplar_keeps_what_the_conversation_names_and_a_few_others(seed: Seed) -> None:
    books = {f"B-{number}": {"title": "t" * 50} for number in range(200, 300)}
    long = with_result(seed, {"books": books, "loans": [{"book": f"B-{number}"} for number in range(200, 300)]})
    text = Exemplar.of(long, thoughts=False, budget_chars=1000).text
    result = orjson.loads(text)["exchanges"][0]["steps"][0]["calls"][0]["result"]
    assert list(result["books"]) == ["B-200", "B-201", "B-204"]
    assert result["loans"] == [{"book": "B-200"}, {"book": "B-201"}, {"book": "B-204"}]


def test_the_fields_of_a_record_are_not_entries_and_all_stay(seed: Seed) -> None:
    record = {f"field{number}": "x" * 50 for number in range(40)}
    text = Exemplar.of(with_result(seed, record), thoughts=False, budget_chars=1000).text
    assert orjson.loads(text)["exchanges"][0]["steps"][0]["calls"][0]["result"] == record


def test_a_result_in_spaced_json_text_is_shown_as_json(seed: Seed) -> None:
    spaced = ToolMessage(call_id="call_1", name="get_book", content='{"title": "Emma", "borrower": null}')
    messages = (*seed.reference[:2], spaced, seed.reference[3])
    exemplar = Exemplar.of(seed.model_copy(update={"reference": messages}), thoughts=False, budget_chars=8000)
    assert '"result":{"title":"Emma","borrower":null}' in exemplar.text


def test_the_central_tool_is_rather_one_that_the_exemplar_does_not_call(seed: Seed) -> None:
    looks_only = seed.model_copy(update={"reference": seed.reference[:4]})
    drawn = [central_tool(tools_to_centre(looks_only), random.Random(number)) for number in range(200)]
    assert 130 < drawn.count("lend_book") < 200


def test_a_world_without_tools_has_no_central_one(seed: Seed) -> None:
    bare = seed.model_copy(update={"world": seed.world.model_copy(update={"tools": ()})})
    assert central_tool(tools_to_centre(bare), random.Random(1)) == ""


def test_names_are_many() -> None:
    assert len({user_name(random.Random(number)) for number in range(500)}) > 400
