"""The adaptive limit: its laws as pure arithmetic, and the queue in front of the model."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.errors import ModelTimeout, RateLimited, RequestRefused, ServerFailed
from simia.models.adaptive import AdaptiveLimit, Sign, Start
from simia.models.limited import LimitedModel
from simia.models.scripted import Answer, ScriptedModel
from simia.types import ChatRequest, Sampling, UserMessage

REQUEST = ChatRequest(
    model="scripted", messages=(UserMessage(content="hi"),), sampling=Sampling(temperature=1, max_tokens=9)
)


class Endpoint:
    """Settles requests against a limit on a clock of its own: each answer takes a second, each failure none."""

    def __init__(self, ceiling: int) -> None:
        self.limit = AdaptiveLimit(ceiling)
        self.now = 0.0

    def second(self, signs: Sequence[Sign]) -> None:
        """A second in which one request settles with each of ``signs``."""
        starts = [self.limit.start(self.now) for _ in signs]
        for start, sign in zip(starts, signs, strict=True):
            if sign != "answered":
                self.limit.settle(start, sign, self.now)
        self.now += 1.0
        for start, sign in zip(starts, signs, strict=True):
            if sign == "answered":
                self.limit.settle(start, sign, self.now)


def mixed(count: int, bad: int, sign: Sign) -> list[Sign]:
    """``bad`` bad ones spread over ``count``."""
    return [sign if bad and index % (count // bad) == 0 else "answered" for index in range(count)]


def after_outage(ceiling: int) -> Endpoint:
    endpoint = Endpoint(ceiling)
    endpoint.second(["answered"] * ceiling)
    endpoint.second(["failed"] * ceiling)
    return endpoint


def test_it_begins_at_the_ceiling() -> None:
    assert AdaptiveLimit(200).current == 200


def test_refusals_shrink_it_in_proportion() -> None:
    endpoint = Endpoint(100)
    endpoint.second(["answered"] * 100)
    endpoint.second(mixed(100, 50, "refused"))
    endpoint.second(["answered"])
    assert 75 <= endpoint.limit.current <= 90


def test_it_grows_back_by_a_fiftieth_of_the_ceiling_per_round_trip() -> None:
    endpoint = Endpoint(100)
    for _ in range(6):
        endpoint.second(mixed(100, 50, "refused"))
    low = endpoint.limit.current
    for _ in range(5):
        endpoint.second(["answered"] * low)
    assert low + 8 <= endpoint.limit.current <= low + 12


def test_it_shrinks_at_most_once_in_a_round_trip() -> None:
    endpoint = Endpoint(100)
    endpoint.second(["answered"] * 100)
    seen = set()
    for start in [endpoint.limit.start(endpoint.now) for _ in range(100)]:
        endpoint.limit.settle(start, "refused" if start.number % 2 else "answered", endpoint.now + 0.01)
        seen.add(endpoint.limit.current)
    assert len(seen) <= 2


def test_a_few_random_refusals_do_not_move_it_from_the_ceiling() -> None:
    endpoint = Endpoint(200)
    for _ in range(20):
        endpoint.second(mixed(200, 8, "refused"))
    assert endpoint.limit.current >= 192


def test_random_server_failures_up_to_a_quarter_leave_it_at_the_ceiling() -> None:
    endpoint = Endpoint(200)
    for _ in range(20):
        endpoint.second(mixed(200, 40, "failed"))
    assert (endpoint.limit.current, endpoint.limit.phase) == (200, "steady")


def test_a_server_that_fails_half_the_time_is_sent_less() -> None:
    endpoint = Endpoint(200)
    for _ in range(20):
        endpoint.second(mixed(200, 100, "failed"))
    assert endpoint.limit.current < 100


def test_a_burst_of_failures_among_pending_requests_is_no_outage() -> None:
    limit = AdaptiveLimit(200)
    starts = [limit.start(0.0) for _ in range(200)]
    for start in starts[::5]:
        limit.settle(start, "failed", 0.01)
    assert limit.phase == "steady"


def test_when_everything_fails_only_probes_go_out() -> None:
    assert after_outage(200).limit.phase == "away"


def test_an_answer_to_a_request_from_before_the_outage_does_not_end_it() -> None:
    limit = AdaptiveLimit(50)
    old = limit.start(0.0)
    for start in [limit.start(1.0) for _ in range(20)]:
        limit.settle(start, "failed", 1.0)
    limit.settle(old, "answered", 1.5)
    assert limit.phase == "away"


def test_failures_as_slow_as_answers_are_an_outage_too() -> None:
    limit = AdaptiveLimit(10)
    now = 0.0
    signs: tuple[Sign, ...] = ("answered", "failed", "failed", "failed")
    for sign in signs:
        pending = [limit.start(now) for _ in range(10)]
        newer = [limit.start(now + 0.9) for _ in range(20)]
        now += 1.0
        for start in pending:
            limit.settle(start, sign, now)
        assert newer
    assert limit.phase == "away"


def test_the_last_good_limit_is_back_after_four_answers() -> None:
    endpoint = after_outage(200)
    limits = []
    for _ in range(4):
        start = endpoint.limit.start(endpoint.now + 1)
        endpoint.limit.settle(start, "answered", endpoint.now + 2)
        limits.append(endpoint.limit.current)
    assert limits == [50, 100, 200, 200]


def test_a_relapse_goes_back_to_probing_and_forgets_nothing() -> None:
    endpoint = after_outage(200)
    limit = endpoint.limit
    limit.settle(limit.start(endpoint.now + 1), "answered", endpoint.now + 2)
    for start in [limit.start(endpoint.now + 2) for _ in range(10)]:
        limit.settle(start, "failed", endpoint.now + 2)
    assert limit.phase == "away"
    limit.settle(limit.start(endpoint.now + 3), "answered", endpoint.now + 4)
    assert limit.current == 50


def test_probes_are_a_quarter_of_a_second_apart() -> None:
    endpoint = after_outage(200)
    endpoint.limit.start(endpoint.now)
    assert endpoint.limit.probe_due(endpoint.now) == pytest.approx(0.25)


def test_a_probe_that_is_told_to_wait_makes_the_next_one_wait() -> None:
    endpoint = after_outage(200)
    endpoint.limit.settle(endpoint.limit.start(9.0), "refused", 9.0, retry_after_s=5.0)
    assert endpoint.limit.probe_due(9.0) == pytest.approx(5.0)


@settings(max_examples=150, deadline=None)
@given(
    ceiling=st.integers(1, 300),
    steps=st.lists(
        st.tuples(st.sampled_from(["answered", "refused", "failed"]), st.floats(0, 3), st.integers(1, 30)), max_size=60
    ),
)
def test_it_stays_between_one_and_the_ceiling_whatever_happens(
    ceiling: int, steps: list[tuple[Sign, float, int]]
) -> None:
    limit = AdaptiveLimit(ceiling)
    now = 0.0
    for sign, wait, count in steps:
        starts: list[Start] = [limit.start(now) for _ in range(count)]
        now += wait
        for start in starts:
            limit.settle(start, sign, now)
            assert 1 <= limit.current <= ceiling


def flood(model: LimitedModel, count: int) -> list[object]:
    async def run() -> list[object]:
        return list(await asyncio.gather(*(model.complete(REQUEST) for _ in range(count)), return_exceptions=True))

    return asyncio.run(run())


class Crowded:
    """Answers slowly and notes the most requests it had at a time."""

    def __init__(self) -> None:
        self.now = self.most = 0

    async def __call__(self, request: ChatRequest) -> Answer:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.001)
        self.now -= 1
        return "answer"


def test_no_more_than_the_limit_are_in_flight_and_all_are_answered() -> None:
    crowd = Crowded()
    model = LimitedModel(ScriptedModel(crowd), 7)
    replies = flood(model, 100)
    assert crowd.most == 7
    assert len(replies) == 100
    assert (model.in_flight, model.waiting) == (0, 0)


def test_probing_never_passes_the_ceiling() -> None:
    limit = after_outage(1).limit
    assert (limit.current, limit.probes) == (1, 1)


def test_the_first_to_come_is_the_first_served() -> None:
    inner = ScriptedModel(lambda request: "answer")
    model = LimitedModel(inner, 1)

    async def run() -> list[str]:
        requests = [REQUEST.model_copy(update={"model": str(number)}) for number in range(20)]
        await asyncio.gather(*(model.complete(request) for request in requests))
        return [request.model for request in inner.requests]

    assert asyncio.run(run()) == [str(number) for number in range(20)]


def test_a_cancelled_wait_takes_no_slot_with_it() -> None:
    async def run() -> tuple[int, int]:
        model = LimitedModel(ScriptedModel(Crowded()), 1)
        tasks = [asyncio.create_task(model.complete(REQUEST)) for _ in range(10)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert [task.cancelled() for task in tasks] == [True, False] * 5
        return model.in_flight, model.waiting

    assert asyncio.run(run()) == (0, 0)


def test_waits_that_are_all_cancelled_at_once_end_as_cancelled() -> None:
    async def run() -> list[bool]:
        model = LimitedModel(ScriptedModel(Crowded()), 2)
        tasks = [asyncio.create_task(model.complete(REQUEST)) for _ in range(6)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return [task.cancelled() for task in tasks]

    assert asyncio.run(run()) == [True] * 6


@pytest.mark.parametrize(
    "error", [RateLimited("busy"), ModelTimeout("slow"), ServerFailed("500"), RequestRefused("no")]
)
def test_an_error_passes_and_its_slot_is_free_again(error: Exception) -> None:
    model = LimitedModel(ScriptedModel([error, "answer"]), 1)
    results = flood(model, 2)
    assert results[0] is error
    assert model.in_flight == 0


def test_refused_requests_are_no_outage() -> None:
    model = LimitedModel(ScriptedModel(lambda request: RequestRefused("no")), 5)
    flood(model, 50)
    assert model.limit.phase == "steady"


def test_during_an_outage_the_callers_wait_instead_of_failing() -> None:
    async def run() -> tuple[int, int, str]:
        inner = ScriptedModel(lambda request: ServerFailed("away"))
        model = LimitedModel(inner, 20)
        tasks = [asyncio.create_task(model.complete(REQUEST)) for _ in range(200)]
        await asyncio.sleep(0.7)
        asked, phase = len(inner.requests), model.limit.phase
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return asked, model.in_flight, phase

    asked, in_flight, phase = asyncio.run(run())
    assert asked < 40
    assert (in_flight, phase) == (0, "away")
