"""What a judge goes by: the calls with their results and what each changed, the final state, and, apart, what was said.

Every text is bounded, and so is their number, so that an agent cannot fill the judge's context and so escape its
verdict.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator

from simia.errors import StateError
from simia.formats.calls import Call, calls_of, dump_json
from simia.simulate.state_view import excerpt, words_of
from simia.types import (
    ABSENT,
    AssistantMessage,
    MalformedToolCall,
    Message,
    Played,
    Put,
    State,
    StateDelta,
    ToolCall,
    ToolMessage,
    Trajectory,
    UserMessage,
    Value,
)
from simia.worlds.play import found

_LEAST_CHARS = 80
_MARK_CHARS = 46
_VALUE_CHARS = 240


class LoggedCall(Value):
    """One call as the program saw it, the ``number``-th of the episode. ``call`` is None where it could not be read,
    ``result`` where nobody answered it. ``changes`` is empty where it changed nothing, None where that is not known.
    """

    number: int
    call: str | None
    result: str | None
    is_error: bool = False
    changes: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """What others than the program wrote of it."""
        return tuple(text for text in (self.call, self.result, self.changes) if text)


class Said(Value):
    """What the user or the agent said: a claim."""

    by: str
    text: str


class Evidence(Value):
    """What is shown of one episode. ``log`` holds those of its ``calls`` that there is room for; ``changing`` is how
    many of all changed something, or None where that is not known. ``state`` is None where none was tracked;
    ``not_shown`` says in words what its excerpt leaves out.
    """

    task: str
    log: tuple[LoggedCall, ...]
    calls: int
    changing: int | None
    state: str | None
    not_shown: str
    said: tuple[Said, ...]

    def texts(self) -> Iterator[str]:
        """Every text that is not the program's own."""
        yield self.task
        for logged in self.log:
            yield from logged.texts
        if self.state is not None:
            yield self.state
        yield from (said.text for said in self.said)


def evidence_of(played: Played, *, log_chars: int, state_chars: int, said_chars: int) -> Evidence:
    """What a judge is shown of ``played``. The budgets, in characters, are shared by the texts of each part; a text
    that is longer than its share is cut in its middle. Of more calls than there is room for, those are shown that
    changed something, and then the first and the last.
    """
    trajectory = played.trajectory
    pairs = _calls_with_results(trajectory.messages)
    changes = _changes(played, [call for call, _ in pairs])
    room = _share(log_chars, 2 * len(pairs) + sum(map(bool, changes)))
    log = [
        LoggedCall(
            number=number,
            call=None if isinstance(call, MalformedToolCall) else _cut(_spelled(call), room),
            result=None if result is None else _cut(result.content, room),
            is_error=isinstance(call, MalformedToolCall) or (result is not None and result.is_error),
            changes=None if changed is None else _cut(changed, room),
        )
        for number, ((call, result), changed) in enumerate(zip(pairs, changes, strict=True), start=1)
    ]
    state, not_shown = None, ""
    if played.final_state is not None:
        state, not_shown = excerpt(played.final_state, _mentioned(trajectory), state_chars)
        state = shortened(state, 2 * state_chars)  # an excerpt never cuts what is no record
    spoken = [message for message in trajectory.messages if isinstance(message, UserMessage | AssistantMessage)]
    said = [(message.role, message.content) for message in spoken if message.content.strip()]
    room = _share(said_chars, len(said))
    return Evidence(
        task=played.task.seed.task,
        log=_fitting(log, log_chars),
        calls=len(log),
        changing=None if None in changes or played.final_state is None else sum(map(bool, changes)),
        state=state,
        not_shown=not_shown,
        said=tuple(Said(by="user" if role == "user" else "agent", text=_cut(text, room)) for role, text in said),
    )


def shortened(text: str, limit: int) -> str:
    """``text``, or its two ends where it has more than ``limit`` characters."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]} (... {len(text) - 2 * half:,} characters left out ...) {text[-half:]}"


def _cut(text: str, room: int) -> str:
    """``text`` in ``room``, together with the mark of what is left out."""
    return text if len(text) <= room else shortened(text, room - _MARK_CHARS)


def _share(chars: int, count: int) -> int:
    return max(_LEAST_CHARS, chars // max(1, count))


def _fitting(log: list[LoggedCall], chars: int) -> tuple[LoggedCall, ...]:
    """The calls that ``chars`` have room for. Those that changed something go first: none is hidden behind others."""
    last = len(log) + 1
    kept: list[LoggedCall] = []
    for logged in sorted(log, key=lambda one: (not one.changes, min(one.number, last - one.number))):
        chars -= max(_LEAST_CHARS, sum(map(len, logged.texts)))
        if chars < 0 and kept:
            break
        kept.append(logged)
    return tuple(sorted(kept, key=lambda one: one.number))


def _spelled(call: ToolCall) -> str:
    return dump_json({"name": call.name, "arguments": call.arguments})


def _calls_with_results(messages: Iterable[Message]) -> list[tuple[Call, ToolMessage | None]]:
    """Every call with what answers it. A result belongs to the first call before it with its id that has none yet:
    an agent may give two calls one id.
    """
    calls: list[Call] = []
    results: dict[int, ToolMessage] = {}
    waiting: defaultdict[str, deque[int]] = defaultdict(deque)
    for message in messages:
        if isinstance(message, AssistantMessage):
            for call in calls_of(message):
                waiting[call.id].append(len(calls))
                calls.append(call)
        elif isinstance(message, ToolMessage) and waiting[message.call_id]:
            results[waiting[message.call_id].popleft()] = message
    return [(call, results.get(place)) for place, call in enumerate(calls)]


def _changes(played: Played, calls: list[Call]) -> list[str | None]:
    """What each call changed, one line a value. Where calls share an id it is not known which of them did."""
    if played.final_state is None:
        return [None] * len(calls)
    uses = Counter(call.id for call in calls)
    state = played.trajectory.initial_state
    lines: list[str | None] = []
    for call in calls:
        if uses[call.id] > 1:
            lines.append(None)
            state = None
            continue
        delta = played.trajectory.deltas.get(call.id, StateDelta())
        lines.append("\n".join(_change_lines(delta, state)))
        state = _after(state, delta)
    return lines


def _change_lines(delta: StateDelta, before: State | None) -> Iterator[str]:
    for change in delta.changes:
        old = ABSENT if before is None else found(before, change.path)
        was = "" if old is ABSENT else f"{_short(old)} -> "
        now = _short(change.value) if isinstance(change, Put) else "removed"
        yield f"{' > '.join(change.path)}: {was}{now}"


def _after(state: State | None, delta: StateDelta) -> State | None:
    try:
        return None if state is None else delta.apply(state)
    except StateError:
        return None


def _short(value: object) -> str:
    return shortened(dump_json(value), _VALUE_CHARS)


def _mentioned(trajectory: Trajectory) -> set[str]:
    """What the calls named and what they changed: the records that the excerpt of a large state keeps."""
    named = {key for delta in trajectory.deltas.values() for change in delta.changes for key in change.path}
    for message in trajectory.messages:
        if isinstance(message, AssistantMessage):
            for call in message.tool_calls:
                named.update(words_of(call.arguments))
    return named
