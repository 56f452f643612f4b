"""The laws of a state: its schema, and JMESPath."""

import pytest

from simia.errors import SchemaError
from simia.seeds.invariants import check_expression, violations
from simia.types import Invariant, WorldSpec

SCHEMA = {
    "type": "object",
    "properties": {"people": {"type": "object"}, "tasks": {"type": "object"}, "open": {"type": "integer"}},
    "required": ["people", "tasks"],
}


def world(*invariants: Invariant) -> WorldSpec:
    return WorldSpec(name="w", policy="p", tools=(), state_schema=SCHEMA, invariants=invariants, licence="MIT")


FOREIGN_KEY = Invariant(name="tasks have owners", expression="values(tasks)[].owner", refers_to="keys(people)")
COUNTED = Invariant(name="open is the count", expression="open == length(keys(tasks))")
STATE = {"people": {"ann": {}}, "tasks": {"t1": {"owner": "ann"}}, "open": 1}


def test_a_state_that_obeys_every_law_has_no_violations() -> None:
    assert violations(world(FOREIGN_KEY, COUNTED), STATE) == ()


def test_a_foreign_key_to_nothing_is_named_with_its_value() -> None:
    broken = {**STATE, "tasks": {"t1": {"owner": "bob"}}}
    assert violations(world(FOREIGN_KEY), broken) == ("tasks have owners: 'bob' is not among keys(people)",)


def test_an_expression_that_is_not_true_is_a_violation() -> None:
    assert violations(world(COUNTED), {**STATE, "open": 2}) == (
        "open is the count: open == length(keys(tasks)) gives False, not true",
    )


def test_an_expression_that_gives_nothing_is_a_violation_too() -> None:
    law = Invariant(name="there is one", expression="missing")
    assert violations(world(law), STATE) == ("there is one: missing gives None, not true",)


def test_one_is_not_true() -> None:
    assert violations(world(Invariant(name="law", expression="open")), STATE) == ("law: open gives 1, not true",)


def test_a_reference_of_nothing_refers_to_nothing_wrong() -> None:
    assert violations(world(FOREIGN_KEY), {**STATE, "tasks": {}}) == ()


def test_true_and_one_are_different_keys() -> None:
    law = Invariant(name="law", expression="a", refers_to="b")
    assert violations(world(law), {"people": {}, "tasks": {}, "a": [True], "b": [1]}) != ()


def test_the_schema_speaks_before_the_invariants() -> None:
    assert violations(world(FOREIGN_KEY, COUNTED), {"people": {}}) == ('state: (root): "tasks" is a required property',)


def test_an_expression_that_fails_on_a_state_is_an_error_and_no_violation() -> None:
    with pytest.raises(SchemaError, match="cannot be evaluated on the state"):
        violations(world(Invariant(name="law", expression="length(open) == `0`")), STATE)


def test_a_text_that_is_no_jmespath_is_refused() -> None:
    with pytest.raises(SchemaError, match="is no JMESPath"):
        check_expression("values(tasks")
