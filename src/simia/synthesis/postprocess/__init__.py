"""Postprocessing: named pure passes over synthesised trajectories.

What a pass does is counted where it lasts, so that a resumed run counts like another: what it drops under its rules, in
the outcomes of the stage (``Counts.dropped``); what it changes under its name, in ``Trajectory.repairs``. Progress,
summary, page and card show both.
"""

from simia.synthesis.postprocess.chain import PASSES, Postprocess, PostprocessSettings, Processed
from simia.synthesis.postprocess.edit import Context, Pass

__all__ = ["PASSES", "Context", "Pass", "Postprocess", "PostprocessSettings", "Processed"]
