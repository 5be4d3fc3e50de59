"""Plans as they are built: node types, collections read and written, and what a query may not do."""

from __future__ import annotations

from typing import Any

import pytest

from vgraph.embedded.aql import prepare
from vgraph.embedded.aql.prepare import plan_query
from vgraph.embedded.errors import ArangoError

Database = Any  # of conftest.py


@pytest.fixture(scope="module", autouse=True)
def collections(db: Database) -> None:
    db.collection("users", [{"_key": "a", "age": 1}])
    db.collection("items")
    db.collection("knows", edges=True)


def test_each_statement_becomes_its_node(db: Database) -> None:
    query = (
        "FOR u IN users FILTER RAND() < 2 SORT RAND() LIMIT 3 COLLECT a = u.age INTO g "
        "WINDOW {preceding: 1} AGGREGATE s = SUM(a) RETURN s"
    )
    assert db.types(query) == [
        "SingletonNode", "EnumerateCollectionNode", "FilterNode", "SortNode", "LimitNode", "CollectNode", "SortNode", "WindowNode",
        "ReturnNode",
    ]  # fmt: skip


def test_walks_become_their_nodes(db: Database) -> None:
    assert "TraversalNode" in db.types("FOR v IN 1..2 ANY 'users/a' knows RETURN v")
    assert "ShortestPathNode" in db.types("FOR v IN OUTBOUND SHORTEST_PATH 'users/a' TO 'users/b' knows RETURN v")
    assert "EnumeratePathsNode" in db.types("FOR p IN OUTBOUND K_PATHS 'users/a' TO 'users/b' knows RETURN p")


def test_a_subquery_is_a_step_unless_it_may_not_be_needed(db: Database) -> None:
    assert "SubqueryStartNode" in db.types("FOR u IN users RETURN [(FOR i IN items FILTER i.u == u.age RETURN i)]")
    assert "SubqueryStartNode" not in db.types("FOR u IN users RETURN u.age > 3 ? (FOR i IN items RETURN i) : []")


def test_a_plan_names_what_it_reads_and_writes(db: Database) -> None:
    plan = db.plan("FOR u IN users FOR v IN 1..1 ANY u knows INSERT {x: v.y} INTO items")
    assert plan["collections"] == [
        {"name": "knows", "type": "read"},
        {"name": "users", "type": "read"},
        {"name": "items", "type": "write"},
    ]
    assert plan["isModificationQuery"]


@pytest.mark.parametrize(
    ("number", "query"),
    [
        (1203, "FOR x IN nothing RETURN x"),
        (1579, "REMOVE 'a' IN users FOR u IN users RETURN u"),
        (1579, "REMOVE 'a' IN users INSERT {} INTO users"),
        (1579, "INSERT {} INTO items FOR v IN 1..1 ANY 'users/a' knows RETURN v"),
        (1579, "INSERT {} INTO items RETURN LENGTH(items)"),
        (1579, "LET x = (INSERT {} INTO items) FOR i IN items RETURN i"),
        (1595, "FOR u IN users INSERT u INTO items WINDOW {preceding: 1} AGGREGATE n = COUNT() RETURN n"),
        (1575, "FOR u IN users INSERT u INTO items OPTIONS {ignoreErrors: u.age}"),
        (1501, "FOR u IN users FOR v IN 1..u.age ANY u knows RETURN v"),
        (1501, "FOR u IN [1] SEARCH u == 1 RETURN u"),
        (1218, "FOR v IN 1..1 ANY 'users/a' users RETURN v"),
        (1501, "FOR v IN 1..1 ANY null knows RETURN v"),
        (1924, "FOR v IN 1..1 ANY 'users/a' GRAPH 'nothing' RETURN v"),
    ],
)
def test_what_a_query_may_not_do(db: Database, number: int, query: str) -> None:
    with pytest.raises(ArangoError, match=rf"\[{number}\]"):
        db.run(query)


@pytest.mark.parametrize(
    ("number", "query", "binds"),
    [
        (1551, "RETURN @a", {}),
        (1552, "RETURN 1", {"a": 1}),
        (1553, "FOR x IN @@c RETURN x", {"@c": 1}),
        (1203, "FOR x IN @@c RETURN x", {"@c": "nothing"}),
    ],
)
def test_binds_are_checked(db: Database, number: int, query: str, binds: dict[str, Any]) -> None:
    with pytest.raises(ArangoError, match=rf"\[{number}\]"):
        db.run(query, binds)


def test_a_plan_is_kept_for_the_same_text(db: Database) -> None:
    query = "FOR u IN users FILTER u.age == @age RETURN u.age"
    first, second = db.result(query, {"age": 1}), db.result(query, {"age": 2})
    assert first.variant is second.variant
    assert (first.all(), second.all()) == ([1], [])


def test_facts_about_binds_make_plans_of_their_own(db: Database) -> None:
    query = "FOR u IN users FILTER @age == null OR u.age == @age RETURN u.age"
    assert db.run(query, {"age": None}) == [1]
    assert db.run(query, {"age": 2}) == []
    assert db.run(query, {"age": 1}) == [1]
    plans = [db.result(query, {"age": age}) for age in (None, 1, 3, None)]
    assert [plan.variant is plans[0].variant for plan in plans] == [True, False, False, True]
    for plan in plans:
        plan.close()


