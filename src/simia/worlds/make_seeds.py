"""Makes the bundled seeds: plays every scripted dialogue in its executable world and writes the world folders.

Run ``python -m simia.worlds.make_seeds`` after changing a world or a dialogue; a test holds the two together.
"""

import sys
from pathlib import Path

from simia.seeds import world_folder
from simia.seeds.front_door import BUNDLED
from simia.types import Seed
from simia.worlds import load
from simia.worlds.dialogue import Dialogue, play
from simia.worlds.office.dialogues_documents import document_dialogues
from simia.worlds.office.dialogues_meetings import meeting_dialogues
from simia.worlds.shop.dialogues_orders import order_dialogues
from simia.worlds.shop.dialogues_returns import return_dialogues

LICENCE_NOTE = """The files of this folder (policy, tools, schemas, seed conversations) are part of simia, written
for it, and licensed under the Apache License, Version 2.0 (SPDX: Apache-2.0); see the LICENSE file of simia.
All people, companies, addresses and orders in them are invented.
"""
SEEDED = ("office", "shop")
"""The worlds with bundled seeds."""

_NOTE = """Made by `python -m simia.worlds.make_seeds`; change the world or its dialogues, not this folder."""


def dialogues(name: str) -> tuple[Dialogue, ...]:
    """The scripted dialogues of the world called ``name``."""
    return {
        "office": (*meeting_dialogues(), *document_dialogues()),
        "shop": (*order_dialogues(), *return_dialogues()),
    }[name]


def seeds(name: str) -> tuple[Seed, ...]:
    """The bundled seeds of the world called ``name``, freshly executed."""
    world = load(name)
    return tuple(play(world, dialogue) for dialogue in dialogues(name))


def write(folder: Path) -> None:
    """Write every bundled world folder under ``folder``."""
    for name in SEEDED:
        world_folder.write_world(folder / name, load(name).spec, seeds(name), _NOTE)
        (folder / name / "LICENSE").write_text(LICENCE_NOTE, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else BUNDLED)
