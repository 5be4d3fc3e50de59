"""The task tree of divide and conquer, as a pure state machine (OmAgent): every transition is a function from one tree to the next.

A task is waiting, running, success or failed; exactly one is current, until the tree is done.

    running --succeed--> success, and on         running --fail--> failed, and stays: it may be rescued
    failed  --rescue---> success (the result is kept), and on       failed --give_up--> failed, and on
    running --divide---> its subtasks wait, and the first is next; at the greatest depth it is failed, `max depth`, and on

On: first child, else next sibling, else the next sibling of the nearest ancestor that has one, however deep; else the tree is done. A
divided task ends when its last subtask has ended, and as it did: that is the one which concludes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

Status = Literal["waiting", "running", "success", "failed"]
MAX_DEPTH = "max depth"


@dataclass(frozen=True, slots=True)
class Task:
    """A node: the root has depth 0. `result` is what came of it; of a failed one, the error. `criticism` is why its last try failed,
    `milestone` what is there when it is done, where its divider says so.
    """

    id: int
    parent: int | None
    text: str
    depth: int
    status: Status = "waiting"
    result: str = ""
    criticism: str = ""
    milestone: str = ""
    divided: bool = False


@dataclass(frozen=True, slots=True)
class Tree:
    """All tasks in the order they were made; `current` is the id of the one at work, None when the tree is done."""

    tasks: tuple[Task, ...]
    current: int | None
    max_depth: int = 5

    @property
    def task(self) -> Task:
        """The current task. Raises ValueError when the tree is done."""
        if self.current is None:
            raise ValueError("the tree is done")
        return self.tasks[self.current]

    def children(self, task: int) -> tuple[Task, ...]:
        return tuple(each for each in self.tasks if each.parent == task)

    def outline(self) -> Iterator[Task]:
        """All tasks, each before its subtasks."""
        waiting = [self.tasks[0]]
        while waiting:
            task = waiting.pop()
            yield task
            waiting += reversed(self.children(task.id))


def start(question: str, *, max_depth: int = 5) -> Tree:
    """A tree of one running task."""
    return Tree((Task(0, None, question, 0, "running"),), 0, max_depth)


def succeed(tree: Tree, result: str) -> Tree:
    """The current task is done."""
    return _on(_ended(_in(tree, "running"), "success", result))


def fail(tree: Tree, error: str) -> Tree:
    """The current task failed; it stays current, so that it can be rescued or given up."""
    return _changed(_in(tree, "running"), status="failed", result=error, criticism=error)


def rescue(tree: Tree, result: str) -> Tree:
    """The current task, which failed, succeeded in another way."""
    return _on(_ended(_in(tree, "failed"), "success", result))


def give_up(tree: Tree) -> Tree:
    """The current task, which failed, stays so."""
    return _on(_in(tree, "failed"))


def divide(tree: Tree, subtasks: Sequence[str], milestones: Sequence[str] = ()) -> Tree:
    """The current task becomes these, with their milestones in the same order where they have any.

    At the greatest depth it fails instead, and no rescuer is asked. Raises ValueError without any subtask.
    """
    task = _in(tree, "running").task
    if task.depth >= tree.max_depth:
        return _on(_ended(tree, "failed", MAX_DEPTH))
    if not subtasks:
        raise ValueError("a task is divided into one or more")
    first = len(tree.tasks)
    done = [*milestones, *[""] * len(subtasks)]
    made = tuple(Task(first + n, task.id, text, task.depth + 1, milestone=done[n]) for n, text in enumerate(subtasks))
    marked = _changed(tree, divided=True)
    return _on(replace(marked, tasks=(*marked.tasks, *made)))


def _in(tree: Tree, status: Status) -> Tree:
    """The tree, if its current task is in a state. Raises ValueError."""
    if tree.task.status != status:
        raise ValueError(f"task {tree.task.id} is {tree.task.status}, not {status}")
    return tree


def _ended(tree: Tree, status: Status, result: str) -> Tree:
    return _changed(tree, status=status, result=result)


def _changed(tree: Tree, **values: object) -> Tree:
    return _put(tree, replace(tree.task, **values))  # type: ignore[arg-type]


def _put(tree: Tree, task: Task) -> Tree:
    return replace(tree, tasks=(*tree.tasks[: task.id], task, *tree.tasks[task.id + 1 :]))


def _on(tree: Tree) -> Tree:
    """The tree with the next task running; tasks whose last subtask has ended end with it."""
    at: int | None = tree.current
    while at is not None:
        child = next((each for each in tree.children(at) if each.status == "waiting"), None)
        if child is not None:
            return _run(tree, child)
        tree = _settled(tree, at)
        at = tree.tasks[at].parent
    return replace(tree, current=None)


def _run(tree: Tree, task: Task) -> Tree:
    return replace(_put(tree, replace(task, status="running")), current=task.id)


def _settled(tree: Tree, at: int) -> Tree:
    """A divided task all of whose subtasks have ended, ended as the last of them."""
    task, below = tree.tasks[at], tree.children(at)
    if not task.divided:
        return tree
    last = below[-1]
    return _put(tree, replace(task, status=last.status, result=last.result))
