"""Documents: keys, revisions, options of writes, edges, vectors kept outside the JSON, and what a transaction sees."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vgraph.embedded import ddl, revisions
from vgraph.embedded.documents import Collection, Written
from vgraph.embedded.engine import Engine
from vgraph.embedded.errors import ArangoError


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = Engine.open(tmp_path / "documents.db")
    with engine.writing() as txn:
        ddl.create_collection(txn, "c")
        ddl.create_collection(txn, "edges", 3)
    yield engine
    engine.close()


@pytest.fixture
def c(engine: Engine) -> Iterator[Collection]:
    with engine.writing() as txn:
        yield txn.collection("c", write=True)


def number(error: pytest.ExceptionInfo[ArangoError]) -> int:
    return error.value.num


# -- keys and revisions ---------------------------------------------------------------------------------------------


def test_system_attributes_stand_first_and_overrule_the_callers(c: Collection) -> None:
    written = c.insert({"b": 1, "_id": "x/y", "_rev": "old", "_key": "k", "a": 2})
    assert list(c.get("k") or {}) == ["_key", "_id", "_rev", "b", "a"]
    assert written.id == "c/k" and (c.get("k") or {})["_rev"] == written.rev != "old"


def test_generated_keys_are_growing_numbers(c: Collection) -> None:
    found = [int(c.insert({}).key) for _ in range(5)]
    assert found == sorted(set(found))


def test_a_numeric_key_of_the_user_pushes_the_generator(c: Collection) -> None:
    c.insert({"_key": "900000000000"})
    assert int(c.insert({}).key) > 900000000000


@pytest.mark.parametrize("key", ["", "a/b", "ä", "a b", "x" * 255, 7, None, ["a"]])
def test_illegal_keys_are_1221(c: Collection, key: Any) -> None:
    with pytest.raises(ArangoError) as error:
        c.insert({"_key": key})
    assert number(error) == 1221


@pytest.mark.parametrize("key", ["_-:.@()+,=;$!*'%", "x" * 254, "007"])
def test_legal_keys(c: Collection, key: str) -> None:
    assert c.insert({"_key": key}).key == key


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ({"type": "autoincrement", "offset": 10, "increment": 5}, ["10", "15", "20"]),
        ({"type": "padded"}, None),
        ({"type": "uuid"}, None),
    ],
)
def test_key_generators(engine: Engine, options: dict[str, Any], keys: list[str] | None) -> None:
    with engine.writing() as txn:
        ddl.create_collection(txn, "g", 2, {"keyOptions": options})
        found = [txn.collection("g", write=True).insert({}).key for _ in range(3)]
    assert keys is None or found == keys
    assert len({len(key) for key in found}) == 1


def test_keys_may_be_left_to_the_server_alone(engine: Engine) -> None:
    with engine.writing() as txn, pytest.raises(ArangoError) as error:
        ddl.create_collection(txn, "g", 2, {"keyOptions": {"allowUserKeys": False}})
        txn.collection("g", write=True).insert({"_key": "a"})
    assert number(error) == 1222


def test_revisions_grow_with_every_write(c: Collection) -> None:
    revs = [c.insert({"_key": "k"}).rev, c.update("k", {"a": 1}).rev, c.replace("k", {}).rev]
    stamps = [revisions.decode(rev) or 0 for rev in revs]
    assert stamps == sorted(set(stamps)) and all(len(rev) == 11 for rev in revs)


def test_revision_texts_are_the_servers() -> None:
    assert revisions.decode("_l6zhV3a---") == 0b1 << 60 | revisions.decode("l6zhV3a---")  # type: ignore[operator]
    assert revisions.encode(revisions.decode("_l6zhVi6--_") or 0) == "_l6zhVi6--_"
    assert revisions.decode("no revision!") is None


# -- insert ---------------------------------------------------------------------------------------------------------


def test_a_taken_key_is_1210_in_the_servers_words(c: Collection) -> None:
    c.insert({"_key": "abc"})
    with pytest.raises(ArangoError) as error:
        c.insert({"_key": "abc"})
    message = "unique constraint violated - in index primary of type primary over '_key'; conflicting key: abc"
    assert (error.value.num, error.value.message, error.value.status) == (1210, message, 409)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("ignore", {"a": {"x": 1}}), ("replace", {"a": {"y": 2}}), ("update", {"a": {"x": 1, "y": 2}})],
)
def test_overwrite_modes(c: Collection, mode: Any, expected: dict[str, Any]) -> None:
    c.insert({"_key": "k", "a": {"x": 1}})
    written = c.insert({"_key": "k", "a": {"y": 2}}, overwrite_mode=mode)
    stored = c.get("k") or {}
    assert {name: stored[name] for name in stored if name[0] != "_"} == expected
    assert written.ignored == (mode == "ignore") and (written.old or {})["a"] == {"x": 1}


def test_documents_are_objects(c: Collection) -> None:
    for wrong in ([], "x", 1, None):
        with pytest.raises(ArangoError) as error:
            c.insert(wrong)  # type: ignore[arg-type]
        assert number(error) == 1227


def test_many_inserts_report_errors_in_their_places(c: Collection) -> None:
    results = c.insert_many([{"_key": "a"}, {"_key": "a"}, 5, {"_key": "b"}])
    assert [r.num if isinstance(r, ArangoError) else r.key for r in results] == ["a", 1210, 1227, "b"]
    assert c.count() == 2


# -- update, replace, remove ----------------------------------------------------------------------------------------


def test_updates_merge_objects_and_keep_places(c: Collection) -> None:
    c.insert({"_key": "k", "a": {"x": 1, "y": {"z": 1}}, "b": 1})
    c.update("k", {"c": 3, "a": {"y": {"w": 2}}})
    stored = c.get("k") or {}
    assert list(stored)[3:] == ["a", "b", "c"] and stored["a"] == {"x": 1, "y": {"z": 1, "w": 2}}
    c.update("k", {"a": {"n": 1}}, merge_objects=False)
    assert (c.get("k") or {})["a"] == {"n": 1}


def test_nulls_remove_when_they_are_not_kept(c: Collection) -> None:
    c.insert({"_key": "k", "a": 1, "b": {"x": 1, "y": 2}, "l": [1]})
    c.update("k", {"a": None, "b": {"x": None}, "l": [None]}, keep_null=False)
    stored = c.get("k") or {}
    assert "a" not in stored and stored["b"] == {"y": 2} and stored["l"] == [None]
    c.update("k", {"b": None})
    assert (c.get("k") or {})["b"] is None


def test_a_write_with_another_revision_is_a_conflict(c: Collection) -> None:
    first = c.insert({"_key": "k"})
    c.update("k", {"a": 1})
    for write in (
        lambda: c.update("k", {"_rev": first.rev}, ignore_revs=False),
        lambda: c.replace("k", {}, rev=first.rev),
        lambda: c.remove("k", rev=first.rev),
    ):
        with pytest.raises(ArangoError) as error:
            write()
        assert number(error) == 1200 and error.value.fields["_key"] == "k"
    assert c.update("k", {"_rev": first.rev, "a": 2}).old_rev is not None


def test_late_versions_are_ignored(c: Collection) -> None:
    c.insert({"_key": "k", "v": 5, "a": 1})
    assert c.update("k", {"v": 4, "a": 2}, version_attribute="v").ignored
    assert c.replace("k", {"v": 5, "a": 2}, version_attribute="v").ignored
    assert not c.update("k", {"v": 6, "a": 2}, version_attribute="v").ignored
    assert (c.get("k") or {})["a"] == 2


def test_what_is_missing_is_1202(c: Collection) -> None:
    for write in (lambda: c.update("x", {}), lambda: c.replace("x", {}), lambda: c.remove("x")):
        with pytest.raises(ArangoError) as error:
            write()
        assert number(error) == 1202


def test_old_and_new_are_whole_documents(c: Collection) -> None:
    c.insert({"_key": "k", "a": 1})
    written = c.replace("k", {"b": 2})
    assert (written.old or {})["a"] == 1 and (written.new or {})["b"] == 2 and written.new == c.get("k")
    removed = c.remove("k")
    assert removed.old == written.new and c.get("k") is None and c.count() == 0


# -- reading --------------------------------------------------------------------------------------------------------


def test_batched_reads_keep_order_and_gaps(c: Collection) -> None:
    rows = [c.insert({"_key": str(n), "n": n}).rowid for n in range(1, 3000)]
    keys = ["7", "missing", "2999", "7"]
    assert [doc and doc["n"] for doc in c.get_many(keys)] == [7, None, 2999, 7]
    assert c.rowids_of(keys) == [rows[6], None, rows[-1], rows[6]]
    assert [doc and doc["n"] for doc in c.fetch([rows[5], 10**9, rows[0]])] == [6, None, 1]
    assert [doc["n"] for doc in c.fetch(rows) if doc] == list(range(1, 3000))
    assert c.get_many(["7"], frozenset()) == [{"_key": "7", "_id": "c/7"}]
    assert c.keys_of([rows[1], 10**9]) == ["2", None]


def test_scans_go_in_insertion_order_and_stop_at_what_was_there(c: Collection) -> None:
    for n in range(700):
        c.insert({"_key": f"{999 - n}", "n": n})
    seen = []
    for _, doc in c.scan():
        seen.append(doc["n"])
        c.insert({})
    assert seen == list(range(700)) and c.count() == 1400
    assert len(list(c.rowids())) == 1400


def test_readers_see_their_snapshot_and_never_wait(engine: Engine) -> None:
    reader = engine.begin(read_only=True)
    assert reader.collection("c").count() == 0
    with engine.writing() as writer:
        writer.collection("c", write=True).insert({"_key": "a"})
        assert reader.collection("c").get("a") is None
    assert reader.collection("c").get("a") is None
    reader.abort()
    with engine.reading() as later:
        assert later.collection("c").count() == 1


def test_an_abort_undoes_documents_indexes_and_counters(engine: Engine) -> None:
    txn = engine.begin()
    txn.collection("c", write=True).insert({"_key": "a"})
    txn.abort()
    with engine.writing() as txn:
        target = txn.collection("c", write=True)
        assert target.count() == 0
        savepoint = txn.savepoint()
        target.insert({"_key": "b"})
        txn.rollback_to(savepoint)
        assert target.count() == 0 and target.get("b") is None


def test_only_declared_collections_are_written(engine: Engine) -> None:
    with engine.writing() as txn:
        ddl.create_collection(txn, "other")
    txn = engine.begin(write=["c"], lazy=True)
    txn.collection("c", write=True).insert({})
    assert txn.collection("other").count() == 0
    with pytest.raises(ArangoError) as error:
        txn.collection("other", write=True)
    assert number(error) == 1652
    txn.abort()
    with pytest.raises(ArangoError) as error, engine.reading() as txn:
        txn.collection("c", write=True)
    assert number(error) == 1004


def test_a_lazy_transaction_that_has_read_conflicts_with_a_later_writer(engine: Engine) -> None:
    lazy = engine.begin(write=["c"], lazy=True)
    assert lazy.collection("c").count() == 0
    with engine.writing() as other:
        other.collection("c", write=True).insert({})
    with pytest.raises(ArangoError) as error:
        lazy.collection("c", write=True)
    assert number(error) == 1200
    lazy.abort()


# -- edges ----------------------------------------------------------------------------------------------------------


def test_edges_are_found_from_both_ends_in_insertion_order(engine: Engine) -> None:
    rng = random.Random(1)
    with engine.writing() as txn:
        edges = txn.collection("edges", write=True)
        ends = [(f"v/{rng.randrange(20)}", f"v/{rng.randrange(20)}") for _ in range(500)]
        rows = [edges.insert({"_from": a, "_to": b}).rowid for a, b in ends]
        vertices = [f"v/{n}" for n in range(20)] * 200
        for side, near, far in (("out", 0, 1), ("in", 1, 0)):
            found = list(edges.edges(side, vertices[:20]))  # type: ignore[arg-type]
            for vertex in vertices[:20]:
                expected = [
                    (vertex, row, pair[far]) for row, pair in zip(rows, ends, strict=True) if pair[near] == vertex
                ]
                assert [entry for entry in found if entry[0] == vertex] == expected


def test_edges_follow_updates_and_removals(engine: Engine) -> None:
    with engine.writing() as txn:
        edges = txn.collection("edges", write=True)
        edges.insert({"_key": "e", "_from": "v/a", "_to": "v/b"})
        edges.update("e", {"_to": "v/c"})
        assert [other for _, _, other in edges.edges("out", ["v/a"])] == ["v/c"]
        assert list(edges.edges("in", ["v/b"])) == []
        edges.remove("e")
        assert list(edges.edges("out", ["v/a"])) == []


@pytest.mark.parametrize("edge", [{}, {"_from": "v/a"}, {"_from": "v/a", "_to": "nowhere"}, {"_from": 1, "_to": "v/b"}])
def test_edges_need_both_ends(engine: Engine, edge: dict[str, Any]) -> None:
    with engine.writing() as txn, pytest.raises(ArangoError) as error:
        txn.collection("edges", write=True).insert(edge)
    assert number(error) == 1233


# -- rules ----------------------------------------------------------------------------------------------------------


def test_schemas_refuse_at_their_level(engine: Engine) -> None:
    rule = {"properties": {"n": {"type": "number", "minimum": 0}}, "required": ["n"], "additionalProperties": False}
    with engine.writing() as txn:
        ddl.create_collection(txn, "s", 2, {"schema": {"rule": rule, "level": "moderate", "message": "n, please"}})
        s = txn.collection("s", write=True)
        s.insert({"_key": "a", "n": 1})
        for wrong in ({}, {"n": -1}, {"n": "1"}, {"n": 1, "m": 1}):
            with pytest.raises(ArangoError) as error:
                s.insert(wrong)
            assert (number(error), error.value.message) == (1620, "n, please")
        with pytest.raises(ArangoError):
            s.update("a", {"n": -1})


def test_computed_values(engine: Engine) -> None:
    computed = {
        "name": "full",
        "expression": "RETURN CONCAT(@doc.a, '-', @doc.b)",
        "overwrite": True,
        "computeOn": ["insert"],
    }
    with engine.writing() as txn:
        ddl.create_collection(txn, "s", 2, {"computedValues": [computed]})
        s = txn.collection("s", write=True)
        s.insert({"_key": "k", "a": "x", "b": "y"})
        s.update("k", {"a": "z"})
        assert (s.get("k") or {})["full"] == "x-y"


# -- vectors outside the JSON ---------------------------------------------------------------------------------------


@pytest.fixture
def v(engine: Engine) -> Iterator[Collection]:
    with engine.writing() as txn:
        ddl.create_collection(txn, "v")
        txn.collection("v", write=True).insert({"_key": "early", "embedding": [0.5, 0.25], "after": 1})
        ddl._move_outside(txn, txn.info("v"), "embedding")
        yield txn.collection("v", write=True)


VECTORS = [
    [0.5, -0.25],
    [0.1, 0.2],
    [1, 2, 3],
    [1.0, 2.0],
    [1, 0.5],
    [],
    None,
    "text",
    ["a"],
    [True, 1.0],
    [1e300, 1.0],
]


@pytest.mark.parametrize("vector", VECTORS)
def test_any_value_comes_back_exactly_in_its_place(v: Collection, vector: Any) -> None:
    rowid = v.insert({"_key": "k", "before": 1, "embedding": vector, "after": 2}).rowid
    stored = v.get("k") or {}
    assert list(stored)[3:] == ["before", "embedding", "after"] and stored["embedding"] == vector
    assert v.fetch([rowid]) == [stored] and dict(v.scan())[rowid] == stored


def test_what_was_there_before_moved_too(v: Collection) -> None:
    assert (v.get("early") or {})["embedding"] == [0.5, 0.25]
    [kept] = v.txn.sql(f"SELECT body FROM {v.info.table} WHERE key = 'early'").fetchone()
    assert b'"embedding":null,"after":1' in kept


def test_lists_are_joined_only_when_asked_for(v: Collection) -> None:
    v.insert({"_key": "k", "embedding": [0.5]})
    assert (v.get("k", frozenset(["a"])) or {})["embedding"] is None
    assert (v.get("k", frozenset(["embedding"])) or {})["embedding"] == [0.5]


def test_lists_survive_updates_that_do_not_name_them(v: Collection) -> None:
    v.insert({"_key": "k", "embedding": [0.5], "a": 1})
    assert (v.update("k", {"a": 2}).new or {})["embedding"] == [0.5]
    v.update("k", {"a": 3}, whole=False)
    assert (v.get("k") or {})["embedding"] == [0.5]
    v.update("k", {"embedding": [0.75]})
    assert (v.get("k") or {})["embedding"] == [0.75]
    v.replace("k", {"a": 4})
    assert "embedding" not in (v.get("k") or {})
    v.update("k", {"embedding": None})
    assert (v.get("k") or {})["embedding"] is None
    v.remove("k")
    assert v.txn.sql(f"SELECT count(*) FROM {v.info.externals[0].table}").fetchone() == (1,)


# -- files ----------------------------------------------------------------------------------------------------------


def test_a_file_opens_again_with_everything_in_it(tmp_path: Path) -> None:
    for n in range(3):
        engine = Engine.open(tmp_path / "again.db")
        with engine.writing() as txn:
            if n == 0:
                ddl.create_collection(txn, "c")
            written = txn.collection("c", write=True).insert({"n": n})
            assert isinstance(written, Written) and txn.collection("c").count() == n + 1
        engine.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.db"]


def test_files_that_are_not_ours_are_refused_untouched(tmp_path: Path) -> None:
    text, foreign, cut, newer = (tmp_path / name for name in ("text", "foreign", "cut", "newer"))
    text.write_bytes(b"hello" * 100)
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE t (a)")
    connection.commit()
    connection.close()
    Engine.open(tmp_path / "own").close()
    own = (tmp_path / "own").read_bytes()
    cut.write_bytes(own[: len(own) // 2])
    newer.write_bytes(own[:60] + (99).to_bytes(4, "big") + own[64:])
    for path in (text, foreign, cut, newer):
        before = path.read_bytes()
        with pytest.raises(ArangoError) as error:
            Engine.open(path)
        assert number(error) == 1100 and path.read_bytes() == before
    with pytest.raises(ArangoError):
        Engine.open(tmp_path / "missing", create=False)
    assert not (tmp_path / "missing").exists()


def test_a_damaged_file_is_an_error_not_a_crash(tmp_path: Path) -> None:
    Engine.open(tmp_path / "own").close()
    raw = bytearray((tmp_path / "own").read_bytes())
    raw[100:8192] = b"\xff" * (8192 - 100)
    (tmp_path / "own").write_bytes(raw)
    with pytest.raises(ArangoError) as error:
        Engine.open(tmp_path / "own")
    assert number(error) == 1100


def test_a_closed_engine_says_so(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path / "closed.db")
    engine.close()
    with pytest.raises(ArangoError) as error:
        engine.begin()
    assert number(error) == 30


# -- databases and collections --------------------------------------------------------------------------------------


def test_databases_are_apart(engine: Engine) -> None:
    with engine.writing() as txn:
        ddl.create_database(txn, "two", {})
    with engine.writing("two") as txn:
        ddl.create_collection(txn, "c")
        txn.collection("c", write=True).insert({})
    with engine.reading() as txn:
        assert txn.collection("c").count() == 0
    with engine.writing() as txn:
        ddl.drop_database(txn, "two")
    with pytest.raises(ArangoError) as error:
        engine.begin("two")
    assert number(error) == 1228


def test_renaming_goes_through_to_documents_and_graphs(engine: Engine) -> None:
    from vgraph.embedded import named_graphs

    with engine.writing() as txn:
        named_graphs.create_graph(
            txn, {"name": "g", "edgeDefinitions": [{"collection": "edges", "from": ["c"], "to": ["c"]}]}
        )
        txn.collection("c", write=True).insert({"_key": "a"})
        ddl.rename_collection(txn, "c", "d")
        assert (txn.collection("d").get("a") or {})["_id"] == "d/a"
        assert txn.graph("g")["edgeDefinitions"] == [{"collection": "edges", "from": ["d"], "to": ["d"]}]
        with pytest.raises(ArangoError) as error:
            ddl.drop_collection(txn, "d")
        assert number(error) == 1942


@pytest.mark.parametrize("name", ["", "_x", "1a", "a/b", " a", "a ", "x" * 257, "e\u0301"])
def test_illegal_names(engine: Engine, name: str) -> None:
    with engine.writing() as txn, pytest.raises(ArangoError) as error:
        ddl.create_collection(txn, name)
    assert number(error) == 1208


def test_names_are_taken_once(engine: Engine) -> None:
    with engine.writing() as txn, pytest.raises(ArangoError) as error:
        ddl.create_collection(txn, "c")
    assert number(error) == 1207
