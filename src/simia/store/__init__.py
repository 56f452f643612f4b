"""A run on disk: its manifest, append-only streams, paid replies, and how to go on after an end of any kind."""

from simia.store.atomic import disk, write_atomically
from simia.store.counts import Counts
from simia.store.line import Fate
from simia.store.lock import is_locked
from simia.store.manifest import Manifest
from simia.store.replies import ReplyLog
from simia.store.run import Run
from simia.store.stream import Stream
from simia.store.worlds import Worlds

__all__ = ["Counts", "Fate", "Manifest", "ReplyLog", "Run", "Stream", "Worlds", "disk", "is_locked", "write_atomically"]
