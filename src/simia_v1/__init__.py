"""simia as the environment ``simia-v1`` of verifiers, which finds one by the name of an installed package."""

from simia.environment.adapters.verifiers import SimiaEnv, SimiaTaskset
from simia.environment.adapters.verifiers_agent import SimiaHarness

__all__ = ["SimiaEnv", "SimiaHarness", "SimiaTaskset"]
