"""The episodes of a run: kept as they end, and found again by whoever wants to know what happened."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from heapq import nlargest

from simia.errors import ConfigError
from simia.store import Run
from simia.types import Episode, Failed, JsonObject, Kept, Party, StopReason, WorldSpec

EPISODES = "episodes"
"""The stream that holds them, each under its id."""

_NAMED = 6  # ids in an error


@dataclass(slots=True)
class EpisodeCounts:
    """What became of the episodes that are over.

    ``kept`` are all that were judged or masked, ``masked`` those of them without a reward by whose fault it is;
    ``failed`` are those that nobody could finish. An episode that was played again counts once.
    """

    kept: int = 0
    failed: int = 0
    truncated: int = 0
    masked: Counter[Party] = field(default_factory=Counter)
    stops: Counter[StopReason] = field(default_factory=Counter)
    total: float = 0.0

    def add(self, episode: Episode) -> None:
        """Count one."""
        self.kept += 1
        self.truncated += episode.is_truncated
        self.stops[episode.trajectory.stop_reason] += 1
        if episode.reward is None:
            self.masked[episode.attributed_to] += 1
        else:
            self.total += episode.reward.value

    @property
    def scored(self) -> int:
        """How many have a reward."""
        return self.kept - self.masked.total()

    @property
    def mean_reward(self) -> float | None:
        """Over those that have one; None where none has."""
        return self.total / self.scored if self.scored else None

    def as_json(self) -> JsonObject:
        """The same for programs, the most frequent first."""
        return {
            "kept": self.kept,
            "scored": self.scored,
            "failed": self.failed,
            "truncated": self.truncated,
            "masked": {party.value: count for party, count in self.masked.most_common()},
            "stops": {stop.value: count for stop, count in self.stops.most_common()},
            "mean_reward": self.mean_reward,
        }


class EpisodeLog:
    """The episodes of ``run``, which may be open for reading only, still growing, or cut off by a kill.

    An ordinal is a place in the run; an episode that is played again takes the place of the one before. Of an episode
    nothing is held but where it stands, in 18 bytes for each ordinal up to the largest, so these should be dense.

    Raises:
        CorruptStream: a line of the stream cannot be read.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._stream = run.stream(EPISODES)

    async def append(self, ordinal: int, episode: Episode, world: WorldSpec | None = None) -> None:
        """Keep an episode, masked or not. On return it is with the system: ``kill -9`` does not lose it.

        Args:
            world: the world that it was played in, to be kept once; None where the run has it already.

        Raises:
            FormatError: it holds what has no JSON.
            DiskFull: no room.
            StoreError: the run is not open for writing.
        """
        if world is not None:
            self._run.worlds.put(world)
        await self._stream.append(ordinal, episode.id, Kept(episode))

    def iterate(self) -> Iterator[tuple[int, Episode]]:
        """Every episode that is over with its ordinal, in their order, one at a time; masked ones too."""
        for ordinal, _, episode in self._stream.kept(Episode):
            yield ordinal, episode

    def failed(self) -> Iterator[tuple[str, Failed]]:
        """The id of every episode that nobody could finish, and why."""
        for _, key, why in self._stream.failed():
            yield key, why

    def counts(self) -> EpisodeCounts:
        """What became of all of them; reads them once."""
        counts = EpisodeCounts(failed=self._stream.counts().failed)
        for _, episode in self.iterate():
            counts.add(episode)
        return counts

    def find(self, wanted: str) -> Episode:
        """The episode with this id, or the only one whose id begins or ends so.

        Raises:
            ConfigError: there is none, or there are several; the message names ids that are near.
        """
        exact: int | None = None
        fitting: dict[str, int] = {}
        more = False
        for ordinal, key, _ in self._stream.raw_kept():
            if key == wanted:
                exact = ordinal
            elif key.startswith(wanted) or key.endswith(wanted):
                if key in fitting or len(fitting) < _NAMED:
                    fitting[key] = ordinal
                else:
                    more = True
        if exact is None and len(fitting) == 1:
            exact = next(iter(fitting.values()))
        if exact is None:
            raise ConfigError(self._several(wanted, fitting, more) if fitting else self._missing(wanted))
        outcome = self._stream.outcome_of(exact, Episode)
        assert isinstance(outcome, Kept)
        return outcome.value

    def _several(self, wanted: str, fitting: dict[str, int], more: bool) -> str:
        ids = ", ".join(fitting) + (" and others" if more else "")
        return f"{wanted!r} is the beginning or the end of several episodes: {ids}; give more of the id"

    def _missing(self, wanted: str) -> str:
        """Why there is no such episode. Looks at all ids once more, for an error may be slow."""
        for key, why in self.failed():
            if key == wanted:
                return f"episode {wanted!r} was not finished: {why.error}: {why.message}"
        asked = sum(1 for _ in self._run.calls.of(wanted))
        if asked:
            calls = "1 call of a model is" if asked == 1 else f"{asked:,} calls of models are"
            return (
                f"episode {wanted!r} has no end yet: it is being played, or its run was killed; {calls} in "
                f"{self._run.folder / 'calls.jsonl'}"
            )
        likeness = SequenceMatcher(b=wanted, autojunk=False)

        def like(key: str) -> float:
            likeness.set_seq1(key)
            return likeness.ratio()

        near = nlargest(_NAMED, (key for _, key, _ in self._stream.raw_kept()), key=like)
        if not near:
            return f"no episode {wanted!r} in {self._run.folder}: no episode of this run is over"
        return f"no episode {wanted!r} in {self._run.folder}; near are {', '.join(near)}"
