"""What a run used: requests, tokens, money, time. And the wrapper that counts it and keeps the ceiling."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from simia.errors import ConfigError, ModelError, ModelTimeout, ReplyCut, ServerFailed
from simia.models.ceiling import CostCeiling
from simia.models.latency import LatencyHistogram
from simia.models.prices import Price, PriceTable
from simia.models.tokens import most_prompt_tokens
from simia.types import ChatModel, ChatReply, ChatRequest, Usage

_UNCOUNTED = Usage()


@dataclass(frozen=True, slots=True)
class MeterTotals:
    """Totals of a run over all its parts. ``requests`` were answered; ``failures`` were not (each try counts).

    ``cost`` is in US dollars and None where ``unpriced`` names models without a price. ``unsure_cost`` is the most
    that requests may have cost whose answer never arrived whole. ``tokens_per_s`` counts generated tokens over the
    time in which any request was in flight.
    """

    requests: int
    failures: int
    usage: Usage
    cost: float | None
    unsure_cost: float
    unpriced: tuple[str, ...]
    p50_s: float | None
    p95_s: float | None
    tokens_per_s: float | None


class Meter:
    """Counts what is used. ``as_dict()`` goes into the run folder; ``Meter(saved)`` goes on from there."""

    def __init__(self, saved: dict[str, Any] | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        saved = saved or {}
        self._clock = clock
        self.requests = int(saved.get("requests", 0))
        self.failures = int(saved.get("failures", 0))
        usage = saved.get("usage", {})
        self._prompt = int(usage.get("prompt_tokens", 0))
        self._cached = int(usage.get("cached_tokens", 0))
        self._completion = int(usage.get("completion_tokens", 0))
        self._reasoning = int(usage.get("reasoning_tokens", 0))
        self.cost = float(saved.get("cost", 0.0))
        self.unsure_cost = float(saved.get("unsure_cost", 0.0))
        self._unpriced: dict[str, None] = dict.fromkeys(saved.get("unpriced", ()))
        self._latencies = LatencyHistogram(saved.get("latencies"))
        self._active_s = float(saved.get("active_s", 0.0))
        self._in_flight = 0
        self._active_since = 0.0
        self.ceiling: CostCeiling | None = None

    def set_ceiling(self, max_cost: float) -> None:
        """Let no model that this meter counts spend beyond ``max_cost`` US dollars in all; the lowest one set holds.

        It belongs to the meter and not to a model, because the models of one run share one purse.
        """
        if self.ceiling is None:
            self.ceiling = CostCeiling(max_cost, spent=self.cost + self.unsure_cost)
        else:
            self.ceiling.max_cost = min(self.ceiling.max_cost, max_cost)

    def catch_up(self, paid: Mapping[str, tuple[int, Usage]], prices: Callable[[str], Price | None]) -> None:
        """Count what a journal of replies says was paid, where it says more than was saved: after a ``kill -9`` the
        saved totals may be older. ``paid`` is requests and tokens by model. The cost never falls below what was saved.
        """
        if sum(requests for requests, _ in paid.values()) <= self.requests:
            return
        total = sum((usage for _, usage in paid.values()), Usage())
        self.requests = sum(requests for requests, _ in paid.values())
        self._prompt, self._cached = total.prompt_tokens, total.cached_tokens
        self._completion, self._reasoning = total.completion_tokens, total.reasoning_tokens
        cost = 0.0
        for model, (_, usage) in paid.items():
            price = prices(model)
            if price is None:
                self._unpriced[model] = None
            else:
                cost += price.cost(usage)
        self.cost = max(self.cost, cost)

    def started(self) -> float:
        """Note a request; the time to give back to ``finished`` or ``failed``."""
        now = self._clock()
        if self._in_flight == 0:
            self._active_since = now
        self._in_flight += 1
        return now

    def finished(self, started: float, reply: ChatReply, model: str, cost: float | None) -> None:
        """Note the answer to a request. ``cost`` is None where ``model`` has no price."""
        usage = reply.usage
        self._latencies.add(self._ended() - started)
        self.requests += 1
        self._prompt += usage.prompt_tokens
        self._cached += usage.cached_tokens
        self._completion += usage.completion_tokens
        self._reasoning += usage.reasoning_tokens
        if cost is None:
            self._unpriced[model] = None
        else:
            self.cost += cost

    def failed(self, unsure_cost: float = 0.0) -> None:
        """Note a request without an answer, and the most that it may have cost."""
        self._ended()
        self.failures += 1
        self.unsure_cost += unsure_cost

    @property
    def in_flight(self) -> int:
        """Requests that wait for their answer now."""
        return self._in_flight

    def totals(self) -> MeterTotals:
        """The totals up to now."""
        active_s = self._active_s + (self._clock() - self._active_since if self._in_flight else 0.0)
        return MeterTotals(
            requests=self.requests,
            failures=self.failures,
            usage=self._usage(),
            cost=None if self._unpriced else self.cost,
            unsure_cost=self.unsure_cost,
            unpriced=tuple(self._unpriced),
            p50_s=self._latencies.percentile(0.5),
            p95_s=self._latencies.percentile(0.95),
            tokens_per_s=self._completion / active_s if active_s > 0 and self._completion else None,
        )

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON, for the constructor of the meter that goes on."""
        return {
            "requests": self.requests,
            "failures": self.failures,
            "usage": self._usage().model_dump(),
            "cost": self.cost,
            "unsure_cost": self.unsure_cost,
            "unpriced": list(self._unpriced),
            "latencies": self._latencies.as_dict(),
            "active_s": self._active_s + (self._clock() - self._active_since if self._in_flight else 0.0),
        }

    def _ended(self) -> float:
        now = self._clock()
        self._in_flight -= 1
        if self._in_flight == 0:
            self._active_s += now - self._active_since
        return now

    def _usage(self) -> Usage:
        return Usage(
            prompt_tokens=self._prompt,
            cached_tokens=self._cached,
            completion_tokens=self._completion,
            reasoning_tokens=self._reasoning,
        )


