"""The syntax tree of AQL 3.12: what the parser builds, the planner rearranges and the compiler turns into closures.

Every node is a frozen dataclass whose source position (`at`, line and column from 1) does not take part in equality,
so that two occurrences of one expression are equal. Names are resolved by the parser:

* a `Variable` carries the number of its declaration; a declaration and its uses are equal nodes;
* a `Collection` is any data source by name (collection or view), a `CollectionBind` one given as ``@@name``;
* destructuring (``FOR [a, b] IN x``) is rewritten by the parser to one variable and LETs.

Bind parameters stay in the tree (plans are cached by query text).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeAlias

Position: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Node:
    """Anything in the tree. `at` is (line, column), both from 1."""

    at: Position = field(default=(1, 1), compare=False, repr=False, kw_only=True)


# ------------------------------------------------------------------------------------------------ expressions


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A constant: null, bool, int, float, string; after folding also an array or object (never changed in place)."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and _identical(self.value, other.value)

    def __hash__(self) -> int:
        return hash((Literal, repr(self.value)))


def _identical(left: Any, right: Any) -> bool:
    """Equality that tells 1 from true; 1 and 1.0 differ too, which only costs a missed match."""
    return type(left) is type(right) and repr(left) == repr(right)


@dataclass(frozen=True, slots=True)
class Bind(Node):
    """``@name``: a value given with the query."""

    name: str


@dataclass(frozen=True, slots=True)
class Variable(Node):
    """A declared name and every use of it; `id` is unique in one parse. OLD, NEW and CURRENT are variables too."""

    name: str = field(compare=False)
    id: int


@dataclass(frozen=True, slots=True)
class Collection(Node):
    """A data source by name: collection or view."""

    name: str


@dataclass(frozen=True, slots=True)
class CollectionBind(Node):
    """``@@name``: a data source given with the query. `name` has no ``@``; among the bind values it is "@name".

    Where nothing but a data source can stand, ``@name`` is one as well: a plain bind value.
    """

    name: str
    plain: bool = False


DataSource: TypeAlias = Collection | CollectionBind


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """``base.name`` (also ``base["name"]`` with a constant string)."""

    base: Expr
    name: str


@dataclass(frozen=True, slots=True)
class BoundAttribute(Node):
    """``base.@name``: the bind holds an attribute name or an array of names, one per level."""

    base: Expr
    bind: Bind


@dataclass(frozen=True, slots=True)
class Index(Node):
    """``base[index]``: a number picks an element (negative from the end), a string an attribute."""

    base: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """`op` is "NOT", "+" or "-"."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """`op` is one of + - * / % == != < <= > >= "IN" "NOT IN" "AND" "OR".

    LIKE, =~ and !~ are parsed to calls of LIKE and REGEX_TEST (negated with a `Unary` NOT).
    """

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Quantified(Node):
    """``left ALL|ANY|NONE|AT LEAST (count) op right``; `op` is a comparison, "IN" or "NOT IN"."""

    quantifier: str
    count: Expr | None
    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Ternary(Node):
    """``condition ? then : otherwise``; `then` is None in the shortcut ``condition ? : otherwise``."""

    condition: Expr
    then: Expr | None
    otherwise: Expr


@dataclass(frozen=True, slots=True)
class Range(Node):
    """``low..high``, both included."""

    low: Expr
    high: Expr


@dataclass(frozen=True, slots=True)
class ArrayLiteral(Node):
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class ObjectEntry(Node):
    """One attribute of an object literal. `key` is a `Bind` in ``{@key: …}``, which must then be a string, and a call
    of TO_STRING in ``{[expression]: …}``."""

    key: str | Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class ObjectLiteral(Node):
    entries: tuple[ObjectEntry, ...]

    def get(self, name: str) -> Expr | None:
        """The value of a constant key (any case of letters counts as written), None when there is none."""
        return next((entry.value for entry in self.entries if entry.key == name), None)


@dataclass(frozen=True, slots=True)
class Expansion(Node):
    """``base[* FILTER .. LIMIT .. RETURN ..].suffix``: `base` is flattened `levels` - 1 times, then every element is
    bound to `current`, filtered, cut, and `value` (projection and suffix; `current` itself when there is none) kept."""

    base: Expr
    levels: int
    current: Variable
    filter: Expr | None
    offset: Expr | None
    count: Expr | None
    value: Expr


@dataclass(frozen=True, slots=True)
class ArrayMatch(Node):
    """``base[? quantifier FILTER ..]``. `quantifier` is "ANY", "ALL", "NONE", "AT LEAST" (low), or "BETWEEN"
    (low..high, or exactly low when high is None). Without a filter every element counts."""

    base: Expr
    quantifier: str
    low: Expr | None
    high: Expr | None
    current: Variable
    filter: Expr | None


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A function call; `name` in capitals. An argument may be a `Collection` or `CollectionBind`."""

    name: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Subquery(Node):
    """``(FOR .. RETURN ..)``: the array of its results."""

    query: Query


