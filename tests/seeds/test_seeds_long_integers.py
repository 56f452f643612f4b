"""Integers beyond 64 bits stay exact from a world or a seed file to the training files."""

import random
from pathlib import Path
from typing import Any

import orjson
import pytest

from simia import seeds
from simia.errors import RecordError, SeedError
from simia.formats.calls import dump_json
from simia.seeds import hermes, officebench
from simia.seeds.declared import read_tools
from simia.seeds.world_folder import check_world, read_world, scaffold, write_world
from simia.synthesis.export import ExportSettings, write
from simia.types import Invariant, JsonObject, Provenance, State, StopReason, ToolCall, ToolSpec, Trajectory, WorldSpec
from simia.worlds import ExecutableWorld

LONG = 12345678901234567890123
NUMBER: JsonObject = {"enum": [LONG, 3], "maximum": 10**23}
TOOL: JsonObject = {
    "name": "pay",
    "description": "Pay.",
    "parameters": {"type": "object", "properties": {"n": NUMBER}},
}


def record(tools: Any) -> JsonObject:
    return {
        "messages": [{"role": "user", "content": "Pay."}, {"role": "assistant", "content": "Done."}],
        "tools": tools,
    }


def spelled(value: Any) -> str:
    return dump_json(value)


@pytest.mark.parametrize("tools", [[TOOL], spelled([TOOL])], ids=["a list", "JSON text"])
def test_tools_in_records_keep_long_integers(tmp_path: Path, tools: Any) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(spelled(record(tools)) + "\n")
    bad: list[RecordError] = []
    (seed,) = seeds.read(str(path), on_bad=bad.append)
    assert bad == []
    assert seed.world.tools[0].parameters == TOOL["parameters"]
    assert spelled(seed.world.tools[0].parameters) == spelled(TOOL["parameters"])


def test_a_tool_of_a_record_knows_long_integers_to_the_digit() -> None:
    (tool,) = read_tools(spelled([TOOL]))
    assert tool.arguments_schema.accepts({"n": LONG})
    assert not tool.arguments_schema.accepts({"n": LONG + 1})


def test_tools_in_a_hermes_system_message_keep_long_integers() -> None:
    items = [
        {"from": "system", "value": f"Pay.\n<tools>\n{spelled(TOOL)}\n</tools>"},
        {"from": "human", "value": "Pay."},
    ]
    seed = hermes.Reader().seed({"conversations": items}, "x:1")
    assert spelled(seed.world.tools[0].parameters) == spelled(TOOL["parameters"])


def test_an_action_of_officebench_keeps_long_integers(tmp_path: Path) -> None:
    path = tmp_path / "llm_history.json"
    action = f'{{"app": "excel", "action": "set_cell", "text": {LONG}}}'
    path.write_bytes(orjson.dumps([["system", "##Task: Write it.\n##", action]]))
    bad: list[RecordError] = []
    (seed,) = officebench.read_seeds(path, bad.append)
    turn = seed.reference[1]
    assert turn.role == "assistant"
    assert turn.tool_calls[0].arguments == {"text": LONG}


def test_a_written_world_folder_reads_back_with_long_integers(tmp_path: Path) -> None:
    world = WorldSpec(
        name="bank",
        policy="Pay.",
        tools=(ToolSpec(**TOOL, returns={"const": LONG}),),
        state_schema={"type": "object", "properties": {"paid": {"maximum": LONG}}},
        invariants=(Invariant(name="a", expression="paid != `0`"),),
        licence="MIT",
    )
    write_world(tmp_path, world, [])
    assert read_world(tmp_path) == world
    assert str(LONG) in (tmp_path / "tools.json").read_text()
    assert (tmp_path / "tools.json").read_text().endswith("}\n]\n")


def test_a_result_of_a_seed_is_checked_to_the_digit(tmp_path: Path) -> None:
    scaffold(tmp_path / "mine", "mine")
    folder = tmp_path / "mine"
    tools = orjson.loads((folder / "tools.json").read_bytes())
    tools[0]["returns"] = {"const": {"member_id": LONG}}
    (folder / "tools.json").write_text(spelled(tools))
    lines = [orjson.loads(line) for line in (folder / "seeds.jsonl").read_bytes().splitlines()]

    def problems(member_id: int) -> list[str]:
        for line in lines:
            names = {call["id"]: call["function"]["name"] for m in line["messages"] for call in m.get("tool_calls", ())}
            for message in line["messages"]:
                if names.get(message.get("tool_call_id")) == tools[0]["name"]:
                    message["content"] = spelled({"member_id": member_id})
        (folder / "seeds.jsonl").write_text("\n".join(map(spelled, lines)))
        return [finding.problem for finding in check_world(folder) if "does not fit" in finding.problem]

    assert problems(LONG) == []
    assert problems(LONG + 1) != []


def test_tools_of_a_folder_that_are_no_json_are_an_error_that_names_the_file(tmp_path: Path) -> None:
    scaffold(tmp_path / "mine", "mine")
    (tmp_path / "mine/tools.json").write_text("[{")
    with pytest.raises(SeedError, match=r"tools\.json cannot be read: no JSON: "):
        read_world(tmp_path / "mine")


@pytest.mark.parametrize("target", ["trl", "openai"])
def test_tools_of_a_world_folder_are_exported_with_their_long_integers(tmp_path: Path, target: str) -> None:
    scaffold(tmp_path / "mine", "mine")
    (tmp_path / "mine/tools.json").write_text(spelled([TOOL]))
    world = read_world(tmp_path / "mine")
    trajectory = Trajectory.model_validate(
        {
            "world": world.content_id,
            "task": "Pay.",
            "messages": record([])["messages"],
            "provenance": Provenance(run="r", seed="s", attempt=0, model="m", prompts={}, licence="MIT"),
            "stop_reason": StopReason.MAX_TURNS,
        }
    )
    write((target,), [(0, trajectory)], lambda _: world, tmp_path, ExportSettings())
    content = (tmp_path / target / "train.jsonl").read_text().replace('\\"', '"')
    assert spelled(NUMBER) in content


class Bank(ExecutableWorld):
    """One account."""

    def initial_state(self, rng: random.Random) -> State:
        return {"paid": LONG}


def test_an_executable_world_counts_beyond_64_bits() -> None:
    def pay(state: State, n: int) -> JsonObject:
        state["paid"] += n
        return {"paid": state["paid"]}

    world = Bank(WorldSpec(name="bank", policy="", tools=(ToolSpec(**TOOL),), licence="MIT"), {"pay": pay})
    before = {"paid": LONG}
    transition, after = world.run(before, ToolCall(id="call_1", name="pay", arguments={"n": LONG}))
    assert (before, after) == ({"paid": LONG}, {"paid": 2 * LONG})
    assert transition.observation == spelled({"paid": 2 * LONG})
    refused, _ = world.run(before, ToolCall(id="call_1", name="pay", arguments={"n": LONG + 1}))
    assert refused.is_error
