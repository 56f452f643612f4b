"""Which model plays which role, chosen before a run and opened for its length."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from simia.errors import ConfigError, TransientModelError
from simia.models.adaptive import AdaptiveLimit
from simia.models.cached import ReplyJournal
from simia.models.choose import ChosenModel
from simia.models.meter import Meter
from simia.models.prices import FREE, Price, PriceTable
from simia.models.stack import build_stack
from simia.types import ChatModel


@dataclass(frozen=True)
class Cast:
    """The chosen model of each role that the recipe uses. Roles with equal settings share one model and one limit."""

    chosen: dict[str, ChosenModel]

    @property
    def main(self) -> ChosenModel:
        """The recipe's own model, or, where no role plays by it, that of the first role."""
        return next(iter(self.chosen.values()))

    @property
    def reasons(self) -> tuple[str, ...]:
        """One sentence per model for the user: which, for what, and why."""
        by_reason: dict[str, list[str]] = {}
        for role, chosen in self.chosen.items():
            by_reason.setdefault(chosen.reason, []).append(role)
        if len(by_reason) == 1:
            return tuple(by_reason)
        return tuple(f"{', '.join(roles)}: {reason}" for reason, roles in by_reason.items())

    @property
    def names(self) -> str:
        """The models' names for the manifest."""
        names = {role: chosen.name for role, chosen in self.chosen.items()}
        if len(set(names.values())) == 1:
            return self.main.name
        return ", ".join(f"{role} {name}" for role, name in names.items())

    @property
    def is_small(self) -> bool:
        """Whether a model of a few billion weights at most plays, other than the judge."""
        return any(chosen.is_small for role, chosen in self.chosen.items() if role != "judge")

    @property
    def in_flight(self) -> int:
        """How many items are worth working on at once."""
        return max(chosen.settings.max_in_flight for chosen in self.chosen.values())

    def price_of(self, model: str) -> Price | None:
        """The price of a model of this cast by the name that its replies carry, or None where none is known."""
        by_name = {chosen.name: chosen for chosen in self.chosen.values()}
        return _price(by_name.get(model) or self.main, model)

    def price_of_role(self, role: str) -> Price | None:
        """The price of the model that plays ``role``, or None where none is known.

        Raises:
            ConfigError: its file of prices cannot be read.
        """
        return _price(self.chosen[role], self.chosen[role].name)

    def demand_prices(self) -> None:
        """Make sure, before anything is begun, that a ceiling can be kept.

        Raises:
            ConfigError: a file of prices cannot be read, or there is a ceiling and a model without a price.
        """
        ceilings = [chosen.settings.max_cost for chosen in self.chosen.values() if chosen.settings.max_cost is not None]
        for role, chosen in self.chosen.items():
            if self.price_of_role(role) is None and ceilings:
                table = "model" if chosen is self.chosen.get("model") else f"roles.{role}"
                line = f"models.{json.dumps(chosen.name)} = {{ input = 0.15, output = 0.60 }}"
                raise ConfigError(
                    f"no price is known for the model {chosen.name!r}, so no run with it can be kept below "
                    f"${min(ceilings):g}: leave --max-cost (max_cost) out, or put one line like {line} into a file "
                    f"prices.toml, in US dollars per million tokens, and add {table}.prices=prices.toml"
                )

    def opened(
        self,
        meter: Meter,
        journal: ReplyJournal,
        on_wait: Callable[[TransientModelError, float], None] | None = None,
        limit: AdaptiveLimit | None = None,
    ) -> AbstractAsyncContextManager[dict[str, ChatModel]]:
        """The models, each inside its wrappers, for the length of an ``async with`` block: role to ChatModel."""
        return _opened(self, meter, journal, on_wait, limit)


def _price(chosen: ChosenModel, name: str) -> Price | None:
    return FREE if chosen.is_local else PriceTable(chosen.settings.prices).price(name)


@asynccontextmanager
async def _opened(
    cast: Cast,
    meter: Meter,
    journal: ReplyJournal,
    on_wait: Callable[[TransientModelError, float], None] | None,
    limit: AdaptiveLimit | None,
) -> AsyncIterator[dict[str, ChatModel]]:
    async with AsyncExitStack() as opened:
        stacks: dict[int, ChatModel] = {}
        models: dict[str, ChatModel] = {}
        for role, chosen in cast.chosen.items():
            if id(chosen) not in stacks:
                bare = await opened.enter_async_context(chosen.open())
                own = limit if chosen is cast.main else None
                stacks[id(chosen)] = build_stack(
                    bare,
                    chosen.settings,
                    meter=meter,
                    journal=journal,
                    is_local=chosen.is_local,
                    limit=own,
                    on_wait=on_wait,
                )
            models[role] = stacks[id(chosen)]
        yield models
