"""The mock endpoint, and whole stacks against it when it misbehaves."""

import asyncio
import json
import random
import signal
import statistics
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from simia.errors import AuthenticationFailed, ConfigError
from simia.models.adaptive import AdaptiveLimit
from simia.models.endpoint import EndpointModel
from simia.models.meter import Meter
from simia.models.mock_faults import FAULT_KINDS, Faults, Latency, Outage, read_kinds
from simia.models.mock_server import MockServer, main, read_replies
from simia.models.settings import ModelSettings
from simia.models.stack import build_stack
from simia.types import ChatReply, ChatRequest, Sampling, UserMessage


def asking(number: int) -> ChatRequest:
    sampling = Sampling(temperature=1, max_tokens=9)
    return ChatRequest(model="mock", messages=(UserMessage(content=f"request {number}"),), sampling=sampling)


def deliver(server: MockServer, count: int, *, in_flight: int = 50, timeout_s: float = 5.0) -> dict[int, ChatReply]:
    """What a whole stack gets out of ``server`` for ``count`` requests."""
    settings = ModelSettings(max_in_flight=in_flight, retry_for_s=60, timeout_s=timeout_s)
    replies: dict[int, ChatReply] = {}

    async def run() -> None:
        async with server, EndpointModel("mock", server.base_url, timeout_s=timeout_s) as endpoint:
            model = build_stack(endpoint, settings, is_local=True, rng=random.Random(0))
            numbers = iter(range(count))

            async def worker() -> None:
                for number in numbers:
                    replies[number] = await model.complete(asking(number))

            async with asyncio.TaskGroup() as group:
                for _ in range(in_flight):
                    group.create_task(worker())

    asyncio.run(run())
    return replies


@pytest.mark.parametrize("rate", [0.05, 0.2])
def test_everything_is_delivered_although_some_requests_fail(rate: float) -> None:
    kinds = read_kinds("429,500,cut,truncated")
    server = MockServer(["answer"], faults=Faults(rate, kinds, seed=3), retry_after_s=0.01)
    replies = deliver(server, 300)
    assert len(replies) == 300
    assert {reply.text for reply in replies.values()} == {"answer"}
    assert set(server.faults.counts) == set(kinds)


def test_everything_is_delivered_although_some_answers_never_come() -> None:
    server = MockServer(["answer"], faults=Faults(0.05, ("stall",), seed=3))
    assert len(deliver(server, 100, timeout_s=0.3)) == 100


@pytest.mark.parametrize("kind", ["500", "down"])
def test_everything_is_delivered_through_an_outage_and_few_requests_are_wasted(kind: str) -> None:
    server = MockServer(["answer"], latency=Latency(0.02), outage=Outage.read(f"0.2:1.0:{kind}"))
    assert len(deliver(server, 600, in_flight=20)) == 600
    assert server.requests < 600 + 20 * 4


def test_the_limit_is_back_soon_after_an_outage() -> None:
    async def run() -> float:
        limit = AdaptiveLimit(100)
        server = MockServer(["answer"], latency=Latency(0.05), outage=Outage(0.3, 1.0))
        async with server, EndpointModel("mock", server.base_url) as endpoint:
            settings = ModelSettings(max_in_flight=100)
            model = build_stack(endpoint, settings, is_local=True, limit=limit, rng=random.Random(0))

            is_back = asyncio.Event()

            async def worker(number: int) -> None:
                while True:
                    await model.complete(asking(number))
                    if server.elapsed_s() > 1.3 and limit.phase == "steady" and limit.current == 100:
                        is_back.set()

            workers = [asyncio.create_task(worker(number)) for number in range(100)]
            await is_back.wait()
            back_s = server.elapsed_s() - 1.3
            for task in workers:
                task.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            return back_s

    assert 0 < asyncio.run(asyncio.wait_for(run(), 20)) < 3


