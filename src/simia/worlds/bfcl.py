"""The stateful APIs of the Berkeley Function Calling Leaderboard as worlds: ``bfcl:GorillaFileSystem`` and seven more.

Needs the extra ``bfcl`` (nvidia-bfcl, version 3 of the tasks), or bfcl-eval (version 4) where it is installed.

A task of the multi-turn categories involves one or two APIs, so a state holds the objects of all that its task
involves. A world lists the tools of the APIs in its name and has all tasks that involve these: ``bfcl:TravelAPI`` is
for measuring simulators by calls of one API, ``bfcl:TravelAPI+TwitterAPI`` for agents that do the tasks of two. Gold
calls of tools that are not listed are executed all the same.

Tools that draw random numbers (a booking number, the time of a transaction) are never listed: nobody can foretell their
results from the state, so nobody can be measured by them. They are executed in gold calls, because what follows needs
their results; the generator is part of the state, so :meth:`BfclWorld.run` stays a pure function.
"""

import itertools
from collections.abc import Sequence
from typing import Any

from simia.errors import ConfigError
from simia.types import State, ToolCall, WorldSpec, WorldTask
from simia.worlds.adapted import AdaptedWorld
from simia.worlds.bfcl_package import APIS, CATEGORIES, Entry, Package
from simia.worlds.bfcl_state import state_of

_LICENCE = "Apache-2.0"


class BfclWorld(AdaptedWorld):
    """The tools of the APIs in ``name``, joined by ``+``, with the tasks of one category, or of all.

    Raises:
        ConfigError: there is no such API or category, or no task involves all these APIs.
        ExtraMissing: BFCL is not installed.
    """

    def __init__(self, name: str, category: str | None = None) -> None:
        apis = name.split("+")
        if not set(apis) <= set(APIS) or category not in (None, *CATEGORIES):
            raise ConfigError(
                f"no BFCL world {name!r} with the tasks of {category or 'all categories'!r}; there are "
                f"{', '.join(APIS)}, two of them joined by +, and the categories {', '.join(CATEGORIES)}"
            )
        self._package = Package()
        wanted = CATEGORIES if category is None else (category,)
        self._entries = {
            f"bfcl:{entry.record['id']}": entry
            for one in wanted
            for entry in self._package.entries(one)
            if set(apis) <= set(entry.record["involved_classes"])
        }
        if not self._entries:
            raise ConfigError(f"no task of BFCL involves all of {name}")
        self.spec = self._world(f"bfcl:{name}", apis, hidden=False)
        self._everything: dict[tuple[str, ...], WorldSpec] = {}

    def source_of(self, name: str) -> str | None:
        """The method with what it uses."""
        return self._package.code(name)

    def reached(self, task: WorldTask, calls: Sequence[ToolCall]) -> bool:
        """Whether BFCL's checker finds ``calls`` valid, in any way of dividing them into the turns of the task."""
        entry = self._source(task)
        possible = [call for call in calls if self._package.spelled(entry, call) is not None]
        turns = self._divided(entry, task.initial_state, possible)
        return turns is not None and self._package.valid(entry, turns)

    @property
    def _sources(self) -> dict[str, Any]:
        return self._entries

    def _task(self, task_id: str) -> WorldTask:
        entry = self._entries[task_id]
        said = [message["content"] for turn in entry.record["question"] for message in turn]
        return WorldTask(
            id=task_id,
            instruction="\n\n".join(said),
            initial_state=self._package.initial_state(entry.record),
            gold=entry.gold,
        )

    def _tools_for(self, state: State, call: ToolCall) -> WorldSpec:
        apis = tuple(state)
        if apis not in self._everything:
            self._everything[apis] = self._world(self.spec.name, apis, hidden=True)
        everything = self._everything[apis]
        return everything if call.name in everything.tool else self.spec

    def _execute(self, state: State, call: ToolCall) -> tuple[str, bool, State]:
        objects = self._package.objects(state)
        observation, is_error = self._package.perform(objects, call)
        return observation, is_error, {api: state_of(instance) for api, instance in objects.items()}

    def _world(self, name: str, apis: Sequence[str], *, hidden: bool) -> WorldSpec:
        tools = [tool for api in apis for tool in self._package.tools(api)]
        return WorldSpec(
            name=name,
            policy="",
            tools=tuple(tool for tool in tools if hidden or not self._package.draws(tool.name)),
            state_schema={
                "type": "object",
                "properties": {api: {"type": "object"} for api in apis},
                "required": [*apis],
            },
            licence=_LICENCE,
        )

    def _divided(self, entry: Entry, initial: State, calls: Sequence[ToolCall]) -> list[list[str]] | None:
        """``calls`` as BFCL spells them, by turn, so that every turn ends in the state in which its gold ends."""
        states = self._package.public_states(initial, calls)
        gold_states = self._package.public_states(initial, entry.gold)
        ends = list(itertools.accumulate(len(turn) for turn in entry.turns))
        cuts: list[tuple[int, int]] = []
        # From the end, every turn as late as can be: what was seen earlier counts for the later turns as well. A turn
        # without gold gets nothing, and any other something.
        for number in reversed([number for number, turn in enumerate(entry.turns) if turn]):
            places = range(cuts[-1][1] - 1, 0, -1) if cuts else range(len(calls), max(len(calls) - 1, 0), -1)
            place = next((place for place in places if states[place] == gold_states[ends[number]]), None)
            if place is None:
                return None
            cuts.append((number, place))
        turns: list[list[str]] = [[] for _ in entry.turns]
        start = 0
        for number, place in reversed(cuts):
            turns[number] = [str(self._package.spelled(entry, call)) for call in calls[start:place]]
            start = place
        return turns
