"""Whether a state obeys its world: the state schema and the invariants."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from simia.errors import SchemaError
from simia.types import Invariant, State, WorldSpec, same, schema_for


def violations(world: WorldSpec, state: State) -> tuple[str, ...]:
    """Every law of ``world`` that ``state`` breaks, each as one sentence; empty if none.

    The invariants are asked only when the state has the right shape: JMESPath on a wrong shape says nothing useful.

    Raises:
        SchemaError: the state schema is no JSON Schema, or an invariant is no JMESPath.
    """
    if world.state_schema is not None:
        misshapen = schema_for(world.state_schema).violations(state)
        if misshapen:
            return tuple(f"state: {sentence}" for sentence in misshapen)
    return broken(world.invariants, state)


def broken(laws: Iterable[Invariant], state: State) -> tuple[str, ...]:
    """Each of ``laws`` that does not hold of ``state``, as one sentence; empty if all hold.

    Raises:
        SchemaError: a law is no JMESPath, or cannot be evaluated on this state.
    """
    found = (_violation(law, state) for law in laws)
    return tuple(sentence for sentence in found if sentence is not None)


def check_expression(expression: str) -> None:
    """Refuse a text that is no JMESPath.

    Raises:
        SchemaError: with the place of the mistake.
    """
    _compiled(expression)


def _violation(invariant: Invariant, state: State) -> str | None:
    picked = _pick(invariant.expression, state)
    if invariant.refers_to is None:
        return None if picked is True else f"{invariant.name}: {invariant.expression} gives {picked!r}, not true"
    allowed = _as_list(_pick(invariant.refers_to, state))
    strangers = [value for value in _as_list(picked) if not any(same(value, one) for one in allowed)]
    if not strangers:
        return None
    return f"{invariant.name}: {strangers[0]!r} is not among {invariant.refers_to}"


def _pick(expression: str, state: State) -> Any:
    try:
        return _compiled(expression).search(state)
    except JMESPathError as cause:
        raise SchemaError(f"the invariant {expression!r} cannot be evaluated on the state: {cause}") from cause


@lru_cache(maxsize=1024)
def _compiled(expression: str) -> Any:
    try:
        return jmespath.compile(expression)
    except JMESPathError as cause:
        reason = " ".join(str(cause).split())
        raise SchemaError(f"{expression!r} is no JMESPath: {reason}") from cause


def _as_list(value: Any) -> list[Any]:
    """JMESPath gives null where a projection finds nothing, and a bare value where it picks one."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
