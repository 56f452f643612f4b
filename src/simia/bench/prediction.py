"""What a simulator answered, as far as it could be read."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from simia.formats.calls import dump_json
from simia.types import Change, StateDelta, Transition, Value

UNREADABLE = "unreadable"
TOO_LONG = "too_long"
OVERFLOW = "context_overflow"
REFUSED = "refused"
INADMISSIBLE = "inadmissible"


class Prediction(Value):
    """The answer to one sample. ``problem`` is empty, or says why there is none: one of the words of this module, a
    colon, and the particulars. ``changes`` is None where none could be read, or none were asked for; ``reply`` is
    what the model said, word by word.
    """

    observation: str | None = None
    is_error: bool | None = None
    changes: tuple[Change, ...] | None = None
    problem: str = ""
    reply: str = ""

    @classmethod
    def of(cls, transition: Transition) -> "Prediction":
        """What a :class:`simia.types.Dynamics` answered."""
        return cls(
            observation=transition.observation,
            is_error=transition.is_error,
            changes=None if transition.delta is None else transition.delta.changes,
        )


def read_prediction(value: Any, *, with_changes: bool, reply: str = "") -> Prediction:
    """The prediction in a reply's JSON value. Nothing is checked against the world: a wrong answer is an answer.

    Observation and changes are read apart, so that one of them can be right where the other makes no sense.
    """
    if not isinstance(value, Mapping):
        return Prediction(problem=f"{UNREADABLE}: the reply is no JSON object", reply=reply)
    observation = value.get("observation")
    if "observation" in value and not isinstance(observation, str):
        observation = dump_json(observation)
    is_error = value.get("is_error")
    if isinstance(value.get("observation"), Mapping) and value["observation"].keys() == {"error"}:
        is_error = True
    changes: tuple[Change, ...] | None = None
    problem = "" if observation is not None else f"{UNREADABLE}: the reply has no observation"
    if with_changes:
        try:
            changes = StateDelta.model_validate({"changes": value.get("changes", ())}).changes
        except ValidationError as cause:
            first = cause.errors(include_url=False)[0]
            where = "/".join(str(part) for part in first["loc"])
            problem = problem or f"{UNREADABLE}: {where}: {first['msg']}"
    return Prediction(
        observation=observation,
        is_error=is_error if isinstance(is_error, bool) else None,
        changes=changes,
        problem=problem,
        reply=reply,
    )
