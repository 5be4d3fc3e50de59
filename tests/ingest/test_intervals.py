"""The temporal pass: when a relation held, by times that stand in the notes and by nothing else."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from vgraph.errors import BadReply
from vgraph.ingest.chunks import Signals, compose
from vgraph.ingest.extract import Plan, Vocabulary, extract_unit
from vgraph.models.offline import ScriptedChat
from vgraph.types import Caption, Completion, Extraction, Relation, Segment, Utterance

VOCABULARY = Vocabulary(("person", "object"))
FOUND = {
    "entities": [{"name": name, "type": "person", "description": ""} for name in ("Ana", "Bob")],
    "relations": [
        {"source": "Ana", "relation": "talks to", "target": "Bob", "note": 1, "supporting_text": "Ana talks to Bob", "confidence": 0.8}
    ],
}  # fmt: skip
WINDOWS = (
    Signals(
        Segment(0, 0, 30_000, "window"),
        (Caption(0, 30_000, "Ana talks to Bob.", "given"),),
        (Utterance(4_000, 6_040, "Hello Bob.", "given", "Ana"), Utterance(9_000, 12_300, "Hello Ana.", "given", "Bob")),
    ),
    Signals(Segment(1, 30_000, 60_000, "window"), (Caption(30_000, 60_000, "The yard is empty.", "given"),)),
    Signals(Segment(2, 60_000, 90_000, "window"), (Caption(61_000, 70_000, "She talks to Bob again.", "given"),)),
)


def interval(
    start: Any, end: Any, *, number: Any = 1, sure: Any = 0.9, reason: str = "so say the notes"
) -> dict[str, Any]:
    return {"relation": number, "start": start, "end": end, "confidence": sure, "reason": reason}


def extract(*answers: Any, temporal: bool = True) -> tuple[tuple[Extraction, ...], ScriptedChat]:
    chat = ScriptedChat(answers)
    plan = Plan(VOCABULARY, fuse=False, union=False, temporal=temporal)
    return extract_unit([(w, compose(w)) for w in WINDOWS], {}, chat, plan, "dock"), chat


def held(*intervals: Any) -> list[tuple[int, Relation]]:
    found, _ = extract(FOUND, Completion("", {"intervals": list(intervals)}))
    return [(chunk, r) for chunk, each in enumerate(found) for r in each.relations if r.sources == ("fused",)]


def spans(*intervals: Any) -> list[tuple[int, int, int]]:
    return [(chunk, r.offset_ms or 0, r.end_offset_ms or 0) for chunk, r in held(*intervals)]


def test_one_interval_of_the_notes_narrows_the_relation() -> None:
    ((chunk, relation),) = held(interval(4.0, 12.3))
    assert (chunk, relation.offset_ms, relation.end_offset_ms) == (0, 4_000, 12_300)
    assert (relation.time_confidence, relation.time_reason, relation.confidence) == (0.9, "so say the notes", 0.8)


def test_times_are_exact_though_models_are_shown_tenths() -> None:
    assert spans(interval(4, 6.0)) == [(0, 4_000, 6_040)]


def test_several_intervals_are_several_edges_each_in_the_chunk_that_tells_of_it() -> None:
    (_, first), (later, second) = held(interval(4.0, 12.3), interval(61.0, 70.0))
    assert later == 2 and second.supporting_text == "She talks to Bob again."
    assert first.supporting_text == "Ana talks to Bob"


@pytest.mark.parametrize(
    "wrong",
    [
        interval(5.0, 12.3),
        interval(4.0, 12.0),
        interval(12.3, 4.0),
        interval(1e308, 1e309),
        interval(float("nan"), 12.3),
        interval(None, None),
        interval("4.0", "12.3"),
        interval(True, 12.3),
        interval(4.0, 12.3, sure=float("nan")),
        interval(4.0, 12.3, sure=None),
        interval(4.0, 12.3, number=0),
        interval(4.0, 12.3, number=2),
        interval(4.0, 12.3, number="1"),
        interval(30.0, 60.0),
        "4.0 to 12.3",
    ],
    ids=str,
)
def test_anything_else_leaves_the_whole_window_of_the_statement(wrong: Any) -> None:
    """No time between two stamps, none of a note that names neither end, nothing that is no number."""
    assert spans(wrong) == [(0, 0, 30_000)]


def test_invented_times_are_told() -> None:
    found, _ = extract(FOUND, {"intervals": [interval(5.0, 7.0)]})
    assert any("a time that stands in no note" in warning for warning in found[0].warnings)


def test_intervals_that_overlap_are_one_with_the_surer_reason() -> None:
    ((_, relation),) = held(interval(4.0, 9.0, sure=0.3, reason="weak"), interval(6.0, 12.3, sure=0.7, reason="strong"))
    assert (relation.offset_ms, relation.end_offset_ms) == (4_000, 12_300)
    assert (relation.time_confidence, relation.time_reason) == (0.7, "strong")


def test_confidence_of_an_interval_is_clamped() -> None:
    ((_, relation),) = held(interval(4.0, 12.3, sure=17))
    assert relation.time_confidence == 1.0


def test_a_model_that_fails_at_dates_leaves_the_relations_and_is_told() -> None:
    found, _ = extract(FOUND, BadReply("cut", kind="refused"))
    assert [(r.offset_ms, r.end_offset_ms) for r in found[0].relations] == [(0, 30_000)]
    assert found[0].failed and "dating of relations: cut" in found[0].warnings


def test_relations_that_are_too_many_for_one_reply_are_dated_in_halves() -> None:
    relations = [{**FOUND["relations"][0], "relation": verb} for verb in ("talks to", "meets")]
    cut, first, second = BadReply("cut", kind="truncated"), interval(4.0, 12.3), interval(9.0, 12.3)
    found, chat = extract({**FOUND, "relations": relations}, cut, {"intervals": [first]}, {"intervals": [second]})
    assert len(chat.seen) == 4 and not found[0].warnings
    assert [(r.relation, r.offset_ms) for r in found[0].relations] == [("talks to", 4_000), ("meets", 9_000)]


def test_switched_off_nothing_is_asked_and_the_statements_time_holds() -> None:
    found, chat = extract(FOUND, temporal=False)
    assert len(chat.seen) == 1
    assert [(r.offset_ms, r.end_offset_ms, r.time_confidence) for r in found[0].relations] == [(0, 30_000, None)]


def test_without_relations_no_second_call_is_made() -> None:
    _, chat = extract({"entities": [], "relations": []})
    assert len(chat.seen) == 1


def test_relations_and_notes_are_shown_as_data() -> None:
    _, chat = extract(FOUND, {"intervals": []})
    shown = chat.seen[1][-1].text
    assert "1. Ana | talks to | Bob (Ana talks to Bob)" in shown and "[2] 4.0 to 6.0, speech: Ana: Hello Bob." in shown
    assert shown.count("<data ") == 2


def test_many_relations_are_dated_in_batches() -> None:
    names = [f"Person{n}" for n in range(50)]
    text = "meets ".join(f"{name} " for name in names)
    signals = [
        Signals(
            Segment(0, 0, 30_000, "window"), tuple(Caption(i * 100, i * 100 + 100, text, "given") for i in range(5))
        )
    ]
    relations = [
        {"source": a, "relation": "meets", "target": b, "note": 1, "supporting_text": f"{a} meets {b}", "confidence": 1}
        for a, b in pairwise(names)
    ]
    value = {
        "entities": [{"name": name, "type": "person", "description": ""} for name in names],
        "relations": relations,
    }
    chat = ScriptedChat([value, {"intervals": [interval(0.1, 0.2)]}, {"intervals": [interval(0.2, 0.3)]}])
    (found,) = extract_unit([(s, compose(s)) for s in signals], {}, chat, Plan(VOCABULARY, fuse=False), "dock")
    assert len(chat.seen) == 3 and len(found.relations) == 49
    assert sorted({(r.offset_ms, r.end_offset_ms) for r in found.relations}) == [(0, 100), (100, 200), (200, 300)]
