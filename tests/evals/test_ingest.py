"""Ingest against the truth: pairs counted without looking at every pair, truth that noise on names leaves alone, topics that run."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from vgraph.app import VGraph
from vgraph.evals.ingest import TOPICS, Variant, evaluate
from vgraph.evals.ingest.identity import TOPIC, people_records
from vgraph.evals.metrics import pair_scores
from vgraph.evals.world import Noise, World
from vgraph.settings import Settings

NOISE = Noise(nicknamed=0.3, misspelt=0.3, misheard=0.5, namesakes=1)


def test_pairs_are_counted_as_if_each_were_looked_at() -> None:
    chance = random.Random(1)
    records = [(str(chance.randrange(6)), str(chance.randrange(5))) for _ in range(60)]
    pairs = list(combinations(records, 2))
    found = pair_scores(records)
    assert found.claimed == sum(a[0] == b[0] for a, b in pairs)
    assert found.true == sum(a[1] == b[1] for a, b in pairs)
    assert found.right == sum(a == b for a, b in pairs)
    assert 0 < found.precision < 1 and 0 < found.recall < 1
    assert found.f1 == pytest.approx(2 * found.precision * found.recall / (found.precision + found.recall))


def test_nothing_claimed_is_nothing_wrong() -> None:
    found = pair_scores([("a", "x"), ("b", "x")])
    assert (found.precision, found.recall, found.f1) == (1.0, 0.0, 0.0)
    assert pair_scores([]).f1 == 1.0


def test_noise_on_names_changes_names_and_nothing_else() -> None:
    plain, noisy = World.generate(7, minutes=2), World.generate(7, minutes=2, noise=NOISE)
    assert plain.truth() == noisy.truth()
    for _, recording in plain.script.recordings():
        ours, theirs = plain.captions(recording.stem), noisy.captions(recording.stem)
        assert [(c["start"], c["end"], len(c["entities"]), len(c["relations"])) for c in ours] == [
            (c["start"], c["end"], len(c["entities"]), len(c["relations"])) for c in theirs
        ]
    names = {m.name for _, r in noisy.script.recordings() for m in noisy.mentions(r.stem) if m.type == "person"}
    assert len(names) > 2 * len(plain.script.people)


def test_the_truth_tells_who_each_name_and_track_is() -> None:
    world = World.generate(7, minutes=2, noise=NOISE)
    people = {person.id: person for person in world.script.people}
    for _, recording in world.script.recordings():
        mentions = [m for m in world.mentions(recording.stem) if m.type == "person"]
        assert {m.id for m in mentions} <= set(people)
        assert set(world.tracks(recording.stem).values()) <= {*people, *(v.id for v in world.script.vehicles)}
    namesakes = {
        m.id
        for _, r in world.script.recordings()
        for m in world.mentions(r.stem)
        if m.name == world.script.people[0].name
    }
    assert len(namesakes) == 2


def test_every_topic_and_every_variant_of_it_has_a_name_of_its_own() -> None:
    assert len({topic.name for topic in TOPICS}) == len(TOPICS)
    for topic in TOPICS:
        assert len({variant.name for variant in topic.variants}) == len(topic.variants)


def test_each_mechanism_of_identity_is_switched_off_once() -> None:
    switched = {name for variant in TOPIC.variants for name in variant.settings.get("identity", {})}
    assert switched == {"names", "phonetic", "embedding", "cooccurrence", "appearance", "travel", "veto"}


@pytest.mark.slow
def test_entities_of_a_small_world_are_resolved_better_with_everything_than_with_nothing(tmp_path: Path) -> None:
    nothing = next(variant for variant in TOPIC.variants if variant.name == "without resolution")
    topic = replace(TOPIC, variants=(Variant("all"), nothing), cameras=4)
    settings = Settings.load(models={"embed": "wordllama"})
    rows = list(evaluate([topic], settings, tmp_path, minutes=2, report=lambda progress: None))
    best, none = (row.scores for row in rows)
    assert (best.records, best.people) == (none.records, none.people)
    assert best.f1 > none.f1 + 0.2
    assert best.false_merges < 0.02
    assert (none.proposed, none.tracks_named) == (0, 0.0)
    again = list(evaluate([topic], settings, tmp_path, minutes=2, report=lambda progress: None))
    assert [row.scores for row in again] == [row.scores for row in rows]
    base = Settings.load(database={"url": f"embedded:{tmp_path / 'graphs' / 'identity' / '0' / 'graph.sqlite'}"})
    with VGraph.open(base) as graph:
        assert {record.followed for record in people_records(topic.world(2), graph)} == {True, False}
