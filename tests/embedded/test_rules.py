"""Each optimizer rule: what the plan becomes, and that the answer stays."""

from __future__ import annotations

from typing import Any

import pytest

from vgraph.embedded import ddl
from vgraph.embedded.errors import ArangoError

Database = Any  # of conftest.py


@pytest.fixture(scope="module", autouse=True)
def collections(db: Database) -> None:
    chunks = [
        {
            "_key": f"c{n}", "camera": f"cam{n % 5}", "start_ms": n * 1000, "document": f"d{n // 10}", "index": n % 10,
            "tags": [f"t{n % 3}", f"t{n % 7}"], "inner": {"x": n % 4}, "embedding": [float(n % 4), 1.0, float(n)],
        }
        for n in range(100)
    ]  # fmt: skip
    db.collection(
        "chunks",
        chunks,
        indexes=[
            {"type": "persistent", "fields": ["camera", "start_ms"], "name": "camera_time"},
            {"type": "persistent", "fields": ["document", "index"], "unique": True, "name": "place"},
            {"type": "persistent", "fields": ["tags[*]"], "name": "tags"},
            {"type": "persistent", "fields": ["inner.x"], "name": "inner"},
        ],
    )
    with db.engine.writing() as txn:
        definition = {
            "type": "vector",
            "fields": ["embedding"],
            "params": {"metric": "l2", "dimension": 3, "nLists": 1},
        }
        ddl.create_index(txn, "chunks", definition)
    db.collection("plain", chunks)
    db.collection(
        "links", [{"_from": f"chunks/c{n}", "_to": f"chunks/c{n + 1}", "w": n % 3} for n in range(20)], edges=True
    )


def index_of(db: Database, query: str, binds: Any = None) -> str:
    found: str = db.node("IndexNode", query, binds)["indexes"][0]["name"]
    return found


# -- use-indexes


@pytest.mark.parametrize(
    ("condition", "index"),
    [
        ("c._key == 'c7'", "primary"),
        ("c._id IN ['chunks/c7', 'chunks/c8', 'other/c9']", "primary"),
        ("c.camera == 'cam1'", "camera_time"),
        ("'cam1' == c.camera", "camera_time"),
        ("c.camera IN ['cam1', 'cam2'] AND c.start_ms >= 5000 AND c.start_ms < 50000", "camera_time"),
        ("c.document == 'd3' AND c.index IN [5, 2, 5]", "place"),
        ("c.document == 'd3' AND c.camera == 'cam1' AND c.index == 6", "place"),
        ("c['document'] == 'd3'", "place"),
        ("c.inner.x == 2", "inner"),
        ("'t5' IN c.tags", "tags"),
        ("c.camera > 'cam3'", "camera_time"),
    ],
)
def test_filters_use_the_right_index_and_find_the_same(db: Database, condition: str, index: str) -> None:
    query = f"FOR c IN chunks FILTER {condition} RETURN c._key"
    assert index_of(db, query) == index
    assert sorted(db.run(query)) == sorted(
        db.run(query.replace("IN chunks", "IN plain").replace("'chunks/", "'plain/"))
    )


def test_edges_are_found_by_their_ends(db: Database) -> None:
    query = "FOR e IN links FILTER e._from IN @ids RETURN e.w"
    node = db.node("IndexNode", query, {"ids": []})
    assert (node["indexes"][0]["type"], node["indexes"][0]["fields"]) == ("edge", ["_from"])
    assert db.run(query, {"ids": ["chunks/c2", "chunks/c1", "chunks/c2", 5]}) == [1, 2]


def test_the_ends_of_edges_come_from_the_index_alone(db: Database) -> None:
    ends = "FOR e IN links FILTER e.{} IN @ids RETURN [e._from, e._to]"
    ids = ["chunks/c2", "chunks/c1", "chunks/zzz"]
    assert db.run(ends.format("_from"), {"ids": ids}) == [["chunks/c1", "chunks/c2"], ["chunks/c2", "chunks/c3"]]
    assert db.run(ends.format("_to"), {"ids": ids}) == [["chunks/c0", "chunks/c1"], ["chunks/c1", "chunks/c2"]]
    assert db.stats(ends.format("_to"), {"ids": ids})["documentLookups"] == 0


