"""Named graphs as data: their definitions in `_graphs`, and writes that keep the graph's promises.

Source: ArangoDB documentation, "HTTP interface for named graphs". Options for clusters (SmartGraphs, satellites) are
recorded and given back; they say where data is placed and change nothing on one machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vgraph.embedded import ddl, keys, names
from vgraph.embedded.catalog import DOCUMENT, EDGE
from vgraph.embedded.errors import ArangoError

if TYPE_CHECKING:
    from vgraph.embedded.documents import Collection, Document, Written
    from vgraph.embedded.engine import Transaction

GRAPHS: Final = "_graphs"


# -- definitions ----------------------------------------------------------------------------------------------------


def shape(definition: Document) -> Document:
    """A graph as the HTTP API gives it: the document of `_graphs` with system attributes behind the definition, and its name."""
    system = ("_key", "_id", "_rev", "name")
    body = {name: value for name, value in definition.items() if name not in system}
    key = definition["_key"]
    return {"_key": key, **body, "_rev": definition["_rev"], "_id": definition["_id"], "name": key}


def all_graphs(txn: Transaction) -> list[Document]:
    """Every graph's document."""
    return [doc for _, doc in txn.collection(GRAPHS).scan()]


def user_of(txn: Transaction, collection: str) -> str | None:
    """The name of a graph that uses the collection."""
    return next((graph["_key"] for graph in all_graphs(txn) if collection in _collections_of(graph)), None)


def vertex_collections(graph: Document) -> list[str]:
    """All vertex collections, orphans included, by name."""
    used = {name for item in graph["edgeDefinitions"] for name in (*item["from"], *item["to"])}
    return sorted(used | set(graph["orphanCollections"]))


def edge_collections(graph: Document) -> list[str]:
    """All edge collections, by name."""
    return sorted(item["collection"] for item in graph["edgeDefinitions"])


def _collections_of(graph: Document) -> set[str]:
    return {*vertex_collections(graph), *edge_collections(graph)}


def create_graph(txn: Transaction, body: dict[str, Any]) -> Document:
    """Create a graph and the collections it names that do not exist; 1920-1925, 1943."""
    name = body.get("name")
    if not isinstance(name, str) or not name:
        raise ArangoError(1922)
    keys.check_key(name)
    if txn.collection(GRAPHS).rowid(name) is not None:
        raise ArangoError(1925)
    definitions = _check_definitions(body.get("edgeDefinitions", []))
    orphans = _check_orphans(body.get("orphanCollections", []))
    for definition in definitions:
        _refuse_other_definition(txn, definition, except_graph=name)
    _create_collections(txn, definitions, orphans)
    placement, tail = _placement(body, definitions, orphans)
    doc = {"_key": name, **placement, "edgeDefinitions": definitions, "orphanCollections": orphans, **tail}
    return _written(txn.collection(GRAPHS, write=True).insert(doc))


def _placement(body: dict[str, Any], definitions: list[Document], orphans: list[str]) -> tuple[Document, Document]:
    """What the options of a SmartGraph or SatelliteGraph leave in the definition, before and after the edge definitions."""
    options = body.get("options") or {}
    smart, satellite = bool(body.get("isSmart")), options.get("replicationFactor") == "satellite"
    if not smart and not satellite:
        return {}, {}
    head: Document = {
        "numberOfShards": 1 if satellite else options.get("numberOfShards", 1),
        "replicationFactor": options.get("replicationFactor", 1),
        **({} if satellite else {"minReplicationFactor": 1, "writeConcern": options.get("writeConcern", 1)}),
        "isSmart": smart,
        "isSatellite": satellite,
    }
    tail: Document = {"initial": next(iter([*(definitions[0]["from"] if definitions else ()), *orphans]), None)}
    if smart:
        if "smartGraphAttribute" in options:
            tail["smartGraphAttribute"] = options["smartGraphAttribute"]
        tail["isDisjoint"] = bool(options.get("isDisjoint", False))
    return head, tail


def drop_graph(txn: Transaction, name: str, *, drop_collections: bool) -> None:
    """Drop a graph, and on demand those of its collections that no other graph uses; 1924."""
    graph = txn.graph(name)
    txn.collection(GRAPHS, write=True).remove(name)
    if not drop_collections:
        return
    for collection in sorted(_collections_of(graph)):
        if collection in txn.database_info.collections and user_of(txn, collection) is None:
            ddl.drop_collection(txn, collection)


