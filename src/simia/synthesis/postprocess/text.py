"""Passes over what is said: leaked markers, unfilled templates, placeholder ids, reasoning."""

import re
from collections.abc import Iterator
from itertools import chain

from simia.synthesis.postprocess.edit import Context, replaced, rewritten
from simia.types import Dropped, Message, Trajectory, canonical_json

# What belongs to a chat template or to the prompt and never to a conversation: a tokenizer may read it as its own.
_MARKERS = re.compile(
    r"<\|[\w ]{1,40}\|>"  # ChatML, Llama 3: <|im_start|>, <|eot_id|>
    r"|</?(?:tool_call|tool_response|tools|think|answer|function_call|observation)>"
    r"|\[/?(?:INST|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]|<</?SYS>>"
)
# Plain words at the start of a line. A log, a transcript or a form says such things too, and a template in it may be
# what the file holds, so both are looked for only in what user and agent write.
_ROLES = re.compile(
    r"^\#{1,3} ?(?:Human|User|Assistant|System|Instruction|Response|Observation):"
    r"|^(?:Human|Assistant|USER|ASSISTANT|SYSTEM|OBSERVATION|FUNCTION_CALL): ",
    re.MULTILINE,
)
_REFUSALS = re.compile(
    r"\b(?:as|i am|i'm) an? (?:ai|artificial intelligence)(?: language)? (?:model|assistant)\b", re.I
)
_TEMPLATES = re.compile(r"\{\{[^{}\n]{0,80}\}\}|\{%[^%\n]{0,80}%\}|\$\{\w{1,40}\}")
_PLACEHOLDERS = re.compile(
    r"\b(?:[a-z]{0,8}[-_#]?)?abc[-_]?123(?:4(?:5(?:6)?)?)?\b|\bxyz[-_]?(?:123|456|789)\b"
    r"|(?<![\d.])112233(?:44(?:55(?:66)?)?)?(?![\d.])"
    r"|(?<![\d.,+-])(?:0?123456(?:7(?:8(?:9(?:0)?)?)?)?|987654(?:3(?:2(?:1(?:0)?)?)?)?)(?![\d.,-])"
    # XXXX, but no part of a masked number, XXXX-XXXX-XXXX-4242: digits stand before the run of X groups or behind, and
    # four of them where only a space stands between.
    r"|(?<!\d[-.])(?<!\d{4} )(?<!xx[-. ])(?:\bx{4,}|\#x{3,})\b(?:[-. ]x+\b)*+(?![-.]\d| \d{4}\b)"
    r"|[<\[{](?:your|the|insert|enter)?[ _-]?\w{0,24}[ _-](?:id|number|name|code|email|date)[>\]}]"
    r"|\byour_\w{1,24}_here\b|\bplaceholder[-_ ]?(?:id|number|name|value)\b",
    re.IGNORECASE,
)
_THOUGHT = re.compile(r"\A\s*<think>(.*?)</think>\s*", re.DOTALL)

# The same, loosened, for a stored record: there a line begins after \n or a quotation mark.
MARKER_SIGNS = (
    r"<\|[\w ]{1,40}\||</?(?:tool_call|tool_response|tools|think|answer|function_call|observation)>"
    r"|\[/?(?:inst|available_tools|tool_calls|tool_results)\]|<</?sys>>"
    r'|(?:"|\\n)(?:\#{1,3} ?)?(?:human|user|assistant|system|instruction|response|observation|function_call):'
    r"|an? (?:ai|artificial intelligence) |\{\{|\{%|\$\{"
)
PLACEHOLDER_SIGNS = (
    r"abc[-_]?123|xyz[-_]?[147]|112233|123456|987654|xxxx|\#xxx|your_\w{1,24}_here|placeholder"
    r"|[<\[{][\w -]{0,40}(?:id|number|name|code|email|date)[>\]}]"
)


