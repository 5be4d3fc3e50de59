"""The graph's own rules: deltas whole or not at all, one model a space, queries that hold their filters."""

from __future__ import annotations

import itertools
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from vgraph.errors import ModelMismatch, NotFoundError, StoreError, Unavailable, UserError
from vgraph.store import Store, connect, schema
from vgraph.types import Filters, GraphDelta

DIMENSION = 8
RANDOM = np.random.default_rng(5)


def vector(name: str | None = None) -> list[float]:
    """A unit vector: the same one for a name, a new one without."""
    source = RANDOM if name is None else np.random.default_rng(crc32(name.encode()))
    raw = source.normal(size=DIMENSION)
    values: list[float] = (raw / np.linalg.norm(raw)).astype(np.float32).tolist()
    return values


def chunk(document: str, camera: str, index: int, text: str) -> dict[str, Any]:
    start = index * 1000
    return {
        "_key": f"{document}-{index:04d}", "document": document, "camera": camera, "index": index, "start_ms": start,
        "end_ms": start + 1000, "offset_ms": start, "end_offset_ms": start + 1000, "known_ms": start + 1000, "text": text,
        "lines": [[start, start + 1000, "caption", "given", text]], "frames": [], "origins": {}, "embedding": vector(f"{document}-{index}"),
    }  # fmt: skip


def edge(kind: str, start: str, end: str, document: str, camera: str, **more: Any) -> dict[str, Any]:
    key = f"{kind}-{document}-{start}-{end}-{more.get('start_ms', '')}".replace("/", "_")
    return {"_key": key, "_from": start, "_to": end, "document": document, "camera": camera, **more}


def corpus(document: str, camera: str, size: int = 40) -> GraphDelta:
    """Chunks of one document in a chain, each naming one of five people; neighbours in the ring of people are linked."""
    chunks = [chunk(document, camera, n, f"person{n % 5} carries crate {n}") for n in range(size)]
    people = [
        {
            "_key": f"p{n}", "type": "person", "name": f"person{n}", "aliases": [f"person{n}"], "description": "",
            "first_ms": n * 1000, "last_ms": (size - 5 + n + 1) * 1000, "cameras": [camera], "embedding": vector(f"p{n}"),
        }
        for n in range(5)
    ]  # fmt: skip
    mentions = [
        edge(
            "m",
            f"chunks/{c['_key']}",
            f"entities/p{c['index'] % 5}",
            document,
            camera,
            start_ms=c["start_ms"],
            end_ms=c["end_ms"],
            mention=f"person{c['index'] % 5}",
            description="",
        )
        for c in chunks
    ]
    links = [
        edge(
            "l", f"entities/p{n % 5}", f"entities/p{(n + 1) % 5}", document, camera, relation="passes", chunk=f"{document}-{n:04d}",
            start_ms=n * 1000, end_ms=n * 1000 + 1000, supporting_text="", confidence=1.0, recorded_ms=1,
            known_ms=n * 1000 + 1000,
        )
        for n in range(size)
    ]  # fmt: skip
    chain = [
        edge("n", f"chunks/{a['_key']}", f"chunks/{b['_key']}", document, camera) for a, b in itertools.pairwise(chunks)
    ]
    vertex = {
        "_key": document, "camera": camera, "title": document, "uri": f"/{document}.mp4", "start_ms": 0, "end_ms": size * 1000,
        "duration_ms": size * 1000, "state": "complete",
    }  # fmt: skip
    return GraphDelta(
        {
            "cameras": ({"_key": camera, "label": camera.upper(), "place": camera, "tz": "UTC"},),
            "documents": (vertex,), "chunks": tuple(chunks), "entities": tuple(people),
        },
        {"HAS_ENTITY": tuple(mentions), "LINKS_TO": tuple(links), "NEXT_CHUNK": tuple(chain)},
    )  # fmt: skip


@pytest.fixture
def filled(store: Store) -> Store:
    store.claim_embedding("text", "test", DIMENSION)
    store.apply(corpus("one", "dock"))
    store.apply(corpus("two", "gate"))
    store.ensure_vector_indexes()
    return store


def hits(store: Store, filters: Filters, k: int = 10, text: str = "person1 crate 7") -> list[str]:
    return [hit.chunk for hit in store.hybrid_chunks(vector(), text, filters, k=k, leg_k=max(k, 20), rrf_k=60)]


def test_the_schema_is_made_once_and_opening_again_changes_nothing(tmp_path: Path) -> None:
    url = f"embedded:{tmp_path / 'g.sqlite'}"
    for _ in range(2):
        with Store.open(connect(url, "vgraph")) as store:
            assert set(store.counts()) == set(schema.collection_names())


