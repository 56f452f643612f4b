"""The tasks of the office: what reaches their goals and what does not."""

from typing import Any

from simia.config import rng_for
from simia.types import ToolCall, WorldTask
from simia.worlds.drafting import TaskKind, draw_task
from simia.worlds.office import OfficeWorld, tasks

OFFICE = OfficeWorld()


def drawn(kind: TaskKind, least_entries: int = 1) -> tuple[WorldTask, ToolCall]:
    """A task of this kind whose last call has lists of at least so many entries, and that call."""
    for seed in range(100):
        task = draw_task(OFFICE, [kind], OFFICE.initial_state, rng_for(seed, "office"), "task")
        lists = [value for value in task.gold[-1].arguments.values() if isinstance(value, list)]
        if all(len(value) >= least_entries for value in lists):
            return task, task.gold[-1]
    raise AssertionError("no such task")


def with_arguments(call: ToolCall, **arguments: Any) -> ToolCall:
    return ToolCall(id=call.id, name=call.name, arguments={**call.arguments, **arguments})


def reached(task: WorldTask, *last: ToolCall) -> bool:
    """Whether the gold calls with others in place of the last one reach the goal."""
    return OFFICE.reached(task, (*task.gold[:-1], *last))


def test_the_attendees_of_a_meeting_may_be_named_in_any_sequence() -> None:
    task, call = drawn(tasks.find_an_hour, 2)
    assert reached(task, with_arguments(call, attendees=call.arguments["attendees"][::-1]))


def test_a_meeting_without_one_of_the_attendees_does_not_do() -> None:
    task, call = drawn(tasks.find_an_hour, 2)
    assert not reached(task, with_arguments(call, attendees=call.arguments["attendees"][1:]))


def test_the_team_may_be_written_to_before_its_meeting_is_booked() -> None:
    task, _ = drawn(tasks.gather_a_team)
    *reads, booking, writing = task.gold
    assert OFFICE.reached(task, [*reads, writing, booking])


def test_meetings_may_be_moved_to_another_day_one_by_one() -> None:
    task, call = drawn(tasks.move_to_another_day, 3)
    assert reached(task, *(with_arguments(call, moves=[move]) for move in call.arguments["moves"]))


def test_moving_all_meetings_but_one_does_not_do() -> None:
    task, call = drawn(tasks.start_later, 3)
    assert not reached(task, with_arguments(call, moves=call.arguments["moves"][1:]))


def test_clearing_the_day_leaves_the_meetings_that_others_organise() -> None:
    task, call = drawn(tasks.clear_the_day, 2)
    meetings, me = task.initial_state["meetings"], task.initial_state["signed_in"]
    assert {meetings[key]["organizer"] for key in call.arguments["meeting_ids"]} == {me}
    assert reached(task, with_arguments(call, meeting_ids=call.arguments["meeting_ids"][::-1]))


def test_papers_may_be_shared_one_by_one_but_not_one_too_few() -> None:
    task, call = drawn(tasks.share_papers, 2)
    papers = call.arguments["document_ids"]
    assert reached(task, *(with_arguments(call, document_ids=[paper]) for paper in papers))
    assert not reached(task, with_arguments(call, document_ids=papers[1:]))


def test_who_may_edit_is_not_who_may_read() -> None:
    task, call = drawn(tasks.share_papers)
    other = "read" if call.arguments["access"] == "edit" else "edit"
    assert not reached(task, with_arguments(call, access=other))


def test_a_dictated_mail_is_sent_word_for_word() -> None:
    task, call = drawn(tasks.send_a_dictated_mail)
    assert call.arguments["body"] in task.instruction
    assert not reached(task, with_arguments(call, body="In other words."))


def test_the_text_that_is_passed_on_is_that_of_an_own_document() -> None:
    task, call = drawn(tasks.pass_on_a_text)
    state = task.initial_state
    texts = [row["text"] for row in state["documents"].values() if row["owner"] == state["signed_in"]]
    assert call.arguments["body"] in texts
