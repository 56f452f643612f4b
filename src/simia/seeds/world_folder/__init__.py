"""A domain as a folder: ``world.toml``, ``policy.md``, ``tools.json``, ``seeds.jsonl``, maybe ``state_schema.json``.

Users write such folders for their own domains; the bundled worlds are such folders.
"""

from simia.seeds.world_folder.check import Finding, check_world
from simia.seeds.world_folder.reading import (
    WORLD_FILE,
    WorldSettings,
    is_world_folder,
    read_seeds,
    read_settings,
    read_world,
)
from simia.seeds.world_folder.scaffold import scaffold
from simia.seeds.world_folder.writing import seed_record, write_world

__all__ = [
    "WORLD_FILE",
    "Finding",
    "WorldSettings",
    "check_world",
    "is_world_folder",
    "read_seeds",
    "read_settings",
    "read_world",
    "scaffold",
    "seed_record",
    "write_world",
]