def _may_be_charged(error: ModelError | asyncio.CancelledError) -> bool:
    """Whether the server may have generated, and charged for, an answer that never arrived whole."""
    if isinstance(error, ServerFailed):
        return error.may_have_answered
    return isinstance(error, ModelTimeout | ReplyCut | asyncio.CancelledError)


class MeteredModel:
    """A model whose every try is counted, and that never starts one that could pass the ceiling.

    Args:
        prices: None for a model that costs nothing.
        max_cost: US dollars over the whole run: what ``meter`` already counted, and its other models, included.

    Raises:
        ConfigError: there is a ceiling, but no price for the model.
    """

    def __init__(
        self, inner: ChatModel, meter: Meter, prices: PriceTable | Price, *, max_cost: float | None = None
    ) -> None:
        self._inner = inner
        self._meter = meter
        self._prices = prices
        if max_cost is not None:
            meter.set_ceiling(max_cost)
        if meter.ceiling is not None:
            self._price_under_ceiling(inner.name)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._inner.name

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The answer, counted.

        Raises:
            CostCeilingReached: this request could pass the ceiling, even if it were alone.
            ConfigError: there is a ceiling, but no price for the model that the request names.
            ModelError: as the inner model.
        """
        ceiling = self._meter.ceiling
        if ceiling is None:
            return await self._counted(request, 0.0)
        price = self._price_under_ceiling(request.model)
        most = price.most(most_prompt_tokens(request), request.sampling.max_tokens)
        await ceiling.reserve(most)
        try:
            return await self._counted(request, most)
        finally:
            ceiling.settle(most, self._meter.cost + self._meter.unsure_cost)

    async def _counted(self, request: ChatRequest, most: float) -> ChatReply:
        started = self._meter.started()
        reply, unsure_cost = None, 0.0
        try:
            reply = await self._inner.complete(request)
        except (ModelError, asyncio.CancelledError) as error:
            unsure_cost = most if _may_be_charged(error) else 0.0
            raise
        finally:
            if reply is None:
                self._meter.failed(unsure_cost)
        price = self._price(request.model)
        if reply.usage == _UNCOUNTED:
            # A server that counts no tokens may still charge for them.
            self._meter.unsure_cost += most
        self._meter.finished(started, reply, request.model, None if price is None else price.cost(reply.usage))
        return reply

    def _price(self, model: str) -> Price | None:
        return self._prices if isinstance(self._prices, Price) else self._prices.price(model)

    def _price_under_ceiling(self, model: str) -> Price:
        price = self._price(model)
        if price is None:
            raise ConfigError(
                f"max_cost is set, but no price is known for the model {model!r}: add it to a file of prices and name "
                'that file, for example prices = "prices.toml", or leave max_cost out'
            )
        return price
