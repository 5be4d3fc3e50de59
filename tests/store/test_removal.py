"""What a deletion takes and what it leaves, and the check that finds what should not be there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import MakeVideo
from vgraph.errors import NotFoundError
from vgraph.ingest import Asked, Options, Site, Tools, ingest
from vgraph.ingest.check import check
from vgraph.ingest.retention import expire
from vgraph.media.assets import Assets
from vgraph.models.offline import HashEmbedder
from vgraph.store import Store
from vgraph.store.schema import collection_names
from vgraph.types import GraphDelta

OPTIONS = Options(window_ms=1_000, frame_width=64)
DAY_MS = 86_400_000


@pytest.fixture
def site(store: Store, tmp_path: Path) -> Site:
    tools = Tools(HashEmbedder())
    store.claim_embedding("text", tools.embedder.name, tools.embedder.dimension)
    return Site(store, tools, Assets(tmp_path / "assets"), OPTIONS)


def recorded(make_video: MakeVideo, site: Site, name: str, camera: str, who: str, start_ms: int | None = None) -> str:
    video = make_video(f"{name}.mp4", 3, seed=len(name) * 7 + ord(name[0]))
    people = [{"name": who, "type": "person"}, {"name": "Bob", "type": "person"}]
    relation = {"source": who, "relation": "greets", "target": "Bob"}
    told = {"start": 0, "end": 2.5, "text": f"{who} greets Bob.", "entities": people, "relations": [relation]}
    video.with_suffix(".captions.jsonl").write_text(json.dumps(told), encoding="utf-8")
    box = {"track": 1, "class": "person", "box": [1, 1, 10, 10]}
    lines = (json.dumps({"frame": frame, **box}) for frame in range(10))
    video.with_suffix(".tracks.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return ingest(video, site, Asked(camera, start_ms)).document


def names(store: Store) -> set[str]:
    return set(store.aql("FOR e IN entities FILTER e.type == 'person' RETURN e.name").rows)


def dangling(store: Store) -> int:
    """Counted here without the product's queries."""
    there = {f"{name}/{record['_key']}" for name, record in store.export()}
    edges = [record for _, record in store.export() if "_from" in record]
    return sum(edge["_from"] not in there or edge["_to"] not in there for edge in edges)


def test_a_graph_that_was_ingested_has_no_fault(store: Store, site: Site, make_video: MakeVideo) -> None:
    recorded(make_video, site, "a", "dock", "Ana")
    assert check(store, site.assets) == () and dangling(store) == 0


def test_deleting_everything_leaves_the_cameras_and_no_file(store: Store, site: Site, make_video: MakeVideo) -> None:
    keys = [recorded(make_video, site, name, camera, "Ana") for name, camera in (("a", "dock"), ("b", "gate"))]
    for key in keys:
        store.removal.document(key, also=site.assets.delete)
        assert check(store, site.assets) == () and dangling(store) == 0
    left = {name for name, count in store.counts().items() if count}
    assert left == {"cameras", "vgraph_meta"} and not list(site.assets.names())


def test_a_decision_on_who_is_who_outlives_a_document_made_anew(
    store: Store, site: Site, make_video: MakeVideo
) -> None:
    key = recorded(make_video, site, "a", "dock", "Ana")
    ana, bob = sorted(store.aql("FOR e IN entities FILTER e.name IN ['Ana', 'Bob'] RETURN e._id").rows)
    decided = {
        "_key": "d1",
        "_from": ana,
        "_to": bob,
        "status": "rejected",
        "score": 1.0,
        "method": "user",
        "evidence": [],
    }
    store.apply(GraphDelta({}, {"SAME_AS": (decided,)}))
    store.removal.graph_part(key)
    assert store.counts()["chunks"] == 0 and {"Ana", "Bob"} <= names(store)
    assert check(store, site.assets) == (), "what is still to be settled is no fault"
    ingest(Path(store.documents()[0]["uri"]), site, Asked("dock"))
    assert store.aql("FOR e IN SAME_AS RETURN e.status").rows == ["rejected"]
    assert store.aql("FOR e IN ledger FILTER e.stage == 'settle' RETURN e").rows == []