def test_a_graph_of_an_earlier_schema_learns_what_filters_ask_for(tmp_path: Path) -> None:
    url = f"embedded:{tmp_path / 'g.sqlite'}"
    with Store.open(connect(url, "vgraph")) as store:
        store.apply(corpus("one", "dock", 3))
        said = {
            "_key": "u",
            "document": "one",
            "camera": "dock",
            "speaker": "ada",
            "offset_ms": 1200,
            "end_offset_ms": 1300,
        }
        store.apply(GraphDelta({"utterances": ({**said, "text": "hallo", "start_ms": 1200, "end_ms": 1300},)}))
        store._put_meta("schema", {"version": 1, "language": "en"})
        assert store.chunks_during(Filters(modalities=("caption",)), limit=9) == []
    with Store.open(connect(url, "vgraph")) as store:
        assert len(store.chunks_during(Filters(modalities=("caption",)), limit=9)) == 3
        assert store.chunks_during(Filters(speakers=("ada",)), limit=9) == ["one-0001"]
        assert len(store.chunks_during(Filters(entity_types=("person",)), limit=9)) == 3
        everybody = [f"entities/p{n}" for n in range(5)]
        assert len(store.match_relations(everybody, None, None, Filters(entity_types=("person",)), limit=99)) == 3


def test_a_tag_is_added_found_and_taken_away(filled: Store) -> None:
    assert filled.tag("one", ["night", "alarm"]) == ["alarm", "night"]
    assert {key[:3] for key in filled.chunks_during(Filters(tags=("night",)), limit=99)} == {"one"}
    assert filled.tag("one", [], ["night"]) == ["alarm"]
    assert filled.chunks_during(Filters(tags=("night",)), limit=99) == []
    assert filled.unknown_terms({"tags": ["night", "alarm"]})["tags"] == ["night"]


def test_another_language_than_the_databases_is_refused(tmp_path: Path) -> None:
    url = f"embedded:{tmp_path / 'g.sqlite'}"
    Store.open(connect(url, "vgraph"), "de").close()
    with pytest.raises(UserError, match="'de'"):
        Store.open(connect(url, "vgraph"), "en")


def test_a_delta_is_written_whole_or_not_at_all(store: Store) -> None:
    good = corpus("one", "dock", 3)
    bad = GraphDelta({**good.vertices, "ledger": ({"_key": "not a key!", "document": "one"},)}, good.edges)
    with pytest.raises(StoreError) as error:
        store.apply(bad)
    assert error.value.number == 1221
    assert not any(count for name, count in store.counts().items() if name != schema.META)


def test_the_same_delta_again_changes_nothing(filled: Store) -> None:
    before = list(filled.export())
    filled.apply(corpus("one", "dock"))
    filled.apply(corpus("two", "gate"))
    assert list(filled.export()) == before


def test_an_entity_seen_again_widens_and_unites(filled: Store) -> None:
    person = filled.aql("FOR e IN entities FILTER e._key == 'p1' RETURN e").rows[0]
    assert person["cameras"] == ["dock", "gate"] and person["first_ms"] == 1000


def test_a_relation_written_again_keeps_when_it_was_first_recorded(filled: Store) -> None:
    delta = corpus("one", "dock")
    later = tuple({**link, "recorded_ms": 99, "confidence": 0.5} for link in delta.edges["LINKS_TO"])
    filled.apply(GraphDelta({}, {"LINKS_TO": later}))
    links = filled.aql(
        "FOR e IN LINKS_TO FILTER e.document == 'one' RETURN DISTINCT [e.recorded_ms, e.confidence]"
    ).rows
    assert links == [[1, 0.5]]


def test_vectors_of_another_model_are_refused_with_the_way_to_embed_again(filled: Store) -> None:
    filled.claim_embedding("text", "test", DIMENSION)
    with pytest.raises(ModelMismatch, match="vgraph db reembed"):
        filled.claim_embedding("text", "other", DIMENSION)


def test_an_interrupted_reembedding_is_refused_until_it_is_finished(filled: Store) -> None:
    filled.begin_reembedding("other", 4)
    with pytest.raises(ModelMismatch, match="interrupted"):
        filled.claim_embedding("text", "other", 4)
    for collection in ("chunks", "entities"):
        for page in filled.texts(collection, 7):
            filled.write_embeddings(collection, [{"_key": r["_key"], "embedding": [1.0, 0.0, 0.0, 0.0]} for r in page])
    filled.end_reembedding()
    filled.claim_embedding("text", "other", 4)
    found = filled.hybrid_chunks([1.0, 0.0, 0.0, 0.0], "crate 7", Filters(), k=5, leg_k=20, rrf_k=60)
    assert len(found) == 5


