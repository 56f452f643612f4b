"""A lending library: members, copies, loans, holds, fines in whole cents, and days on which it is closed."""

import random

from simia.types import State
from simia.worlds.executable import ExecutableWorld, spec_of
from simia.worlds.library.state import INVARIANTS, LibraryState, draw_state
from simia.worlds.library.tasks import KINDS
from simia.worlds.library.tools import TOOLS


class LibraryWorld(ExecutableWorld):
    """Alder Library, with fourteen tools; ``return_copies``, ``renew_all`` and ``close_on`` take many at once."""

    def __init__(self) -> None:
        spec = spec_of("library", __package__, LibraryState, TOOLS, INVARIANTS)
        super().__init__(spec, {tool.__name__: tool for tool in TOOLS}, KINDS)

    def initial_state(self, rng: random.Random) -> State:
        """Five titles in ten copies, four members, some loans and holds."""
        return draw_state(rng)


WORLD = LibraryWorld
