"""What an export target is: a writer that takes one trajectory after another."""

import json
from typing import Any, Protocol

import orjson

from simia.errors import FormatError
from simia.formats.calls import load_json
from simia.synthesis.export.files import ExportedFile
from simia.types import AssistantMessage, Message, Trajectory, WorldSpec

_MAX_WORLDS = 512  # rendered worlds kept at hand; beyond it they are rendered again, so memory stays bounded


class Writer(Protocol):
    """One target. Trajectories come in ordinal order, so that the bytes are the same for the same run.

    Files come to be in two steps, so that no target's are replaced before all targets' are whole.
    """

    def add(self, trajectory: Trajectory, world: WorldSpec) -> None:
        """Write one record."""
        ...

    def finish(self) -> tuple[ExportedFile, ...]:
        """Bring the whole files to the disk, under other names than their own."""
        ...

    def place(self) -> None:
        """Put the finished files in place."""
        ...

    def abort(self) -> None:
        """Leave nothing behind that is not in place."""
        ...


class WorldTexts:
    """What a target writes about a world, rendered and encoded once per world instead of once per record."""

    def __init__(self, render: Any) -> None:
        self._render = render
        self._known: dict[str, Any] = {}

    def of(self, world: WorldSpec) -> Any:
        """The rendered form of ``world``."""
        found = self._known.get(world.content_id)
        if found is None:
            if len(self._known) >= _MAX_WORLDS:
                self._known.clear()
            found = self._known[world.content_id] = self._render(world)
        return found


def spoken(trajectory: Trajectory, reasoning: bool) -> tuple[Message, ...]:
    """The messages for a target, with or without the agent's reasoning.

    Raises:
        FormatError: a call is still malformed: a training file must not teach it.
    """
    messages = trajectory.messages
    for message in messages:
        if message.role == "assistant" and message.malformed_calls:
            raise FormatError(
                f"{message.malformed_calls[0].id} is malformed: run the passes repair_json and readable_calls first"
            )
    if reasoning:
        return messages
    return tuple(
        AssistantMessage(content=message.content, tool_calls=message.tool_calls)
        if message.role == "assistant" and message.reasoning is not None
        else message
        for message in messages
    )


def line(record: Any) -> bytes:
    """One line of JSON Lines; keys stand in the order in which they were put in."""
    try:
        return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:
        # Integers beyond 64 bits; what orjson would copy verbatim is read again.
        text = json.dumps(record, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_copied)
        return text.encode("utf-8", "surrogatepass") + b"\n"


def _copied(value: Any) -> Any:
    """The value of a piece of JSON that is spelled already."""
    if isinstance(value, orjson.Fragment):
        return load_json(orjson.dumps(value))
    raise TypeError(f"{type(value).__name__} is no JSON")
