"""Training files: every target in one pass over the trajectories, streamed, whole or not there at all."""

from simia.synthesis.export.files import ExportedFile
from simia.synthesis.export.report import ExportReport, ExportStopped, export
from simia.synthesis.export.settings import ExportSettings
from simia.synthesis.export.target import Writer
from simia.synthesis.export.write import CARD, FORMATS, check_formats, open_writer, write

__all__ = [
    "CARD",
    "FORMATS",
    "ExportReport",
    "ExportSettings",
    "ExportStopped",
    "ExportedFile",
    "Writer",
    "check_formats",
    "export",
    "open_writer",
    "write",
]
