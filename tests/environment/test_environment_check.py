"""The checker of environments: ours pass, and each broken one is told what is wrong with it."""

import asyncio
from collections.abc import Callable
from itertools import count

import pytest

from simia import worlds
from simia.environment import OneRequest, ToolEnvironment, User, world_tasks
from simia.environment.check import check_environment
from simia.environment.task_user import TaskUser
from simia.models.scripted import ScriptedModel
from simia.seeds.world_folder import Finding
from simia.simulate import Draws, UserTurn
from simia.types import AssistantMessage, Environment, Message, Step, StopReason, Task, ToolMessage, ToolSpec


def task_in(name: str) -> Task:
    return next(world_tasks(worlds.load(name), 1))


def fresh(name: str = "lamps", user: User | None = None) -> ToolEnvironment:
    task = task_in(name)
    return ToolEnvironment(task.seed, worlds.load(name), user or OneRequest(task))


def found(make: Callable[[], Environment], **options: float) -> list[Finding]:
    return asyncio.run(check_environment(make, **options))  # type: ignore[arg-type]


def told(make: Callable[[], Environment], **options: float) -> dict[str, str]:
    return {finding.where: finding.problem for finding in found(make, **options)}


class Broken:
    """An environment over lamps; those below break one promise each."""

    def __init__(self) -> None:
        self.inner = fresh()

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        return self.inner.tools

    async def start(self) -> Step:
        return await self.inner.start()

    async def step(self, message: AssistantMessage) -> Step:
        return await self.inner.step(message)


@pytest.mark.parametrize("name", ["lamps", "library"])
def test_an_executable_environment_has_no_fault(name: str) -> None:
    assert found(lambda: fresh(name)) == []


def test_an_environment_with_a_simulated_user_has_no_fault() -> None:
    def leaving_user() -> User:
        turns = [{"done": False, "say": "Turn on the lamp, please."}, {"done": True, "say": ""}]
        return TaskUser(ScriptedModel(turns), task_in("lamps"), Draws(0, "one"))

    assert found(lambda: fresh(user=leaving_user())) == []


def test_an_environment_for_two_uses_is_a_fault() -> None:
    class Reusable(Broken):
        async def start(self) -> Step:
            self.inner = fresh()
            return await self.inner.start()

    assert told(Reusable) == {
        "a second start": "is accepted, although an environment is for one use",
        "a start after the end": "is accepted, although an environment is for one use",
    }


def test_a_step_that_is_accepted_at_any_time_is_a_fault() -> None:
    class Patient(Broken):
        async def step(self, message: AssistantMessage) -> Step:
            if not self.inner.messages:
                return Step(stop=StopReason.COMPLETED)
            return await super().step(message)

    assert told(Patient) == {"a step before the start": "is accepted, although an environment is for one use"}


def test_a_stop_that_is_told_twice_is_a_fault() -> None:
    class Repeating(Broken):
        async def step(self, message: AssistantMessage) -> Step:
            if self.inner.stop is not None:
                return Step(stop=self.inner.stop)
            return await super().step(message)

    assert told(Repeating) == {"a step after the end": "is accepted, although an environment is for one use"}


def test_a_misuse_that_is_told_by_another_error_is_a_fault() -> None:
    class Abrupt(Broken):
        async def step(self, message: AssistantMessage) -> Step:
            if not self.inner.messages:
                raise RuntimeError("not started")
            return await super().step(message)

    assert told(Abrupt) == {
        "a step before the start": "raises SimiaError: could not refuse it: RuntimeError: not started"
    }


def test_a_start_without_a_policy_is_a_fault() -> None:
    class Lawless(Broken):
        async def start(self) -> Step:
            step = await super().start()
            return step.model_copy(update={"messages": step.messages[1:]})

    assert told(Lawless) == {"start": "gives user instead of a system and a user message"}


def test_a_start_that_ends_at_once_is_told_with_its_reason() -> None:
    class Mute:
        async def next(self, messages: tuple[Message, ...]) -> UserTurn:
            return UserTurn("", done=True)

    assert told(lambda: fresh(user=Mute())) == {
        "start": "ends the episode at once as user_failed: the user left before saying anything"
    }


def test_an_error_that_leaves_the_environment_is_a_fault() -> None:
    class Crashing(Broken):
        async def start(self) -> Step:
            raise ValueError("no lamp")

    assert told(Crashing)["start"] == "raises SimiaError: could not answer: ValueError: no lamp"