def test_the_stack_counts_answers_once_and_failures_apart() -> None:
    meter = Meter()

    async def run() -> None:
        server = MockServer(["answer"], faults=Faults(0.3, ("500",), seed=1))
        async with server, EndpointModel("mock", server.base_url) as endpoint:
            model = build_stack(endpoint, ModelSettings(), meter=meter, is_local=True)
            await asyncio.gather(*(model.complete(asking(number)) for number in range(30)))
            assert meter.totals().failures == server.faults.counts["500"]

    asyncio.run(run())
    assert meter.totals().requests == 30


def test_an_error_that_lasts_comes_through_the_whole_stack_at_once() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        deliver(MockServer(["x"], key="k" * 20), 1, in_flight=1)
    assert caught.group_contains(AuthenticationFailed)


def test_the_same_request_gets_the_same_reply() -> None:
    texts = [f"answer {number}" for number in range(10)]
    first, second = deliver(MockServer(texts), 50), deliver(MockServer(texts), 50)
    assert first == second
    assert len({reply.text for reply in first.values()}) > 5


def test_faults_are_drawn_from_their_seed() -> None:
    draws = [[faults.draw() for _ in range(500)] for faults in (Faults(0.2, seed=1), Faults(0.2, seed=1), Faults(0.2))]
    assert draws[0] == draws[1] != draws[2]
    assert 60 < sum(draw is not None for draw in draws[0]) < 140


def test_log_normal_latency_has_the_mean_that_was_asked_for() -> None:
    rng, latency = random.Random(0), Latency.read("lognormal:2.0")
    assert statistics.fmean(latency.draw(rng) for _ in range(20_000)) == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize(("text", "latency"), [("0", Latency()), ("fixed:0.1", Latency(0.1)), ("0.1", Latency(0.1))])
def test_a_latency_is_read(text: str, latency: Latency) -> None:
    assert Latency.read(text) == latency


@pytest.mark.parametrize("text", ["fast", "lognormal:", "lognormal:0", "fixed:-1"])
def test_a_wrong_latency_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="latency"):
        Latency.read(text)


@pytest.mark.parametrize("text", ["5", "5:x", "-1:2", "1:2:3", "1:2:down:x"])
def test_a_wrong_outage_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="outage"):
        Outage.read(text)


def test_unknown_fault_kinds_are_refused() -> None:
    with pytest.raises(ConfigError, match="fault kinds"):
        read_kinds("429,fire")


def test_replies_are_texts_or_json_on_lines(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text('"hello"\n\n{"a":1}\n')
    assert read_replies(path) == ["hello", '{"a":1}']


@pytest.mark.parametrize("content", [None, "", "no json\n"])
def test_an_unusable_file_of_replies_is_a_clear_error(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "replies.jsonl"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigError, match=r"replies\.jsonl"):
        read_replies(path)


def test_wrong_options_end_with_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--latency", "fast"]) == 2
    assert capsys.readouterr().err.startswith("error: latency 'fast' is unknown")


def fetch(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url, timeout=5) as answer:
        value: dict[str, Any] = json.load(answer)
    return value


def test_the_program_serves_until_it_is_terminated(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text('"from the file"\n')
    command = [sys.executable, "-m", "simia.models.mock_server", str(path), "--model", "tiny"]

    async def run(base_url: str) -> ChatReply:
        async with EndpointModel("tiny", base_url) as model:
            return await model.complete(asking(1).model_copy(update={"model": "tiny"}))

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        base_url = process.stdout.readline().strip()
        try:
            assert asyncio.run(run(base_url)).text == "from the file"
            assert fetch(f"{base_url}/models")["data"][0]["id"] == "tiny"
            assert fetch(base_url.removesuffix("/v1") + "/stats")["by_status"] == {"200": 1}
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=5) == 0


def test_all_fault_kinds_are_known_by_name() -> None:
    assert read_kinds(",".join(FAULT_KINDS)) == FAULT_KINDS
