"""Training files: every target in one pass over the trajectories, streamed, whole or not there at all."""

from simia.synthesis.export.files import ExportedFile
from simia.synthesis.export.report import ExportReport, export
from simia.synthesis.export.settings import ExportSettings
from simia.synthesis.export.target import Writer
from simia.synthesis.export.write import FORMATS, open_writer, write

__all__ = ["FORMATS", "ExportReport", "ExportSettings", "ExportedFile", "Writer", "export", "open_writer", "write"]
