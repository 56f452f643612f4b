"""The suites of AgentDojo as worlds: ``agentdojo:workspace``, ``travel``, ``banking``, ``slack``. Needs the extra
``agentdojo``. The tasks are the user tasks of version 1.2.2 without injections.

The state is AgentDojo's environment, less the fields that repeat others, and of mails, events and files only those that
the gold calls of the task touch, where what these show and change is the same on it. AgentDojo asks the clock, and
orders participants by hash; here it is always the same moment, and the order is the one in which they were named.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from simia.errors import ConfigError, ExtraMissing
from simia.seeds.declared import check_schemas
from simia.types import JsonObject, State, StateDelta, ToolCall, ToolSpec, WorldSpec, WorldTask
from simia.worlds.adapted import AdaptedWorld, at, numbered
from simia.worlds.method_source import MethodSource

SUITES = ("workspace", "travel", "banking", "slack")

_VERSION = "v1.2.2"
_LICENCE = "MIT"
_NOW = datetime(2024, 5, 15, 12, 0)  # the day that the calendars call today
_TABLES = {"inbox": "emails", "calendar": "events", "cloud_drive": "files"}
_TABLE_OF = {"Email": "inbox", "CalendarEvent": "calendar", "CloudDriveFile": "cloud_drive"}
_COMPUTED = ("received", "sent", "drafts")
_SHOWN = (
    "\nA model or a list is shown as YAML with sorted keys, anything else as str. An error is shown as its class and "
    'text, "ValueError: text", not as an object.'
)
_TRUE_OF = {
    "datetime.now()": f"\ndatetime.datetime.now() is {_NOW}.",
    "(set(": "\nA set is in the order in which it was made.",
}
_TOOLS = "agentdojo.default_suites.v1.tools"

Call = tuple[str, JsonObject]
Step = tuple[str, bool, StateDelta]
"""Observation, whether it is an error, what changed."""


class AgentDojoWorld(AdaptedWorld):
    """A suite of AgentDojo.

    Raises:
        ConfigError: there is no such suite.
        ExtraMissing: AgentDojo is not installed.
    """

    def __init__(self, name: str) -> None:
        if name not in SUITES:
            raise ConfigError(f"no AgentDojo suite {name!r}; there are {', '.join(SUITES)}")
        suite, self._run, self._text = _import(name)
        self._suite = suite
        self._functions = {tool.name: tool for tool in suite.tools}
        self._begin = suite.load_and_inject_default_environment({})
        self._tasks = {f"agentdojo:{name}:{task_id}": task for task_id, task in suite.user_tasks.items()}
        self.spec = WorldSpec(
            name=f"agentdojo:{name}",
            policy=_policy(),
            tools=tuple(map(_tool, suite.tools)),
            state_schema=_state_schema(suite.environment_type),
            licence=_LICENCE,
        )

    def source_of(self, name: str) -> str | None:
        """The function with what it uses."""
        tool = self._functions[name]
        source = MethodSource("agentdojo")
        source.add_function(tool.run)
        note = ", ".join(f'{name} is state["{one.env_dependency}"]' for name, one in tool.dependencies.items())
        code = source.text("")
        return source.text(f"{note}.{_SHOWN}" + "".join(told for word, told in _TRUE_OF.items() if word in code))

    def reached(self, task: WorldTask, calls: Sequence[ToolCall]) -> bool:
        """Whether AgentDojo finds the task done after ``calls``.

        What the agent has to tell the user counts as told, so tasks that only ask are reached by doing nothing.
        """
        source = self._source(task)
        agent = _Agent([(call.name, call.arguments) for call in calls], source.GROUND_TRUTH_OUTPUT, self._perform)
        done, _ = self._suite.run_task_with_pipeline(agent, source, None, {}, environment=self._fresh())
        return bool(done)

    @property
    def _sources(self) -> dict[str, Any]:
        return self._tasks

    def _task(self, task_id: str) -> WorldTask:
        task = self._tasks[task_id]
        env = task.init_environment(self._fresh())
        whole = _dumped(env)
        calls, touched = self._resolved(task.ground_truth(env), env)
        return WorldTask(
            id=task_id,
            instruction=task.PROMPT,
            initial_state=self._projected(whole, calls, touched),
            gold=numbered(calls),
        )

    def _execute(self, state: State, call: ToolCall) -> tuple[str, bool, State]:
        env = self._loaded(state)
        observation, is_error, _ = self._perform(env, call.name, call.arguments)
        return observation, is_error, _dumped(env)

    def _perform(self, env: Any, name: str, arguments: Mapping[str, Any]) -> tuple[str, bool, Any]:
        """What a call shows, whether that is an error, and the result as an object; ``env`` changes."""
        with _repeatable():
            result, error = self._run(env, name, arguments)
            return (self._text(result), False, result) if error is None else (error, True, None)

    def _resolved(self, ground_truth: Sequence[Any], env: Any) -> tuple[list[Call], list[Any]]:
        """The calls, those inside arguments ahead of the ones that they are for, and the objects that they showed."""
        calls: list[Call] = []
        shown: list[Any] = []

        def resolve(call: Any) -> Any:
            arguments = {
                name: _plain(resolve(value) if hasattr(value, "function") else value)
                for name, value in call.args.items()
            }
            calls.append((call.function, arguments))
            shown.append(self._perform(env, call.function, arguments)[2])
            return shown[-1]

        for call in ground_truth:
            resolve(call)
        return calls, shown

    def _projected(self, whole: State, calls: Sequence[Call], shown: Sequence[Any]) -> State:
        """``whole`` with only the rows that the calls show, name or change, if they do the same on it."""
        steps = self._replay(whole, calls)
        kept = {place: _rows(_objects(shown), place) for place in _TABLES}
        named = {value for _, arguments in calls for value in arguments.values() if isinstance(value, str)}
        changed = {change.path[:3] for *_, delta in steps for change in delta.changes}
        state = dict(whole)
        for place, table in _TABLES.items():
            if place in whole:
                rows = whole[place][table]
                last = max(rows, key=int, default=None)  # the next row is numbered after it
                state[place] = {
                    **whole[place],
                    table: {
                        key: row
                        for key, row in rows.items()
                        if key in kept[place] or key in named or key == last or (place, table, key) in changed
                    },
                }
        if "inbox" in whole:
            met = _rows(_objects(shown), "contact_list")
            contacts = [contact for contact in whole["inbox"]["contact_list"] if contact["email"] in met]
            state["inbox"] = {**state["inbox"], "contact_list": contacts}
        return state if self._replay(state, calls) == steps else whole

    def _replay(self, state: State, calls: Sequence[Call]) -> list[Step]:
        steps: list[Step] = []
        for name, arguments in calls:
            observation, is_error, after = self._execute(state, ToolCall(id="", name=name, arguments=arguments))
            steps.append((observation, is_error, StateDelta.between(state, after)))
            state = after
        return steps

    def _fresh(self) -> Any:
        return self._begin.model_copy(deep=True)

    def _loaded(self, state: State) -> Any:
        """An environment in ``state``. AgentDojo's would begin with its first rows again, and with more contacts."""
        shown = dict(state)
        for place, table in _TABLES.items():
            if place in state:
                shown[place] = {**state[place], f"initial_{table}": list(state[place][table].values())}
        env = self._suite.environment_type.model_validate(shown)
        if "inbox" in state:
            del env.inbox.contact_list[len(state["inbox"]["contact_list"]) :]
        return env


