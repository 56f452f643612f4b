"""When two observations are the same: the one normalisation of Feedback Match."""

from typing import Any

from simia.errors import FormatError
from simia.formats.calls import load_json
from simia.types import same

NOT_JSON: Any = object()


def same_observation(predicted: str, truth: str) -> bool:
    """Whether two observations say the same.

    Where both are JSON, they are compared as JSON values: order of keys and white space do not count, ``1`` is
    ``1.0``, ``true`` is not ``1``, order in lists counts, and integers of any length are exact. Where the truth is a
    JSON string, its text alone says the same: an answer inside JSON cannot tell one from the other. Else the texts must
    be equal but for white space at their ends. Nothing else is forgiven: no case, no punctuation.
    """
    if predicted == truth:
        return True
    true_value = parsed(truth)
    if true_value is NOT_JSON:
        return predicted.strip() == truth.strip()
    if isinstance(true_value, str) and predicted == true_value:
        return True
    value = parsed(predicted)
    return value is not NOT_JSON and same(value, true_value)


def parsed(text: str) -> Any:
    """The JSON value of ``text``, or :data:`NOT_JSON`, also where a key stands twice in an object."""
    try:
        return load_json(text)
    except FormatError:
        return NOT_JSON