def test_either_end_of_an_edge_is_a_better_way_than_another_attribute(db: Database) -> None:
    query = "FOR e IN weighed FILTER (e._from IN @ids OR e._to IN @ids) AND e.w == 1 RETURN e._key"
    edges = [{"_key": f"e{n}", "_from": f"chunks/c{n}", "_to": f"chunks/c{n + 1}", "w": n % 2} for n in range(9)]
    db.collection("weighed", edges, indexes=[{"type": "persistent", "fields": ["w"], "name": "w"}], edges=True)
    binds = {"ids": ["chunks/c1", "chunks/c2"]}
    assert [index["type"] for index in db.node("IndexNode", query, binds)["indexes"]] == ["edge", "edge"]
    assert sorted(db.run(query, binds)) == ["e1"]
    either = "FOR e IN weighed FILTER e._from IN @ids OR e._to IN @ids RETURN e._key"
    assert sorted(db.run(either, binds)) == ["e0", "e1", "e2"]
    other = (
        "FOR e IN weighed FILTER e._from IN @ids OR e._to IN ['chunks/c9'] FILTER e._from != 'chunks/c1' RETURN e._key"
    )
    assert sorted(db.run(other, binds)) == ["e2", "e8"]


def test_a_covered_filter_is_gone(db: Database) -> None:
    query = "FOR c IN chunks FILTER c.camera == 'cam1' AND c.start_ms > 5 AND c.index == 1 RETURN c"
    assert db.types(query) == ["SingletonNode", "IndexNode", "ReturnNode"]
    assert "remove-filter-covered-by-index" in db.plan(query)["rules"]
    assert db.stats(query)["filtered"] == 10


def test_alternatives_with_an_index_each_give_every_document_once(db: Database) -> None:
    query = "FOR c IN chunks FILTER c._key == 'c1' OR c.camera == 'cam1' OR (c.document == 'd0' AND c.index == 1) RETURN c._key"
    assert [index["name"] for index in db.node("IndexNode", query)["indexes"]] == ["primary", "camera_time", "place"]
    assert sorted(db.run(query)) == sorted(f"c{n}" for n in range(1, 100, 5))


def test_one_alternative_without_an_index_is_a_scan(db: Database) -> None:
    assert "EnumerateCollectionNode" in db.types("FOR c IN chunks FILTER c._key == 'c1' OR c.zzz == 1 RETURN c")


def test_a_value_from_an_inner_loop_is_no_lookup_of_the_outer(db: Database) -> None:
    query = "FOR c IN chunks FOR d IN plain FILTER c.camera == d.document RETURN c"
    assert db.types(query)[1:3] == ["EnumerateCollectionNode", "EnumerateCollectionNode"]


def test_let_is_looked_through(db: Database) -> None:
    query = "FOR c IN chunks LET cam = c.camera LET wanted = CONCAT('cam', 1) FILTER cam == wanted RETURN c.index"
    assert index_of(db, query) == "camera_time"
    assert len(db.run(query)) == 20


def test_index_hints(db: Database) -> None:
    query = "FOR c IN chunks OPTIONS {%s} FILTER c.camera == 'cam1' AND c.document == 'd1' RETURN c._key"
    assert index_of(db, query % "indexHint: 'camera_time'") == "camera_time"
    assert index_of(db, query % "indexHint: ['nothing', 'place'], forceIndexHint: true") == "place"
    assert "EnumerateCollectionNode" in db.types(query % "disableIndex: true")
    with pytest.raises(ArangoError, match=r"\[1577\]"):
        db.run(query % "indexHint: 'inner', forceIndexHint: true")


def test_joins_look_up_a_batch_of_keys_at_once(db: Database) -> None:
    statements: list[str] = []
    query = "FOR k IN @keys FOR c IN chunks FILTER c._key == k RETURN c.index"
    keys = [f"c{n}" for n in range(90)]
    db.run(query, {"keys": keys})
    with db.engine.reading() as txn:
        from vgraph.embedded.aql import execute

        txn.connection.set_trace_callback(statements.append)
        assert execute(txn, "_system", query, {"keys": keys}).all() == [n % 10 for n in range(90)]
        txn.connection.set_trace_callback(None)
    assert len(statements) <= 4


