"""The package of the Berkeley Function Calling Leaderboard: its tasks, its objects, its checker.

nvidia-bfcl (version 3 of the tasks) or bfcl-eval (version 4), which has the same classes under another name.
"""

import ast
import copy
import importlib
import inspect
import itertools
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Context, localcontext
from functools import cached_property
from pathlib import Path
from typing import Any

from simia.errors import ExtraMissing
from simia.seeds.declared import check_schemas
from simia.types import JsonObject, State, ToolCall, ToolSpec
from simia.worlds.adapted import at, numbered
from simia.worlds.bfcl_state import PRIVATE, Words, fill, state_of
from simia.worlds.method_source import MethodSource

APIS = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "TwitterAPI": "posting_api",
    "VehicleControlAPI": "vehicle_control",
}
"""The classes with their modules."""
CATEGORIES = ("base", "miss_func", "miss_param", "long_context", "composite")

_NAMES = ("bfcl", "bfcl_eval")
_NOW = datetime(2024, 9, 1, 10, 30)  # as TradingBot has it; TravelAPI would ask the clock how old a traveller is
_SEEDS = (200191, 1053520, 141053)  # of the classes, where a scenario names none
_TYPES = {"dict": "object", "float": "number"}
_WIDER = {"ticket_id": {"type": ["integer", "string"]}}  # scenario 173 names its tickets, and its gold calls do
_NOTE = (
    'self is state["{api}"].\nA result with the key "error" is an error. What is raised is one too, shown as '
    '"Error during execution: " and its text, not as an object.'
)
_MORE = {
    "GorillaFileSystem": "\nroot has its name as its key; _current_dir is the list of the names on the way to it.",
    "TravelAPI": f"\nNow is {_NOW}.",
}
_runs = itertools.count()


@dataclass(frozen=True, slots=True)
class Entry:
    """A task: its record, its gold calls by turn as BFCL spells them, and the same as calls of simia.

    Some gold calls of the category ``composite`` are no Python; they are calls with their text as the only argument.
    """

    record: JsonObject
    turns: list[list[str]]
    gold: tuple[ToolCall, ...]


