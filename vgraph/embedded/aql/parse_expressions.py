"""Parsing of expressions by precedence climbing (ArangoDB documentation, "Operators": operator precedence).

Facts that surprise: NOT binds tighter than every binary operator; IN binds tighter than ==, and < tighter than IN;
a quantifier (``a ANY == b``) takes everything down to AND as its left operand.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ..errors import ArangoError
from .functions import lookup
from .nodes import (
    ArrayLiteral,
    ArrayMatch,
    Attribute,
    Binary,
    Bind,
    BoundAttribute,
    Call,
    Collection,
    CollectionBind,
    DataSource,
    Expansion,
    Expr,
    Index,
    Literal,
    ObjectEntry,
    ObjectLiteral,
    Position,
    Quantified,
    Query,
    Range,
    Subquery,
    Ternary,
    Unary,
    Variable,
)
from .scopes import Scopes
from .tokens import Source, Token, tokenize, words

MAX_NESTING: Final = 500
_DEEP: Final = 60  # nesting from which Python's default recursion limit may not do
_RECURSION_LIMIT: Final = 12_000

TERNARY, OR, AND, QUANTIFIER, AT_LEAST, EQUALITY, MEMBERSHIP, ORDER, RANGE, SUM, PRODUCT = range(1, 12)
_BINARY: Final = {
    "OR": OR,
    "AND": AND,
    "==": EQUALITY,
    "!=": EQUALITY,
    "LIKE": EQUALITY,
    "=~": EQUALITY,
    "!~": EQUALITY,
    "IN": MEMBERSHIP,
    "NOT IN": MEMBERSHIP,
    "<": ORDER,
    "<=": ORDER,
    ">": ORDER,
    ">=": ORDER,
    "..": RANGE,
    "+": SUM,
    "-": SUM,
    "*": PRODUCT,
    "/": PRODUCT,
    "%": PRODUCT,
}
_QUANTIFIED: Final = frozenset(["==", "!=", "<", "<=", ">", ">=", "IN", "NOT IN"])
_MATCHING: Final = frozenset(["LIKE", "=~", "!~", "NOT"])
_QUANTIFIERS: Final = frozenset(["ALL", "ANY", "NONE"])
_KEYWORD_KEYS: Final = frozenset(words("INBOUND OUTBOUND ANY ALL NONE LIKE INTO WITH WINDOW LIMIT"))
# What may follow `IN collection` of a modification; tells it from the operator IN.
_AFTER_COLLECTION: Final = frozenset(
    words("END ) FOR LET FILTER RETURN COLLECT SORT LIMIT WINDOW INSERT UPDATE REPLACE REMOVE UPSERT")
)
QUERY_START: Final = frozenset(
    words("FOR LET FILTER RETURN COLLECT SORT LIMIT WINDOW INSERT UPDATE REPLACE REMOVE UPSERT WITH")
)


def allow_depth(depth: int) -> None:
    """Give Python room for a tree that deep (parsing, compiling, evaluating recurse); nothing happens for a usual one."""
    if depth > _DEEP and sys.getrecursionlimit() < _RECURSION_LIMIT:
        sys.setrecursionlimit(_RECURSION_LIMIT)


class ExpressionParser:
    """The tokens of one text, and expressions read from them. `query` is the statement parser's part."""

    def __init__(self, text: str) -> None:
        self.source = Source(text)
        self.tokens = tokenize(self.source)
        self.at = 0
        self.token = self.tokens[0]
        self.scopes = Scopes()
        self.depth = 0
        self.in_is_collection = False  # inside a modification: `IN name` may name the collection written
        self.reads: dict[DataSource, None] = {}
        self.binds: dict[str, None] = {}
        self.warnings: list[tuple[int, str]] = []

    def query(self) -> Query:
        """A subquery at the current token; the statement parser knows how."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------------ tokens

    def advance(self) -> Token:
        """Step over the current token and return it."""
        token = self.token
        self.at += 1
        self.token = self.tokens[self.at] if self.at < len(self.tokens) else token
        return token

    def ahead(self, distance: int = 1) -> str:
        """The kind of a later token."""
        index = self.at + distance
        return self.tokens[index].kind if index < len(self.tokens) else "END"

    def accept(self, kind: str) -> bool:
        """Step over the current token if it is of that kind."""
        if self.token.kind != kind:
            return False
        self.advance()
        return True

    def expect(self, kind: str) -> Token:
        if self.token.kind != kind:
            raise self.source.unexpected(self.token)
        return self.advance()

    def is_word(self, word: str) -> bool:
        """Whether the current token is an identifier with the (capital) letters of `word`."""
        return self.token.kind == "IDENT" and self.token.value.upper() == word

    def position(self, token: Token | None = None) -> Position:
        return self.source.position((token or self.token).start)

    def error(self, num: int, message: str, token: Token | None = None) -> ArangoError:
        """An error at a token, which quotes the place unless it is about a function."""
        if num in (1540, 1541, 1582):
            return ArangoError(num, message)
        return self.source.error((token or self.token).start, message, num)

    # ------------------------------------------------------------------------------------------- expressions

    def nested(self) -> Expr:
        """An expression inside brackets of some kind, where IN is always the operator."""
        outer, self.in_is_collection = self.in_is_collection, False
        value = self.expression()
        self.in_is_collection = outer
        return value

    def expression(self, minimum: int = 0) -> Expr:
        """An expression of operators that bind at least as tight as `minimum`."""
        self.depth += 1
        if self.depth > _DEEP:
            self._deep()
        left = self._unary()
        while (level := self._infix_level()) >= minimum and level:
            left = self._infix(left, level)
        self.depth -= 1
        return left

    def _deep(self) -> None:
        if self.depth > MAX_NESTING:
            raise ArangoError(1524)
        allow_depth(self.depth)

    def _infix_level(self) -> int:
        """How tight the operator at the current token binds its left operand; 0 if there is none."""
        kind = self.token.kind
        level = _BINARY.get(kind)
        if level is not None:
            return 0 if kind == "IN" and self.in_is_collection and self._names_collection() else level
        if kind == "?":
            return TERNARY
        if kind in _QUANTIFIERS:
            return QUANTIFIER if self.ahead() in _QUANTIFIED or self.ahead() in _MATCHING else 0
        if kind == "AT LEAST":
            return AT_LEAST
        if kind == "NOT":
            return MEMBERSHIP if self.ahead() in ("LIKE", "=~", "!~") else 0
        return 0

    def _names_collection(self) -> bool:
        if self.ahead() not in ("IDENT", "SOURCE_BIND", "STRING"):
            return False
        if self.ahead(2) in _AFTER_COLLECTION:
            return True
        return self.ahead(2) == "IDENT" and self.tokens[self.at + 2].value.upper() == "OPTIONS"

    def _infix(self, left: Expr, level: int) -> Expr:
        token = self.advance()
        at = self.position(token)
        kind = token.kind
        if kind == "?":
            return self._ternary(left, at)
        if kind in _QUANTIFIERS:
            return self._quantified(kind, None, left, at)
        if kind == "AT LEAST":
            self.expect("(")
            count = self.nested()
            self.expect(")")
            return self._quantified(kind, count, left, at)
        if kind == "NOT":
            operator = self.advance().kind
            return Unary("NOT", self._matching(operator, left, self.expression(EQUALITY + 1), at), at=at)
        right = self.expression(level + 1)
        if kind == "..":
            return Range(left, right, at=at)
        if level == EQUALITY and kind in ("LIKE", "=~", "!~"):
            return self._matching(kind, left, right, at)
        return Binary(kind, left, right, at=at)

    def _matching(self, operator: str, left: Expr, right: Expr, at: Position) -> Expr:
        call = Call("LIKE" if operator == "LIKE" else "REGEX_TEST", (left, right), at=at)
        return Unary("NOT", call, at=at) if operator == "!~" else call

    def _ternary(self, condition: Expr, at: Position) -> Expr:
        then = None if self.token.kind == ":" else self.expression(TERNARY)
        self.expect(":")
        return Ternary(condition, then, self.expression(TERNARY), at=at)

    def _quantified(self, quantifier: str, count: Expr | None, left: Expr, at: Position) -> Expr:
        operator = self.token.kind
        if operator in _MATCHING:
            return self._quantified_matching(quantifier, count, left, at)
        if operator not in _QUANTIFIED:
            raise self.source.unexpected(self.token)
        self.advance()
        return Quantified(quantifier, count, operator, left, self.expression(_BINARY[operator] + 1), at=at)

    def _quantified_matching(self, quantifier: str, count: Expr | None, left: Expr, at: Position) -> Expr:
        """``left ANY [NOT] LIKE pattern`` is ``left[? ANY FILTER [NOT] CURRENT LIKE pattern]``."""
        negated = self.accept("NOT")
        operator = self.advance()
        if operator.kind not in _MATCHING or operator.kind == "NOT":
            raise self.source.unexpected(operator)
        current = self.scopes.new("CURRENT", at)
        condition = self._matching(operator.kind, current, self.expression(EQUALITY + 1), at)
        if negated:
            condition = Unary("NOT", condition, at=at)
        return ArrayMatch(left, quantifier, count, None, current, condition, at=at)

    def _unary(self) -> Expr:
        kind = self.token.kind
        if kind not in ("!", "NOT", "+", "-"):
            return self._postfix()
        token = self.advance()
        self.depth += 1
        if self.depth > _DEEP:
            self._deep()
        operand = self._unary()
        self.depth -= 1
        if kind == "-" and type(operand) is Literal and type(operand.value) in (int, float):
            return Literal(-operand.value, at=self.position(token))
        return Unary("NOT" if kind == "!" else kind, operand, at=self.position(token))

    # ---------------------------------------------------------------------------------- values and what follows

    def _postfix(self) -> Expr:
        """A value and its accessors. After ``[*]``, accessors apply to every element."""
        token = self.token
        node = self._primary()
        if token.kind in ("STRING", "INTEGER", "DOUBLE", "NULL", "TRUE", "FALSE"):
            return node
        dive = False
        while True:
            if self.token.kind == ".":
                node = self._apply(node, dive, self._dot())
            elif self.token.kind == "[":
                if self.ahead() == "*":
                    node = self._expansion(node, dive)
                    dive = True
                elif self.ahead() == "?":
                    node = self._apply(node, dive, self._array_match())
                else:
                    node = self._apply(node, dive, self._bracket())
            else:
                return node

    def _apply(self, node: Expr, dive: bool, build: Callable[[Expr], Expr]) -> Expr:
        """Build an accessor on the node, or on what its (innermost) expansion makes of each element."""
        if not dive or not isinstance(node, Expansion):
            return build(node)
        value = self._apply(node.value, True, build)
        return replace(node, value=value)

    def _dot(self) -> Callable[[Expr], Expr]:
        at = self.position(self.advance())
        if self.token.kind == "IDENT":
            name = self.advance().value
            return lambda base: Attribute(base, name, at=at)
        if self.token.kind == "BIND":
            bind = self.bind()
            return lambda base: BoundAttribute(base, bind, at=at)
        raise self.source.unexpected(self.token)

    def _bracket(self) -> Callable[[Expr], Expr]:
        at = self.position(self.advance())
        index = self.nested()
        self.expect("]")
        if type(index) is Literal and type(index.value) is str and not index.value[:1].isdecimal():
            name = index.value
            return lambda base: Attribute(base, name, at=at)
        return lambda base: Index(base, index, at=at)

    def _expansion(self, node: Expr, dive: bool) -> Expr:
        """``[*…]``, with its inline FILTER, LIMIT and RETURN."""
        at = self.position(self.advance())
        levels = 0
        while self.accept("*"):
            levels += 1
        current = self.scopes.new("CURRENT", at)
        self.scopes.current.append(current)
        condition = self.nested() if self.accept("FILTER") else None
        offset: Expr | None = None
        count: Expr | None = None
        if self.accept("LIMIT"):
            count = self.nested()
            if self.accept(","):
                offset, count = count, self.nested()
        value = self.nested() if self.accept("RETURN") else current
        self.scopes.current.pop()
        self.expect("]")

        def over(base: Expr) -> Expr:
            return Expansion(base, levels, current, condition, offset, count, value, at=at)

        # after an expansion [*] goes through what that one makes of each element, [**] through its whole result
        if dive and levels == 1 and isinstance(node, Expansion):
            return replace(node, value=over(node.value))
        return over(node)

    def _array_match(self) -> Callable[[Expr], Expr]:
        """``[? quantifier FILTER condition]``; more question marks say the same."""
        at = self.position(self.advance())
        while self.accept("?"):
            pass
        quantifier, low, high = self._match_quantifier()
        current = self.scopes.new("CURRENT", at)
        condition: Expr | None = None
        if self.accept("FILTER"):
            self.scopes.current.append(current)
            condition = self.nested()
            self.scopes.current.pop()
        elif quantifier:
            raise self.source.unexpected(self.token)
        self.expect("]")
        return lambda base: ArrayMatch(base, quantifier or "ANY", low, high, current, condition, at=at)

    def _match_quantifier(self) -> tuple[str, Expr | None, Expr | None]:
        kind = self.token.kind
        if kind in ("FILTER", "]"):
            return "", None, None
        if kind in _QUANTIFIERS:
            self.advance()
            return kind, None, None
        if self.accept("AT LEAST"):
            self.expect("(")
            low = self.nested()
            self.expect(")")
            return "AT LEAST", low, None
        value = self.nested()
        if type(value) is Range:
            return "BETWEEN", value.low, value.high
        return "BETWEEN", value, None

    def _primary(self) -> Expr:
        token = self.token
        match token.kind:
            case "IDENT":
                return self._name()
            case "STRING" | "INTEGER":
                self.advance()
                return Literal(token.value, at=self.position(token))
            case "DOUBLE":
                self.advance()
                if token.value is None:
                    self.warnings.append((1504, "number out of range"))
                return Literal(token.value, at=self.position(token))
            case "NULL" | "TRUE" | "FALSE":
                self.advance()
                return Literal({"NULL": None, "TRUE": True, "FALSE": False}[token.kind], at=self.position(token))
            case "BIND":
                return self.bind()
            case "SOURCE_BIND":
                return self.read(self.source_bind())
            case "(":
                return self._parenthesised()
            case "[":
                return self._array()
            case "{":
                return self.object()
            case "LIKE" if self.ahead() == "(":
                self.advance()
                return self._call("LIKE", token)
        raise self.source.unexpected(token)

    def bind(self) -> Bind:
        token = self.expect("BIND")
        self.binds[token.value] = None
        return Bind(token.value, at=self.position(token))

    def source_bind(self) -> CollectionBind:
        token = self.expect("SOURCE_BIND")
        self.binds["@" + token.value] = None
        return CollectionBind(token.value, at=self.position(token))

    def read(self, source: DataSource) -> DataSource:
        """Note that the query reads a data source."""
        self.reads.setdefault(source)
        return source

    def _parenthesised(self) -> Expr:
        token = self.advance()
        if self.token.kind in QUERY_START:
            value: Expr = self.subquery(token)
        else:
            value = self.nested()
        self.expect(")")
        return value

    def subquery(self, token: Token) -> Subquery:
        """A query inside an expression."""
        outer, self.in_is_collection = self.in_is_collection, False
        self.depth += 1
        if self.depth > _DEEP:
            self._deep()
        current, self.scopes.current = self.scopes.current, list(self.scopes.current)
        query = self.query()
        self.scopes.current = current
        self.depth -= 1
        self.in_is_collection = outer
        return Subquery(query, at=self.position(token))

    def _name(self) -> Expr:
        """A function call, a variable, or else a data source."""
        token = self.advance()
        if self.token.kind in ("(", "::"):
            name = token.value
            while self.accept("::"):
                name += "::" + self.expect("IDENT").value
            return self._call(name.upper(), token)
        variable = self.scopes.find(token.value)
        if variable is not None:
            return Variable(variable.name, variable.id, at=self.position(token))
        return self.read(Collection(token.value, at=self.position(token)))

    def _call(self, name: str, token: Token) -> Expr:
        self.expect("(")
        args: list[Expr] = []
        while self.token.kind != ")":
            if args:
                self.expect(",")
            args.append(self.subquery(self.token) if self.token.kind in QUERY_START else self.nested())
        self.advance()
        if name in ("LENGTH", "COUNT") and len(args) == 1 and isinstance(args[0], Collection | CollectionBind):
            name = "COLLECTION_COUNT"
        self._check_call(name, len(args), token)
        return Call(name, tuple(args), at=self.position(token))

    def _check_call(self, name: str, given: int, token: Token) -> None:
        if "::" in name:
            raise self.error(1582, f"user function '{name}()' not found", token)
        function = lookup(name)
        if function is None:
            raise self.error(1540, f"usage of unknown function '{name}()'", token)
        low, high = function.min_args, function.max_args
        if given < low or (high is not None and given > high):
            most = 65536 if high is None else high
            raise self.error(
                1541,
                f"invalid number of arguments for function '{name}()', "
                f"expected number of arguments: minimum: {low}, maximum: {most}",
                token,
            )

    def _array(self) -> Expr:
        token = self.advance()
        items: list[Expr] = []
        while self.token.kind != "]":
            items.append(self.nested())
            if not self.accept(","):
                break
        self.expect("]")
        return ArrayLiteral(tuple(items), at=self.position(token))

    def object(self) -> ObjectLiteral:
        """An object literal at the current token. Of equal constant keys the first counts."""
        token = self.expect("{")
        entries: list[ObjectEntry] = []
        seen: set[str] = set()
        while self.token.kind != "}":
            entry = self._entry()
            if not isinstance(entry.key, str) or entry.key not in seen:
                entries.append(entry)
            if isinstance(entry.key, str):
                seen.add(entry.key)
            if not self.accept(","):
                break
        self.expect("}")
        return ObjectLiteral(tuple(entries), at=self.position(token))

    def _entry(self) -> ObjectEntry:
        token = self.token
        at = self.position(token)
        key: str | Expr
        if token.kind == "BIND":
            key = self.bind()
        elif token.kind == "[":
            self.advance()
            key = Call("TO_STRING", (self.nested(),), at=at)  # unlike in {@key: …} it may be anything
            self.expect("]")
        elif token.kind in ("IDENT", "STRING") or token.kind in _KEYWORD_KEYS:
            self.advance()
            key = token.value
            if token.kind == "IDENT" and self.token.kind in (",", "}"):
                return ObjectEntry(key, self._shorthand(token), at=at)
        else:
            raise self.source.unexpected(token)
        self.expect(":")
        return ObjectEntry(key, self.nested(), at=at)

    def _shorthand(self, token: Token) -> Expr:
        variable = self.scopes.find(token.value)
        if variable is None:
            raise self.error(1512, f"use of unknown variable '{token.value}' in object literal", token)
        return Variable(variable.name, variable.id, at=self.position(token))
