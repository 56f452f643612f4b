"""Counting what is used, and never spending more than allowed."""

import asyncio
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.errors import (
    ConfigError,
    CostCeilingReached,
    ModelError,
    ModelTimeout,
    RateLimited,
    ReplyCut,
    ServerFailed,
)
from simia.models.ceiling import CostCeiling
from simia.models.latency import LatencyHistogram
from simia.models.meter import Meter, MeteredModel
from simia.models.prices import FREE, Price, PriceTable
from simia.models.scripted import Answer, ScriptedModel
from simia.models.tokens import estimate_prompt, estimate_tokens, most_prompt_tokens
from simia.types import ChatReply, ChatRequest, Sampling, ToolSpec, Usage, UserMessage

DOLLAR_A_TOKEN = Price(input=0.0, output=1_000_000.0)


def asking(max_tokens: int = 10, model: str = "scripted") -> ChatRequest:
    sampling = Sampling(temperature=1, max_tokens=max_tokens)
    return ChatRequest(model=model, messages=(UserMessage(content="hi"),), sampling=sampling)


def used(completion: int, prompt: int = 1, cached: int = 0) -> ChatReply:
    usage = Usage(prompt_tokens=prompt, completion_tokens=completion, cached_tokens=cached)
    return ChatReply(text="x", model="scripted", usage=usage)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_requests_and_tokens_are_added_up() -> None:
    meter = Meter()
    model = MeteredModel(ScriptedModel([used(5, 20, 8), used(7, 30)]), meter, FREE)

    async def run() -> None:
        await model.complete(asking())
        await model.complete(asking())

    asyncio.run(run())
    totals = meter.totals()
    assert totals.requests == 2
    assert totals.usage == Usage(prompt_tokens=50, cached_tokens=8, completion_tokens=12)


def test_cached_tokens_have_their_own_price() -> None:
    price = Price(input=10.0, cached_input=1.0, output=100.0)
    usage = Usage(prompt_tokens=1_000_000, cached_tokens=400_000, completion_tokens=10_000)
    assert price.cost(usage) == pytest.approx(6.0 + 0.4 + 1.0)


def test_without_a_price_of_their_own_cached_tokens_cost_the_same() -> None:
    usage = Usage(prompt_tokens=1_000_000, cached_tokens=400_000)
    assert Price(input=10.0, output=1.0).cost(usage) == pytest.approx(10.0)


def test_a_model_without_a_price_makes_the_cost_unknown_and_is_named() -> None:
    meter = Meter()
    asyncio.run(MeteredModel(ScriptedModel([used(5)]), meter, PriceTable()).complete(asking(model="no-such-model")))
    totals = meter.totals()
    assert (totals.cost, totals.unpriced) == (None, ("no-such-model",))


def test_a_failed_try_counts_as_a_failure() -> None:
    meter = Meter()
    with pytest.raises(RateLimited):
        asyncio.run(MeteredModel(ScriptedModel([RateLimited("busy")]), meter, FREE).complete(asking()))
    assert (meter.totals().requests, meter.totals().failures) == (0, 1)


def test_speed_counts_only_the_time_with_requests_in_flight() -> None:
    clock = Clock()
    meter = Meter(clock=clock)
    for begin in (0.0, 100.0):
        clock.now = begin
        first, second = meter.started(), meter.started()
        clock.now += 2.0
        meter.finished(first, used(30), "m", 0.0)
        meter.finished(second, used(10), "m", 0.0)
    assert meter.totals().tokens_per_s == pytest.approx(80 / 4)


def test_a_meter_goes_on_where_the_saved_one_stopped() -> None:
    clock = Clock()
    whole, first = Meter(clock=clock), Meter(clock=clock)
    parts = [first]
    for number in range(10):
        if number == 5:
            parts.append(Meter(first.as_dict(), clock=clock))
        for meter in (whole, parts[-1]):
            started = meter.started()
            clock.now += number
            meter.finished(started, used(number), "m", 0.25)
            clock.now -= number
        clock.now += number
    assert parts[-1].totals() == whole.totals()