class Package:
    """The installed package.

    Raises:
        ExtraMissing: there is none.
    """

    def __init__(self) -> None:
        self._codes: dict[str, str] = {}
        reasons = []
        for name in _NAMES:
            try:
                self._checker = importlib.import_module(f"{name}.eval_checker.multi_turn_eval.multi_turn_checker")
            except ImportError as cause:
                reasons.append(str(cause))
                continue
            self._root = f"{name}.eval_checker.multi_turn_eval"
            self._data = Path(str(importlib.import_module(name).__file__)).parent / "data"
            return
        raise ExtraMissing("bfcl", f"executing the APIs of BFCL ({'; '.join(reasons)})")

    def entries(self, category: str) -> Iterator[Entry]:
        """The tasks of a multi-turn category; none where the version has no such category."""
        for path in sorted(self._data.glob(f"BFCL_v*_multi_turn_{category}.json")):
            with (
                path.open(encoding="utf-8") as records,
                (path.parent / "possible_answer" / path.name).open(encoding="utf-8") as answers,
            ):
                gold = {answer["id"]: answer["ground_truth"] for answer in map(json.loads, answers)}
                for record in map(json.loads, records):
                    turns = gold[record["id"]]
                    calls = numbered([self._read(text) for text in itertools.chain(*turns)])
                    yield Entry(record, turns, calls)

    def tools(self, api: str) -> Iterator[ToolSpec]:
        """The tools of a class, from its documentation."""
        path = self._data / "multi_turn_func_doc" / f"{APIS[api]}.json"
        for doc in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            parameters = {**_schema(doc["parameters"]), "additionalProperties": False}
            for argument in _WIDER.keys() & parameters["properties"].keys():
                parameters["properties"][argument].update(_WIDER[argument])
            tool = ToolSpec(name=doc["name"], description=doc["description"], parameters=parameters)
            check_schemas(tool)
            yield tool

    def code(self, name: str) -> str:
        """The method ``name`` with what it uses."""
        if name not in self._codes:
            owner = self._owners[name]
            source = MethodSource(self._root.partition(".")[0])
            source.add_method(owner, name)
            self._codes[name] = source.text(_NOTE.format(api=owner.__name__) + _MORE.get(owner.__name__, ""))
        return self._codes[name]

    def draws(self, name: str) -> bool:
        """Whether the method ``name`` may draw a random number."""
        return "self._random" in self.code(name)

    def initial_state(self, record: JsonObject) -> State:
        """The state in which a task begins."""
        state: State = {}
        for api in record["involved_classes"]:
            instance = self._class(api)()
            scenario = copy.deepcopy(record["initial_config"].get(api, {}))
            if hasattr(instance, "_load_scenario"):
                instance._load_scenario(scenario, long_context=_is_long(record))
            if hasattr(instance, "_random"):
                instance._random = _same_generator(instance._random, scenario.get("random_seed"))
            state[api] = state_of(instance)
        return state

    def spelled(self, entry: Entry, call: ToolCall) -> str | None:
        """``call`` as BFCL spells it, or None if it is no call of a tool. The checker evaluates the text as Python."""
        for text, gold in zip(itertools.chain(*entry.turns), entry.gold, strict=True):
            if (gold.name, gold.arguments) == (call.name, call.arguments):
                return text
        if call.name not in self._owners or not all(name.isidentifier() for name in call.arguments):
            return None
        return f"{call.name}({', '.join(f'{name}={value!r}' for name, value in call.arguments.items())})"

    def objects(self, state: State) -> dict[str, Any]:
        """New objects in ``state``, by class."""
        made = {}
        for api, attributes in state.items():
            made[api] = self._class(api)()
            fill(made[api], attributes, self._module(api))
        return made

    def perform(self, objects: dict[str, Any], call: ToolCall) -> tuple[str, bool]:
        """What ``call`` shows, as BFCL spells it, and whether that is an error; ``objects`` change."""
        owner = self._owners.get(call.name)
        instance = None if owner is None else objects.get(owner.__name__)
        if instance is None:
            return f"Error during execution: name '{call.name}' is not defined", True
        try:
            with at(_NOW, self._module("TravelAPI")), localcontext(Context(prec=28)):
                result = getattr(instance, call.name)(**copy.deepcopy(call.arguments))
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is its observation
            return f"Error during execution: {error}", True
        if isinstance(result, dict):
            return _dumped(result), "error" in result
        return str(result), False

    def public_states(self, state: State, calls: Sequence[ToolCall]) -> list[State]:
        """What the checker compares, from before the first of ``calls`` to after the last."""
        objects = self.objects(state)
        found = [_public(objects)]
        for call in calls:
            self.perform(objects, call)
            found.append(_public(objects))
        return found

    def valid(self, entry: Entry, turns: Sequence[Sequence[str]]) -> bool:
        """Whether the official checker finds the calls, by turn, valid."""
        model = f"simia{next(_runs)}"
        utils = vars(importlib.import_module(f"{self._root}.multi_turn_utils"))
        steps = [[list(turn)] if turn else [] for turn in turns]
        with at(_NOW, self._module("TravelAPI")), self._unshared(), localcontext(Context(prec=28)):
            answer = self._checker.multi_turn_checker(steps, entry.turns, entry.record, "", model)
        for name in [name for name in utils if name.startswith(f"{model}_")]:  # it keeps every object it made
            del utils[name]
        return bool(answer["valid"])

    @contextmanager
    def _unshared(self) -> Iterator[None]:
        """Afterwards the tables that objects of long contexts share, and write into, are as before."""
        tables = {
            name: table
            for name, table in vars(importlib.import_module(f"{self._root}.func_source_code.long_context")).items()
            if isinstance(table, dict) and not name.startswith("_")
        }
        before = copy.deepcopy(tables)
        try:
            yield
        finally:
            for name, table in tables.items():
                table.clear()
                table.update(before[name])

    @cached_property
    def _owners(self) -> dict[str, type[Any]]:
        """The classes by the names of their tools; no two tools have one name."""
        return {
            name: self._class(api)
            for api in APIS
            for name, _ in inspect.getmembers(self._class(api), inspect.isfunction)
            if not name.startswith("_")
        }

    def _module(self, api: str) -> Any:
        return importlib.import_module(f"{self._root}.func_source_code.{APIS[api]}")

    def _class(self, api: str) -> type[Any]:
        found: type[Any] = getattr(self._module(api), api)
        return found

    def _read(self, text: str) -> tuple[str, JsonObject]:
        """A gold call, which is Python with literal arguments, as name and arguments."""
        try:
            call = ast.parse(text.strip(), mode="eval").body
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                raise SyntaxError(text)
        except SyntaxError:
            return text.partition("(")[0], {"text": text}
        name = call.func.id
        given = [ast.literal_eval(value) for value in call.args]
        expected = list(inspect.signature(getattr(self._owners[name], name)).parameters)[1:] if given else []
        by_name = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
        return name, dict(zip(expected, given, strict=False)) | by_name


def _schema(doc: Any) -> Any:
    """A JSON Schema of BFCL's, whose types are Python's."""
    if isinstance(doc, list):
        return [_schema(one) for one in doc]
    if not isinstance(doc, dict):
        return doc
    return {
        key: _TYPES.get(value, value) if key == "type" and isinstance(value, str) else _schema(value)
        for key, value in doc.items()
    }


def _is_long(record: JsonObject) -> bool:
    return "long_context" in record["id"] or "composite" in record["id"]


def _same_generator(generator: Any, seed: int | None) -> Words:
    state = generator.getstate()
    for one in (*_SEEDS, *(() if seed is None else (seed,))):
        words = Words(one)
        if words.getstate() == state:
            return words
    raise ValueError("the seed of a generator of BFCL is not known")


def _dumped(result: JsonObject) -> str:
    try:
        return json.dumps(result)
    except TypeError:
        return str(result)


def _public(objects: dict[str, Any]) -> State:
    return {
        api: {name: value for name, value in state_of(instance).items() if not name.startswith(PRIVATE)}
        for api, instance in objects.items()
    }
