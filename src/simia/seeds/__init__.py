"""Reading seeds: from files in the formats that are out there, from world folders, bundled, or executed in tau2."""

from simia.seeds.files import detect_format
from simia.seeds.front_door import bundled_names, read

__all__ = ["bundled_names", "detect_format", "read"]
