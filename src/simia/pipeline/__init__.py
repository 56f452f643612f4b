"""A stage over many items: a sliding window on asyncio, or one synchronous pass. Every item has one outcome."""

from simia.pipeline.fate import FATAL
from simia.pipeline.item import Item, Pass, Stage
from simia.pipeline.observer import Observer, Silent
from simia.pipeline.passes import run_pass
from simia.pipeline.window import run_stage
from simia.store import Counts

__all__ = ["FATAL", "Counts", "Item", "Observer", "Pass", "Silent", "Stage", "run_pass", "run_stage"]
