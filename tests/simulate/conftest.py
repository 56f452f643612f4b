"""A small library: members borrow books; its state is tracked."""

from collections.abc import Callable
from typing import Any

import pytest

from simia.pipeline import Item
from simia.simulate import PlannedSeed
from simia.types import (
    AssistantMessage,
    Invariant,
    JsonObject,
    Plan,
    Seed,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
    WorldSpec,
)

MakeItem = Callable[..., Item[PlannedSeed]]


def _closed(properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


TEXT: JsonObject = {"type": "string"}
BOOK = _closed({"title": TEXT, "borrower": {"type": ["string", "null"]}})
TOOLS = (
    ToolSpec(
        name="get_book",
        description="Shows a book.",
        parameters=_closed({"book_id": TEXT}),
        returns=BOOK,
        source="def get_book(book_id): return books[book_id]",
    ),
    ToolSpec(
        name="lend_book",
        description="Lends a book to a member.",
        parameters=_closed({"book_id": TEXT, "member_id": TEXT}),
        returns=BOOK,
    ),
)
REFERENCE = (
    UserMessage(content="Is Emma in? I am member M-731."),
    AssistantMessage(
        reasoning="Look it up.",
        tool_calls=(ToolCall(id="call_1", name="get_book", arguments={"book_id": "B-204"}),),
    ),
    ToolMessage(call_id="call_1", name="get_book", content='{"title":"Emma","borrower":null}'),
    AssistantMessage(content="Yes, Emma is in."),
    UserMessage(content="Lend it to me, please."),
    AssistantMessage(
        tool_calls=(ToolCall(id="call_2", name="lend_book", arguments={"book_id": "B-204", "member_id": "M-731"}),),
    ),
    ToolMessage(call_id="call_2", name="lend_book", content='{"title":"Emma","borrower":"M-731"}'),
    AssistantMessage(content="Done: Emma is yours."),
)
STATE: JsonObject = {
    "books": {"B-204": {"title": "Emma", "borrower": None}, "B-377": {"title": "Ulysses", "borrower": None}},
    "members": {"M-731": {"name": "Ada Wolff"}},
}


@pytest.fixture
def world() -> WorldSpec:
    return WorldSpec(
        name="library",
        policy="Lend at most three books to a member.",
        tools=TOOLS,
        state_schema=_closed(
            {
                "books": {"type": "object", "additionalProperties": BOOK},
                "members": {"type": "object", "additionalProperties": _closed({"name": TEXT})},
            }
        ),
        invariants=(
            Invariant(
                name="borrowers_are_members",
                expression="values(books)[?borrower != null].borrower",
                refers_to="keys(members)",
            ),
        ),
        licence="CC0-1.0",
    )


@pytest.fixture
def seed(world: WorldSpec) -> Seed:
    return Seed(
        id="library-1",
        world=world,
        task="You are Ada Wolff, member M-731, and want to borrow Emma.",
        reference=REFERENCE,
        initial_state=STATE,
        licence="CC0-1.0",
    )


@pytest.fixture
def make_item(seed: Seed) -> MakeItem:
    """An item over the seed; keywords change its plan, ``attempt``, ``item_id`` or ``seed``."""

    def make(**changes: Any) -> Item[PlannedSeed]:
        own = {key: changes.pop(key) for key in ("attempt", "item_id", "seed") if key in changes}
        plan: dict[str, Any] = {
            "formulation": "return a book late",
            "persona": "in a hurry",
            "reasoning": "checks twice",
            "difficulty": "easy",
            "outcome": "success",
            "turns": 8,
        }
        planned = PlannedSeed(**{"seed": seed, "attempt": 0, "item_id": "item-1", **own}, plan=Plan(**(plan | changes)))
        return Item(0, planned.item_id, planned)

    return make
