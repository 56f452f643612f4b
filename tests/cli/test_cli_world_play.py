"""``simia world play``: sessions from a pipe, and one at a terminal."""

import io
import os
import pty
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from simia import worlds
from simia.config import rng_for
from simia.types import State, WorldSpec
from simia.worlds import ExecutableWorld
from simia.worlds.drafting import Draft
from simia.worlds.executable import Action, Refused, found
from simia.worlds.typed import tool_of

Simia = Callable[..., Any]


def move(state: State, jar: str, shelf: str) -> dict[str, Any]:
    """Put a jar on a shelf."""
    row = found(state["jars"], jar, "jar")
    if shelf == row["shelf"]:
        raise Refused(f"{jar} is there already")
    row["shelf"] = shelf
    return {"jar": jar, "shelf": shelf}


def throw_away(state: State, jar: str) -> dict[str, Any]:
    """Throw a jar away."""
    found(state["jars"], jar, "jar")
    del state["jars"][jar]
    return {"left": sorted(state["jars"])}


def make(state: State, jar: str, slices: int = 1) -> dict[str, Any]:
    """Make a jar of jam."""
    state["jars"][jar] = {"shelf": "top", "slices": slices, "label": f"{jar} jam, made in the garden, best before long"}
    return dict(state["jars"])


def tidy(rng: random.Random, draft: Draft) -> str:
    """The one kind of task."""
    draft.do("move", jar="plum", shelf="low")
    draft.do("throw_away", jar="fig")
    return "Put the plum jam low and throw the fig jam away."


class Pantry(ExecutableWorld):
    """Two jars."""

    def __init__(self) -> None:
        tools: tuple[Action, ...] = (move, throw_away, make)
        spec = WorldSpec(
            name="pantry",
            policy="Ask before you throw anything away.",
            tools=tuple(map(tool_of, tools)),
            state_schema={"type": "object"},
            licence="MIT",
        )
        super().__init__(spec, {tool.__name__: tool for tool in tools}, (tidy,))

    def initial_state(self, rng: random.Random) -> State:
        return {"day": 1, "jars": {"plum": {"shelf": "top"}, "fig": {"shelf": "top"}}}


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Sets what is piped into the next command."""
    return lambda text: monkeypatch.setattr(sys, "stdin", io.StringIO(text))


@pytest.fixture
def play(simia: Simia, typed: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Plays the pantry with these lines; gives what is printed after the task."""
    monkeypatch.setattr("simia.worlds.door.open_world", lambda name: Pantry())

    def run(*lines: str) -> list[str]:
        typed("".join(f"{line}\n" for line in lines))
        ended = simia("world", "play", "pantry")
        assert (ended.code, ended.err) == (0, "")
        out: list[str] = ended.out.splitlines()
        assert out[:4] == [
            "pantry:0:0, 3 tools; type help for what you can do",
            "",
            "Put the plum jam low and throw the fig jam away.",
            "",
        ]
        return out[4:]

    return run


def test_a_session_from_a_pipe(play: Callable[..., list[str]]) -> None:
    assert play(
        "# a comment, and an empty line",
        "",
        "move jar=plum shelf=low",
        "move jar=plum shelf=low",
        "goal",
        "throw_away fig",
        "goal",
        "undo",
        "make jar=plum slices=3",
        "restart",
        "quit",
        "throw_away fig",
    ) == [
        '{"jar": "plum", "shelf": "low"}',
        "changed:",
        '  jars.plum.shelf: "top" -> "low"',
        "refused: plum is there already",
        "[ ] jars.fig is as wanted",
        '    "jars"."fig" == `null`',
        "[x] jars.plum.shelf is as wanted",
        '    "jars"."plum"."shelf" == `"low"`',
        '{"left": ["plum"]}',
        "changed:",
        '  jars.fig: gone, was {"shelf": "top"}',
        "The goal is reached after 3 calls.",
        "[x] jars.fig is as wanted",
        '    "jars"."fig" == `null`',
        "[x] jars.plum.shelf is as wanted",
        '    "jars"."plum"."shelf" == `"low"`',
        "taken back: throw_away jar=fig",
        "The goal is not reached any more.",
        "{",
        '  "plum": {',
        '    "shelf": "top",',
        '    "slices": 3,',
        '    "label": "plum jam, made in the garden, best before long"',
        "  },",
        '  "fig": {"shelf": "top"}',
        "}",
        "changed:",
        '  jars.plum.shelf: "low" -> "top"',
        "  jars.plum.slices: new 3",
        '  jars.plum.label: new "plum jam, made in the garden, best before long"',
        "3 calls taken back",
        "left after 0 calls; the goal is not reached",
    ]


def test_the_known_solution_call_by_call(play: Callable[..., list[str]]) -> None:
    assert play("gold", "gold", "gold") == [
        "move jar=plum shelf=low",
        '{"jar": "plum", "shelf": "low"}',
        "changed:",
        '  jars.plum.shelf: "top" -> "low"',
        "throw_away jar=fig",
        '{"left": ["plum"]}',
        "changed:",
        '  jars.fig: gone, was {"shelf": "top"}',
        "The goal is reached after 2 calls.",
        "every gold call was made",
        "left after 2 calls; the goal is reached",
    ]


