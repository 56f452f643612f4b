"""What a user configures about measuring a simulator."""

from typing import Literal

from pydantic import Field

from simia.config import Name, Settings
from simia.models.settings import OPERATIONAL, ModelSettings
from simia.types import JsonObject

Setting = Literal["constrained", "tracked", "hidden"]

FREE = frozenset({"config.suite", *(f"config.model.{key}" for key in OPERATIONAL)})
"""Keys of a manifest that a resumed run may change: where the suite is, whose content the manifest tells apart, and how
the model is reached."""

GROWING = frozenset({"config.limit", "config.drift"})
"""Keys whose number may be larger in a resumed run."""


class BenchSettings(Settings):
    """What ``simia bench run`` asks of a simulator.

    ``suite`` is a bundled suite or a file of ``simia bench build``. ``setting`` is what the simulator sees:
    "constrained" the state and the code of the called tool (EnvSimBench's), "tracked" the state without code, "hidden"
    only what happened before, as in a conversation, and what the tool returned in an example episode; there it is asked
    for no state, and Feedback Match is all that is measured.

    ``limit`` asks only so many samples, the same share of every cell; 0 is all. ``drift`` follows so many episodes per
    world, in which the simulator goes on from its own state.

    ``boxed`` measures the simulator as simia uses it: an answer that breaks tool schema, state schema or invariants
    goes back with the reason up to ``max_repairs`` times. Without it the first answer counts, as published.

    ``temperature``, ``max_tokens`` and ``seed`` are those of the requests; ``structured`` lets a server that can hold
    the reply to its schema do so.
    """

    name: Name = "bench"
    suite: str = "simbench-400"
    setting: Setting = "constrained"
    limit: int = Field(default=0, ge=0)
    drift: int = Field(default=0, ge=0)
    boxed: bool = False
    max_repairs: int = Field(default=2, ge=0)
    temperature: float = Field(default=0.0, ge=0)
    max_tokens: int = Field(default=2048, ge=64)
    structured: bool = True
    seed: int = 0
    model: ModelSettings = ModelSettings()

    def recorded(self) -> JsonObject:
        """Every setting as ``run.json`` keeps it. The suite's content is told apart, by its hash."""
        return self.model_dump(mode="json")