Expr: TypeAlias = (
    Literal
    | Bind
    | Variable
    | Collection
    | CollectionBind
    | Attribute
    | BoundAttribute
    | Index
    | Unary
    | Binary
    | Quantified
    | Ternary
    | Range
    | ArrayLiteral
    | ObjectLiteral
    | Expansion
    | ArrayMatch
    | Call
    | Subquery
)


# ------------------------------------------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class For(Node):
    """``FOR variable IN source [SEARCH search] [OPTIONS options]``. `source` is a data source or an expression."""

    variable: Variable
    source: Expr
    search: Expr | None = None
    options: Expr | None = None


@dataclass(frozen=True, slots=True)
class EdgeCollection(Node):
    """One edge collection of an anonymous graph; `direction` overrides that of the statement."""

    collection: DataSource
    direction: str | None = None


@dataclass(frozen=True, slots=True)
class NamedGraph(Node):
    """``GRAPH "name"`` or ``GRAPH @name``."""

    name: Literal | Bind


GraphSource: TypeAlias = NamedGraph | tuple[EdgeCollection, ...]


@dataclass(frozen=True, slots=True)
class Traverse(Node):
    """``FOR vertex, edge, path IN low..high direction start graph [PRUNE [prune_variable =] prune] [OPTIONS ..]``.

    `direction` is "OUTBOUND", "INBOUND" or "ANY". `low` and `high` are constant (literal or bind), high None = low,
    both None = 1..1. `vertex`, `edge` and `path` may be used by `prune`.
    """

    vertex: Variable
    edge: Variable | None
    path: Variable | None
    direction: str
    start: Expr
    low: Expr | None
    high: Expr | None
    graph: GraphSource
    prune: Expr | None = None
    prune_variable: Variable | None = None
    options: Expr | None = None


@dataclass(frozen=True, slots=True)
class ShortestPath(Node):
    """``FOR variable[, edge] IN [low..high] direction KIND start TO target graph [OPTIONS ..]``.

    `kind` is "SHORTEST_PATH" (vertex and edge), "K_SHORTEST_PATHS", "ALL_SHORTEST_PATHS" or "K_PATHS" (one path
    variable; only K_PATHS has low and high).
    """

    kind: str
    variable: Variable
    edge: Variable | None
    direction: str
    start: Expr
    target: Expr
    low: Expr | None
    high: Expr | None
    graph: GraphSource
    options: Expr | None = None


@dataclass(frozen=True, slots=True)
class Filter(Node):
    condition: Expr


@dataclass(frozen=True, slots=True)
class Let(Node):
    variable: Variable
    value: Expr


@dataclass(frozen=True, slots=True)
class SortKey(Node):
    """`ascending` is a bool, or an expression (a bind or constant: true or "asc" / false or "desc")."""

    value: Expr
    ascending: bool | Expr = True


@dataclass(frozen=True, slots=True)
class Sort(Node):
    keys: tuple[SortKey, ...]


@dataclass(frozen=True, slots=True)
class Limit(Node):
    offset: Expr | None
    count: Expr


@dataclass(frozen=True, slots=True)
class Assignment(Node):
    """``variable = value`` in COLLECT."""

    variable: Variable
    value: Expr


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """``variable = FUNCTION(argument)`` of COLLECT and WINDOW; `function` in capitals, aliases kept as written."""

    variable: Variable
    function: str
    argument: Expr


@dataclass(frozen=True, slots=True)
class Collect(Node):
    """All forms of COLLECT.

    * `into` with `into_value`: the array of that expression's values;
    * `into` alone: an array of objects {variable name: value} of `captured`, the variables of this query level that
      stood before (KEEP has narrowed them already); `kept` says that KEEP was written;
    * `count_into`: WITH COUNT INTO. No groups = one row.
    """

    groups: tuple[Assignment, ...]
    aggregates: tuple[Aggregate, ...]
    into: Variable | None
    into_value: Expr | None
    captured: tuple[Variable, ...]
    kept: bool
    count_into: Variable | None
    options: Expr | None = None


