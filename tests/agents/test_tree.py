"""The state machine of divide and conquer, transition by transition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgraph.agents import tree
from vgraph.agents.tree import MAX_DEPTH, Tree


def status(at: Tree) -> list[str]:
    return [task.status for task in at.tasks]


def deep(*, depth: int = 3, max_depth: int = 5) -> Tree:
    """A tree that was divided in two again and again, at its deepest first task."""
    at = tree.start("q", max_depth=max_depth)
    for level in range(depth):
        at = tree.divide(at, [f"a{level}", f"b{level}"])
    return at


def test_it_starts_with_the_question_running() -> None:
    at = tree.start("q")
    assert (at.task.text, at.task.status, at.task.depth, at.max_depth) == ("q", "running", 0, 5)


def test_an_answer_is_success_and_a_lone_task_ends_the_tree() -> None:
    at = tree.succeed(tree.start("q"), "42")
    assert (at.current, at.tasks[0].status, at.tasks[0].result) == (None, "success", "42")


def test_dividing_goes_to_the_first_child() -> None:
    at = tree.divide(tree.start("q"), ["a", "b"])
    assert (at.task.text, at.task.depth) == ("a", 1)
    assert status(at) == ["running", "running", "waiting"]


def test_after_a_child_comes_its_next_sibling() -> None:
    at = tree.succeed(tree.divide(tree.start("q"), ["a", "b"]), "x")
    assert at.task.text == "b"


def test_a_failed_task_stays_until_it_is_rescued_or_given_up() -> None:
    at = tree.fail(tree.divide(tree.start("q"), ["a", "b"]), "no such camera")
    assert (at.task.text, at.task.status, at.task.criticism) == ("a", "failed", "no such camera")


def test_a_rescuers_success_goes_on_and_its_result_is_kept() -> None:
    """In released code the rescuer's outcomes are swapped."""
    at = tree.rescue(tree.fail(tree.divide(tree.start("q"), ["a", "b"]), "error"), "found after all")
    assert (at.tasks[1].status, at.tasks[1].result, at.task.text) == ("success", "found after all", "b")


def test_a_rescuers_failure_fails() -> None:
    at = tree.give_up(tree.fail(tree.divide(tree.start("q"), ["a", "b"]), "error"))
    assert (at.tasks[1].status, at.tasks[1].result, at.task.text) == ("failed", "error", "b")


@pytest.mark.parametrize("step", [tree.rescue, lambda at, result: tree.give_up(at)])
def test_only_what_failed_can_be_rescued_or_given_up(step: object) -> None:
    with pytest.raises(ValueError, match="running, not failed"):
        step(tree.start("q"), "x")  # type: ignore[operator]


def test_what_failed_neither_succeeds_nor_is_divided() -> None:
    at = tree.fail(tree.start("q"), "error")
    for step in (lambda: tree.succeed(at, "x"), lambda: tree.divide(at, ["a"]), lambda: tree.fail(at, "x")):
        with pytest.raises(ValueError, match="failed, not running"):
            step()


def test_a_done_tree_does_nothing_more() -> None:
    with pytest.raises(ValueError, match="done"):
        tree.succeed(tree.succeed(tree.start("q"), "x"), "y")


def test_at_the_greatest_depth_dividing_fails_and_the_tree_goes_on() -> None:
    at = tree.divide(tree.divide(tree.start("q", max_depth=1), ["a", "b"]), ["c", "d"])
    assert (at.tasks[1].status, at.tasks[1].result, at.task.text) == ("failed", MAX_DEPTH, "b")
    assert len(at.tasks) == 3


def test_the_default_depth_is_five() -> None:
    at = deep(depth=5)
    assert at.task.depth == 5
    assert tree.divide(at, ["x"]).tasks[at.task.id].result == MAX_DEPTH


def test_an_uncle_however_deep_is_visited() -> None:
    """In released code an uncle more than one level up is lost."""
    at = deep(depth=3)
    visited = []
    while at.current is not None:
        visited.append(at.task.text)
        at = tree.succeed(at, "x")
    assert visited == ["a2", "b2", "b1", "b0"]


def test_from_the_last_child_deep_down_the_way_leads_to_the_great_uncle() -> None:
    at = tree.divide(tree.start("q"), ["a", "b"])
    for name in ("c", "d"):
        at = tree.divide(at, [name])
    assert tree.succeed(at, "x").task.text == "b"


def test_a_divided_task_ends_as_its_last_subtask_did() -> None:
    at = tree.divide(tree.start("q"), ["a", "b"])
    at = tree.succeed(tree.give_up(tree.fail(at, "error")), "so it is")
    assert [(task.status, task.result) for task in at.tasks] == [
        ("success", "so it is"), ("failed", "error"), ("success", "so it is"),
    ]  # fmt: skip


def test_milestones_go_with_the_subtasks_that_have_one() -> None:
    at = tree.divide(tree.start("q"), ["a", "b"], ["a is known"])
    assert [task.milestone for task in at.tasks] == ["", "a is known", ""]


def test_a_task_divided_into_nothing_is_a_fault_of_the_caller() -> None:
    with pytest.raises(ValueError, match="one or more"):
        tree.divide(tree.start("q"), [])


def test_the_outline_tells_every_task_before_its_subtasks() -> None:
    assert [task.text for task in deep(depth=2).outline()] == ["q", "a0", "a1", "b1", "b0"]


@given(st.lists(st.sampled_from(["succeed", "fail", "rescue", "divide"]), max_size=60), st.integers(0, 5))
def test_every_way_through_ends_with_all_tasks_ended(moves: list[str], max_depth: int) -> None:
    at = tree.start("q", max_depth=max_depth)
    for move in moves:
        if at.current is None:
            break
        match move:
            case "succeed":
                at = tree.succeed(at, "x")
            case "fail":
                at = tree.give_up(tree.fail(at, "x"))
            case "rescue":
                at = tree.rescue(tree.fail(at, "x"), "y")
            case _:
                at = tree.divide(at, ["a", "b"])
    while at.current is not None:
        at = tree.succeed(at, "x")
    assert {task.status for task in at.tasks} <= {"success", "failed"}
    assert max(task.depth for task in at.tasks) <= max_depth
