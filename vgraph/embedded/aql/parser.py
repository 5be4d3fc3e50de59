"""The parser of AQL 3.12: text -> `Parsed` (ArangoDB documentation, "AQL high-level operations").

It resolves names, expands destructuring, and raises only `ArangoError`: 1501 for syntax, 1511 and 1512 for variables,
1524 for too deep or too long, 1540 and 1541 for calls, 1574 for aggregates.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from operator import attrgetter
from typing import Final

from ..errors import ArangoError
from .nodes import (
    Aggregate,
    Assignment,
    Attribute,
    Bind,
    Call,
    Collect,
    Collection,
    CollectionBind,
    DataSource,
    EdgeCollection,
    Expr,
    Filter,
    For,
    GraphSource,
    Index,
    Insert,
    Let,
    Limit,
    Literal,
    NamedGraph,
    Node,
    ObjectLiteral,
    Parsed,
    Query,
    Range,
    Remove,
    Replace,
    Return,
    ShortestPath,
    Sort,
    SortKey,
    Statement,
    Subquery,
    Traverse,
    Update,
    Upsert,
    Variable,
    Window,
    children,
    walk,
)
from .parse_expressions import MAX_NESTING, ExpressionParser, allow_depth
from .scopes import LEVEL, LOOP
from .tokens import Token, words

MAX_STATEMENTS: Final = 4000
MAX_VARIABLES: Final = 1000
MAX_COLLECTIONS: Final = 2048
AGGREGATES: Final = frozenset(
    words(
        "COUNT LENGTH MIN MAX SUM AVERAGE AVG STDDEV STDDEV_POPULATION STDDEV_SAMPLE VARIANCE VARIANCE_POPULATION "
        "VARIANCE_SAMPLE UNIQUE SORTED_UNIQUE COUNT_DISTINCT COUNT_UNIQUE BIT_AND BIT_OR BIT_XOR PUSH"
    )
)
_DIRECTIONS: Final = frozenset(["OUTBOUND", "INBOUND", "ANY"])
_PATHS: Final = frozenset(["SHORTEST_PATH", "K_SHORTEST_PATHS", "ALL_SHORTEST_PATHS", "K_PATHS"])
_MODIFYING: Final = frozenset(["INSERT", "UPDATE", "REPLACE", "REMOVE", "UPSERT"])


def parse(text: str) -> Parsed:
    """The syntax tree of a query."""
    if not text:
        raise ArangoError(1502)
    try:
        return Parser(text).parse()
    except RecursionError:
        raise ArangoError(1524) from None


class Parser(ExpressionParser):
    """Statements; one method per kind. Each appends to `self.out`, the statements of the query being read."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.out: list[Statement] = []
        self.writes: dict[DataSource, None] = {}
        self.statements = 0
        self.aggregating = False
        self._parse_statement: dict[str, Callable[[Token], None]] = {
            "FOR": self._for,
            "LET": self._let,
            "FILTER": self._filter,
            "SORT": self._sort,
            "LIMIT": self._limit,
            "COLLECT": self._collect,
            "WINDOW": self._window,
            "INSERT": self._insert,
            "UPDATE": self._update,
            "REPLACE": self._update,
            "REMOVE": self._remove,
            "UPSERT": self._upsert,
            "RETURN": self._return,
        }

    def parse(self) -> Parsed:
        """The whole text."""
        withs = self._with() if self.token.kind == "WITH" else ()
        query = self.query(withs)
        if self.token.kind != "END":
            raise self.source.unexpected(self.token)
        _check_depth(query)
        if len(self.reads.keys() | self.writes.keys()) > MAX_COLLECTIONS:
            raise ArangoError(1522)
        if self.statements > MAX_STATEMENTS:
            raise ArangoError(1524)
        if self.scopes.count > MAX_VARIABLES:
            raise ArangoError(32, f"too many registers ({self.scopes.count}) needed for AQL query")
        return Parsed(
            query,
            self.source.text,
            tuple(self.reads),
            tuple(self.writes),
            tuple(self.binds),
            self.scopes.count,
            tuple(self.warnings),
        )

    def query(self, withs: tuple[DataSource, ...] = ()) -> Query:
        """Statements up to the RETURN or modification that ends a query."""
        start = self.token
        outer, self.out = self.out, []
        self.scopes.open(LEVEL)
        kind = ""
        while kind != "RETURN":
            if self.token.kind in ("END", ")") and kind in _MODIFYING:
                break
            kind = self._statement()
        self.scopes.close_level()
        query = Query(tuple(self.out), withs, at=self.position(start))
        self.out = outer
        return query

    def _statement(self) -> str:
        """Read one statement; returns its keyword."""
        parse = self._parse_statement.get(self.token.kind)
        if parse is None:
            raise self.source.unexpected(self.token)
        self.statements += 1
        token = self.advance()
        parse(token)
        return token.kind

    def _with(self) -> tuple[DataSource, ...]:
        self.advance()
        found = [self.read(self._source(bound=True))]
        while self.accept(",") or self.token.kind in ("IDENT", "SOURCE_BIND", "BIND"):
            found.append(self.read(self._source(bound=True)))
        return tuple(found)

    def _source(self, quoted: bool = False, bound: bool = False) -> DataSource:
        """The name or bind of a data source; `bound`: also a plain bind value."""
        if bound and self.token.kind == "BIND":
            value = self.bind()
            return CollectionBind(value.name, plain=True, at=value.at)
        if self.token.kind == "SOURCE_BIND":
            return self.source_bind()
        if self.token.kind != "IDENT" and not (quoted and self.token.kind == "STRING"):
            raise self.source.unexpected(self.token)
        token = self.advance()
        return Collection(token.value, at=self.position(token))

    def _options(self) -> ObjectLiteral | None:
        """``OPTIONS {…}`` if it stands here."""
        if self.token.kind != "IDENT":
            return None
        if not self.is_word("OPTIONS"):
            raise self.error(1501, f"unexpected qualifier '{self.token.value}', expecting 'OPTIONS'")
        self.advance()
        return self.object()

    # --------------------------------------------------------------------------------------------- variables

    def _declare(self, name: str, token: Token) -> Variable:
        letters = name.lstrip("_")
        if not letters or letters[0].isdigit():  # quoting does not help
            raise self.error(1501, f"invalid variable name '{name}'", token)
        variable = self.scopes.new(name, self.position(token))
        if not self.scopes.declare(variable):
            raise self.error(1511, f"variable '{name}' is assigned multiple times", token)
        return variable

    def _hidden(self, token: Token) -> Variable:
        """A variable no name leads to, for the value that is destructured."""
        return self.scopes.new(f"#{self.scopes.count}", self.position(token))

    def _pattern(self) -> list[tuple[tuple[int | str, ...], Token]]:
        """``[a, {b: c}]``: the path to and the name of every variable."""
        found: list[tuple[tuple[int | str, ...], Token]] = []
        self._pattern_into(found, ())
        return found

    def _pattern_into(self, found: list[tuple[tuple[int | str, ...], Token]], path: tuple[int | str, ...]) -> None:
        if len(path) > MAX_NESTING // 5:
            raise ArangoError(1524)
        if self.accept("["):
            index = 0
            while not self.accept("]"):
                if self.accept(","):
                    index += 1
                    continue
                self._target(found, (*path, index))
                if self.token.kind != "]":
                    self.expect(",")
                    index += 1
            return
        self.expect("{")
        while not self.accept("}"):
            if self.accept(","):
                continue
            if self.token.kind not in ("IDENT", "STRING"):
                raise self.source.unexpected(self.token)
            name = self.advance()
            if self.accept(":"):
                self._target(found, (*path, name.value))
            elif name.kind == "IDENT":
                found.append(((*path, name.value), name))
            else:
                raise self.source.unexpected(self.token)
            if self.token.kind != "}":
                self.expect(",")

    def _target(self, found: list[tuple[tuple[int | str, ...], Token]], path: tuple[int | str, ...]) -> None:
        if self.token.kind in ("[", "{"):
            self._pattern_into(found, path)
        else:
            found.append((path, self.expect("IDENT")))

    def _destructure(self, base: Variable, pattern: list[tuple[tuple[int | str, ...], Token]]) -> None:
        for path, token in pattern:
            at = self.position(token)
            value: Expr = Variable(base.name, base.id, at=at)
            for step in path:
                if isinstance(step, int):
                    value = Index(value, Literal(step, at=at), at=at)
                else:
                    value = Attribute(value, step, at=at)
            self.out.append(Let(self._declare(token.value, token), value, at=at))

    # --------------------------------------------------------------------------------------------------- FOR

    def _for(self, token: Token) -> None:
        at = self.position(token)
        if self.token.kind in ("[", "{"):
            pattern = self._pattern()
            self.expect("IN")
            source = self._loop_source()
            if self.token.kind in _DIRECTIONS or self.is_word("SEARCH"):
                raise self._not_destructured()
            self.scopes.open(LOOP)
            variable = self._hidden(token)
            self.out.append(For(variable, source, None, self._options(), at=at))
            self._destructure(variable, pattern)
            return
        names = [self.expect("IDENT")]
        while self.accept(","):
            names.append(self.expect("IDENT"))
        self.expect("IN")
        self._graph_or_loop(names, at)

    def _loop_source(self) -> Expr:
        if self.token.kind in _DIRECTIONS:
            raise self._not_destructured()
        return self.expression()

    def _not_destructured(self) -> ArangoError:
        """What may follow the IN of a loop over a single variable only."""
        token = self.token
        if token.kind not in _DIRECTIONS:
            return self.error(1501, "SEARCH condition is incompatible with destructuring", token)
        kind = self.ahead()
        what = kind if kind in _PATHS else "Traversal"
        return self.error(1501, f"{what} does not support array/object destructuring", token)

    def _graph_or_loop(self, names: list[Token], at: tuple[int, int]) -> None:
        low: Expr | None = None
        high: Expr | None = None
        if self.token.kind not in _DIRECTIONS:
            source = self.expression()
            if self.token.kind not in _DIRECTIONS:
                self._loop(names, source, at)
                return
            low, high = _depths(source)
        direction = self.advance().kind
        if self.token.kind in _PATHS:
            self._shortest_path(names, direction, low, high, at)
        else:
            self._traverse(names, direction, low, high, at)

    def _loop(self, names: list[Token], source: Expr, at: tuple[int, int]) -> None:
        if len(names) > 1:
            raise self.error(1501, "Collections and views FOR loops only allow a single return variable", names[1])
        self.scopes.open(LOOP)
        variable = self._declare(names[0].value, names[0])
        search: Expr | None = None
        if self.is_word("SEARCH"):
            if not isinstance(source, Collection | CollectionBind):
                raise self.error(1501, "SEARCH condition used on non-view")
            self.advance()
            search = self.expression()
        self.out.append(For(variable, source, search, self._options(), at=at))

    def _traverse(
        self, names: list[Token], direction: str, low: Expr | None, high: Expr | None, at: tuple[int, int]
    ) -> None:
        if len(names) > 3:
            raise self.error(1501, "Traversals only have one, two or three return variables", names[3])
        start = self.expression()
        graph = self._graph()
        self.scopes.open(LOOP)
        declared = [self._declare(name.value, name) for name in names]
        vertex, edge, path = (*declared, None, None)[:3]
        prune, prune_variable = self._prune()
        options = self._options()
        assert vertex is not None
        self.out.append(
            Traverse(vertex, edge, path, direction, start, low, high, graph, prune, prune_variable, options, at=at)
        )

    def _prune(self) -> tuple[Expr | None, Variable | None]:
        """``PRUNE [name =] condition``."""
        if not self.is_word("PRUNE"):
            return None, None
        self.advance()
        name = None
        if self.token.kind == "IDENT" and self.ahead() == "=":
            name = self.advance()
            self.advance()
        start = self.token
        condition = self.expression()
        if _holds_subquery(condition):
            raise self.error(1501, "prune condition must not use a subquery", start)
        return condition, None if name is None else self._declare(name.value, name)

    def _shortest_path(
        self, names: list[Token], direction: str, low: Expr | None, high: Expr | None, at: tuple[int, int]
    ) -> None:
        token = self.advance()
        kind = token.kind
        if low is not None and kind != "K_PATHS":
            raise self.source.unexpected(token)
        if kind == "SHORTEST_PATH" and len(names) > 2:
            raise self.error(1501, "ShortestPath only has one or two return variables", names[2])
        if kind != "SHORTEST_PATH" and len(names) > 1:
            raise self.error(1501, f"{kind} should only have a single output variable", names[1])
        start = self.expression()
        if not self.is_word("TO"):
            raise self.source.unexpected(self.token)
        self.advance()
        target = self.expression()
        graph = self._graph()
        self.scopes.open(LOOP)
        declared = [self._declare(name.value, name) for name in names]
        edge = declared[1] if len(declared) > 1 else None
        options = self._options()
        self.out.append(
            ShortestPath(kind, declared[0], edge, direction, start, target, low, high, graph, options, at=at)
        )

    def _graph(self) -> GraphSource:
        if self.accept("GRAPH"):
            at = self.position()
            if self.token.kind == "BIND":
                return NamedGraph(self.bind(), at=at)
            if self.token.kind in ("STRING", "IDENT"):
                return NamedGraph(Literal(self.advance().value, at=at), at=at)
            raise self.source.unexpected(self.token)
        edges = [self._edge_collection()]
        while self.accept(","):
            edges.append(self._edge_collection())
        return tuple(edges)

    def _edge_collection(self) -> EdgeCollection:
        at = self.position()
        direction = self.advance().kind if self.token.kind in _DIRECTIONS else None
        return EdgeCollection(self.read(self._source(bound=True)), direction, at=at)

    # ---------------------------------------------------------------------------------------- simple statements

    def _let(self, token: Token) -> None:
        while True:
            at = self.position()
            if self.token.kind in ("[", "{"):
                start = self.token
                pattern = self._pattern()
                self.expect("=")
                value = self.expression()
                variable = self._hidden(start)
                self.out.append(Let(variable, value, at=at))
                self._destructure(variable, pattern)
            else:
                name = self.expect("IDENT")
                self.expect("=")
                value = self.expression()
                self.out.append(Let(self._declare(name.value, name), value, at=at))
            if not self.accept(","):
                return

    def _filter(self, token: Token) -> None:
        self.out.append(Filter(self.expression(), at=self.position(token)))

    def _sort(self, token: Token) -> None:
        keys = [self._sort_key()]
        while self.accept(","):
            keys.append(self._sort_key())
        self.out.append(Sort(tuple(keys), at=self.position(token)))

    def _sort_key(self) -> SortKey:
        at = self.position()
        value = self.expression()
        if self.accept("ASC"):
            return SortKey(value, True, at=at)
        if self.accept("DESC"):
            return SortKey(value, False, at=at)
        if self.token.kind == "BIND":
            return SortKey(value, self.bind(), at=at)
        if self.token.kind in ("STRING", "TRUE", "FALSE", "NULL", "INTEGER", "DOUBLE"):
            return SortKey(value, self._primary(), at=at)
        return SortKey(value, True, at=at)

    def _limit(self, token: Token) -> None:
        count = self.expression()
        offset: Expr | None = None
        if self.accept(","):
            offset, count = count, self.expression()
        self.out.append(Limit(offset, count, at=self.position(token)))

    def _return(self, token: Token) -> None:
        distinct = self.accept("DISTINCT")
        if distinct and not self.scopes.in_loop:
            raise self.error(1501, "cannot use DISTINCT modifier on top-level query element", token)
        self.out.append(Return(self.expression(), distinct, at=self.position(token)))

    # ----------------------------------------------------------------------------------- COLLECT and WINDOW

    def _collect(self, token: Token) -> None:
        groups = self._assignments() if self.token.kind == "IDENT" else []
        count = self._with_count()
        aggregates = self._aggregates() if self.token.kind == "AGGREGATE" else []
        if not (groups or aggregates or count):
            raise self.source.unexpected(self.token)
        into = self._into() if self.token.kind == "INTO" and not count else None
        into_value = self.expression() if into and self.accept("=") else None
        self._refuse_own(groups, aggregates, into_value)
        keep = self._keep(into, into_value)
        options = self._options()
        captured = self.scopes.collect()
        if keep is not None:
            captured = keep
        self.out.append(
            Collect(
                tuple(Assignment(self._declare(n.value, n), value, at=self.position(n)) for n, value in groups),
                tuple(Aggregate(self._declare(n.value, n), f, arg, at=self.position(n)) for n, f, arg in aggregates),
                None if into is None else self._declare(into.value, into),
                into_value,
                captured if into is not None and into_value is None else (),
                keep is not None,
                None if count is None else self._declare(count.value, count),
                options,
                at=self.position(token),
            )
        )

    def _refuse_own(
        self, groups: list[tuple[Token, Expr]], aggregates: list[tuple[Token, str, Expr]], into: Expr | None
    ) -> None:
        """A COLLECT's variables mean nothing yet in its aggregates and its INTO expression (1512)."""
        own = {name.value for name, _ in groups} | {name.value for name, _, _ in aggregates}
        for part in (*(argument for _, _, argument in aggregates), *(() if into is None else (into,))):
            for node in walk(part):
                if isinstance(node, Collection) and node.name in own:
                    raise ArangoError(1512, f"use of unknown variable '{node.name}' in aggregate expression")

    def _assignments(self) -> list[tuple[Token, Expr]]:
        found = []
        while True:
            name = self.expect("IDENT")
            self.expect("=")
            found.append((name, self.expression()))
            if not self.accept(","):
                return found

    def _with_count(self) -> Token | None:
        """``WITH COUNT INTO name``."""
        if not self.accept("WITH"):
            return None
        if not self.is_word("COUNT"):
            raise self.source.unexpected(self.token)
        self.advance()
        return self._into()

    def _into(self) -> Token:
        self.expect("INTO")
        return self.expect("IDENT")

    def _aggregates(self) -> list[tuple[Token, str, Expr]]:
        self.expect("AGGREGATE")
        found = []
        self.aggregating = True
        assignments = self._assignments()
        self.aggregating = False
        for name, value in assignments:
            if not isinstance(value, Call) or value.name not in AGGREGATES | {"COLLECTION_COUNT"}:
                raise self.error(1574, "invalid aggregate expression", name)
            function = "COUNT" if value.name == "COLLECTION_COUNT" else value.name
            found.append((name, function, value.args[0] if value.args else Literal(None, at=value.at)))
        return found

    def _check_call(self, name: str, given: int, token: Token) -> None:
        """As an aggregate, COUNT and LENGTH need no argument and PUSH takes one."""
        if self._in_aggregate(token) and (name, given) in (("COUNT", 0), ("LENGTH", 0), ("PUSH", 1)):
            return
        super()._check_call(name, given, token)

    def _in_aggregate(self, token: Token) -> bool:
        """Whether the call at `token` is the whole right side of an assignment."""
        if not self.aggregating:
            return False
        index = bisect_left(self.tokens, token.start, key=attrgetter("start"))
        return index > 0 and self.tokens[index - 1].kind == "="

    def _keep(self, into: Token | None, into_value: Expr | None) -> tuple[Variable, ...] | None:
        if not self.is_word("KEEP"):
            return None
        if into is None or into_value is not None:
            raise self.source.unexpected(self.token)
        self.advance()
        found = []
        while True:
            name = self.expect("IDENT")
            variable = self.scopes.find(name.value)
            if variable is None:
                raise self.error(1512, f"use of unknown variable '{name.value}' for KEEP", name)
            found.append(Variable(variable.name, variable.id, at=self.position(name)))
            if not self.accept(","):
                return tuple(found)

    def _window(self, token: Token) -> None:
        value: Expr | None = self.expression()
        if self.accept("WITH"):
            bounds: Expr = self.object()
        else:
            assert value is not None
            bounds, value = value, None
        if not isinstance(bounds, ObjectLiteral):
            raise self.source.unexpected(self.token)
        if self.token.kind != "AGGREGATE":
            raise self.source.unexpected(self.token)
        found = self._aggregates()
        aggregates = tuple(Aggregate(self._declare(n.value, n), f, arg, at=self.position(n)) for n, f, arg in found)
        self.out.append(Window(bounds, value, aggregates, at=self.position(token)))

    # -------------------------------------------------------------------------------------- modifications

    def _insert(self, token: Token) -> None:
        document = self._modifying()
        collection, options = self._written()
        old, new = self._pseudo("OLD", token), self._pseudo("NEW", token)
        self.out.append(Insert(document, collection, options, old, new, at=self.position(token)))

    def _update(self, token: Token) -> None:
        key: Expr | None = None
        document = self._modifying()
        if self.accept("WITH"):
            key, document = document, self._modifying()
        collection, options = self._written()
        old, new = self._pseudo("OLD", token), self._pseudo("NEW", token)
        make = Update if token.kind == "UPDATE" else Replace
        self.out.append(make(key, document, collection, options, old, new, at=self.position(token)))

    def _remove(self, token: Token) -> None:
        key = self._modifying()
        collection, options = self._written()
        self.out.append(Remove(key, collection, options, self._pseudo("OLD", token), at=self.position(token)))

    def _upsert(self, token: Token) -> None:
        example: Expr | None = None
        condition: Expr | None = None
        current: Variable | None = None
        if self.accept("FILTER"):
            current = self.scopes.new("CURRENT", self.position(token))
            self.scopes.current.append(current)
            condition = self._modifying()
            self.scopes.current.pop()
        else:
            start = self.token
            example = self._modifying()
            if not isinstance(example, ObjectLiteral | Bind):
                raise self.error(1501, "expecting object literal or bind parameter for example", start)
            if not _named_literally(example):
                raise self.error(1501, "expecting object literal with literal attribute names in example", start)
        self.expect("INSERT")
        insert = self._modifying()
        old = self._pseudo("OLD", token)
        kind = self.advance()
        if kind.kind not in ("UPDATE", "REPLACE"):
            raise self.source.unexpected(kind)
        update = self._modifying()
        collection, options = self._written()
        new = self._pseudo("NEW", token)
        at = self.position(token)
        self.out.append(
            Upsert(example, condition, current, insert, kind.kind, update, collection, options, old, new, at=at)
        )

    def _modifying(self) -> Expr:
        """An expression that ``IN collection`` may follow."""
        self.in_is_collection = True
        value = self.expression()
        self.in_is_collection = False
        return value

    def _written(self) -> tuple[DataSource, ObjectLiteral | None]:
        if self.token.kind not in ("IN", "INTO"):
            raise self.source.unexpected(self.token)
        self.advance()
        collection = self._source(quoted=True)
        self.writes.setdefault(collection)
        return collection, self._options()

    def _pseudo(self, name: str, token: Token) -> Variable:
        variable = self.scopes.new(name, self.position(token))
        self.scopes.redeclare(variable)
        return variable


def _depths(value: Expr) -> tuple[Expr, Expr | None]:
    """The bounds of a traversal's ``low..high``."""
    return (value.low, value.high) if isinstance(value, Range) else (value, None)


def _holds_subquery(node: Node) -> bool:
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, Subquery):
            return True
        stack.extend(children(top))
    return False


def _check_depth(query: Query) -> None:
    """Raise 1524 for a tree of more than 500 levels, which chains of operators make without brackets."""
    deepest = 0
    stack: list[tuple[Node, int]] = [(query, 0)]
    while stack:
        node, depth = stack.pop()
        deepest = max(deepest, depth)
        if depth > MAX_NESTING:
            raise ArangoError(1524)
        stack.extend((child, depth + 1) for child in children(node))
    allow_depth(deepest)


def _named_literally(example: Expr) -> bool:
    """Whether the attributes of an UPSERT example, and of the objects in it, have names that are known."""
    if not isinstance(example, ObjectLiteral):
        return True
    return all(isinstance(entry.key, str) and _named_literally(entry.value) for entry in example.entries)
