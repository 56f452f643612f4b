"""A model reads a seed and gives three separate verdicts."""

from typing import Any

from pydantic import Field

from simia.config import Settings, rng_for
from simia.errors import ContextOverflow, FormatError
from simia.formats import transcript
from simia.formats.calls import dump_json
from simia.formats.json_text import read_json
from simia.pipeline import Item
from simia.prompts import fence, load, new_tag
from simia.types import (
    ChatModel,
    ChatReply,
    ChatRequest,
    Dropped,
    JsonObject,
    Kept,
    Outcome,
    Sampling,
    Seed,
    SystemMessage,
    UserMessage,
    WorldSpec,
    schema_for,
)

PROMPTS = ("prefilter_world", "prefilter_item")
"""The templates of the judge, for the manifest."""

RULES = {"completeness": "incomplete", "logic": "illogical", "format": "misformatted"}
"""The rule that a seed breaks, by the verdict that it does not pass, in the order in which they are named."""

_VERDICT: JsonObject = {
    "type": "object",
    "properties": {"reason": {"type": "string", "minLength": 1, "maxLength": 600}, "passes": {"type": "boolean"}},
    "required": ["reason", "passes"],
    "additionalProperties": False,
}
SCHEMA: JsonObject = {
    "type": "object",
    "properties": dict.fromkeys(RULES, _VERDICT),
    "required": list(RULES),
    "additionalProperties": False,
}
"""The schema of a reply. The reason stands before the verdict, so that the verdict follows from it."""

_MAX_WORLDS = 64


class PrefilterSettings(Settings):
    """How seeds are judged before anything is made from them. ``judge``: whether a model reads the seeds that passed
    the rules. ``attempts``: how often it is asked in all while its replies are unreadable. ``max_tokens`` is the
    longest reply of the judge, ``temperature`` how freely it is drawn (0: the likeliest words).
    """

    judge: bool = False
    attempts: int = Field(default=2, ge=1)
    max_tokens: int = Field(default=1024, ge=64)
    temperature: float = Field(default=0.0, ge=0)


class SeedJudge:
    """A stage: a seed is kept if all three verdicts pass, else dropped by the first that does not.

    Rules: ``incomplete``, ``illogical``, ``misformatted``; ``context_overflow`` if it is too long to be read, and
    ``unreadable_verdict`` if the judge's replies stay unreadable: they are paid for and kept, so that to ask once more
    would read the same again.
    """

    name = "prefilter"

    def __init__(self, model: ChatModel, settings: PrefilterSettings) -> None:
        self._model = model
        self._settings = settings
        self._systems: dict[str, SystemMessage] = {}

    def request_for(self, item: Item[Seed], trial: int = 0) -> ChatRequest:
        """The request that ``item`` becomes. Its first message is the same for all seeds of a world."""
        seed = item.value
        # The key and the content make the tag: a seed's author could only know it by knowing the seed's own hash.
        rng = rng_for(0, f"prefilter/{item.key}/{seed.content_id}", trial)
        tag = new_tag(rng)
        content = load("prefilter_item").render(
            task=fence(seed.task, tag, "task"),
            transcript=fence(transcript.render(seed.reference), tag, "conversation"),
        )
        return ChatRequest(
            model=self._model.name,
            messages=(self._system(seed.world), UserMessage(content=content)),
            sampling=Sampling(
                temperature=self._settings.temperature,
                max_tokens=self._settings.max_tokens,
                seed=rng.getrandbits(31),
            ),
            response_schema=SCHEMA,
        )

    async def __call__(self, item: Item[Seed]) -> Outcome[Seed]:
        """The seed, kept or dropped.

        Raises:
            ModelError: the model could not answer; the pipeline decides what that means.
        """
        problem = ""
        for trial in range(self._settings.attempts):
            try:
                reply = await self._model.complete(self.request_for(item, trial))
            except ContextOverflow as cause:
                return Dropped("context_overflow", str(cause))
            try:
                verdicts = read_verdicts(reply)
            except FormatError as cause:
                problem = str(cause)
                continue
            for name, rule in RULES.items():
                if not verdicts[name]["passes"]:
                    return Dropped(rule, verdicts[name]["reason"])
            return Kept(item.value)
        return Dropped("unreadable_verdict", f"the judge's reply stayed unreadable: {problem}")

    def _system(self, world: WorldSpec) -> SystemMessage:
        found = self._systems.get(world.content_id)
        if found is None:
            if len(self._systems) >= _MAX_WORLDS:
                self._systems.clear()
            tools = [dump_json(tool.as_openai()["function"]) for tool in world.tools]
            text = load("prefilter_world").render(policy=world.policy, tools=tools)
            found = self._systems[world.content_id] = SystemMessage(content=text)
        return found


def read_verdicts(reply: ChatReply) -> dict[str, dict[str, Any]]:
    """The three verdicts of a reply.

    Raises:
        FormatError: the reply was cut, is no JSON, or does not fit the schema.
    """
    if reply.finish_reason == "length":
        raise FormatError("the reply was cut: raise prefilter.max_tokens in a new --run")
    value, _ = read_json(reply.text)
    problems = schema_for(SCHEMA).violations(value)
    if problems:
        raise FormatError("; ".join(problems))
    verdicts: dict[str, dict[str, Any]] = value
    return verdicts
