"""The passes in their order, over stored records in one stream."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from pydantic import ValidationError

from simia.config import Settings
from simia.errors import ConfigError, FormatError
from simia.synthesis.postprocess import coerce, repair, structure, substance, text
from simia.synthesis.postprocess.edit import Context, Pass, Signs
from simia.types import Dropped, Kept, Seed, Trajectory, WorldSpec

PASSES: dict[str, Pass] = {
    one.name: one
    for one in (
        Pass("repair_json", repair.repair_json, r'"malformed_calls":\[\{'),
        Pass("readable_calls", structure.readable_calls, r'"malformed_calls":\[\{'),
        Pass("known_tools", structure.known_tools),
        Pass("decode_arguments", repair.decode_arguments),
        Pass("coerce_arguments", coerce.coerce_arguments),
        Pass("valid_arguments", structure.valid_arguments),
        Pass("separate_reasoning", text.separate_reasoning, "<think>"),
        Pass("strip_reasoning", text.strip_reasoning, '"reasoning":"'),
        Pass("answered_calls", structure.answered_calls),
        Pass("valid_results", structure.valid_results),
        Pass("turn_order", structure.turn_order),
        Pass("complete_end", structure.complete_end),
        Pass("leaked_markers", text.leaked_markers, text.MARKER_SIGNS),
        Pass("placeholder_ids", text.placeholder_ids, text.PLACEHOLDER_SIGNS),
        Pass("grounded_ids", substance.grounded_ids),
        Pass("no_repetition", substance.no_repetition),
        Pass("leaked_plan", substance.leaked_plan),
        Pass("own_words", substance.own_words),
    )
}
"""Every pass by name, in the order in which they make sense."""

_DEFAULT_PASSES = tuple(name for name in PASSES if name != "strip_reasoning")
_MAX_CONTEXTS = 4096  # worlds times seeds in use; beyond it all are prepared again, so memory stays bounded


class PostprocessSettings(Settings):
    """What is mended and checked in each conversation, without any model. ``passes``: which ones, in which order; a
    pass may stand once. A pass drops a conversation or repairs it.
    """

    passes: tuple[str, ...] = _DEFAULT_PASSES


class Processed(NamedTuple):
    """A kept trajectory and its stored form: the original bytes where no pass changed anything."""

    trajectory: Trajectory
    raw: bytes


class Postprocess:
    """The chosen passes over one record after another; holds nothing of a record once it is done.

    ``world_of`` gives a world by content id, ``seed_of`` a seed by id, or None where it is not at hand: then only the
    world and the initial state speak for an id that looks like a placeholder.

    Raises:
        ConfigError: an unknown pass, or one named twice.
    """

    def __init__(
        self,
        settings: PostprocessSettings,
        world_of: Callable[[str], WorldSpec],
        seed_of: Callable[[str], Seed | None] = lambda seed_id: None,
    ) -> None:
        unknown = [name for name in settings.passes if name not in PASSES]
        if unknown:
            raise ConfigError(f"no postprocess pass {', '.join(unknown)}; there are: {', '.join(PASSES)}")
        twice = [name for name, count in Counter(settings.passes).items() if count > 1]
        if twice:
            raise ConfigError(f"postprocess.passes names {', '.join(twice)} twice: name each pass once")
        chosen = [PASSES[name] for name in settings.passes]
        self._passes = tuple((one, Signs([one.signs]) if one.signs else None) for one in chosen)
        self._any_sign = Signs(one.signs for one in chosen if one.signs)
        self._world_of = world_of
        self._seed_of = seed_of
        self._contexts: dict[tuple[str, str], Context] = {}

    def process(self, raw: bytes) -> Kept[Processed] | Dropped:
        """What becomes of one stored trajectory, given as the compact JSON that the store holds.

        A pass whose signs do not occur in the record is skipped.

        Raises:
            FormatError: the bytes are no trajectory.
        """
        try:
            trajectory = Trajectory.model_validate_json(raw)
        except ValidationError as cause:
            error = cause.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in error["loc"])
            raise FormatError(f"a stored record is no trajectory: {where or '(root)'}: {error['msg']}") from cause
        result = self._run(trajectory, raw.decode())
        if isinstance(result, Dropped):
            return result
        return Kept(Processed(result, raw if result is trajectory else result.model_dump_json().encode()))

    def apply(self, trajectory: Trajectory) -> Kept[Trajectory] | Dropped:
        """The same for a trajectory in memory; every pass is asked."""
        result = self._run(trajectory, None)
        return result if isinstance(result, Dropped) else Kept(result)

    def _run(self, trajectory: Trajectory, record: str | None) -> Trajectory | Dropped:
        context = self._context(trajectory)
        current = trajectory
        quiet = record is not None and not self._any_sign.found_in(record)
        for one, signs in self._passes:
            if signs is not None and record is not None and (quiet or not signs.found_in(record)):
                continue
            result = one.apply(current, context)
            if isinstance(result, Dropped):
                return result
            if result is not current:
                current = result
                if record is not None:
                    record = current.model_dump_json()
                    quiet = not self._any_sign.found_in(record)
        return current

    def _context(self, trajectory: Trajectory) -> Context:
        key = (trajectory.world, trajectory.provenance.seed)
        context = self._contexts.get(key)
        if context is None:
            if len(self._contexts) >= _MAX_CONTEXTS:
                self._contexts.clear()
            context = Context(self._world_of(trajectory.world), self._seed_of(trajectory.provenance.seed))
            self._contexts[key] = context
        return context
