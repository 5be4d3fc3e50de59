"""The HTTP API answers as a recorded 3.12.10 server did: status, headers and the shape of bodies.

Recordings say what was asked and answered, not what stood in the database before; `WORLDS` makes that up. Values that
a server makes up itself (revisions, numbers, times) are compared by type only.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from vgraph.embedded import ddl, named_graphs, users, view_store
from vgraph.embedded.engine import Engine, Transaction
from vgraph.embedded.http import Answer, App, Request

_RECORDED = "http-recorded.jsonl"


def recordings() -> list[dict[str, Any]]:
    """The recorded exchanges, none when the file is not there."""
    folders = [os.environ.get("VGRAPH_CONFORMANCE"), Path(__file__).parents[3] / "shared" / "conformance"]
    for folder in folders:
        if folder and (file := Path(folder) / _RECORDED).exists():
            return [json.loads(line) for line in file.read_text().splitlines()]
    return []


CASES = {case["name"]: case for case in recordings()}

# What the engine does not have, or says otherwise on purpose.
ELSEWHERE = {
    "RestTransactionAbortInternal": "JavaScript transactions",
    "RestTransactionAbort": "JavaScript transactions",
    "RestTransactionMulti": "JavaScript transactions",
    "RestTransactionNonExisting": "JavaScript transactions",
    "RestTransactionSingle": "JavaScript transactions",
    "job_getByType_03": "JavaScript transactions",
    "job_getStatusById_02": "JavaScript transactions",
    "job_getByType_02": "the pending job is of another recording",
    "RestQueryRules": "optimizer rules are the engine's own",
    "RestEngine": "another storage engine",
    "RestAdminStatistics1": "figures are the process's own",
    "RestAdminStatisticsDescription1": "figures are the process's own",
    "RestVersionDetails": "details are the engine's own",
    "RestCollectionGetKeyGenerators": "an internal generator is not listed",
    "RestCursorProfileQuery": "times per node are not measured",
}


# -- what stood in the database before ------------------------------------------------------------------------------

World = Callable[[Transaction], None]


def products(**properties: Any) -> World:
    def make(txn: Transaction) -> None:
        ddl.create_collection(txn, "products", 2, properties)

    return make


def with_docs(*docs: dict[str, Any], collection: str = "products", kind: int = 2, **properties: Any) -> World:
    def make(txn: Transaction) -> None:
        ddl.create_collection(txn, collection, kind, properties)
        target = txn.collection(collection, write=True)
        for doc in docs:
            target.insert(doc)

    return make


def collection(name: str, kind: int = 2, **properties: Any) -> World:
    def make(txn: Transaction) -> None:
        ddl.create_collection(txn, name, kind, properties)

    return make


def with_index(**definition: Any) -> World:
    def make(txn: Transaction) -> None:
        ddl.create_collection(txn, "products", 2, {})
        for field in ("name", "price"):
            ddl.create_index(
                txn, "products", {"type": "persistent", "fields": [field], "sparse": field == "price", **definition}
            )

    return make


def social(txn: Transaction) -> None:
    people = ["female", "male"]
    relation = {"collection": "relation", "from": people, "to": people}
    named_graphs.create_graph(txn, {"name": "social", "edgeDefinitions": [relation], "orphanCollections": []})
    for vertex, name in (
        ("female/alice", "Alice"),
        ("female/diana", "Diana"),
        ("male/bob", "Bob"),
        ("male/charly", "Charly"),
    ):
        home, key = vertex.split("/")
        txn.collection(home, write=True).insert({"_key": key, "name": name})
    edges = txn.collection("relation", write=True)
    for key in ("73353", "73440", "73533"):
        edges.insert({"_key": key, "_from": "female/alice", "_to": "male/bob", "type": "married", "vertex": "alice"})
    edges.insert(
        {"_key": "73270", "_from": "male/charly", "_to": "female/diana", "type": "married", "vertex": "charly"}
    )


def social_with_orphan(txn: Transaction) -> None:
    social(txn)
    named_graphs.add_vertex_collection(txn, "social", "otherNodes")


def my_graph(txn: Transaction) -> None:
    definition = {"collection": "edges", "from": ["startNodes"], "to": ["endNodes"]}
    named_graphs.create_graph(txn, {"name": "myGraph", "edgeDefinitions": [definition]})


def routes_and_people(txn: Transaction) -> None:
    social(txn)
    french, german = ["frenchCity"], ["germanCity"]
    definitions = [
        {"collection": "frenchHighway", "from": french, "to": french},
        {"collection": "germanHighway", "from": german, "to": german},
        {"collection": "internationalHighway", "from": french + german, "to": french + german},
    ]
    named_graphs.create_graph(txn, {"name": "routeplanner", "edgeDefinitions": definitions})


def four_nodes(txn: Transaction) -> None:
    ddl.create_collection(txn, "nodes")
    ddl.create_collection(txn, "edges", 3)
    edges = txn.collection("edges", write=True)
    for key, start, end in (("5", 1, 3), ("6", 2, 1), ("7", 4, 1)):
        edges.insert({"_key": key, "_from": f"nodes/{start}", "_to": f"nodes/{end}", "$label": f"v{start} -> v{end}"})


def user(name: str) -> World:
    def make(txn: Transaction) -> None:
        users.create(txn, {"user": name, "passwd": "secret"})
        users.grant(txn, name, "_system", None, "rw")

    return make


def reports_and_admin(txn: Transaction) -> None:
    user("admin@myapp")(txn)
    ddl.create_collection(txn, "reports")


def users_listed(txn: Transaction) -> None:
    users.create(txn, {"user": "tester", "active": False})
    users.create(txn, {"user": "admin"})


def books(txn: Transaction) -> None:
    ddl.create_collection(txn, "books")
    for name, field in (("inv-idx", "x"), ("inv_title", "title"), ("inv_descr", "descr")):
        ddl.create_index(txn, "books", {"type": "inverted", "name": name, "fields": [field]})


def view(kind: str, **properties: Any) -> World:
    def make(txn: Transaction) -> None:
        books(txn)
        ddl.create_collection(txn, "products")
        ddl.create_collection(txn, "users")
        view_store.create_view(txn, "productsView", kind, properties)

    return make


def three_views(txn: Transaction) -> None:
    view("search-alias", indexes=[])(txn)
    view_store.create_view(txn, "demoView", "arangosearch", {})
    view_store.create_view(txn, "reviewsView", "arangosearch", {})


def analyzer(txn: Transaction) -> None:
    from vgraph.embedded import analyzer_store

    analyzer_store.create(txn, {"name": "testAnalyzer", "type": "identity"})


def database(name: str) -> World:
    return lambda txn: ddl.create_database(txn, name, {})


HELLOS = [{f"hello{n}": "world1"} for n in range(1, 6)]
BOOK_LINKS = {"books": {"fields": {"title": {"analyzers": ["text_en"]}}}}
USERS = {"users": {"includeAllFields": True}, "products": {}}
ALIAS = [{"collection": "books", "index": "inv-idx"}]
TITLE = [{"collection": "books", "index": "inv_title"}]

WORLDS: list[tuple[str, World]] = [
    (r"HttpGharialCreate|HttpGharialAddEdgeCol$", social),
    (r"HttpGharialGetGraph", my_graph),
    (r"HttpGharialList$", routes_and_people),
    (r"HttpGharialRemoveVertexCollection$", social_with_orphan),
    (r"HttpGharial", social),
    (r"RestAnalyzer(Get|Delete)", analyzer),
    (r"RestApiCollectionCompact", collection("testCollection")),
    (r"RestCollectionDeleteCollectionName", collection("products1")),
    (r"RestCollectionDeleteCollectionSystem", collection("_example", isSystem=True)),
    (r"RestCollectionIdentifierRename", collection("products1")),
    (
        r"RestCollectionGetCollection(Identifier|Name)|RestCollectionIdentifierPropertiesSync",
        products(waitForSync=True),
    ),
    (r"RestCollectionGetCollectionCount", with_docs(*({"n": n} for n in range(100)), waitForSync=True)),
    (r"RestCollectionGetCollectionFigures", with_docs({"a": 1})),
    (r"RestCollection(Get|Identifier|Delete)", products()),
    (r"RestCursorCreateCursor(Missing|Option|Unknown)", lambda txn: None),
    (r"RestCursorDelete(Query$|Query$)|RestCursorDelete$|RestCursorCreateCursorForLimitReturn$", with_docs(*HELLOS)),
    (r"RestCursorCreateCursorForLimitReturnSingle", with_docs(*HELLOS[:2])),
    (r"RestCursorDelete", with_docs({"_key": "foo1"})),
    (r"RestCursorModifyArray", with_docs({"_key": "test", "arr": [1, 2, 3]}, collection="documents")),
    (r"RestDatabaseDrop", database("example")),
    (r"RestDeleteUser", user("userToDelete@myapp")),
    (r"RestDocumentHandlerPostUnknownCollection", lambda txn: None),
    (r"RestDocumentHandlerDeleteDocumentUnknownMulti", products()),
    (r"RestDocumentHandlerDeleteDocumentUnknownHandle", products()),
    (
        r"RestDocumentHandlerDeleteDocument",
        with_docs(*({"_key": key} for key in ("1", "2", "70750", "70787")), waitForSync=True),
    ),
    (r"RestDocumentHandlerPatch", with_docs({"_key": "70706", "one": "world"})),
    (r"RestDocumentHandlerPost(Create|Overwrite$)", products(waitForSync=True)),
    (r"RestDocumentHandlerPost", products()),
    (
        r"RestDocumentHandlerRead(Multi)",
        with_docs({"_key": "doc1", "hello": "world"}, {"_key": "doc2", "say": "hi to mom"}),
    ),
    (r"RestDocumentHandlerRead", with_docs(*({"_key": key, "hello": "world"} for key in ("70529", "70495", "70477")))),
    (r"RestDocumentHandlerUpdateDocumentUnknown", products()),
    (r"RestDocumentHandlerUpdate", with_docs({"_key": "70685", "a": 1}, {"_key": "70648", "a": 1})),
    (r"RestEdges", four_nodes),
    (r"RestExplain(Empty|Warning)", lambda txn: None),
    (r"RestExplain", with_docs(*({"id": n} for n in range(10)))),
    (r"RestFetchAllUser", users_listed),
    (r"RestFetchUser$", user("admin@myapp")),
    (r"RestFetchUser", user("anotherAdmin@secapp")),
    (r"Rest(Grant|Revoke)", reports_and_admin),
    (r"RestImport\w*Edge", collection("links", 3)),
    (r"RestImportJsonInvalidCollection", lambda txn: None),
    (r"RestImport", products()),
    (r"RestIndexCreateNewMdi", collection("intervals")),
    (r"RestIndexCreateNewTtl", collection("sessions")),
    (r"RestIndexAll", with_index()),
    (r"RestIndexDelete", with_index()),
    (r"RestIndex", products()),
    (r"RestTransactionBeginNonExisting", lambda txn: None),
    (r"RestTransaction", products()),
    (r"RestViewGetAllViews", three_views),
    (r"RestViewPost", books),
    (r"RestView\w*SearchAlias", view("search-alias", indexes=ALIAS)),
    (r"RestViewGetViewProperties\w*ArangoSearch", view("arangosearch", links=BOOK_LINKS)),
    (
        r"RestViewPatchPropertiesArangoSearch",
        view("arangosearch", links=USERS, commitIntervalMsec=666, consolidationIntervalMsec=666),
    ),
    (r"RestView", view("arangosearch")),
    (r".*", lambda txn: None),
]
WORLDS.insert(0, (r"RestViewPatchPropertiesSearchAlias", view("search-alias", indexes=TITLE)))


# -- playing a recording --------------------------------------------------------------------------------------------


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    engine = Engine.open(tmp_path / "http.db")
    app = App(engine)
    yield app
    app.close()
    engine.close()


def make_world(app: App, name: str) -> None:
    world = next(world for pattern, world in WORLDS if re.match(pattern, name))
    with app.engine.writing() as txn:
        world(txn)


def send(app: App, step: dict[str, Any]) -> Answer:
    body = step.get("body")
    raw = body if isinstance(body, str) or body is None else json.dumps(body)
    headers = {name.lower(): value for name, value in (step.get("headers") or {}).items()}
    return app.handle(Request.make(step["method"], step["path"], None, headers, raw))


class Renaming:
    """Numbers the server gave out, and those we gave out in their places."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.known: dict[str, str] = {}

    def request(self, step: dict[str, Any]) -> dict[str, Any]:
        """The step as our engine has to be asked."""
        if step["name"].endswith("DeleteDocumentRevMulti"):
            step = {
                **step,
                "body": [{"_key": doc["_key"], "_rev": self._stored_rev(doc["_key"])} for doc in step["body"]],
            }
        if step["name"] == "RestTransactionsGet":
            self._part("74784", {**step, "path": "/_api/transaction"})
        path = "/".join(self._part(part, step) for part in step["path"].split("/"))
        headers = {name: self._etag(step, value) for name, value in (step.get("headers") or {}).items()}
        return {**step, "path": path, "headers": headers}

    def _part(self, part: str, step: dict[str, Any]) -> str:
        if part in self.known or not re.fullmatch(r"\d{4,}", part.partition("?")[0]):
            return self.known.get(part, part)
        family = step["path"].split("/")[2]
        with self.app.engine.reading() as txn:
            if family == "collection":
                return str(next(info.id for info in txn.collections() if info.name == "products"))
            if family == "view" and txn.database_info.views:
                return str(next(iter(txn.database_info.views.values())).id)
            if family == "index":
                return str(txn.info("products").indexes[-1].id)
        if family == "transaction":
            begun = send(
                self.app,
                {"method": "POST", "path": "/_api/transaction/begin", "body": {"collections": {"write": "products"}}},
            )
            return begun.json()["result"]["id"]
        return part

    def _stored_rev(self, key: str) -> str:
        with self.app.engine.reading() as txn:
            doc = txn.collection("products").get(key)
        assert doc is not None
        return str(doc["_rev"])

    def _etag(self, step: dict[str, Any], value: str) -> str:
        if "IfNoneMatch" not in step["name"]:
            return value
        return send(self.app, {**step, "headers": {}}).headers["etag"]

    def learn(self, expected: Any, actual: Any) -> None:
        if isinstance(expected, dict) and isinstance(actual, dict):
            for name in expected.keys() & actual.keys():
                self.learn(expected[name], actual[name])
        elif isinstance(expected, str) and isinstance(actual, str) and expected.isdigit():
            self.known[expected] = actual


