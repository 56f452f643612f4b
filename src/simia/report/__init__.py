"""What people look at: the page of a run."""

from simia.report.funnel import Anatomy, Funnel, StageTally
from simia.report.run_page import MOST_SHOWN, read_funnel, read_licences, render_run_page

__all__ = ["MOST_SHOWN", "Anatomy", "Funnel", "StageTally", "read_funnel", "read_licences", "render_run_page"]
