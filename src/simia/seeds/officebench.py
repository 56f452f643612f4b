"""Seeds from OfficeBench (arXiv 2407.19056): task folders, and what its runner wrote into their ``outputs``.

A checkout has ``tasks/<apps>-<n>/subtasks/<k>.json``, and after a run
``tasks/<apps>-<n>/outputs/<k>/<model>_<tag>/`` with ``llm_history.json``, a list of ``[system, prompt, response]``, and
``env_history.json``, a list of ``[action, observation]``. Each output is a seed; a subtask without output is a seed
whose reference is its task alone. A ``llm_history.json`` by itself is read too: its last prompt tells the observations.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from simia.errors import FormatError, RecordError, SeedError
from simia.formats.calls import load_json
from simia.seeds.officebench_tools import LICENCE, world
from simia.seeds.records import OnBad
from simia.types import (
    AssistantMessage,
    JsonObject,
    MalformedToolCall,
    Message,
    Seed,
    ToolCall,
    ToolMessage,
    UserMessage,
)

NAME = "officebench"

Step = tuple[str, str]
"""What the agent wrote, and what came back."""

_HISTORY = "llm_history.json"
_EXECUTED = "env_history.json"
_SUBTASKS = "subtasks/*.json"
_NUMBER = re.compile(r"\d+")
_THINK = re.compile(r"<think>(.*?)</think>", re.DOTALL)
_TASK = re.compile(r"##Task: (.*?)\n##", re.DOTALL)
_STEP = re.compile(r"^ - Step \d+: (.*)$", re.MULTILINE)
_NO_STEPS: list[Step] = []
_FAILED = ("Malformed action", "Error", "Task failed", "Failed")


def is_officebench(path: Path) -> bool:
    """Whether ``path`` is a checkout, its folder of tasks, a task folder, or a ``llm_history.json``."""
    return path.name == _HISTORY or (path.is_dir() and bool(_task_folders(path)))


def read_seeds(path: Path, on_bad: OnBad, licence: str | None = None) -> Iterator[Seed]:
    """The seeds under ``path``, in the order of their names. A broken subtask or output goes to ``on_bad``.

    Raises:
        SeedError: there is nothing of OfficeBench at ``path``.
    """
    here = world(licence or LICENCE)
    for subtask, output in _sources(path):
        try:
            task: JsonObject = {} if subtask is None else _json_object(subtask)
            if output is None:
                said, steps = "", _NO_STEPS
            else:
                said, steps = _history(output)
            said = str(task.get("task", said)).strip()
            if not said:
                raise FormatError("it has no 'task'")
            opening = _opening(task, said)
            yield Seed(
                id=_name(subtask, output),
                world=here,
                task=opening,
                reference=(UserMessage(content=opening), *_messages(steps)),
                licence=here.licence,
                metadata={"source": NAME, "evaluation": task.get("evaluation", []), "executed": output is not None},
            )
        except FormatError as cause:
            on_bad(RecordError(str(output or subtask), 1, str(cause)))


def files(path: Path) -> Iterator[Path]:
    """Every file that :func:`read_seeds` reads, each once.

    Raises:
        SeedError: there is nothing of OfficeBench at ``path``.
    """
    found: dict[Path, None] = {}
    for subtask, output in _sources(path):
        executed = None if output is None else output.with_name(_EXECUTED)
        for file in (subtask, output, executed):
            if file is not None and file.is_file():
                found[file] = None
    yield from found


def _sources(path: Path) -> Iterator[tuple[Path | None, Path | None]]:
    """Subtask file and output history of each seed; one of the two may be missing."""
    if path.is_file():
        yield None, path
        return
    folders = _task_folders(path)
    if not folders:
        raise SeedError(f"{path} is no OfficeBench checkout: no {_SUBTASKS} in it or in its tasks/*")
    for folder in folders:
        for subtask in sorted(folder.glob(_SUBTASKS), key=_natural):
            outputs = sorted((folder / "outputs" / subtask.stem).glob(f"*/{_HISTORY}"))
            if not outputs:
                yield subtask, None
            for output in outputs:
                yield subtask, output


def _task_folders(path: Path) -> list[Path]:
    for pattern in ("", "*", "tasks/*"):
        folders = [folder for folder in (path.glob(pattern) if pattern else [path]) if any(folder.glob(_SUBTASKS))]
        if folders:
            return sorted(folders, key=_natural)
    return []


def _natural(path: Path) -> tuple[list[int], str]:
    """Order by the numbers in the name: task 2 before task 10."""
    return [int(number) for number in _NUMBER.findall(path.name)], path.name


def _name(subtask: Path | None, output: Path | None) -> str:
    if subtask is None:
        assert output is not None
        return f"{NAME}:{output.parent.name}"
    name = f"{NAME}:{subtask.parent.parent.name}/{subtask.stem}"
    return name if output is None else f"{name}/{output.parent.name}"


def _opening(task: JsonObject, said: str) -> str:
    """The task with who and when, which OfficeBench's runner puts into the system message."""
    if "username" not in task:
        return said
    when = f"Today is {task.get('date')} ({task.get('weekday')}), {task.get('time')}."
    return f"{when} I am {task['username']}. {said}"


