"""A conversation in tokens is the conversation in text, and what was generated stays as it was generated."""

import json
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("trl", reason="needs the extra 'trl'")

from simia.environment.adapters.trl_rollout import Row, TokenRollout
from simia.environment.adapters.trl_tokens import ChatTokens
from simia.environment.arena import Arena
from simia.environment.loop_thread import LoopThread
from simia.errors import ConfigError
from simia.types import (
    AssistantMessage,
    Episode,
    Message,
    StopReason,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from simia.worlds import World

pytestmark = pytest.mark.trl
END = "<|im_end|>"


def call_text(name: str, **arguments: str) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def right_calls(prompt: str) -> str:
    """Switch the rooms of the task one after another, then say so."""
    asked = prompt.rsplit("<|im_start|>user\n", 1)[1].split(END)[0]
    verb = "turn_on" if "Turn on" in asked else "turn_off"
    rooms = [room for room in ("attic", "cellar", "garage", "hall", "kitchen", "study") if room in asked]
    done = prompt.count("<|im_start|>tool")
    return f"{call_text(verb, room=rooms[done])}{END}" if done < len(rooms) else f"It is done.{END}"


def rollout(tokenizer: Any, generate: Any, loop: LoopThread, **limits: int) -> TokenRollout:
    room = {"completion_tokens": 400, "turn_tokens": 100, **limits}
    return TokenRollout(ChatTokens(tokenizer), generate, loop, **room)  # type: ignore[arg-type]


def played(arena: Arena, tokenizer: Any, generate: Any, loop: LoopThread, **limits: int) -> list[Row]:
    sessions = [arena.session(task, f"g{place}") for place, task in enumerate(arena.tasks.values())]
    return rollout(tokenizer, generate, loop, **limits).play(sessions)


def test_prompt_and_completion_together_are_the_template_of_the_whole_conversation(
    arena: Arena, tokenizer: Any, script: Callable[..., Any], loop: LoopThread
) -> None:
    tokens = ChatTokens(tokenizer)

    for row in played(arena, tokenizer, script(right_calls), loop):
        spelled = tokens.spell(row.messages, row.session.tools)
        assert tokenizer.decode(row.prompt + row.completion) == spelled.removesuffix("\n")


def test_the_mask_has_exactly_what_the_agent_generated(
    arena: Arena, tokenizer: Any, script: Callable[..., Any], loop: LoopThread
) -> None:
    for row in played(arena, tokenizer, script(right_calls), loop):
        spoken = [token for token, mine in zip(row.completion, row.mask, strict=True) if mine]
        turns = [message for message in row.messages if isinstance(message, AssistantMessage)]
        assert tokenizer.decode(spoken).count(END) == len(turns)
        assert "tool_response" not in tokenizer.decode(spoken)
        assert '"on":' not in tokenizer.decode(spoken)


def test_a_completion_never_ends_on_what_the_environment_said(
    arena: Arena, tokenizer: Any, script: Callable[..., Any], loop: LoopThread
) -> None:
    def looks_for_ever(prompt: str) -> str:
        return f"{call_text('look_around')}{END}"

    for row in played(arena, tokenizer, script(looks_for_ever), loop, completion_tokens=120):
        assert row.mask[-1] == 1
        assert row.episode is not None
        assert row.episode.is_truncated


def test_an_agent_that_does_what_is_asked_gets_the_reward(
    arena: Arena, tokenizer: Any, script: Callable[..., Any], loop: LoopThread
) -> None:
    rows = played(arena, tokenizer, script(right_calls), loop)

    assert [row.episode.reward.value for row in rows if row.episode and row.episode.reward] == [1.0] * 8


def test_a_turn_that_is_cut_off_ends_the_episode_and_is_scored(
    arena: Arena, tokenizer: Any, script: Callable[..., Any], loop: LoopThread
) -> None:
    rows = played(arena, tokenizer, script(lambda prompt: "I never come to an"), loop)

    assert {row.episode.trajectory.stop_reason for row in rows if row.episode} == {StopReason.MAX_TOKENS}
    assert {row.episode.reward.value for row in rows if row.episode and row.episode.reward} == {0.0}


def test_a_first_prompt_that_does_not_fit_is_masked_and_nobody_generates(
    arena: Arena, tokenizer: Any, loop: LoopThread
) -> None:
    def never(prompts: list[list[int]], room: int) -> Any:
        raise AssertionError("nothing was to be generated")

    rows = played(arena, tokenizer, never, loop, context=20)

    assert all(row.episode is not None and row.episode.is_masked for row in rows)
    assert not any(row.completion for row in rows)


def test_tools_are_in_the_prompt_as_they_are(lamps: World, tokenizer: Any) -> None:
    ids = ChatTokens(tokenizer).prompt([SystemMessage(content="P"), UserMessage(content="U")], lamps.spec.tools)

    for tool in lamps.spec.tools:
        assert json.dumps(tool.as_openai()["function"]) in tokenizer.decode(ids)


def test_several_calls_of_one_turn_are_read_in_their_order(lamps: World, tokenizer: Any) -> None:
    tokens = ChatTokens(tokenizer)
    text = call_text("turn_on", room="hall") + call_text("turn_off", room="attic") + END

    message = tokens.read(tokenizer.encode(text), [], lamps.spec.tools, 3)

    assert [(call.id, call.name, call.arguments) for call in message.tool_calls] == [
        ("call_3", "turn_on", {"room": "hall"}),
        ("call_4", "turn_off", {"room": "attic"}),
    ]


@pytest.mark.parametrize("text", ['{"name": "turn_on"', "turn_on(hall)", '{"name": 3, "arguments": {}}'])
def test_a_block_that_is_no_call_is_kept_as_a_malformed_one(lamps: World, tokenizer: Any, text: str) -> None:
    ids = tokenizer.encode(f"<tool_call>\n{text}\n</tool_call>{END}")

    message = ChatTokens(tokenizer).read(ids, [], lamps.spec.tools, 1)

    assert not message.tool_calls
    assert len(message.malformed_calls) == 1


def test_answers_are_what_the_template_adds_after_the_agents_turn(lamps: World, tokenizer: Any) -> None:
    tokens = ChatTokens(tokenizer)
    said = AssistantMessage(tool_calls=(ToolCall(id="call_1", name="turn_on", arguments={"room": "hall"}),))
    result = ToolMessage(call_id="call_1", name="turn_on", content='{"room":"hall","on":true}')
    begun: list[Message] = [SystemMessage(content="P"), UserMessage(content="U")]

    ids = tokens.prompt(begun, lamps.spec.tools) + tokens.turn(said) + tokens.answers([result])

    whole = tokens.prompt([*begun, said, result], lamps.spec.tools)
    assert ids == whole


def test_a_template_without_tools_is_refused_with_what_to_do(tokenizer: Any) -> None:
    import copy

    mute = copy.deepcopy(tokenizer)
    mute.chat_template = "{% for message in messages %}{{ message.content }}{% endfor %}"

    with pytest.raises(ConfigError, match="cannot spell tool calls"):
        ChatTokens(mute)


HOSTILE = ["[" * 1100, '{"name": "look", "arguments": {"at": "\\ud800"}}'] + [
    '{"name": "look", "arguments": {"at": ' + value + "}}"
    for value in ("[" * 1100, "[" * 200 + "]" * 200, "[" * 300 + "]" * 300, "NaN", "1e999", '1, "at": 2')
]


@pytest.mark.parametrize("inside", HOSTILE)
def test_an_episode_can_be_kept_and_read_again_whatever_stands_in_a_block(
    arena: Arena, tokenizer: Any, script: Callable[..., Any], loop: LoopThread, inside: str
) -> None:
    generate = script(lambda prompt: f"<tool_call>\n{inside}\n</tool_call>{END}")

    (row,) = rollout(tokenizer, generate, loop, completion_tokens=8000).play(
        [arena.session(next(iter(arena.tasks.values())), "g")]
    )

    assert row.episode is not None
    assert row.episode.trajectory.stop_reason is StopReason.MALFORMED_CALL
    assert Episode.model_validate_json(row.episode.model_dump_json()) == row.episode


@pytest.mark.parametrize("value", ["[" * 1100, "[" * 300 + "]" * 300, "NaN", "1e999"])
def test_so_it_is_in_a_spelling_that_trl_reads(lamps: World, tokenizer: Any, value: str) -> None:
    import copy

    other = copy.deepcopy(tokenizer)
    other.response_template["fields"]["tool_calls"]["open"] = "<call>"
    tokens = ChatTokens(other)
    good = '<call>{"name": "turn_on", "arguments": {"room": "hall"}}</tool_call>'
    bad = f'<call>{{"name": "turn_on", "arguments": {{"room": {value}}}}}</tool_call>'

    message = tokens.read(other.encode(bad + END), [], lamps.spec.tools, 1)
    assert not message.tool_calls
    assert AssistantMessage.model_validate_json(message.model_dump_json()) == message
    assert tokens.read(other.encode(good + END), [], lamps.spec.tools, 1).tool_calls[0].arguments == {"room": "hall"}


def test_a_first_prompt_that_does_not_fit_is_not_given_to_the_trainer(
    arena: Arena, tokenizer: Any, loop: LoopThread
) -> None:
    rows = played(arena, tokenizer, lambda prompts, room: ([], None), loop, context=20)

    assert not any(row.prompt for row in rows)


def test_a_row_is_never_longer_than_the_context(
    arena: Arena, tokenizer: Any, script: Callable[..., Any], loop: LoopThread
) -> None:
    (first,) = played(arena.with_tasks([next(iter(arena.tasks.values()))]), tokenizer, script(right_calls), loop)
    context = len(first.prompt) + 101
    looks = script(lambda prompt: f"{'I look. ' * 60}{call_text('look_around')}{END}")

    for row in played(arena.with_tasks([first.session.task]), tokenizer, looks, loop, context=context):
        assert len(row.prompt + row.completion) == context
        assert row.episode is not None
        assert row.episode.is_truncated


@pytest.mark.parametrize("bad", ["{bad", '{"name": 3, "arguments": {}}', "[" * 1100])
def test_a_bad_call_spoils_no_neighbour(lamps: World, tokenizer: Any, bad: str) -> None:
    text = f"{call_text('turn_on', room='hall')}<tool_call>\n{bad}\n</tool_call>{call_text('look_around')}{END}"

    message = ChatTokens(tokenizer).read(tokenizer.encode(text), [], lamps.spec.tools, 1)

    assert [(call.id, call.name) for call in message.tool_calls] == [("call_1", "turn_on"), ("call_3", "look_around")]
    assert [(call.id, call.text) for call in message.malformed_calls] == [("call_2", bad)]


def test_words_before_and_after_a_call_are_kept(lamps: World, tokenizer: Any) -> None:
    from trl.chat_template_utils import parse_response

    ids = tokenizer.encode(f"One moment.\n{call_text('look_around')}\nSo.{END}")

    assert ChatTokens(tokenizer).read(ids, [], lamps.spec.tools, 1).content == "One moment.\nSo."
    assert parse_response(tokenizer, ids, prefix=[], tools=[])["content"].split("\n") == ["One moment.", "So."]
