"""Faulty seeds are told alike wherever they are met: file, line, reason, and what to do; and seeds move house whole."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simia.seeds import read

Simia = Callable[..., Any]
COMMANDS = ("seeds inspect", "world check", "synth")


def told(simia: Simia, command: str, world: Path) -> str:
    """The one line in which ``command`` tells what is wrong with ``world``; it must fail."""
    ended = simia(*command.split(), str(world), *(["--run", "run"] if command == "synth" else []))
    assert ended.code == (1 if command == "world check" else 2)
    assert "Traceback" not in ended.err
    lines = [line for line in (ended.out + ended.err).splitlines() if line.startswith("error")]
    assert len(lines) == 1, lines
    return str(lines[0])


def add_twin(world: Path) -> None:
    """A fourth record with the first one's id and another task."""
    path = world / "seeds.jsonl"
    twin = json.loads(path.read_text().splitlines()[0]) | {"task": "Something else altogether."}
    path.write_text(path.read_text() + json.dumps(twin) + "\n")


def break_call(world: Path) -> None:
    """The first record calls without the order's number, and its result says so."""
    path = world / "seeds.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    records[0]["messages"][1]["tool_calls"][0]["function"]["arguments"] = "{}"
    records[0]["messages"][2]["content"] = '{"error": "order_id is missing"}'
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.mark.parametrize("command", COMMANDS)
def test_an_empty_seeds_file_is_told_with_what_it_needs(simia: Simia, serve: Simia, world: Path, command: str) -> None:
    serve()
    (world / "seeds.jsonl").write_text("")
    assert f"{world}/seeds.jsonl is empty: a seed file needs at least one record" in told(simia, command, world)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_seed_in_an_unknown_format_is_told_with_its_line_and_what_to_write(
    simia: Simia, serve: Simia, world: Path, command: str
) -> None:
    serve()
    (world / "seeds.jsonl").write_text('{"question": "?", "answer": "!"}\n')
    line = told(simia, command, world)
    assert "seeds.jsonl:1: no list under 'messages' in a record with the keys question, answer" in line
    assert "write chat-completions messages there" in line


@pytest.mark.parametrize("command", ["seeds inspect", "synth"])
def test_a_seed_file_in_an_unknown_format_is_told_with_line_and_the_known_formats(
    simia: Simia, serve: Simia, world: Path, command: str
) -> None:
    serve()
    Path("odd.jsonl").write_text('\n{"question": "?", "answer": "!"}\n')
    words = ["odd.jsonl"] if command == "seeds inspect" else [str(world), "seeds.source=odd.jsonl", "--run", "run"]
    ended = simia(*command.split(), *words)
    assert ended.code == 2
    assert "odd.jsonl:2 is in no known format: the record has the keys question, answer" in ended.err
    assert "write it in one of the known formats: openai, hermes, apigen_mt" in ended.err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_tool_schema_that_is_none_is_told_with_file_and_tool(
    simia: Simia, serve: Simia, world: Path, command: str
) -> None:
    serve()
    (world / "tools.json").write_text(json.dumps([{"name": "get_order", "parameters": {"type": "objekt"}}]))
    line = told(simia, command, world)
    assert "tools.json: tool 'get_order', parameters: no JSON Schema: \"objekt\" is not valid" in line
    assert "see https://json-schema.org" in line


def test_a_seed_of_an_id_that_was_there_before_is_told_with_its_line_when_seeds_are_counted(
    simia: Simia, world: Path
) -> None:
    add_twin(world)
    ended = simia("seeds", "inspect", str(world))
    assert "bad       1 records" in ended.out
    assert "seeds.jsonl:4: an earlier seed has the id 'seed-0' too: give each its own" in ended.err


def test_a_seed_of_an_id_that_was_there_before_is_dropped_by_a_run_with_its_line(
    simia: Simia, serve: Simia, world: Path
) -> None:
    serve()
    add_twin(world)
    ended = simia("synth", str(world), "--run", "run")
    assert "prefilter kept 3 of 4, 1 dropped" in ended.out
    assert "seeds.jsonl:4: an earlier seed has the id 'seed-0' too" in Path("run/streams/prefilter.jsonl").read_text()


def test_what_a_check_lets_pass_the_prefilter_keeps_and_nothing_else(simia: Simia, serve: Simia, world: Path) -> None:
    serve()
    break_call(world)
    assert "seed-0: invalid arguments for get_order" in told(simia, "world check", world)
    assert "prefilter kept 2 of 3, 1 dropped" in simia("synth", str(world), "--run", "run").out


def test_a_check_names_the_rule_of_the_prefilter_that_a_seed_breaks(simia: Simia, world: Path) -> None:
    path = world / "seeds.jsonl"
    path.write_text(path.read_text().replace("Hello, where is order S1?", " "))
    line = told(simia, "world check", world)
    assert "seeds.jsonl: seed-1: the prefilter drops it as empty_turn: message 1: user says nothing" in line


def test_seeds_converted_to_a_folder_are_the_very_same_seeds(simia: Simia) -> None:
    ended = simia("seeds", "convert", "bundled:shop", "mine/")
    assert ended.out == "20 seeds written to mine/, 0 bad records left out\n"
    assert ended.err == ""
    assert [seed.content_id for seed in read("mine")] == [seed.content_id for seed in read("bundled:shop")]


def test_converting_to_a_file_tells_what_a_file_does_not_hold(simia: Simia) -> None:
    ended = simia("seeds", "convert", "bundled:shop", "shop.jsonl")
    assert ended.code == 0
    assert "a file does not hold the name, state schema and invariants of the world: a folder does" in ended.err


def test_converting_never_writes_into_a_full_folder_unasked(simia: Simia, world: Path) -> None:
    before = (world / "policy.md").read_text()
    assert simia("seeds", "convert", "bundled:shop", str(world)).code == 2
    assert (world / "policy.md").read_text() == before
    assert simia("seeds", "convert", "bundled:shop", str(world), "--force").code == 0
    assert (world / "policy.md").read_text() != before


def test_a_file_that_is_taken_for_apigen_mt_is_said_to_be(simia: Simia) -> None:
    turns = [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "hello"}]
    Path("mine.json").write_text(json.dumps([{"conversations": turns, "system": "Be good.", "tools": "[]"}]))

    guessed = simia("seeds", "inspect", "mine.json")
    named = simia("seeds", "inspect", "mine.json", "--format", "sharegpt")

    assert "taken for APIGen-MT by its keys, hence CC-BY-NC-4.0" in guessed.err
    assert "CC-BY-NC-4.0" not in named.out + named.err
