"""What a simulator answered, as far as it could be read."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from simia.bench.normal import NOT_JSON, parsed
from simia.bench.sample import Sample
from simia.formats.calls import dump_json, is_deeper
from simia.types import Change, JsonObject, StateDelta, Transition, Value

UNREADABLE = "unreadable"
TOO_LONG = "too_long"
OVERFLOW = "context_overflow"
REFUSED = "refused"
INADMISSIBLE = "inadmissible"

_DEEPEST = 100  # half of what a stream is read with


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

    A reply without an observation is none. One whose changes are missing or make no sense has an observation all the
    same, which may be right; its next state is not.
    """
    if not isinstance(value, Mapping):
        return Prediction(problem=f"{UNREADABLE}: the reply is no JSON object", reply=reply)
    if "observation" not in value:
        return Prediction(problem=f"{UNREADABLE}: the reply has no observation", reply=reply)
    observation = value["observation"]
    is_error = value.get("is_error")
    if isinstance(observation, Mapping) and observation.keys() == {"error"}:
        is_error = True
    changes, problem = _read_changes(value) if with_changes else (None, "")
    return Prediction(
        observation=observation if isinstance(observation, str) else dump_json(observation),
        is_error=is_error if isinstance(is_error, bool) else None,
        changes=changes,
        problem=problem,
        reply=reply,
    )


def right_answer(sample: Sample) -> JsonObject:
    """The JSON value that :func:`read_prediction` reads as the truth of ``sample``."""
    value = parsed(sample.observation)
    observation = sample.observation if value is NOT_JSON else value
    changes = sample.delta.model_dump(mode="json")["changes"]
    return {"is_error": sample.is_error, "observation": observation, "changes": changes}


def _read_changes(value: Mapping[str, Any]) -> tuple[tuple[Change, ...] | None, str]:
    """The changes, or None and why there are none."""
    if "changes" not in value:
        return None, f"{UNREADABLE}: the reply has no changes"
    if is_deeper(value["changes"], _DEEPEST):
        return None, f"{UNREADABLE}: the changes are nested more than {_DEEPEST} deep"
    try:
        return StateDelta.model_validate({"changes": value["changes"]}).changes, ""
    except ValidationError as cause:
        first = cause.errors(include_url=False)[0]
        where = "/".join(str(part) for part in first["loc"])
        return None, f"{UNREADABLE}: {where}: {first['msg']}"