def add_edge_definition(txn: Transaction, name: str, body: Any) -> Document:
    """Add an edge definition to a graph; 1920, 1921, 1923, 1924."""
    graph = txn.graph(name)
    [definition] = _check_definitions([body])
    if definition["collection"] in edge_collections(graph):
        raise ArangoError(1920, f"{definition['collection']} multi use of edge collection in edge def")
    _refuse_other_definition(txn, definition, except_graph=name)
    _create_collections(txn, [definition], [])
    used = {*definition["from"], *definition["to"]}
    orphans = [orphan for orphan in graph["orphanCollections"] if orphan not in used]
    return _change(txn, name, [*graph["edgeDefinitions"], definition], orphans)


def replace_edge_definition(
    txn: Transaction, name: str, collection: str, body: Any, *, drop_collections: bool = False
) -> Document:
    """Change the vertex collections of an edge definition, in every graph that has it; those no longer used become orphans."""
    graph = txn.graph(name)
    [definition] = _check_definitions([body])
    if definition["collection"] != collection or collection not in edge_collections(graph):
        raise ArangoError(1930)
    _create_collections(txn, [definition], [])
    for other in all_graphs(txn):
        if collection in edge_collections(other):
            changed = [definition if item["collection"] == collection else item for item in other["edgeDefinitions"]]
            _change(txn, other["_key"], changed, _orphaned(other, changed))
    if drop_collections:
        _drop_unused(txn, set(vertex_collections(graph)) - {*definition["from"], *definition["to"]})
    return txn.graph(name)


def remove_edge_definition(txn: Transaction, name: str, collection: str, *, drop_collections: bool) -> Document:
    """Take an edge definition out of a graph; its vertex collections stay as orphans unless used elsewhere in it; 1930."""
    graph = txn.graph(name)
    if collection not in edge_collections(graph):
        raise ArangoError(1930)
    remaining = [item for item in graph["edgeDefinitions"] if item["collection"] != collection]
    changed = _change(txn, name, remaining, _orphaned(graph, remaining))
    if drop_collections:
        _drop_unused(txn, {collection})
    return changed


def _orphaned(graph: Document, definitions: list[Document]) -> list[str]:
    """The orphans once these are the edge definitions: no vertex collection leaves the graph."""
    used = {name for item in definitions for name in (*item["from"], *item["to"])}
    return [name for name in vertex_collections(graph) if name not in used]


def add_vertex_collection(txn: Transaction, name: str, collection: Any, *, create: bool = True) -> Document:
    """Add an orphan collection; 1926, 1927, 1929, 1938."""
    graph = txn.graph(name)
    if not isinstance(collection, str) or not collection:
        raise ArangoError(10, "'collection' must be a non-empty string")
    info = txn.database_info.collections.get(collection)
    if info is None:
        if not create:
            raise ArangoError(1926, f"vertex collection does not exist: {collection}")
        ddl.create_collection(txn, collection)
    elif info.type != DOCUMENT:
        raise ArangoError(1927)
    if collection in graph["orphanCollections"]:
        raise ArangoError(1938)
    if collection in vertex_collections(graph):
        raise ArangoError(1929, f"{collection} collection already used in edge def")
    return _change(txn, name, graph["edgeDefinitions"], sorted([*graph["orphanCollections"], collection]))


def remove_vertex_collection(txn: Transaction, name: str, collection: str, *, drop_collection: bool) -> Document:
    """Take an orphan collection out of a graph; 1928."""
    graph = txn.graph(name)
    if collection not in graph["orphanCollections"]:
        raise ArangoError(1928)
    changed = _change(
        txn, name, graph["edgeDefinitions"], [item for item in graph["orphanCollections"] if item != collection]
    )
    if drop_collection:
        _drop_unused(txn, {collection})
    return changed


def rename_collection(txn: Transaction, old: str, new: str) -> None:
    """Follow a collection's new name in all graphs."""

    def renamed(listed: list[str]) -> list[str]:
        return [new if name == old else name for name in listed]

    for graph in all_graphs(txn):
        if old in _collections_of(graph):
            definitions = [
                {
                    "collection": renamed([item["collection"]])[0],
                    "from": renamed(item["from"]),
                    "to": renamed(item["to"]),
                }
                for item in graph["edgeDefinitions"]
            ]
            _change(txn, graph["_key"], definitions, renamed(graph["orphanCollections"]))


def _change(txn: Transaction, name: str, definitions: list[Document], orphans: list[str]) -> Document:
    patch = {"edgeDefinitions": definitions, "orphanCollections": orphans}
    return _written(txn.collection(GRAPHS, write=True).update(name, patch))


def _written(written: Written) -> Document:
    return written.new or {}


def _drop_unused(txn: Transaction, collections: set[str]) -> None:
    for collection in sorted(collections):
        if collection in txn.database_info.collections and user_of(txn, collection) is None:
            ddl.drop_collection(txn, collection)


