"""Recording and replaying."""

import asyncio
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.errors import (
    AuthenticationFailed,
    ConfigError,
    ContextOverflow,
    CorruptStream,
    DiskFull,
    RequestRefused,
    ServerFailed,
)
from simia.models.cassette import Label, RecordingModel, ReplayingModel
from simia.models.endpoint import EndpointModel
from simia.models.mock_server import MockServer
from simia.models.scripted import Answer, ScriptedModel
from simia.types import ChatReply, ChatRequest, Sampling, ToolCall, Usage, UserMessage

KEY = "sk-1234567890abcdef"


def asking(text: str = "hi", temperature: float = 1.0) -> ChatRequest:
    sampling = Sampling(temperature=temperature, max_tokens=9)
    return ChatRequest(model="scripted", messages=(UserMessage(content=text),), sampling=sampling)


def record(path: Path, answers: dict[str, Answer]) -> None:
    async def run() -> None:
        with RecordingModel(ScriptedModel(list(answers.values())), path) as model:
            for text in answers:
                try:
                    await model.complete(asking(text))
                except (AuthenticationFailed, ContextOverflow, ServerFailed):
                    continue

    asyncio.run(run())


def replay(path: Path, request: ChatRequest) -> ChatReply:
    with ReplayingModel(path) as model:
        return asyncio.run(model.complete(request))


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
replies = st.builds(
    ChatReply,
    text=texts,
    model=texts,
    reasoning=st.none() | texts,
    tool_calls=st.just(()) | st.just((ToolCall(id="c", name="f", arguments={"a": [1, None]}),)),
    usage=st.builds(Usage, prompt_tokens=st.integers(0, 10**9)),
)


@settings(max_examples=50, deadline=None)
@given(reply=replies, text=texts)
def test_what_is_replayed_is_what_was_recorded(reply: ChatReply, text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        record(path, {text: reply})
        assert replay(path, asking(text)) == reply


def test_a_cassette_knows_the_name_of_its_model(tmp_path: Path) -> None:
    record(tmp_path / "a.jsonl", {"hi": "answer"})
    with ReplayingModel(tmp_path / "a.jsonl") as model:
        assert model.name == "scripted"


def test_a_lasting_error_is_replayed_as_itself(tmp_path: Path) -> None:
    record(tmp_path / "a.jsonl", {"hi": ContextOverflow("too long")})
    with pytest.raises(ContextOverflow, match="too long"):
        replay(tmp_path / "a.jsonl", asking())


@pytest.mark.parametrize("error", [ServerFailed("500"), AuthenticationFailed("a wrong key")])
def test_an_error_of_the_day_is_not_recorded(tmp_path: Path, error: Exception) -> None:
    record(tmp_path / "a.jsonl", {"a": error, "b": "answer"})
    with pytest.raises(RequestRefused, match="not on the cassette"):
        replay(tmp_path / "a.jsonl", asking("a"))


def test_the_last_recording_of_a_request_counts(tmp_path: Path) -> None:
    for text in ("old", "new"):
        record(tmp_path / "a.jsonl", {"hi": text})
    assert replay(tmp_path / "a.jsonl", asking()).text == "new"


def test_a_request_that_was_not_recorded_is_told_what_is_new_about_it(tmp_path: Path) -> None:
    record(tmp_path / "a.jsonl", {"other": "x", "hi": "answer"})
    with pytest.raises(RequestRefused, match=r"these parts are new: sampling\.temperature;"):
        replay(tmp_path / "a.jsonl", asking(temperature=0.5))


def test_the_prompts_are_not_on_the_cassette(tmp_path: Path) -> None:
    record(tmp_path / "a.jsonl", {"a very private prompt": "answer"})
    assert b"private" not in (tmp_path / "a.jsonl").read_bytes()


def test_the_key_is_not_on_the_cassette(tmp_path: Path) -> None:
    async def run() -> None:
        async with MockServer(["answer"], key=KEY) as server, EndpointModel("m", server.base_url, key=KEY) as endpoint:
            with RecordingModel(endpoint, tmp_path / "a.jsonl") as model:
                await model.complete(asking())

    asyncio.run(run())
    assert KEY.encode() not in (tmp_path / "a.jsonl").read_bytes()


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    record(path, {"hi": "answer", "more": "x"})
    path.write_bytes(path.read_bytes()[:-20])
    assert replay(path, asking()).text == "answer"


def test_a_torn_last_line_is_cut_off_before_more_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    record(path, {"hi": "answer", "torn": "x" * 200_000})
    path.write_bytes(path.read_bytes()[:-20])
    record(path, {"more": "later"})
    assert [replay(path, asking(text)).text for text in ("hi", "more")] == ["answer", "later"]
    with pytest.raises(RequestRefused):
        replay(path, asking("torn"))


def test_a_line_that_the_disk_has_no_room_for_leaves_what_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"

    async def run() -> None:
        with RecordingModel(ScriptedModel(["one", "x" * 5000, "three"]), path) as model:
            await model.complete(asking("first"))
            with small_files(path.stat().st_size + 100), pytest.raises(DiskFull):
                await model.complete(asking("second"))
            await model.complete(asking("third"))

    asyncio.run(run())
    assert replay(path, asking("first")).text == "one"
    assert replay(path, asking("third")).text == "three"


@contextmanager
def small_files(most: int) -> Iterator[None]:
    """A disk that has room for files of ``most`` bytes: the system's own limit stands for it."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_one_recorder_writes_a_cassette_at_a_time(tmp_path: Path) -> None:
    with (
        RecordingModel(ScriptedModel(["one"]), tmp_path / "a.jsonl"),
        pytest.raises(ConfigError, match=r"give each a model\.record of its own"),
        RecordingModel(ScriptedModel(["two"]), tmp_path / "a.jsonl"),
    ):
        pass


def test_a_number_of_any_length_is_replayed_exactly(tmp_path: Path) -> None:
    reply = ChatReply(text="", model="m", tool_calls=(ToolCall(id="c", name="f", arguments={"n": 10**30}),))
    record(tmp_path / "a.jsonl", {"hi": reply})
    assert replay(tmp_path / "a.jsonl", asking("hi")) == reply


def test_a_cassette_holds_one_model(tmp_path: Path) -> None:
    record(tmp_path / "a.jsonl", {"hi": "answer"})
    with pytest.raises(ConfigError, match="holds 'scripted', not 'other'"):
        RecordingModel(ScriptedModel(["x"], name="other"), tmp_path / "a.jsonl").__enter__()


def test_a_cassette_knows_whether_its_model_is_small(tmp_path: Path) -> None:
    with RecordingModel(ScriptedModel([]), tmp_path / "a.jsonl", is_small=True):
        pass
    assert Label.of(tmp_path / "a.jsonl") == Label("scripted", True)


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    record(path, {"hi": "answer"})
    label, entry = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(label + b"garbage\n" + entry)
    with pytest.raises(CorruptStream, match=r"a\.jsonl:2"):
        ReplayingModel(path)


@pytest.mark.parametrize("content", [None, b"", b"garbage", b'{"messages": []}\n', b"[1]\n", Label("m", False).line()])
def test_what_is_no_cassette_is_a_clear_error(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(ConfigError, match=r"record one with model\.record=FILE"):
        ReplayingModel(tmp_path / "a.jsonl")
