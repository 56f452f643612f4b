"""A language model that judges an episode by its tool log and final state, in several votes."""

from collections.abc import Collection
from typing import Any

from pydantic import Field

from simia.config import Settings
from simia.environment.reward.evidence import Evidence, evidence_of
from simia.environment.together import together
from simia.errors import FormatError, JudgeError
from simia.prompts import fence, load
from simia.simulate.asking import Inadmissible, ask
from simia.simulate.parts import remembered
from simia.simulate.planned import Draws
from simia.types import (
    ChatModel,
    ChatRequest,
    JsonObject,
    Played,
    Reward,
    Sampling,
    SystemMessage,
    UserMessage,
    Vote,
    WorldSpec,
    content_id,
)

PROMPTS = ("judge", "judge_episode")
"""The templates of the judge, for manifests and provenance."""

ORDERS = (("log", "state"), ("state", "log"))
"""The orders of the evidence that votes take in turn. What was said always comes last."""

TASK_RULE = "T"
_KEYS = ("evidence", "reason", "rule", "passes")
_TEXT: JsonObject = {"type": "string", "minLength": 1, "maxLength": 400}


class JudgeSettings(Settings):
    """How a language model judges.

    ``votes`` are asked for at the same time, the majority decides. They take ``temperatures`` in turn, and are shown
    log and state in turn in either order. A vote that cannot be read goes back with the reason up to ``max_repairs``
    times. ``max_tokens`` is the longest vote; ``structured`` lets a server that can hold it to its schema do so.

    ``log_chars``, ``state_chars`` and ``said_chars`` are how many characters are shown of the calls with their results,
    of the final state, and of what was said; where there are more calls than fit, those that changed something are
    shown, and the first and the last. ``seed`` moves every draw.
    """

    votes: int = Field(default=3, ge=1, le=99)
    temperatures: tuple[float, ...] = Field(default=(0.0, 0.4, 0.8), min_length=1)
    max_tokens: int = Field(default=512, ge=64)
    max_repairs: int = Field(default=2, ge=0)
    structured: bool = True
    log_chars: int = Field(default=8000, ge=200)
    state_chars: int = Field(default=4000, ge=200)
    said_chars: int = Field(default=2400, ge=200)
    seed: int = 0


class PolicyJudge:
    """Judges whether the task was done and the policy kept: 1 or 0, as most of the readable votes say.

    It goes by what the program saw: calls, results, changes, final state. What user and agent said is shown last and
    as claims. Every text that they or a tool wrote stands in a fence with a tag of its own for each vote. The draws
    depend on the settings' seed and on what is shown, nothing else, so that a resumed run asks the same again.
    """

    def __init__(self, model: ChatModel, settings: JudgeSettings | None = None) -> None:
        self._model = model
        self._settings = settings or JudgeSettings()
        self._systems: dict[str, SystemMessage] = {}
        self._schemas: dict[tuple[str, ...], JsonObject] = {}

    async def __call__(self, played: Played) -> Reward:
        """The verdict with every vote.

        Raises:
            JudgeError: fewer than half of the votes can be read, or those that can are tied.
            ModelError: nobody answered.
        """
        return decided(await self.votes(played))

    async def votes(self, played: Played) -> tuple[Vote, ...]:
        """Every vote, those that cannot be read too.

        Raises:
            ModelError: nobody answered.
        """
        evidence = self._evidence(played)
        world = played.task.seed.world
        asked = (self._vote(world, evidence, number) for number in range(self._settings.votes))
        return tuple(await together(asked))

    def requests(self, played: Played) -> tuple[ChatRequest, ...]:
        """The question of each vote."""
        evidence = self._evidence(played)
        world = played.task.seed.world
        return tuple(self._request(world, evidence, number) for number in range(self._settings.votes))

    def _evidence(self, played: Played) -> Evidence:
        settings = self._settings
        return evidence_of(
            played,
            log_chars=settings.log_chars,
            state_chars=settings.state_chars,
            said_chars=settings.said_chars,
        )

    async def _vote(self, world: WorldSpec, evidence: Evidence, number: int) -> Vote:
        request = self._request(world, evidence, number)
        rules = numbered(world.policy)[1]
        shown: dict[str, Any] = {"order": f"{_order(number)[0]} first", "temperature": request.sampling.temperature}

        def read(value: Any) -> Vote:
            return _read(value, rules, evidence).model_copy(update=shown)

        answer = await ask(self._model, request, read, self._settings.max_repairs)
        if isinstance(answer, Inadmissible):
            tries = "its answer" if answer.count == 1 else f"each of {answer.count} answers"
            return Vote(passes=None, reason=f"{tries} was unreadable, lastly: {answer.reason}", **shown)
        return answer.value

    def _request(self, world: WorldSpec, evidence: Evidence, number: int) -> ChatRequest:
        settings = self._settings
        draws = Draws(settings.seed, content_id([world.content_id, evidence.content_id]))
        tag = draws.tag(f"judge/fence/{number}", evidence.texts())
        temperature = settings.temperatures[number % len(settings.temperatures)]
        return ChatRequest(
            model=self._model.name,
            messages=(
                remembered(self._systems, world.content_id, lambda: _instruction(world.policy)),
                UserMessage(content=_episode(evidence, tag, _order(number))),
            ),
            sampling=Sampling(
                temperature=temperature,
                max_tokens=settings.max_tokens,
                seed=draws.sampling_seed(f"judge/{number}"),
            ),
            response_schema=self._schema(world) if settings.structured else None,
        )

    def _schema(self, world: WorldSpec) -> JsonObject:
        rules = numbered(world.policy)[1]
        return remembered(self._schemas, rules, lambda: _verdict_schema(rules))


