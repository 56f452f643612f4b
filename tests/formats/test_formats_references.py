"""Where references lead: by path, by anchor, by the URI of a schema, and by URI and fragment together."""

import pytest

from simia.errors import SchemaError
from simia.formats.references import referred
from simia.formats.reply_schema import reply_schema
from simia.seeds.declared import read_tools
from simia.types import JsonObject, ToolSpec, schema_for

INNER: JsonObject = {"type": "integer"}
ANCHORED: JsonObject = {"$anchor": "count", "type": "integer"}
PART: JsonObject = {"$id": "part.json", "$defs": {"A": INNER, "B": ANCHORED}}
SIZE: JsonObject = {"$anchor": "size", "type": "integer"}
ROOT: JsonObject = {
    "$id": "https://x.example/s.json",
    "$defs": {"A/a": INNER, "P": PART, "S": SIZE},
    "type": "object",
}


def asking(reference: str) -> JsonObject:
    return {**ROOT, "properties": {"a": {"$ref": reference}}}


FOUND: dict[str, JsonObject] = {
    "#/$defs/A~1a": INNER,
    "#size": SIZE,
    "https://x.example/s.json#size": SIZE,
    "https://x.example/s.json#/$defs/A~1a": INNER,
    "s.json#/$defs/P/$defs/A": INNER,
    "https://x.example/part.json": PART,
    "part.json#": PART,
    "part.json#/$defs/A": INNER,
    "https://x.example/part.json#count": ANCHORED,
}


@pytest.mark.parametrize("reference", FOUND)
def test_a_reference_leads_to_the_part_that_it_names(reference: str) -> None:
    assert referred(asking(reference), reference, "the schema") is FOUND[reference]


@pytest.mark.parametrize("reference", ["#", "https://x.example/s.json", "https://x.example/s.json#", "s.json"])
def test_the_root_is_named_by_the_bare_fragment_or_by_its_uri(reference: str) -> None:
    root = asking(reference)
    assert referred(root, reference, "the schema") is root


def test_without_an_id_of_the_root_a_schema_in_it_is_named_by_its_own() -> None:
    assert referred({"$defs": {"P": PART}}, "part.json#/$defs/A", "the schema") is INNER


def test_a_urn_is_a_uri_too() -> None:
    root: JsonObject = {"$id": "urn:example:s", "$defs": {"A": INNER}}
    assert referred(root, "urn:example:s#/$defs/A", "the schema") is INNER


@pytest.mark.parametrize(
    "reference", ["#/$defs/Z", "#nobody", "https://y.example/s.json", "part.json#/$defs/Z", "https://[x/s.json"]
)
def test_a_reference_to_what_is_not_there_is_refused_by_name(reference: str) -> None:
    with pytest.raises(SchemaError, match=r"the schema refers to '.*', which it does not have: copy that into it"):
        referred(ROOT, reference, "the schema")


@pytest.mark.parametrize("reference", [*FOUND, "s.json"])
def test_what_a_validator_follows_a_reply_schema_can_be_made_of(reference: str) -> None:
    schema_for(asking(reference))
    reply = reply_schema([ToolSpec(name="f", parameters=asking(reference))], max_exchanges=1, thoughts=False)
    assert schema_for(reply)


@pytest.mark.parametrize("where", ["parameters", "returns"])
def test_a_reference_that_only_a_validator_can_follow_is_refused_as_the_tool_is_read(where: str) -> None:
    schema = {"properties": {"a": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}}
    schema_for(schema)
    with pytest.raises(SchemaError, match=r"a schema of tool 'f' refers to 'https://json-schema\.org"):
        read_tools([{"name": "f", where: schema}])
