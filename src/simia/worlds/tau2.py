"""The domains of tau2-bench as worlds: ``tau2:airline``, ``tau2:retail``, ``tau2:telecom``. Needs the extra ``tau2``.

A state holds the entities that a task is about (:meth:`simia.seeds.tau2_domain.Domain.project`); whether a task is done
is told by tau2's own evaluator, which executes the calls in the whole environment.

In telecom the state holds the company's records and the user's device, and gold calls change both. So the spec lists
what the user can do beside the agent's tools; the descriptions say who does it.
"""

from collections.abc import Sequence
from typing import Any

from simia.errors import ConfigError
from simia.seeds.tau2 import told_task
from simia.seeds.tau2_domain import DOMAINS, SPLITS, Call, Domain
from simia.types import State, ToolCall, ToolSpec, WorldTask
from simia.worlds.adapted import AdaptedWorld, numbered
from simia.worlds.method_source import MethodSource

_ERRORS = '\nAn error is shown as "Error: " and its text, not as an object.'
_SEEN_BY_THE_COMPANY = ("make_payment",)
_AFTERWARDS = (
    "\nAfter the call TelecomEnvironment.sync_tools is called; its self.tools is TelecomTools, its self.user_tools "
    "TelecomUserTools."
)
_BILL = '\nuuid.uuid4().hex is the first of "00000000", "00000001" and so on that with a "B" before it is no bill.'
_BY_USER = "Done by the user on their own device, not by the agent. "


class Tau2World(AdaptedWorld):
    """A domain of tau2-bench with the tasks of a split: ``train``, so that ``test`` stays for evaluation, ``test``, or
    ``base``, which is both.

    Raises:
        ConfigError: there is no such domain or split.
        ExtraMissing: tau2 is not installed.
    """

    def __init__(self, name: str, split: str = "train") -> None:
        if name not in DOMAINS or split not in SPLITS:
            raise ConfigError(
                f"no tau2 world {name!r} with the tasks of {split!r}; there are {', '.join(DOMAINS)} with the tasks of "
                f"{', '.join(SPLITS)}"
            )
        self._domain = Domain(name)
        self._tasks = {f"tau2:{name}:{task.id}": task for task in self._domain.tasks(split)}
        agent = self._domain.world
        self._user = {tool.name for tool in self._domain.user_tools}
        user = tuple(map(_by_user, self._domain.user_tools))
        self.spec = agent.model_copy(update={"name": f"tau2:{name}", "tools": (*agent.tools, *user)})

    def source_of(self, name: str) -> str | None:
        """The method with what it uses; in telecom also how company and device then learn from one another."""
        kit, user_kit, environment = self._domain.classes
        source = MethodSource("tau2")
        source.add_method(user_kit if user_kit and name in self._user else kit, name)
        if user_kit is None:
            return source.text(f"self.db is the state.{_ERRORS}")
        note = f'self.db of {kit.__name__} is state["company"], of {user_kit.__name__} state["user_device"].{_ERRORS}'
        if name in self._domain.writes or name in _SEEN_BY_THE_COMPANY:
            source.add_method(environment, "sync_tools")
            note += _AFTERWARDS
        if "uuid" in source.text(""):
            note += _BILL
        return source.text(note)

    def reached(self, task: WorldTask, calls: Sequence[ToolCall]) -> bool:
        """Whether tau2's evaluator gives ``calls`` the reward 1.

        What the agent has to tell the user counts as told. Tasks that ask for no change are reached by doing nothing.
        """
        return self._domain.reward(self._source(task), [self._asked(call) for call in calls]) == 1.0

    @property
    def _sources(self) -> dict[str, Any]:
        return self._tasks

    def _task(self, task_id: str) -> WorldTask:
        task = self._tasks[task_id]
        gold = self._domain.gold(task)
        # An agent reads first whom it talks to, so the state has to answer that as well.
        _, state = self._domain.project(task, [*self._domain.opening_reads(task), *gold])
        return WorldTask(
            id=task_id,
            instruction=told_task(task),
            initial_state=state,
            gold=numbered([(name, arguments) for _, name, arguments in gold]),
        )

    def _execute(self, state: State, call: ToolCall) -> tuple[str, bool, State]:
        ((*_, observation, is_error),), after = self._domain.replay(state, [self._asked(call)])
        return observation, is_error, after

    def _asked(self, call: ToolCall) -> Call:
        """The call with who makes it: no tool of the user has the name of one of the agent."""
        return "user" if call.name in self._user else "assistant", call.name, call.arguments


def _by_user(tool: ToolSpec) -> ToolSpec:
    return tool.model_copy(update={"description": _BY_USER + tool.description})
