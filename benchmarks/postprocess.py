"""How many stored conversations a CPU second cleans: decode, every default pass, encode.

    python benchmarks/postprocess.py [--records 20000] [--profile]

Records of about 6.6 KB and 14 messages, as the store holds them. Three mixes: all clean (once with the passes over form
only, which are all that the reference has), 5 % whose calls are malformed in the five repairable ways, and all
malformed. Prints conversations per CPU second, the share that is kept, and the peak of resident memory at a tenth of
the records and at all of them; then what dedup and each export cost beside.
"""

import argparse
import cProfile
import itertools
import pstats
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import orjson

from simia.synthesis.dedup import Dedup, DedupSettings
from simia.synthesis.export import FORMATS, ExportSettings, write
from simia.synthesis.postprocess import Postprocess, PostprocessSettings
from simia.types import (
    AssistantMessage,
    JsonObject,
    Kept,
    MalformedToolCall,
    Message,
    Plan,
    Provenance,
    Seed,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Trajectory,
    UserMessage,
    WorldSpec,
)

# What a conversation says, and not how it is spelled: the reference has nothing like these.
_SUBSTANCE = ("valid_results", "grounded_ids", "no_repetition", "leaked_plan", "own_words")
_POOL = 500  # distinct records; the stream repeats them, so that making them costs nothing


def world() -> WorldSpec:
    """Sixteen tools with the schemas of a shop, which say what they take and what they return."""
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
    item = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "price": {"type": "number"}},
        "required": ["name", "price"],
        "additionalProperties": False,
    }
    returns = {
        "type": "object",
        "properties": {"status": {"enum": ["pending", "delivered"]}, "items": {"type": "array", "items": item}},
        "required": ["status", "items"],
    }
    tools = tuple(
        ToolSpec(name=f"tool_{n}", description="Changes an order.", parameters=parameters, returns=returns)
        for n in range(16)
    )
    return WorldSpec(name="bench", policy="Be careful. " * 500, tools=tools, licence="Apache-2.0")


def record(rng: random.Random, world_id: str, malformed: bool, vocabulary: list[str] | None = None) -> bytes:
    """One stored trajectory of 14 messages and about 6.6 KB."""

    def text(words: int) -> str:
        return " ".join(rng.choices(vocabulary or _WORDS, k=words))

    planned = [_arguments(rng, text(3)) for _ in range(4)]
    ids = " ".join(word for one in planned for word in (one["order_id"], *one["item_ids"], one["payment_method_id"]))
    messages: list[Message] = [UserMessage(content=f"{text(30)} {ids}")]
    count = 0
    while len(messages) < 14:
        count += 1
        name = f"tool_{rng.randrange(16)}"
        arguments = planned[count - 1]
        call_id = f"call_{count}"
        if malformed:
            mangled = _mangled(orjson.dumps(arguments).decode(), count)
            broken = MalformedToolCall(id=call_id, name=name, text=mangled, reason="no JSON")
            messages.append(AssistantMessage(malformed_calls=(broken,)))
        else:
            messages.append(AssistantMessage(tool_calls=(ToolCall(id=call_id, name=name, arguments=arguments),)))
        result = orjson.dumps({"status": "pending", "items": [{"name": text(4), "price": 27.5} for _ in range(17)]})
        messages.append(ToolMessage(call_id=call_id, name=name, content=result.decode()))
        messages.append(AssistantMessage(content=text(45)))
        messages.append(UserMessage(content=text(25)))
    messages[13] = AssistantMessage(content=text(45))
    provenance = Provenance(run="b", seed="s", attempt=0, model="m", prompts={"p": "0" * 64}, licence="Apache-2.0")
    plan = Plan(
        formulation="The user has two unrelated requests and brings up the second after the first is settled.",
        persona="a precise engineer who numbers the points of a request",
        reasoning="Look everything up before saying anything about it.",
        difficulty="medium",
        outcome="success",
        turns=14,
    )
    trajectory = Trajectory(
        world=world_id, task=text(40), messages=tuple(messages[:14]), provenance=provenance, plan=plan
    )
    return trajectory.model_dump_json().encode()


