"""Which model is taken, why, and what is said when it is not there."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from simia.errors import AuthenticationFailed, ConfigError, ModelNotFound, RequestRefused, ServerFailed, SimiaError
from simia.models.cassette import Label
from simia.models.choose import ChosenModel, choose_model
from simia.models.mock_server import MockServer
from simia.models.settings import ModelSettings
from simia.types import ChatReply, ChatRequest, Sampling, UserMessage

KEY = "sk-1234567890abcdef"
NO_OLLAMA = {"OLLAMA_HOST": "127.0.0.1:1"}


def choose(spec: str | None, env: Mapping[str, str] | None = None, **settings: object) -> ChosenModel:
    return choose_model(spec, settings=ModelSettings.model_validate(settings), env={**NO_OLLAMA, **(env or {})})


def choose_at(server: MockServer, spec: str | None, env: Mapping[str, str] | None = None) -> ChosenModel:
    """Choose while ``server`` runs; choosing blocks, so it has a thread of its own."""

    async def run() -> ChosenModel:
        async with server:
            return await asyncio.to_thread(choose, spec, {"OPENAI_BASE_URL": server.base_url, **(env or {})})

    return asyncio.run(run())


def serving(**options: object) -> MockServer:
    return MockServer(["answer"], **options)  # type: ignore[arg-type]


def test_the_only_model_of_an_endpoint_needs_no_name() -> None:
    chosen = choose_at(serving(model="tiny"), None)
    assert chosen.name == "tiny"
    assert chosen.reason.endswith("from OPENAI_BASE_URL")


def test_a_named_model_is_taken_if_it_is_served() -> None:
    assert choose_at(serving(model="tiny"), "tiny").settings.name == "tiny"


def test_a_name_that_the_endpoint_does_not_list_is_taken_and_remarked_upon() -> None:
    chosen = choose_at(serving(model="tiny"), "an-alias")
    assert chosen.name == "an-alias"
    assert chosen.reason.endswith("it does not list this name (tiny)")


def test_a_wrong_key_is_found_before_the_run() -> None:
    with pytest.raises(AuthenticationFailed, match="OPENAI_API_KEY is wrong"):
        choose_at(serving(key=KEY), "mock", {"OPENAI_API_KEY": "sk-another"})


def test_a_missing_key_is_found_before_the_run() -> None:
    with pytest.raises(AuthenticationFailed, match="OPENAI_API_KEY is not set"):
        choose_at(serving(key=KEY), "mock")


def test_a_right_key_is_shown_and_appears_nowhere() -> None:
    chosen = choose_at(serving(key=KEY), None, {"OPENAI_API_KEY": KEY})
    assert KEY not in repr(chosen)
    assert KEY not in chosen.settings.model_dump_json()


def test_a_dead_endpoint_is_found_before_the_run() -> None:
    with pytest.raises(ServerFailed, match=r"cannot reach http://127\.0\.0\.1:1/v1"):
        choose("tiny", {"OPENAI_BASE_URL": "http://127.0.0.1:1"})


def test_the_settings_come_before_the_environment() -> None:
    with pytest.raises(ServerFailed, match=r"127\.0\.0\.1:2/"):
        choose("tiny", {"OPENAI_BASE_URL": "http://127.0.0.1:1"}, base_url="http://127.0.0.1:2")


def test_without_anything_the_embedded_model_is_taken_and_the_reason_says_why() -> None:
    chosen = choose(None)
    assert chosen.is_local
    assert "no OPENAI_BASE_URL" in chosen.reason
    assert "no Ollama" in chosen.reason


def test_the_embedded_model_may_be_asked_for() -> None:
    assert choose("embedded", {"OPENAI_BASE_URL": "http://127.0.0.1:1"}).is_local


def test_a_local_model_gets_no_more_requests_than_it_has_slots() -> None:
    assert choose("embedded").settings.max_in_flight == 2
    assert choose("embedded", max_in_flight=1).settings.max_in_flight == 1


def test_a_name_without_an_endpoint_says_what_could_be_done() -> None:
    with pytest.raises(ConfigError, match="no endpoint for the model 'tiny': set OPENAI_BASE_URL"):
        choose("tiny")


def test_a_gguf_file_is_taken_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "my-model.gguf"
    path.write_bytes(b"GGUF....")
    chosen = choose(f"gguf:{path}")
    assert (chosen.name, chosen.is_local) == ("my-model", True)


@pytest.mark.parametrize(("content", "words"), [(None, "check the path"), (b"PK\3\4", "is no GGUF file")])
def test_a_path_that_is_no_gguf_is_a_clear_error(tmp_path: Path, content: bytes | None, words: str) -> None:
    path = tmp_path / "a.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=words):
        choose(f"gguf:{path}")


def test_a_folder_is_no_gguf(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a folder"):
        choose(f"gguf:{tmp_path}")


class Ollama:
    """Answers as Ollama does when asked for its models."""

    def __init__(self, *names: str) -> None:
        models = [{"name": name, "modified_at": f"2026-01-{day:02}"} for day, name in enumerate(names, 1)]
        self._body = json.dumps({"models": models}).encode()

    async def choose(self, spec: str | None) -> ChosenModel:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        async with server:
            host = "{}:{}".format(*server.sockets[0].getsockname())
            return await asyncio.to_thread(choose, spec, {"OLLAMA_HOST": host})

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(self._body) + self._body
        )
        await writer.drain()
        writer.close()
        await writer.wait_closed()


def test_a_running_ollama_is_taken_with_its_newest_model() -> None:
    chosen = asyncio.run(Ollama("old:latest", "new:latest").choose(None))
    assert chosen.name == "new:latest"
    assert "Ollama" in chosen.reason


def test_a_name_is_completed_as_ollama_does() -> None:
    assert asyncio.run(Ollama("llama:latest", "b:1").choose("llama")).name == "llama:latest"


def test_an_ollama_without_models_leads_to_the_embedded_one() -> None:
    assert asyncio.run(Ollama().choose(None)).is_local


def test_a_model_that_ollama_lacks_is_told_what_it_has() -> None:
    with pytest.raises(ModelNotFound, match="it serves a:1"):
        asyncio.run(Ollama("a:1").choose("b"))


def test_a_chosen_model_answers() -> None:
    async def run() -> ChatReply:
        async with MockServer(["answer"], model="tiny", key=KEY) as server:
            env = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": KEY}
            chosen = await asyncio.to_thread(choose, None, env)
            async with chosen.open() as model:
                sampling = Sampling(temperature=1, max_tokens=9)
                return await model.complete(
                    ChatRequest(model=model.name, messages=(UserMessage(content="hi"),), sampling=sampling)
                )

    assert asyncio.run(run()).text == "answer"


def one_answer(chosen: ChosenModel, text: str = "hi") -> ChatReply:
    async def run() -> ChatReply:
        async with chosen.open() as model:
            sampling = Sampling(temperature=1, max_tokens=9)
            return await model.complete(
                ChatRequest(model=model.name, messages=(UserMessage(content=text),), sampling=sampling)
            )

    return asyncio.run(run())


def recorded(tape: Path) -> ChatReply:
    """The answer of an endpoint to one question, and both on the cassette ``tape``."""

    async def run() -> ChatReply:
        async with serving(model="tiny") as server:
            chosen = await asyncio.to_thread(choose, None, {"OPENAI_BASE_URL": server.base_url}, record=str(tape))
            return await asyncio.to_thread(one_answer, chosen)

    return asyncio.run(run())


def test_what_was_recorded_is_replayed_under_the_name_of_its_model(tmp_path: Path) -> None:
    reply = recorded(tmp_path / "a.jsonl")
    chosen = choose(f"cassette:{tmp_path / 'a.jsonl'}")
    assert (chosen.name, chosen.is_local) == ("tiny", True)
    assert one_answer(chosen) == reply


def test_a_replay_with_the_recipe_of_the_recording_records_nothing(tmp_path: Path) -> None:
    tape = tmp_path / "a.jsonl"
    recorded(tape)
    before = tape.read_bytes()
    one_answer(choose(f"cassette:{tape}", record=str(tape)))
    assert tape.read_bytes() == before


def test_a_request_that_is_not_on_the_cassette_says_what_to_do(tmp_path: Path) -> None:
    recorded(tmp_path / "a.jsonl")
    with pytest.raises(RequestRefused, match="record again, or replay with the recipe"):
        one_answer(choose(f"cassette:{tmp_path / 'a.jsonl'}"), "something else")


def test_a_missing_cassette_is_found_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the cassette .* record one with model\.record=FILE"):
        choose(f"cassette:{tmp_path / 'none.jsonl'}")


def test_what_a_small_model_said_is_replayed_with_the_prompts_of_a_small_model(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(Label("tiny", True).line())
    assert choose(f"cassette:{tmp_path / 'a.jsonl'}").is_small


@pytest.mark.parametrize("env", [{"OPENAI_BASE_URL": "nonsense://"}, {"OPENAI_BASE_URL": "https://u:p@h/v1"}])
def test_every_failure_to_choose_is_one_line(env: dict[str, str]) -> None:
    with pytest.raises(SimiaError) as caught:
        choose("tiny", env)
    assert "\n" not in str(caught.value)


def test_a_key_that_no_header_can_carry_is_refused_without_showing_it() -> None:
    with pytest.raises(ConfigError, match="OPENAI_API_KEY holds characters") as caught:
        choose("tiny", {"OPENAI_BASE_URL": "http://127.0.0.1:1", "OPENAI_API_KEY": "geheim\u2028x"})
    assert "geheim" not in str(caught.value)


def test_the_line_end_of_a_pasted_key_does_not_matter() -> None:
    assert choose_at(serving(key=KEY), None, {"OPENAI_API_KEY": f"{KEY}\n"}).name == "mock"
