"""Small graphs to resolve: people, vehicles and tracks before cameras, written through the store as an ingest writes them."""

from __future__ import annotations

from typing import Any

from vgraph.ingest.identity import IdentityOptions, ResolveReport, resolve
from vgraph.ingest.keys import chunk_key, content_key, edge_key, entity_key
from vgraph.store import Store
from vgraph.types import GraphDelta, Mention

OPTIONS = IdentityOptions(embedding=False)


def run(store: Store, options: IdentityOptions = OPTIONS) -> ResolveReport:
    return resolve(store, options, lambda progress: None)


def _chunk(document: str, second: int) -> str:
    return chunk_key(document, second // 30 * 30_000)


class Graph:
    """Collects records; `write` applies them. Each camera has one document of its name."""

    def __init__(self) -> None:
        self.vertices: dict[str, dict[str, dict[str, Any]]] = {}
        self.edges: dict[str, dict[str, dict[str, Any]]] = {}

    def camera(self, key: str, uncertainty_ms: int | None = 0) -> None:
        clock = {"offset_ms": 0, "drift_ppm": 0.0, "uncertainty_ms": uncertainty_ms}
        self._vertex("cameras", {"_key": key, "label": key, "place": key, "tz": "UTC", "clock": clock})
        self._vertex("documents", {"_key": f"{key}-1", "camera": key, "title": key, "uri": key, "state": "complete"})

    def seen(
        self,
        name: str,
        camera: str,
        start: int,
        end: int,
        *,
        type: str = "person",
        id: str | None = None,
        modality: str = "caption",
        description: str = "",
        document: str | None = None,
    ) -> str:
        """A mention, seconds; the entity's key. Chunks are 30 s long."""
        if camera not in self.vertices.get("cameras", {}):
            self.camera(camera)
        key = entity_key(Mention(name, type, id))
        document = document or f"{camera}-1"
        chunk = _chunk(document, start)
        place = {"document": document, "camera": camera, "start_ms": start * 1000, "end_ms": end * 1000}
        self._vertex(
            "chunks",
            {"_key": chunk, **place, "index": start // 30, "offset_ms": start // 30 * 30_000, "text": "", "lines": []},
        )
        where = f"{chunk}-{start * 1000:010d}"
        entity = {
            "_key": key, "type": type, "name": name, "aliases": [name], "description": description, "named": where,
            "described": where if description else "", "first_ms": start * 1000, "last_ms": end * 1000, "cameras": [camera],
        }  # fmt: skip
        known = self.vertices.get("entities", {}).get(key)
        if known:
            entity |= {"cameras": sorted({*known["cameras"], camera}), "aliases": sorted({*known["aliases"], name})}
            entity |= {"first_ms": min(known["first_ms"], start * 1000), "last_ms": max(known["last_ms"], end * 1000)}
            entity |= {field: known[field] for field in ("name", "named", "description", "described")}
        self.vertices.setdefault("entities", {})[key] = entity
        carries = {"modality": modality, "mention": name, "description": description, "offset_ms": start * 1000}
        self._edge("HAS_ENTITY", f"chunks/{chunk}", f"entities/{key}", {**place, **carries}, f"{start}-{modality}")
        return key

    def link(self, source: str, relation: str, target: str, camera: str, at: int) -> None:
        """source -relation-> target (keys) in the chunk of a moment."""
        document = f"{camera}-1"
        carries = {
            "document": document, "camera": camera, "relation": relation, "chunk": _chunk(document, at),
            "start_ms": at * 1000, "end_ms": at * 1000 + 1000, "known_ms": at * 1000, "supporting_text": "",
            "confidence": 1.0, "recorded_ms": 1,
        }  # fmt: skip
        self._edge("LINKS_TO", f"entities/{source}", f"entities/{target}", carries, f"{relation}{at}")

    def track(self, name: str, camera: str, start: int, end: int, embedding: list[float] | None = None) -> str:
        """A followed person with an entity of its own, as `followed` makes it; the entity's key."""
        document = f"{camera}-1"
        track = content_key("track", document, name)
        key = self.seen(f"person {name}", camera, start, end, id=track, modality="detection")
        record = {
            "_key": track, "document": document, "camera": camera, "class": "person", "start_ms": start * 1000,
            "end_ms": end * 1000, "boxes": [],
        }  # fmt: skip
        self._vertex("tracks", record if embedding is None else {**record, "embedding": embedding})
        place = {"document": document, "camera": camera, "start_ms": start * 1000, "end_ms": end * 1000}
        chunk = _chunk(document, start)
        self._edge("SEEN_IN", f"tracks/{track}", f"chunks/{chunk}", place)
        self._edge("DEPICTS", f"tracks/{track}", f"entities/{key}", {"document": document, "camera": camera})
        return key

    def write(self, store: Store) -> None:
        vertices = {name: tuple(rows.values()) for name, rows in self.vertices.items()}
        store.apply(GraphDelta(vertices, {name: tuple(rows.values()) for name, rows in self.edges.items()}))

    def _vertex(self, collection: str, record: dict[str, Any]) -> None:
        self.vertices.setdefault(collection, {}).setdefault(record["_key"], record)

    def _edge(self, kind: str, start: str, end: str, carries: dict[str, Any], stamp: str = "") -> None:
        key = edge_key(start, kind, end, stamp)
        self.edges.setdefault(kind, {})[key] = {"_key": key, "_from": start, "_to": end, **carries}


def same(store: Store) -> dict[tuple[str, str], dict[str, Any]]:
    """SAME_AS edges by the pair of entity keys."""
    rows = store.aql("FOR e IN SAME_AS RETURN e").rows
    return {(r["_from"].partition("/")[2], r["_to"].partition("/")[2]): r for r in rows}


def status(store: Store, one: str, other: str) -> str | None:
    edge = same(store).get((min(one, other), max(one, other)))
    return edge["status"] if edge else None


def clusters(store: Store) -> dict[str, str | None]:
    """Entity key -> representative."""
    return {
        row["_key"]: row["canonical"]
        for row in store.aql("FOR e IN entities RETURN { _key: e._key, canonical: e.canonical }").rows
    }


def exported(store: Store) -> list[Any]:
    return list(store.export())
