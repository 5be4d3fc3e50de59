"""The lint names what differs between ArangoDB 3.12 and 4.x, and passes what does not."""

from __future__ import annotations

import pytest

from vgraph.embedded.aql.lint import lint


@pytest.mark.parametrize(
    ("query", "rules"),
    [
        ("RETURN 1 + 2", []),
        ("FOR d IN c RETURN d.a + d.b", []),
        ('RETURN "a" + 1', ["plus"]),
        ("FOR d IN c RETURN 1 + d._key", ["plus"]),
        ('RETURN 1 + CONCAT("a", 1)', ["plus"]),
        ('LET s = (true ? "a" : "b") RETURN s + 1', ["plus"]),
        ("LET match = 1 RETURN match", ["word", "word"]),
        ("LET `match` = 1 RETURN `match`", []),
        ("FOR d IN c RETURN d.scan", ["word"]),
        ("RETURN {a: 1, b: 2, a: 3}", ["key"]),
        ("RETURN {a: 1, b: {a: 2}}", []),
        ("WITH v FOR x IN 1..2 OUTBOUND 'v/1' e OPTIONS {bfs: true} RETURN x", ["option"]),
        ("WITH v FOR x IN 1..2 OUTBOUND 'v/1' e OPTIONS {order: 'bfs'} RETURN x", []),
        ("INSERT {} INTO c OPTIONS {overwrite: true}", ["option"]),
        ("INSERT {} INTO c OPTIONS {overwriteMode: 'replace'}", []),
        ("FOR d IN NEAR(c, 1, 2, 3) RETURN d", ["function"]),
        ("FOR x IN OUTBOUND 'v/1' e RETURN x", ["with"]),
        ("FOR x IN OUTBOUND SHORTEST_PATH 'v/1' TO 'v/2' GRAPH 'g' RETURN x", ["with"]),
        ("LET a = (FOR x IN OUTBOUND 'v/1' e RETURN x) RETURN a", ["with"]),
        ("FOR d IN", ["parse"]),
    ],
)
def test_rules(query: str, rules: list[str]) -> None:
    assert [finding.rule for finding in lint(query)] == rules


def test_findings_say_where() -> None:
    [finding] = lint("LET a = 1\nRETURN {a, b: 2,\n  b: 3}")
    assert (finding.line, finding.column) == (3, 3)
    assert str(finding).startswith("3:3: key: ")