MADE_UP = re.compile(
    r"\.(_rev|_oldRev|id|globallyUniqueId|objectId|revision|checksum|lastValue|time|version|license|selectivityEstimate|estimates)$"
    r"|\.stats\.|\.figures\.|\.ast|\.endpoint$|\.plan\."
)


def differences(expected: Any, actual: Any, path: str = "") -> Iterator[str]:
    """Where two bodies differ in shape, or in values that are not made up."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        missing, extra = expected.keys() - actual.keys(), actual.keys() - expected.keys()
        if missing or extra:
            yield f"{path or 'body'}: missing {sorted(missing)}, extra {sorted(extra)}"
        for name in expected.keys() & actual.keys():
            yield from differences(expected[name], actual[name], f"{path}.{name}")
        return
    if isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            yield f"{path}: {len(actual)} items instead of {len(expected)}"
        for position, (a, b) in enumerate(zip(expected, actual, strict=False)):
            yield from differences(a, b, f"{path}[{position}]")
        return
    numbers = isinstance(expected, int | float) and isinstance(actual, int | float)
    same_type = type(expected) is type(actual) or numbers
    if not same_type or (expected != actual and not MADE_UP.search(path) and not made_up(expected, actual)):
        yield f"{path}: {actual!r} instead of {expected!r}"


def made_up(expected: Any, actual: Any) -> bool:
    """Generated keys, identifiers, index names and revisions."""
    generated = (r"\d+", r"\w+/\d+", r"idx_\d+", r"_[\w-]{8,10}", r"edges/.*")
    return isinstance(expected, str) and any(re.fullmatch(p, expected) and re.fullmatch(p, actual) for p in generated)


@pytest.mark.skipif(
    not CASES, reason="no recorded exchanges: set VGRAPH_CONFORMANCE to the folder of http-recorded.jsonl"
)
@pytest.mark.parametrize("name", [name for name in CASES if name not in ELSEWHERE])
def test_as_recorded(app: App, name: str) -> None:
    make_world(app, name)
    renaming = Renaming(app)
    for step in CASES[name]["steps"]:
        settle(app, step)
        answer = send(app, renaming.request({**step, "name": name}))
        expected = step["answer"]
        assert answer.status == step["status"], answer.body
        for header, value in step["answer_headers"].items():
            if header not in ("content-type", "location", "etag", "x-arango-async-id"):
                assert answer.headers[header] == value
            assert header in answer.headers
        if step["method"] == "HEAD":
            continue
        actual = answer.json()
        renaming.learn(expected, actual)
        renaming.known |= {
            step["answer_headers"].get("x-arango-async-id", ""): answer.headers.get("x-arango-async-id", "")
        }
        assert list(differences(shortened(name, expected), shortened(name, actual))) == []


def settle(app: App, step: dict[str, Any]) -> None:
    """Requests that run on their own are done before they are asked for, unless one is to be found running."""
    if step["path"].startswith("/_api/job") and "pending" not in step["path"] and "cancel" not in step["path"]:
        app.jobs.wait()


def shortened(name: str, body: Any) -> Any:
    """Bodies without what depends on what else stood in the recorded server."""
    if name == "RestFetchAllUser":
        return sorted(body["result"], key=lambda user: str(user["user"]))
    if name == "RestIndexAllIndexes":
        return {**body, "identifiers": list(body["identifiers"].values())}
    if name == "RestAnalyzersGet":
        return sorted(item["name"] for item in body["result"] if "::" not in item["name"])
    if name.startswith("job_") and isinstance(body, list):
        return body[:1]
    if name == "RestCollectionGetAllCollections":
        return body["result"][0].keys()
    if name == "RestFetchUserDatabaseListFull":
        return {key: value["permission"] for key, value in body["result"].items()}
    if name == "RestDatabaseGetInfo":
        return body["result"].keys()
    if name.startswith("RestExplain") and "plan" in (body or {}):
        return {**body, "plan": None, "stats": None}
    if name.startswith("RestExplain") and "plans" in (body or {}):
        return {**body, "plans": len(body["plans"]), "stats": None}
    if name in (
        "RestCursorDeleteQueryFail",
        "RestCursorMemoryLimit",
        "RestQueryInvalid",
        "RestDocumentHandlerPostBadJson1",
    ):
        return {**body, "errorMessage": ""}
    return body
