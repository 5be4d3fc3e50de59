"""A writer that changes a database in every way there is, and a model of what the database must then hold.

    python -m tests.embedded.mixed_writes FILE SEED FIRST     operations FIRST, FIRST + 1, …; the number of each when it is done

Operation n depends on the seed, n and what is there before it, so that the model can be asked for the state after any number
of operations without having seen the process that ran them.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vgraph.embedded import aql, ddl, named_graphs, view_store
from vgraph.embedded.engine import Engine
from vgraph.embedded.http import App
from vgraph.embedded.http.wire import Request

KEYS = 60
Document = dict[str, Any]
State = tuple[dict[str, Document], dict[str, Document]]  # documents and edges by key


class Model:
    """What the collections hold after so many operations."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.docs: dict[str, Document] = {}
        self.edges: dict[str, Document] = {}

    def step(self, number: int) -> list[tuple[str, str, Any]]:
        """The requests of an operation (all of them in one transaction when more than one), after which the model has it done."""
        rng = random.Random(f"{self.seed} {number}")
        kinds = [
            self.insert,
            self.documents,
            self.update,
            self.replace,
            self.remove,
            self.upsert,
            self.imported,
            self.vertex,
        ]
        kind = rng.choice([*kinds, self.transaction]) if self.docs else self.insert
        return kind(rng, number)

    def fresh(self, rng: random.Random, number: int, count: int) -> list[Document]:
        """New documents, with keys that are free."""
        free = [key for key in map(str, range(KEYS)) if key not in self.docs]
        keys = rng.sample(free, min(count, len(free)))
        return [
            {"_key": key, "n": number, "v": [number % 64 / 64, int(key) / 64], "text": f"word{number % 7}"}
            for key in keys
        ]

    def some(self, rng: random.Random, most: int) -> list[str]:
        return rng.sample(sorted(self.docs), min(rng.randint(1, most), len(self.docs)))

    def add(self, docs: list[Document]) -> None:
        self.docs.update((doc["_key"], doc) for doc in docs)

    def insert(self, rng: random.Random, number: int) -> list[tuple[str, str, Any]]:
        docs = self.fresh(rng, number, rng.randint(1, 20))
        self.add(docs)
        return [query("FOR d IN @docs INSERT d INTO docs", docs=docs)]

    def documents(self, rng: random.Random, number: int) -> list[tuple[str, str, Any]]:
        docs = self.fresh(rng, number, rng.randint(1, 5))
        self.add(docs)
        return [("POST", "/_api/document/docs", docs)]

    def imported(self, rng: random.Random, number: int) -> list[tuple[str, str, Any]]:
        keys = self.some(rng, 8)
        edges = [{"_key": f"{number}-{key}", "_from": f"docs/{key}", "_to": f"docs/{rng.choice(keys)}"} for key in keys]
        self.edges.update((edge["_key"], edge) for edge in edges)
        return [("POST", "/_api/import?collection=edges&type=list&complete=true", edges)]

    def update(self, rng: random.Random, number: int) -> list[tuple[str, str, Any]]:
        keys = self.some(rng, 10)
        for key in keys:
            self.docs[key] = {**self.docs[key], "m": number, "text": f"word{number % 5}"}
        text = "FOR k IN @keys UPDATE k WITH {m: @n, text: @text} IN docs"
        return [query(text, keys=keys, n=number, text=f"word{number % 5}")]

    def replace(self, rng: random.Random, number: int) -> list[tuple[str, str, Any]]:
        keys = self.some(rng, 4)
        docs = [{"_key": key, "n": -number, "v": [1, int(key) / 64], "text": "replaced"} for key in keys]
        self.add(docs)
        return [("PUT", "/_api/document/docs", docs)]

    def remove(self, rng: random.Random, number: int) -> list[tuple[str, str, Any]]:
        keys = self.some(rng, 12)
        for key in keys:
            del self.docs[key]
        return [query("FOR k IN @keys REMOVE k IN docs", keys=keys)]

    def upsert(self, rng: random.Random, number: int) -> list[tuple[str, str, Any]]:
        docs = self.fresh(rng, number, 3)
        keys = self.some(rng, 3)
        for key in keys:
            self.docs[key] = {**self.docs[key], "u": number}
        self.add(docs)
        given = docs + [{"_key": key} for key in keys]
        return [query("FOR d IN @given UPSERT {_key: d._key} INSERT d UPDATE {u: @n} IN docs", given=given, n=number)]

    def vertex(self, rng: random.Random, number: int) -> list[tuple[str, str, Any]]:
        """A vertex removed through its graph takes its edges along."""
        key = rng.choice(sorted(self.docs))
        del self.docs[key]
        gone = [name for name, edge in self.edges.items() if f"docs/{key}" in (edge["_from"], edge["_to"])]
        for name in gone:
            del self.edges[name]
        return [("DELETE", f"/_api/gharial/graph/vertex/docs/{key}", None)]

    def transaction(self, rng: random.Random, number: int) -> list[tuple[str, str, Any]]:
        steps = self.insert(rng, number) + self.update(rng, number)
        return steps + self.imported(rng, number)

    def state(self) -> State:
        return dict(self.docs), dict(self.edges)


