"""One structured answer of a model: read, checked, and sent back with the reason while it is inadmissible."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from simia.errors import ContextFilled, ContextOverflow, FormatError, SimulatorError
from simia.formats.json_text import read_json
from simia.types import AssistantMessage, ChatModel, ChatRequest, UserMessage

T = TypeVar("T")

_QUOTED_CHARS = 4000
_REASON_CHARS = 600
_MOST_TOLD = 3


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What an answer was read as. ``repaired``: its JSON was broken and had to be mended."""

    value: T
    repaired: bool
    text: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a model is told that did not answer yet, but asked for something that a program knows."""

    text: str


@dataclass(frozen=True, slots=True)
class Inadmissible:
    """The last of several answers, none of which could be taken, and why."""

    text: str
    reason: str
    count: int


async def ask(
    model: ChatModel, request: ChatRequest, read: Callable[[Any], T | Wanted], max_repairs: int
) -> Answer[T] | Inadmissible:
    """The first admissible answer among the first and ``max_repairs`` more.

    ``read`` turns the reply's JSON value into the answer, or raises FormatError with a reason that the model can
    act on. The refused answer and its reason stand at the end of the next request, after everything cached.

    Or ``read`` gives what the model wants to be told first: then it is told, and asked on, which is no repair. It may
    want something three times; a fourth time is inadmissible.
    """
    asked = trial = request
    told = refused = 0
    while True:
        reply = await model.complete(trial)
        text = reply.text[:_QUOTED_CHARS].strip() or "(empty)"
        try:
            if reply.finish_reason == "length":
                raise FormatError("the answer was too long and was cut: write a shorter one")
            value, repaired = read_json(reply.text)
            found = read(value)
            if not isinstance(found, Wanted):
                return Answer(found, repaired, reply.text)
            if told == _MOST_TOLD:
                raise FormatError(f"you asked {told} times already: answer now with what you were told")
        except FormatError as cause:
            reason = str(cause)[:_REASON_CHARS]
            refused += 1
            if refused > max_repairs:
                return Inadmissible(text, reason, refused)
            said = f"This answer was refused: {reason}\nAnswer again with one JSON object only."
            # Only the last refused answer is quoted: the context stays bounded.
            trial = _continued(asked, text, said, seed=(request.sampling.seed or 0) + refused)
        else:
            told += 1
            asked = trial = _continued(trial, text, found.text, seed=trial.sampling.seed)


def _continued(request: ChatRequest, text: str, said: str, seed: int | None) -> ChatRequest:
    """The request that follows one that was answered with ``text``."""
    messages = (*request.messages, AssistantMessage(content=text), UserMessage(content=said))
    return request.model_copy(
        update={"messages": messages, "sampling": request.sampling.model_copy(update={"seed": seed})}
    )


def culprit(cause: ContextOverflow, request: ChatRequest, written: int) -> ContextOverflow:
    """``cause`` of a request that did not fit, or that the agent filled it: if more than half of the prompt are the
    ``written`` characters that come from the agent. Else nothing would be lost for it by making prompts too long.
    """
    if 2 * written <= sum(len(message.content) for message in request.messages):
        return cause
    return ContextFilled(f"the agent wrote {written:,} characters of a prompt that was too long: {cause}")


def must(answer: Answer[T] | Inadmissible, who: str) -> Answer[T]:
    """The answer, if there is one.

    Raises:
        SimulatorError: there is none; ``who`` names the role that failed.
    """
    if isinstance(answer, Inadmissible):
        tries = "once" if answer.count == 1 else f"{answer.count} times"
        raise SimulatorError(f"{who} answered inadmissibly {tries}, lastly: {answer.reason}")
    return answer