def test_an_environment_that_never_answers_is_a_fault() -> None:
    class Hanging(Broken):
        async def start(self) -> Step:
            await asyncio.sleep(3600)
            raise AssertionError

    assert "TimeoutError" in told(Hanging, timeout_s=0.01)["start"]


def test_two_tools_of_one_name_are_a_fault() -> None:
    class Twins(Broken):
        @property
        def tools(self) -> tuple[ToolSpec, ...]:
            return (*super().tools, super().tools[0])

    assert told(Twins)["tool turn_on"] == "stands more than once among the tools"


def test_a_schema_that_is_none_is_a_fault() -> None:
    class Misspelt(Broken):
        @property
        def tools(self) -> tuple[ToolSpec, ...]:
            return (ToolSpec(name="look", parameters={"type": "objekt"}),)

    assert "no JSON Schema" in told(Misspelt)["tool look, parameters"]


def test_tools_that_change_at_the_start_are_a_fault() -> None:
    class Growing(Broken):
        @property
        def tools(self) -> tuple[ToolSpec, ...]:
            return super().tools if self.inner.messages else ()

    assert told(Growing) == {"tools": "are others after the start"}


def test_a_refusal_in_other_words_each_time_is_a_fault() -> None:
    numbers = count()

    class Moody(Broken):
        async def step(self, message: AssistantMessage) -> Step:
            step = await super().step(message)
            if not message.malformed_calls:
                return step
            answers = tuple(one.model_copy(update={"content": f"no. {next(numbers)}"}) for one in step.messages)
            return step.model_copy(update={"messages": answers})

    assert told(Moody) == {"a call that cannot be read": "is refused in other words the next time"}


def test_a_refusal_that_is_no_error_is_a_fault() -> None:
    class Meek(Broken):
        async def step(self, message: AssistantMessage) -> Step:
            step = await super().step(message)
            answers = tuple(one.model_copy(update={"is_error": False}) for one in step.messages)
            return step.model_copy(update={"messages": answers})

    problem = "is not answered by one tool message that is an error and names the call"
    assert told(Meek) == {
        "a call of an unknown tool": problem,
        "a call that cannot be read": problem,
        "a call of turn_on with wrong arguments": problem,
    }


def test_a_refusal_that_asks_a_model_is_a_fault() -> None:
    questions: list[AssistantMessage] = []

    class Asking(Broken):
        async def step(self, message: AssistantMessage) -> Step:
            if message.malformed_calls and not message.tool_calls:
                questions.append(message)
            return await super().step(message)

    findings = asyncio.run(check_environment(Asking, asked=lambda: len(questions)))

    assert [(finding.where, finding.problem) for finding in findings] == [
        ("a call that cannot be read", "is put to a model")
    ]


def test_parallel_calls_that_are_answered_in_another_order_are_a_fault() -> None:
    class Backward(Broken):
        async def step(self, message: AssistantMessage) -> Step:
            step = await super().step(message)
            return step.model_copy(update={"messages": step.messages[::-1]})

    assert told(Backward) == {
        "parallel calls": "are answered by no_such_tool call_4, no_such_tool call_3, look_around call_2, "
        "no_such_tool call_1, asked were no_such_tool call_1, look_around call_2, no_such_tool call_3, "
        "no_such_tool call_4"
    }


def test_words_that_a_tool_answers_are_a_fault() -> None:
    class Confused(Broken):
        async def step(self, message: AssistantMessage) -> Step:
            if message.content and self.inner.messages:
                return Step(messages=(ToolMessage(call_id="call_1", name="look_around", content="{}"),))
            return await super().step(message)

    assert told(Confused) == {"the agent's words": "are answered by tool"}


def test_a_conversation_without_an_end_is_a_fault() -> None:
    class Tireless:
        async def next(self, messages: tuple[Message, ...]) -> UserTurn:
            return UserTurn("And then?", done=False)

    assert told(lambda: fresh(user=Tireless()), most_turns=5) == {"end": "does not come within 5 turns"}


def test_a_conversation_that_a_limit_ends_has_no_fault() -> None:
    class Tireless:
        async def next(self, messages: tuple[Message, ...]) -> UserTurn:
            return UserTurn("And then?", done=False)

    assert found(lambda: fresh(user=Tireless())) == []


def test_an_end_because_somebody_failed_is_told_with_its_reason() -> None:
    class Failing(Broken):
        async def step(self, message: AssistantMessage) -> Step:
            step = await super().step(message)
            if step.stop is None:
                return step
            return step.model_copy(update={"stop": StopReason.UNAVAILABLE, "detail": "no endpoint"})

    assert told(Failing) == {"end": "comes as unavailable: no endpoint"}