def query(text: str, /, **binds: Any) -> tuple[str, str, Any]:
    return "POST", "/_api/cursor", {"query": text, "bindVars": binds}


def make(path: Path) -> None:
    """The collections, indexes, view and graph that the operations are about."""
    engine = Engine.open(path)
    with engine.writing() as txn:
        ddl.create_collection(txn, "docs")
        ddl.create_collection(txn, "edges", 3)
        ddl.create_index(txn, "docs", {"type": "persistent", "fields": ["n", "_key"], "unique": True})
        ddl.create_index(txn, "docs", {"type": "persistent", "fields": ["m"], "sparse": True})
        params = {"metric": "l2", "dimension": 2, "nLists": 1}
        ddl.create_index(txn, "docs", {"type": "vector", "fields": ["v"], "params": params})
        view_store.create_view(txn, "words", "arangosearch", {"links": {"docs": {"fields": {"text": {}}}}})
        edges = [{"collection": "edges", "from": ["docs"], "to": ["docs"]}]
        named_graphs.create_graph(txn, {"name": "graph", "edgeDefinitions": edges})
    engine.close()


def run(app: App, requests: list[tuple[str, str, Any]]) -> None:
    """Send the requests of one operation, in a stream transaction when there are several."""
    headers: dict[str, str] = {}
    if len(requests) > 1:
        begun = send(app, "POST", "/_api/transaction/begin", {"collections": {"write": ["docs", "edges"]}}, headers)
        headers = {"x-arango-trx-id": begun["result"]["id"]}
    for method, path, body in requests:
        send(app, method, path, body, headers)
    if headers:
        send(app, "PUT", f"/_api/transaction/{headers['x-arango-trx-id']}", None, {})


def send(app: App, method: str, path: str, body: Any, headers: dict[str, str]) -> Any:
    answer = app.handle(Request.make(method, path, headers=headers, body=None if body is None else json.dumps(body)))
    found = answer.json()
    assert answer.status < 300, found
    assert not any("error" in item for item in found if isinstance(found, list)), found
    return found


def write(path: Path, seed: int, first: int) -> Iterator[int]:
    """Run operations from `first` on; the number of each once it is acknowledged."""
    model = Model(seed)
    for number in range(first):
        model.step(number)
    engine = Engine.open(path)
    app = App(engine)
    for number in range(first, sys.maxsize):
        run(app, model.step(number))
        yield number


def held(engine: Engine) -> State:
    """What the database holds, read through the collections, and every index checked against it."""
    with engine.reading() as txn:
        found = []
        for name in ("docs", "edges"):
            collection = txn.collection(name)
            rows = {doc["_key"]: doc for _, doc in collection.scan()}
            assert collection.count() == len(rows)
            found.append({key: {n: v for n, v in doc.items() if n not in ("_id", "_rev")} for key, doc in rows.items()})
        docs, edges = found
        assert txn.sql("PRAGMA quick_check").fetchone() == ("ok",)
        by_index = aql.execute(txn, "_system", "FOR d IN docs FILTER d.n > -1000000 RETURN d._key").all()
        assert sorted(by_index) == sorted(docs)
        sparse = aql.execute(txn, "_system", "FOR d IN docs FILTER d.m >= 0 RETURN d._key").all()
        assert sorted(sparse) == sorted(key for key, doc in docs.items() if "m" in doc)
        words = "FOR d IN words SEARCH STARTS_WITH(d.text, ['word', 'replaced']) RETURN d._key"
        assert sorted(aql.execute(txn, "_system", words).all()) == sorted(docs)
        near = "FOR d IN docs SORT APPROX_NEAR_L2(d.v, [0, 0]) LIMIT 100000 RETURN d._key"
        assert not docs or sorted(aql.execute(txn, "_system", near).all()) == sorted(docs)
        out = "FOR s IN @starts FOR v, e IN 1..1 OUTBOUND s edges RETURN e._key"
        starts = sorted({edge["_from"] for edge in edges.values()})
        assert sorted(aql.execute(txn, "_system", out, {"starts": starts}).all()) == sorted(edges)
    return docs, edges


if __name__ == "__main__":
    for done in write(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])):
        print(done, flush=True)
