"""Everything arrives, whichever way; again changes nothing; what was interrupted goes on."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from vgraph.embedded.serve import serving
from vgraph.errors import NotFoundError, StoreError, Unavailable, UserError
from vgraph.store import Store, connect
from vgraph.store import copy as copying
from vgraph.store.copy import LEDGER, Copied, End, Side, copy, same
from vgraph.types import Progress

Db = Any
NAME = "site"
ODD = {
    "_key": "a@b(c)+d,e=f;g$h!i*j'k:l", "text": "ü € \u0000 \U0001f600 \"", "big": 2**53 + 1, "small": -1.5e-300, "one": 1.0,
    "nothing": None, "nested": {"z": [1, [2, {"y": {}}]], "a": []}, "flags": [True, False, 1, 0],
}  # fmt: skip


def vector(source: random.Random) -> list[float]:
    return [source.uniform(-1, 1) for _ in range(4)]


def fill(db: Db, size: int = 300) -> None:
    """A database with one of everything."""
    source = random.Random(7)
    db.create_analyzer("words", "text", {"locale": "en", "stopwords": ["the"]}, ["frequency", "norm", "position"])
    things = db.create_collection("things", sync=True)
    things.import_bulk(
        [{"_key": f"t{n}", "n": n, "name": f"thing number {n}", "v": vector(source)} for n in range(size)]
    )
    things.insert(ODD)
    links = db.create_collection("links", edge=True)
    links.import_bulk([{"_key": f"l{n}", "_from": f"things/t{n}", "_to": f"things/t{n + 1}"} for n in range(size - 1)])
    rule = {"rule": {"properties": {"n": {"type": "number"}}}, "level": "strict", "message": "n is a number"}
    stamp = [
        {
            "name": "stamp",
            "expression": "RETURN RAND()",
            "overwrite": True,
            "computeOn": ["insert", "update", "replace"],
        }
    ]
    ruled = db.create_collection(
        "ruled", schema=rule, computedValues=stamp, key_generator="autoincrement", key_increment=5
    )
    ruled.import_bulk([{"n": n} for n in range(20)])
    db.create_collection("empty")
    things.add_index({"type": "persistent", "fields": ["n", "name"], "unique": True, "sparse": True, "name": "by_n"})
    things.add_index({"type": "inverted", "fields": [{"name": "name", "analyzer": "words"}], "name": "by_words"})
    things.add_index(
        {
            "type": "vector",
            "fields": ["v"],
            "sparse": True,
            "name": "near",
            "params": {"metric": "cosine", "dimension": 4, "nLists": 2},
        }
    )
    links.add_index({"type": "ttl", "fields": ["until"], "expireAfter": 10, "name": "old"})
    db.create_view("found", "arangosearch", {"links": {"things": {"fields": {"name": {"analyzers": ["words"]}}}}})
    db.create_view("alias", "search-alias", {"indexes": [{"collection": "things", "index": "by_words"}]})
    parts = [{"edge_collection": "links", "from_vertex_collections": ["things"], "to_vertex_collections": ["things"]}]
    db.create_graph("all", parts, ["ruled"])


def everything(url: str, name: str = NAME, *, revisions: bool = False, password: str = "") -> dict[str, Any]:
    """All that a database holds, without what each engine adds."""
    with closing(connect(url, name, password=password, create=False)) as connection:
        side = Side(connection.database)
        hidden = () if revisions else ("_rev",)
        documents = {
            collection: sorted(
                (
                    {k: v for k, v in d.items() if k not in hidden}
                    for d in side.rows("FOR d IN @@collection RETURN d", 500, collection=collection)
                ),
                key=lambda d: str(d["_key"]),
            )
            for collection in side.collections()
        }
        volatile = ("id", "objectId", "globallyUniqueId")
        properties = {
            collection: {k: v for k, v in side.properties(collection).items() if k not in volatile}
            for collection in side.collections()
        }
        indexes = {collection: side.indexes(collection) for collection in side.collections()}
        system = sorted(c["name"] for c in side.get("/_api/collection")["result"] if c["isSystem"])
        return {
            "documents": documents, "properties": properties, "indexes": indexes, "views": side.views(),
            "analyzers": side.analyzers(), "graphs": side.graphs(), "system": system,
        }  # fmt: skip


@pytest.fixture
def source(tmp_path: Path) -> str:
    url = f"embedded:{tmp_path / 'source.sqlite'}"
    with closing(connect(url, NAME)) as connection:
        fill(connection.database)
    return url


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    with serving(tmp_path / "served.sqlite") as url:
        yield url


def elsewhere(tmp_path: Path) -> str:
    return f"embedded:{tmp_path / uuid.uuid4().hex}.sqlite"


# --- everything, both ways ------------------------------------------------------------------------------------------------


def test_everything_arrives_on_a_server_and_comes_back(source: str, served: str, tmp_path: Path) -> None:
    back = elsewhere(tmp_path)
    there = copy(End(source), End(served))
    home = copy(End(served), End(back))
    assert there == home == Copied((NAME,), 4, 301 + 299 + 20, 0, ())
    assert everything(source) == everything(served) == everything(back)


def test_what_was_copied_works(source: str, tmp_path: Path) -> None:
    target = elsewhere(tmp_path)
    copy(End(source), End(target))
    with closing(connect(target, NAME)) as connection:
        side = Side(connection.database)
        search = (
            "FOR d IN found SEARCH ANALYZER(d.name == 'number', 'words') OPTIONS {waitForSync: true} LIMIT 1 RETURN 1"
        )
        near = "FOR d IN things SORT APPROX_NEAR_COSINE(d.v, @v) DESC LIMIT 3 RETURN d._key"
        walk = "FOR v IN 1..2 OUTBOUND 'things/t5' GRAPH 'all' RETURN v._key"
        assert list(side.rows(search, 10)) == [1]
        assert len(list(side.rows(near, 10, v=[1, 0, 0, 0]))) == 3
        assert list(side.rows(walk, 10)) == ["t6", "t7"]
        with pytest.raises(StoreError):
            side.call("post", "/_api/document/ruled", {"n": "not a number"})


def test_copying_again_changes_nothing_not_even_revisions(source: str, served: str) -> None:
    copy(End(source), End(served))
    before = everything(served, revisions=True)
    again = copy(End(source), End(served))
    assert (again.written, again.unchanged) == (0, 620)
    assert everything(served, revisions=True) == before


def test_what_changed_meanwhile_is_brought_up_to_date_and_the_rest_left(source: str, tmp_path: Path) -> None:
    target = elsewhere(tmp_path)
    copy(End(source), End(target))
    with closing(connect(source, NAME)) as connection:
        db: Db = connection.database
        db.collection("things").update({"_key": "t1", "n": 1000})
        db.collection("things").update({"_key": ODD["_key"], "one": True})
        db.collection("links").insert({"_key": "new", "_from": "things/t1", "_to": "things/t5"})
        Side(db).call("put", "/_api/collection/ruled/properties", {"schema": None})
        db.update_view("found", {"links": {"links": {"includeAllFields": True}}})
        db.collection("things").delete_index("by_n")
        db.collection("things").add_index({"type": "persistent", "fields": ["name"], "name": "by_n"})
        db.graph("all").create_vertex_collection("empty")
    assert copy(End(source), End(target)).written == 3
    assert everything(source) == everything(target)


def test_other_documents_of_the_target_stay(source: str, tmp_path: Path) -> None:
    target = elsewhere(tmp_path)
    with closing(connect(target, NAME)) as connection:
        connection.database.create_collection("things").insert({"_key": "mine"})  # type: ignore[union-attr]
    copy(End(source), End(target))
    found = everything(target)["documents"]["things"]
    assert len(found) == 302 and {"_id": "things/mine", "_key": "mine"} in found


def test_the_product_s_own_graph_moves(tmp_path: Path, served: str) -> None:
    source = f"embedded:{tmp_path / 'graph.sqlite'}"
    with Store.open(connect(source, "vgraph")) as store:
        before = list(store.export())
    copy(End(source), End(served))
    with Store.open(connect(served, "vgraph")) as store:
        assert list(store.export()) == before
    assert everything(source, "vgraph") == everything(served, "vgraph")


# --- which databases ------------------------------------------------------------------------------------------------------


def test_all_databases_or_one(source: str, tmp_path: Path) -> None:
    for name in ("other", "_system"):
        with closing(connect(source, name)) as connection:
            connection.database.create_collection(f"of_{name}").insert({"_key": "a"})  # type: ignore[union-attr]
    one, all_ = elsewhere(tmp_path), elsewhere(tmp_path)
    assert copy(End(source), End(one), database="other").databases == ("other",)
    assert sorted(copy(End(source), End(all_)).databases) == ["_system", "other", NAME]
    assert everything(all_, "_system")["documents"] == {"of__system": [{"_id": "of__system/a", "_key": "a"}]}
    assert everything(one, "other") == everything(all_, "other")


def test_a_source_that_is_not_there_is_told_and_nothing_is_made(source: str, tmp_path: Path) -> None:
    target = tmp_path / "target.sqlite"
    for missing in (End(source), "nope"), (End(f"embedded:{tmp_path / 'nope.sqlite'}"), None):
        with pytest.raises(NotFoundError):
            copy(missing[0], End(f"embedded:{target}"), database=missing[1])
    with pytest.raises(Unavailable):
        copy(End("http://127.0.0.1:9"), End(f"embedded:{target}"))
    assert not target.exists() and not (tmp_path / "nope.sqlite").exists()


def test_urls_that_cannot_be_copied_between_are_refused(source: str) -> None:
    for target in (
        source,
        source.replace("embedded:", "embedded://"),
        "graph.sqlite",
        "http://root:secret@127.0.0.1:8529",
    ):
        with pytest.raises(UserError) as caught:
            copy(End(source), End(target))
        assert "secret" not in str(caught.value)


def test_passwords_are_used_and_never_shown(source: str, tmp_path: Path) -> None:
    with serving(tmp_path / "locked.sqlite", password="s3cret") as url:
        with pytest.raises(StoreError) as caught:
            copy(End(source), End(url, password="wr0ng"))
        assert "wr0ng" not in str(caught.value)
        target = End(url, password="s3cret")
        assert "s3cret" not in repr(target)
        assert copy(End(source), target).written == 620
        assert everything(url, password="s3cret") == everything(source)


def test_one_that_is_of_another_kind_at_the_target_is_refused(source: str, tmp_path: Path) -> None:
    target = elsewhere(tmp_path)
    with closing(connect(target, NAME)) as connection:
        connection.database.create_collection("things", edge=True)
    with pytest.raises(StoreError, match="of another type"):
        copy(End(source), End(target))


# --- interrupted ------------------------------------------------------------------------------------------------------------


class Stop(Exception):
    """What a test interrupts a copy with."""


def stop_at(number: int) -> Any:
    """A report that raises when it is called for the number-th time."""
    seen: list[Progress] = []

    def report(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) == number:
            raise Stop

    return report


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "BATCH_DOCUMENTS", 50)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("number", [1, 3, 7, 9, 14, 20, 24, 26])
def test_an_interrupted_copy_goes_on_where_it_was(source: str, served: str, number: int) -> None:
    with pytest.raises(Stop):
        copy(End(source), End(served), report=stop_at(number))
    with closing(connect(served, NAME)) as connection:
        names = Side(connection.database).collections()
        there = sum(Side(connection.database).count(name) for name in names)
    rest = copy(End(source), End(served))
    assert (rest.written, rest.unchanged) == (620 - there, there)
    assert everything(source) == everything(served)
    assert LEDGER not in everything(served)["system"]


@pytest.mark.usefixtures("small_batches")
def test_what_an_interrupted_copy_brought_is_not_read_again(
    source: str, served: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Stop):
        copy(End(source), End(served), report=stop_at(8))
    asked: list[str] = []
    rows = Side.rows

    def listening(self: Side, text: str, size: int, **binds: Any) -> Iterator[Any]:
        asked.append(text)
        return rows(self, text, size, **binds)

    monkeypatch.setattr(Side, "rows", listening)
    copy(End(source), End(served))
    assert "FOR d IN @@collection RETURN d._key" in asked


@pytest.mark.usefixtures("small_batches")
def test_a_source_that_changed_after_the_interruption_is_compared_anew(source: str, served: str) -> None:
    with pytest.raises(Stop):
        copy(End(source), End(served), report=stop_at(20))
    with closing(connect(source, NAME)) as connection:
        db: Db = connection.database
        db.aql.execute("FOR d IN things FILTER d.n < 3 UPDATE d WITH {again: true} IN things")
    copy(End(source), End(served))
    assert everything(source) == everything(served)


@pytest.mark.usefixtures("small_batches")
def test_the_rest_of_another_copy_is_not_mistaken_for_ones_own(source: str, served: str, tmp_path: Path) -> None:
    other = elsewhere(tmp_path)
    copy(End(source), End(other))
    with closing(connect(other, NAME)) as connection:
        db: Db = connection.database
        db.aql.execute("FOR d IN things UPDATE d WITH {other: true} IN things")
    with pytest.raises(Stop):
        copy(End(other), End(served), report=stop_at(20))
    copy(End(source), End(served))
    assert everything(source) == everything(served)


def test_progress_is_told(source: str, tmp_path: Path) -> None:
    seen: list[Progress] = []
    copy(End(source), End(elsewhere(tmp_path)), report=seen.append)
    assert {(p.stage, p.done, p.total) for p in seen if p.unit == "documents"} >= {
        ("things", 301, 301),
        ("links", 299, 299),
    }
    assert {p.stage for p in seen} >= {"analyzers", "collections", "indexes", "views", "graphs"}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": [0]}, {"a": [False]}, False),
        ({"a": None}, {}, False),
        ([1, 2], [1], False),
        ({"a": 1}, None, False),
    ],
)
def test_documents_are_compared_as_json(one: Any, other: Any, expected: bool) -> None:
    assert same(one, other) is expected


PROCESS = """
import sys
from vgraph.store import copy as copying
copying.BATCH_DOCUMENTS = 50
copying.copy(copying.End(sys.argv[1]), copying.End(sys.argv[2]), report=lambda p: print(p.unit, p.done, flush=True))
"""


def test_a_copy_that_was_killed_goes_on(source: str, tmp_path: Path) -> None:
    target = elsewhere(tmp_path)
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", PROCESS, source, target]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if line == "documents 150\n":
                running.kill()
                break
    rest = copy(End(source), End(target))
    assert 0 < rest.unchanged < 620 and rest.written + rest.unchanged == 620
    assert everything(source) == everything(target)
