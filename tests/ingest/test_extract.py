"""Entities and relations from structured signals, and from a chat model over units of chunks, which may misbehave in every way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from vgraph.errors import BadReply, MissingDependency, ModelError
from vgraph.ingest.chunks import Signals, compose
from vgraph.ingest.extract import Plan, Vocabulary, extract_unit, names_of, structured, units
from vgraph.ingest.extract.notes import LONGEST, halved, in_parts, notes_of
from vgraph.ingest.extract.wording import Wording
from vgraph.models.offline import ScriptedChat
from vgraph.types import (
    Box,
    Caption,
    Completion,
    Extraction,
    Line,
    Mention,
    Message,
    Relation,
    Segment,
    TextRead,
    Utterance,
)

SEGMENT = Segment(0, 0, 30_000, "window")
ANA, BOB, CRATE = Mention("Ana Ruiz", "person", "p1"), Mention("Bob", "person"), Mention("crate 25", "object")
HANDS = Relation("Ana Ruiz", "crate 25", "hands over", 2_000, 4_000)
TEXT = "Ana Ruiz hands crate 25 to Bob."
CAPTION = Caption(1_000, 9_000, TEXT, "given", (ANA, BOB, CRATE), (HANDS,))
PLAN = Plan(Vocabulary(("person", "object", "location")), fuse=False, temporal=False, union=False)


def signals(**changes: Any) -> Signals:
    return Signals(**{"segment": SEGMENT, "captions": (CAPTION,), **changes})


def window(index: int, *captions: str, said: Sequence[tuple[str, str]] = ()) -> Signals:
    """A window of 30 s whose captions share it evenly; utterances of 2 s begin 5 s apart."""
    start = index * 30_000
    each = 30_000 // max(len(captions), 1)
    seen = tuple(Caption(start + i * each, start + (i + 1) * each, text, "given") for i, text in enumerate(captions))
    heard = tuple(
        Utterance(start + i * 5_000, start + i * 5_000 + 2_000, text, "given", speaker)
        for i, (speaker, text) in enumerate(said)
    )
    return Signals(Segment(index, start, start + 30_000, "window"), seen, heard)


def entity(name: str, kind: str = "person", description: str = "") -> dict[str, Any]:
    return {"name": name, "type": kind, "description": description}


def relation(
    source: str, target: str, text: str, *, kind: str = "gives", note: int = 1, sure: Any = 0.9
) -> dict[str, Any]:
    return {
        "source": source, "relation": kind, "target": target, "note": note, "supporting_text": text, "confidence": sure
    }  # fmt: skip


def reply(entities: Sequence[dict[str, Any]] = (), relations: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    return {"entities": list(entities), "relations": list(relations)}


def extract(chat: ScriptedChat, *windows: Signals, plan: Plan = PLAN, known: Any = None) -> tuple[Extraction, ...]:
    return extract_unit([(w, compose(w)) for w in windows], known or {}, chat, plan, "dock")


def extracted(value: Any, *windows: Signals, plan: Plan = PLAN) -> Extraction:
    return extract(ScriptedChat([value]), *(windows or (signals(),)), plan=plan)[0]


def triplets(found: Extraction, source: str | None = None) -> list[tuple[str, str, str]]:
    return [(r.source, r.relation, r.target) for r in found.relations if source is None or source in r.sources]


# --- what the signals say -----------------------------------------------------------------------------------------------


def test_captions_give_their_entities_and_relations_with_the_caption_as_support() -> None:
    found = structured(signals(), {})
    assert found.method == "structured"
    assert [m.name for m in found.entities] == ["Ana Ruiz", "Bob", "crate 25"]
    ana, _, crate = found.entities
    (handed,) = found.relations
    assert (handed.offset_ms, handed.end_offset_ms, handed.supporting_text, handed.ends) == (
        2_000,
        4_000,
        TEXT,
        (ana, crate),
    )
    assert (handed.method, handed.sources) == ("structured", ("structured",))


def test_a_speaker_is_the_captioned_person_of_that_name_and_mentions_whom_they_name() -> None:
    said = Utterance(5_000, 7_000, "I gave CRATE 25 to you, Bob!", "given", "ana  ruiz")
    found = structured(signals(utterances=(said,)), names_of([CAPTION]))
    assert found.entities.count(ANA) == 1 and len(found.entities) == 3
    mentions = {(r.source, r.relation, r.target) for r in found.relations if r.relation == "mentions"}
    assert mentions == {("ana  ruiz", "mentions", "crate 25"), ("ana  ruiz", "mentions", "Bob")}


def test_who_is_spoken_of_is_an_entity_of_the_chunk_though_no_caption_of_it_shows_them() -> None:
    said = Utterance(5_000, 7_000, "Bob, come to the yard.", "given", "Ana Ruiz")
    found = structured(signals(captions=(), utterances=(said,)), names_of([CAPTION]))
    assert {m.name for m in found.entities} == {"Ana Ruiz", "Bob"}
    assert triplets(found) == [("Ana Ruiz", "mentions", "Bob")]


def test_a_description_of_another_caption_is_not_copied_to_where_it_was_not_known() -> None:
    later = Caption(
        90_000, 95_000, "Ana.", "given", (Mention("Ana Ruiz", "person", "p1", "turns out to be the thief"),)
    )
    said = Utterance(5_000, 7_000, "Hello.", "given", "Ana Ruiz")
    (ana,) = structured(signals(captions=(), utterances=(said,)), names_of([later])).entities
    assert (ana.id, ana.description) == ("p1", "")


def test_a_name_of_two_identities_is_nobodys() -> None:
    twins = Caption(0, 1, "Bob and Bob.", "given", (Mention("Bob", "person", "b1"), Mention("Bob", "person", "b2")))
    assert "bob" not in names_of([twins])


@pytest.mark.parametrize(
    ("text", "expected"), [("DOCK 2", True), ("09:01:22", False), ("42", False), ("09:01 gate", False)]
)
def test_a_label_is_an_entity_and_a_clock_is_not(text: str, expected: bool) -> None:
    read = TextRead(1_000, text, Box(0, 0, 1, 1), 0.9, "rapidocr")
    assert bool(structured(signals(captions=(), reads=(read,)), {}).entities) is expected


def test_a_relation_is_told_only_by_the_segment_it_starts_in() -> None:
    late = signals(segment=Segment(1, 3_000, 33_000, "window"))
    assert structured(late, {}).relations == ()


def test_names_of_relations_are_lower_case_and_only_configured_synonyms_are_the_same() -> None:
    caption = Caption(0, 1_000, TEXT, "given", (ANA, BOB), (Relation("Ana Ruiz", "Bob", "Speaks_With", 0, 1),))
    vocabulary = Vocabulary(("person",), synonyms=(("speaks with", "talks-to"),))
    plain = structured(signals(captions=(caption,)), {})
    same = structured(signals(captions=(caption,)), {}, vocabulary)
    assert (plain.relations[0].relation, same.relations[0].relation) == ("speaks with", "talks to")


# --- what a model may say -------------------------------------------------------------------------------------------------


def test_the_models_relations_take_the_time_and_the_words_of_the_note_they_quote() -> None:
    found = extracted(reply([], [relation("Ana Ruiz", "Bob", "HANDS crate 25 to bob")]))
    assert found.method == "model:scripted"
    (given,) = [r for r in found.relations if r.relation == "gives"]
    assert (given.offset_ms, given.end_offset_ms, given.supporting_text) == (1_000, 9_000, "hands crate 25 to Bob")
    assert (given.confidence, given.method, given.sources) == (0.9, "model:scripted", ("fused",))


def test_an_invented_quotation_is_replaced_by_the_note_that_names_both_and_halves_the_confidence() -> None:
    found = extracted(reply([], [relation("Ana Ruiz", "Bob", "she kissed him")]))
    (given,) = [r for r in found.relations if r.relation == "gives"]
    assert (given.supporting_text, given.confidence) == (TEXT, 0.45)


def test_a_relation_of_which_no_note_tells_is_dropped() -> None:
    shown = window(0, "Ana waits.", "Bob leaves.")
    found = extracted(reply([entity("Ana"), entity("Bob")], [relation("Ana", "Bob", "they hugged", note=0)]), shown)
    assert found.relations == ()
    assert "no note says so" in found.warnings[0]


def test_a_quotation_that_is_almost_right_counts() -> None:
    shown = window(0, "The tall man in the red coat hands a heavy parcel to the driver of the van.")
    quoted = "the tall man in a red coat hands a heavy parcel to the driver of the van"
    found = extracted(
        reply([entity("man"), entity("driver")], [relation("the man", "the driver", quoted, note=9)]), shown
    )
    (given,) = found.relations
    assert given.confidence == 0.9 and given.supporting_text.startswith("The tall man in the red coat")


@pytest.mark.parametrize("name", ["the Queen", "Ana Bob", "25 crate", "", "   ", TEXT * 3])
def test_an_entity_that_stands_in_no_note_is_none(name: str) -> None:
    found = extracted(reply([entity(name)]))
    assert [m.name for m in found.entities] == ["Ana Ruiz", "Bob", "crate 25"]
    assert found.warnings


def test_a_relation_to_nobody_is_dropped_and_told() -> None:
    found = extracted(reply([], [relation("Ana Ruiz", "the Queen", "hands crate 25")]))
    assert triplets(found, "fused") == []
    assert "the Queen" in found.warnings[0]


def test_whole_sentences_as_ends_are_no_entities_unless_they_name_one_only() -> None:
    ambiguous = relation("Ana Ruiz hands crate 25", "to Bob", "hands crate 25")
    single = relation("it is Ana Ruiz who does so", "to Bob", "hands crate 25")
    assert triplets(extracted(reply([], [ambiguous])), "fused") == []
    assert triplets(extracted(reply([], [single])), "fused") == [("Ana Ruiz", "gives", "Bob")]


def test_articles_and_plurals_of_a_name_are_the_same_words() -> None:
    shown = window(0, "Two red crates stand on the pallet.")
    found = extracted(reply([entity("the red crate", "object"), entity("a pallet", "object")]), shown)
    assert [m.name for m in found.entities] == ["the red crate", "a pallet"]


@pytest.mark.parametrize(
    ("text", "names", "language"),
    [
        ("王伟把箱子交给李娜。", ("王伟", "李娜"), "zh"),
        ("Мария передаёт ящик Анне.", ("Мария", "Анна"), "ru"),
        ("أعطى أحمد الصندوق إلى ليلى", ("أحمد", "ليلى"), "ar"),
        ("किरण ने बक्सा अनिल को दिया", ("किरण", "अनिल"), "hi"),
        ("Jürgen übergibt Ärztin Weiß die Kiste.", ("jürgen", "WEISS"), "de"),
        ("민수가 지영에게 상자를 준다", ("민수", "지영"), "ko"),
    ],
)
def test_names_are_found_in_any_script(text: str, names: tuple[str, str], language: str) -> None:
    plan = Plan(PLAN.vocabulary, fuse=False, temporal=False, union=False, language=language)
    value = reply([entity(name) for name in names], [relation(*names, text)])
    found = extracted(value, window(0, text), plan=plan)
    assert {m.name for m in found.entities} == set(names)
    assert triplets(found) == [(names[0], "gives", names[1])]


def test_a_type_is_compared_without_case_and_one_that_is_not_configured_is_refused() -> None:
    chat = ScriptedChat([Completion("", reply([entity("Ana Ruiz", "Person"), entity("crate 25", "weapon")]))])
    (found,) = extract(chat, signals(captions=(Caption(0, 9_000, TEXT, "given"),)))
    assert [(m.name, m.type) for m in found.entities] == [("Ana Ruiz", "person")]
    assert "weapon" in found.warnings[0]


def test_a_sign_and_the_place_it_names_are_two_and_relations_mean_the_place() -> None:
    read = TextRead(20_000, "DOCK 2", Box(0, 0, 1, 1), 0.9, "rapidocr")
    value = reply([entity("dock 2", "location")], [relation("Ana Ruiz", "Dock 2", TEXT)])
    found = extracted(value, signals(reads=(read,)))
    assert {m.type for m in found.entities if m.name.casefold() == "dock 2"} == {"label", "location"}
    assert [r.ends[1].type for r in found.relations if r.relation == "gives" and r.ends[1]] == ["location"]


def test_a_type_is_stored_as_it_is_configured() -> None:
    plan = Plan(Vocabulary(("Fork-Lift",)), fuse=False, temporal=False, union=False)
    found = extracted(reply([entity("lorry", "Fork-Lift")]), window(0, "A lorry waits."), plan=plan)
    assert [m.type for m in found.entities] == ["Fork-Lift"]


def test_only_configured_relations_pass_unless_others_are_open() -> None:
    closed = Plan(Vocabulary(("person",), ("talks to",)), fuse=False, temporal=False, union=False)
    is_open = Plan(Vocabulary(("person",), ("talks to",), open_relations=True), fuse=False, temporal=False, union=False)
    value = Completion(
        "", reply([], [relation("Ana Ruiz", "Bob", TEXT), relation("Ana Ruiz", "Bob", TEXT, kind="TALKS-TO")])
    )
    assert triplets(extracted(value, plan=closed), "fused") == [("Ana Ruiz", "talks to", "Bob")]
    assert triplets(extracted(value, plan=is_open), "fused") == [
        ("Ana Ruiz", "gives", "Bob"),
        ("Ana Ruiz", "talks to", "Bob"),
    ]


@pytest.mark.parametrize(
    ("given", "kept"), [(7, 1.0), (-1, 0.0), (10**400, 1.0), (0.25, 0.25), (float("nan"), None), (float("inf"), None),
     (None, None), ("high", None), (True, None)]
)  # fmt: skip
def test_confidence_is_clamped_and_what_is_no_number_is_refused(given: Any, kept: float | None) -> None:
    found = extracted(Completion("", reply([], [relation("Ana Ruiz", "Bob", TEXT, sure=given)])))
    assert [r.confidence for r in found.relations if r.relation == "gives"] == ([] if kept is None else [kept])


def test_thousands_of_entities_and_relations_are_cut_to_what_the_notes_can_hold() -> None:
    words = " ".join(f"thing{n}" for n in range(3_000))
    many = [entity(f"thing{n}", "object") for n in range(3_000)]
    links = [relation(f"thing{n}", f"thing{n + 1}", f"thing{n} thing{n + 1}") for n in range(2_999)]
    chat = ScriptedChat([reply(many, links)])
    (found,) = extract(chat, window(0, words))
    most = 20 * chat.seen[0][-1].text.count(", caption: ")
    assert len(found.entities) == most <= 100 and 0 < len(found.relations) <= most
    assert any("more" in warning and "entities" in warning for warning in found.warnings)
    assert all(len(warning) < 400 for warning in found.warnings)


def test_a_description_with_a_name_or_number_that_no_note_has_is_left_out() -> None:
    kept = extracted(reply([entity("Bob", description="gets crate 25")]), window(0, TEXT))
    dropped = extracted(reply([entity("Bob", description="brother of Zorro, born 1990")]), window(0, TEXT))
    assert [m.description for m in (*kept.entities, *dropped.entities)] == ["gets crate 25", ""]


def test_a_name_of_two_persons_is_the_one_of_its_chunk_and_else_nobody() -> None:
    """Two people with one name stay two: a model's "Bob" is not drawn by lot."""

    def bob(index: int, identity: str) -> Signals:
        start = index * 30_000
        caption = Caption(start, start + 9_000, "Bob lifts a crate.", "given", (Mention("Bob", "person", identity),))
        return Signals(Segment(index, start, start + 30_000, "window"), (caption,))

    third = window(2, "The crate falls on Bob.")
    value = reply(
        [entity("crate", "object")],
        [relation("Bob", "crate", "Bob lifts a crate", note=1), relation("Bob", "crate", "Bob lifts a crate", note=2),
         relation("crate", "Bob", "falls on Bob", note=3)],
    )  # fmt: skip
    found = extract(ScriptedChat([value]), bob(0, "b1"), bob(1, "b2"), third)
    who = [[r.ends[0].id for r in each.relations if r.ends[0]] for each in found]
    assert who == [["b1"], ["b2"], []]


