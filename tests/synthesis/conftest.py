"""A small world, a seed and a clean trajectory, which tests then break in one place."""

from collections.abc import Callable
from typing import Any

import pytest

from simia.types import (
    AssistantMessage,
    MalformedToolCall,
    Message,
    Provenance,
    Seed,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Trajectory,
    UserMessage,
    WorldSpec,
)

Conversation = Callable[..., Trajectory]


@pytest.fixture(scope="session")
def world() -> WorldSpec:
    """Orders can be looked up and changed."""
    look_up = ToolSpec(
        name="get_order",
        description="Look up an order.",
        parameters={
            "type": "object",
            "properties": {"order_id": {"type": "string"}, "verbose": {"type": "boolean"}},
            "required": ["order_id"],
            "additionalProperties": False,
        },
    )
    change = ToolSpec(
        name="change_order",
        description="Change the items of an order.",
        parameters={
            "type": "object",
            "properties": {
                "order_id": {"type": "string"},
                "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
                "price": {"type": "number"},
                "note": {"type": ["string", "null"]},
            },
            "required": ["order_id", "items"],
            "additionalProperties": False,
            "$defs": {
                "item": {
                    "type": "object",
                    "properties": {"sku": {"type": "string"}, "count": {"type": "integer"}},
                    "required": ["sku", "count"],
                    "additionalProperties": False,
                }
            },
        },
    )
    return WorldSpec(
        name="orders", policy="Only change orders that are pending.", tools=(look_up, change), licence="Apache-2.0"
    )


@pytest.fixture
def seed(world: WorldSpec) -> Seed:
    """A seed of that world, made anew for each test, so that ``dict(seed)`` holds no cached property."""
    reference: tuple[Message, ...] = (
        UserMessage(content="Where is order #W77?"),
        AssistantMessage(tool_calls=(ToolCall(id="call_1", name="get_order", arguments={"order_id": "#W77"}),)),
        ToolMessage(call_id="call_1", name="get_order", content='{"status":"shipped"}'),
        AssistantMessage(content="It was shipped."),
    )
    task = "You want to know where order #W77 is."
    return Seed(id="orders-1", world=world, task=task, reference=reference, licence="Apache-2.0")


def _conversation(
    world: WorldSpec, arguments: Any, name: str, observation: str, reply: str, **fields: Any
) -> Trajectory:
    if isinstance(arguments, str):
        malformed = MalformedToolCall(id="call_1", name=name, text=arguments, reason="no JSON")
        caller = AssistantMessage(malformed_calls=(malformed,))
    else:
        caller = AssistantMessage(tool_calls=(ToolCall(id="call_1", name=name, arguments=arguments),))
    messages: tuple[Message, ...] = (
        UserMessage(content="Please look at the orders #W12 and #W13."),
        caller,
        ToolMessage(call_id="call_1", name=name, content=observation),
        AssistantMessage(content=reply),
    )
    provenance = Provenance(run="r", seed="orders-1", attempt=0, model="m", prompts={}, licence="Apache-2.0")
    values: dict[str, Any] = {"messages": messages, "task": "You want to know about order #W12."} | fields
    return Trajectory(world=world.content_id, provenance=provenance, **values)


@pytest.fixture(scope="session")
def conversation(world: WorldSpec) -> Conversation:
    """Makes a clean trajectory of four messages; keywords change the arguments (a text: malformed), the called name,
    the observation, the reply, or any field of the trajectory.
    """

    def make(
        arguments: Any = None,
        name: str = "get_order",
        observation: str = '{"status":"pending"}',
        reply: str = "It is pending.",
        **fields: Any,
    ) -> Trajectory:
        arguments = {"order_id": "#W12"} if arguments is None else arguments
        return _conversation(world, arguments, name, observation, reply, **fields)

    return make
