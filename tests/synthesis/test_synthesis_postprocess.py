"""Postprocess passes: what they restore, what they drop, what they leave alone."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.errors import ConfigError, FormatError
from simia.seeds import read
from simia.synthesis.postprocess import PASSES, Postprocess, PostprocessSettings
from simia.synthesis.prefilter import apply_rules
from simia.types import (
    AssistantMessage,
    Dropped,
    Kept,
    MalformedToolCall,
    Message,
    Provenance,
    Seed,
    StopReason,
    ToolCall,
    ToolMessage,
    Trajectory,
    UserMessage,
    WorldSpec,
)

Conversation = Callable[..., Trajectory]
NESTED = {
    "order_id": "#W12",
    "price": 7.5,
    "items": [{"sku": 'it\'s a "lamp"', "count": 2}, {"sku": "b, {c}: [d]", "count": 1}],
}


@pytest.fixture
def chain(world: WorldSpec, seed: Seed) -> Postprocess:
    """All default passes."""
    return Postprocess(PostprocessSettings(), lambda _: world, lambda _: seed)


def kept(result: Kept[Trajectory] | Dropped) -> Trajectory:
    assert isinstance(result, Kept), result
    return result.value


def rule(result: object) -> str:
    assert isinstance(result, Dropped), result
    return result.rule


def arguments_of(trajectory: Trajectory) -> Any:
    message = trajectory.messages[1]
    assert isinstance(message, AssistantMessage)
    return message.tool_calls[0].arguments


def with_messages(trajectory: Trajectory, *messages: Message) -> Trajectory:
    return Trajectory(**{**{name: getattr(trajectory, name) for name in Trajectory.model_fields}, "messages": messages})


MANGLERS: dict[str, Callable[[str], str]] = {
    "a trailing comma": lambda text: text[:-1] + ",}",
    "a missing brace": lambda text: text[:-1],
    "a code fence": lambda text: f"```json\n{text}\n```",
    "a fence and a trailing comma": lambda text: f"```\n{text[:-1]},}}\n```",
    "a JSON string": json.dumps,
    "a closing tag behind": lambda text: f"{text}</tool_call>",
    "a brace too many": lambda text: f"{text}}}",
    "prose before": lambda text: f"Here are the arguments: {text}",
}


@pytest.mark.parametrize("kind", MANGLERS)
def test_a_malformed_call_is_restored_to_the_exact_object(
    kind: str, chain: Postprocess, conversation: Conversation
) -> None:
    text = MANGLERS[kind](json.dumps(NESTED))
    restored = kept(chain.apply(conversation(text, "change_order")))
    assert arguments_of(restored) == NESTED
    assert restored.repairs == ("repair_json:call_1",)


def test_single_quotes_and_bare_keys_are_restored(chain: Postprocess, conversation: Conversation) -> None:
    expected = {"order_id": "#W12", "verbose": True}
    for text in ("{'order_id': '#W12', 'verbose': true}", '{order_id: "#W12", verbose: true}', str(expected)):
        assert arguments_of(kept(chain.apply(conversation(text)))) == expected


word = st.text("abcdefgh XYZ-#.19éß", min_size=1, max_size=12).map(str.strip).filter(bool)
order = st.fixed_dictionaries(
    {
        "order_id": word,
        "price": st.integers(1, 9999).map(lambda cents: cents / 100),
        "items": st.lists(st.fixed_dictionaries({"sku": word, "count": st.integers(1, 99)}), max_size=3),
    },
    optional={"note": st.none() | word},
)


@settings(max_examples=150, deadline=None)
@given(order, st.sampled_from([*sorted(MANGLERS), "single quotes", "bare keys"]))
def test_no_repair_gives_another_object_than_was_meant(
    world: WorldSpec, conversation: Conversation, meant: dict[str, Any], kind: str
) -> None:
    passes = PostprocessSettings(passes=("repair_json",))
    meant = dict(sorted(meant.items(), key=lambda member: member[0] == "items"))  # a number may not come last
    text = json.dumps(meant, ensure_ascii=False)
    if kind == "single quotes":
        text = text.replace('"', "'")
    elif kind == "bare keys":
        for key in ("order_id", "items", "sku", "count", "price", "note"):
            text = text.replace(f'"{key}":', f"{key}:")
    else:
        text = MANGLERS[kind](text)
    result = Postprocess(passes, lambda _: world).apply(conversation(text, "change_order"))
    assert arguments_of(kept(result)) == meant


@settings(max_examples=150, deadline=None)
@given(order, st.data())
def test_a_cut_text_never_becomes_a_call_with_invented_or_empty_values(
    world: WorldSpec, conversation: Conversation, meant: dict[str, Any], data: st.DataObject
) -> None:
    text = json.dumps(meant, ensure_ascii=False)
    cut = text[: data.draw(st.integers(0, len(text)))]
    result = Postprocess(PostprocessSettings(passes=("repair_json",)), lambda _: world).apply(
        conversation(cut, "change_order")
    )
    if isinstance(result, Dropped):
        assert result.rule == "unreadable_call"
        return
    strings: list[Any] = [arguments_of(result.value)]
    while strings:
        value = strings.pop()
        assert value != ""
        strings.extend(value.values() if isinstance(value, dict) else value if isinstance(value, list) else [])
        if isinstance(value, str):
            assert json.dumps(value, ensure_ascii=False) in text


def test_a_text_cut_inside_a_string_is_dropped(chain: Postprocess, conversation: Conversation) -> None:
    assert rule(chain.apply(conversation('{"order_id": "#W1'))) == "unreadable_call"


@pytest.mark.parametrize(
    "text",
    [
        "{'name': 'get_order', 'arguments': {'order_id': '#W12'}, 'reason': 'asked'}",
        "{'name': 'get_order', 'arguments': {'order_id': '#W12'}, 'parameters': {}}",
        "{'name': 'get_order'}",
    ],
)
def test_a_whole_call_that_says_more_or_less_than_a_call_is_dropped(
    chain: Postprocess, conversation: Conversation, text: str
) -> None:
    messages = list(conversation("{}").messages)
    messages[1] = AssistantMessage(malformed_calls=(MalformedToolCall(id="call_1", text=text, reason="no JSON"),))
    assert rule(chain.apply(conversation(messages=tuple(messages)))) == "unreadable_call"


def test_two_objects_in_one_call_are_dropped(chain: Postprocess, conversation: Conversation) -> None:
    assert rule(chain.apply(conversation('{"order_id": "#W1"} {"order_id": "#W2"}'))) == "unreadable_call"


def test_a_cut_word_is_not_taken_for_a_string(chain: Postprocess, conversation: Conversation) -> None:
    assert rule(chain.apply(conversation('{"order_id": "#W12", "items": [], "note": nul', "change_order"))) == (
        "unreadable_call"
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"order_id": "x""y", "verbose": }',
        '{"order_id": "#W12", "items": [], "price": 10 000}',
        '{"order_id": "#W12", "items": [], "price": 5%}',
        '{"order_id": "#W12", "items": [], "price": 1e}',
        '{"order_id": "#W12", "items": [], "price": 12',
        '{"order_id": "#W12", "items": [], "note"}',
        '{"order_id": "#W12" 6, "items": []}',
        "{'order_id': '#W12', 'items': [], 'note': 'it''s'}",
        '{"order_id": "#W12", "items": [{"sku": "a", "count": 1}, ...]}',
        '{"order_id": "#W1", "order_id": "#W12", "items": []}',
        '{"order_id": "#W12"}, "items": []}',
        '"order_id": "#W12", {"items": []}',
    ],
)
def test_a_call_that_only_a_guess_could_complete_is_dropped(
    text: str, chain: Postprocess, conversation: Conversation
) -> None:
    assert rule(chain.apply(conversation(text, "change_order"))) == "unreadable_call"


def refused(one: Trajectory) -> Trajectory:
    user, caller, answer, reply = one.messages
    return with_messages(one, user, caller, answer.model_copy(update={"is_error": True}), reply)


def test_a_malformed_call_that_was_refused_is_not_made_right(chain: Postprocess, conversation: Conversation) -> None:
    assert rule(chain.apply(refused(conversation("{'order_id': '#W12'}")))) == "unreadable_call"


@pytest.mark.parametrize("items", ['[{"sku": "a", "count": 1}]', [{"sku": "a", "count": "1"}]])
def test_arguments_that_were_refused_are_not_made_right(
    items: Any, chain: Postprocess, conversation: Conversation
) -> None:
    one = conversation({"order_id": "#W12", "items": items}, "change_order")
    assert rule(chain.apply(refused(one))) == "invalid_arguments"


RETURNS = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}


def judged(conversation: Conversation, world: WorldSpec, returns: Any, observation: str, **fields: Any) -> Any:
    tools = tuple(tool.model_copy(update={"returns": returns}) for tool in world.tools)
    telling = world.model_copy(update={"tools": tools})
    chain = Postprocess(PostprocessSettings(), lambda _: telling)
    one = conversation(observation=observation)
    user, caller, answer, reply = one.messages
    return chain.apply(with_messages(one, user, caller, answer.model_copy(update=fields), reply))


@pytest.mark.parametrize("observation", ['{"count": "two"}', '{"total": 2}', "[]", "two of them", ""])
def test_a_result_that_breaks_what_its_tool_returns_is_dropped(
    observation: str, conversation: Conversation, world: WorldSpec
) -> None:
    assert rule(judged(conversation, world, RETURNS, observation)) == "invalid_result"


@pytest.mark.parametrize(
    ("returns", "observation"),
    [
        (RETURNS, '{"count": 2}'),
        (RETURNS, '{"count": 12345678901234567890123}'),
        ({"type": "string"}, "two of them"),
        ({"type": "string"}, '"two of them"'),
        ({"type": "string"}, "12"),
        ({"type": ["integer", "null"]}, "null"),
        (None, "anything"),
    ],
)
def test_a_result_that_its_tool_may_return_is_kept(
    returns: Any, observation: str, conversation: Conversation, world: WorldSpec
) -> None:
    kept(judged(conversation, world, returns, observation))


def test_an_error_is_no_result_that_a_tool_returns(conversation: Conversation, world: WorldSpec) -> None:
    kept(judged(conversation, world, RETURNS, '{"error":"no such order"}', is_error=True))


def test_a_missing_value_is_not_replaced_by_an_empty_one(chain: Postprocess, conversation: Conversation) -> None:
    assert rule(chain.apply(conversation('{"order_id": }'))) == "unreadable_call"


def test_repaired_parallel_calls_stand_in_the_order_of_their_observations(
    chain: Postprocess, conversation: Conversation
) -> None:
    base = conversation("{'order_id': '#W12'}")
    caller = base.messages[1]
    assert isinstance(caller, AssistantMessage)
    second = ToolCall(id="call_2", name="get_order", arguments={"order_id": "#W13"})
    both = AssistantMessage(tool_calls=(second,), malformed_calls=caller.malformed_calls)
    answer = ToolMessage(call_id="call_2", name="get_order", content="{}")
    messages = (base.messages[0], both, base.messages[2], answer, base.messages[3])
    repaired = kept(chain.apply(with_messages(base, *messages))).messages[1]
    assert isinstance(repaired, AssistantMessage)
    assert [call.id for call in repaired.tool_calls] == ["call_1", "call_2"]


def test_a_call_whose_name_was_lost_in_its_text_gets_it_back(chain: Postprocess, conversation: Conversation) -> None:
    text = "{'name': 'get_order', 'arguments': {'order_id': '#W12'}}"
    broken = conversation(text)
    caller = broken.messages[1]
    assert isinstance(caller, AssistantMessage)
    nameless = caller.malformed_calls[0].model_copy(update={"name": None})
    messages = (broken.messages[0], AssistantMessage(malformed_calls=(nameless,)), *broken.messages[2:])
    assert arguments_of(kept(chain.apply(with_messages(broken, *messages)))) == {"order_id": "#W12"}


def test_a_list_written_as_text_is_decoded_and_marked(chain: Postprocess, conversation: Conversation) -> None:
    arguments = {"order_id": "#W12", "items": '[{"sku": "a", "count": 1}]'}
    decoded = kept(chain.apply(conversation(arguments, "change_order")))
    assert arguments_of(decoded) == {"order_id": "#W12", "items": [{"sku": "a", "count": 1}]}
    assert decoded.repairs == ("decode_arguments:call_1",)


@pytest.mark.parametrize(
    ("name", "given_arguments", "expected"),
    [
        ("change_order", {"items": [{"sku": "a", "count": "5"}]}, {"items": [{"sku": "a", "count": 5}]}),
        ("change_order", {"items": [{"sku": "a", "count": 5.0}]}, {"items": [{"sku": "a", "count": 5}]}),
        ("change_order", {"items": [], "price": "7.25"}, {"items": [], "price": 7.25}),
        ("get_order", {"verbose": "true"}, {"verbose": True}),
    ],
)
def test_lossless_coercion_gives_the_type_that_the_schema_asks_for(
    name: str, given_arguments: dict[str, Any], expected: dict[str, Any], chain: Postprocess, conversation: Conversation
) -> None:
    coerced = arguments_of(kept(chain.apply(conversation({"order_id": "#W12"} | given_arguments, name))))
    assert json.dumps(coerced, sort_keys=True) == json.dumps({"order_id": "#W12"} | expected, sort_keys=True)


@pytest.mark.parametrize("count", ["05", "5.5", "five", "", 5.5, None, "-0", "1" * 5000])
def test_what_cannot_be_coerced_without_loss_is_dropped(
    count: Any, chain: Postprocess, conversation: Conversation
) -> None:
    arguments = {"order_id": "#W12", "items": [{"sku": "a", "count": count}]}
    assert rule(chain.apply(conversation(arguments, "change_order"))) == "invalid_arguments"


def test_a_number_where_a_string_is_asked_for_is_dropped(chain: Postprocess, conversation: Conversation) -> None:
    assert rule(chain.apply(conversation({"order_id": 12}))) == "invalid_arguments"


def test_a_string_that_looks_like_a_number_stays_where_strings_fit(
    world: WorldSpec, conversation: Conversation
) -> None:
    chain = Postprocess(PostprocessSettings(passes=("coerce_arguments",)), lambda _: world)
    clean = conversation({"order_id": "12"})
    assert kept(chain.apply(clean)) is clean


def test_an_unknown_tool_is_dropped(chain: Postprocess, conversation: Conversation) -> None:
    assert rule(chain.apply(conversation(name="delete_order"))) == "unknown_tool"


@pytest.mark.parametrize(
    "leak",
    [
        "Done.<|im_start|>user",
        "Done.</tool_call>",
        "[INST] go on [/INST]",
        "As an AI language model, I cannot look.",
        "I'm an AI assistant.",
        "Done.\nHuman: thanks",
        "### Response: done",
        "<think>never closed",
    ],
)
def test_a_leaked_marker_is_dropped(leak: str, chain: Postprocess, conversation: Conversation) -> None:
    leaking = conversation(reply=leak)
    assert rule(chain.apply(leaking)) == "leaked_marker"
    assert rule(chain.process(leaking.model_dump_json().encode())) == "leaked_marker"


@pytest.mark.parametrize(
    "observation", ["User: Ann\nAssistant: none", "### User:\nHuman: hello", '{"html":"${price}"}']
)
def test_role_words_and_templates_in_what_a_tool_returns_are_data(
    observation: str, chain: Postprocess, conversation: Conversation
) -> None:
    clean = conversation(observation=observation)
    assert kept(chain.apply(clean)) is clean


@pytest.mark.parametrize("leak", ["{}<|im_end|>", "{}</tool_response>", "As an AI language model, I cannot look."])
def test_what_no_tool_returns_is_a_leak_there_too(leak: str, chain: Postprocess, conversation: Conversation) -> None:
    assert rule(chain.apply(conversation(observation=leak))) == "leaked_marker"


@pytest.mark.parametrize("template", ["Dear {{customer_name}},", "Dear {% name %}", "Dear ${NAME}"])
def test_an_unfilled_template_is_dropped(template: str, chain: Postprocess, conversation: Conversation) -> None:
    leaking = conversation(reply=template)
    assert rule(chain.process(leaking.model_dump_json().encode())) == "unfilled_template"


@pytest.mark.parametrize(
    "word", ["ABC123", "#ABC-123", "112233", "123456", "<user_id>", "XXXX", "[order id]", "order_ABC123"]
)
def test_a_placeholder_id_is_dropped_wherever_it_stands(
    word: str, chain: Postprocess, conversation: Conversation
) -> None:
    for one in (
        conversation({"order_id": word}),
        conversation(observation=f'{{"id":"{word}"}}'),
        conversation(reply=word),
    ):
        assert rule(chain.process(one.model_dump_json().encode())) == "placeholder_id"


@pytest.mark.parametrize(
    "text", ["Order #W1123", "It costs 1123.45 and 123.456", "x < y > z", "ABCD12", "Call 555-123-4567"]
)
def test_an_ordinary_text_is_no_placeholder(text: str, chain: Postprocess, conversation: Conversation) -> None:
    clean = conversation(reply=text)
    assert kept(chain.apply(clean)) is clean


@pytest.mark.parametrize(
    "text", ["XXXX-XXXX-XXXX-4242", "XXXX XXXX XXXX 4242", "4111-XXXX-XXXX-1111", "XXXX-4242", "card #XXXX-4242"]
)
def test_a_masked_number_is_no_placeholder(text: str, chain: Postprocess, conversation: Conversation) -> None:
    clean = conversation(observation=f'{{"card":"{text}"}}', reply=f"It is {text}.")
    assert kept(chain.apply(clean)) is clean


@pytest.mark.parametrize(
    "text", ["XXXX", "XXXX-XXXX", "tax XXXX", "#XXX.", "XXXX xavier", "order XXXX. 5 items", "XXXX 2 nights", "2 XXXX"]
)
def test_signs_that_mask_nothing_are_a_placeholder(text: str, chain: Postprocess, conversation: Conversation) -> None:
    assert rule(chain.apply(conversation(reply=text))) == "placeholder_id"


def test_an_id_that_the_state_itself_has_is_no_placeholder(world: WorldSpec, conversation: Conversation) -> None:
    chain = Postprocess(PostprocessSettings(passes=("placeholder_ids",)), lambda _: world)
    known = conversation({"order_id": "ABC123"}, initial_state={"orders": {"ABC123": {}}})
    assert kept(chain.apply(known)) is known


def test_an_id_that_the_seed_itself_has_is_no_placeholder(
    world: WorldSpec, seed: Seed, conversation: Conversation
) -> None:
    known_seed = Seed(**{**dict(seed), "task": "You want to know where order 112233 is."})
    chain = Postprocess(PostprocessSettings(passes=("placeholder_ids",)), lambda _: world, lambda _: known_seed)
    assert isinstance(chain.apply(conversation({"order_id": "112233"})), Kept)


def test_reasoning_in_front_of_a_reply_moves_to_its_field(chain: Postprocess, conversation: Conversation) -> None:
    result = kept(chain.apply(conversation(reply="<think>It is there.</think>\n\nIt is pending.")))
    last = result.messages[-1]
    assert isinstance(last, AssistantMessage)
    assert (last.reasoning, last.content) == ("It is there.", "It is pending.")


def test_stripping_takes_the_reasoning_and_nothing_else(world: WorldSpec, conversation: Conversation) -> None:
    clean = conversation()
    thoughtful = with_messages(clean, *clean.messages[:-1], AssistantMessage(content="It is pending.", reasoning="Hm."))
    passes = PostprocessSettings(passes=("strip_reasoning",))
    assert kept(Postprocess(passes, lambda _: world).apply(thoughtful)).messages == clean.messages


RULES_OF_STRUCTURE = (
    "unanswered_call",
    "orphan_observation",
    "duplicate_call_id",
    "no_user_turn",
    "broken_turn_order",
    "empty_turn",
    "empty_end",
    "cut_end",
)


def structural_cases(base: Trajectory) -> dict[str, Trajectory]:
    user, caller, answer, reply = base.messages
    other = ToolMessage(call_id="call_9", name="get_order", content="{}")
    return {
        "unanswered_call": with_messages(base, user, caller, reply),
        "orphan_observation": with_messages(base, user, caller, answer, other, reply),
        "duplicate_call_id": with_messages(base, user, caller, answer, caller, answer, reply),
        "no_user_turn": with_messages(base, caller, answer, reply),
        "broken_turn_order": with_messages(base, user, caller, answer, reply, reply),
        "empty_turn": with_messages(base, UserMessage(content=" "), caller, answer, reply),
        "empty_end": with_messages(base, user, caller, answer, AssistantMessage(reasoning="Hm.")),
        "cut_end": with_messages(base, user, caller, answer),
    }


@pytest.mark.parametrize("broken", RULES_OF_STRUCTURE)
def test_a_broken_structure_is_dropped_by_its_rule(broken: str, chain: Postprocess, conversation: Conversation) -> None:
    assert rule(chain.apply(structural_cases(conversation())[broken])) == broken


def test_a_trajectory_that_was_stopped_early_is_cut(chain: Postprocess, conversation: Conversation) -> None:
    assert rule(chain.apply(conversation(stop_reason=StopReason.MAX_TURNS))) == "cut_end"


def test_a_clean_record_passes_as_its_original_bytes(chain: Postprocess, conversation: Conversation) -> None:
    raw = conversation().model_dump_json().encode()
    result = chain.process(raw)
    assert isinstance(result, Kept)
    assert result.value.raw is raw


def test_a_changed_record_is_encoded_anew(chain: Postprocess, conversation: Conversation) -> None:
    raw = conversation("{'order_id': '#W12'}").model_dump_json().encode()
    result = chain.process(raw)
    assert isinstance(result, Kept)
    assert Trajectory.model_validate_json(result.value.raw) == result.value.trajectory


def test_a_marker_behind_an_escape_is_found(chain: Postprocess, conversation: Conversation) -> None:
    raw = conversation(reply="Done.<|im_start|>").model_dump_json().replace("<", "\\u003c").encode()
    assert rule(chain.process(raw)) == "leaked_marker"


FRAGMENTS = [
    "<|",
    "im_start",
    "|>",
    "{{",
    "}}",
    "a",
    " ",
    "\n",
    "Human: ",
    "Human:",
    "ASSISTANT: ",
    '"',
    "ABC",
    "123",
    "#",
    "xxx",
    "<user",
    "_id>",
    "[order id]",
    "é",
    "As an AI ",
    "language model",
    "${",
    "A}",
    "{%",
    "%}",
    "### ",
    "User:",
    "\\",
    "<think>",
    "</think>",
    "</tool_call>",
    "[INST]",
    "112233",
    "your_",
    "_here",
    "placeholder",
    "I'm an ",
    "ſ",
    ".",
    "-",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join), st.sampled_from(["reply", "observation", "task"]))
def test_skipping_passes_by_their_signs_never_changes_the_answer(
    world: WorldSpec, conversation: Conversation, text: str, place: str
) -> None:
    one = conversation(**{place: f"It is {text}"})
    sure, quick = (Postprocess(PostprocessSettings(), lambda _: world) for _ in range(2))
    expected = sure.apply(one)
    got = quick.process(one.model_dump_json().encode())
    assert (got.value.trajectory if isinstance(got, Kept) else got) == (
        expected.value if isinstance(expected, Kept) else expected
    )


@settings(max_examples=100, deadline=None)
@given(order, st.sampled_from(sorted(MANGLERS)))
def test_a_second_pass_over_what_was_kept_changes_nothing(
    world: WorldSpec, conversation: Conversation, meant: dict[str, Any], kind: str
) -> None:
    chain = Postprocess(PostprocessSettings(), lambda _: world)
    once = chain.apply(conversation(MANGLERS[kind](json.dumps(meant)), "change_order"))
    if isinstance(once, Kept):
        again = chain.apply(once.value)
        assert isinstance(again, Kept)
        assert again.value is once.value


@pytest.mark.parametrize("source", ["bundled:shop", "bundled:office"])
def test_every_true_conversation_of_a_bundled_world_is_kept_untouched(source: str) -> None:
    seeds = list(read(source))
    worlds = {seed.world.content_id: seed.world for seed in seeds}
    chain = Postprocess(PostprocessSettings(), worlds.__getitem__)
    for seed in seeds:
        assert apply_rules(seed) == Kept(seed)
        provenance = Provenance(run="r", seed=seed.id, attempt=0, model="m", prompts={}, licence=seed.licence)
        true = Trajectory(world=seed.world.content_id, task=seed.task, messages=seed.reference, provenance=provenance)
        raw = true.model_dump_json().encode()
        result = chain.process(raw)
        assert isinstance(result, Kept), result
        assert result.value.raw is raw


CHANGED: dict[str, dict[str, Any]] = {
    "repair_json": {"arguments": "{'order_id': '#W12'}"},
    "decode_arguments": {"name": "change_order", "arguments": {"order_id": "#W12", "items": "[]"}},
    "coerce_arguments": {"name": "change_order", "arguments": {"order_id": "#W12", "items": [], "price": "7"}},
    "separate_reasoning": {"reply": "<think>It is there.</think>It is pending."},
    "strip_reasoning": {"reply": "<think>It is there.</think>It is pending."},
}


@pytest.mark.parametrize("name", CHANGED)
def test_what_a_pass_changes_is_marked_with_its_name(name: str, world: WorldSpec, conversation: Conversation) -> None:
    chain = Postprocess(PostprocessSettings(passes=tuple(PASSES)), lambda _: world)
    marks = {mark.partition(":")[0] for mark in kept(chain.apply(conversation(**CHANGED[name]))).repairs}
    assert name in marks
    assert marks <= set(PASSES)


def test_a_changed_trajectory_has_its_own_content_id(chain: Postprocess, conversation: Conversation) -> None:
    broken = conversation("{'order_id': '#W12'}")
    before = broken.content_id
    assert kept(chain.apply(broken)).content_id != before


def test_an_unknown_pass_is_refused_by_name(world: WorldSpec) -> None:
    with pytest.raises(ConfigError, match="no postprocess pass polish; there are: repair_json"):
        Postprocess(PostprocessSettings(passes=("polish",)), lambda _: world)


def test_a_pass_named_twice_is_refused(world: WorldSpec) -> None:
    with pytest.raises(ConfigError, match="turn_order twice"):
        Postprocess(PostprocessSettings(passes=("turn_order", "turn_order")), lambda _: world)


def test_bytes_that_are_no_trajectory_are_an_error_not_a_drop(chain: Postprocess) -> None:
    with pytest.raises(FormatError, match="no trajectory: world: Field required"):
        chain.process(b"{}")


def test_every_pass_name_is_its_key() -> None:
    assert all(name == one.name for name, one in PASSES.items())