def test_captions_are_shown_to_the_model_as_numbered_data_with_the_configured_types() -> None:
    chat = ScriptedChat([reply()])
    extract(chat, signals())
    shown = chat.seen[0][-1].text
    assert "person, object, location" in shown and f"[1] 1.0 to 9.0, caption: {TEXT}" in shown


def test_a_chunk_without_text_asks_nothing() -> None:
    chat = ScriptedChat([])
    (found,) = extract(chat, signals(captions=()))
    assert not chat.seen and (found.method, found.warnings, found.failed) == ("structured", (), False)


# --- units: longer than a chunk --------------------------------------------------------------------------------------------


def test_units_are_cut_at_the_bounds_of_segments() -> None:
    segments = [Segment(i, i * 30_000, (i + 1) * 30_000, "window") for i in range(7)]
    assert [[s.index for s in unit] for unit in units(segments, 90_000)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert len(units(segments, 3_600_000)) == 1 and len(units(segments, 1)) == 7


def test_a_pronoun_of_one_chunk_is_somebody_of_another_and_the_edge_stands_where_it_was_said() -> None:
    value = reply(
        [entity("Ana Ruiz"), entity("van", "object")], [relation("Ana Ruiz", "van", "She gets into the van", note=2)]
    )
    first, second = extract(ScriptedChat([value]), window(0, "Ana Ruiz waits."), window(1, "She gets into the van."))
    assert [m.name for m in first.entities] == ["Ana Ruiz"] and first.relations == ()
    assert {m.name for m in second.entities} == {"Ana Ruiz", "van"}
    (got_in,) = second.relations
    assert (got_in.offset_ms, got_in.end_offset_ms, got_in.supporting_text) == (30_000, 60_000, "She gets into the van")


def test_a_relation_is_known_when_the_name_it_uses_was_told() -> None:
    """Under `not_after` nobody may learn from minute 0 what only minute 1 says."""
    into = relation("Ana Ruiz", "van", "She gets into the van", note=1, kind="gets into")
    value = reply([entity("Ana Ruiz"), entity("van", "object")], [into])
    first, _ = extract(ScriptedChat([value]), window(0, "She gets into the van."), window(1, "It was Ana Ruiz."))
    assert [r.known_offset_ms for r in first.relations] == [60_000]
    assert {m.described_offset_ms for m in first.entities} == {60_000}


def test_a_relation_in_words_of_the_models_own_is_known_with_the_whole_unit() -> None:
    windows = (window(0, "Ana meets Bob."), window(1, "Nothing."), window(2, "Nothing."))
    people = [entity("Ana"), entity("Bob")]
    own = reply(people, [relation("Ana", "Bob", "Ana meets Bob", kind="conspires with")])
    told = reply(people, [relation("Ana", "Bob", "Ana meets Bob", kind="meets")])
    found = [extract(ScriptedChat([value]), *windows)[0].relations for value in (own, told)]
    assert [relation.known_offset_ms for (relation,) in found] == [90_000, 30_000]


def test_a_caption_across_two_chunks_is_shown_once_and_told_by_the_first() -> None:
    caption = Caption(25_000, 35_000, "Ana meets Bob.", "given")
    windows = [Signals(Segment(i, i * 30_000, (i + 1) * 30_000, "window"), (caption,)) for i in (0, 1)]
    chat = ScriptedChat([reply([entity("Ana"), entity("Bob")], [relation("Ana", "Bob", "meets")])])
    first, second = extract(chat, *windows)
    assert chat.seen[0][-1].text.count("Ana meets Bob") == 1
    assert len(first.relations) == 1 and second.relations == () and len(second.entities) == 2


def test_what_reaches_in_from_the_unit_before_is_not_told_again() -> None:
    caption = Caption(25_000, 35_000, "Ana meets Bob.", "given")
    chat = ScriptedChat([])
    extract(chat, Signals(Segment(1, 30_000, 60_000, "window"), (caption,)))
    assert not chat.seen


def test_a_unit_beyond_the_context_is_split_at_chunks_before_it_is_asked() -> None:
    windows = [window(i, f"Person{i} waits. " + "x" * 600) for i in range(8)]
    small = Plan(PLAN.vocabulary, fuse=False, temporal=False, union=False, context_tokens=2_048, reply_tokens=512)
    chat = ScriptedChat(lambda _: reply())
    extract(chat, *windows, plan=small)
    asked = [[i for i in range(8) if f"Person{i} " in messages[-1].text] for messages in chat.seen]
    assert [i for some in asked for i in some] == list(range(8)) and len(asked) > 1


def cut(messages: Sequence[Message]) -> BadReply | dict[str, Any]:
    """A model that has room for two notes only."""
    if messages[-1].text.count(", caption: ") > 2:
        return BadReply("it stopped at the token limit", kind="truncated", said='{"entities": [{"na')
    return reply([entity(f"Person{i}") for i in range(8) if f"Person{i} " in messages[-1].text])


def test_a_truncated_reply_has_the_unit_split_until_it_is_whole_and_nothing_is_lost() -> None:
    chat = ScriptedChat(cut)
    found = extract(chat, *(window(i, f"Person{i} waits.") for i in range(8)))
    assert [[m.name for m in each.entities] for each in found] == [[f"Person{i}"] for i in range(8)]
    assert all(each.method == "model:scripted" and not each.failed and not each.warnings for each in found)
    assert len(chat.seen) == 6, "eight and four were too many; the other four are not tried"


def test_a_request_too_long_for_the_server_is_split_like_a_truncated_reply() -> None:
    def small(messages: Sequence[Message]) -> Any:
        too_long = messages[-1].text.count(", caption: ") > 1
        return BadReply("maximum context length", kind="too_long") if too_long else reply([entity("Ana")])

    found = extract(ScriptedChat(small), window(0, "Ana waits."), window(1, "Ana leaves."))
    assert [[m.name for m in each.entities] for each in found] == [["Ana"], ["Ana"]]


def test_a_caption_of_a_hundred_thousand_characters_is_read_in_pieces() -> None:
    words = " ".join(f"word{n}" for n in range(12_000)) + " and at last Zoe"
    chat = ScriptedChat(lambda messages: reply([entity("Zoe")] if "Zoe" in messages[-1].text else []))
    (found,) = extract(
        chat, window(0, words), plan=Plan(PLAN.vocabulary, fuse=False, union=False, context_tokens=8_192)
    )
    assert len(words) > 100_000 and len(chat.seen) > 5
    assert [m.name for m in found.entities] == ["Zoe"] and not found.failed


def test_a_model_that_always_fails_is_not_asked_for_every_part() -> None:
    chat = ScriptedChat(lambda _: BadReply("cut", kind="truncated"))
    found = extract(chat, *(window(i, f"Person{i} waits.") for i in range(64)))
    assert len(chat.seen) < 12
    assert all(each.method == "structured" and each.warnings for each in found)
    assert not any(each.failed for each in found), "asking the same again would not help"


def test_notes_are_halved_at_the_chunk_nearest_the_middle_and_a_single_one_is_not() -> None:
    lines = [Line(n, n + 1, "caption", f"line {n}", "given") for n in range(5)]
    notes = notes_of([lines[:1], lines[1:4], lines[4:]], Wording())
    first, second = halved(notes) or ((), ())
    assert [n.chunk for n in first] == [0] and [n.chunk for n in second] == [1, 1, 1, 2]
    assert halved(notes[:1]) is None
    pieces = notes_of([[Line(0, 1, "caption", "x" * (2 * LONGEST + 1), "given")]], Wording())
    assert [len(n.text) for n in pieces] == [LONGEST, LONGEST, 1]


def test_parts_come_in_order_with_their_answers() -> None:
    notes = notes_of([[Line(n, n + 1, "caption", f"line {n}", "given")] for n in range(6)], Wording())
    parts = list(in_parts(notes, lambda some: len(some), 1))
    assert [note for part, _ in parts for note in part] == list(notes) and [count for _, count in parts] == [1] * 6


# --- replies that break ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        BadReply("refused", kind="refused"),
        BadReply("nothing", kind="empty"),
        BadReply("prose", kind="malformed", said="I am sorry, I can not do that."),
        BadReply("array", kind="malformed", said="[1, 2, 3]"),
        BadReply("deep", kind="malformed", said="[" * 50_000),
        ModelError("connection lost"),
    ],
    ids=lambda fault: getattr(fault, "kind", "lost") + str(len(getattr(fault, "said", ""))),
)
def test_whatever_breaks_leaves_the_structured_extraction_and_is_told_on_every_chunk(fault: ModelError) -> None:
    found = extract(ScriptedChat(lambda _: fault), signals(), window(1, "Bob leaves."))
    assert [each.method for each in found] == ["structured", "structured"]
    assert triplets(found[0]) == [("Ana Ruiz", "hands over", "crate 25")]
    assert all(each.failed and str(fault) in each.warnings[0] for each in found)