@pytest.mark.parametrize(
    "query",
    [
        "FOR k IN @keys LET c = DOCUMENT(chunks, k) RETURN c.index",
        "FOR k IN @keys RETURN DOCUMENT(CONCAT('chunks/', k)).index",
        "FOR k IN @keys LET found = (FOR c IN chunks FILTER c._key == k RETURN c.index) RETURN found[0]",
        "FOR k IN @keys LET id = CONCAT('chunks/', k) RETURN LENGTH(FOR e IN links FILTER e._from == id RETURN e)",
    ],
)
def test_lookups_in_a_loop_do_not_cost_a_statement_each(db: Database, query: str) -> None:
    from vgraph.embedded.aql import execute

    statements: list[str] = []
    keys = [f"c{n}" for n in range(60)]
    db.run(query, {"keys": keys})
    with db.engine.reading() as txn:
        txn.connection.set_trace_callback(statements.append)
        execute(txn, "_system", query, {"keys": keys}).all()
        txn.connection.set_trace_callback(None)
    assert len(statements) <= 6


def test_boxes_through_a_multi_dimensional_index(fresh: Database) -> None:
    spans = [{"_key": str(n), "start": n, "end": n + n % 5, "k": n % 2} for n in range(60)]
    common = {"fields": ["start", "end"], "fieldValueTypes": "double"}
    fresh.collection("spans", spans, indexes=[{"type": "mdi", **common}])
    fresh.collection("keyed", spans, indexes=[{"type": "mdi-prefixed", "prefixFields": ["k"], **common}])
    fresh.collection("unindexed", spans)
    for bounds in ((10, 20), (None, 20), (10, "x"), ("x", 20), (10, None), (10.5, 10.5)):
        query = "FOR s IN %s FILTER s.start <= @high AND s.end > @low AND s.k == 1 RETURN s._key"
        binds = dict(zip(("low", "high"), bounds, strict=True))
        expected = sorted(fresh.run(query % "unindexed", binds))
        for name in ("spans", "keyed"):
            assert "IndexNode" in fresh.types(query % name, binds)
            assert sorted(fresh.run(query % name, binds)) == expected


# -- SORT and LIMIT


def test_sort_through_an_index(db: Database) -> None:
    query = "FOR c IN chunks FILTER c.camera == 'cam2' SORT c.start_ms DESC LIMIT 3 RETURN c._key"
    assert db.types(query) == ["SingletonNode", "IndexNode", "LimitNode", "ReturnNode"]
    assert db.run(query) == ["c97", "c92", "c87"]
    assert db.stats(query)["scannedIndex"] == 3
    assert db.types("FOR c IN chunks SORT c.camera, c.start_ms RETURN c._key") == [
        "SingletonNode",
        "IndexNode",
        "ReturnNode",
    ]


@pytest.mark.parametrize("after", ["c50", "", "c98", None, 5, ["x"]])
@pytest.mark.parametrize("direction", ["ASC", "DESC"])
def test_pages_by_key(db: Database, after: Any, direction: str) -> None:
    query = f"FOR c IN %s FILTER c._key > @after AND c._key != 'c51' SORT c._key {direction} LIMIT 3 RETURN c._key"
    assert db.types(query % "chunks", {"after": after})[:3] == ["SingletonNode", "IndexNode", "LimitNode"]
    slow = query.replace("c._key > @after", "NOOPT(c._key) > @after").replace("SORT c._key", "SORT NOOPT(c._key)")
    assert db.run(query % "chunks", {"after": after}) == db.run(slow % "plain", {"after": after})
    assert db.run(f"FOR c IN chunks SORT c._key {direction} LIMIT 1 RETURN c._key") == (
        ["c0"] if direction == "ASC" else ["c99"]
    )