def _history(output: Path) -> tuple[str, list[Step]]:
    """The task and the steps of a run.

    Raises:
        FormatError: the history is not as the runner writes it.
    """
    history = _json(output)
    if not isinstance(history, list) or not history or not all(_is_texts(item, 3) for item in history):
        raise FormatError("the history is no list of [system, prompt, response]")
    prompt = history[-1][1]
    task = _TASK.search(prompt)
    responses = [item[2] for item in history]
    executed = output.with_name(_EXECUTED)
    if executed.is_file():
        pairs = _json(executed)
        if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            raise FormatError(f"{_EXECUTED} beside it is no list of [action, observation]")
        observations = [str(pair[1] or "") for pair in pairs]
    else:
        observations = [_told_observation(line) for line in _STEP.findall(prompt)]
    # The last observation is in no prompt; after finish_task there is none to miss.
    observations += [""] * (len(responses) - len(observations))
    return task.group(1) if task else "", list(zip(responses, observations, strict=False))


def _told_observation(line: str) -> str:
    """The observation in a line of a prompt's history, ``action -> [observation]``."""
    _, arrow, told = line.partition(" -> [")
    return told.removesuffix("]").replace("\\n", "\n") if arrow else ""


def _messages(steps: Sequence[Step]) -> Iterator[Message]:
    for number, (response, observation) in enumerate(steps, start=1):
        found = _THINK.search(response)
        reasoning = found.group(1).strip() if found else None
        action = _action(_THINK.sub("", response))
        call_id = f"call_{number}"
        if action is None:
            text = response if found is None else _THINK.sub("", response).strip()
            malformed = MalformedToolCall(id=call_id, text=text, reason="no action with 'app' and 'action'")
            yield AssistantMessage(reasoning=reasoning, malformed_calls=(malformed,))
            yield ToolMessage(call_id=call_id, name="", content=observation, is_error=True)
            continue
        name, arguments = action
        if name == "system_finish_task":
            answer = str(arguments.get("answer", "None"))
            yield AssistantMessage(content="The task is done." if answer == "None" else answer, reasoning=reasoning)
            return
        yield AssistantMessage(reasoning=reasoning, tool_calls=(ToolCall(id=call_id, name=name, arguments=arguments),))
        yield ToolMessage(call_id=call_id, name=name, content=observation, is_error=observation.startswith(_FAILED))


def _action(text: str) -> tuple[str, JsonObject] | None:
    """Tool name and arguments of ``{"app": ..., "action": ..., ...}``, in JSON or as a Python literal."""
    spelled = text[text.find("{") : text.rfind("}") + 1]
    try:
        value: Any = load_json(spelled)
    except FormatError:
        try:
            value = ast.literal_eval(spelled)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return None
    if not isinstance(value, dict) or not isinstance(value.get("action"), str):
        return None
    app = value.get("app", "system")
    rest = {str(key): inner for key, inner in value.items() if key not in ("app", "action")}
    return f"{app}_{value['action']}", rest


def _is_texts(value: Any, count: int) -> bool:
    return isinstance(value, list) and len(value) == count and all(isinstance(part, str) for part in value)


def _json(path: Path) -> Any:
    try:
        return load_json(path.read_bytes())
    except OSError as cause:
        raise FormatError(f"cannot be read: {cause.strerror}") from cause


def _json_object(path: Path) -> JsonObject:
    value = _json(path)
    if not isinstance(value, dict):
        raise FormatError(f"it holds {type(value).__name__}, not an object")
    return value