def leaked_markers(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Drops ``leaked_marker`` (tags of a chat template, "As an AI language model"; role markers, but in observations)
    and ``unfilled_template`` (``{{name}}``, but in observations), the latter unless the world or the seed say it
    themselves.
    """
    for place, text in _observed(trajectory):
        found = _MARKERS.search(text) or _REFUSALS.search(text)
        if found is not None:
            return Dropped("leaked_marker", f"{found.group().strip()!r} in {place}")
    for place, text in _written(trajectory):
        found = _MARKERS.search(text) or _ROLES.search(text) or _REFUSALS.search(text)
        if found is not None:
            return Dropped("leaked_marker", f"{found.group().strip()!r} in {place}")
        for template in _TEMPLATES.finditer(text):
            if not context.knows(template.group().lower()):
                return Dropped("unfilled_template", f"{template.group()!r} in {place}")
    return trajectory


def placeholder_ids(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Drops ``placeholder_id``: ``ABC123``, ``112233``, ``<user_id>``, ``XXXX`` and their kin, unless the world, the
    seed or the initial state has that very text.
    """
    state: str | None = None
    for place, text in chain(_written(trajectory), _observed(trajectory)):
        for found in _PLACEHOLDERS.finditer(text):
            word = found.group().lower()
            if context.knows(word):
                continue
            if state is None:
                state = canonical_json(trajectory.initial_state).decode("utf-8", "surrogatepass").lower()
            if word not in state:
                return Dropped("placeholder_id", f"{found.group()!r} in {place}")
    return trajectory


def separate_reasoning(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Reasoning that a model wrote into its answer, ``<think>...</think>`` at the start, moves to where reasoning
    belongs; what stood there stays in front of it. Marked ``separate_reasoning:<message>``.
    """
    messages: list[Message] = []
    marks: list[str] = []
    for position, message in enumerate(trajectory.messages, 1):
        found = _THOUGHT.match(message.content) if message.role == "assistant" else None
        if message.role != "assistant" or found is None:
            messages.append(message)
            continue
        thought = "\n".join(part for part in (message.reasoning, found.group(1).strip()) if part)
        changed = rewritten(message, content=message.content[found.end() :], reasoning=thought or None)
        messages.append(changed)
        marks.append(f"separate_reasoning:{position}")
    return replaced(trajectory, messages, marks) if marks else trajectory


def strip_reasoning(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """For a target that has no reasoning: the field goes away from every message. Choose it in the passes; it is not
    among the default ones, because the exports decide by target. Marked ``strip_reasoning:<message>``.
    """
    messages: list[Message] = []
    marks: list[str] = []
    for position, message in enumerate(trajectory.messages, 1):
        if message.role == "assistant" and message.reasoning is not None:
            message = rewritten(message, reasoning=None)
            marks.append(f"strip_reasoning:{position}")
        messages.append(message)
    return replaced(trajectory, messages, marks) if marks else trajectory


def _observed(trajectory: Trajectory) -> Iterator[tuple[str, str]]:
    for position, message in enumerate(trajectory.messages, 1):
        if message.role == "tool":
            yield f"message {position} (tool)", message.content


def _written(trajectory: Trajectory) -> Iterator[tuple[str, str]]:
    """The task, and what user and agent say, think and call."""
    yield "the task", trajectory.task
    for position, message in enumerate(trajectory.messages, 1):
        if message.role == "tool":
            continue
        yield f"message {position} ({message.role})", message.content
        if message.role == "assistant":
            if message.reasoning is not None:
                yield f"the reasoning of message {position}", message.reasoning
            for call in message.tool_calls:
                for text in _strings(call.arguments):
                    yield f"{call.id} {call.name}", text


def _strings(value: object) -> Iterator[str]:
    open_values = [value]
    while open_values:
        current = open_values.pop()
        if isinstance(current, str):
            yield current
        elif isinstance(current, dict):
            open_values.extend(current.keys())
            open_values.extend(current.values())
        elif isinstance(current, list):
            open_values.extend(current)