@pytest.mark.parametrize(
    "query",
    [
        "FOR c IN chunks SORT c.start_ms LIMIT 3 RETURN c._key",
        "FOR c IN chunks SORT c.camera DESC, c.start_ms ASC LIMIT 3 RETURN c._key",
        "FOR c IN chunks FILTER c.camera IN ['cam2', 'cam1'] SORT c.start_ms LIMIT 3 RETURN c._key",
        "FOR x IN 1..2 FOR c IN chunks SORT c.camera, c.start_ms LIMIT 3 RETURN c._key",
    ],
)
def test_no_sort_through_an_index_that_has_another_order(db: Database, query: str) -> None:
    assert "SortNode" in db.types(query)
    assert db.run(query) == db.run(query.replace("IN chunks", "IN plain"))


def test_sort_with_a_limit_keeps_only_so_many(db: Database) -> None:
    assert db.node("SortNode", "FOR i IN 1..9 SORT i DESC LIMIT 2, 3 RETURN i")["strategy"] == "constrained-heap"
    expected = sorted(range(1, 5001), key=lambda i: (i % 7, -i))[2:5]
    assert db.run("FOR i IN 1..5000 SORT i % 7, i DESC LIMIT 2, 3 RETURN i") == expected


def test_a_limit_stops_the_scan(db: Database) -> None:
    assert db.stats("FOR c IN plain LIMIT 4 RETURN c")["scannedFull"] == 4


# -- calculations and filters


def test_what_does_not_depend_on_the_loop_is_computed_once(db: Database) -> None:
    query = "FOR i IN 1..50 LET keys = (FOR c IN plain RETURN c._key) RETURN LENGTH(keys)"
    assert db.types(query)[1] == "SubqueryStartNode"
    assert db.stats(query)["scannedFull"] == 100


def test_random_values_stay_where_they_are(db: Database) -> None:
    assert len(set(db.run("FOR i IN 1..50 LET r = RAND() RETURN r"))) > 1


def test_filters_move_to_their_loop(db: Database) -> None:
    query = "FOR a IN chunks FOR b IN plain LET x = b.index FILTER a.camera == 'cam1' RETURN x"
    assert db.types(query)[1:3] == ["IndexNode", "EnumerateCollectionNode"]


def test_filters_do_not_move_over_a_limit(db: Database) -> None:
    assert db.run("FOR c IN chunks SORT c.start_ms LIMIT 3 FILTER c.camera == 'cam2' RETURN c._key") == ["c2"]


def test_constant_filters(db: Database) -> None:
    assert db.types("FOR c IN chunks FILTER 1 == 1 RETURN c") == [
        "SingletonNode",
        "EnumerateCollectionNode",
        "ReturnNode",
    ]
    assert "NoResultsNode" in db.types("FOR c IN chunks FILTER 1 == 2 RETURN c")
    assert db.run("FOR c IN chunks FILTER 1 == 2 COLLECT WITH COUNT INTO n RETURN n") == [0]


def test_conditions_on_binds_are_decided_when_planning(db: Database) -> None:
    query = "FOR c IN chunks FILTER (@cameras == null OR c.camera IN @cameras) AND (@from == null OR c.start_ms >= @from) RETURN c._key"
    assert "EnumerateCollectionNode" in db.types(query, {"cameras": None, "from": None})
    assert index_of(db, query, {"cameras": ["cam1"], "from": 50000}) == "camera_time"
    assert len(db.run(query, {"cameras": ["cam1", "cam2"], "from": 50000})) == 20
    assert len(db.run(query, {"cameras": None, "from": None})) == 100
    assert db.run(query, {"cameras": [], "from": None}) == []


def test_bound_attribute_names_are_put_in(db: Database) -> None:
    query = "FOR c IN chunks FILTER c.@name == @value RETURN c._key"
    assert index_of(db, query, {"name": "camera", "value": "cam1"}) == "camera_time"
    assert index_of(db, query, {"name": ["inner", "x"], "value": 1}) == "inner"
    assert len(db.run(query, {"name": ["inner", "x"], "value": 1})) == 25
    assert db.run(query, {"name": "inner.x", "value": 1}) == []
    with pytest.raises(ArangoError, match=r"\[1553\]"):
        db.run(query, {"name": 1, "value": 1})