def exemplar(spec: WorldSpec) -> Seed:
    """The seed that all records were made from; one more conversation of the same kind."""
    made = Trajectory.model_validate_json(record(random.Random(99), spec.content_id, malformed=False))
    return Seed(id="s", world=spec, task=made.task, reference=made.messages, licence=spec.licence)


def _arguments(rng: random.Random, street: str) -> JsonObject:
    return {
        "order_id": f"#W{rng.randrange(10**7, 10**8)}",
        "item_ids": [str(rng.randrange(10**9, 10**10)) for _ in range(2)],
        "payment_method_id": f"credit_card_{rng.randrange(10**6, 10**7)}",
        "address": {"street": street, "zip": "19122", "floor": rng.randrange(9)},
    }


def stream(share: float, world_id: str, records: int) -> Iterator[bytes]:
    """``records`` records, of which ``share`` have only malformed calls."""
    rng = random.Random(7)
    bad = round(_POOL * share)
    pool = [record(rng, world_id, malformed=position < bad) for position in range(_POOL)]
    rng.shuffle(pool)
    return itertools.islice(itertools.cycle(pool), records)


def measure(name: str, share: float, records: int, settings: PostprocessSettings | None = None) -> None:
    """Prints one line of figures."""
    spec = world()
    chain = Postprocess(
        settings or PostprocessSettings(), {spec.content_id: spec}.__getitem__, {"s": exemplar(spec)}.get
    )
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


def measure_dedup(records: int) -> None:
    """Prints the cost of telling copies, on conversations that all differ."""
    dedup = Dedup(DedupSettings())
    rng = random.Random(11)
    spent = 0.0
    kept = 0
    before = 0
    for position in range(records):
        trajectory = Trajectory.model_validate_json(record(rng, "w", malformed=False, vocabulary=_MANY_WORDS))
        started = time.process_time()
        kept += dedup.check(trajectory) is None
        spent += time.process_time() - started
        if position == records // 10:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / (records * 0.9)
    print(f"dedup: {spent / records * 1e6:.0f} us each, kept {kept / records:.1%}; {grown:,.0f} bytes of memory each")


def measure_export(records: int) -> None:
    """Prints the cost of each target, from a decoded trajectory to bytes in a file."""
    spec = world()
    rng = random.Random(13)
    pool = [Trajectory.model_validate_json(record(rng, spec.content_id, malformed=False)) for _ in range(200)]
    with tempfile.TemporaryDirectory() as folder:
        for name in FORMATS:
            trajectories = enumerate(itertools.islice(itertools.cycle(pool), records))
            started = time.process_time()
            files = write((name,), trajectories, lambda _: spec, Path(folder), ExportSettings())
            spent = time.process_time() - started
            size = sum(file.size_bytes for file in files)
            print(f"export {name}: {spent / records * 1e6:.0f} us each, {size / records:,.0f} bytes each")


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
_WORDS = _PROSE.split()
_MANY_WORDS = [f"{word}{number}" for word in _WORDS for number in range(100)]


def main() -> None:
    """Runs both mixes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--profile", action="store_true", help="print where the time goes, by function")
    chosen = parser.parse_args()
    profile = cProfile.Profile()
    if chosen.profile:
        profile.enable()
    form = tuple(name for name in PostprocessSettings().passes if name not in _SUBSTANCE)
    measure("100 % clean, the passes over form only", 0.0, chosen.records, PostprocessSettings(passes=form))
    measure("100 % clean", 0.0, chosen.records)
    measure("5 % malformed", 0.05, chosen.records)
    measure("100 % malformed", 1.0, max(chosen.records // 20, 100))
    measure_dedup(chosen.records // 2)
    measure_export(chosen.records // 10)
    if chosen.profile:
        profile.disable()
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