@settings(max_examples=50, deadline=None)
@given(seconds=st.lists(st.floats(0.001, 1000), min_size=1, max_size=200), share=st.sampled_from([0.5, 0.95]))
def test_a_percentile_is_right_to_one_percent(seconds: list[float], share: float) -> None:
    histogram = LatencyHistogram()
    for latency in seconds:
        histogram.add(latency)
    exact = sorted(seconds)[max(1, -int(-share * len(seconds) // 1)) - 1]
    assert histogram.percentile(share) == pytest.approx(exact, rel=0.011)


def test_the_histogram_does_not_grow_with_what_it_counts() -> None:
    histogram, rng = LatencyHistogram(), random.Random(0)
    for _ in range(20_000):
        histogram.add(rng.lognormvariate(0, 3))
    assert len(histogram.as_dict()) < 1_100


def test_prices_of_known_models_are_shipped() -> None:
    price = PriceTable().price("gpt-4o-mini")
    assert price is not None
    assert price.output > price.input > 0


def test_the_date_at_the_end_of_a_name_does_not_matter() -> None:
    table = PriceTable()
    assert table.price("gpt-4o-mini-2024-07-18") == table.price("gpt-4o-mini")


def test_a_users_own_prices_come_first_and_may_be_patterns(tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    own.write_text('[models]\n"gpt-4o-mini" = { input = 1, output = 2 }\n"Qwen/*" = { input = 3, output = 4 }\n')
    table = PriceTable(own)
    assert table.price("gpt-4o-mini") == Price(input=1, output=2)
    assert table.price("Qwen/Qwen3-8B") == Price(input=3, output=4)


@pytest.mark.parametrize("text", ["models = 3", "[models.a]\ninput = 1", "[models.a]\ninput = -1\noutput = 1", "]"])
def test_a_wrong_file_of_prices_is_a_clear_error(tmp_path: Path, text: str) -> None:
    own = tmp_path / "prices.toml"
    own.write_text(text)
    with pytest.raises(ConfigError, match=r"prices\.toml"):
        PriceTable(own)


def test_a_ceiling_without_a_price_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match="no price is known for the model 'scripted'"):
        MeteredModel(ScriptedModel([]), Meter(), PriceTable(), max_cost=1.0)


def test_a_local_model_may_have_a_ceiling() -> None:
    model = MeteredModel(ScriptedModel(["x"]), Meter(), FREE, max_cost=0.0)
    assert asyncio.run(model.complete(asking())).text == "x"


def spend(costs: list[int], max_cost: float, *, most: int = 10, error: ModelError | None = None) -> tuple[Meter, int]:
    """Ask for as many tokens as ``costs`` says, all at once, at a dollar a token; the meter, and how many got it."""
    left = iter(costs)

    async def slowly(request: ChatRequest) -> Answer:
        cost = next(left)
        await asyncio.sleep(0.0005 * (cost % 3))
        return error if error is not None and cost % 2 else used(cost)

    meter = Meter()
    model = MeteredModel(ScriptedModel(slowly), meter, DOLLAR_A_TOKEN, max_cost=max_cost)

    async def run() -> int:
        results = await asyncio.gather(*(model.complete(asking(most)) for _ in costs), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, CostCeilingReached):
                assert result is error
        return sum(isinstance(result, ChatReply) for result in results)

    return meter, asyncio.run(run())


@settings(max_examples=40, deadline=None)
@given(costs=st.lists(st.integers(1, 10), max_size=60), max_cost=st.floats(0, 200))
def test_the_ceiling_is_never_passed_however_many_are_in_flight(costs: list[int], max_cost: float) -> None:
    meter, _ = spend(costs, max_cost)
    assert meter.cost <= max_cost


@settings(max_examples=20, deadline=None)
@given(costs=st.lists(st.integers(1, 10), max_size=60), max_cost=st.floats(0, 200))
def test_answers_that_may_have_been_charged_for_count_against_the_ceiling(costs: list[int], max_cost: float) -> None:
    meter, _ = spend(costs, max_cost, error=ReplyCut("cut"))
    assert meter.cost + meter.unsure_cost <= max_cost


def test_the_ceiling_stops_nothing_that_fits() -> None:
    _, answered = spend([1] * 200, 210.0)
    assert answered == 200


def test_two_hundred_in_flight_spend_nearly_all_and_no_more() -> None:
    meter, answered = spend([3] * 200, 100.0)
    assert 90 <= meter.cost <= 100
    assert answered == meter.cost / 3


def test_a_request_that_could_pass_the_ceiling_alone_is_not_sent() -> None:
    inner = ScriptedModel([used(1)])
    with pytest.raises(CostCeilingReached, match="resume with a higher --max-cost"):
        asyncio.run(MeteredModel(inner, Meter(), DOLLAR_A_TOKEN, max_cost=9.0).complete(asking(10)))
    assert inner.requests == []


def test_what_an_earlier_part_of_the_run_spent_counts() -> None:
    saved = {**Meter().as_dict(), "cost": 95.0}
    model = MeteredModel(ScriptedModel([used(1)]), Meter(saved), DOLLAR_A_TOKEN, max_cost=100.0)
    with pytest.raises(CostCeilingReached):
        asyncio.run(model.complete(asking(10)))


def test_models_that_share_a_meter_share_its_ceiling() -> None:
    meter = Meter()

    async def slowly(request: ChatRequest) -> Answer:
        await asyncio.sleep(0.001)
        return used(7)

    capped = MeteredModel(ScriptedModel(slowly), meter, DOLLAR_A_TOKEN, max_cost=100.0)
    other = MeteredModel(ScriptedModel(slowly), meter, DOLLAR_A_TOKEN)

    async def run() -> list[object]:
        asked = [model.complete(asking(10)) for model in (capped, other) for _ in range(30)]
        return list(await asyncio.gather(*asked, return_exceptions=True))

    assert any(isinstance(result, CostCeilingReached) for result in asyncio.run(run()))
    assert 80 < meter.cost <= 100


def test_a_refused_request_gives_its_reservation_back() -> None:
    errors: list[Answer] = [RateLimited("busy")] * 20
    model = MeteredModel(ScriptedModel([*errors, used(1)]), Meter(), DOLLAR_A_TOKEN, max_cost=10.0)

    async def run() -> str:
        for _ in errors:
            with pytest.raises(RateLimited):
                await model.complete(asking(10))
        return (await model.complete(asking(10))).text

    assert asyncio.run(run()) == "x"


def test_a_server_that_counts_no_tokens_is_taken_to_charge_the_most() -> None:
    meter = Meter()
    model = MeteredModel(ScriptedModel(["x", "x"]), meter, DOLLAR_A_TOKEN, max_cost=15.0)

    async def run() -> None:
        await model.complete(asking(10))
        with pytest.raises(CostCeilingReached):
            await model.complete(asking(10))

    asyncio.run(run())


def test_a_cancelled_wait_for_money_leaves_the_ceiling_as_it_was() -> None:
    async def run() -> float:
        ceiling = CostCeiling(10.0)
        await ceiling.reserve(8.0)
        waiting = asyncio.create_task(ceiling.reserve(5.0))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        ceiling.settle(8.0, 1.0)
        return ceiling.reserved

    assert asyncio.run(run()) == 0.0


@pytest.mark.parametrize(
    ("error", "unsure_cost"),
    [
        (ModelTimeout("slow"), 10.0),
        (ReplyCut("half"), 10.0),
        (ServerFailed("the connection broke", may_have_answered=True), 10.0),
        (ServerFailed("cannot reach"), 0.0),
        (RateLimited("busy"), 0.0),
    ],
)
def test_what_was_sent_and_not_answered_may_have_been_charged_for(error: Exception, unsure_cost: float) -> None:
    meter = Meter()
    model = MeteredModel(ScriptedModel([error]), meter, DOLLAR_A_TOKEN, max_cost=10.0)
    with pytest.raises(type(error)):
        asyncio.run(model.complete(asking(10)))
    assert meter.totals().unsure_cost == unsure_cost


@settings(max_examples=50, deadline=None)
@given(text=st.text())
def test_the_bound_on_tokens_is_above_the_bytes(text: str) -> None:
    request = ChatRequest(
        model="m",
        messages=(UserMessage(content=text),),
        sampling=Sampling(temperature=1, max_tokens=1),
        tools=(ToolSpec(name="a", parameters={"type": "object"}),),
    )
    assert most_prompt_tokens(request) > len(text.encode("utf-8", "surrogatepass")) + len('{"type":"object"}')
    assert estimate_prompt(request) <= most_prompt_tokens(request)


def test_an_estimate_of_english_is_about_a_token_for_four_letters() -> None:
    assert (
        20 <= estimate_tokens("The customer asks for a refund of the two lamps that arrived broken on Tuesday.") <= 26
    )


def test_a_meter_that_was_killed_catches_up_with_the_journal() -> None:
    meter = Meter({"requests": 3, "usage": {"prompt_tokens": 30}, "cost": 0.1})
    paid = {"m": (5, Usage(prompt_tokens=1_000_000, completion_tokens=500_000))}
    meter.catch_up(paid, lambda model: Price(input=2.0, output=4.0))
    totals = meter.totals()
    assert (totals.requests, totals.usage.prompt_tokens, totals.cost) == (5, 1_000_000, 4.0)


def test_a_meter_that_knows_as_much_as_the_journal_keeps_its_cost() -> None:
    meter = Meter({"requests": 5, "cost": 0.25})
    meter.catch_up({"m": (5, Usage(prompt_tokens=9))}, lambda model: Price(input=2.0, output=4.0))
    assert meter.totals().cost == 0.25


def test_catching_up_never_makes_a_run_cheaper() -> None:
    meter = Meter({"requests": 5, "cost": 0.25})
    meter.catch_up({"m": (6, Usage(prompt_tokens=9))}, lambda model: Price(input=2.0, output=4.0))
    assert meter.totals().cost == 0.25
