"""Makes the collections, indexes, analyzers, views and the named graph of `arango/` exist. Running it again changes nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from vgraph.errors import StoreError
from vgraph.store.resources import bodies
from vgraph.store.translate import translated

SCHEMA_VERSION = 3
META = "vgraph_meta"
LANGUAGES = 4
"""As many languages the text of one database can be stemmed in."""
MADE_MEANWHILE = frozenset({1200, 1207, 1921, 1925})
"""A conflict, a collection, view or graph of that name: somebody else makes the same schema at this moment."""
ATTEMPTS = 100
"""Whoever loses a race has seen somebody else make one thing of the schema: it has fewer things than this."""

Database = Any
"""python-arango types every answer as a value or a job; here it is always a value, so its database is Any."""


def collection_names(edges: bool | None = None) -> tuple[str, ...]:
    """All of vgraph's collections, or only the edge (True) or vertex (False) ones."""
    found = (body["collection"] for body in bodies("collections"))
    return tuple(c["name"] for c in found if edges is None or (c["type"] == 3) == edges)


def ensure_schema(db: Database, languages: Sequence[str]) -> None:
    """Create what is missing. `languages` (ISO 639-1, one to LANGUAGES) are those text is stemmed in; fixed when the database is made."""
    for attempt in range(ATTEMPTS):
        try:
            with translated("create the schema"):
                _ensure_collections(db)
                _ensure_analyzers(db, languages)
                _ensure_views(db, len(languages))
                _ensure_graphs(db)
            return
        except StoreError as error:
            if error.number not in MADE_MEANWHILE or attempt == ATTEMPTS - 1:
                raise


def _ensure_collections(db: Database) -> None:
    present = {c["name"] for c in db.collections()}
    for body in bodies("collections"):
        name = body["collection"]["name"]
        if name not in present:
            db.create_collection(name, edge=body["collection"]["type"] == 3)
        _ensure_indexes(db, name, [index for index in body["indexes"] if index["type"] != "vector"])


def _ensure_indexes(db: Database, collection: str, wanted: list[dict[str, Any]]) -> None:
    if not wanted:
        return
    present = {index["name"] for index in db.collection(collection).indexes()}
    for index in wanted:
        if index["name"] not in present:
            db.collection(collection).add_index(index)


def analyzer_names(name: str, count: int = LANGUAGES) -> list[str]:
    """An analyzer's name in the first language and in those after it: vgraph_text, vgraph_text_2 …"""
    return [name if number == 1 else f"{name}_{number}" for number in range(1, count + 1)]


def _ensure_analyzers(db: Database, languages: Sequence[str]) -> None:
    """One for each language; queries name LANGUAGES of them, so that those that no field is indexed by are there too."""
    present = {analyzer["name"].rpartition("::")[2] for analyzer in db.analyzers()}
    for body in bodies("analyzers"):
        for number, name in enumerate(analyzer_names(body["name"])):
            if name not in present:
                language = languages[number] if number < len(languages) else languages[0]
                db.create_analyzer(name, body["type"], {**body["properties"], "locale": language}, body["features"])


def _spoken(links: Mapping[str, Any], languages: int) -> dict[str, Any]:
    """The links of a view with every field's analyzers in all languages."""

    def field(facts: Mapping[str, Any]) -> dict[str, Any]:
        found = [name for first in facts.get("analyzers", ()) for name in analyzer_names(first, languages)]
        return {**facts, **({"analyzers": found} if found else {})}

    return {
        name: {**link, "fields": {key: field(facts) for key, facts in link["fields"].items()}}
        for name, link in links.items()
    }


def _ensure_views(db: Database, languages: int) -> None:
    present = {view["name"] for view in db.views()}
    for body in bodies("views"):
        if body["name"] not in present:
            properties = {key: value for key, value in body.items() if key not in ("name", "type")}
            properties["links"] = _spoken(properties["links"], languages)
            db.create_view(body["name"], body["type"], properties)


def _ensure_graphs(db: Database) -> None:
    for body in bodies("graphs"):
        if not db.has_graph(body["name"]):
            definitions = [
                {
                    "edge_collection": d["collection"],
                    "from_vertex_collections": d["from"],
                    "to_vertex_collections": d["to"],
                }
                for d in body["edgeDefinitions"]
            ]
            db.create_graph(body["name"], definitions, body["orphanCollections"])


def vector_collections() -> tuple[str, ...]:
    return tuple(
        body["collection"]["name"]
        for body in bodies("collections")
        if any(index["type"] == "vector" for index in body["indexes"])
    )


def ensure_vector_index(db: Database, collection: str, dimension: int) -> bool:
    """Build a collection's vector index once it holds vectors, and again when it has outgrown its lists; True when it was built.

    A server trains the index on what is there when it is made, so it can neither precede the data nor stay for ever
    (ArangoDB documentation, "Vector indexes").
    """
    wanted = _lists_for(_vectors(db, collection))
    if not wanted:
        return False
    with translated("build the vector index", collection):
        present = _vector_index(db, collection)
        if present and wanted < 4 * int(present.get("params", {}).get("nLists") or 1):
            return False
        if present:
            db.collection(collection).delete_index(present["id"])
        db.collection(collection).add_index(_vector_body(collection, dimension, wanted))
        return True


def drop_vector_index(db: Database, collection: str) -> None:
    with translated("drop the vector index", collection):
        if present := _vector_index(db, collection):
            db.collection(collection).delete_index(present["id"])


def _vectors(db: Database, collection: str) -> int:
    return int(db.collection(collection).count())


def _lists_for(vectors: int) -> int:
    """About the square root of the number of vectors, and never so many that a list is too small to train."""
    return 0 if vectors == 0 else max(1, min(math.isqrt(vectors), vectors // 39))


def _vector_index(db: Database, collection: str) -> dict[str, Any] | None:
    indexes = db.collection(collection).indexes()
    found: dict[str, Any] | None = next((index for index in indexes if index["type"] == "vector"), None)
    return found


def _vector_body(collection: str, dimension: int, lists: int) -> dict[str, Any]:
    body = next(b for b in bodies("collections") if b["collection"]["name"] == collection)
    index = next(i for i in body["indexes"] if i["type"] == "vector")
    params = {**index["params"], "dimension": dimension, "nLists": lists, "defaultNProbe": max(1, lists // 8)}
    return {**index, "params": params}