def test_what_one_can_look_at(play: Callable[..., list[str]]) -> None:
    assert play("policy", "state", "state jars.plum", "state jars.kiwi", "tool move", "tools", "task", "/task") == [
        "Ask before you throw anything away.",
        "day: 1",
        'jars: {"plum": {"shelf": "top"}, "fig": {"shelf": "top"}}',
        '{"shelf": "top"}',
        "no 'kiwi' in jars; there is plum, fig",
        "Put a jar on a shelf.",
        "  jar",
        '    {"type": "string"}',
        "  shelf",
        '    {"type": "string"}',
        'returns {"additionalProperties": true, "type": "object"}',
        "tool        arguments      what it does",
        "move        jar, shelf     Put a jar on a shelf.",
        "throw_away  jar            Throw a jar away.",
        "make        jar, [slices]  Make a jar of jam.",
        "Put the plum jam low and throw the fig jam away.",
        "Put the plum jam low and throw the fig jam away.",
        "left after 0 calls; the goal is not reached",
    ]


def test_mistakes_are_told_with_what_to_type(play: Callable[..., list[str]]) -> None:
    assert play(
        "mvoe jar=plum", "throw jar=fig", "xyz", "tool", "tool mov", "move plum", 'move {"jar": ', "move jar=plum"
    ) == [
        "no tool or command 'mvoe'; did you mean move?",
        "no tool or command 'throw'; did you mean throw_away?",
        "no tool or command 'xyz'; tools lists the tools, help the commands",
        "which tool? tools lists them",
        "no tool 'mov'; did you mean move?",
        "'plum' is no argument; write: move jar=... shelf=...",
        "no JSON: unexpected end of data: line 1 column 8 (char 7)",
        'refused: invalid arguments for move: (root): "shelf" is a required property',
        "write: move jar=... shelf=...",
        "left after 1 call; the goal is not reached",
    ]


def test_the_code_of_a_tool_is_shown_where_there_is_one(play: Callable[..., list[str]]) -> None:
    assert "def throw_away(state: State, jar: str) -> dict[str, Any]:" in play("code throw_away")


def test_help_names_every_command(play: Callable[..., list[str]]) -> None:
    first_words = {line.split()[0] for line in play("help")[:-1]}

    assert first_words >= {"tools", "tool", "state", "task", "policy", "goal", "gold", "undo", "restart", "quit"}


@pytest.mark.parametrize("name", worlds.names())
def test_every_world_can_be_played_to_its_goal(simia: Simia, typed: Callable[[str], None], name: str) -> None:
    typed("gold\n" * 20)

    ended = simia("world", "play", name, "--seed", "5", "--task", str(rng_for(0, name).randrange(4)))

    assert ended.code == 0
    assert "\nThe goal is reached after " in ended.out
    assert ended.out.endswith("; the goal is reached\n")


def test_a_world_or_a_task_that_there_is_not_cannot_be_played(simia: Simia) -> None:
    assert "no world 'moon'" in simia("world", "play", "moon").err
    assert simia("world", "play", "bank", "--task", "-1").code == 2


class Terminal:
    """The command at a terminal of its own."""

    def __init__(self) -> None:
        self._screen, terminal = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "simia.cli.main", "world", "play", "bank", "--seed", "3", "--task", "1"],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env=os.environ | {"TERM": "xterm", "INPUTRC": "/dev/null"},
            start_new_session=True,
        )
        os.close(terminal)
        self._unseen = ""

    def see(self, text: str) -> str:
        """Wait until ``text`` is shown; gives what was shown up to it, since the last time."""
        while text not in self._unseen:
            ready, _, _ = select.select([self._screen], [], [], 20)
            assert ready, f"nothing more is shown after {self._unseen!r}"
            self._unseen += os.read(self._screen, 4096).decode()
        shown, _, self._unseen = self._unseen.partition(text)
        return shown

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self._screen, keys.encode())

    def close(self) -> None:
        """End it, however far it is."""
        self.process.kill()
        self.process.wait()
        os.close(self._screen)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    opened = Terminal()
    yield opened
    opened.close()


def test_tab_completes_and_ctrl_d_leaves(terminal: Terminal) -> None:
    terminal.see("bank> ")
    terminal.press("froz\t\r")
    assert "frozen_accounts" in terminal.see("nothing changed")
    terminal.see("bank> ")
    terminal.press("get_account account_id=A-3\t\r")
    assert "get_account account_id=A-315" in terminal.see("nothing changed")
    terminal.see("bank> ")
    terminal.press("\x04")
    terminal.see("left after 2 calls; the goal is not reached")
    assert terminal.process.wait(20) == 0


def test_ctrl_c_gives_up_the_line_and_a_second_one_leaves_without_a_traceback(terminal: Terminal) -> None:
    terminal.see("bank> ")
    terminal.press("get_acc")
    terminal.see("get_acc")
    time.sleep(0.5)  # a signal between the prompt and the waiting for keys is only seen at the next key
    terminal.process.send_signal(signal.SIGINT)
    terminal.see("Ctrl-C once more leaves, as Ctrl-D and quit do")
    terminal.see("bank> ")
    terminal.press("frozen_accounts\r")
    terminal.see("nothing changed")
    for _ in range(2):
        terminal.see("bank> ")
        time.sleep(0.5)
        terminal.process.send_signal(signal.SIGINT)
    assert "Traceback" not in terminal.see("interrupted")
    assert terminal.process.wait(20) == 130
