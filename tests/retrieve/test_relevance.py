"""Intent: what a rater says decides what stays; what it cannot say decides nothing, and is told."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.retrieve.test_pack import chunk
from vgraph.errors import BadReply, MediaError, NoLogprobs, UserError
from vgraph.models import Rater
from vgraph.retrieve.relevance import Ratings, by_captions, by_frames, expected
from vgraph.types import EvidenceChunk

QUESTION = "Who carries crate 7?"


class Scripted:
    """Rates by what a thing holds; counts what it was asked."""

    name = "scripted"
    at_once = 1

    def __init__(self, **levels: int | None) -> None:
        self._levels, self.asked = levels, list[bytes | str]()
        self._lock = threading.Lock()

    def rate(self, question: str, seen: bytes | str) -> tuple[float, ...]:
        with self._lock:
            self.asked.append(seen)
        text = seen if isinstance(seen, str) else seen.decode()
        level = next((level for word, level in self._levels.items() if word in text), 1)
        if level is None:
            raise BadReply("it said words", kind="malformed", stage="intent", model=self.name)
        return tuple(0.8 if number == level else 0.05 for number in range(1, 6))


def look(chunk: EvidenceChunk, most: int) -> list[tuple[int, str | None, bytes]]:
    """Two pictures a chunk: the first of a crate in odd ones, the other of rain."""
    first = b"crate" if chunk.index % 2 else b"rain"
    return [(0, f"{chunk.index}-0.jpg", first), (10_000, f"{chunk.index}-1.jpg", b"rain")][:most]


CHUNKS = [replace(chunk(number, f"text {number}"), frames=((0, "old"), (10_000, "old"))) for number in (3, 1, 2)]


def test_the_level_to_expect_is_between_those_that_may_be() -> None:
    assert expected((0, 0, 0, 0, 1)) == 5 and expected((0.2,) * 5) == pytest.approx(3)
    assert expected((0.5, 0, 0, 0, 0.5)) == 3  # a discrete score would be 1 or 5


def test_frames_above_the_threshold_stay_in_order_of_time_and_chunks_without_any_go() -> None:
    rater = Scripted(crate=5)
    assert isinstance(rater, Rater)
    rated = by_frames(CHUNKS, QUESTION, rater, look, threshold=3.25, frames=4)
    assert [c.index for c in rated.chunks] == [3, 1]
    assert [c.frames for c in rated.chunks] == [((0, "3-0.jpg"),), ((0, "1-0.jpg"),)]
    assert [(r.chunk, r.offset_ms, r.kept) for r in rated.ratings] == [
        (f"d-{n:010d}", at, n % 2 == 1 and at == 0) for n in (1, 2, 3) for at in (0, 10_000)
    ]
    assert rated.ratings[0].score == pytest.approx(0.05 * (1 + 2 + 3 + 4) + 0.8 * 5) and rated.warnings == ()


@pytest.mark.parametrize(("threshold", "kept"), [(4.39, True), (4.5, False)])
def test_only_what_is_above_the_threshold_is_kept(threshold: float, kept: bool) -> None:
    rated = by_captions([CHUNKS[0]], QUESTION, Scripted(text=5), threshold=threshold)
    assert rated.ratings[0].score == pytest.approx(0.05 * (1 + 2 + 3 + 4) + 0.8 * 5)
    assert rated.ratings[0].kept is kept


def test_a_text_is_rated_whole_and_one_below_goes() -> None:
    rater = Scripted(**{"text 3": 5, "text 2": 4})
    rated = by_captions(CHUNKS, QUESTION, rater, threshold=3.25)
    assert [c.index for c in rated.chunks] == [3, 2]
    assert [c.frames for c in rated.chunks] == [CHUNKS[0].frames, CHUNKS[2].frames]
    assert {r.offset_ms for r in rated.ratings} == {None} and len(rater.asked) == 3


def test_where_nothing_is_above_the_threshold_nothing_is_left_out_and_that_is_told() -> None:
    rated = by_frames(CHUNKS, QUESTION, Scripted(), look, threshold=3.25, frames=1)
    assert list(rated.chunks) == CHUNKS and not any(r.kept for r in rated.ratings)
    assert rated.warnings == ("scripted rated nothing above 3.25: nothing was left out for it",)


def test_what_cannot_be_rated_stays_and_is_told_once() -> None:
    rated = by_frames(CHUNKS, QUESTION, Scripted(crate=None), look, threshold=0.5, frames=1)
    assert [c.index for c in rated.chunks] == [3, 1, 2]
    assert [r.score for r in rated.ratings if r.score is None] == [None, None]
    [warning] = rated.warnings
    assert warning == "2 could not be rated, the first because it said words"


def test_a_recording_that_is_gone_is_told_and_its_chunk_stays() -> None:
    def gone(chunk: EvidenceChunk, most: int) -> Sequence[tuple[int, str | None, bytes]]:
        if chunk.index == 2:
            raise MediaError("/videos/dock.mp4: the recording is not there any more")
        return look(chunk, most)

    rated = by_frames(CHUNKS, QUESTION, Scripted(crate=5), gone, threshold=3.25, frames=1)
    assert [c.index for c in rated.chunks] == [3, 1, 2]
    assert (
        "pictures of 1 chunks could not be looked at" in rated.warnings[0] and "not there any more" in rated.warnings[0]
    )


def test_a_server_without_log_probabilities_ends_the_search() -> None:
    class Mute(Scripted):
        def rate(self, question: str, seen: bytes | str) -> tuple[float, ...]:
            raise NoLogprobs("it gives none", stage="intent", model="mute")

    with pytest.raises(NoLogprobs):
        by_frames(CHUNKS, QUESTION, Mute(), look, threshold=3.25, frames=1)


def test_several_at_once_come_back_in_their_order() -> None:
    one, many = Scripted(crate=5), Scripted(crate=5)
    many.at_once = 8
    rated = [by_frames(CHUNKS, QUESTION, rater, look, threshold=3.25, frames=2) for rater in (one, many)]
    assert rated[0] == rated[1] and len(many.asked) == 6


def test_the_same_question_about_the_same_thing_is_asked_once() -> None:
    rater = Scripted(crate=5)
    kept = Ratings(rater, size=3)
    assert isinstance(kept, Rater)
    assert kept.rate("q", b"crate") == kept.rate("q", b"crate") and rater.asked == [b"crate"]
    for question, seen in (("q", "crate"), ("r", b"crate"), ("q", b"rain")):  # the first is forgotten
        kept.rate(question, seen)
    assert len(rater.asked) == 4
    kept.rate("q", b"crate")
    assert len(rater.asked) == 5


def test_without_a_rater_intent_is_a_setting_that_cannot_be_met() -> None:
    from vgraph.retrieve.profiles import Profile
    from vgraph.retrieve.search import NO_AIDS, _rated
    from vgraph.types import Filters

    with pytest.raises(UserError, match="VGRAPH_MODELS__INTENT"):
        _rated((CHUNKS[0],), QUESTION, Profile(intent="frames"), NO_AIDS, Filters())
