"""Several videos at once: each in a thread of its own, begun in order, written in turns, stopped together."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from vgraph.errors import MediaError, UserError
from vgraph.ingest.opening import UNASKED, Asked, Site
from vgraph.ingest.pipeline import ingest
from vgraph.types import IngestReport, Progress

Failed = Callable[[Path, MediaError], None]
"""Told of a file that cannot be read, and why."""


@dataclass(frozen=True, slots=True)
class Item:
    """A video to be ingested, and what is said of it; `again`: made anew, asking models again where they failed."""

    path: Path
    asked: Asked = UNASKED
    again: bool = False


def cameras_of(paths: Sequence[Path], pattern: str) -> list[str]:
    """The camera's name in each path, by a regular expression: its group `camera`, else its first group, else all it matches.

    Raises UserError for a pattern that is none, and for paths in which it finds no name.
    """
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise UserError(f"--camera-pattern {pattern!r} is not a regular expression: {error}") from None
    found = [expression.search(path.as_posix()) for path in paths]
    names = [_name(match) for match in found]
    lost = [str(path) for path, name in zip(paths, names, strict=True) if not name]
    if lost:
        more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
        raise UserError(f"--camera-pattern {pattern!r} finds no camera in {', '.join(lost[:3])}{more}")
    return names


def _name(match: re.Match[str] | None) -> str:
    if match is None:
        return ""
    groups = match.groupdict()
    return str(groups.get("camera") or (match.group(1) if match.re.groups else match.group()) or "")


class Turns:
    """Lets threads through one after the other, by number from 0: what they do in their turn happens as one after the other."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._next = 0
        self._over: set[int] = set()

    @contextmanager
    def of(self, number: int) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: self._next >= number)
        try:
            yield
        finally:
            self.give_up(number)

    def give_up(self, number: int) -> None:
        """This one needs no turn any more; telling so twice is the same as once."""
        with self._changed:
            self._over.add(number)
            while self._next in self._over:
                self._next += 1
            self._changed.notify_all()


def ingest_all(
    items: Iterable[Item], site: Site, *, at_once: int = 2, failed: Failed | None = None
) -> Iterator[IngestReport]:
    """Ingest videos, `at_once` of them at a time; a report each, as they are finished. The graph is that of one after the other.

    A file that cannot be read is told to `failed` and passed over; without `failed`, and for every other error, all stop at the next
    place where they can be gone on with, and the error is raised. So does whoever closes the generator, or is interrupted.
    """
    site = replace(site, report=_one_at_a_time(site.report))
    turns = Turns()
    waiting: dict[Future[IngestReport], Path] = {}
    numbered = enumerate(items)
    with ThreadPoolExecutor(at_once, thread_name_prefix="ingest") as pool:
        try:
            while True:
                for number, item in islice(numbered, at_once - len(waiting)):
                    waiting[pool.submit(_ingest, number, item, site, turns)] = item.path
                if not waiting:
                    return
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=list(waiting).index):
                    yield from _result(future, waiting.pop(future), failed)
        except BaseException:  # an error, an interrupt, or whoever takes the reports has had enough
            site.shared.stop.set()
            raise


def _ingest(number: int, item: Item, site: Site, turns: Turns) -> IngestReport:
    try:
        return ingest(item.path, site, item.asked, again=item.again, turn=turns.of(number))
    finally:
        turns.give_up(number)


def _result(future: Future[IngestReport], path: Path, failed: Failed | None) -> Iterator[IngestReport]:
    try:
        report = future.result()
    except MediaError as error:
        if failed is None:
            raise
        failed(path, error)
    else:
        yield report


def _one_at_a_time(report: Callable[[Progress], None]) -> Callable[[Progress], None]:
    lock = threading.Lock()

    def told(progress: Progress) -> None:
        with lock:
            report(progress)

    return told
