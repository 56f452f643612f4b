"""How many stored conversations a CPU second cleans: decode, every default pass, encode.

    python benchmarks/postprocess.py [--records 20000] [--profile]

Records of about 6.6 KB and 14 messages, as the store holds them. Three mixes: all clean, 5 % whose calls are malformed
in the five repairable ways, and all malformed. Prints conversations per CPU second, the share that is kept, and the
peak of resident memory at a tenth of the records and at all of them.
"""

import argparse
import cProfile
import itertools
import pstats
import random
import resource
import time
from collections.abc import Iterator

import orjson

from simia.synthesis.postprocess import Postprocess, PostprocessSettings
from simia.types import (
    AssistantMessage,
    Kept,
    MalformedToolCall,
    Message,
    Provenance,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Trajectory,
    UserMessage,
    WorldSpec,
)

_POOL = 500  # distinct records; the stream repeats them, so that making them costs nothing


def world() -> WorldSpec:
    """Sixteen tools with the schemas of a shop."""
    parameters = {
        "type": "object",
        "properties": {
            "order_id": {"type": "string", "pattern": "^#W[0-9]+$"},
            "item_ids": {"type": "array", "items": {"type": "string"}},
            "payment_method_id": {"type": "string"},
            "address": {
                "type": "object",
                "properties": {"street": {"type": "string"}, "zip": {"type": "string"}, "floor": {"type": "integer"}},
                "required": ["street", "zip"],
            },
        },
        "required": ["order_id", "item_ids"],
    }
    tools = tuple(ToolSpec(name=f"tool_{n}", description="Changes an order.", parameters=parameters) for n in range(16))
    return WorldSpec(name="bench", policy="Be careful. " * 500, tools=tools, licence="Apache-2.0")


def record(rng: random.Random, world_id: str, malformed: bool) -> bytes:
    """One stored trajectory of 14 messages and about 6.6 KB."""
    messages: list[Message] = [UserMessage(content=_text(rng, 30))]
    count = 0
    while len(messages) < 14:
        count += 1
        name = f"tool_{rng.randrange(16)}"
        arguments = {
            "order_id": f"#W{rng.randrange(10**7, 10**8)}",
            "item_ids": [str(rng.randrange(10**9, 10**10)) for _ in range(2)],
            "payment_method_id": f"credit_card_{rng.randrange(10**6, 10**7)}",
            "address": {"street": _text(rng, 3), "zip": "19122", "floor": rng.randrange(9)},
        }
        call_id = f"call_{count}"
        if malformed:
            text = _mangled(orjson.dumps(arguments).decode(), count)
            broken = MalformedToolCall(id=call_id, name=name, text=text, reason="no JSON")
            messages.append(AssistantMessage(malformed_calls=(broken,)))
        else:
            messages.append(AssistantMessage(tool_calls=(ToolCall(id=call_id, name=name, arguments=arguments),)))
        result = orjson.dumps(
            {"status": "pending", "items": [{"name": _text(rng, 4), "price": 27.5} for _ in range(17)]}
        )
        messages.append(ToolMessage(call_id=call_id, name=name, content=result.decode()))
        messages.append(AssistantMessage(content=_text(rng, 45)))
        messages.append(UserMessage(content=_text(rng, 25)))
    messages[13] = AssistantMessage(content=_text(rng, 45))
    provenance = Provenance(run="b", seed="s", attempt=0, model="m", prompts={"p": "0" * 64}, licence="Apache-2.0")
    trajectory = Trajectory(world=world_id, task=_text(rng, 40), messages=tuple(messages[:14]), provenance=provenance)
    return trajectory.model_dump_json().encode()


def stream(share: float, world_id: str, records: int) -> Iterator[bytes]:
    """``records`` records, of which ``share`` have only malformed calls."""
    rng = random.Random(7)
    bad = round(_POOL * share)
    pool = [record(rng, world_id, malformed=position < bad) for position in range(_POOL)]
    rng.shuffle(pool)
    return itertools.islice(itertools.cycle(pool), records)


def measure(name: str, share: float, records: int) -> None:
    """Prints one line of figures."""
    spec = world()
    chain = Postprocess(PostprocessSettings(), {spec.content_id: spec}.__getitem__)
    source = list(stream(share, spec.content_id, _POOL))
    for raw in source:
        chain.process(raw)
    kept = 0
    peaks = []
    started = time.process_time()
    for position, raw in enumerate(itertools.islice(itertools.cycle(source), records), 1):
        result = chain.process(raw)
        if isinstance(result, Kept):
            kept += 1
        if position in (records // 10, records):
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    spent = time.process_time() - started
    mean = sum(map(len, source)) / len(source)
    print(
        f"{name}: {records / spent:,.0f} conversations per CPU second ({spent / records * 1e6:.1f} us each, "
        f"{mean:,.0f} bytes, kept {kept / records:.1%}); "
        f"peak {peaks[0]:.0f} MB at a tenth, {peaks[1]:.0f} MB at the end"
    )


def _text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(_PROSE.split(), k=words))


def _mangled(text: str, kind: int) -> str:
    ways = (
        text.replace('"', "'"),
        text[:-1] + ",}",
        text[:-1],
        text.replace('"order_id"', "order_id").replace('"item_ids"', "item_ids"),
        f"```json\n{text}\n```",
    )
    return ways[kind % len(ways)]


_PROSE = """
the order was placed on monday and cannot be changed now but you may return it within thirty days for a full refund to
your original payment method please tell me which item you would like to exchange keyboard lamp table airline seat
"""


def main() -> None:
    """Runs both mixes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--profile", action="store_true", help="print where the time goes, by function")
    chosen = parser.parse_args()
    profile = cProfile.Profile()
    if chosen.profile:
        profile.enable()
    measure("100 % clean", 0.0, chosen.records)
    measure("5 % malformed", 0.05, chosen.records)
    measure("100 % malformed", 1.0, max(chosen.records // 20, 100))
    if chosen.profile:
        profile.disable()
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
