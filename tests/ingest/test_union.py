"""The graph of speech alone united with that of all senses, and with what was given: one edge a statement, naming all its sources."""

from __future__ import annotations

from typing import Any

from vgraph.ingest.chunks import Signals, compose
from vgraph.ingest.extract import Plan, Vocabulary, extract_unit
from vgraph.models.offline import ScriptedChat
from vgraph.types import Caption, Extraction, Mention, Relation, Segment, Utterance

ANA, BOB, CRATE = (Mention(name, "person") for name in ("Ana", "Bob", "Carla"))
GIVEN = Caption(
    0, 10_000, "Ana hands a crate to Bob.", "given", (ANA, BOB), (Relation("Ana", "Bob", "hands over", 2_000, 4_000),)
)
SAID = Utterance(12_000, 15_000, "Bob, I gave it to Carla.", "given", "Ana")
WINDOW = Signals(Segment(0, 0, 30_000, "window"), (GIVEN,), (SAID,))


def relation(source: str, kind: str, target: str, text: str, sure: float = 0.9) -> dict[str, Any]:
    return {
        "source": source,
        "relation": kind,
        "target": target,
        "note": 0,
        "supporting_text": text,
        "confidence": sure,
    }


def reply(*relations: dict[str, Any]) -> dict[str, Any]:
    people = [{"name": name, "type": "person", "description": ""} for name in ("Ana", "Bob", "Carla")]
    return {"entities": people, "relations": list(relations)}


def extract(*answers: Any, union: bool = True, window: Signals = WINDOW) -> tuple[Extraction, ScriptedChat]:
    chat = ScriptedChat(answers)
    plan = Plan(Vocabulary(("person",)), fuse=False, temporal=False, union=union)
    (found,) = extract_unit([(window, compose(window))], {}, chat, plan, "dock")
    return found, chat


def edges(found: Extraction) -> dict[tuple[str, str, str], tuple[str, ...]]:
    return {(r.source, r.relation, r.target): r.sources for r in found.relations}


TO_CARLA = relation("Ana", "gives to", "Carla", "I gave it to Carla")


def test_the_second_reading_sees_speech_alone() -> None:
    _, chat = extract(reply(), reply())
    assert "caption: Ana hands" in chat.seen[0][-1].text
    assert "caption: " not in chat.seen[1][-1].text and "speech: Ana: Bob, I gave it to Carla." in chat.seen[1][-1].text


def test_what_only_one_graph_has_is_in_the_union_and_names_it() -> None:
    fused = relation("Ana", "looks at", "Bob", GIVEN.text)
    found, _ = extract(reply(fused), reply(TO_CARLA))
    assert edges(found)["Ana", "looks at", "Bob"] == ("fused",)
    assert edges(found)["Ana", "gives to", "Carla"] == ("transcript",)
    assert edges(found)["Ana", "hands over", "Bob"] == ("structured",)
    assert {r.method for r in found.relations} == {"model:scripted", "structured"}


def test_the_same_statement_of_both_graphs_is_one_edge_with_both_sources() -> None:
    found, _ = extract(reply(TO_CARLA), reply({**TO_CARLA, "confidence": 0.95}))
    assert edges(found)["Ana", "gives to", "Carla"] == ("fused", "transcript")
    assert [r.confidence for r in found.relations if r.relation == "gives to"] == [0.95], "the surer one is kept"


def test_a_given_relation_keeps_its_exact_time_when_a_model_says_the_same() -> None:
    found, _ = extract(reply(relation("Ana", "handed over", "Bob", GIVEN.text, 1.0)), reply())
    (handed,) = [r for r in found.relations if r.relation.startswith("hand")]
    assert (handed.relation, handed.offset_ms, handed.end_offset_ms) == ("hands over", 2_000, 4_000)
    assert handed.sources == ("fused", "structured")


def test_the_same_relation_at_another_time_is_another_edge() -> None:
    twice = Signals(
        Segment(0, 0, 30_000, "window"),
        tuple(Caption(start, start + 5_000, f"Ana meets Bob {when}.", "given") for start, when in ((0, "early"), (20_000, "late"))),
    )  # fmt: skip
    both = [relation("Ana", "meets", "Bob", f"Ana meets Bob {when}") for when in ("early", "late")]
    found, _ = extract(reply(*both), window=twice)
    assert [r.offset_ms for r in found.relations] == [0, 20_000]


def test_the_other_direction_and_the_opposite_are_other_relations() -> None:
    kinds = [
        ("Ana", "loads", "Bob"),
        ("Ana", "unloads", "Bob"),
        ("Bob", "loads", "Ana"),
        ("Ana", "is loaded by", "Bob"),
    ]
    found, _ = extract(reply(*(relation(a, kind, b, GIVEN.text) for a, kind, b in kinds)), reply())
    assert len(edges(found)) == len(kinds) + 1, "and what was given"


def test_switched_off_or_without_other_senses_speech_is_read_once() -> None:
    _, chat = extract(reply(), union=False)
    assert len(chat.seen) == 1
    only_speech = Signals(Segment(0, 0, 30_000, "window"), (), (SAID,))
    found, chat = extract(reply(TO_CARLA), window=only_speech)
    assert len(chat.seen) == 1 and edges(found)["Ana", "gives to", "Carla"] == ("transcript",)
