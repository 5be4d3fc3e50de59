"""Signals of a segment become lines with their own times."""

from __future__ import annotations

from vgraph.ingest.chunks import Chunk, Signals, clip_track, compose, overlapping
from vgraph.types import Box, Caption, Detection, Extraction, Line, Segment, TextRead, Track, Utterance

SEGMENT = Segment(1, 30_000, 60_000, "window")
BOX = Box(0, 0, 10, 20)


def detection(at: int, label: str = "person", track: str = "1") -> Detection:
    return Detection(at, label, BOX, 0.8, "given", track)


def test_lines_stand_in_order_of_time_whatever_sense_they_come_from() -> None:
    text = compose(
        Signals(
            SEGMENT,
            captions=(Caption(40_000, 50_000, "A van arrives.", "given"),),
            utterances=(Utterance(31_000, 33_000, " Careful! ", "given", "Ana"),),
            reads=(TextRead(35_000, "DOCK 2", BOX, 0.9, "rapidocr"), TextRead(45_000, "DOCK  2", BOX, 0.9, "rapidocr")),
            tracks=(Track("1", "person", (detection(32_000), detection(58_000))),),
        )
    )
    assert text.lines == (
        Line(31_000, 33_000, "speech", "Ana: Careful!", "given"),
        Line(32_000, 58_000, "detection", "Detected: 1 person", "given"),
        Line(35_000, 45_000, "ocr", "Text in view: DOCK 2", "rapidocr"),
        Line(40_000, 50_000, "caption", "A van arrives.", "given"),
    )
    assert text.text.splitlines()[0] == "Ana: Careful!"
    assert text.origins == {"speech": "given", "detection": "given", "ocr": "rapidocr", "caption": "given"}


def test_a_caption_across_two_segments_is_told_in_both_with_its_own_interval() -> None:
    """A citation of it must lead to where it happened, not to where the chunk was cut."""
    caption = Caption(25_000, 65_000, "They talk.", "given")
    for segment in (Segment(0, 0, 30_000, "window"), SEGMENT):
        (line,) = compose(Signals(segment, captions=overlapping([caption], segment))).lines
        assert (line.offset_ms, line.end_offset_ms) == (25_000, 65_000)


def test_a_chunk_is_known_when_its_last_statement_has_ended() -> None:
    caption = Caption(25_000, 65_000, "They talk.", "given")
    signals = Signals(SEGMENT, captions=(caption,))
    assert Chunk(signals, compose(signals), Extraction((), (), "structured")).known_offset_ms == 65_000
    assert (
        Chunk(Signals(SEGMENT), compose(Signals(SEGMENT)), Extraction((), (), "structured")).known_offset_ms == 60_000
    )


def test_things_of_which_only_motion_is_known_are_said_to_move() -> None:
    tracks = (Track("1", "motion", (detection(32_000, "motion"),)), Track("2", "person", (detection(33_000),)))
    assert compose(Signals(SEGMENT, tracks=tracks)).text == "Detected: 1 person, 1 moving, motion of something"


def test_a_moment_belongs_where_it_lies_and_half_open_ends_do_not_touch() -> None:
    at_start, at_end = Caption(30_000, 30_000, "flash", "given"), Caption(60_000, 60_000, "flash", "given")
    ends_before = Caption(0, 30_000, "before", "given")
    assert overlapping([at_start, at_end, ends_before], SEGMENT) == (at_start,)


def test_a_segment_without_signals_has_no_text() -> None:
    assert compose(Signals(SEGMENT)).text == ""


def test_a_track_that_only_passes_over_a_segment_stays_whole() -> None:
    track = Track("1", "car", (detection(10_000, "car"), detection(70_000, "car")))
    assert clip_track(track, SEGMENT) is track
    assert clip_track(Track("1", "car", (detection(10_000), detection(40_000))), SEGMENT).offset_ms == 40_000
