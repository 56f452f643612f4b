"""The work that the synthesis benchmarks do: requests of about 20 KB, replies of about 6.7 KB that hold 14 messages.

The sizes are those of the reference generator on its own seeds: a policy of 6.7 KB, tools with full schemas, an
exemplar of 5.8 KB. Text is drawn from a fixed vocabulary with a fixed seed: the same bytes on every machine.
"""

import random
from pathlib import Path

import orjson

from simia.formats import exchanges, openai
from simia.types import AssistantMessage, Message, ToolCall, ToolMessage, ToolSpec, UserMessage, WorldSpec

_WORDS = """
    order refund address parcel invoice account station harbour window paper letter garden bridge silver morning
    winter coffee blanket carrier receipt customer delivery warranty exchange battery keyboard lantern bicycle
    ticket voucher balance payment transfer deposit schedule meeting calendar report folder archive printer
""".split()
_TOOLS = 14
_EXCHANGES = 3
_CALLS_PER_EXCHANGE = (2, 2, 0)  # 3 users, 4 calls with 4 observations, 3 replies: 14 messages


def words(rng: random.Random, count: int) -> str:
    """``count`` words as a sentence."""
    return " ".join(rng.choice(_WORDS) for _ in range(count)).capitalize() + "."


def world() -> WorldSpec:
    """A policy of 6.7 KB and 14 tools of about 450 bytes each."""
    rng = random.Random(7)
    policy = "\n".join(f"{n}. {words(rng, 14)}" for n in range(1, 60))
    tools = []
    for n in range(_TOOLS):
        properties = {
            "order_id": {"type": "string", "description": words(rng, 6)},
            "item_ids": {"type": "array", "items": {"type": "string"}, "description": words(rng, 6)},
            "amount": {"type": "integer", "minimum": 0},
        }
        parameters = {"type": "object", "properties": properties, "required": ["order_id"]}
        tools.append(ToolSpec(name=f"tool_{n:02}", description=words(rng, 12), parameters=parameters))
    return WorldSpec(name="bench", policy=policy, tools=tuple(tools), licence="Apache-2.0")


def conversation(rng: random.Random) -> tuple[Message, ...]:
    """14 messages, about 5.8 KB of text, four calls."""
    messages: list[Message] = []
    calls = 0
    for exchange in range(_EXCHANGES):
        messages.append(UserMessage(content=words(rng, 30)))
        for _ in range(_CALLS_PER_EXCHANGE[exchange]):
            calls += 1
            order = f"#W{rng.randrange(10**6, 10**7)}"
            call = ToolCall(
                id=f"call_{calls}",
                name=f"tool_{rng.randrange(_TOOLS):02}",
                arguments={"order_id": order, "item_ids": [str(rng.randrange(10**9)) for _ in range(3)], "amount": 4},
            )
            result = {
                "order_id": order,
                "status": rng.choice(["pending", "delivered"]),
                "items": [
                    {"name": words(rng, 4), "price": rng.randrange(1, 900), "note": words(rng, 8)} for _ in range(6)
                ],
            }
            messages.append(AssistantMessage(tool_calls=(call,)))
            messages.append(ToolMessage(call_id=call.id, name=call.name, content=orjson.dumps(result).decode()))
        messages.append(AssistantMessage(content=words(rng, 40)))
    return tuple(messages)


def write_seeds(path: Path, count: int) -> None:
    """Seeds as OpenAI messages with tools, one a line."""
    spec = world()
    tools = [tool.as_openai() for tool in spec.tools]
    with path.open("wb") as file:
        for n in range(count):
            rng = random.Random(n)
            system = {"role": "system", "content": spec.policy}
            record = {
                "id": f"seed-{n}",
                "task": words(rng, 30),
                "messages": [system, *openai.render_messages(conversation(rng))],
                "tools": tools,
                "licence": "Apache-2.0",
            }
            file.write(orjson.dumps(record) + b"\n")


def write_replies(path: Path, count: int) -> None:
    """Replies as a model would write them: exchanges in compact JSON, one JSON string a line."""
    with path.open("wb") as file:
        for n in range(count):
            rng = random.Random(10_000 + n)
            text = b"```json\n" + orjson.dumps(exchanges.render(words(rng, 110), conversation(rng))) + b"\n```"
            file.write(orjson.dumps(text.decode()) + b"\n")