@dataclass(frozen=True, slots=True)
class Window(Node):
    """``WINDOW [range WITH] {preceding, following} AGGREGATE ..``; without `range` the bounds count rows."""

    bounds: Expr
    range: Expr | None
    aggregates: tuple[Aggregate, ...]


@dataclass(frozen=True, slots=True)
class Return(Node):
    value: Expr
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Insert(Node):
    """`old` and `new` are the pseudo-variables OLD and NEW that later statements may use (also in the others)."""

    document: Expr
    collection: DataSource
    options: Expr | None
    old: Variable
    new: Variable


@dataclass(frozen=True, slots=True)
class Update(Node):
    """``UPDATE [key WITH] document``: without `key` the document's own _key counts."""

    key: Expr | None
    document: Expr
    collection: DataSource
    options: Expr | None
    old: Variable
    new: Variable


@dataclass(frozen=True, slots=True)
class Replace(Node):
    """``REPLACE [key WITH] document``."""

    key: Expr | None
    document: Expr
    collection: DataSource
    options: Expr | None
    old: Variable
    new: Variable


@dataclass(frozen=True, slots=True)
class Remove(Node):
    key: Expr
    collection: DataSource
    options: Expr | None
    old: Variable


@dataclass(frozen=True, slots=True)
class Upsert(Node):
    """``UPSERT example|FILTER condition INSERT insert UPDATE|REPLACE update IN collection``.

    One of `example` (an object) and `condition` (over `current`, the document tried) is set; `kind` is "UPDATE" or
    "REPLACE"; `update` may use `old`, the document found.
    """

    example: Expr | None
    condition: Expr | None
    current: Variable | None
    insert: Expr
    kind: str
    update: Expr
    collection: DataSource
    options: Expr | None
    old: Variable
    new: Variable


Statement: TypeAlias = (
    For
    | Traverse
    | ShortestPath
    | Filter
    | Let
    | Sort
    | Limit
    | Collect
    | Window
    | Return
    | Insert
    | Update
    | Replace
    | Remove
    | Upsert
)

Modification: TypeAlias = Insert | Update | Replace | Remove | Upsert
MODIFICATIONS = (Insert, Update, Replace, Remove, Upsert)


@dataclass(frozen=True, slots=True)
class Query(Node):
    """Statements in order. `withs`: the data sources of a leading WITH (of the main query only)."""

    statements: tuple[Statement, ...]
    withs: tuple[DataSource, ...] = ()


@dataclass(frozen=True, slots=True)
class Parsed:
    """What the parser hands over.

    `reads` and `writes`: data sources by where they stand (a written one is not in `reads` unless also read); graph
    names are in the tree only. `binds`: names without a leading "@" for values, with one for data sources, in order
    of appearance. `variables`: how many were declared (ids are 0 .. variables - 1). `warnings`: (number, message).
    """

    query: Query
    text: str
    reads: tuple[DataSource, ...]
    writes: tuple[DataSource, ...]
    binds: tuple[str, ...]
    variables: int
    warnings: tuple[tuple[int, str], ...] = ()


# ---------------------------------------------------------------------------------------------- tree helpers


_FIELDS: dict[type, tuple[str, ...]] = {}


def _child_fields(cls: type) -> tuple[str, ...]:
    names = _FIELDS.get(cls)
    if names is None:
        names = _FIELDS[cls] = tuple(f.name for f in fields(cls) if f.name != "at")
    return names


def children(node: Node) -> Iterator[Node]:
    """Direct child nodes in source order (declared variables among them)."""
    for name in _child_fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, Node):
            yield value
        elif type(value) is tuple:
            yield from (item for item in value if isinstance(item, Node))


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, parents first, subqueries included."""
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(reversed(tuple(children(top))))


def variables(node: Node) -> set[Variable]:
    """Every variable that occurs at or below the node, its own inner ones (CURRENT, a subquery's) included."""
    return {found for found in walk(node) if isinstance(found, Variable)}


def transform(node: Any, change: Callable[[Node], Node]) -> Any:
    """A copy with `change` applied bottom-up; untouched subtrees are shared, so identity shows what changed."""
    changed: dict[str, Any] = {}
    for name in _child_fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, Node):
            new: Any = transform(value, change)
        elif type(value) is tuple and value:
            new = tuple(transform(item, change) if isinstance(item, Node) else item for item in value)
            if all(a is b for a, b in zip(new, value, strict=True)):
                new = value
        else:
            continue
        if new is not value:
            changed[name] = new
    return change(replace(node, **changed) if changed else node)
