"""A tool that a language model executes: its code and the whole state are given, so that nothing is left to invent."""

from simia.errors import ConfigError
from simia.prompts import load
from simia.simulate.parts import remembered, tool_line
from simia.simulate.tracked import TrackedDynamics, fenced_code
from simia.types import SystemMessage, TransitionQuery, WorldSpec

PROMPTS = ("constrained_tool", "turns_tools_call")


class ConstrainedDynamics(TrackedDynamics):
    """A :class:`TrackedDynamics` that is also given the code of the called tool: ``(state, call, code) -> (observation,
    delta)``, the fully observed setting of EnvSimBench (arXiv 2605.07247). There the model reads the code of the whole
    environment; here that of the one tool and of what it uses, which is all that can matter.

    The prompt of a tool is shared by all its calls and stands first, so that a server caches it.
    """

    def _system(self, query: TransitionQuery, *, tracked: bool) -> SystemMessage:
        key = (query.world.content_id, query.call.name, tracked)
        return remembered(self._systems, key, lambda: self._instruction(query.world, query.call.name))

    def _instruction(self, world: WorldSpec, name: str) -> SystemMessage:
        tool = world.tool[name]
        if not tool.source:
            raise ConfigError(
                f"the world {world.name!r} has no code for the tool {name!r}: use the setting tracked or hidden"
            )
        content = load("constrained_tool").render(
            tool=tool_line(tool, show_returns=True), source=fenced_code(tool.source, self._settings.seed)
        )
        return SystemMessage(content=content)
