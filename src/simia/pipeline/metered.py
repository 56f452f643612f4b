"""A run folder at work: begun or gone on with, its usage counted and kept, and removed where it was begun in vain."""

from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from simia.errors import CostCeilingReached, SimiaError
from simia.models.adaptive import AdaptiveLimit
from simia.models.cast import Cast
from simia.models.meter import Meter
from simia.store import Manifest, Run
from simia.types import ChatModel

Watch = Callable[[Meter, AdaptiveLimit], None]
"""Given the meter and the limit of the main model once, to show them."""

_NOTE_EVERY = 8  # outcomes between two notes of usage and cost


class MeteredRun:
    """An open run with the meter of the models of ``cast`` and the limit of its main one; both go on where they were.

    Without a ``cast``, where programs play, there is no limit and nothing to watch.
    """

    def __init__(self, run: Run, cast: Cast | None, watch: Watch | None = None) -> None:
        self.run = run
        self.cast = cast
        self.meter = Meter(run.load_meter())
        self.limit: AdaptiveLimit | None = None
        self._settled = 0
        if cast is not None:
            self.meter.catch_up(run.replies.usage(), cast.price_of)
            self.limit = AdaptiveLimit(cast.main.settings.max_in_flight)
            if watch is not None:
                watch(self.meter, self.limit)

    def note(self) -> None:
        """Keep usage and cost so far in the folder."""
        self.run.save_meter(self.meter.as_dict())

    def settled(self) -> None:
        """One more outcome is there: now and then usage and cost are kept."""
        self._settled += 1
        if self._settled % _NOTE_EVERY == 0:
            self.note()

    @asynccontextmanager
    async def models(self) -> AsyncIterator[dict[str, ChatModel]]:
        """The models of the cast by role, for the length of an ``async with`` block; then usage and cost are kept.

        Only where there is a cast.
        """
        assert self.cast is not None
        async with self.cast.opened(self.meter, self.run.replies, limit=self.limit) as models:
            try:
                yield models
            finally:
                self.note()


@contextmanager
def metered_run(
    folder: Path,
    manifest: Manifest,
    cast: Cast | None,
    *,
    resume: bool,
    free: Collection[str],
    growing: Collection[str],
    own: Collection[str] = (),
    begins_anew: tuple[type[SimiaError], ...] = (),
    watch: Watch | None = None,
) -> Iterator[MeteredRun]:
    """The run in ``folder`` for the length of a ``with`` block: a new one, or with ``resume`` the one that is there.

    A new run that an error ends before anything was paid for or kept is removed. After a cost ceiling it stays: it is
    gone on with under a higher one.

    Args:
        own: names of files and folders that the block makes in the folder, removed with the run where they were not
            there before.
        begins_anew: errors after which a new run is removed whatever it kept, if nothing was paid for.

    Raises:
        StoreError: the run folder; see :class:`simia.store.Run`.
    """
    made = [name for name in own if not (folder / name).exists()]
    opened = Run.resume(folder, manifest, free=free, growing=growing) if resume else Run.create(folder, manifest)
    with opened as run:
        try:
            yield MeteredRun(run, cast, watch)
        except CostCeilingReached:
            raise
        except SimiaError as error:
            if not resume and (run.is_empty or (isinstance(error, begins_anew) and run.is_unpaid)):
                run.discard(made)
            raise
