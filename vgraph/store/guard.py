"""What a query may do that a user or a language model wrote: read, and where told so only what it was allowed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from vgraph.errors import UserError
from vgraph.store import schema
from vgraph.store.translate import translated

MODIFYING: Final = frozenset({"InsertNode", "UpdateNode", "ReplaceNode", "RemoveNode", "UpsertNode"})
WALKING: Final = frozenset({"TraversalNode", "ShortestPathNode", "EnumeratePathsNode"})
"""What begins at any vertex that is named, of a collection that stands in no plan."""
REACHING: Final = frozenset(
    [
        "APPLY", "CALL", "COLLECTIONS", "COLLECTION_COUNT", "CURRENT_DATABASE", "CURRENT_USER", "DECODE_REV", "DOCUMENT", "FULLTEXT",
        "NEAR", "PREGEL_RESULT", "SCHEMA_GET", "SCHEMA_VALIDATE", "SHARD_ID", "SLEEP", "V8", "VERSION", "WITHIN", "WITHIN_RECTANGLE",
    ]
)  # fmt: skip
"""Functions that reach what stands in no plan, or tell of the database itself."""


def read_by(db: schema.Database, text: str, binds: Mapping[str, Any], allowed: Collection[str] | None) -> list[str]:
    """The collections that a query reads. Raises UserError for one that changes anything.

    With `allowed` one that reads any other collection is refused too, and whatever could do so unseen: traversals, which begin at any
    vertex that is named, functions that read by name, and functions of users.
    """
    with translated("query"):
        plan: Any = db.aql.explain(text, bind_vars=dict(binds))
        views = {view["name"] for view in db.views()}
    kinds = {node["type"] for node in plan["nodes"]}
    written = [c["name"] for c in plan["collections"] if c["type"] != "read"]
    if written or kinds & MODIFYING:
        raise UserError(f"this query would change {', '.join(written) or 'the database'}: only reading queries are run")
    # a transaction is of collections; a view stands in the plan beside those it links
    read = [c["name"] for c in plan["collections"] if c["name"] not in views]
    if allowed is not None:
        _check(db, text, kinds, read, allowed)
    return read


def _check(db: schema.Database, text: str, kinds: Collection[str], read: list[str], allowed: Collection[str]) -> None:
    if beyond := sorted(set(read) - set(allowed)):
        raise UserError(f"this query reads {', '.join(beyond)}: it may read {', '.join(sorted(allowed))}")
    if WALKING.intersection(kinds):
        raise UserError(
            "this query walks along edges from a vertex it names: join the edges instead, as in "
            "FOR e IN LINKS_TO FILTER e._from == x._id FOR y IN entities FILTER y._id == e._to"
        )
    with translated("query"):
        parsed: Any = db.aql.validate(text)
    called = {name for root in parsed["ast"] for name in _called(root)}
    if reaching := sorted(name for name in called if name in REACHING or "::" in name):
        raise UserError(f"this query calls {', '.join(reaching)}: it may call no function that reads by name")


def _called(node: Mapping[str, Any]) -> Iterator[str]:
    """Names of the functions called in a syntax tree."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if "function call" in str(one.get("type")):
            yield str(one.get("name")).upper()
        waiting += one.get("subNodes", ())
