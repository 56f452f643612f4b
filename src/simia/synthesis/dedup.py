"""Copies go: of seeds, of the exemplar in the prompt, and of conversations that were kept before."""

import hashlib
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import rensa
from pydantic import Field

from simia.config import Settings
from simia.synthesis.bands import BandIndex
from simia.types import Dropped, Message, Seed, Trajectory, canonical_json

_SHINGLE_WORDS = 3
_SHINGLE_CHARACTERS = 8
_SEED = 1  # of the hash functions; another one would give other estimates
_RECALL = 0.95  # of pairs exactly at the threshold, by the bands; the more alike, the surer
_WHITE = b" \t\n\r\v\f"
_LOWER = bytes(range(256)).lower()
_SEPARATOR = "\0\0"
_SPACES = {code: " " for code in range(128) if not chr(code).isalnum()}


class DedupSettings(Settings):
    """When a conversation is dropped as a copy. ``near``: from which Jaccard similarity of three-word shingles on it is
    a copy of a kept one or of a seed; 1.0 compares exactly only. ``exemplar``: the same against the seed that stood in
    its prompt, so lower. ``permutations``: of a MinHash; with 128 an estimate errs by about 0.03.
    """

    near: float = Field(default=0.85, ge=0.3, le=1.0)
    exemplar: float = Field(default=0.7, ge=0.3, le=1.0)
    permutations: int = Field(default=128, ge=32, le=512, multiple_of=32)


@dataclass(frozen=True, slots=True)
class _Known:
    """A seed: the hash of its task, and the MinHash of its conversation."""

    task: bytes
    sketch: rensa.RMinHash


class Dedup:
    """Says of one conversation after another whether it is a copy; the first of its kind wins.

    Ask in ordinal order, and the same run gives the same answers everywhere. Of each kept conversation and each seed
    about 1.2 KB stay in memory (measured: a MinHash of 0.6, its 16 bands, a digest), and nothing of dropped ones.

    Rules: ``exemplar_copy`` (of the seed it was made from, or with that seed's task), ``seed_copy``,
    ``exact_duplicate``, ``near_duplicate``.
    """

    def __init__(self, settings: DedupSettings, seeds: Iterable[Seed] = ()) -> None:
        self._settings = settings
        self._index = BandIndex(settings.permutations, bands_for(settings.near, settings.permutations))
        self._sketches: list[rensa.RMinHash] = []
        self._ordinals = array("q")  # of a kept conversation; -1 - place for a seed
        self._exact: dict[bytes, int] = {}
        self._seeds: dict[str, _Known] = {}
        self._seed_ids: list[str] = []
        self._asked = 0
        for seed in seeds:
            self._learn(seed)

    def check(self, trajectory: Trajectory, ordinal: int | None = None) -> Dropped | None:
        """Why ``trajectory`` is a copy, or None; then it is remembered. ``ordinal`` names it in later answers, by
        default its place among those asked about, from 0.
        """
        ordinal = self._asked if ordinal is None else ordinal
        self._asked += 1
        digest = exact_digest(trajectory.messages)
        same = self._exact.get(digest)
        own_id = trajectory.provenance.seed
        if same is not None:
            return self._copy(same, own_id, "exact_duplicate", "the same conversation as")
        own = self._seeds.get(own_id)
        if own is not None and own.task == _task_digest(trajectory.task):
            return Dropped("exemplar_copy", f"the task is that of seed {own_id}")
        sketch = self._sketch(trajectory.messages)
        if own is not None:
            similarity = sketch.jaccard(own.sketch)
            if similarity >= self._settings.exemplar:
                return Dropped("exemplar_copy", f"{similarity:.2f} like seed {own_id}")
        bands = self._bands(sketch)
        if bands:
            for place in sorted(self._index.find(bands)):
                similarity = sketch.jaccard(self._sketches[place])
                if similarity >= self._settings.near:
                    return self._copy(self._ordinals[place], own_id, "near_duplicate", f"{similarity:.2f} like")
        self._remember(digest, sketch, bands, ordinal)
        return None

    def _copy(self, which: int, own_id: str, rule: str, how: str) -> Dropped:
        if which >= 0:
            return Dropped(rule, f"{how} item {which}")
        seed_id = self._seed_ids[-1 - which]
        return Dropped("exemplar_copy" if seed_id == own_id else "seed_copy", f"{how} seed {seed_id}")

    def _learn(self, seed: Seed) -> None:
        which = -1 - len(self._seed_ids)
        self._seed_ids.append(seed.id)
        sketch = self._sketch(seed.reference)
        self._seeds.setdefault(seed.id, _Known(_task_digest(seed.task), sketch))
        self._remember(exact_digest(seed.reference), sketch, self._bands(sketch), which)

    def _remember(self, digest: bytes, sketch: rensa.RMinHash, bands: list[int], which: int) -> None:
        self._exact.setdefault(digest, which)
        if bands:
            self._index.add(bands)
            self._sketches.append(sketch)
            self._ordinals.append(which)

    def _bands(self, sketch: rensa.RMinHash) -> list[int]:
        """None where conversations are compared exactly only."""
        return self._index.bands_of(sketch.digest()) if self._settings.near < 1.0 else []

    def _sketch(self, messages: Sequence[Message]) -> rensa.RMinHash:
        sketch = rensa.RMinHash(self._settings.permutations, _SEED)
        sketch.update(shingles(_text(messages)))
        return sketch


