"""How relation intervals are measured: the scores by hand, the simulated reader, and a small world with mechanisms switched off."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from vgraph.evals.ingest.relations import TOPIC, Cast, Fact, SimulatedReader, scored, true_facts, unstructured
from vgraph.evals.ingest.run import evaluate
from vgraph.evals.world import Picture, World
from vgraph.settings import Settings
from vgraph.types import Message

WORLD = World.generate(190, minutes=2)
CAST = Cast.of(WORLD)


def fact(start: int, end: int, relation: str = "talks to", recording: str = "dock") -> Fact:
    return Fact(recording, "Ana", relation, "Bob", (start, end))


def test_a_perfect_graph_scores_whole_marks() -> None:
    facts = [fact(0, 2_000), fact(60_000, 65_000, "hands over")]
    scores = scored(facts, facts)
    assert (scores.found, scores.iou, scores.within, scores.right) == (1.0, 1.0, 1.0, 1.0)


def test_wide_late_and_invented_edges_cost_what_they_should() -> None:
    true = [fact(10_000, 20_000), fact(60_000, 65_000, "hands over")]
    wide, invented, elsewhere = fact(0, 40_000), fact(0, 1_000, "murders"), fact(10_000, 20_000, recording="yard")
    scores = scored(true, [wide, invented, elsewhere])
    assert (scores.true, scores.edges, scores.found, scores.iou, scores.within) == (2, 3, 0.5, 0.25, 0.0)
    assert scores.right == pytest.approx(1 / 3, abs=1e-3)


def test_an_edge_near_the_true_time_is_within_and_one_far_from_it_is_another_matter() -> None:
    assert scored([fact(10_000, 12_000)], [fact(6_000, 16_000)]).within == 1.0
    assert scored([fact(10_000, 12_000)], [fact(40_000, 42_000)]).found == 0.0


def test_without_edges_nothing_is_found() -> None:
    scores = scored([fact(0, 1)], [])
    assert (scores.found, scores.iou, scores.within, scores.right) == (0.0, 0.0, 0.0, 0.0)


def test_clauses_of_every_verb_of_the_world_are_read() -> None:
    """Against the structure that captions lose: what they tell of is what is read out of their text."""
    full = {v["name"]: f"{v['colour']} {v['name']}" for v in WORLD.truth()["vehicles"]}
    told = {
        (full.get(r["source"], r["source"]), r["relation"], full.get(r["target"], r["target"]))
        for stem in ("dock", "yard", "gate", "store", "office")
        for caption in WORLD.captions(stem)
        for r in caption["relations"]
        if r["relation"] in {f.relation for f in true_facts(WORLD)}
    }
    read = {
        (c.source, c.relation, c.target)
        for stem in ("dock", "yard", "gate", "store", "office")
        for caption in WORLD.captions(stem)
        for c in CAST.clauses(caption["text"])
    }
    assert len(read & told) >= 0.9 * len(told)


def test_captions_lose_their_structure_and_whoever_acts_again_their_name() -> None:
    captions = list(unstructured(WORLD, CAST, "dock"))
    assert all(set(caption) == {"start", "end", "text"} for caption in captions)
    assert sum("the same one" in caption["text"].casefold() for caption in captions) > 0


def test_the_reader_knows_who_the_same_one_is_only_from_its_notes() -> None:
    names = list(CAST.kinds)
    whole = f"[1] 0.0 to 9.0, caption: {names[0]} lifts crate 24.\n[2] 9.0 to 18.0, caption: The same one puts crate 24 into the yard."
    schema = {"properties": {"entities": {}}}

    def sources(notes: str) -> list[str]:
        value = SimulatedReader(CAST).complete([Message("user", notes)], schema=schema).value
        return [relation["source"] for relation in value["relations"]]

    assert sources(whole) == [names[0], names[0]]
    assert sources(whole.splitlines()[1]) == ["the same one"]


@pytest.mark.slow
def test_dating_is_worth_something_on_a_small_world(tmp_path: Path) -> None:
    topic = replace(TOPIC, picture=Picture(320, 180, 5), variants=TOPIC.variants[:2])
    whole, undated = (row.scores for row in evaluate([topic], Settings(), tmp_path, minutes=1, report=lambda _: None))
    assert whole.found > 0.7 and whole.right > 0.7
    assert whole.iou > undated.iou and whole.found == undated.found
