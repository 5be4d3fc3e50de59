"""Which names are visible where, while a query is parsed.

Scopes are a stack. FOR opens one that lasts to the end of its query level; COLLECT closes those of its level and opens
its own; a subquery opens a level. What LET declares before any FOR stays visible after a COLLECT.
"""

from __future__ import annotations

from typing import Final

from .nodes import Position, Variable

LEVEL: Final = "level"  # a whole query: the main one or a subquery
LOOP: Final = "loop"
GROUP: Final = "group"
BARE: Final = "bare group"  # of a main query that has had no loop


class Scope:
    """One set of declarations; `kind` is LEVEL, LOOP, GROUP or BARE."""

    __slots__ = ("kind", "names")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.names: dict[str, Variable] = {}


class Scopes:
    """The stack of scopes, and the numbering of variables."""

    def __init__(self) -> None:
        self.stack: list[Scope] = []
        self.current: list[Variable] = []  # what CURRENT means, innermost last
        self.count = 0

    def new(self, name: str, at: Position) -> Variable:
        """A variable of its own number that no name leads to yet."""
        variable = Variable(name, self.count, at=at)
        self.count += 1
        return variable

    def open(self, kind: str) -> None:
        self.stack.append(Scope(kind))

    def close_level(self) -> None:
        """End a query: drop its scopes."""
        while self.stack.pop().kind != LEVEL:
            pass

    def declare(self, variable: Variable) -> bool:
        """Make a variable visible; False if its name is taken."""
        if any(variable.name in scope.names for scope in self.stack):
            return False
        self.stack[-1].names[variable.name] = variable
        return True

    def redeclare(self, variable: Variable) -> None:
        """Make OLD or NEW mean the latest modification, unless the query has a variable of that name."""
        for scope in reversed(self.stack):
            known = scope.names.get(variable.name)
            if known is not None and known.name not in ("OLD", "NEW"):
                return
        self.stack[-1].names[variable.name] = variable

    def find(self, name: str) -> Variable | None:
        """The variable a name means here; OLD, NEW and CURRENT are also known by a dollar sign before them."""
        if name in ("$OLD", "$NEW", "$CURRENT"):
            name = name[1:]
        for scope in reversed(self.stack):
            variable = scope.names.get(name)
            if variable is not None:
                return variable
        return self.current[-1] if name == "CURRENT" and self.current else None

    def collect(self) -> tuple[Variable, ...]:
        """Start what follows a COLLECT; returns what INTO captures.

        That is every variable of this level's loops, or, without a loop, every variable of the level.
        """
        ended: list[Scope] = []
        while self.stack[-1].kind != LEVEL:
            ended.append(self.stack.pop())
        captured = [variable for scope in reversed(ended) for variable in scope.names.values()]
        if not ended:
            captured = list(self.stack[-1].names.values())
        is_main = len(self.stack) == 1
        self.open(BARE if is_main and all(scope.kind == BARE for scope in ended) else GROUP)
        return tuple(captured)

    @property
    def in_loop(self) -> bool:
        """Whether a FOR precedes at this level, or in a subquery a COLLECT."""
        return self.stack[-1].kind not in (LEVEL, BARE)
