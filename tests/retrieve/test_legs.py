"""Legs beside those over the chunks: each leads to chunks, has a weight, and asks nothing when it is off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.conftest import fresh_store
from tests.store.test_store import DIMENSION, corpus, vector
from vgraph.errors import UserError
from vgraph.retrieve.profiles import Profile, enter
from vgraph.store import Store
from vgraph.store.run import noted
from vgraph.types import Filters, GraphDelta, Hit

QUESTION, VECTOR = "who called for the harbour pilot?", vector("asked")
QUIET = Profile(k=5, leg_k=20, vector_weight=0.0, text_weight=0.0)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with fresh_store(tmp_path_factory.mktemp("legs")) as opened:
        opened.claim_embedding("text", "hash", DIMENSION)
        opened.claim_embedding("image", "eyes", DIMENSION)
        opened.apply(corpus("one", "dock"))
        said = {
            "document": "one",
            "camera": "dock",
            "speaker": "ada",
            "start_ms": 7000,
            "end_ms": 7900,
            "offset_ms": 7000,
        }
        frames = tuple(
            {
                "_key": f"f{n}", "document": "one", "camera": "dock", "chunk": f"one-{n:04d}", "at_ms": n * 1000, "offset_ms": n * 1000,
                "asset": f"f{n}.jpg", "modalities": ["caption"], "speakers": [], "embedding": vector(f"f{n}"),
            }
            for n in range(20)
        )  # fmt: skip
        summary = {
            "_key": "w", "kind": "window", "level": 0, "document": "one", "cameras": ["dock"], "title": "pilot", "summary": "harbour pilot",
            "method": "m", "start_ms": 0, "end_ms": 9000, "known_ms": 9000, "embedding": vector("w"),
        }  # fmt: skip
        beneath = {"_key": "i", "_from": "chunks/one-0011", "_to": "communities/w", "document": "one", "camera": "dock"}
        opened.apply(
            GraphDelta(
                {
                    "utterances": ({"_key": "u1", "text": "The harbour pilots were called.", **said},),
                    "frames": frames, "communities": (summary,),
                },
                {"IN_SUMMARY": (beneath,)},
            )
        )  # fmt: skip
        opened._db.aql.execute("UPDATE 'one-0007' WITH { utterances: ['u1'], speakers: ['ada'] } IN chunks")
        opened.ensure_vector_indexes()
        yield opened


def found(store: Store, profile: Profile, filters: Filters = Filters(), text: str = QUESTION) -> tuple[Hit, ...]:
    return enter(text, VECTOR, filters, profile, store, picture=lambda text: vector("f13")).hits


@pytest.mark.parametrize("fusion", ["rrf", "weighted"])
@pytest.mark.parametrize(
    ("leg", "chunk"), [("utterance", "one-0007"), ("summary", "one-0011"), ("frame", "one-0013"), ("entity", "one-0002")]
)  # fmt: skip
def test_a_leg_leads_to_its_chunks(store: Store, leg: str, chunk: str, fusion: str) -> None:
    profile = replace(QUIET, fusion=fusion, entities=1, **{f"{leg}_weight": 1.0})
    first, *_ = found(store, profile, text="person2" if leg == "entity" else QUESTION)
    assert (first.chunk == chunk) if leg != "entity" else int(first.chunk[-4:]) % 5 == 2
    assert set(first.ranks) == {
        {"utterance": "utterances", "summary": "summaries", "frame": "frames", "entity": "entities"}[leg]
    }


def test_weights_decide_between_legs(store: Store) -> None:
    both = replace(QUIET, fusion="rrf", utterance_weight=0.1, frame_weight=9.0)
    assert found(store, both)[0].chunk == "one-0013"
    assert found(store, replace(both, utterance_weight=9.0, frame_weight=0.1))[0].chunk == "one-0007"


def test_a_leg_obeys_the_filters(store: Store) -> None:
    spoken = replace(QUIET, utterance_weight=1.0)
    assert found(store, spoken, Filters(end_ms=7000)) == () == found(store, spoken, Filters(speakers=("ben",)))
    assert [hit.chunk for hit in found(store, spoken, Filters(speakers=("ada",), modalities=("caption",)))] == []


def test_a_leg_that_is_off_asks_nothing(store: Store) -> None:
    with noted() as runs:
        found(store, Profile(k=5, leg_k=20))
    assert len({run.name.removesuffix("_exact") for run in runs}) == 1


def test_pictures_without_a_model_that_finds_them_are_told(store: Store) -> None:
    with pytest.raises(UserError, match="VGRAPH_MODELS__IMAGE_EMBED"):
        enter(QUESTION, VECTOR, Filters(), replace(QUIET, frame_weight=1.0), store)
