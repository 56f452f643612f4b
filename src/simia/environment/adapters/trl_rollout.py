"""Many episodes at once, in tokens: the agent generates in batches, everything else waits for nobody but itself."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from simia.environment.adapters.trl_tokens import ChatTokens
from simia.environment.environment import FATAL
from simia.environment.loop_thread import LoopThread
from simia.environment.session import Session
from simia.environment.together import together
from simia.types import AssistantMessage, Episode, Failed, Kept, Message, StopReason


class Generate(Protocol):
    """Continues token sequences by one turn each, at most ``room`` tokens: gives the new tokens and, where the engine
    tells them, their log-probabilities.
    """

    def __call__(self, prompts: list[list[int]], room: int) -> tuple[list[list[int]], list[list[float]] | None]:
        """One turn for each prompt."""
        ...


@dataclass
class Row:
    """One episode as tokens. ``mask`` is 1 where the agent spoke and 0 where the environment did; ``logprobs`` are
    those of the agent's tokens as the engine sampled them, 0.0 elsewhere.
    """

    session: Session
    prompt: list[int] = field(default_factory=list)
    completion: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    calls: int = 0
    episode: Episode | None = None

    @property
    def has_agent_tokens(self) -> bool:
        """Whether the agent said anything."""
        return any(self.mask)


TurnWatch = Callable[[Row, Sequence[int], Sequence[int]], None]
"""Told of each turn of an agent: the episode, the tokens it was given, the tokens it gave."""

EndWatch = Callable[[Session, Kept[Episode] | Failed], Awaitable[None]]
"""Told of each episode as soon as it is judged, and of those that nobody could finish; on the loop."""


class TokenRollout:
    """Plays sessions with one agent that generates in batches.

    Args:
        completion_tokens: how long a conversation may be after its prompt, in tokens, the environment's included.
        turn_tokens: how long one turn of the agent may be.
        context: the most tokens of prompt and completion together, or None.
    """

    def __init__(
        self,
        tokens: ChatTokens,
        generate: Generate,
        loop: LoopThread,
        *,
        completion_tokens: int,
        turn_tokens: int,
        context: int | None = None,
        on_turn: TurnWatch | None = None,
        on_end: EndWatch | None = None,
    ) -> None:
        self._tokens = tokens
        self._generate = generate
        self._loop = loop
        self._completion_tokens = completion_tokens
        self._turn_tokens = turn_tokens
        self._context = context
        self._on_turn = on_turn
        self._on_end = on_end

    def play(self, sessions: Sequence[Session]) -> list[Row]:
        """Every session to its judged end. The agent generates here, in the calling thread, one batch a turn of all who
        wait for it; the environments answer on ``loop``, all at once.

        Raises:
            SimiaError: no other episode would fare better; see :func:`simia.environment.rollout.run_episode`.
        """
        rows = [Row(session) for session in sessions]
        try:
            self._play(rows)
        except FATAL as error:
            failed = Failed(type(error).__name__, str(error))
            self._loop.run(together([self._told(row, failed) for row in rows if row.episode is None]))
            raise
        return rows

    def _play(self, rows: list[Row]) -> None:
        self._loop.run(together([self._start(row) for row in rows]))
        live = [row for row in rows if not row.session.is_over]
        while live:
            turns, logprobs = self._generate([row.prompt + row.completion for row in live], self._turn_tokens)
            spoke = [
                self._spoken(row, ids, logprobs[place] if logprobs is not None else None)
                for place, (row, ids) in enumerate(zip(live, turns, strict=True))
            ]
            acted = [(row, message) for row, message in zip(live, spoke, strict=True) if message is not None]
            self._loop.run(together([self._step(row, message) for row, message in acted]))
            live = [row for row in live if not row.session.is_over]
        self._loop.run(together([self._finish(row) for row in rows]))

    async def _start(self, row: Row) -> None:
        step = await row.session.start()
        row.messages = list(step.messages)
        if step.stop is None:
            row.prompt = self._tokens.prompt(step.messages, row.session.tools)
            if self._context is not None and len(row.prompt) + self._turn_tokens > self._context:
                said = f"the first prompt has {len(row.prompt):,} tokens, and the context {self._context:,}"
                row.session.cut(StopReason.CONTEXT_OVERFLOW, said)
                row.prompt = []  # nobody is to compute what does not fit

    def _spoken(self, row: Row, ids: list[int], logprobs: list[float] | None) -> AssistantMessage | None:
        """The message in ``ids``, or None where it was cut off, which ends the episode."""
        given = row.prompt + row.completion
        room = self._completion_tokens - len(row.completion)
        if self._context is not None:
            room = min(room, self._context - len(given))
        ids = ids[:room]
        if self._on_turn is not None:
            self._on_turn(row, given, ids)
        row.completion += ids
        row.mask += [1] * len(ids)
        row.logprobs += logprobs[: len(ids)] if logprobs is not None else [0.0] * len(ids)
        if not ids or ids[-1] != self._tokens.tokenizer.eos_token_id:
            row.session.cut(StopReason.MAX_TOKENS, f"the agent's turn was cut off after {len(ids):,} tokens")
            return None
        message = self._tokens.read(ids, given, row.session.tools, row.calls + 1)
        row.calls += len(message.tool_calls) + len(message.malformed_calls)
        return message

    async def _step(self, row: Row, message: AssistantMessage) -> None:
        step = await row.session.step(message)
        row.messages += [message, *step.messages]
        if step.stop is not None:
            return  # a completion ends with what the agent said, never with what it was told
        added = self._tokens.answers(step.messages)
        room = self._completion_tokens - len(row.completion) - len(added)
        if self._context is not None:
            room = min(room, self._context - len(row.prompt) - len(row.completion) - len(added))
        if room < 1:
            row.session.cut(StopReason.CONTEXT_OVERFLOW, "what the environment answered does not fit any more")
            return
        row.completion += added
        row.mask += [0] * len(added)
        row.logprobs += [0.0] * len(added)

    async def _finish(self, row: Row) -> None:
        row.episode = await row.session.finish()
        await self._told(row, Kept(row.episode))

    async def _told(self, row: Row, outcome: Kept[Episode] | Failed) -> None:
        if self._on_end is not None:
            await self._on_end(row.session, outcome)
