"""A user that a language model plays through one episode, with every answer checked before the agent gets it."""

from collections.abc import MutableMapping
from dataclasses import replace
from typing import Any

from pydantic import Field

from simia.config import Settings
from simia.environment.reward.evidence import shortened
from simia.environment.user_checks import CHECKS, Scene, known_to_user, secrets_of
from simia.errors import ConfigError, ContextOverflow, FormatError, SimulatedUserError
from simia.prompts import fence, load
from simia.seeds.plan import PERSONAS
from simia.simulate import Draws, UserTurn
from simia.simulate.asking import Inadmissible, ask, culprit
from simia.simulate.schemas import USER_TURN
from simia.types import (
    AssistantMessage,
    ChatModel,
    ChatReply,
    ChatRequest,
    Message,
    Sampling,
    SystemMessage,
    Task,
    UserMessage,
    canonical_json,
)

PROMPTS = ("environment_user",)
"""The templates of this user, for the manifest."""

_OPENING = "The customer turns to the agent, which knows nothing of the wish yet."
_SILENCE = "The agent has answered nothing."
_ASKED = "What does the customer say to the agent now?"
_LEAST_CHARS = 80
_UNREADABLE = "form: it was cut, or was no JSON object"


class UserSettings(Settings):
    """How a language model plays the user of an episode.

    ``max_messages`` is how many messages it may send; the agent's answer to the last one ends the episode as
    ``max_turns`` does: cut off by a limit, because the user did not leave. Who the user is comes from ``personas``,
    drawn once for all members of a group. ``max_repairs`` is how often an answer that must not be given is sent back
    with its reason before the episode is masked. ``structured`` sends a JSON Schema with each request. ``temperature``
    is how freely the user speaks, ``max_tokens`` how long one answer may be. Of what the agent says before the user
    speaks again it hears ``heard_chars`` characters, of longer messages both ends.
    """

    temperature: float = Field(default=0.7, ge=0)
    max_tokens: int = Field(default=400, ge=64)
    max_repairs: int = Field(default=2, ge=0)
    structured: bool = True
    max_messages: int = Field(default=12, ge=1)
    heard_chars: int = Field(default=4000, ge=400)
    personas: tuple[str, ...] = Field(default=PERSONAS, min_length=1)


