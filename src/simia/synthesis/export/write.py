"""Training files: every target in one pass over the trajectories, streamed; put in place when all are whole."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from simia.errors import ConfigError, ExtraMissing, StoreError
from simia.store.atomic import remove
from simia.synthesis.export.chat import OpenAIWriter, PromptCompletionWriter, TrlWriter
from simia.synthesis.export.files import ExportedFile, NewFile
from simia.synthesis.export.prompted import Llama3Writer, LlamaFactoryWriter, registered_files
from simia.synthesis.export.settings import ExportSettings
from simia.synthesis.export.target import Writer
from simia.types import Trajectory, WorldSpec


def _parquet() -> Callable[[Path, ExportSettings], Writer]:
    try:
        from simia.synthesis.export.parquet import ParquetWriter
    except ImportError:
        raise ExtraMissing("parquet", "the export format trl-parquet") from None
    return ParquetWriter


def _parquet_writer(folder: Path, settings: ExportSettings) -> Writer:
    return _parquet()(folder, settings)


CARD = "README.md"
"""The name of the card in the export folder."""

FORMATS: dict[str, Callable[[Path, ExportSettings], Writer]] = {
    "trl": TrlWriter,
    "trl-parquet": _parquet_writer,
    "prompt-completion": PromptCompletionWriter,
    "openai": OpenAIWriter,
    "llamafactory": LlamaFactoryWriter,
    "llama3": Llama3Writer,
}
"""The targets by name, each with what opens its writer on an export folder."""


def check_formats(formats: Sequence[str]) -> None:
    """Make sure, before anything is paid for, that all ``formats`` can be written.

    Raises:
        ConfigError: an unknown format, or one named twice.
        ExtraMissing: a format needs an extra.
    """
    if len(set(formats)) < len(formats):
        raise ConfigError(f"export.formats names one twice: {', '.join(formats)}")
    for name in formats:
        if name not in FORMATS:
            raise ConfigError(f"no export format {name!r}; there are: {', '.join(FORMATS)}")
        if name == "trl-parquet":
            _parquet()


def open_writer(name: str, folder: Path, settings: ExportSettings) -> Writer:
    """A writer of the target ``name`` under ``folder``; each target has a folder of its own there.

    Raises:
        ConfigError: no such target.
        ExtraMissing: the target needs an extra.
        StoreError: the folder cannot be written.
    """
    check_formats([name])
    return FORMATS[name](folder, settings)


def write(
    formats: Sequence[str],
    trajectories: Iterable[tuple[int, Trajectory]],
    world_of: Callable[[str], WorldSpec],
    folder: Path,
    settings: ExportSettings,
    card: Callable[[tuple[ExportedFile, ...]], str] | None = None,
) -> tuple[ExportedFile, ...]:
    """Write all ``formats`` under ``folder`` in one pass; ``world_of`` gives a world by content id, and ``card`` the
    text of the card once the files are known.

    The same trajectories give the same bytes, which replace those of an earlier export; its files of targets that are
    not among ``formats`` are removed, since the card would not tell of them. Nothing is replaced before every new file
    and the card are whole on the disk: what goes wrong until then, a full disk above all, leaves the earlier export as
    it was and nothing beside it. What stays open is the moment of the renames, one file after another: a power cut
    there leaves new files beside earlier ones. The card comes last, so the one that lies there tells by its hashes;
    exporting again mends it.

    Raises:
        ConfigError: an unknown format, or one named twice.
        ExtraMissing: a format needs an extra.
        FormatError: a trajectory that cannot be spelled, such as one with a malformed call.
        StoreError: the ordinals do not ascend, or the folder cannot be written.
    """
    check_formats(formats)
    before = -1
    with ExitStack() as unfinished:
        writers = []
        for name in formats:
            writer = open_writer(name, folder, settings)
            unfinished.callback(writer.abort)
            writers.append(writer)
        for ordinal, trajectory in trajectories:
            if ordinal <= before:
                raise StoreError(f"trajectory {ordinal} comes after {before}: give them in ordinal order")
            before = ordinal
            world = world_of(trajectory.world)
            for writer in writers:
                writer.add(trajectory, world)
        files = tuple(file for writer in writers for file in writer.finish())
        described = None
        if card is not None:
            described = NewFile(folder, CARD, "card")
            unfinished.callback(described.abort)
            described.write(card(files).encode(), records=0)
            described.finish()
        for writer in writers:
            writer.place()
        _remove_others(folder, formats)
        if described is not None:
            described.place()
        return files


def _remove_others(folder: Path, formats: Sequence[str]) -> None:
    """Remove what an earlier export wrote for targets that are not among ``formats``; foreign files stay."""
    for name in FORMATS.keys() - set(formats):
        one = folder / name / ("train.parquet" if name == "trl-parquet" else "train.jsonl")
        for path in registered_files(folder) if name == "llamafactory" else {one}:
            remove(path)
        with suppress(OSError):  # it was never there, or something of the user's is in it
            (folder / name).rmdir()