def test_an_entity_that_a_document_made_anew_no_longer_names_is_gone(
    store: Store, site: Site, make_video: MakeVideo
) -> None:
    recorded(make_video, site, "a", "dock", "Ana")
    video = Path(store.documents()[0]["uri"])
    told = {"start": 0, "end": 2.5, "text": "Eve waits.", "entities": [{"name": "Eve", "type": "person"}]}
    video.with_suffix(".captions.jsonl").write_text(json.dumps(told), encoding="utf-8")
    ingest(video, site, Asked("dock"))
    assert {"Ana", "Bob"}.isdisjoint(names(store)) and "Eve" in names(store)
    assert check(store, site.assets) == ()


FAULTS: dict[str, tuple[str, dict[str, Any]]] = {
    "dangling edge": ("HAS_ENTITY", {"_key": "x", "_from": "chunks/gone", "_to": "entities/gone"}),
    "document is gone": ("ledger", {"_key": "x", "document": "gone", "stage": "hear"}),
    "chunk is gone": ("frames", {"_key": "x", "document": "DOC", "chunk": "gone", "asset": "DOC/0000/0000000000.jpg"}),
    "track of no chunk": ("tracks", {"_key": "x", "document": "DOC", "class": "person"}),
    "summary of nothing": ("communities", {"_key": "x", "kind": "window", "level": 0, "document": "DOC"}),
    "nothing mentions it": ("entities", {"_key": "x", "name": "Nobody", "type": "person", "named": "", "cameras": []}),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_every_fault_is_found_and_repaired(kind: str, store: Store, site: Site, make_video: MakeVideo) -> None:
    document = recorded(make_video, site, "a", "dock", "Ana")
    before = list(store.export())
    collection, record = FAULTS[kind]
    record = {
        name: value.replace("DOC", document) if isinstance(value, str) else value for name, value in record.items()
    }
    delta = GraphDelta({}, {collection: (record,)}) if "_from" in record else GraphDelta({collection: (record,)})
    store.apply(delta)
    found = [(f.kind, f.collection, f.count, f.examples, f.repaired) for f in check(store, site.assets)]
    assert found == [(kind, collection, 1, ("x",), False)]
    assert [fault.repaired for fault in check(store, site.assets, repair=True)] == [True]
    assert check(store, site.assets) == () and list(store.export()) == before


def test_files_nobody_owns_are_removed_and_missing_ones_told(store: Store, site: Site, make_video: MakeVideo) -> None:
    document = recorded(make_video, site, "a", "dock", "Ana")
    folder = site.assets.folder / document / "0000"
    alone = folder / "0000099000.jpg"
    alone.write_bytes(b"x")
    (folder / "0000001000.jpg").unlink()
    kinds = {(f.kind, f.count) for f in check(store, site.assets, repair=True)}
    assert kinds == {("file is missing", 1), ("nothing owns it", 1)} and not alone.exists()
    assert [f.kind for f in check(store, site.assets)] == ["file is missing"]
    ingest(Path(store.documents()[0]["uri"]), site, Asked("dock"), again=True)
    assert check(store, site.assets) == (), "made anew, the picture is there again"


def test_documents_older_than_their_camera_keeps_them_go(store: Store, site: Site, make_video: MakeVideo) -> None:
    now = 1_772_524_800_000
    recorded(make_video, site, "old", "dock", "Ana", now - 40 * DAY_MS)
    kept = recorded(make_video, site, "new", "dock", "Ben", now - 5 * DAY_MS)
    other = recorded(make_video, site, "other", "gate", "Cleo", now - 400 * DAY_MS)
    store.removal.keep("dock", 30 * DAY_MS)
    (expired,) = expire(store, site.assets, now)
    assert expired.whole and {d["_key"] for d in store.documents()} == {kept, other}
    assert {"Ben", "Bob", "Cleo"} <= names(store) and "Ana" not in names(store)
    assert check(store, site.assets) == () and expire(store, site.assets, now) == []
    store.removal.keep("dock", None)
    assert expire(store, site.assets, now + 999 * DAY_MS) == []
    with pytest.raises(NotFoundError):
        store.removal.keep("nowhere", 1)


def test_every_collection_of_a_document_is_removed_with_it() -> None:
    """A collection added to the schema must be thought of here."""
    from vgraph.store.removal import WRITTEN

    apart = {"cameras", "answers", "decisions", "ADJACENT_TO", "vgraph_meta"}
    assert set(collection_names()) - apart <= set(WRITTEN)
