"""A small file system with owners, modes and a trash, used through shell-like tools."""

import random

from simia.types import State
from simia.worlds.executable import ExecutableWorld, spec_of
from simia.worlds.files.state import INVARIANTS, FilesState, draw_state
from simia.worlds.files.tasks import KINDS
from simia.worlds.files.tools import TOOLS


class FilesWorld(ExecutableWorld):
    """A machine of several people; trees are moved, copied and given a mode at once, files removed by pattern."""

    def __init__(self) -> None:
        spec = spec_of("files", __package__, FilesState, TOOLS, INVARIANTS)
        super().__init__(spec, {tool.__name__: tool for tool in TOOLS}, KINDS)

    def initial_state(self, rng: random.Random) -> State:
        """A home with a project, notes and logs, and what two others keep beside it."""
        return draw_state(rng)


WORLD = FilesWorld
