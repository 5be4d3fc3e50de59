"""One text a window: what a model may make of what the senses tell, and what it may not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from vgraph.errors import BadReply, MissingDependency, ModelError
from vgraph.ingest.chunks import ChunkText, Signals, compose
from vgraph.ingest.extract import Plan, window_text
from vgraph.models.offline import ScriptedChat
from vgraph.types import Box, Caption, Completion, Detection, Segment, TextRead, Track, Utterance

SEGMENT = Segment(2, 60_000, 90_000, "window")
BOX = Box(0, 0, 1, 1)
SIGNALS = Signals(
    SEGMENT,
    captions=(Caption(60_000, 75_000, "A woman in a red coat gives a parcel to a driver.", "openai:v"),),
    utterances=(
        Utterance(62_000, 64_000, "Take parcel 12 to Bremen, Jonas.", "whisper", "Maria"),
        Utterance(80_000, 83_500, "I will be back at 9:15.", "whisper", "Jonas"),
    ),
    reads=(TextRead(70_000, "DOCK 2", BOX, 0.9, "rapidocr"),),
)
"""Shown as [1] the caption, [2] Maria's words, [3] the sign, [4] Jonas's."""


def sentence(text: str, *notes: int) -> dict[str, Any]:
    return {"text": text, "notes": list(notes)}


def fused(*sentences: dict[str, Any], signals: Signals = SIGNALS, plan: Plan | None = None) -> ChunkText:
    return window_text(signals, ScriptedChat([{"sentences": list(sentences)}]), plan or Plan())


def told(text: ChunkText) -> list[tuple[int, int, str, str]]:
    return [(line.offset_ms, line.end_offset_ms, line.modality, line.text) for line in text.fused]


WHOLE = (
    sentence("Maria gives parcel 12 to Jonas, who is to take it to Bremen; she wears a red coat.", 1, 2),
    sentence("A sign reads DOCK 2: text in view.", 3),
    sentence("Jonas says he will be back at 9:15, that is what I will note.", 4),
)


def test_sentences_have_the_interval_and_the_sense_of_what_they_rest_on() -> None:
    text = fused(*WHOLE)
    assert [(start, end, sense) for start, end, sense, _ in told(text)] == [
        (60_000, 75_000, "fused"), (70_000, 70_000, "ocr"), (80_000, 83_500, "speech")
    ]  # fmt: skip
    assert {line.origin for line in text.fused} == {"model:scripted"}
    assert text.text == "\n".join(line.text for line in text.fused)


def test_what_was_sensed_stays_beside_the_fused_text() -> None:
    text, plain = fused(*WHOLE), compose(SIGNALS)
    assert (text.lines, text.caption, text.transcript, text.ocr, text.origins) == (
        plain.lines, plain.caption, plain.transcript, plain.ocr, plain.origins
    )  # fmt: skip


@pytest.mark.parametrize(
    "invented",
    [
        "Maria gives parcel 12 to Zorro in Bremen.",
        "Zorro gives parcel 12 to Jonas in Bremen.",
        "Maria gives parcel 13 to Jonas in Bremen.",
        "At 61.5 seconds Maria gives parcel 12 to Jonas in Bremen.",
        "Maria gives parcel 12 to Jonas in Bremen on Tuesday.",
        "Maria gives parcel 12 to Jonas in Bremen at half past 7.",
        "Maria gives parcel 12 to 佐藤 in Bremen.",
        "Then Maria gives parcel 12 to Jonas. Zorro laughs.",
    ],
)
def test_invented_names_numbers_and_times_are_refused_and_the_notes_kept(invented: str) -> None:
    text = fused(sentence(invented, 1, 2), *WHOLE[1:])
    assert invented not in text.text
    assert "A woman in a red coat gives a parcel to a driver." in text.text
    assert "Maria: Take parcel 12 to Bremen, Jonas." in text.text


@pytest.mark.parametrize("known", ["At 62.0 seconds", "From 60.0 to 75.0", "Meanwhile,", "The woman, who is Maria,"])
def test_times_that_stand_with_the_notes_and_common_words_are_no_inventions(known: str) -> None:
    text = fused(sentence(f"{known} Maria gives parcel 12 to Jonas for Bremen.", 1, 2), *WHOLE[1:])
    assert known in text.text


@pytest.mark.parametrize("notes", [(), (0,), (5,), (-1,), (True,), (1.0,), ("1",)])
def test_a_sentence_that_rests_on_no_note_is_refused(notes: Sequence[Any]) -> None:
    chat = ScriptedChat([Completion("", {"sentences": [{"text": "Somebody waits.", "notes": list(notes)}]})])
    assert "Somebody waits." not in window_text(SIGNALS, chat, Plan()).text


def test_what_no_sentence_tells_is_kept_as_it_was_sensed() -> None:
    """Fusion alone loses what it does not mention; here it can lose nothing that has a name or a number."""
    text = fused(sentence("Somebody hands a parcel over.", 1, 2))
    kept = [line for _, _, _, line in told(text)]
    assert "Maria: Take parcel 12 to Bremen, Jonas." in kept, "told without its names and numbers"
    assert "Text in view: DOCK 2" in kept and "Jonas: I will be back at 9:15." in kept, "not told at all"
    assert [start for start, *_ in told(text)] == sorted(start for start, *_ in told(text))


def test_a_sentence_that_has_nothing_to_do_with_its_notes_is_refused() -> None:
    invented = "Masked robbers burn everything down and run away laughing."
    assert invented not in fused(sentence(invented, 1, 2, 3, 4)).text


def test_a_sentence_without_end_is_refused() -> None:
    assert "Maria " * 2_000 not in fused(sentence("Maria " * 2_000, 1, 2)).text


def test_one_sense_alone_has_nothing_to_be_fused_with() -> None:
    only = Signals(SEGMENT, captions=SIGNALS.captions)
    chat = ScriptedChat([])
    assert window_text(only, chat, Plan()) == compose(only) and not chat.seen


def test_without_a_model_or_switched_off_the_text_is_composed() -> None:
    chat = ScriptedChat([])
    assert window_text(SIGNALS, None, Plan()) == compose(SIGNALS) == window_text(SIGNALS, chat, Plan(fuse=False))
    assert not chat.seen


@pytest.mark.parametrize(
    "fault", [BadReply("no", kind="refused"), BadReply("no", kind="malformed"), ModelError("down")]
)
def test_a_model_that_fails_leaves_the_composed_text_and_is_told(fault: ModelError) -> None:
    text = window_text(SIGNALS, ScriptedChat([fault]), Plan())
    assert (text.text, text.fused, text.failed) == (compose(SIGNALS).text, (), True)
    assert text.warnings == (f"fusion: {fault}",)


@pytest.mark.parametrize(
    "value", [{}, [], {"sentences": None}, {"sentences": [5, {"text": 3}, {"notes": [1]}]}, "text"]
)
def test_a_reply_of_any_shape_loses_nothing(value: Any) -> None:
    text = window_text(SIGNALS, ScriptedChat([Completion("", value)]), Plan())
    assert {line.text for line in text.fused} == {line.text for line in compose(SIGNALS).lines}


def test_a_missing_package_stops_the_ingest() -> None:
    with pytest.raises(MissingDependency):
        window_text(SIGNALS, ScriptedChat([MissingDependency("x", command="pip install x")]), Plan())


def test_a_window_that_is_too_long_is_fused_in_halves() -> None:
    def small(messages: Any) -> Any:
        shown = messages[-1].text
        if shown.count(" to ") and shown.count("\n[") > 2:
            return BadReply("too long", kind="too_long")
        return {"sentences": [sentence("Somebody takes a parcel back.", 1, 2)]}

    text = window_text(SIGNALS, ScriptedChat(small), Plan())
    assert not text.failed and text.text.count("Somebody takes a parcel back.") == 1


def test_detections_are_among_what_is_fused() -> None:
    seen = Track(
        "7",
        "truck",
        (Detection(61_000, "truck", BOX, 0.9, "onnx", "7"), Detection(80_000, "truck", BOX, 0.9, "onnx", "7")),
    )
    chat = ScriptedChat([{"sentences": [sentence("A truck stands there, detected: 1 truck.", 1)]}])
    text = window_text(Signals(SEGMENT, tracks=(seen,), utterances=SIGNALS.utterances), chat, Plan())
    assert "[1] 61.0 to 80.0, detection: Detected: 1 truck" in chat.seen[0][-1].text
    assert told(text)[0][2:] == ("detection", "A truck stands there, detected: 1 truck.")
