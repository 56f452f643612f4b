"""A world whose code a stranger wrote, or a language model."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from types import TracebackType
from typing import Any, Self

from pydantic import ValidationError

from simia.errors import ConfigError, SchemaError
from simia.formats.calls import dump_json
from simia.seeds.calls import call_problem
from simia.seeds.declared import check_schemas
from simia.types import JsonObject, State, StateDelta, ToolCall, ToolSpec, Transition, WorldSpec, WorldTask, content_id
from simia.worlds.sandbox import docstrings
from simia.worlds.sandbox.guard import Guard
from simia.worlds.sandbox.limits import Limits
from simia.worlds.sandbox.text import ClassText
from simia.worlds.world import World

NOON = 1_735_732_800.0
"""Where the clock of strange code stands unless told otherwise: 2025-01-01, 12:00 UTC."""


_NOTE = """\
# A result that is an object with "success": false, or with an "error" that says something, is an error. It is shown as
# it is, and changes nothing, whatever was changed before. So is an exception, shown as {"error": "ItsClass: text"}.
# __init__ ran before the state was set: an attribute that is not in the state is as it was made there."""


class SandboxedWorld(World):
    """A Python class given as source text: its public methods are the tools, its attributes the state.

    Nothing of it is executed in this process. For each call a child process (:mod:`simia.worlds.sandbox.child`) takes
    the module as it is when it has just been executed, makes an instance with ``Class({})`` or ``Class()``, sets the
    attributes from the state, and calls the method. An attribute that only the constructor sets enters the state when a
    method changes it.

    Calls are deterministic: the clock stands still at ``now`` in UTC and ``sleep`` returns at once; ``random``,
    ``uuid``, ``secrets`` and the order of sets follow from state and call, or from nothing where the module draws as it
    is executed. So the same call in the same state does the same, on this version of Python. What shows an address of
    an object does not, nor code that goes around this on purpose.

    ``walls`` names what holds. Without ``seccomp`` (no Linux, or a container that forbids it) code that means harm is
    held by Python and by limits alone: enough against mistakes, not against malice.

    A world may be used again after :meth:`close`, which ends the child; so does the end of a ``with`` block.

    Args:
        policy: what the agent is told about the world.
        states: states to start from; without any, and without scenarios, it is the state of a new instance.
        scenarios: tasks without gold calls.
        now: the moment at which the clock stands, in seconds since 1970.

    Raises:
        ConfigError: the text is no Python, has no such class, or the class cannot be made or has no tools.
        SandboxViolation: the code runs into a wall when it is loaded.
    """

    def __init__(
        self,
        name: str,
        code: str,
        class_name: str,
        *,
        licence: str,
        policy: str = "",
        states: Iterable[State] = (),
        scenarios: Iterable[WorldTask] = (),
        limits: Limits | None = None,
        now: float = NOON,
    ) -> None:
        self._text = ClassText(code, class_name, f"the code of the world {name!r}")
        self._states = states
        self._scenarios = scenarios
        self._guard = Guard(name, code, class_name, limits or Limits(), now)
        reply = self._guard.ask("loading the class", {})
        if "error" in reply:
            self.close()
            raise ConfigError(
                f"the class {class_name} of the world {name!r} cannot be made: {reply['error']}; correct it"
            )
        try:
            self._new: State = reply["state"]
            self.spec = WorldSpec(
                name=name,
                policy=policy,
                tools=tuple(map(_tool, reply["tools"])),
                state_schema={"type": "object"},
                licence=licence,
            )
        except (ValidationError, SchemaError) as cause:
            self.close()
            raise ConfigError(f"the methods of {class_name} in the world {name!r} are no tools: {cause}") from cause
        if not self.spec.tools:
            self.close()
            raise ConfigError(f"{class_name} in the world {name!r} has no public method, so an agent could do nothing")

    @property
    def walls(self) -> tuple[str, ...]:
        """What holds the strange code: ``time limit``, ``reply limit``, ``resource limits``, ``audit hook``; then
        ``ordinary user`` where it does not run as root, and ``seccomp`` where the kernel has it and lets us.
        """
        return self._guard.walls

    def initial_states(self) -> Iterator[State]:
        """States to start from: those given, then those of the scenarios; else that of a new instance."""
        empty = True
        for state in self._states:
            empty = False
            yield state
        for scenario in self._scenarios:
            empty = False
            yield scenario.initial_state
        if empty:
            yield self._new

    def tasks(self, count: int | None = None, seed: int = 0, *, without_gold: bool = False) -> Iterator[WorldTask]:
        """None, since no scenario has gold calls; or, ``without_gold``, the first ``count`` scenarios, or all."""
        return islice(iter(self._scenarios if without_gold else ()), count)

    def source_of(self, name: str) -> str | None:
        """The method with what it uses of its class and its module, below a comment that says how refusals are shown;
        None where a base class elsewhere has it.
        """
        source = self._text.source_of(name)
        return None if source is None else f"{_NOTE}\n\n{source}"

    def is_foretellable(self, name: str) -> bool:
        """False for a method that uses ``random``, ``secrets``, ``uuid`` or a clock."""
        return not self._text.draws(name)

    def reached(self, task: WorldTask, calls: Sequence[ToolCall]) -> bool:
        """Whether ``calls``, made one after another from the task's initial state, reach its goal.

        Raises:
            ConfigError: the task has none.
        """
        if not task.goal:
            raise ConfigError(f"the task {task.id!r} has no goal, so nobody can tell whether it is reached; write one")
        return super().reached(task, calls)

    def run(self, state: State, call: ToolCall) -> tuple[Transition, State]:
        """What ``call`` shows and changes in ``state``, and the state after it. ``state`` stays as it is.

        A call is an error that changes nothing if it does not fit the tools; if the method raises, or leaves what has
        no JSON; and if it says so itself, by ``"success": false`` or by an ``"error"`` that says something.

        Raises:
            SandboxViolation: the method ran into a wall.
        """
        problem = call_problem(self.spec, call)
        if problem is not None:
            return _refused({"error": problem}), state
        seed = int(content_id([call.name, call.arguments, state])[:16], 16)
        request = {"seed": seed, "tool": call.name, "arguments": call.arguments}
        reply = self._guard.ask(f"the call of {call.name}", request, state)
        if "error" in reply:
            return _refused({"error": reply["error"]}), state
        result = reply["result"]
        if _is_refusal(result):
            return _refused(result), state
        after: State = state if reply["state"] is None else reply["state"]
        return Transition(observation=_shown(result), delta=StateDelta.between(state, after)), after

    def close(self) -> None:
        """End the child process. The next call starts another."""
        self._guard.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _tool(described: JsonObject) -> ToolSpec:
    parameters = described["parameters"]
    description, arguments = docstrings.split(described["doc"], parameters["properties"].keys())
    for name, text in arguments.items():
        if text:
            parameters["properties"][name]["description"] = text
    tool = ToolSpec(name=described["name"], description=description, parameters=parameters)
    check_schemas(tool)
    return tool


def _is_refusal(result: Any) -> bool:
    return isinstance(result, dict) and (result.get("success") is False or result.get("error") not in (None, "", False))


def _shown(result: Any) -> str:
    return result if isinstance(result, str) else dump_json(result)


def _refused(result: Any) -> Transition:
    return Transition(observation=_shown(result), is_error=True, delta=StateDelta())