class _Agent:
    """In place of a pipeline of AgentDojo: makes ``calls``, then says ``words``."""

    def __init__(self, calls: Sequence[Call], words: str, perform: Callable[..., tuple[str, bool, Any]]) -> None:
        self._calls = calls
        self._words = words
        self._perform = perform

    def query(self, query: str, runtime: Any, env: Any) -> tuple[Any, ...]:
        """As AgentDojo's pipelines answer."""
        called = importlib.import_module("agentdojo.functions_runtime").FunctionCall
        messages: list[JsonObject] = []
        for name, arguments in self._calls:
            self._perform(env, name, arguments)
            messages.append({"role": "assistant", "content": [], "tool_calls": [called(function=name, args=arguments)]})
        said = {"type": "text", "content": self._words}
        messages.append({"role": "assistant", "content": [said], "tool_calls": None})
        return query, runtime, env, messages, {}


def _import(name: str) -> tuple[Any, Callable[..., tuple[Any, str | None]], Callable[[Any], str]]:
    """The suite, what executes a call in an environment, and what spells its result."""
    try:
        suite = importlib.import_module("agentdojo.task_suite.load_suites").get_suite(_VERSION, name)
        runtime = importlib.import_module("agentdojo.functions_runtime").FunctionsRuntime(suite.tools)
        spelled = importlib.import_module("agentdojo.agent_pipeline.tool_execution").tool_result_to_str
    except ImportError as cause:
        raise ExtraMissing("agentdojo", f"executing agentdojo:{name} ({cause})") from cause
    return suite, runtime.run_function, spelled


def _policy() -> str:
    """What AgentDojo tells every agent."""
    pipeline = importlib.import_module("agentdojo.agent_pipeline.agent_pipeline")
    return str(pipeline.load_system_message("default")).strip()


@contextmanager
def _repeatable() -> Iterator[None]:
    """Inside the block AgentDojo's clock stands still, and its calendar orders participants as they were named."""
    email, drive = (importlib.import_module(f"{_TOOLS}.{name}") for name in ("email_client", "cloud_drive_client"))
    calendar: Any = importlib.import_module(f"{_TOOLS}.calendar_client")
    calendar.set = lambda values: list(dict.fromkeys(values))
    try:
        with at(_NOW, email, drive):
            yield
    finally:
        del calendar.set


def _tool(function: Any) -> ToolSpec:
    parameters = function.parameters.model_json_schema()
    tool = ToolSpec(
        name=function.name,
        description=function.description,
        parameters={**parameters, "additionalProperties": False},
    )
    check_schemas(tool)
    return tool


def _state_schema(environment: Any) -> JsonObject:
    schema = dict(environment.model_json_schema())
    dropped = {f"initial_{table}" for table in _TABLES.values()}
    for definition in schema.get("$defs", {}).values():
        if dropped & definition.get("properties", {}).keys():
            definition["properties"] = {k: v for k, v in definition["properties"].items() if k not in dropped}
            definition["required"] = [name for name in definition["required"] if name not in dropped]
    return schema


def _dumped(env: Any) -> State:
    repeated = {
        place: {f"initial_{table}", *(_COMPUTED if place == "inbox" else ())}
        for place, table in _TABLES.items()
        if hasattr(env, place)
    }
    state: State = env.model_dump(mode="json", exclude=repeated)
    return state


def _plain(value: Any) -> Any:
    """A result as an argument of another call, in JSON."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return {key: _plain(one) for key, one in value.items()} if isinstance(value, dict) else value


def _objects(results: Sequence[Any]) -> Iterator[Any]:
    for result in results:
        yield from result if isinstance(result, list) else (result,)


def _rows(objects: Iterator[Any], place: str) -> set[str]:
    """The keys in the table at ``place`` of those ``objects`` that are rows of it."""
    if place == "contact_list":
        return {one.email for one in objects if type(one).__name__ == "EmailContact"}
    return {one.id_ for one in objects if _TABLE_OF.get(type(one).__name__) == place}
