"""Whether an executable world keeps its promises: it is walked along its gold calls and beside them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from statistics import median
from typing import Any, Literal

from simia.errors import FormatError, SandboxViolation, SchemaError, SimiaError, StateError, boundary
from simia.formats.calls import load_json
from simia.seeds.invariants import broken, check_expression, violations
from simia.seeds.world_folder import Finding
from simia.types import JsonObject, State, ToolCall, Transition, WorldTask, canonical_json, same, schema_for
from simia.worlds.digest import TASKS, digests, digests_elsewhere
from simia.worlds.drawn import next_call
from simia.worlds.trials import beginnings, looks, trials
from simia.worlds.world import World


@dataclass
class Figures:
    """What a world offers, counted along the gold calls of the tasks looked at; where a task has none, along calls that
    are drawn in their place, ``drawn`` of all.

    ``changes`` counts calls by the number of their changes; ``others`` are the calls tried beside the gold ones, of
    which ``refused`` were refused; ``unused`` are tools that no gold call uses, ``without_arguments`` those that need
    none. A state counts in bytes of JSON.
    """

    tasks: int = 0
    calls: int = 0
    drawn: int = 0
    changes: Counter[int] = field(default_factory=Counter)
    others: int = 0
    refused: int = 0
    state_median: int = 0
    state_largest: int = 0
    unused: tuple[str, ...] = ()
    without_arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Checked:
    """What a check has to say: faults, and figures that are none."""

    findings: list[Finding]
    figures: Figures


def check(world: World, tasks: int = 50, seed: int = 0, *, name: str | None = None) -> list[Finding]:
    """The faults of ``world`` as far as so many tasks show them; empty: all is well. See :func:`examine`."""
    return examine(world, tasks, seed, name=name).findings


def examine(world: World, tasks: int = 50, seed: int = 0, *, name: str | None = None) -> Checked:
    """The faults and the figures of ``world``, from so many tasks that ``seed`` draws.

    With the ``name`` by which :func:`simia.worlds.door.open_world` knows it, a fresh process with other hash salts and
    another time zone must give the same transitions. Where a tool has a fault of one kind several times, the first is
    told.
    """
    examination = _Examination(world)
    examination.look_at_spec()
    if not examination.has_faults:  # nothing can be walked with schemas that are none
        examination.walk(tasks, seed)
    if name is not None and not examination.has_faults:
        examination.compare(name, tasks, seed)
    return Checked(examination.findings(), examination.figures)


class _Examination:
    """One world being looked at."""

    def __init__(self, world: World) -> None:
        self.figures = Figures(without_arguments=tuple(call.name for call in looks(world.spec)))
        self._world = world
        self._found: dict[tuple[str, str], Finding] = {}
        self._times: Counter[tuple[str, str]] = Counter()

    @property
    def has_faults(self) -> bool:
        """Whether anything but a warning was found."""
        return any(finding.severity == "error" for finding in self._found.values())

    def findings(self) -> list[Finding]:
        """What was found so far, the first of each kind and subject."""
        told = []
        for key, one in self._found.items():
            more = self._times[key] - 1
            problem = f"{one.problem} (and {more} more like it)" if more else one.problem
            told.append(Finding(one.severity, one.where, problem, one.remedy))
        return told

    def look_at_spec(self) -> None:
        """Everything that can be told without a call."""
        spec = self._world.spec
        for tool in spec.tools:
            self._look_at_schema(f"tool {tool.name}, parameters", tool.parameters)
            self._look_at_schema(f"tool {tool.name}, returns", tool.returns)
        self._look_at_schema("state schema", spec.state_schema)
        for law in spec.invariants:
            for expression in (law.expression, law.refers_to or "@"):
                try:
                    check_expression(expression)
                except SchemaError as error:
                    self._fault(law.name, f"law {law.name!r}", str(error), "correct the expression")

    def walk(self, tasks: int, seed: int) -> None:
        """Every task: its state, its gold calls and the calls beside them, its goal."""
        sizes: list[int] = []
        used: set[str] = set()
        drawn: list[str] = []
        try:
            for task in self._drawn(tasks, seed):
                drawn.append(task.content_id)
                used.update(call.name for call in task.gold)
                sizes += [len(canonical_json(state)) for state in self._walk(task, seed)]
            again = [task.content_id for task in self._drawn(tasks, seed)]
        except SimiaError as error:
            self._fault("tasks", "tasks", str(error), "mend what draws states and tasks, or the laws")
            return
        if drawn != again:
            problem = f"seed {seed} draws other tasks the second time"
            self._fault("tasks", "tasks", problem, "draw with the generator that is given, and with nothing else")
        figures = self.figures
        figures.tasks = len(drawn)
        figures.state_median, figures.state_largest = (int(median(sizes)), max(sizes)) if sizes else (0, 0)
        figures.unused = tuple(tool.name for tool in self._world.spec.tools if tool.name not in used)

    def compare(self, name: str, tasks: int, seed: int) -> None:
        """The world here and in a fresh process."""
        try:
            here, there = digests(self._world, tasks, seed), digests_elsewhere(name, tasks, seed)
        except SimiaError as error:
            self._fault("process", "a fresh process", str(error), "make the world work in any process")
            return
        differ = [subject for subject, digest in here.items() if digest != there.get(subject)]
        for subject in [TASKS] if TASKS in differ else differ:  # of other tasks, every transition is another
            self._fault(
                subject,
                subject if subject == TASKS else f"tool {subject}",
                "a fresh process with another PYTHONHASHSEED and TZ gives something else",
                "sort what comes out of a set; take time and chance from the state",
            )

    def _drawn(self, tasks: int, seed: int) -> Iterator[WorldTask]:
        with boundary(SimiaError, "draw the tasks"):
            yield from islice(beginnings(self._world, tasks, seed), tasks)

    def _walk(self, task: WorldTask, seed: int) -> Iterator[State]:
        """Make the calls of ``task``; gives its states, as long as nothing stops it."""
        kind = "gold" if task.gold else "drawn"
        state = task.initial_state
        yield state
        if not self._is_lawful(
            "states", f"the state that {task.id} begins in", state, "mend what draws it, or the law"
        ):
            return
        if task.goal and not broken(task.goal, state):
            self._fault("goal", f"goal of {task.id}", "holds before any call", "demand what only the calls bring about")
        self._try_all(looks(self._world.spec), state, task)
        refused: list[tuple[str, str, str]] = []
        for number in count():
            call = next_call(self._world.spec, task, state, number, seed)
            if call is None:
                break
            self._try_all(trials(state, call), state, task)
            where = f"tool {call.name} in {task.id}, {kind} call {number + 1}"
            done = self._make(state, call, where)
            if done is None:
                return
            transition, state = done
            self.figures.calls += 1
            self.figures.drawn += not task.gold
            self.figures.changes[transition.delta.size if transition.delta else 0] += 1
            if transition.is_error and task.gold:
                refused.append((call.name, where, f"is refused: {transition.observation}"))
            yield state
            self._try_all(iter([call]), state, task)
        is_reached = not task.gold or self._world.reached(task, task.gold)
        for name, where, problem in refused:
            if is_reached:
                told = f"{problem}, and the goal is reached all the same"
                self._fault(name, where, told, "leave the call out of the gold calls", "warning")
            else:
                self._fault(name, where, problem, "make the call where it is allowed, or mend the tool")
        if not is_reached and not refused:
            unmet = "; ".join(broken(task.goal, state)[:1])
            problem = f"the gold calls do not reach it{unmet and ': '}{unmet}"
            self._fault("goal", f"goal of {task.id}", problem, "mend the goal, or the gold calls")

    def _try_all(self, calls: Iterator[ToolCall], state: State, task: WorldTask) -> None:
        for call in calls:
            kind = "gold" if task.gold else "drawn"
            done = self._make(state, call, f"tool {call.name} in {task.id}, tried beside the {kind} calls")
            self.figures.others += 1
            self.figures.refused += done is not None and done[0].is_error

    def _make(self, state: State, call: ToolCall, where: str) -> tuple[Transition, State] | None:
        """Make one call, twice, and look at everything that it must obey; None where it cannot be made."""
        before = canonical_json(state)
        try:
            with boundary(SimiaError, "answer"):
                transition, after = self._world.run(state, call)
                again = self._world.run(state, call)
        except SimiaError as error:
            is_wall = isinstance(error, SandboxViolation)
            remedy = "correct it" if is_wall else "refuse such a call with a reason that the agent can act on"
            self._fault(call.name, where, f"{error}, with the arguments {_short(call)}", remedy)
            return None
        if canonical_json(state) != before:
            self._fault(call.name, where, "changes the state that it is given", "work on a copy")
        elif not (transition == again[0] and same(after, again[1])):
            self._fault(call.name, where, "answers otherwise the second time", "take time and chance from the state")
        if transition.is_error:
            changed = not same(state, after) or (transition.delta is not None and transition.delta.size > 0)
            if changed:
                remedy = "refuse before the first change, or give the state back as it was"
                self._fault(call.name, where, "refuses and changes the state all the same", remedy)
            return transition, after
        self._look_at_delta(state, transition, after, call, where)
        self._look_at_order(state, transition, call, where)
        self._look_at_result(transition, call, where)
        remedy = "refuse such a call, or correct the law"
        self._is_lawful(call.name, f"{where}: the state after {_short(call)}", after, remedy)
        return transition, after

    def _look_at_delta(self, state: State, transition: Transition, after: State, call: ToolCall, where: str) -> None:
        try:
            leads = transition.delta is not None and same(transition.delta.apply(state), after)
        except StateError:
            leads = False
        if not leads:
            problem = "the delta does not lead to the state after the call"
            self._fault(call.name, where, problem, "make it with StateDelta.between")

    def _look_at_order(self, state: State, transition: Transition, call: ToolCall, where: str) -> None:
        """A state that was read from a file, or made by a delta, may have its keys in another order."""
        try:
            with boundary(SimiaError, "answer where the keys of the state stand in another order"):
                shown = self._world.run(_reversed(state), call)[0].observation
        except SimiaError as error:
            self._fault("order", where, str(error), "look keys up by name, since JSON objects have no order")
            return
        if not same(_value(shown), _value(transition.observation)):
            problem = "shows something else where the keys of the state stand in another order"
            self._fault(call.name, where, problem, "sort what it shows, since JSON objects have no order", "warning")

    def _look_at_result(self, transition: Transition, call: ToolCall, where: str) -> None:
        tool = self._world.spec.tool.get(call.name)
        if tool is None or tool.returns_schema is None:
            return
        try:
            unfit = tool.returns_schema.violations(load_json(transition.observation))
        except FormatError as error:
            unfit = (str(error),)
        if unfit:
            problem = f"the result does not fit the tool's returns: {unfit[0]}"
            self._fault(call.name, where, problem, "correct the result, or what the tool declares")

    def _is_lawful(self, subject: str, where: str, state: State, remedy: str) -> bool:
        try:
            found = violations(self._world.spec, state)
        except SchemaError as error:
            found = (str(error),)
        if found:
            self._fault(subject, where, f"breaks a law: {found[0]}", remedy)
        return not found

    def _look_at_schema(self, where: str, schema: JsonObject | None) -> None:
        try:
            schema_for(schema or {})
        except SchemaError as error:
            self._fault(where, where, str(error), "correct the schema, or the annotation that it is read off")

    def _fault(
        self, subject: str, where: str, problem: str, remedy: str, severity: Literal["error", "warning"] = "error"
    ) -> None:
        self._found.setdefault((subject, remedy), Finding(severity, where, problem, remedy))
        self._times[subject, remedy] += 1


def _value(observation: str) -> Any:
    try:
        return load_json(observation)
    except FormatError:
        return observation


def _reversed(value: Any) -> Any:
    """``value`` with the keys of all its objects the other way round."""
    if isinstance(value, dict):
        return {key: _reversed(value[key]) for key in reversed(value)}
    return [_reversed(entry) for entry in value] if isinstance(value, list) else value


def _short(call: ToolCall) -> str:
    text = canonical_json(call.arguments).decode()
    return text if len(text) < 200 else f"{text[:200]}..."
