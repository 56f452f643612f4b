"""A suite on disk: one file that holds everything a simulator is asked and is measured against.

JSON Lines, gzipped: a head with the worlds' specs (code included), then episodes, then samples. It needs no world to be
installed, so that a suite made from any world can be run anywhere. The same content always gives the same bytes.
"""

import gzip
import hashlib
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from simia.bench.sample import Episode, Sample
from simia.errors import ConfigError, FormatError, StateError
from simia.formats.calls import dump_json, load_json
from simia.store.atomic import ELSEWHERE, LOOK, disk, write_atomically
from simia.types import Value, WorldSpec

FORMAT = 1
BUNDLED = Path(__file__).parent / "data"
SUFFIX = ".jsonl.gz"

_REMEDY = "make it again with simia bench build"


class SuiteHead(Value):
    """What a suite says of itself.

    ``worlds`` are the specs by name, with the code of their tools where it can be had. ``quotas`` are the cells with
    their counts, ``worlds_by_cell`` how many samples of each cell come from which world.
    """

    format: Literal[1] = 1
    name: str
    version: str
    licence: str
    made_by: str
    seed: int
    worlds: dict[str, WorldSpec]
    quotas: dict[str, int]
    worlds_by_cell: dict[str, dict[str, int]]
    note: str = ""

    def counts(self) -> Counter[str]:
        """How many samples come from which world."""
        counted: Counter[str] = Counter()
        for by_world in self.worlds_by_cell.values():
            counted.update(by_world)
        return +counted


@dataclass(frozen=True)
class Suite:
    """A suite in memory. ``sha256`` is of the file's content before it was packed."""

    head: SuiteHead
    episodes: tuple[Episode, ...]
    samples: tuple[Sample, ...]
    sha256: str

    def examples(self, world: str) -> tuple[Episode, ...]:
        """The episodes of one world that simulators may see."""
        return tuple(one for one in self.episodes if one.world == world and one.role == "example")


def pack(head: SuiteHead, episodes: tuple[Episode, ...], samples: tuple[Sample, ...]) -> tuple[bytes, str]:
    """The file's bytes, and the SHA-256 of what is packed in them."""
    lines = [
        _line("suite", head),
        *(_line("episode", one) for one in episodes),
        *(_line("sample", one) for one in samples),
    ]
    content = b"\n".join(lines) + b"\n"
    return gzip.compress(content, compresslevel=9, mtime=0), hashlib.sha256(content).hexdigest()


def write_suite(path: Path, head: SuiteHead, episodes: tuple[Episode, ...], samples: tuple[Sample, ...]) -> str:
    """Write a suite file whole or not at all; gives its SHA-256.

    Raises:
        StoreError: the file cannot be written.
    """
    content, digest = pack(head, episodes, samples)
    with disk(path, "make the folder of", ELSEWHERE):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content, ELSEWHERE)
    return digest


def bundled_suites() -> tuple[str, ...]:
    """The names of the suites that come with simia."""
    return tuple(sorted(path.name.removesuffix(SUFFIX) for path in BUNDLED.glob(f"*{SUFFIX}")))


def suite_path(name_or_path: str) -> Path:
    """The file of a bundled name or a path.

    Raises:
        ConfigError: there is none; the message lists those that come with simia.
    """
    path = Path(name_or_path).expanduser()
    if path.is_file():
        return path
    bundled = BUNDLED / f"{name_or_path}{SUFFIX}"
    if bundled.is_file():
        return bundled
    names = ", ".join(bundled_suites()) or "none"
    raise ConfigError(f"no suite {name_or_path!r}: give a file of simia bench build, or a bundled one ({names})")


def read_suite(path: Path, remedy: str = _REMEDY) -> Suite:
    """The suite in ``path``. ``remedy`` is what is told where the file is damaged.

    Raises:
        ConfigError: the file is no suite, or one that an other version of simia wrote; the message names the line.
        StoreError: the file cannot be read.
    """
    with disk(path, "read", LOOK):
        packed = path.read_bytes()
    try:
        content = gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed
    except (OSError, EOFError, zlib.error) as cause:
        raise ConfigError(f"{path} is cut or damaged ({cause}): {remedy}") from cause
    head: SuiteHead | None = None
    episodes: list[Episode] = []
    samples: list[Sample] = []
    for number, kind, value in _records(path, content):
        try:
            if number == 1 and kind != "suite":
                break
            if number > 1 and kind == "suite":
                raise ConfigError(f"{path}:{number}: a second head, as of two suites in one file: keep one")
            if kind == "suite":
                head = SuiteHead.model_validate(value)
            elif kind == "episode":
                episodes.append(Episode.model_validate(value))
            elif kind == "sample":
                sample = Sample.model_validate(value)
                sample.delta.apply(sample.state)
                samples.append(sample)
            else:
                raise ConfigError(f"{path}:{number}: a {kind!r} is nothing that this version of simia knows")
        except ValidationError as cause:
            first = cause.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise ConfigError(
                f"{path}:{number}: no {kind} of this version of simia: {where}: {first['msg']}"
            ) from cause
        except StateError as cause:
            raise ConfigError(
                f"{path}:{number}: the changes of the sample do not fit its state ({cause}): {remedy}"
            ) from cause
    if head is None:
        raise ConfigError(f"{path} is no suite of simia: its first line is no head; simia bench build makes suites")
    missing = sorted(({one.world for one in samples} | {one.world for one in episodes}) - set(head.worlds))
    if missing:
        raise ConfigError(f"{path}: samples of {', '.join(missing)}, whose spec the suite does not have")
    if Counter(one.world for one in samples) != head.counts():
        raise ConfigError(
            f"{path}: its samples are not those that its head tells of, so it was cut or changed: {remedy}"
        )
    digest = hashlib.sha256(content).hexdigest()
    if path.parent == BUNDLED and digest != (known := _known_digest(path)):
        raise ConfigError(f"{path} is not the suite that came with simia ({known}): install simia again")
    return Suite(head, tuple(episodes), tuple(samples), digest)


def _known_digest(path: Path) -> str:
    """The SHA-256 of a bundled suite, which stands in a file beside it."""
    with disk(path, "read", LOOK):
        return path.with_name(path.name.removesuffix(SUFFIX) + ".sha256").read_text(encoding="utf-8").split()[0]


def _records(path: Path, content: bytes) -> Iterator[tuple[int, str, Any]]:
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            record = load_json(line)
        except FormatError as cause:
            raise ConfigError(f"{path}:{number}: {cause}; is it a suite of simia bench build?") from cause
        if not isinstance(record, dict) or len(record) != 1:
            raise ConfigError(f"{path}:{number}: no line of a suite; is it a file of simia bench build?")
        ((kind, value),) = record.items()
        yield number, kind, value


def _line(kind: str, value: Value) -> bytes:
    # Keys stay in their order: a tool may show rows in the order of a table.
    return dump_json({kind: value.model_dump(mode="json")}).encode()