# -- subqueries


def test_a_loop_over_a_subquery_is_inlined(db: Database) -> None:
    query = "FOR x IN (FOR c IN chunks FILTER c.index == 1 RETURN c) FILTER x.camera == 'cam1' RETURN x._key"
    assert db.types(query) == ["SingletonNode", "IndexNode", "ReturnNode"]
    assert db.run(query) == [f"c{n}" for n in range(1, 100, 10)]


def test_a_limited_subquery_inside_a_loop_is_not_inlined(db: Database) -> None:
    query = "FOR i IN 1..2 FOR x IN (FOR c IN chunks SORT c.start_ms LIMIT 2 RETURN c._key) RETURN [i, x]"
    assert db.run(query) == [[1, "c0"], [1, "c1"], [2, "c0"], [2, "c1"]]


def test_first_of_a_subquery_reads_one_document(db: Database) -> None:
    assert db.stats("RETURN FIRST(FOR c IN plain RETURN c)")["scannedFull"] == 1


# -- COLLECT


def test_counting_reads_no_documents(db: Database) -> None:
    query = "FOR c IN plain COLLECT WITH COUNT INTO n RETURN n"
    assert (db.run(query), db.stats(query)["scannedFull"]) == ([100], 0)


@pytest.mark.parametrize(
    "condition",
    [
        "c.camera == 'cam1'",
        "c.camera IN ['cam1', 'cam2', 'cam1'] AND c.start_ms < 50000",
        "c.document > 'd3'",
        "c.document == 'x'",
    ],
)
def test_counting_what_an_index_finds(db: Database, condition: str) -> None:
    query = f"FOR c IN %s FILTER {condition} COLLECT WITH COUNT INTO n RETURN n"
    assert db.stats(query % "chunks")["documentLookups"] == 0
    assert db.types(query % "chunks") == ["SingletonNode", "IndexNode", "CollectNode", "ReturnNode"]
    assert db.node("CollectNode", query % "chunks")["collectOptions"] == {"method": "count"}
    assert db.run(query % "chunks") == db.run(query % "plain")


def test_groups_from_the_index_alone(db: Database) -> None:
    query = "FOR c IN chunks COLLECT camera = c.camera WITH COUNT INTO n RETURN [camera, n]"
    assert "IndexCollectNode" in db.types(query)
    assert db.run(query) == [[f"cam{n}", 20] for n in range(5)]
    assert "IndexCollectNode" not in db.types("FOR c IN chunks COLLECT camera = c.camera INTO g RETURN g")
    assert "IndexCollectNode" not in db.types(
        "FOR c IN chunks COLLECT camera = c.camera AGGREGATE s = SUM(c.index) RETURN s"
    )


# -- projections


@pytest.mark.parametrize(
    ("result", "projection"),
    [
        ("c.camera", ["camera"]),
        ("{a: c.camera, b: c.inner.x}", ["camera", "inner"]),
        ("c", []),
        ("KEEP(c, 'camera')", ["camera"]),
    ],
)
def test_only_attributes_that_are_read_are_fetched(db: Database, result: str, projection: list[str]) -> None:
    node = db.node("EnumerateCollectionNode", f"FOR c IN plain RETURN {result}")
    assert [part["path"][0] for part in node["projections"]] == projection


# -- traversals


def test_conditions_on_the_path_cut_the_walk(db: Database) -> None:
    every = "FOR v, e, p IN 1..4 OUTBOUND 'chunks/c0' links FILTER p.edges[*].w ALL < 2 RETURN v._key"
    first = "FOR v, e, p IN 1..4 OUTBOUND 'chunks/c0' links FILTER p.edges[0].w == 0 AND p.vertices[1]._key == 'c1' RETURN v._key"
    assert len(db.node("TraversalNode", every)["conditions"]) == 1
    assert len(db.node("TraversalNode", first)["conditions"]) == 2
    assert db.run(every) == ["c1", "c2"]
    assert db.run(first) == ["c1", "c2", "c3", "c4"]


