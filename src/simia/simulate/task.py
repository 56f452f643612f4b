"""The task of a new conversation, written before anybody speaks."""

from typing import Any

from simia.errors import FormatError
from simia.prompts import fence, load
from simia.simulate.asking import ask, must
from simia.simulate.diversity import central_tool, tools_to_centre, user_name
from simia.simulate.parts import remembered, tool_lines
from simia.simulate.planned import Draws, PlannedSeed
from simia.simulate.schemas import TASK
from simia.simulate.settings import SimulateSettings
from simia.simulate.state_view import excerpt
from simia.simulate.tracked import tracked_state
from simia.types import ChatModel, ChatRequest, Sampling, SystemMessage, UserMessage, WorldSpec

PROMPTS = ("turns_task", "turns_task_item")

_MAX_TOKENS = 600


class TaskWriter:
    """Writes what the user wants: another task than the seed's, about things that the seed's initial state holds where
    the tools see it too.
    """

    def __init__(self, model: ChatModel, settings: SimulateSettings) -> None:
        self._model = model
        self._settings = settings
        self._systems: dict[str, SystemMessage] = {}

    def request(self, planned: PlannedSeed) -> ChatRequest:
        """The question for a task."""
        settings, seed = self._settings, planned.seed
        world = seed.world
        draws = Draws(settings.seed, planned.item_id, planned.attempt)
        state = None
        tracked = tracked_state(world, seed.initial_state)
        if tracked is not None:
            # Any record may be the new task's: which ones a large state shows is drawn by the item.
            shuffled = {name: _shuffled(table, draws) for name, table in tracked.items()}
            state, _ = excerpt(shuffled, (), settings.state_chars)
        tag = draws.tag("task/fence", (seed.task, state or ""))
        content = load("turns_task_item").render(
            example=fence(seed.task, tag, "example"),
            state=None if state is None else fence(state, tag, "state"),
            plan=planned.plan,
            nonce=draws.characters("nonce"),
            name=user_name(draws.rng("name")),
            tool=central_tool(tools_to_centre(seed), draws.rng("tool")),
        )
        return ChatRequest(
            model=self._model.name,
            messages=(
                remembered(self._systems, world.content_id, lambda: _system(world)),
                UserMessage(content=content),
            ),
            sampling=Sampling(
                temperature=settings.temperature,
                max_tokens=min(_MAX_TOKENS, settings.max_tokens),
                seed=draws.sampling_seed("task"),
            ),
            response_schema=TASK if settings.structured else None,
        )

    async def write(self, planned: PlannedSeed) -> str:
        """The task.

        Raises:
            SimulatorError: every answer was inadmissible.
        """

        def read(value: Any) -> str:
            task = value.get("task") if isinstance(value, dict) else None
            if not isinstance(task, str) or not task.strip():
                raise FormatError('the answer is no {"task": "..."}')
            if task.strip() == planned.seed.task.strip():
                raise FormatError("this is the example's task: write another one")
            return task.strip()

        answer = await ask(self._model, self.request(planned), read, self._settings.max_repairs)
        return must(answer, "the task writer").value


def _system(world: WorldSpec) -> SystemMessage:
    content = load("turns_task").render(policy=world.policy.strip(), tools=tool_lines(world, show_returns=False))
    return SystemMessage(content=content)


def _shuffled(table: Any, draws: Draws) -> Any:
    if not isinstance(table, dict):
        return table
    names = list(table)
    draws.rng("task/state").shuffle(names)
    return {name: table[name] for name in names}
