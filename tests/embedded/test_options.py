"""OPTIONS: what no statement knows, and values of a wrong kind, warn and have no effect."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.embedded.conftest import Database
from vgraph.embedded import aql, view_store
from vgraph.embedded.errors import ArangoError

INVALID = 1539


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    found = Database(tmp_path / "options.db")
    found.collection("things", [{"_key": "a", "n": 1}, {"_key": "b", "n": 2}])
    found.collection("links", edges=True)
    yield found
    found.engine.close()


LOOP = "FOR t IN things OPTIONS %s RETURN t.n"
WALK = "FOR v IN 1..2 OUTBOUND 'things/a' links OPTIONS %s RETURN v"
PATHS = "FOR p IN OUTBOUND K_PATHS 'things/a' TO 'things/b' links OPTIONS %s RETURN p"
GROUPS = "FOR t IN things COLLECT n = t.n OPTIONS %s RETURN n"
WRITE = "FOR t IN things INSERT {n: 3} INTO things OPTIONS %s"
UPSERT = "UPSERT {n: 4} INSERT {n: 4} UPDATE {} IN things OPTIONS %s"


@pytest.mark.parametrize(
    ("query", "options", "message"),
    [
        (LOOP, "{colour: 1}", "unknown FOR option 'colour'"),
        (LOOP, "{indexHint: []}", "invalid FOR option 'indexHint'"),
        (LOOP, "{forceIndexHint: 1}", "invalid FOR option 'forceIndexHint'"),
        (LOOP, "{waitForSync: 1}", "invalid FOR option 'waitForSync'"),
        (LOOP, "{indexHint: 'i', disableIndex: true}", "contradicting FOR option 'disableIndex'"),
        (WALK, "{disableIndex: true}", "unknown TRAVERSAL option 'disableIndex'"),
        (WALK, "{indexHint: 'i'}", "invalid TRAVERSAL option 'indexHint'"),
        (WALK, "{bfs: true, order: 'bfs'}", "contradicting TRAVERSAL option 'order'"),
        (PATHS, "{weightAttribute: 3}", "invalid K_PATHS option 'weightAttribute'"),
        (GROUPS, "{method: 'guess'}", "invalid COLLECT option 'method'"),
        (GROUPS, "{indexHint: 'i'}", "unknown COLLECT option 'indexHint'"),
        (WRITE, "{overwriteMode: true}", "invalid INSERT option 'overwriteMode'"),
        (WRITE, "{useCache: true}", "unknown INSERT option 'useCache'"),
        (UPSERT, "{lookahead: 1}", "unknown UPSERT option 'lookahead'"),
    ],
)
def test_options_that_warn(db: Database, query: str, options: str, message: str) -> None:
    for _ in range(2):  # the plan is kept, its warnings with it
        result = db.result(query % options)
        result.all()
        assert [(item["code"], item["message"]) for item in result.warnings] == [(INVALID, message)]
    explained = aql.explain(db.engine, "_system", query % options)["warnings"]
    assert [item["message"] for item in explained] == [message]
    with pytest.raises(ArangoError) as caught:
        db.run(query % options, failOnWarning=True)
    assert caught.value.num == INVALID


@pytest.mark.parametrize(
    ("query", "options"),
    [
        (LOOP, "{useCache: false, maxProjections: 3, lookahead: 1, disableIndex: true, waitForSync: true}"),
        (LOOP, "{indexHint: ['x', 'y'], forceIndexHint: false}"),
        (WALK, "{order: 'dfs', parallelism: 2, indexHint: {links: {outbound: {base: 'i'}}}}"),
        (PATHS, "{weightAttribute: 'w', defaultWeight: 2}"),
        (GROUPS, "{method: 'sorted', disableIndex: true}"),
        (WRITE, "{overwriteMode: 'ignore', keepNull: false, waitForSync: 1, exclusive: true}"),
        (UPSERT, "{readOwnWrites: false, indexHint: 'i', forceIndexHint: false}"),
    ],
)
def test_options_that_are_known(db: Database, query: str, options: str) -> None:
    result = db.result(query % options)
    result.all()
    assert result.warnings == []


def test_a_search_waits_or_not(db: Database) -> None:
    with db.engine.writing() as txn:
        view_store.create_view(txn, "v", "arangosearch", {"links": {"things": {"includeAllFields": True}}})
    query = "FOR t IN v SEARCH t.n == 1 OPTIONS %s RETURN t.n"
    assert db.run(query % "{waitForSync: true}") == [1]
    with pytest.raises(ArangoError) as caught:
        db.run(query % "{waitForSync: 1}")
    assert caught.value.num == 10


def test_plain_bind_values_name_data_sources_where_nothing_else_can_stand(db: Database) -> None:
    db.run("INSERT {_from: 'things/a', _to: 'things/b'} INTO links")
    query = "WITH @all FOR v IN OUTBOUND 'things/a' @edges RETURN v.n"
    assert db.run(query, {"all": "things", "edges": "links"}) == [2]
    with pytest.raises(ArangoError) as caught:
        db.run(query, {"all": "things", "edges": 7})
    assert caught.value.num == 1553


def test_pseudo_variables_have_a_dollar_sign_too(db: Database) -> None:
    query = (
        "UPSERT FILTER $CURRENT.n == @n INSERT {n: @n, hits: 1} UPDATE {hits: $OLD.hits + 1} IN things RETURN $NEW.hits"
    )
    assert [db.run(query, {"n": 9}) for _ in range(3)] == [[1], [2], [3]]


def test_a_graph_without_edges_cannot_be_walked(db: Database) -> None:
    db.run("INSERT {_key: 'bare', edgeDefinitions: [], orphanCollections: ['things']} INTO _graphs")
    with pytest.raises(ArangoError) as caught:
        db.run("FOR v IN OUTBOUND 'things/a' GRAPH 'bare' RETURN v")
    assert caught.value.num == 1940


@pytest.mark.parametrize("fields", [["n", "tags[*]"], ["n", "tags[*]", "marks[*].m"]])
def test_an_index_over_elements_is_not_asked_for_documents_without_any(db: Database, fields: list[str]) -> None:
    db.collection(
        "tagged",
        [
            {"n": 1, "tags": ["x", "y"], "marks": [{"m": 1}, {"m": 2}], "key": 1},
            {"n": 1, "tags": [], "marks": [], "key": 2},
            {"n": 1, "tags": "x", "key": 3},
            {"n": 1, "key": 4},
        ],
        indexes=[{"type": "persistent", "fields": fields}],
    )
    assert db.run("FOR t IN tagged FILTER t.n == 1 SORT t.key RETURN t.key") == [1, 2, 3, 4]
    assert db.run("FOR t IN tagged FILTER t.n < 2 SORT t.key RETURN t.key") == [1, 2, 3, 4]
    assert sorted(db.run("FOR t IN tagged SORT t.n RETURN t.key")) == [1, 2, 3, 4]
    assert db.run("FOR t IN tagged FILTER t.n == 1 AND 'y' IN t.tags[*] RETURN t.key") == [1]


@pytest.mark.parametrize("name", ["", [], [""], ["n", ""], 1, None, {}])
def test_names_of_attributes_are_bound_by_names(db: Database, name: object) -> None:
    with pytest.raises(ArangoError) as caught:
        db.run("FOR t IN things RETURN t.@name", {"name": name})
    assert caught.value.num == 1553


def test_too_many_statements_are_at_most_too_much_nesting(db: Database) -> None:
    try:  # how many are too many depends on the interpreter's limit
        assert db.run("LET x = NOOPT(1) " + "FILTER x " * 2000 + "RETURN 1") == [1]
    except ArangoError as error:
        assert error.num == 1524