# -- vectors


NEAR = "FOR c IN chunks %s SORT APPROX_NEAR_L2(c.embedding, @q) LIMIT 3 RETURN c._key"
QUERY = {"q": [0.0, 1.0, 50.2]}


def test_vector_search_filters_first(db: Database) -> None:
    assert db.run(NEAR % "", QUERY) == ["c49", "c52", "c50"]
    query = NEAR % "FILTER c.camera == 'cam1' AND c.index == 1"
    node = db.node("EnumerateNearVectorNode", query, QUERY)
    assert node["candidateIndexes"][0]["name"] == "camera_time"
    assert node["filterExpression"] is not None
    assert sorted(db.run(query, QUERY)) == ["c41", "c51", "c61"]


def test_vector_search_looks_up_a_range_behind_a_field_nobody_asks_for(db: Database) -> None:
    query = NEAR % "FILTER c.start_ms >= 10000 AND c.start_ms < 12000"
    node = db.node("EnumerateNearVectorNode", query, QUERY)
    assert node["candidateIndexes"][0]["name"] == "camera_time"
    assert sorted(db.run(query, QUERY)) == ["c10", "c11"]


def test_vector_search_with_filters_decided_by_binds(db: Database) -> None:
    query = NEAR % "FILTER (@cameras == null OR c.camera IN @cameras) AND @on"
    assert db.node("EnumerateNearVectorNode", query, {**QUERY, "cameras": None, "on": True})["filterExpression"] is None
    assert db.run(query, {**QUERY, "cameras": None, "on": True}) == ["c49", "c52", "c50"]
    assert "NoResultsNode" in db.types(query, {**QUERY, "cameras": None, "on": False})
    assert db.run(query, {**QUERY, "cameras": None, "on": False}) == []


def test_vector_search_gives_the_distance_wherever_it_is_named(db: Database) -> None:
    query = "FOR c IN chunks LET d = APPROX_NEAR_L2(@q, c.embedding, {nProbe: 5}) SORT d LIMIT 1 RETURN [c._key, d]"
    [[key, distance]] = db.run(query, {"q": [0.0, 1.0, 52.0]})
    assert (key, distance) == ("c52", 0)


@pytest.mark.parametrize(
    "query",
    [
        "FOR c IN chunks SORT APPROX_NEAR_L2(c.embedding, @q) RETURN c",
        "FOR c IN chunks SORT APPROX_NEAR_L2(c.embedding, @q) DESC LIMIT 1 RETURN c",
        "FOR c IN chunks SORT APPROX_NEAR_L2(c.embedding, @q), c._key LIMIT 1 RETURN c",
        "FOR c IN chunks SORT APPROX_NEAR_COSINE(c.embedding, @q) DESC LIMIT 1 RETURN c",
        "FOR c IN chunks SORT APPROX_NEAR_L2(c.other, @q) LIMIT 1 RETURN c",
        "FOR c IN plain SORT APPROX_NEAR_L2(c.embedding, @q) LIMIT 1 RETURN c",
        "FOR c IN chunks FILTER c.index == 1 FILTER c.camera == 'x' SORT APPROX_NEAR_L2(c.embedding, @q) LIMIT 1 RETURN c",
        "FOR c IN chunks LET d = APPROX_NEAR_L2(c.embedding, @q) FILTER d < 1 SORT d LIMIT 1 RETURN c",
        "FOR x IN 1..2 FOR c IN chunks FILTER c.index == x SORT APPROX_NEAR_L2(c.embedding, @q) LIMIT 1 RETURN c",
        "FOR c IN chunks RETURN APPROX_NEAR_L2(c.embedding, @q)",
    ],
)
def test_any_other_use_of_a_vector_distance_is_refused(db: Database, query: str) -> None:
    with pytest.raises(ArangoError, match=r"\[1554\]"):
        db.run(query, QUERY)


@pytest.mark.parametrize("vector", [[1.0], "x", None, [1.0, 2.0, "x"]])
def test_a_bad_query_vector(db: Database, vector: Any) -> None:
    with pytest.raises(ArangoError, match=r"\[1542\]"):
        db.run(NEAR % "", {"q": vector})