class TaskUser:
    """Speaks for the user of one episode: knows the task and its own character, and what the agent says to it, fenced;
    never calls, results, reasoning or the solution.

    It leaves by a decision of its own, or is spent when its messages are used up; no word of the agent makes it leave.
    ``refused`` holds a reason for each answer that was sent back, with the name of the check before a colon. Equal
    ``draws`` make equal users: the members of a group are asked the same as long as they say the same.

    Args:
        failures: how often each question came to no admissible answer, by its content id; shared by the members of a
            group. After each failure the same question is asked with another draw, by all of them.

    Raises:
        ConfigError: the task has no text.
    """

    def __init__(
        self,
        model: ChatModel,
        task: Task,
        draws: Draws,
        settings: UserSettings | None = None,
        failures: MutableMapping[str, int] | None = None,
    ) -> None:
        if not task.seed.task.strip():
            raise ConfigError(
                f"nobody can play the user of seed {task.id!r}: its task is empty; give it one, or leave the seed out"
            )
        self.refused: list[str] = []
        self._settings = settings or UserSettings()
        self.persona = draws.rng(f"user/persona/{task.id}").choice(self._settings.personas)
        self._model = model
        self._draws = draws
        self._failures = {} if failures is None else failures
        self._tools = tuple(tool.name for tool in task.seed.world.tools)
        self._secrets = secrets_of(task)
        self._own = f"{known_to_user(task)}\n{self.persona}"
        content = load("environment_user").render(
            task=task.seed.task.strip(), persona=self.persona, max_messages=self._settings.max_messages
        )
        self._system = SystemMessage(content=content)

    def request(self, messages: tuple[Message, ...], attempt: int = 0) -> ChatRequest:
        """The question for the user's next message after ``messages``. Each request of an episode begins with the one
        before it, whose answer follows as the user's own. Another ``attempt`` is another draw.
        """
        said = _speech(messages)
        tag = self._draws.tag("user/fence", (message.content for message in said))
        dialogue: list[Message] = [self._system]
        # What the agent said beside a call and after it is one turn: many chat templates demand alternating roles.
        heard: list[str] = []
        for message in said:
            if isinstance(message, AssistantMessage):
                heard.append(message.content)
                continue
            own = canonical_json({"done": False, "say": message.content}).decode()
            dialogue += (self._turn_of_agent(dialogue, heard, tag), AssistantMessage(content=own))
            heard = []
        dialogue.append(self._turn_of_agent(dialogue, heard, tag))
        settings = self._settings
        return ChatRequest(
            model=self._model.name,
            messages=tuple(dialogue),
            sampling=Sampling(
                temperature=settings.temperature,
                max_tokens=settings.max_tokens,
                seed=replace(self._draws, attempt=attempt).sampling_seed(f"user/{len(messages)}"),
            ),
            response_schema=USER_TURN if settings.structured else None,
        )

    async def next(self, messages: tuple[Message, ...]) -> UserTurn:
        """What the user says or decides after ``messages``, which are empty at first.

        Raises:
            SimulatedUserError: every answer was refused; the text names the check that refused the last one.
            ContextFilled: the question is too long, and most of it is what the agent said.
            ModelError: nobody answered.
        """
        spoken = [message for message in messages if isinstance(message, UserMessage)]
        if len(spoken) >= self._settings.max_messages:
            return UserTurn("", done=True, spent=True)
        scene, model = self._scene(messages), _Heard(self._model)

        def read(value: Any) -> UserTurn:
            model.unread -= 1
            try:
                return _read(value, scene, may_leave=bool(spoken))
            except FormatError as cause:
                self.refused.append(str(cause))
                raise

        request = self.request(messages)
        question = request.content_id
        failed = self._failures.get(question, 0)
        if failed:
            request = self.request(messages, failed)
        try:
            answer = await ask(model, request, read, self._settings.max_repairs)
        except ContextOverflow as cause:
            heard = sum(len(message.content) for message in request.messages if isinstance(message, UserMessage))
            raise culprit(cause, request, heard) from cause
        finally:
            self.refused += [_UNREADABLE] * model.unread
        if not isinstance(answer, Inadmissible):
            return answer.value
        # Members who ask at the same time ask with the same draw: they fail together, and once.
        self._failures[question] = max(self._failures.get(question, 0), failed + 1)
        reason = answer.reason if answer.reason in self.refused else f"form: {answer.reason}"
        tries = "once" if answer.count == 1 else f"{answer.count} times"
        raise SimulatedUserError(f"the simulated user answered inadmissibly {tries}, lastly by the check {reason}")

    def _turn_of_agent(self, before: list[Message], heard: list[str], tag: str) -> UserMessage:
        """One turn as the user gets it. The question at its end keeps small models in their part."""
        room = max(_LEAST_CHARS, self._settings.heard_chars // max(1, len(heard)))
        told = [fence(shortened(text, room), tag, "agent") for text in heard]
        if len(before) == 1:
            told.insert(0, _OPENING)
        return UserMessage(content="\n".join((*(told or (_SILENCE,)), _ASKED)))

    def _scene(self, messages: tuple[Message, ...]) -> Scene:
        said = _speech(messages)
        return Scene(
            secrets=self._secrets,
            tools=self._tools,
            own=self._own,
            said="\n".join(message.content for message in said),
            heard=next((one.content for one in reversed(said) if isinstance(one, AssistantMessage)), ""),
            last=next((one.content for one in reversed(said) if isinstance(one, UserMessage)), ""),
        )


class _Heard:
    """A model that keeps count of the replies that nobody has read as JSON: they were refused, too."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.unread = 0

    @property
    def name(self) -> str:
        """The model's."""
        return self._model.name

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The model's answer."""
        reply = await self._model.complete(request)
        self.unread += 1
        return reply


def _speech(messages: tuple[Message, ...]) -> tuple[UserMessage | AssistantMessage, ...]:
    """What user and agent said to each other; nothing of what the agent did."""
    return tuple(
        message
        for message in messages
        if isinstance(message, UserMessage) or (isinstance(message, AssistantMessage) and message.content.strip())
    )


def _read(value: Any, scene: Scene, *, may_leave: bool) -> UserTurn:
    if not isinstance(value, dict) or not isinstance(value.get("done"), bool):
        raise FormatError('form: the answer is no {"done": true or false, "say": "..."}')
    say = value.get("say", "")
    if not isinstance(say, str):
        raise FormatError('form: "say" is no text')
    if value["done"]:
        if not may_leave:
            raise FormatError('form: you have not said anything yet: "done" must be false')
        return UserTurn("", done=True)
    if not say.strip():
        raise FormatError('form: "say" is empty although you are not done')
    for name, check in CHECKS.items():
        reason = check(say.strip(), scene)
        if reason is not None:
            raise FormatError(f"{name}: {reason}")
    return UserTurn(say.strip(), done=False)