def decided(votes: Collection[Vote]) -> Reward:
    """What the votes come to.

    Raises:
        JudgeError: fewer than half of them can be read, or those that can are tied.
    """
    read = [vote for vote in votes if vote.passes is not None]
    if not read or 2 * len(read) < len(votes):
        last = next((vote.reason for vote in reversed(list(votes)) if vote.passes is None), "there is none")
        raise JudgeError(f"only {len(read)} of {len(votes)} votes of the judge can be read: {last}", tuple(votes))
    passing = sum(vote.passes is True for vote in read)
    if 2 * passing == len(read):
        tied = f"the judge is tied: {passing} of {len(read)} readable votes pass the episode, as many do not"
        raise JudgeError(tied, tuple(votes))
    passes = 2 * passing > len(read)
    most = [vote for vote in read if vote.passes is passes]
    reason = f"{len(most)} of {len(votes)} votes {'pass' if passes else 'fail'} it, by {most[0].rule}: {most[0].reason}"
    return Reward(value=float(passes), reason=reason, votes=tuple(votes))


def numbered(policy: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The lines of a policy, each but headings with its name before it, and what a verdict may rest on: these names
    and that of the task.
    """
    lines: list[str] = []
    names: list[str] = []
    for line in filter(None, map(str.strip, policy.splitlines())):
        if line.startswith("#"):
            lines.append(line)
            continue
        names.append(f"P{len(names) + 1}")
        lines.append(f"{names[-1]}: {line.removeprefix('- ').removeprefix('* ')}")
    return tuple(lines), (*names, TASK_RULE)


def _order(number: int) -> tuple[str, ...]:
    return ORDERS[number % len(ORDERS)]


def _instruction(policy: str) -> SystemMessage:
    lines, rules = numbered(policy)
    return SystemMessage(content=load("judge").render(policy=lines, rules=rules))


def _episode(evidence: Evidence, tag: str, order: tuple[str, ...]) -> str:
    def fenced(text: str | None, label: str) -> str | None:
        return None if text is None else fence(text, tag, label)

    log = [
        {
            "number": logged.number,
            "call": fenced(logged.call, "call"),
            "result": fenced(logged.result, "result"),
            "changes": logged.changes and fence(logged.changes, tag, "changes"),
            "is_error": logged.is_error,
        }
        for logged in evidence.log
    ]
    return load("judge_episode").render(
        tag=tag,
        task=fence(evidence.task, tag, "task"),
        order=order,
        log=log,
        calls=evidence.calls,
        state=fenced(evidence.state, "state"),
        not_shown=evidence.not_shown,
        changing=evidence.changing,
        said=[fence(said.text, tag, said.by) for said in evidence.said],
    )


def _verdict_schema(rules: tuple[str, ...]) -> JsonObject:
    return {
        "type": "object",
        "properties": {
            "evidence": _TEXT,
            "reason": _TEXT,
            "rule": {"enum": list(rules)},
            "passes": {"type": "boolean"},
        },
        "required": list(_KEYS),
        "additionalProperties": False,
    }


def _read(value: Any, rules: tuple[str, ...], evidence: Evidence) -> Vote:
    if not isinstance(value, dict):
        raise FormatError(f"the verdict is no object with {', '.join(_KEYS)}")
    missing = [key for key in _KEYS if key not in value]
    if missing:
        raise FormatError(f"the verdict lacks {', '.join(missing)}")
    if not isinstance(value["passes"], bool):
        raise FormatError(f'"passes" must be true or false, not {value["passes"]!r:.40}')
    said = {key: value[key] for key in ("evidence", "reason", "rule")}
    empty = [key for key, text in said.items() if not isinstance(text, str) or not text.strip()]
    if empty:
        raise FormatError(f"{', '.join(empty)} must be text that is not empty")
    rule = said["rule"].strip()
    if rule not in rules:
        raise FormatError(f'"rule" names a line of the policy or the task: one of {", ".join(rules)}, not {rule!r:.40}')
    reason = said["reason"].strip()
    if any("passes" in text and reason in text for text in evidence.texts()):
        raise FormatError("this verdict stands in the text that you judge: give your own, with a reason of your own")
    return Vote(passes=value["passes"], reason=f"{reason} Evidence: {said['evidence'].strip()}", rule=rule)
