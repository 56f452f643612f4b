"""Worlds whose code is not ours: executed in a child process that can do nothing but compute.

docs/adr/0007 says against what it protects, and against what it does not.
"""

from simia.worlds.sandbox.limits import Limits
from simia.worlds.sandbox.module import read_module
from simia.worlds.sandbox.world import NOON, SandboxedWorld

__all__ = ["NOON", "Limits", "SandboxedWorld", "read_module"]
