"""The prompt of ``simia world play``: a person makes the calls of an agent in an executable world."""

import sys
from collections.abc import Callable
from difflib import get_close_matches

from simia.cli.console import is_terminal, result, result_facts, result_text
from simia.cli.line_editor import typed_lines
from simia.cli.world_text import (
    laid_out,
    show_answer,
    show_difference,
    show_overview,
    show_tool,
    show_tools,
)
from simia.errors import SimiaError
from simia.types import ToolSpec, WorldTask
from simia.worlds.call_line import WORD_ENDS, completions, read_call, spelled, usage
from simia.worlds.play import Play, Step, looked_up
from simia.worlds.world import World

_HELP = (
    ("TOOL key=value ...", "call a tool; a value is JSON, else text"),
    ('TOOL {"key": ...}', "the same with the arguments as one JSON object"),
    ("tools", "all tools and their arguments"),
    ("tool NAME", "all about one tool; its code with: code NAME"),
    ("state [PATH]", "what the world holds; state . is everything"),
    ("task", "what is wanted"),
    ("policy", "what the agent must keep to"),
    ("goal", "which laws of the goal hold by now"),
    ("gold", "make the next call of the known solution"),
    ("undo", "take the last call back"),
    ("restart", "take all calls back"),
    ("quit", "leave, as Ctrl-D does"),
)
_LEAVE = ("quit", "exit", "/quit")


def play(world: World, task: WorldTask) -> None:
    """Do what is typed or piped, line by line. From a pipe there is no prompt. ``#`` begins a comment."""
    table = _Table(Play(world, task))
    table.open()
    is_typed = is_terminal(sys.stdin) and is_terminal(sys.stdout)
    prompt = f"{world.spec.name}> "
    lines = typed_lines(prompt, table.completions, WORD_ENDS) if is_typed else iter(sys.stdin)
    try:
        for line in map(str.strip, lines):
            if not line or line.startswith("#"):
                continue
            if line in _LEAVE:
                break
            table.do(line)
            if is_typed:
                result()
    finally:
        table.close()


class _Table:
    """A game, the commands for it, and how it is shown."""

    def __init__(self, game: Play) -> None:
        self.game = game
        self._spec = game.world.spec
        self._was_reached = game.is_reached()
        self._commands: dict[str, Callable[[str], None]] = {
            "help": lambda _: result_facts(_HELP),
            "tools": lambda _: show_tools(self._spec),
            "tool": lambda name: show_tool(self._named(name)),
            "code": self._code,
            "state": self._state,
            "task": lambda _: result_text(self.game.task.instruction or "(no instruction: do as you like)"),
            "policy": lambda _: result_text(self._spec.policy or "(no policy)"),
            "goal": self._goal,
            "gold": self._gold,
            "undo": self._undo,
            "restart": self._restart,
        }

    def open(self) -> None:
        """Say what is to be done."""
        result(f"{self.game.task.id}, {len(self._spec.tools)} tools; type help for what you can do")
        result()
        self.do("/task")
        result()

    def close(self) -> None:
        """Say how far it went."""
        ends = {True: "; the goal is reached", False: "; the goal is not reached", None: ""}
        result(f"left after {_calls(len(self.game.steps))}{ends[self.game.is_reached()]}")

    def do(self, line: str) -> None:
        """Do one line. A tool wins over a command of the same name, which then needs a slash: ``/help``."""
        name, _, rest = line.partition(" ")
        command = self._commands.get(name.removeprefix("/"))
        try:
            if name in self._spec.tool:
                self._call(self._spec.tool[name], rest)
            elif command is not None:
                command(rest.strip())
            else:
                result_text(f"no tool or command {name!r}{self._nearest(name)}")
        except SimiaError as error:
            result_text(str(error))

    def completions(self, before: str, word: str) -> list[str]:
        """What ``word``, after ``before`` on its line, may become."""
        return completions(self._spec, self.game.state, [*self._commands, "quit"], before, word)

    def _call(self, tool: ToolSpec, text: str) -> None:
        step = self.game.call(tool.name, read_call(tool, text))
        self._show(step)
        if step.transition.is_error and not tool.arguments_schema.accepts(step.call.arguments):
            result(f"write: {usage(tool)}")

    def _show(self, step: Step) -> None:
        show_answer(step.transition)
        if step.differences:
            result("changed:")
        elif not step.transition.is_error:
            result("nothing changed")
        for one in step.differences:
            show_difference(one)
        self._tell_goal()

    def _tell_goal(self) -> None:
        is_reached = self.game.is_reached()
        if is_reached and not self._was_reached:
            result(f"The goal is reached after {_calls(len(self.game.steps))}.")
        elif self._was_reached and is_reached is False:
            result("The goal is not reached any more.")
        self._was_reached = is_reached

    def _named(self, name: str) -> ToolSpec:
        tool = self._spec.tool.get(name)
        if tool is None:
            what = f"no tool {name!r}{self._nearest(name)}" if name else "which tool? tools lists them"
            raise SimiaError(what)
        return tool

    def _nearest(self, name: str) -> str:
        known = [*self._spec.tool, *self._commands]
        near = get_close_matches(name, known, n=3, cutoff=0.6)
        parts = {part for part in name.lower().split("_") if len(part) > 3}
        near += [one for one in known if one not in near and parts & set(one.split("_"))]
        return f"; did you mean {' or '.join(near[:4])}?" if near else "; tools lists the tools, help the commands"

    def _code(self, name: str) -> None:
        result_text(self.game.world.source_of(self._named(name).name) or "the code of this tool cannot be shown")

    def _state(self, path: str) -> None:
        if not path:
            show_overview(self.game.state)
        else:
            result_text(laid_out(looked_up(self.game.state, path.strip("."))))

    def _goal(self, _: str) -> None:
        laws = self.game.laws()
        for law, holds in laws:
            result_text(f"[{'x' if holds else ' '}] {law.name}\n    {law.expression}")
        if not laws:
            told = {
                True: "reached, as the world judges",
                False: "not reached, as the world judges",
                None: "there is none",
            }
            result(told[self.game.is_reached()])

    def _gold(self, _: str) -> None:
        call = self.game.next_gold
        if call is None:
            result("every gold call was made" if self.game.task.gold else "this task has no gold calls")
            return
        result_text(f"{spelled(call.name, call.arguments)}")
        self._show(self.game.call(call.name, call.arguments))

    def _undo(self, _: str) -> None:
        step = self.game.undo()
        if step is None:
            result("nothing to undo: no call was made")
            return
        result_text(f"taken back: {spelled(step.call.name, step.call.arguments)}")
        self._tell_goal()

    def _restart(self, _: str) -> None:
        result(f"{_calls(len(self.game.steps))} taken back")
        self.game.restart()
        self._tell_goal()


def _calls(count: int) -> str:
    return f"{count} call" if count == 1 else f"{count} calls"