def test_what_can_be_read_of_a_broken_reply_is_kept_and_it_still_counts_as_failed() -> None:
    good = relation("Ana Ruiz", "Bob", TEXT)
    bad = reply(
        [entity("Bob"), entity("crate 25", "weapon")], [good, {"source": 5}, "x", {**good, "confidence": "NaN"}]
    )
    fault = BadReply("at $.entities[1].type", kind="malformed", said="Sure! ```json\n" + json.dumps(bad)[:-1])
    found = extracted(fault)
    assert ("Ana Ruiz", "gives", "Bob") in triplets(found)
    assert found.failed and any("weapon" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    "value",
    [
        {"entities": None, "relations": {"a": 1}},
        {"entities": [None, 5, "Ana", [], {}], "relations": [None, {}]},
        {"entities": [{"name": ["Ana"], "type": {}, "description": 3}], "relations": [{"source": None, "note": "one"}]},
        {"entities": [{"name": "Ana\ufffd\x00 Ruiz", "type": "person"}], "relations": []},
        {"relations": [{**relation("Ana Ruiz", "Bob", TEXT), "note": 10**30}]},
        {"relations": [{**relation("Ana Ruiz", "Bob", TEXT), "note": -1}]},
        [],
        "text",
    ],
)
def test_values_of_any_shape_are_read_without_a_crash(value: Any) -> None:
    found = extracted(Completion("", value))
    assert {m.name for m in found.entities} == {"Ana Ruiz", "Bob", "crate 25"}


