"""Tools and schemas that are read off typed Python."""

from typing import Annotated, Any, Literal, NotRequired

import pytest
from pydantic import Field
from typing_extensions import TypedDict

from simia.types import schema_for
from simia.worlds.typed import schema_of, tool_of

Name = Annotated[str, Field(description="Who it is.", max_length=9)]


class Guest(TypedDict):
    """Somebody."""

    name: Name
    room: NotRequired[int]


class Answer(TypedDict):
    guests: list[Guest]


def invite(
    state: Any, guest: Guest, seats: Annotated[int, Field(ge=1)] = 2, note: Name | None = None, *, loud: bool = False
) -> Answer:
    """Invite somebody
    to a table.

    The second paragraph is for programmers.
    """
    return {"guests": [guest]}


def test_a_tool_has_the_name_of_its_function_and_the_first_paragraph_on_one_line() -> None:
    tool = tool_of(invite)
    assert (tool.name, tool.description) == ("invite", "Invite somebody to a table.")


def test_the_state_is_no_argument_and_every_other_parameter_is_one() -> None:
    parameters = tool_of(invite).parameters
    assert list(parameters["properties"]) == ["guest", "seats", "note", "loud"]
    assert parameters["required"] == ["guest"]
    assert parameters["additionalProperties"] is False


def test_limits_and_descriptions_come_from_the_annotation() -> None:
    properties = tool_of(invite).parameters["properties"]
    assert properties["seats"] == {"minimum": 1, "type": "integer"}
    assert properties["guest"]["properties"]["name"] == {
        "description": "Who it is.",
        "maxLength": 9,
        "type": "string",
    }


def test_an_argument_that_may_be_left_out_is_left_out_and_not_said_to_be_null() -> None:
    note = tool_of(invite).parameters["properties"]["note"]
    assert note == {"description": "Who it is.", "maxLength": 9, "type": "string"}
    assert not schema_for(note).accepts(None)


def test_the_result_is_declared_by_the_return_annotation() -> None:
    returns = tool_of(invite).returns_schema
    assert returns is not None
    assert returns.accepts({"guests": [{"name": "Ada"}]})
    assert not returns.accepts({"guests": [{"name": "Ada", "age": 3}]})


def test_a_function_without_a_docstring_is_no_tool() -> None:
    def silent(state: Any) -> Answer:
        return {"guests": []}

    with pytest.raises(TypeError, match="silent has no docstring: an agent would not know what it does"):
        tool_of(silent)


def test_an_argument_without_an_annotation_is_refused_by_its_name() -> None:
    def loose(state, guest) -> None:  # type: ignore[no-untyped-def]
        """Do it."""

    with pytest.raises(TypeError, match="the argument guest of the tool loose has no annotation"):
        tool_of(loose)


def test_references_are_resolved_and_titles_are_left_out() -> None:
    text = str(schema_of(Answer))
    assert "$ref" not in text
    assert "$defs" not in text
    assert "'title'" not in text


def test_typed_dictionaries_are_closed_at_any_depth_and_without_their_docstring() -> None:
    guest = schema_of(dict[str, list[Guest]])["additionalProperties"]["items"]
    assert guest["additionalProperties"] is False
    assert guest["required"] == ["name"]
    assert "description" not in guest


def test_a_field_may_be_called_title_or_description() -> None:
    class Book(TypedDict):
        title: str
        description: str

    assert schema_of(Book)["properties"] == {"title": {"type": "string"}, "description": {"type": "string"}}


def test_literals_are_listed_and_a_choice_of_types_stays_one() -> None:
    assert schema_of(Literal["open", "shut"])["enum"] == ["open", "shut"]
    assert schema_of(int | str)["anyOf"] == [{"type": "integer"}, {"type": "string"}]


def test_a_dictionary_of_optional_keys_demands_none() -> None:
    class Filters(TypedDict, total=False):
        room: int

    assert schema_of(Filters)["required"] == []
