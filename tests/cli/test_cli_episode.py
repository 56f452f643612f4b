"""``simia episode``: what it prints of a run with episodes, and what it refuses."""

import asyncio
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from simia import worlds
from simia.environment.arena import Arena
from simia.environment.audit import AuditedModel
from simia.environment.episodes import EpisodeLog
from simia.environment.policy import ModelPolicy
from simia.environment.rollout import run_episode
from simia.environment.settings import EnvironmentSettings
from simia.models.scripted import Answer, ScriptedModel
from simia.store import Manifest, Run
from simia.types import ChatReply, ChatRequest, ToolCall

Simia = Callable[..., Any]

MANIFEST = Manifest(run="audit", version="0.1.0", created="2026-01-02T03:04:05Z", config={})
CLEAR = "\x1b[2J\x1b[1;1H"


def calling(name: str) -> ChatReply:
    return ChatReply(text="", model="agent-1", tool_calls=(ToolCall(id="call_1", name=name, arguments={}),))


AGENTS: list[list[Answer]] = [
    [calling("look_around"), "I have looked around."],
    [calling("look_about"), f"There is no such tool.{CLEAR}"],
    ["It is all UNJUDGEABLE."],
]


def _judge(request: ChatRequest) -> Answer:
    text = request.messages[-1].content
    if "UNJUDGEABLE" in text:
        return "Who am I to judge?"
    return {"evidence": "the log", "reason": "It looked.", "rule": "T", "passes": "I have looked" in text}


async def _play(run: Run) -> None:
    settings = EnvironmentSettings.model_validate(
        {
            "world": "lamps",
            "tasks": 1,
            "dynamics": "executable",
            "user": "one_request",
            "reward": {"parts": {"judge": 1.0}, "judge": {"votes": 2, "max_repairs": 0}},
        }
    )
    arena = Arena(settings, {"judge": ScriptedModel(_judge)}, world=worlds.load("lamps"), sink=run.calls)
    task = next(iter(arena.tasks.values()))
    group = arena.group(task, "lamps/7")
    for member, script in enumerate(AGENTS):
        session = group.session(member)
        agent = AuditedModel(ScriptedModel(script, name="agent-1"), "agent", run.calls)
        episode = await run_episode(session, ModelPolicy(agent, episode=session.id))
        await EpisodeLog(run).append(member, episode, task.seed.world)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Run]:
    """A run with three episodes that is still being written."""
    with Run.create(tmp_path / "run", MANIFEST) as run:
        asyncio.run(_play(run))
        yield run


@pytest.fixture
def run(writer: Run) -> str:
    writer.close()
    return "run"


def on_a_terminal(*words: str) -> str:
    """What the command writes to a terminal of 100 columns."""
    ours, its = pty.openpty()
    env = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100"}
    command = [sys.executable, "-m", "simia.cli.main", *words]
    with subprocess.Popen(command, stdout=its, stderr=its, stdin=subprocess.DEVNULL, env=env) as process:
        os.close(its)
        written = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # Linux's word for the end of a terminal
                break
            if not chunk:
                break
            written += chunk
    os.close(ours)
    assert process.returncode == 0
    return written.decode()


@pytest.mark.parametrize("command", ["episode ls", "episode show"])
def test_the_help_has_an_example(simia: Simia, command: str) -> None:
    ended = simia(*command.split(), "--help")

    assert ended.code == 0
    assert f"simia {command}" in ended.out.split("Example")[1]


# ls


def test_the_list_counts_all_and_has_a_line_for_each(simia: Simia, run: str) -> None:
    ended = simia("episode", "ls", run)

    assert ended.code == 0
    assert "3, of which 2 are scored; mean reward 0.5" in ended.out
    assert "1 (judge 1)" in ended.out
    assert [line.split()[:2] for line in ended.out.splitlines() if line.startswith("lamps/")] == [
        ["lamps/7/0", "1"],
        ["lamps/7/1", "0"],
        ["lamps/7/2", "masked"],
    ]


def test_a_short_list_says_that_there_are_more(simia: Simia, run: str) -> None:
    ended = simia("episode", "ls", run, "--limit", "1")

    assert "lamps/7/2" in ended.out
    assert "lamps/7/1" not in ended.out
    assert "1 of 3 are shown" in ended.err


@pytest.mark.parametrize(
    ("options", "first"), [(["--worst"], "lamps/7/1"), (["--best"], "lamps/7/0"), (["--masked"], "lamps/7/2")]
)
def test_the_list_is_of_those_that_are_wanted(simia: Simia, run: str, options: list[str], first: str) -> None:
    lines = simia("episode", "ls", run, *options, "--limit", "1").out.splitlines()

    assert [line.split()[0] for line in lines if line.startswith("lamps/")] == [first]


def test_a_party_without_episodes_says_that_none_fits(simia: Simia, run: str) -> None:
    assert "none of them fits" in simia("episode", "ls", run, "--party", "simulator").out


