"""The wrappers around a model, in the one right order."""

import random
from collections.abc import Callable

from simia.errors import TransientModelError
from simia.models.adaptive import AdaptiveLimit
from simia.models.breaker import BreakingModel
from simia.models.cached import CachedModel, ReplyJournal
from simia.models.limited import LimitedModel
from simia.models.meter import Meter, MeteredModel
from simia.models.prices import FREE, PriceTable
from simia.models.retrying import RetryingModel
from simia.models.settings import ModelSettings
from simia.types import ChatModel


def build_stack(
    model: ChatModel,
    settings: ModelSettings,
    *,
    meter: Meter | None = None,
    journal: ReplyJournal | None = None,
    is_local: bool = False,
    limit: AdaptiveLimit | None = None,
    on_wait: Callable[[TransientModelError, float], None] | None = None,
    rng: random.Random | None = None,
) -> ChatModel:
    """``model`` inside cache, breaker, retry, limit and meter.

    From outside to inside, and why the order cannot be another::

        CachedModel      a kept reply costs nothing: no slot, no count; a new one is on disk before it is returned
        BreakingModel    inside the cache: an answer of yesterday says nothing about the endpoint of today
        RetryingModel    outside the limit: a request that sleeps before its next try holds no slot
        LimitedModel     sees every single try, so that it learns from each 429 and each timeout
        MeteredModel     inside the limit: latency is the server's, without the wait for a slot; and only what is in
                         flight reserves money
        model            one try per call

    A cassette stands at the place of ``model``: ``RecordingModel`` around it, or ``ReplayingModel`` instead of it
    (``choose`` sees to both). So it holds what was asked of the endpoint, and a replay goes through all the wrappers.
    What a resumed run takes from its journal is on the cassette of the run's first part.

    Args:
        settings: those that ``choose_model`` settled.
        is_local: the model runs here and costs nothing.
        limit: given to watch it (progress); without it one of ``settings.max_in_flight`` is made.

    Raises:
        ConfigError: ``settings.prices`` cannot be read, or ``max_cost`` is set and the model has no price.
    """
    prices = FREE if is_local else PriceTable(settings.prices)
    metered = MeteredModel(model, meter or Meter(), prices, max_cost=settings.max_cost)
    limited = LimitedModel(metered, limit or settings.max_in_flight)
    retrying = RetryingModel(limited, retry_for_s=settings.retry_for_s, on_wait=on_wait, rng=rng)
    breaking = BreakingModel(retrying)
    return breaking if journal is None else CachedModel(breaking, journal)