def exact_digest(messages: Sequence[Message]) -> bytes:
    """A digest that is equal for conversations that differ only in white space, ASCII case, call ids or reasoning."""
    said: list[str] = []
    called: list[str] = []
    for position, message in enumerate(messages):
        said += (message.role, message.content)
        if message.role == "assistant":
            for call in message.tool_calls:
                called += (f"call {position}", call.name, canonical_json(call.arguments).decode())
            for malformed in message.malformed_calls:
                called += (f"malformed {position}", malformed.text)
    words = _SEPARATOR.join(said).encode("utf-8", "surrogatepass").translate(_LOWER, _WHITE)
    calls = _SEPARATOR.join(["", *called]).encode("utf-8", "surrogatepass")
    return hashlib.sha256(words + calls).digest()[:16]


def shingles(text: str) -> list[str]:
    """Every three words of ``text`` that follow each other, in lower case, without punctuation, as often as they come:
    a MinHash is the same with and without repetitions, and rensa takes a list four times as fast as a set.

    A text with hardly any word borders (Chinese, Japanese, Thai) gives runs of eight characters instead.
    """
    words = text.lower().translate(_SPACES).split()
    if len(words) * 16 < len(text):
        joined = "".join(words)
        last = max(len(joined) - _SHINGLE_CHARACTERS, 0)
        return [joined[place : place + _SHINGLE_CHARACTERS] for place in range(last + 1)]
    if len(words) < _SHINGLE_WORDS:
        return [" ".join(words)]
    return list(map(" ".join, zip(words, words[1:], words[2:], strict=False)))


def bands_for(threshold: float, permutations: int) -> int:
    """The fewest bands that find 95 % of the pairs exactly at ``threshold``: 1 - (1 - s^r)^b with b bands of r rows."""
    for bands in range(1, permutations):
        if permutations % bands == 0 and 1 - (1 - threshold ** (permutations // bands)) ** bands >= _RECALL:
            return bands
    return permutations


def _text(messages: Sequence[Message]) -> str:
    """What user and agent say and call. Observations are left out: they follow from the calls, and a listing that many
    conversations show would make them alike.
    """
    parts: list[str] = []
    for message in messages:
        if message.role == "tool":
            continue
        parts.append(message.content)
        if message.role == "assistant":
            for call in message.tool_calls:
                parts.append(call.name)
                parts.append(canonical_json(call.arguments).decode("utf-8", "surrogatepass"))
    return "\n".join(parts)


def _task_digest(task: str) -> bytes:
    return hashlib.sha256(" ".join(task.lower().translate(_SPACES).split()).encode()).digest()[:16]