def test_the_list_is_json_where_that_is_wanted(simia: Simia, run: str) -> None:
    found = json.loads(simia("episode", "ls", run, "--json", "--best").out)

    assert found["counts"]["masked"] == {"judge": 1}
    assert [row["id"] for row in found["episodes"]] == ["lamps/7/0", "lamps/7/1"]


def test_a_run_without_episodes_says_so(simia: Simia) -> None:
    Run.create(Path("empty"), MANIFEST).close()

    ended = simia("episode", "ls", "empty")

    assert (ended.code, ended.out) == (0, "no episode of empty is over yet\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--worst", "--best"], "exclude each other"),
        (["--masked", "--best"], "have no reward"),
        (["--party", "nobody"], "no party 'nobody'; there are agent, simulator, user, judge, infrastructure"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(simia: Simia, run: str, options: list[str], said: str) -> None:
    ended = simia("episode", "ls", run, *options)

    assert ended.code == 2
    assert said in ended.err


# show


def test_an_episode_is_told_from_its_head_to_its_final_state(simia: Simia, run: str) -> None:
    ended = simia("episode", "show", run, "lamps/7/0")

    assert ended.code == 0
    parts = ("episode        lamps/7/0", "\nvotes\n", "\ntalk\n", "  look_around {}  call_1\n", "\nfinal state against")
    places = [ended.out.find(part) for part in parts]
    assert places == sorted(places)
    assert min(places) >= 0


def test_the_end_of_an_id_is_enough(simia: Simia, run: str) -> None:
    assert "lamps/7/1" in simia("episode", "show", run, "/1").out


def test_calls_are_told_where_they_are_wanted(simia: Simia, run: str) -> None:
    out = simia("episode", "show", run, "/0", "--calls").out

    assert [line.split()[1] for line in out.splitlines() if line.startswith("#")] == [
        "agent",
        "agent",
        "judge",
        "judge",
    ]


def test_whole_prompts_are_told_where_they_are_wanted(simia: Simia, run: str) -> None:
    assert len(simia("episode", "show", run, "/0", "--prompts").out) > len(
        simia("episode", "show", run, "/0", "--calls").out
    )


def test_a_page_is_written(simia: Simia, run: str) -> None:
    ended = simia("episode", "show", run, "/0", "--html", "out/episode.html")

    assert "page written to out/episode.html" in ended.out
    assert "simia episode of run audit" in Path("out/episode.html").read_text()


def test_json_holds_the_episode_and_what_else_is_wanted(simia: Simia, run: str) -> None:
    bare = json.loads(simia("episode", "show", run, "/0", "--json").out)
    whole = json.loads(simia("episode", "show", run, "/0", "--json", "--prompts").out)

    assert (bare["episode"]["id"], bare["calls"], bare["messages"]) == ("lamps/7/0", None, None)
    assert [call["role"] for call in whole["calls"]] == ["agent", "agent", "judge", "judge"]
    assert set(whole["messages"]) == {message for call in whole["calls"] for message in call["messages"]}


def test_an_unknown_id_is_told_with_those_that_are_near(simia: Simia, run: str) -> None:
    ended = simia("episode", "show", run, "lamps/7/9")

    assert ended.code == 2
    assert "near are lamps/7/0" in ended.err


def test_a_folder_without_a_run_is_told(simia: Simia) -> None:
    ended = simia("episode", "show", "nowhere", "lamps/7/9")

    assert ended.code == 2
    assert "nowhere does not exist" in ended.err


def test_a_run_that_is_being_written_can_be_looked_at(simia: Simia, writer: Run) -> None:
    assert "lamps/7/0" in simia("episode", "show", str(writer.folder), "/0", "--calls").out


def test_a_run_that_was_killed_can_be_looked_at(simia: Simia, run: str) -> None:
    for name in ("calls.jsonl", "prompts.jsonl", "streams/episodes.jsonl"):
        path = Path(run) / name
        path.write_bytes(path.read_bytes()[:-40])

    ended = simia("episode", "ls", run)

    assert (ended.code, "2, of which 2 are scored" in ended.out) == (0, True)
    assert simia("episode", "show", run, "/0", "--prompts").code == 0


# what models wrote on a terminal


def test_control_characters_of_an_agent_reach_no_pipe(simia: Simia, run: str) -> None:
    out = simia("episode", "show", run, "/1", "--prompts").out

    assert "There is no such tool." in out
    assert "\x1b" not in out


def test_a_terminal_gets_colours_and_no_control_characters_of_an_agent(run: str) -> None:
    out = on_a_terminal("episode", "show", run, "/1")

    assert "\x1b[1;36magent" in out
    assert CLEAR not in out


def test_a_narrow_terminal_gets_the_columns_that_it_has_room_for(run: str) -> None:
    out = on_a_terminal("episode", "ls", run)

    assert "lamps/7/0" in out
    assert "errors" not in out
