"""Pairing observations with calls where a spelling has no ids."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from simia.errors import FormatError
from simia.formats.calls import Call, SpelledCall, call_of, split_calls
from simia.types import AssistantMessage, Message, ToolMessage


@dataclass(slots=True)
class Pending:
    """The calls of the last turn that wait for an observation. Renderer and reader ask it the same question, so a
    position is written only where the reader would guess wrong.
    """

    names: tuple[str | None, ...] = ()
    open: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, calls: Sequence[Call]) -> "Pending":
        """All of ``calls`` waiting."""
        return cls(tuple(call.name for call in calls), list(range(len(calls))))

    def guess(self, name: str | None = None) -> int | None:
        """The position that an observation answers: the first open call of that name, else the first open call."""
        if name:
            for position in self.open:
                if self.names[position] == name:
                    return position
        return self.open[0] if self.open else None

    def close(self, position: int) -> None:
        """The call at ``position`` is answered."""
        self.open.remove(position)


@dataclass(slots=True)
class ConversationReader:
    """Builds the messages of a spelling without ids: gives ids, and pairs observations with calls."""

    messages: list[Message] = field(default_factory=list)
    _pending: Pending = field(default_factory=Pending)
    _calls: tuple[Call, ...] = ()
    _spelled: tuple[SpelledCall, ...] = ()
    _count: int = 0

    def add(self, message: Message) -> None:
        """A message without calls."""
        self.messages.append(message)
        self._pending, self._calls = Pending(), ()

    def add_turn(self, content: str, reasoning: str | None, spelled: Sequence[SpelledCall]) -> None:
        """What the assistant said and called; the calls get the next ids."""
        calls = []
        for name, arguments in spelled:
            self._count += 1
            calls.append(call_of(f"call_{self._count}", name, arguments))
        readable, malformed = split_calls(calls)
        self.messages.append(
            AssistantMessage(content=content, reasoning=reasoning, tool_calls=readable, malformed_calls=malformed)
        )
        self._calls, self._spelled, self._pending = tuple(calls), tuple(spelled), Pending.of(calls)

    def extend_turn(self, spelled: Sequence[SpelledCall]) -> None:
        """More parallel calls of the turn just added."""
        turn = self.messages.pop()
        if not isinstance(turn, AssistantMessage):
            raise FormatError("only a turn of the assistant can have calls")
        self._count -= len(self._calls)
        self.add_turn(turn.content, turn.reasoning, (*self._spelled, *spelled))

    def add_observation(
        self, index: int, content: str, is_error: bool, position: int | None = None, name: str | None = None
    ) -> None:
        """An observation; ``position`` counts from 0, None lets the order decide.

        Raises:
            FormatError: no call waits for it.
        """
        place = self._pending.guess(name) if position is None else position
        if place is None or place not in self._pending.open:
            raise FormatError(f"message {index} is an observation, but no call waits for one: remove the record")
        self._pending.close(place)
        call = self._calls[place]
        self.messages.append(ToolMessage(call_id=call.id, name=call.name or "", content=content, is_error=is_error))
