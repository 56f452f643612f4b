"""Postprocessing: named pure passes over synthesised trajectories, each counted."""

from simia.synthesis.postprocess.chain import PASSES, PassCounts, Postprocess, PostprocessSettings, Processed
from simia.synthesis.postprocess.edit import Context, Pass

__all__ = ["PASSES", "Context", "Pass", "PassCounts", "Postprocess", "PostprocessSettings", "Processed"]