def _check_definitions(definitions: Any) -> list[Document]:
    """Edge definitions with sorted vertex collections; 1920, 1923."""
    if not isinstance(definitions, list):
        raise ArangoError(1923)
    checked = []
    for item in definitions:
        if not isinstance(item, dict) or not isinstance(item.get("collection"), str):
            raise ArangoError(1923)
        ends = [item.get("from"), item.get("to")]
        if not all(isinstance(end, list) and end and all(isinstance(name, str) for name in end) for end in ends):
            raise ArangoError(1923)
        checked.append(
            {"collection": item["collection"], "from": sorted(set(item["from"])), "to": sorted(set(item["to"]))}
        )
    if len({item["collection"] for item in checked}) < len(checked):
        raise ArangoError(1920)
    return checked


def _check_orphans(orphans: Any) -> list[str]:
    if not isinstance(orphans, list) or not all(isinstance(name, str) for name in orphans):
        raise ArangoError(1943)
    return sorted(set(orphans))


def _refuse_other_definition(txn: Transaction, definition: Document, *, except_graph: str) -> None:
    """An edge collection has the same definition in every graph; 1921."""
    for graph in all_graphs(txn):
        for item in graph["edgeDefinitions"]:
            if graph["_key"] != except_graph and item["collection"] == definition["collection"] and item != definition:
                raise ArangoError(1921, f"{definition['collection']} edge collection already used in edge def")


def _create_collections(txn: Transaction, definitions: list[Document], orphans: list[str]) -> None:
    edges = {item["collection"] for item in definitions}
    vertices = {name for item in definitions for name in (*item["from"], *item["to"])} | set(orphans)
    for name in sorted(edges | vertices):
        info = txn.database_info.collections.get(name)
        if info is None:
            names.check_collection(name)
            ddl.create_collection(txn, name, EDGE if name in edges else DOCUMENT)
        elif name in edges and info.type != EDGE:
            raise ArangoError(1944)
        elif name in orphans and info.type != DOCUMENT:
            raise ArangoError(1927)


# -- vertices and edges ---------------------------------------------------------------------------------------------


def vertex_collection(txn: Transaction, name: str, collection: str, *, write: bool = False) -> Collection:
    """A vertex collection of the graph; 1924, 1949."""
    if collection not in vertex_collections(txn.graph(name)):
        raise ArangoError(1949)
    return txn.collection(collection, write=write)


def edge_collection(txn: Transaction, name: str, collection: str, *, write: bool = False) -> Collection:
    """An edge collection of the graph; 1924, 1930."""
    if collection not in edge_collections(txn.graph(name)):
        raise ArangoError(1930)
    return txn.collection(collection, write=write)


def check_edge(txn: Transaction, name: str, collection: str, edge: Document, *, partial: bool = False) -> None:
    """An edge's ends have to exist, in vertex collections of the graph; 1233, 1202, 1947."""
    graph = txn.graph(name)
    if collection not in edge_collections(graph):
        raise ArangoError(1930)
    for end in ("_from", "_to"):
        if end not in edge and partial:
            continue
        value = edge.get(end)
        if not keys.is_id(value):
            raise ArangoError(1233)
        vertices, key = keys.split_id(str(value))
        if vertices not in vertex_collections(graph):
            raise ArangoError(1947, f"referenced {end} collection '{vertices}' is not part of the graph")
        if txn.collection(vertices).rowid(key) is None:
            raise ArangoError(1202)


def remove_vertex(txn: Transaction, name: str, collection: str, key: str, *, rev: str | None = None) -> Written:
    """Remove a vertex and the edges at it, in all graphs whose definitions know its collection; 1202, 1200."""
    written = vertex_collection(txn, name, collection, write=True).remove(key, rev=rev)
    _remove_edges_at(txn, written.id, collection)
    return written


def remove_edge(txn: Transaction, name: str, collection: str, key: str, *, rev: str | None = None) -> Written:
    """Remove an edge, and edges at the edge itself."""
    written = edge_collection(txn, name, collection, write=True).remove(key, rev=rev)
    _remove_edges_at(txn, written.id, collection)
    return written


def _remove_edges_at(txn: Transaction, vertex: str, collection: str) -> None:
    concerned = {
        item["collection"]
        for graph in all_graphs(txn)
        for item in graph["edgeDefinitions"]
        if collection in item["from"] or collection in item["to"]
    }
    for name in sorted(concerned):
        edges = txn.collection(name, write=True)
        rowids = {rowid for side in ("out", "in") for _, rowid, _ in edges.edges(side, [vertex])}
        for key in edges.keys_of(sorted(rowids)):
            if key is not None:
                edges.remove(key)
