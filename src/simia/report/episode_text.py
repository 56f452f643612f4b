"""An episode in lines for a terminal or a pipe: what a person reads from top to bottom, one line at a time.

Who prints decides about colours and about characters that cannot be shown: the text of models is in here as it was.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from simia.environment.reward.evidence import shortened
from simia.formats.calls import dump_json
from simia.report.episode_calls import Asked, Totals, asked, drawn_text, seconds_text, tokens_text
from simia.report.episode_facts import facts_of, vote_rows, world_of
from simia.report.episode_turns import Called, Changed, Told, Turn, tell
from simia.store import Run
from simia.types import AssistantMessage, Episode, Message, Party, ToolMessage

Tone = Literal["", "head", "faint", "user", "agent", "kept", "dropped", "failed"]

_LONGEST = 4000  # characters of what was said or shown; the page has it whole
_LONGEST_VALUE = 300
_LONGEST_FOLDED = 1500
_MOST_CHANGES = 12
_NAME = 15


@dataclass(frozen=True, slots=True)
class Line:
    """Parts of one line, each with its tone, and how many columns it stands to the right. Where it is too long, its
    other lines begin below what follows the ``label``.
    """

    parts: tuple[tuple[str, Tone], ...] = ()
    indent: int = 0
    label: tuple[str, Tone] = ("", "")

    @property
    def text(self) -> str:
        """Without colours."""
        return " " * self.indent + self.label[0] + "".join(text for text, _ in self.parts)


def episode_lines(run: Run, episode: Episode, *, calls: bool = False, prompts: bool = False) -> Iterator[Line]:
    """The episode from its head to its final state.

    Args:
        calls: tell every call of a model too, with the last message of its prompt and its reply.
        prompts: tell whole prompts and replies.

    Raises:
        CorruptStream: a call, or a message of its prompt, cannot be read.
    """
    told = tell(episode)
    yield from _head(run, episode, told)
    yield from _votes(episode, whole=calls or prompts)
    yield from _section("talk")
    for turn in told.turns:
        yield from _turn(turn)
    stop = episode.trajectory.stop_reason
    yield _line(
        (f"ended as {stop.value}", "failed" if stop.is_failure else "dropped" if stop.is_truncation else "faint")
    )
    yield from _final(told)
    if calls or prompts:
        yield from _section("calls of models")
        nobody = True
        for one in asked(run, episode.id):
            nobody = False
            yield from _call(run, one, whole=prompts)
        if nobody:
            yield _line(("none is recorded", "faint"))


def _head(run: Run, episode: Episode, told: Told) -> Iterator[Line]:
    yield from _fact("episode", episode.id, tone="head")
    yield from _fact("task", episode.trajectory.task)
    totals = Totals.of(asked(run, episode.id))
    for name, values in facts_of(episode, told, world_of(run, episode), totals):
        yield from _fact(name.lower(), *values, tone="failed" if name == "Attributed to" and episode.is_masked else "")
    if episode.reward is not None:
        yield from _fact("reason", episode.reward.reason)


def _fact(name: str, *values: str, tone: Tone = "") -> Iterator[Line]:
    for place, value in enumerate(line for text in values for line in text.splitlines() or [""]):
        yield _line((value, tone), label=(f"{'' if place else name:<{_NAME}}", "faint"))


def _votes(episode: Episode, *, whole: bool) -> Iterator[Line]:
    if episode.votes:
        yield from _section("votes")
    for row in vote_rows(episode.votes):
        said = [row.rule and f"by {row.rule}", row.order, f"temperature {row.temperature}"]
        yield _line(
            (f"{row.verdict:<10}  ", row.tone), (", ".join(filter(None, said)), ""), label=(f"{row.number}  ", "faint")
        )
        yield from _text(row.reason, 3)
    if episode.attributed_to is Party.JUDGE and not whole:
        yield _line(("see what the judge answered by --calls", "faint"))


def _turn(turn: Turn) -> Iterator[Line]:
    tone: Tone = "agent" if turn.by == "agent" else "user"
    yield _line((turn.by, tone))
    if turn.reasoning:
        yield from _labelled("thinks: ", shortened(turn.reasoning, _LONGEST), 2, "faint")
    yield from _text(shortened(turn.said, _LONGEST), 2)
    for call in turn.calls:
        yield from _called(call)


def _called(call: Called) -> Iterator[Line]:
    name = call.name or "an unreadable call"
    note = f"  {call.id}" + (", the answer that another of its group got" if call.remembered else "")
    yield _line((f"{name} ", "agent"), (shortened(call.arguments, _LONGEST), ""), (note, "faint"), indent=2)
    if call.problem:
        yield _line((f"cannot be read: {call.problem}", "failed"), indent=4)
    for fault in call.faults:
        yield _line((f"fault: {fault}", "dropped"), indent=4)
    if call.observation is None:
        yield _line(("no answer", "failed"), indent=4)
    else:
        opening = "error: " if call.is_error else "-> "
        yield from _labelled(opening, shortened(call.observation, _LONGEST), 4, "failed" if call.is_error else "")
    yield from _changes(call.changes, 4)


def _changes(changes: tuple[Changed, ...], indent: int) -> Iterator[Line]:
    for one in changes[:_MOST_CHANGES]:
        path: tuple[str, Tone] = (f"{'.'.join(one.path)}: ", "faint")
        old = None if one.old is None else shortened(one.old, _LONGEST_VALUE)
        new = None if one.new is None else shortened(one.new, _LONGEST_VALUE)
        if new is None:
            said: tuple[tuple[str, Tone], ...] = (("gone" if old is None else f"gone, was {old}", "failed"),)
        elif old is None:
            said = ((f"new {new}", "kept"),)
        else:
            said = ((old, "failed"), (" -> ", "faint"), (new, "kept"))
        yield _line(path, *said, indent=indent, label=("~ ", "faint"))
    if len(changes) > _MOST_CHANGES:
        yield _line((f"~ and {len(changes) - _MOST_CHANGES} more changes", "faint"), indent=indent)


def _final(told: Told) -> Iterator[Line]:
    yield from _section("final state against the first")
    if told.changes is None:
        yield _line(("no state was tracked", "faint"))
    elif not told.changes:
        yield _line(("no difference", "faint"))
    else:
        yield from _changes(told.changes, 0)


def _call(run: Run, one: Asked, *, whole: bool) -> Iterator[Line]:
    record = one.record
    yield _line(
        (f"{record.role} ", "head"),
        (f"{record.model}: {tokens_text(record.usage)}, {seconds_text(record.seconds)}, {drawn_text(record)}", ""),
        (f"; the same request as #{one.like}" if one.like else "", "dropped"),
        label=(f"#{one.number} ", "faint"),
    )
    shown = record.messages if whole else record.messages[-1:]
    before = len(record.messages) - len(shown)
    if before:
        count = "1 message" if before == 1 else f"{before} messages"
        yield _line((f"{count} before this one: see them by --prompts", "faint"), indent=2)
    for message_id in shown:
        message = run.calls.text(message_id)
        yield _line((f"{message.role}:", "user"), indent=2)
        yield from _text(_folded(_message_text(message), whole=whole), 4)
    if record.error:
        yield _line((f"no reply: {record.error}", "failed"), indent=2)
        return
    ended = f" ({record.finish_reason})" if record.finish_reason not in ("", "stop") else ""
    yield _line((f"reply{ended}:", "agent"), indent=2)
    if record.reasoning:
        yield from _labelled("thinks: ", _folded(record.reasoning, whole=whole), 4, "faint")
    said = [record.text] if record.text else []
    said += [f"{call.name} {dump_json(call.arguments)}  {call.id}" for call in record.tool_calls]
    yield from _text(_folded("\n".join(said) or "(nothing)", whole=whole), 4)


def _folded(text: str, *, whole: bool) -> str:
    return text if whole else shortened(text, _LONGEST_FOLDED)


def _message_text(message: Message) -> str:
    lines = [message.content] if message.content else []
    if isinstance(message, ToolMessage):
        lines.insert(0, f"{message.name} {message.call_id}{' (error)' if message.is_error else ''}")
    if isinstance(message, AssistantMessage):
        lines += [f"{call.name} {dump_json(call.arguments)}  {call.id}" for call in message.tool_calls]
        lines += [f"{call.name or 'an unreadable call'} {call.text}  {call.id}" for call in message.malformed_calls]
    return "\n".join(lines)


def _section(title: str) -> Iterator[Line]:
    yield Line()
    yield _line((title, "head"))


def _text(text: str, indent: int, tone: Tone = "") -> Iterator[Line]:
    return (_line((line, tone), indent=indent) for line in text.splitlines())


def _labelled(label: str, text: str, indent: int, tone: Tone) -> Iterator[Line]:
    """``text`` with the label before its first line."""
    for place, line in enumerate(text.splitlines() or [""]):
        yield _line((line, tone), indent=indent, label=(" " * len(label) if place else label, tone))


def _line(*parts: tuple[str, Tone], indent: int = 0, label: tuple[str, Tone] = ("", "")) -> Line:
    return Line(parts, indent, label)