# -- switches


def test_rules_can_be_switched_off(db: Database) -> None:
    query = "FOR c IN chunks FILTER c.camera == 'cam1' RETURN c._key"
    for switches in (["-use-indexes"], ["-all"]):
        assert "IndexNode" not in [n["type"] for n in db.plan(query, optimizer={"rules": switches})["nodes"]]
        assert len(db.run(query, optimizer={"rules": switches})) == 20
    assert "IndexNode" in [n["type"] for n in db.plan(query, optimizer={"rules": ["-all", "+use-indexes"]})["nodes"]]


# -- views


@pytest.fixture
def words(fresh: Database) -> Any:
    from vgraph.embedded import view_store

    texts = ["red car", "red red car", "blue car", "red dog", "dog", "red car"] * 20
    fresh.collection("texts", [{"_key": f"t{n:03}", "text": text, "n": n % 4} for n, text in enumerate(texts)])
    with fresh.engine.writing() as txn:
        fields = {"text": {"analyzers": ["text_en"]}, "n": {}}
        view_store.create_view(txn, "words", "arangosearch", {"links": {"texts": {"fields": fields}}})
    return fresh


SEARCH = "FOR d IN words SEARCH ANALYZER(d.text == @word, 'text_en') AND (@n == null OR d.n == @n) "


@pytest.mark.parametrize("number", [None, 1])
@pytest.mark.parametrize(
    "tail",
    [
        "SORT BM25(d) DESC LIMIT 5 RETURN [d._key, BM25(d)]",
        "LET s = BM25(d) SORT s DESC LIMIT 2, 5 RETURN [d._key, s]",
        "SORT BM25(d) DESC, d._key DESC LIMIT 7 RETURN [d._key, BM25(d)]",
        "SORT TFIDF(d) DESC, BM25(d), d._key LIMIT 3 RETURN [d._key, TFIDF(d)]",
        "SORT d._key LIMIT 3 RETURN [d._key, BM25(d)]",
        "FILTER d.n > 1 SORT BM25(d) DESC, d._key LIMIT 3 RETURN [d._key, BM25(d)]",
    ],
)
def test_the_best_of_a_view_are_those_of_a_full_sort(words: Database, tail: str, number: Any) -> None:
    binds = {"word": "red", "n": number}
    fast = words.run(SEARCH + tail, binds)
    slow = words.run(SEARCH + tail, binds, optimizer={"rules": ["-arangosearch-constrained-sort"]})
    assert [row[1] for row in fast] == [row[1] for row in slow]
    if "d._key" in tail.split("LIMIT")[0]:
        assert fast == slow
    assert words.result(SEARCH + tail, binds, fullCount=True).all() == fast


def test_each_view_of_a_query_has_its_own_scores(words: Database) -> None:
    query = """
        FOR a IN words SEARCH ANALYZER(a.text == 'blue', 'text_en') LIMIT 1
          FOR b IN words SEARCH ANALYZER(b.text == 'red', 'text_en') AND b.n == a.n SORT BM25(a) + BM25(b) DESC LIMIT 1
            RETURN [BM25(a) > BM25(b), BM25(b) > 0, BM25(a) > 0]
    """
    assert words.run(query) == [[True, True, True]]


def test_only_the_best_documents_are_fetched(words: Database) -> None:
    query = SEARCH + "SORT BM25(d) DESC LIMIT 5 RETURN d"
    assert words.types(query, {"word": "red", "n": None}) == [
        "SingletonNode",
        "EnumerateViewNode",
        "LimitNode",
        "ReturnNode",
    ]
    assert words.stats(query, {"word": "red", "n": None})["scannedIndex"] == 5
    assert words.stats(SEARCH + "LIMIT 2 RETURN d", {"word": "red", "n": None})["scannedIndex"] == 2


def test_scores_only_of_views(words: Database) -> None:
    with pytest.raises(ArangoError, match=r"\[10\]"):
        words.run("FOR d IN texts SORT BM25(d) RETURN d")