@pytest.mark.parametrize("seed", range(60))
def test_filters_hold_in_both_legs_and_nothing_that_passes_is_missing(filled: Store, seed: int) -> None:
    chance = random.Random(seed)
    start, end = sorted(chance.sample(range(-2000, 44_000), 2))
    filters = Filters(
        cameras=chance.choice([None, ("dock",), ("gate",), ("dock", "gate"), ("nowhere",), ()]),
        documents=chance.choice([None, None, ("one",), ("two",)]),
        start_ms=chance.choice([None, start]),
        end_ms=chance.choice([None, end]),
        not_after=chance.choice([None, None, end]),
    )
    allowed = {
        f"{document}-{n:04d}"
        for document, camera in (("one", "dock"), ("two", "gate"))
        for n in range(40)
        if passes(filters, document, camera, n * 1000, n * 1000 + 1000)
    }
    assert set(hits(filled, filters, k=80)) == allowed
    assert len(hits(filled, filters, k=10)) == min(10, len(allowed))


def passes(filters: Filters, document: str, camera: str, start: int, end: int) -> bool:
    return (
        (filters.cameras is None or camera in filters.cameras)
        and (filters.documents is None or document in filters.documents)
        and (filters.start_ms is None or end > filters.start_ms)
        and (filters.end_ms is None or start < filters.end_ms)
        and (filters.not_after is None or end <= filters.not_after)
    )


def test_the_rarest_word_leads_the_words_leg(filled: Store) -> None:
    found = filled.hybrid_chunks(vector(), "crate 37", Filters(documents=("two",)), k=40, leg_k=40, rrf_k=60)
    first = min((hit for hit in found if "text" in hit.ranks), key=lambda hit: hit.ranks["text"])
    assert first.chunk == "two-0037"


def test_fusion_is_by_reciprocal_rank(filled: Store) -> None:
    for hit in filled.hybrid_chunks(vector(), "crate 37", Filters(), k=10, leg_k=40, rrf_k=60):
        assert hit.score == pytest.approx(sum(1 / (60 + rank) for rank in hit.ranks.values()))


def test_without_a_vector_index_the_exact_query_finds_the_same(store: Store) -> None:
    store.claim_embedding("text", "test", DIMENSION)
    store.apply(corpus("one", "dock"))
    question = vector()

    def found() -> list[str]:
        return [hit.chunk for hit in store.hybrid_chunks(question, "crate 3", Filters(), k=10, leg_k=40, rrf_k=60)]

    exact = found()
    assert "chunks" in store.ensure_vector_indexes()
    assert found() == exact and len(exact) == 10


@pytest.mark.parametrize(("hops", "reached"), [(0, 1), (1, 3), (2, 5)])
def test_relations_are_followed_as_far_as_asked(filled: Store, hops: int, reached: int) -> None:
    graph = filled.expand_entities(
        ["one-0001"], Filters(documents=("one",)), hops=hops, entity_limit=5, relation_limit=200
    )
    assert graph["anchors"] == ["entities/p1"]
    assert len(graph["entities"]) == reached
    assert {r["hop"] for r in graph["relations"]} == set(range(1, hops + 1))


def test_filters_hold_on_every_edge_of_every_path(filled: Store) -> None:
    filters = Filters(cameras=("dock",), start_ms=0, end_ms=3000)
    graph = filled.expand_entities(["one-0001"], filters, hops=2, entity_limit=5, relation_limit=200)
    assert graph["relations"]
    assert all(r["camera"] == "dock" and r["start_ms"] < 3000 for r in graph["relations"])


def test_neighbours_are_stitched_along_the_chain_within_the_filters(filled: Store) -> None:
    around = filled.stitch_chunks(["one-0005"], Filters(), neighbours=2)
    assert [(row["chunk"], row["distance"]) for row in around] == [
        ("one-0004", 1), ("one-0006", 1), ("one-0003", 2), ("one-0007", 2)
    ]  # fmt: skip
    assert [r["chunk"] for r in filled.stitch_chunks(["one-0005"], Filters(start_ms=6000), neighbours=2)] == [
        "one-0006",
        "one-0007",
    ]


