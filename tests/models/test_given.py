"""Sidecars behind the Protocols of models."""

from vgraph.media.detection_table import Detections
from vgraph.models import Captioner, Detector, Transcriber
from vgraph.models.given import GivenCaptions, GivenDetections, GivenUtterances
from vgraph.types import Box, Caption, Detection, Segment, Utterance


def never():
    raise AssertionError("looked at")
    yield


def test_captions_are_those_whose_time_overlaps():
    given = GivenCaptions(
        [Caption(9000, 11_000, "b", "given"), Caption(0, 9000, "a", "given"), Caption(20_000, 20_000, "c", "given")]
    )
    assert isinstance(given, Captioner)

    def texts(start: int, end: int) -> list[str]:
        return [caption.text for caption in given.caption(Segment(0, start, end, "window"), (), "")]

    assert texts(0, 9000) == ["a"]
    assert texts(0, 10_000) == ["a", "b"]
    assert texts(11_000, 20_000) == []
    assert texts(20_000, 30_000) == ["c"]


def test_utterances_come_in_order_and_nothing_is_listened_to():
    given = GivenUtterances([Utterance(5, 6, "b", "given"), Utterance(1, 2, "a", "given")])
    assert isinstance(given, Transcriber)
    assert [said.text for said in given.transcribe(never())] == ["a", "b"]


def test_detections_come_in_order_and_nothing_is_looked_at():
    given = GivenDetections(Detections(Detection(n, "car", Box(0, 0, 1, 1), 1.0, "given") for n in (3, 1, 2)))
    assert isinstance(given, Detector)
    for _ in ("once", "and again"):
        assert [seen.offset_ms for seen in given.detect(never())] == [1, 2, 3]