def test_a_missing_package_stops_the_ingest_instead_of_degrading_every_chunk() -> None:
    chat = ScriptedChat([MissingDependency("no openai", command="pip install openai")])
    with pytest.raises(MissingDependency):
        extract(chat, signals())


def test_one_part_that_fails_does_not_take_the_others_with_it() -> None:
    def picky(messages: Sequence[Message]) -> Any:
        text = messages[-1].text
        if "Person0 " in text and "Person7 " in text:
            return BadReply("cut", kind="truncated")
        if "Person5 " in text:
            return BadReply("no", kind="refused")
        return reply([entity(f"Person{i}") for i in range(8) if f"Person{i} " in text])

    found = extract(ScriptedChat(picky), *(window(i, f"Person{i} waits.") for i in range(8)))
    assert [each.failed for each in found] == [False] * 4 + [True] * 4
    assert [len(each.entities) for each in found] == [1] * 4 + [0] * 4


# --- fault injection: any mixture of them ---------------------------------------------------------------------------------


def faults() -> Iterator[Callable[[], Any]]:
    good = reply([entity("Person1")], [relation("Person1", "Person2", "meets")])
    while True:
        yield lambda: BadReply("cut", kind="truncated", said='{"entities": [')
        yield lambda: good
        yield lambda: BadReply("broken", kind="malformed", said="{'entities': [{'name': 'Person2', 'type': 'person'}")
        yield lambda: ModelError("429")
        yield lambda: Completion(
            "", {"entities": [{"name": "Person3", "type": "person", "description": "\ud800"}], "relations": 7}
        )
        yield lambda: BadReply("no", kind="refused")


@pytest.mark.parametrize("skipped", range(6))
def test_no_chunk_is_lost_whatever_comes_in_whatever_order(skipped: int) -> None:
    script = faults()
    for _ in range(skipped):
        next(script)
    windows = [window(i, f"Person{i} meets Person{i + 1}.", said=[("Ana", f"Hello Person{i}")]) for i in range(10)]
    plan = Plan(PLAN.vocabulary)
    found = extract(ScriptedChat(lambda _: next(script)()), *windows, plan=plan)
    assert len(found) == 10
    assert all(each.method in ("structured", "model:scripted") for each in found)
    assert all(each.warnings for each in found if each.failed)
    assert all("Ana" in {m.name for m in each.entities} for each in found), "what the signals say is there in any case"