def test_deleting_a_document_leaves_the_other_untouched(filled: Store) -> None:
    before = [r for r in filled.export() if r[1].get("document") == "two"]
    deletion = filled.removal.document("one")
    removed = deletion.removed
    assert not deletion.renamed
    assert removed["chunks"] == 40 and removed["documents"] == 1 and "entities" not in removed
    assert [r for r in filled.export() if r[1].get("document") == "two"] == before
    assert filled.aql("FOR e IN entities RETURN e.cameras").rows == [["gate"]] * 5
    assert set(hits(filled, Filters(), k=80)) == {f"two-{n:04d}" for n in range(40)}
    with pytest.raises(NotFoundError):
        filled.removal.document("one")


def test_deleting_the_last_document_leaves_only_cameras(filled: Store) -> None:
    filled.removal.document("one")
    filled.removal.document("two")
    left = {name for name, count in filled.counts().items() if count}
    assert left == {"cameras", schema.META}


def test_coverage_tells_what_was_recorded_when(filled: Store) -> None:
    assert [row["camera"] for row in filled.coverage(Filters())] == ["dock", "gate"]
    assert filled.coverage(Filters(start_ms=40_000)) == []
    assert filled.coverage(Filters(cameras=("dock",), start_ms=39_999))[0]["document"] == "one"


@pytest.mark.parametrize(
    "query",
    [
        "FOR c IN chunks REMOVE c IN chunks",
        "INSERT {a: 1} INTO chunks",
        "FOR c IN chunks UPDATE c WITH {text: ''} IN chunks RETURN 1",
        "UPSERT {_key: 'x'} INSERT {} UPDATE {} IN entities",
        "RETURN (FOR c IN chunks REPLACE c WITH {} IN chunks)",
    ],
)
def test_a_query_that_would_change_something_is_refused(filled: Store, query: str) -> None:
    before = filled.counts()
    with pytest.raises((UserError, StoreError)):
        filled.aql(query)
    assert filled.counts() == before


def test_a_reading_query_has_a_row_limit_and_its_warnings_are_told(filled: Store) -> None:
    assert filled.aql("FOR c IN chunks RETURN c._key", limit=7).count == 7
    assert any("1562" in warning for warning in filled.aql("RETURN 1 / 0").warnings)


def test_a_wrong_query_says_what_the_database_said(filled: Store) -> None:
    with pytest.raises(StoreError) as error:
        filled.aql("FOR c IN RETURN")
    assert error.value.number == 1501
    with pytest.raises(StoreError) as error:
        filled.aql("FOR c IN nothing_here RETURN c")
    assert error.value.number == 1203


def test_an_endless_query_is_stopped(filled: Store) -> None:
    with pytest.raises(StoreError) as error:
        filled.aql("FOR a IN 1..100000 FOR b IN 1..100000 FILTER a + b < 0 RETURN a", timeout_s=0.2)
    assert error.value.number == 1500


def test_a_url_of_another_form_and_a_server_that_is_not_there_are_told() -> None:
    with pytest.raises(UserError, match="embedded:PATH"):
        connect("sqlite:///x", "vgraph")
    with pytest.raises(Unavailable):
        connect("http://127.0.0.1:1", "vgraph", timeout_s=1)


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("shopping list\n" * 100)
    with pytest.raises(StoreError):
        connect(f"embedded:{file}", "vgraph")
    assert file.read_text() == "shopping list\n" * 100


def test_what_a_deletion_removes_elsewhere_goes_before_the_document_does(filled: Store) -> None:
    def fails(key: str) -> None:
        raise OSError("the folder cannot be removed")

    before = filled.counts()
    with pytest.raises((OSError, StoreError)):
        filled.removal.document("one", also=fails)
    assert filled.counts() == before
    removed: list[str] = []
    filled.removal.document("one", also=removed.append)
    assert removed == ["one"] and filled.document("one") is None


def test_a_schema_made_by_several_at_once_is_made_once(tmp_path: Path) -> None:
    url = f"embedded:{tmp_path / 'graph.sqlite'}"
    with ThreadPoolExecutor(4) as pool:
        for opened in pool.map(lambda _: Store.open(connect(url, "vgraph")), range(4)):
            opened.close()


def test_a_deletion_waits_for_another_writer_and_is_run_again_on_what_that_one_left(filled: Store) -> None:
    held = filled._db.begin_transaction(exclusive=["entities", "chunks"])
    held.collection("entities").update({"_key": "p0", "description": "written meanwhile"})

    def release() -> None:
        time.sleep(0.4)
        held.commit_transaction()

    writer = threading.Thread(target=release)
    writer.start()
    deletion = filled.removal.document("one")
    writer.join()
    assert deletion.removed["chunks"] == 40
    assert filled.counts()["chunks"] == 40
