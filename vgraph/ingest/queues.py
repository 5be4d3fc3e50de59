"""Work that overlaps in bounded memory: what is produced ahead of its consumer, and what is asked side by side, both in order."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, nullcontext
from contextvars import copy_context
from typing import Any, TypeVar, cast

T = TypeVar("T")
R = TypeVar("R")

_POLL_S = 0.1


class _End:
    """What a producer puts last: how it ended."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


def ahead(items: Iterable[T], depth: int) -> Generator[T, None, None]:
    """The items, made by a thread of their own at most `depth` ahead of whoever takes them; their error is raised where they are taken.

    When the taker stops, the thread ends before the next item. Depth 0 makes each item when it is asked for.
    """
    if depth < 1:
        yield from items
        return
    waiting: queue.Queue[T | _End] = queue.Queue(depth)
    over = threading.Event()
    context = copy_context()
    thread = threading.Thread(target=context.run, args=(_produce, items, waiting, over), daemon=True)
    thread.start()
    try:
        while not isinstance(item := waiting.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        over.set()
        thread.join()


def _produce(items: Iterable[Any], waiting: queue.Queue[Any], over: threading.Event) -> None:
    error: BaseException | None = None
    try:
        source = iter(items)
        with closing(cast(Any, source)) if hasattr(source, "close") else nullcontext():
            for item in source:
                if not _put(waiting, item, over):
                    return
    except BaseException as problem:  # noqa: BLE001 - raised again in the thread that takes the items
        error = problem
    _put(waiting, _End(error), over)


def _put(waiting: queue.Queue[Any], item: Any, over: threading.Event) -> bool:
    """Whether the item was put before the taker stopped."""
    while not over.is_set():
        try:
            waiting.put(item, timeout=_POLL_S)
        except queue.Full:
            continue
        return True
    return False


def side_by_side(work: Callable[[T], R], items: Iterable[T], width: int) -> Generator[R, None, None]:
    """`work` of each item, at most `width` at once, results in the items' order; no more items are taken than are at work.

    The first error is raised when its turn comes; what runs beside it is waited for, what has not begun is not begun.
    """
    if width < 2:
        yield from map(work, items)
        return
    running: deque[Future[R]] = deque()
    with ThreadPoolExecutor(width) as pool:
        try:
            for item in items:
                running.append(pool.submit(copy_context().run, work, item))
                if len(running) == width:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for left in running:
                left.cancel()
