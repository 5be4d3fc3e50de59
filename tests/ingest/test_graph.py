"""Chunks as records: keys from content and media time, times beside their offsets, and nothing told before it could be known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vgraph.ingest.chunks import Chunk, Signals, compose
from vgraph.ingest.extract import Plan, Vocabulary, extract_unit, window_text
from vgraph.ingest.graph import Place, Vectors, batch_entities, chunks_delta
from vgraph.models.offline import ScriptedChat
from vgraph.store import Store
from vgraph.types import Caption, Filters, GraphDelta, Mention, Record, Relation, Segment, Utterance

START = 1_772_524_800_000
PLAN = Plan(Vocabulary(("person", "object")), fuse=False, union=False)
WINDOWS = (
    Signals(Segment(0, 0, 30_000, "window"), (Caption(5_000, 9_000, "A woman gets into the van.", "model:v"),)),
    Signals(
        Segment(1, 30_000, 60_000, "window"), (Caption(31_000, 38_000, "The woman, Ana, leaves the van.", "model:v"),)
    ),
)
READ = {
    "entities": [
        {"name": "Ana", "type": "person", "description": "leaves the van"},
        {"name": "van", "type": "object", "description": ""},
    ],
    "relations": [
        {
            "source": "Ana",
            "relation": verb,
            "target": "van",
            "note": note,
            "supporting_text": f"{verb} the van",
            "confidence": 0.9,
        }
        for note, verb in ((1, "gets into"), (2, "leaves"))
    ],
}
DATED = {
    "intervals": [
        {"relation": 1, "start": 5.0, "end": 9.0, "confidence": 0.7, "reason": "the caption"},
    ]
}


def understood(signals: Sequence[Signals] = WINDOWS, *replies: Any, plan: Plan = PLAN) -> list[Chunk]:
    chat = ScriptedChat(replies or (READ, DATED))
    parts = [(one, window_text(one, chat, plan)) for one in signals]
    found = extract_unit(parts, {}, chat, plan, "dock")
    return [Chunk(one, text, extraction) for (one, text), extraction in zip(parts, found, strict=True)]


def delta(chunks: Sequence[Chunk], start_ms: int = START) -> GraphDelta:
    place = Place("d1", "dock", start_ms)
    count = len(batch_entities(place, chunks))
    vectors = Vectors(np.eye(4, dtype=np.float32)[: len(chunks)], np.ones((count, 4), np.float32) / 2, None)
    return chunks_delta(place, chunks, None, vectors, 1, ())


def rows(made: GraphDelta, collection: str) -> list[Record]:
    return list({**made.vertices, **made.edges}[collection])


def test_no_key_depends_on_the_wall_clock() -> None:
    """A clock that is fitted later moves times without a new ingest, and an ingest after it makes the same keys."""
    now, later = delta(understood()), delta(understood(), START + 3_600_123)
    for collection in (*now.vertices, *now.edges):
        assert [r["_key"] for r in rows(now, collection)] == [r["_key"] for r in rows(later, collection)]


def test_every_time_stands_beside_its_media_offset() -> None:
    made = delta(understood())
    pairs = {
        "start_ms": "offset_ms",
        "end_ms": "end_offset_ms",
        "known_ms": "known_offset_ms",
        "described_ms": "described_offset_ms",
    }
    for collection, names in {"chunks": 3, "HAS_ENTITY": 4, "LINKS_TO": 3}.items():
        for record in rows(made, collection):
            held = {time: offset for time, offset in pairs.items() if time in record}
            assert len(held) == names
            assert all(record[time] == START + record[offset] for time, offset in held.items())


def test_a_relation_of_a_model_carries_all_it_rests_on() -> None:
    into, leaves = sorted(rows(delta(understood()), "LINKS_TO"), key=lambda edge: edge["offset_ms"])
    assert {name: into[name] for name in ("relation", "chunk", "camera", "document", "supporting_text", "confidence")} == {
        "relation": "gets into", "chunk": "d1-0000000000", "camera": "dock", "document": "d1",
        "supporting_text": "gets into the van", "confidence": 0.9,
    }  # fmt: skip
    assert (into["method"], into["sources"], into["time_confidence"], into["time_reason"]) == (
        "model:scripted", ["fused"], 0.7, "the caption"
    )  # fmt: skip
    assert (into["offset_ms"], into["end_offset_ms"]) == (5_000, 9_000)
    assert (leaves["chunk"], leaves["time_confidence"]) == ("d1-0000030000", None)


def test_intervals_of_one_relation_are_edges_of_their_own() -> None:
    again = {
        "intervals": [{**DATED["intervals"][0], "end": 9.0}, {**DATED["intervals"][0], "start": 31.0, "end": 38.0}]
    }
    edges = [e for e in rows(delta(understood(WINDOWS, READ, again)), "LINKS_TO") if e["relation"] == "gets into"]
    assert sorted((e["offset_ms"], e["chunk"]) for e in edges) == [(5_000, "d1-0000000000"), (31_000, "d1-0000030000")]
    assert len({e["_key"] for e in edges}) == 2


def test_somebody_named_only_later_is_in_the_earlier_chunk_for_the_time_of_the_deed() -> None:
    mentions = [e for e in rows(delta(understood()), "HAS_ENTITY") if e["mention"] == "Ana"]
    early, late = sorted(mentions, key=lambda e: e["offset_ms"])
    assert (early["offset_ms"], early["end_offset_ms"], early["known_offset_ms"]) == (5_000, 9_000, 60_000)
    assert (late["offset_ms"], late["known_offset_ms"]) == (31_000, 60_000)


def test_the_fused_text_is_stored_beside_the_lines() -> None:
    said = Utterance(6_000, 7_000, "Bye.", "given", "Bob")
    window = Signals(Segment(0, 0, 30_000, "window"), WINDOWS[0].captions, (said,))
    fused = {"sentences": [{"text": "A woman gets into the van while Bob says bye.", "notes": [1, 2]}]}
    plan = Plan(PLAN.vocabulary, union=False)
    (chunk,) = rows(delta(understood([window], fused, {"entities": [], "relations": []}, plan=plan)), "chunks")
    assert chunk["fused"][0] == [
        5_000,
        9_000,
        "fused",
        "model:scripted",
        "A woman gets into the van while Bob says bye.",
    ]
    assert chunk["text"].splitlines()[0] == chunk["fused"][0][4]
    assert [line[2] for line in chunk["lines"]] == ["caption", "speech"]


def test_a_failed_model_is_recorded_on_its_chunks() -> None:
    chunks = rows(delta(understood(WINDOWS, {"entities": 5})), "chunks")
    assert [c["extraction"] for c in chunks] == ["structured", "structured"]
    assert all(c["warnings"] for c in chunks)


# --- what may be known when -----------------------------------------------------------------------------------------------


def asked(store: Store, not_after: int | None) -> dict[str, Any]:
    filters = Filters(not_after=None if not_after is None else START + not_after)
    return store.expand_entities(["d1-0000000000", "d1-0000030000"], filters, hops=2, entity_limit=9, relation_limit=9)


def test_a_name_that_is_told_later_is_not_known_before(store: Store) -> None:
    store.apply(delta(understood()))
    early, late = asked(store, 30_000), asked(store, 60_000)
    assert [e["name"] for e in early["entities"]] == ["van"] and early["relations"] == []
    assert {e["name"] for e in late["entities"]} == {"Ana", "van"} and len(late["relations"]) == 2


def test_a_description_and_an_alias_of_later_are_not_known_before(store: Store) -> None:
    """The entity's own record holds what is known of it in the end."""

    def caption(index: int, name: str, description: str) -> Chunk:
        start = index * 30_000
        mention = Mention(name, "person", "p1", description)
        shown = Caption(start, start + 9_000, f"{name}.", "given", (mention,))
        signals = Signals(Segment(index, start, start + 30_000, "window"), (shown,))
        (found,) = extract_unit([(signals, compose(signals))], {}, None, PLAN, "dock")
        return Chunk(signals, compose(signals), found)

    store.apply(delta([caption(0, "the man", ""), caption(1, "Bob Smith", "was arrested")]))
    (then,), (now,), (whole,) = (asked(store, at)["entities"] for at in (30_000, 60_000, None))
    assert (then["name"], then["description"], then["last_ms"]) == ("the man", "", START + 9_000)
    assert now == whole and (now["name"], now["description"]) == ("the man", "was arrested")


def test_given_relations_are_known_with_their_chunk(store: Store) -> None:
    ana, bob = Mention("Ana", "person"), Mention("Bob", "person")
    caption = Caption(
        1_000, 9_000, "Ana meets Bob.", "given", (ana, bob), (Relation("Ana", "Bob", "meets", 1_000, 2_000),)
    )
    signals = Signals(Segment(0, 0, 30_000, "window"), (caption,))
    (found,) = extract_unit([(signals, compose(signals))], {}, None, PLAN, "dock")
    store.apply(delta([Chunk(signals, compose(signals), found)]))
    assert len(asked(store, 30_000)["relations"]) == 1 and asked(store, 29_999)["relations"] == []
