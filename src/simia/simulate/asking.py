"""One structured answer of a model: read, checked, and sent back with the reason while it is inadmissible."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from simia.errors import FormatError, SimulatorError
from simia.formats.json_text import read_json
from simia.types import AssistantMessage, ChatModel, ChatRequest, UserMessage

T = TypeVar("T")

_QUOTED_CHARS = 4000
_REASON_CHARS = 600


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What an answer was read as. ``repaired``: its JSON was broken and had to be mended."""

    value: T
    repaired: bool
    text: str


@dataclass(frozen=True, slots=True)
class Inadmissible:
    """The last of several answers, none of which could be taken, and why."""

    text: str
    reason: str
    count: int


async def ask(
    model: ChatModel, request: ChatRequest, read: Callable[[Any], T], max_repairs: int
) -> Answer[T] | Inadmissible:
    """The first admissible answer among the first and ``max_repairs`` more.

    ``read`` turns the reply's JSON value into the answer, or raises FormatError with a reason that the model can
    act on. The refused answer and its reason stand at the end of the next request, after everything cached.
    """
    trial = request
    for count in range(1, max_repairs + 2):
        reply = await model.complete(trial)
        try:
            if reply.finish_reason == "length":
                raise FormatError("the answer was too long and was cut: write a shorter one")
            value, repaired = read_json(reply.text)
            return Answer(read(value), repaired, reply.text)
        except FormatError as cause:
            text, reason = reply.text[:_QUOTED_CHARS].strip() or "(empty)", str(cause)[:_REASON_CHARS]
        # Only the last refused answer is quoted: the context stays bounded.
        trial = request.model_copy(
            update={
                "messages": (
                    *request.messages,
                    AssistantMessage(content=text),
                    UserMessage(content=f"This answer was refused: {reason}\nAnswer again with one JSON object only."),
                ),
                "sampling": request.sampling.model_copy(update={"seed": (request.sampling.seed or 0) + count}),
            }
        )
    return Inadmissible(text, reason, max_repairs + 1)


def must(answer: Answer[T] | Inadmissible, who: str) -> Answer[T]:
    """The answer, if there is one.

    Raises:
        SimulatorError: there is none; ``who`` names the role that failed.
    """
    if isinstance(answer, Inadmissible):
        tries = "once" if answer.count == 1 else f"{answer.count} times"
        raise SimulatorError(f"{who} answered inadmissibly {tries}, lastly: {answer.reason}")
    return answer