def test_a_bound_collection_decides_the_plan(db: Database) -> None:
    query = "FOR u IN @@c COLLECT WITH COUNT INTO n RETURN n"
    assert db.run(query, {"@c": "users"}) == [1]
    assert db.run(query, {"@c": "items"}) == [0]


def test_a_changed_catalog_makes_a_new_plan(fresh: Database) -> None:
    from vgraph.embedded import ddl

    fresh.collection("c", [{"x": 1}])
    query = "FOR d IN c FILTER d.x == 1 RETURN d.x"
    assert "EnumerateCollectionNode" in fresh.types(query)
    with fresh.engine.writing() as txn:
        ddl.create_index(txn, "c", {"type": "persistent", "fields": ["x"]})
    assert "IndexNode" in fresh.types(query)
    assert fresh.run(query) == [1]


def test_planning_compiles_without_running(db: Database) -> None:
    from vgraph.embedded.aql.executor import Run

    with db.engine.reading() as txn:
        variant = plan_query(prepare("FOR i IN 1..3 RETURN FAIL()").parsed, txn, Run({}, txn=txn))
    assert [type(node).__name__ for node in variant.plan.nodes] == ["SingletonNode", "EnumerateListNode", "ReturnNode"]


def test_parse_shows_the_tree(db: Database) -> None:
    from vgraph.embedded.aql import parse

    shown = parse("FOR d IN @@c FILTER d.a == @a RETURN d")
    assert shown["bindVars"] == ["@c", "a"]
    assert [node["type"] for node in shown["ast"][0]["subNodes"]] == ["for", "filter", "return"]


def test_what_planning_evaluates_warns_in_every_run(db: Database) -> None:
    for query, binds in (
        ("FOR u IN users FILTER 1 / 0 == 5 RETURN u", {}),
        ("FOR u IN users FILTER @a / 0 == 5 RETURN u", {"a": 1}),
    ):
        for _ in range(3):
            result = db.result(query, binds)
            assert result.all() == []
            assert [warning["code"] for warning in result.warnings] == [1562]


def test_a_query_has_limits(db: Database) -> None:
    with pytest.raises(ArangoError, match=r"\[32\]"):
        db.run(
            "\n".join(f"LET x{n} = NOOPT({n})" for n in range(1100))
            + f" RETURN [{', '.join(f'x{n}' for n in range(1100))}]"
        )


def test_explain_has_the_server_s_shape(db: Database) -> None:
    from vgraph.embedded.aql import explain

    query = "FOR u IN users FILTER u.age > 1 SORT u.age LIMIT 2 RETURN u.name"
    one, all_ = (explain(db.engine, "_system", query, {}, options) for options in ({}, {"allPlans": True}))
    assert set(one) == {"plan", "cacheable", "warnings", "stats"}
    assert set(all_) == {"plans", "warnings", "stats"}
    assert set(one["plan"]) == {
        "nodes", "rules", "asyncPrefetchNodes", "estimatedCost", "estimatedNrItems", "collections", "variables", "isModificationQuery",
    }  # fmt: skip
    ids = [node["id"] for node in one["plan"]["nodes"]]
    assert len(set(ids)) == len(ids)
    assert [node["dependencies"] for node in one["plan"]["nodes"]] == [[], *([number] for number in ids[:-1])]
    assert explain(db.engine, "_system", "RETURN 1 / 0", {}, {})["warnings"] == [
        {"code": 1562, "message": "division by zero"}
    ]


def test_costs_are_those_of_a_server(fresh: Any) -> None:
    """Figures of plans that a 3.12 server gave for collections of this size."""
    fresh.collection("many", [{"value": n} for n in range(100)], indexes=[{"type": "persistent", "fields": ["value"]}])
    fresh.collection("few", [{"id": n} for n in range(10)], indexes=[{"type": "persistent", "fields": ["id"]}])
    fresh.collection("bare", indexes=[{"type": "persistent", "fields": ["id"]}])

    def costs(query: str, **options: Any) -> list[tuple[str, float, float]]:
        nodes = fresh.plan(query, **options)["nodes"]
        return [(node["type"], node["estimatedNrItems"], round(node["estimatedCost"], 2)) for node in nodes]

    ranged = "FOR i IN many FILTER i.value > 97 SORT i.value RETURN i.value"
    assert costs(ranged)[1] == ("IndexNode", 100, 12.64)
    assert costs(ranged, optimizer={"rules": ["-all"]}) == [
        ("SingletonNode", 1, 1),
        ("EnumerateCollectionNode", 100, 102),
        ("CalculationNode", 100, 202),
        ("FilterNode", 100, 302),
        ("CalculationNode", 100, 402),
        ("SortNode", 100, 1066.39),
        ("CalculationNode", 100, 1166.39),
        ("ReturnNode", 100, 1266.39),
    ]
    assert costs("FOR p IN few FILTER p.id == 4 RETURN p")[1:] == [("IndexNode", 1, 4.37), ("ReturnNode", 1, 5.37)]
    assert costs("FOR p IN bare FILTER p.id == 25 RETURN p")[1:] == [("IndexNode", 0, 1), ("ReturnNode", 0, 1)]
    assert costs("FOR i IN [1, 2, 3] RETURN i")[-2:] == [("EnumerateListNode", 3, 5), ("ReturnNode", 3, 8)]
