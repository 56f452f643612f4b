"""What the worlds of foreign packages share: a fixed list of tasks, and refusals in the words of simia."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, tzinfo
from itertools import islice
from types import SimpleNamespace
from typing import Any

from simia.errors import ConfigError
from simia.formats.calls import dump_json
from simia.seeds.calls import call_problem
from simia.types import JsonObject, State, StateDelta, ToolCall, Transition, WorldSpec, WorldTask
from simia.worlds.world import World


class AdaptedWorld(World):
    """An environment of another package as a world: its tasks are a fixed list, in the order of the package."""

    def tasks(self, count: int | None = None, seed: int = 0) -> Iterator[WorldTask]:
        """The first ``count`` tasks of the package, or all. Nothing is drawn, so ``seed`` changes nothing."""
        return islice(map(self._task, self._sources), count)

    def run(self, state: State, call: ToolCall) -> tuple[Transition, State]:
        """What ``call`` shows and changes in ``state``, and the state after it. ``state`` stays as it is.

        Arguments that do not fit are refused as every world of simia refuses them, not as the package would. A call
        that the package refuses half-way changes nothing here.
        """
        problem = call_problem(self._tools_for(state, call), call)
        if problem is not None:
            return _refused(dump_json({"error": problem})), state
        observation, is_error, after = self._execute(state, call)
        if is_error:
            return _refused(observation), state
        return Transition(observation=observation, delta=StateDelta.between(state, after)), after

    def _tools_for(self, state: State, call: ToolCall) -> WorldSpec:
        """The tools that ``call`` has to fit: those of the spec, or others where more can be executed than it lists."""
        return self.spec

    @property
    @abstractmethod
    def _sources(self) -> dict[str, Any]:
        """The tasks as the package has them, by the id that they have here."""

    @abstractmethod
    def _task(self, task_id: str) -> WorldTask:
        """A task, with its gold calls and the state it begins in."""

    @abstractmethod
    def _execute(self, state: State, call: ToolCall) -> tuple[str, bool, State]:
        """The observation of a call that fits, whether it is an error, and the state after it."""

    def _source(self, task: WorldTask) -> Any:
        """``task`` as the package has it.

        Raises:
            ConfigError: this world has no such task.
        """
        if task.id not in self._sources:
            raise ConfigError(f"the world {self.spec.name} has no task {task.id!r}")
        return self._sources[task.id]


def numbered(calls: Sequence[tuple[str, JsonObject]]) -> tuple[ToolCall, ...]:
    """Calls, given as name and arguments, with the ids ``call_1``, ``call_2`` and so on."""
    return tuple(
        ToolCall(id=f"call_{number}", name=name, arguments=arguments)
        for number, (name, arguments) in enumerate(calls, start=1)
    )


@contextmanager
def at(now: datetime, *modules: Any) -> Iterator[None]:
    """Inside the block it is ``now`` for ``modules``, which have imported ``datetime``, the module or the class."""
    before = [module.datetime for module in modules]
    for module, own in zip(modules, before, strict=True):
        stopped = _StoppedClock(now)
        module.datetime = stopped if own is datetime else SimpleNamespace(**{**vars(own), "datetime": stopped})
    try:
        yield
    finally:
        for module, own in zip(modules, before, strict=True):
            module.datetime = own


class _StoppedClock:
    """In place of the class ``datetime``; whatever it makes is one of the real class, as YAML and pydantic want it."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def __call__(self, *args: Any, **kwargs: Any) -> datetime:
        return datetime(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(datetime, name)

    def now(self, tz: tzinfo | None = None) -> datetime:
        return self._now if tz is None else self._now.replace(tzinfo=tz)

    def today(self) -> datetime:
        return self._now


def _refused(observation: str) -> Transition:
    return Transition(observation=observation, is_error=True, delta=StateDelta())
