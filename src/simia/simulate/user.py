"""A user that a language model plays: knows the task and its own character, never the tools or the policy."""

from dataclasses import dataclass
from typing import Any

from simia.errors import FormatError
from simia.prompts import fence, load
from simia.simulate.asking import ask, must
from simia.simulate.planned import Draws
from simia.simulate.schemas import USER_TURN
from simia.simulate.settings import SimulateSettings
from simia.types import (
    AssistantMessage,
    ChatModel,
    ChatRequest,
    Message,
    Plan,
    Sampling,
    SystemMessage,
    UserMessage,
    canonical_json,
)

PROMPTS = ("turns_user",)

_MAX_TOKENS = 400
_OPENING = "The agent waits for your first message."


@dataclass(frozen=True, slots=True)
class UserTurn:
    """What the user says next, or that it leaves, as a decision of its own instead of a magic word in the text.
    ``spent``: it does not leave by a decision, it only has no message left.
    """

    say: str
    done: bool
    spent: bool = False


class SimulatedUser:
    """Speaks for a user. Sees what the agent says to it, fenced; never calls, results or reasoning."""

    def __init__(self, model: ChatModel, settings: SimulateSettings) -> None:
        self._model = model
        self._settings = settings

    def request(
        self, task: str, plan: Plan, exchanges: int, messages: tuple[Message, ...], draws: Draws
    ) -> ChatRequest:
        """The question for the user's next message after ``messages``; ``exchanges`` is how many it should need."""
        settings = self._settings
        said = tuple(message for message in messages if _is_speech(message))
        tag = draws.tag("user/fence", (message.content for message in said))
        dialogue: list[Message] = [
            SystemMessage(content=load("turns_user").render(task=task, plan=plan, exchanges=exchanges)),
            UserMessage(content=_OPENING),
        ]
        for message in said:
            if isinstance(message, UserMessage):
                own = canonical_json({"done": False, "say": message.content}).decode()
                dialogue.append(AssistantMessage(content=own))
                continue
            content = fence(message.content, tag, "agent")
            # What the agent said beside a call and after it is one turn: many chat templates demand alternating roles.
            if isinstance(dialogue[-1], UserMessage):
                content = f"{dialogue.pop().content}\n{content}"
            dialogue.append(UserMessage(content=content))
        return ChatRequest(
            model=self._model.name,
            messages=tuple(dialogue),
            sampling=Sampling(
                temperature=settings.temperature,
                max_tokens=min(_MAX_TOKENS, settings.max_tokens),
                seed=draws.sampling_seed(f"user/{len(messages)}"),
            ),
            response_schema=USER_TURN if settings.structured else None,
        )

    async def next(
        self, task: str, plan: Plan, exchanges: int, messages: tuple[Message, ...], draws: Draws
    ) -> UserTurn:
        """What the user says or decides after ``messages``, which are empty at first, or end with the agent's words.

        Raises:
            SimulatorError: every answer was inadmissible.
        """

        def read(value: Any) -> UserTurn:
            return _read(value, may_leave=bool(messages))

        request = self.request(task, plan, exchanges, messages, draws)
        return must(await ask(self._model, request, read, self._settings.max_repairs), "the simulated user").value


def _is_speech(message: Message) -> bool:
    return isinstance(message, UserMessage) or (isinstance(message, AssistantMessage) and bool(message.content))


def _read(value: Any, *, may_leave: bool) -> UserTurn:
    if not isinstance(value, dict) or not isinstance(value.get("done"), bool):
        raise FormatError('the answer is no {"done": true or false, "say": "..."}')
    say = value.get("say", "")
    if not isinstance(say, str):
        raise FormatError('"say" is no text')
    if value["done"] and not may_leave:
        raise FormatError('you have not said anything yet: "done" must be false')
    if not value["done"] and not say.strip():
        raise FormatError('"say" is empty although you are not done')
    return UserTurn(say.strip(), value["done"])
