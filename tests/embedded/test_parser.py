"""From AQL text to the syntax tree."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgraph.embedded.aql import nodes as n
from vgraph.embedded.aql.parser import parse
from vgraph.embedded.errors import ArangoError


def statements(text: str) -> tuple[n.Statement, ...]:
    return parse(text).query.statements


def expression(text: str) -> n.Expr:
    found = statements(f"LET a = 1 LET b = 2 LET c = 3 LET d = 4 RETURN {text}")[-1]
    assert isinstance(found, n.Return)
    return found.value


def error(text: str) -> ArangoError:
    with pytest.raises(ArangoError) as caught:
        parse(text)
    return caught.value


A, B, C, D = (n.Variable(name, number) for number, name in enumerate("abcd"))


def one(value: object) -> n.Literal:
    return n.Literal(value)


# ------------------------------------------------------------------------------------------------- precedence


def test_not_binds_tighter_than_every_binary_operator():
    assert expression("NOT a LIKE b") == n.Call("LIKE", (n.Unary("NOT", A), B))
    assert expression("!a == b") == n.Binary("==", n.Unary("NOT", A), B)


def test_arithmetic_and_comparison_levels():
    assert expression("a + b * c") == n.Binary("+", A, n.Binary("*", B, C))
    assert expression("a - b - c") == n.Binary("-", n.Binary("-", A, B), C)
    assert expression("a..b + c") == n.Range(A, n.Binary("+", B, C))
    assert expression("a < b IN c == d") == n.Binary("==", n.Binary("IN", n.Binary("<", A, B), C), D)


def test_and_binds_tighter_than_or_and_both_looser_than_comparison():
    assert expression("a OR b AND c == d") == n.Binary("OR", A, n.Binary("AND", B, n.Binary("==", C, D)))


def test_negated_matching():
    assert expression("a NOT LIKE b") == n.Unary("NOT", n.Call("LIKE", (A, B)))
    assert expression("a !~ b") == n.Unary("NOT", n.Call("REGEX_TEST", (A, B)))
    assert expression("a NOT =~ b") == n.Unary("NOT", n.Call("REGEX_TEST", (A, B)))
    assert expression("LIKE(a, b)") == n.Call("LIKE", (A, B))


def test_a_quantifier_takes_everything_down_to_and():
    assert expression("a == b ANY == c AND d") == n.Binary(
        "AND", n.Quantified("ANY", None, "==", n.Binary("==", A, B), C), D
    )
    assert expression("a AT LEAST (2) NOT IN b") == n.Quantified("AT LEAST", one(2), "NOT IN", A, B)


def test_ternaries_nest_to_the_right_and_may_leave_out_the_middle():
    assert expression("a ? b : c ? d : a") == n.Ternary(A, B, n.Ternary(C, D, A))
    assert expression("a ? : b") == n.Ternary(A, None, B)


def test_a_minus_before_a_number_is_part_of_it():
    assert expression("-5") == one(-5)
    assert expression("a -5") == n.Binary("-", A, one(5))


# ---------------------------------------------------------------------------------------------------- values


def test_accessors():
    assert expression("a.b.`c d`[0]['e'][b]") == n.Index(
        n.Attribute(n.Index(n.Attribute(n.Attribute(A, "b"), "c d"), one(0)), "e"), B
    )
    assert expression("a.@x") == n.BoundAttribute(A, n.Bind("x"))


def test_accessors_after_an_expansion_apply_to_each_element():
    found = expression("a[*].b[0]")
    assert isinstance(found, n.Expansion)
    assert found.value == n.Index(n.Attribute(found.current, "b"), one(0))


def test_a_second_expansion_goes_into_the_first_but_not_through_brackets():
    inner = expression("a[*].b[*]")
    assert isinstance(inner, n.Expansion) and isinstance(inner.value, n.Expansion)
    outer = expression("(a[*].b)[*]")
    assert isinstance(outer, n.Expansion) and isinstance(outer.base, n.Expansion)


def test_a_third_expansion_goes_through_what_the_second_makes_of_an_element():
    found = expression("a[*].b[*].c[*]")
    assert isinstance(found, n.Expansion) and isinstance(found.value, n.Expansion)
    assert isinstance(found.value.base, n.Expansion)


def test_an_expansion_of_more_levels_goes_through_the_whole_result():
    found = expression("a[*].b[**].c")
    assert isinstance(found, n.Expansion) and found.levels == 2 and isinstance(found.base, n.Expansion)
    assert found.value == n.Attribute(found.current, "c")


def test_inline_filter_limit_and_return():
    found = expression("a[* FILTER CURRENT.x > b LIMIT 1, 2 RETURN CURRENT.y]")
    assert isinstance(found, n.Expansion)
    assert found.filter == n.Binary(">", n.Attribute(found.current, "x"), B)
    assert (found.offset, found.count) == (one(1), one(2))
    assert found.value == n.Attribute(found.current, "y")


@pytest.mark.parametrize(
    ("text", "quantifier", "low", "high"),
    [
        ("a[?]", "ANY", None, None),
        ("a[? FILTER CURRENT]", "ANY", None, None),
        ("a[? ALL FILTER CURRENT]", "ALL", None, None),
        ("a[? 2 FILTER CURRENT]", "BETWEEN", one(2), None),
        ("a[? 2..3 FILTER CURRENT]", "BETWEEN", one(2), one(3)),
        ("a[? AT LEAST (2) FILTER CURRENT]", "AT LEAST", one(2), None),
    ],
)
def test_question_mark_operator(text: str, quantifier: str, low: n.Expr | None, high: n.Expr | None):
    found = expression(text)
    assert isinstance(found, n.ArrayMatch)
    assert (found.quantifier, found.low, found.high) == (quantifier, low, high)


def test_object_literals():
    found = expression("{a, 'x': 1, @k: 2, [CONCAT(a)]: 3, any: 4, x: 5,}")
    assert isinstance(found, n.ObjectLiteral)
    assert [entry.key for entry in found.entries] == [
        "a",
        "x",
        n.Bind("k"),
        n.Call("TO_STRING", (n.Call("CONCAT", (A,)),)),
        "any",
    ]
    assert found.get("x") == one(1)  # of equal keys the first counts


def test_a_subquery_may_be_a_bare_argument():
    found = expression("SUM(FOR x IN [1] RETURN x)")
    assert isinstance(found, n.Call) and isinstance(found.args[0], n.Subquery)


def test_what_is_not_a_variable_is_a_data_source():
    parsed = parse("FOR x IN users FILTER x.a == other RETURN LENGTH(logs)")
    assert parsed.reads == (n.Collection("users"), n.Collection("other"), n.Collection("logs"))
    assert parsed.query.statements[-1] == n.Return(n.Call("COLLECTION_COUNT", (n.Collection("logs"),)))


# ------------------------------------------------------------------------------------------------- statements


def test_destructuring_becomes_lets():
    hidden, x, y = n.Variable("", 0), n.Variable("x", 1), n.Variable("y", 2)
    assert statements("FOR [x, , {b: y}] IN @rows RETURN x") == (
        n.For(hidden, n.Bind("rows")),
        n.Let(x, n.Index(hidden, one(0))),
        n.Let(y, n.Attribute(n.Index(hidden, one(2)), "b")),
        n.Return(x),
    )
    assert [s.variable.name for s in statements("LET {x, y} = @o RETURN 1") if isinstance(s, n.Let)][1:] == ["x", "y"]


def test_destructuring_may_skip():
    found = statements("LET {, x, , y} = @o LET [] = @a LET {} = @o RETURN [x, y]")
    assert [s.variable.name for s in found if isinstance(s, n.Let) and isinstance(s.value, n.Attribute)] == ["x", "y"]


def test_quantified_matching_is_an_array_match():
    found = expression("a ANY NOT LIKE 'x%'")
    assert isinstance(found, n.ArrayMatch)
    assert found.filter == n.Unary("NOT", n.Call("LIKE", (found.current, one("x%"))))


def test_traversal():
    v, e, p = (n.Variable(name, number) for number, name in enumerate("vep"))
    assert statements(
        "FOR v, e, p IN 1..@max ANY @start edges, INBOUND @@more PRUNE e.w > 1 OPTIONS {order: 'bfs'} RETURN v"
    )[0] == n.Traverse(
        v,
        e,
        p,
        "ANY",
        n.Bind("start"),
        one(1),
        n.Bind("max"),
        (n.EdgeCollection(n.Collection("edges")), n.EdgeCollection(n.CollectionBind("more"), "INBOUND")),
        n.Binary(">", n.Attribute(e, "w"), one(1)),
        None,
        n.ObjectLiteral((n.ObjectEntry("order", one("bfs")),)),
    )


def test_prune_may_name_its_condition():
    found = statements("FOR v IN OUTBOUND 'a/1' GRAPH 'g' PRUNE stop = v.x FILTER stop RETURN v")
    assert isinstance(found[0], n.Traverse) and found[0].prune_variable == n.Variable("stop", 1)
    assert found[1] == n.Filter(n.Variable("stop", 1))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("FOR v, e IN OUTBOUND SHORTEST_PATH 'a/1' TO 'a/2' GRAPH 'g' RETURN v", "SHORTEST_PATH"),
        ("FOR p IN ANY K_SHORTEST_PATHS 'a/1' TO 'a/2' edges RETURN p", "K_SHORTEST_PATHS"),
        ("FOR p IN INBOUND ALL_SHORTEST_PATHS 'a/1' TO 'a/2' GRAPH @g RETURN p", "ALL_SHORTEST_PATHS"),
        ("FOR p IN 1..10 OUTBOUND K_PATHS 'a/1' TO 'a/2' GRAPH 'g' RETURN p", "K_PATHS"),
    ],
)
def test_paths(text: str, kind: str):
    found = statements(text)[0]
    assert isinstance(found, n.ShortestPath) and found.kind == kind


def test_sort_directions():
    found = statements("FOR x IN [] SORT x.a, x.b DESC, x.c ASC, x.d @dir RETURN x")[1]
    assert isinstance(found, n.Sort)
    assert [key.ascending for key in found.keys] == [True, False, True, n.Bind("dir")]


def test_in_of_a_modification_is_told_from_the_operator():
    found = statements("FOR x IN [1] REMOVE x IN [1] IN users")[1]
    assert isinstance(found, n.Remove)
    assert isinstance(found.key, n.Binary) and found.collection == n.Collection("users")
    found = statements("UPDATE 'a' WITH {x: 1 IN [1]} IN users OPTIONS {keepNull: false} RETURN NEW")[0]
    assert isinstance(found, n.Update) and found.options is not None


def test_modifications_declare_old_and_new():
    insert, back = statements("INSERT {} INTO users RETURN [OLD, NEW]")
    assert isinstance(insert, n.Insert)
    assert back == n.Return(n.ArrayLiteral((insert.old, insert.new)))
    _, second, back = statements("REMOVE 'a' IN users REMOVE 'b' IN users RETURN OLD")
    assert isinstance(second, n.Remove) and back == n.Return(second.old)


def test_upsert_by_example_and_by_filter():
    found = statements("UPSERT {a: 1} INSERT {a: 1} UPDATE {n: OLD.n + 1} IN users")[0]
    assert isinstance(found, n.Upsert) and found.kind == "UPDATE"
    assert found.update == n.ObjectLiteral((n.ObjectEntry("n", n.Binary("+", n.Attribute(found.old, "n"), one(1))),))
    found = statements("UPSERT FILTER CURRENT.a == 1 INSERT {} REPLACE {} IN users")[0]
    assert isinstance(found, n.Upsert) and found.kind == "REPLACE"
    assert found.condition == n.Binary("==", n.Attribute(found.current, "a"), one(1))


def test_collect_captures_the_variables_of_its_loops_not_those_of_the_top():
    found = statements("LET top = 1 FOR u IN users LET x = u.x COLLECT c = u.c INTO g RETURN [c, g, top]")[3]
    assert isinstance(found, n.Collect)
    assert [variable.name for variable in found.captured] == ["u", "x"]
    found = statements("LET top = 1 COLLECT c = top INTO g RETURN g")[1]
    assert isinstance(found, n.Collect)
    assert [variable.name for variable in found.captured] == ["top"]


def test_collect_ends_the_variables_before_it():
    assert isinstance(statements("FOR u IN users COLLECT c = u.c RETURN u")[-1].value, n.Collection)
    assert error("FOR u IN users COLLECT c = u.c RETURN {u}").num == 1512


@pytest.mark.parametrize(
    "text",
    [
        "COLLECT c = u.c INTO g KEEP u",
        "COLLECT c = u.c INTO g = u.x",
        "COLLECT c = u.c WITH COUNT INTO k",
        "COLLECT WITH COUNT INTO k",
        "COLLECT AGGREGATE k = COUNT(), m = MAX(u.x)",
        "COLLECT c = u.c AGGREGATE m = PUSH(u.x) INTO g OPTIONS {method: 'sorted'}",
    ],
)
def test_forms_of_collect(text: str):
    assert isinstance(statements(f"FOR u IN users {text} RETURN 1")[1], n.Collect)


def test_window_by_rows_and_by_range():
    rows = statements("FOR u IN users WINDOW {preceding: 1} AGGREGATE s = SUM(u.x) RETURN s")[1]
    assert isinstance(rows, n.Window) and rows.range is None
    span = statements("FOR u IN users WINDOW u.t WITH {preceding: 1} AGGREGATE s = SUM(u.x) RETURN s")[1]
    assert isinstance(span, n.Window) and span.range == n.Attribute(n.Variable("u", 0), "t")


def test_search_and_with():
    parsed = parse(
        "WITH a, @@b FOR d IN view SEARCH ANALYZER(d.x == 1, 'text_en') OPTIONS {waitForSync: true} RETURN d"
    )
    assert parsed.query.withs == (n.Collection("a"), n.CollectionBind("b"))
    assert isinstance(parsed.query.statements[0], n.For) and parsed.query.statements[0].search is not None


def test_binds_are_listed_in_order_of_appearance():
    assert parse("FOR x IN @@c FILTER x.a == @v AND x.@w == @v RETURN x").binds == ("@c", "v", "w")


# ---------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "FOR i IN 1..100 FILTER i = 1 LIMIT 2 RETURN i * 3",
            "syntax error, unexpected assignment near '= 1 LIMIT 2 RETURN i * 3' at position 1:26",
        ),
        ("RETURN 1 +", "syntax error, unexpected end of query string near '+' at position 1:10"),
        ("\nRETURN 1 + ", "syntax error, unexpected end of query string near ' ' at position 2:11"),
        ("RETURN '\nabcd", "syntax error, unterminated quoted literal near '' at position 2:5"),
        (
            "LET a = 1 LET a = 2 RETURN a",
            "variable 'a' is assigned multiple times near 'a = 2 RETURN a' at position 1:15",
        ),
        ("RETURN NOSUCH(1)", "usage of unknown function 'NOSUCH()'"),
        (
            "RETURN LENGTH()",
            "invalid number of arguments for function 'LENGTH()', expected number of arguments: minimum: 1, maximum: 1",
        ),
        ("RETURN 1\n  +\n* 2", "syntax error, unexpected * operator near '* 2' at position 3:1"),
    ],
)
def test_errors_say_what_and_where(text: str, message: str):
    assert error(text).message == message


@pytest.mark.parametrize(
    ("text", "num"),
    [
        ("", 1502),
        ("   ", 1501),
        ("FOR x IN [1]", 1501),
        ("RETURN 1 RETURN 2", 1501),
        ("RETURN DISTINCT 1", 1501),
        ("FOR a IN [] FOR a IN [] RETURN a", 1511),
        ("LET a = 1 RETURN (FOR a IN [] RETURN a)", 1511),
        ("RETURN {nothing}", 1512),
        ("LET [a, a] = [] RETURN a", 1511),
        ("LET `_0` = 1 RETURN 1", 1501),
        ("RETURN [1, , ]", 1501),
        ("RETURN {,}", 1501),
        ("RETURN 1.", 1501),
        ("RETURN " + ", ".join(f"(FOR x IN c{i} RETURN x)" for i in range(3)), 1501),
        ("RETURN [" + ", ".join(f"(FOR x IN c{i} RETURN x)" for i in range(2049)) + "]", 1522),
        ("RETURN NOSUCH(1)", 1540),
        ("RETURN LENGTH()", 1541),
        ("RETURN LENGTH(1, 2)", 1541),
        ("RETURN MY::FUN(1)", 1582),
        ("FOR u IN [] COLLECT AGGREGATE x = u.a RETURN x", 1574),
        ("FOR u IN [] COLLECT AGGREGATE x = CONCAT(u.a) RETURN x", 1574),
        ("FOR u IN [] COLLECT a = 1 INTO g KEEP nothing RETURN g", 1512),
        ("FOR u IN [] COLLECT a = 1 KEEP u RETURN a", 1501),
        ("FOR v, e, p, q IN OUTBOUND 'a/1' edges RETURN v", 1501),
        ("FOR a, b IN [] RETURN a", 1501),
        ("FOR v IN OUTBOUND 'a/1' edges PRUNE (RETURN 1) RETURN v", 1501),
        ("UPSERT 1 INSERT {} UPDATE {} IN c", 1501),
        ("FOR x IN c OPTION {} RETURN x", 1501),
        ("RETURN doc.for", 1501),
        ("RETURN " + "(" * 600 + "1" + ")" * 600, 1524),
        ("RETURN " + "+".join(["1"] * 600), 1524),
        ("RETURN " + "NOT " * 600 + "1", 1524),
        ("LET " + "[" * 600 + "a" + "]" * 600 + " = 1 RETURN a", 1524),
        ("RETURN 1 " + "LET x = 1 " * 10, 1501),
        ("FOR x IN [] " + "FILTER x " * 4000 + " RETURN x", 1524),
        (" ".join(f"LET v{i} = 1" for i in range(1001)) + " RETURN 1", 32),
    ],
)
def test_errors_have_the_servers_number(text: str, num: int):
    assert error(text).num == num


def test_four_hundred_levels_are_allowed():
    parse("RETURN " + "(" * 400 + "1" + ")" * 400)
    parse("RETURN " + "+".join(["1"] * 400))


WORDS = """FOR x y IN users LET = FILTER RETURN COLLECT INTO WITH COUNT AGGREGATE SUM ( ) [ ] { } , : ? .. . * + - / %
== != < > <= >= AND OR NOT LIKE =~ IN @a @@c 1 2.5 'text' null true ANY ALL NONE OUTBOUND INBOUND GRAPH SHORTEST_PATH
TO PRUNE OPTIONS SORT ASC DESC LIMIT INSERT UPDATE REPLACE REMOVE UPSERT KEEP WINDOW DISTINCT CURRENT OLD NEW SEARCH
LENGTH("""


@given(st.lists(st.sampled_from(WORDS.split()), max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_words_give_a_tree_or_an_arango_error(words: list[str]):
    try:
        parse(" ".join(words))
    except ArangoError as error:
        assert error.num in (1501, 1502, 1511, 1512, 1524, 1540, 1541, 1574, 1582)


@given(st.text(max_size=200))
@settings(deadline=None)
def test_any_text_gives_a_tree_or_an_arango_error(text: str):
    try:
        parse(text)
    except ArangoError as error:
        assert 1500 <= error.num < 1600


def test_transform_keeps_what_it_does_not_change():
    tree = parse("FOR x IN [1, 2] FILTER x > 1 RETURN x").query
    assert n.transform(tree, lambda node: node) is tree
    changed = n.transform(tree, lambda node: n.Literal(9) if node == n.Literal(2) else node)
    assert changed.statements[1] is tree.statements[1] and changed.statements[0] != tree.statements[0]
    assert n.variables(tree) == {n.Variable("x", 0)}
