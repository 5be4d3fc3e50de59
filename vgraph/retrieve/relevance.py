"""Intent: how much the frames, or the text, of what was reached bear on the question, and what is left out for it (VideoStir, "intent").

A rater gives the probabilities of five levels; the score is the level to expect, r = sum of l * P(l). What is above a threshold is kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from hashlib import blake2b
from threading import Lock

from vgraph.errors import BadReply, MediaError, NotFoundError, UserError
from vgraph.models import Rater
from vgraph.retrieve.trace import stage
from vgraph.types import EvidenceChunk, Rating

Picture = tuple[int, str | None, bytes]
"""Media offset (ms), the asset where it is kept, the JPEG."""
Look = Callable[[EvidenceChunk, int], Sequence[Picture]]
"""Up to so many pictures of a chunk, in order of time: those that are kept, or taken from its recording."""
Thing = tuple[EvidenceChunk, int | None, str | None, bytes | str]
"""What is rated: of which chunk, when and where it is kept (of a picture), the JPEG or the text."""
REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class Rated:
    """The chunks that are left, all ratings in order of time, and what went wrong."""

    chunks: tuple[EvidenceChunk, ...]
    ratings: tuple[Rating, ...]
    warnings: tuple[str, ...] = ()


class Ratings:
    """A rater that remembers what it said last: the same question about the same picture costs nothing again. Kept in memory only."""

    def __init__(self, rater: Rater, size: int = REMEMBERED) -> None:
        self.name, self.at_once = rater.name, rater.at_once
        self._rater, self._size = rater, size
        self._kept: OrderedDict[bytes, tuple[float, ...]] = OrderedDict()
        self._lock = Lock()

    def rate(self, question: str, seen: bytes | str) -> tuple[float, ...]:
        key = _digest(question, seen)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        levels = self._rater.rate(question, seen)
        with self._lock:
            self._kept[key] = levels
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
        return levels


def _digest(question: str, seen: bytes | str) -> bytes:
    kind, content = (b"t", seen.encode("utf-8", "surrogatepass")) if isinstance(seen, str) else (b"p", seen)
    return blake2b(
        content, key=blake2b(kind + question.encode("utf-8", "surrogatepass"), digest_size=32).digest()
    ).digest()


def expected(levels: Sequence[float]) -> float:
    """The level to expect, 1 to 5."""
    return sum(level * probability for level, probability in enumerate(levels, 1))


def by_frames(
    chunks: Sequence[EvidenceChunk], question: str, rater: Rater, look: Look, *, threshold: float, frames: int
) -> Rated:
    """Chunks with the frames rated above the threshold, in order of time; those of which no frame is are left out.

    A chunk that has no picture, or whose pictures cannot be read or rated, stays. Raises ModelError where nothing can be rated.
    """
    things: list[Thing] = []
    unseen: list[str] = []
    for chunk in chunks:
        try:
            things += [(chunk, at, asset, jpeg) for at, asset, jpeg in look(chunk, frames)]
        except (MediaError, NotFoundError, UserError) as error:  # the recording is gone, or out of bounds
            unseen.append(str(error))
    rated = _rated(chunks, things, question, rater, threshold)
    warning = (
        f"pictures of {len(unseen)} chunks could not be looked at, the first because {unseen[0]}" if unseen else ""
    )
    return replace(rated, warnings=(*rated.warnings, *([warning] if warning else [])))


def by_captions(chunks: Sequence[EvidenceChunk], question: str, rater: Rater, *, threshold: float) -> Rated:
    """Chunks whose text is rated above the threshold."""
    things: list[Thing] = [(chunk, None, None, "\n".join(line.text for line in chunk.lines)) for chunk in chunks]
    return _rated(chunks, things, question, rater, threshold)


def _rated(
    chunks: Sequence[EvidenceChunk],
    things: Sequence[Thing],
    question: str,
    rater: Rater,
    threshold: float,
) -> Rated:
    with stage("intent") as tell:
        answers = _asked(rater, question, [seen for *_, seen in things])
        pairs = list(zip(things, answers, strict=True))
        ratings = [_rating(chunk, at, asset, answer, threshold) for (chunk, at, asset, _), answer in pairs]
        warnings = _warnings(answer for answer in answers if isinstance(answer, BadReply))
        if ratings and not any(rating.kept for rating in ratings):
            warnings.append(f"{rater.name} rated nothing above {threshold:g}: nothing was left out for it")
            left = tuple(chunks)
        else:
            left = _left(chunks, ratings)
        began = {chunk.id: chunk.start_ms - chunk.offset_ms for chunk in chunks}
        starts = {chunk.id: chunk.offset_ms for chunk in chunks}
        in_time = sorted(
            ratings, key=lambda r: (began[r.chunk] + (starts[r.chunk] if r.offset_ms is None else r.offset_ms), r.chunk)
        )
        tell(
            lambda: (
                {"chunk": r.chunk, "offset_ms": r.offset_ms, "score": r.score, "levels": list(r.levels), "kept": r.kept}
                for r in in_time
            )
        )
    return Rated(left, tuple(in_time), tuple(warnings))


def _asked(rater: Rater, question: str, things: Sequence[bytes | str]) -> list[tuple[float, ...] | BadReply]:
    """What the rater says of each thing, in their order, as many at once as it takes."""

    def one(seen: bytes | str) -> tuple[float, ...] | BadReply:
        try:
            return rater.rate(question, seen)
        except BadReply as error:
            return error

    if rater.at_once <= 1 or len(things) <= 1:
        return [one(seen) for seen in things]
    with ThreadPoolExecutor(rater.at_once) as pool:
        waiting = [pool.submit(copy_context().run, one, seen) for seen in things]
        try:
            return [each.result() for each in waiting]
        finally:
            for each in waiting:
                each.cancel()


def _rating(
    chunk: EvidenceChunk, at: int | None, asset: str | None, answer: tuple[float, ...] | BadReply, threshold: float
) -> Rating:
    if isinstance(answer, BadReply):
        return Rating(chunk.id, at, asset, None)
    score = expected(answer)
    return Rating(chunk.id, at, asset, score, answer, score > threshold)


def _left(chunks: Sequence[EvidenceChunk], ratings: Sequence[Rating]) -> tuple[EvidenceChunk, ...]:
    of: dict[str, list[Rating]] = {}
    for rating in ratings:
        of.setdefault(rating.chunk, []).append(rating)
    return tuple(
        _with_frames(chunk, of[chunk.id]) if chunk.id in of else chunk
        for chunk in chunks
        if chunk.id not in of or any(rating.kept for rating in of[chunk.id])
    )


def _with_frames(chunk: EvidenceChunk, ratings: Iterable[Rating]) -> EvidenceChunk:
    """The chunk with the frames that are kept, where frames were looked at."""
    pictures = [rating for rating in ratings if rating.offset_ms is not None]
    if not pictures:
        return chunk
    kept = {r.offset_ms: r.asset for r in pictures if r.kept and r.offset_ms is not None and r.asset is not None}
    return replace(chunk, frames=tuple(sorted(kept.items())))


def _warnings(faults: Iterable[BadReply]) -> list[str]:
    """One line for faults of one kind."""
    found: dict[str, list[BadReply]] = {}
    for fault in faults:
        found.setdefault(fault.kind, []).append(fault)
    return [f"{len(each)} could not be rated, the first because {each[0]}" for each in found.values()]
