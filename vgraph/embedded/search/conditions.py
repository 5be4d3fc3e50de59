"""The SEARCH condition as an index understands it: a tree of what documents have to have.

Values are bound; what is always or never true is folded away while a tree is put together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Every:
    """All documents."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """No document."""


@dataclass(frozen=True, slots=True)
class Terms:
    """At least `minimum` of the values are terms of the field."""

    path: str
    analyzer: str
    values: tuple[str, ...]
    minimum: int
    boost: float


@dataclass(frozen=True, slots=True)
class Values:
    """Numbers (or booleans, nulls, by `mark`) of the field in a range."""

    path: str
    mark: str
    low: float
    high: float
    include_low: bool
    include_high: bool


@dataclass(frozen=True, slots=True)
class Strings:
    """Terms of the field in a range, in byte order."""

    path: str
    analyzer: str
    low: str | None
    high: str | None
    include_low: bool
    include_high: bool
    boost: float


@dataclass(frozen=True, slots=True)
class Prefixes:
    """At least `minimum` of the prefixes begin a term; `limit` terms of each are scored."""

    path: str
    analyzer: str
    prefixes: tuple[str, ...]
    minimum: int
    limit: int
    boost: float


@dataclass(frozen=True, slots=True)
class Like:
    """A term fits a pattern with % and _."""

    path: str
    analyzer: str
    pattern: str
    boost: float


@dataclass(frozen=True, slots=True)
class Fuzzy:
    """A term within an edit distance of prefix + target; the `limit` most similar ones count (0 = all)."""

    path: str
    analyzer: str
    target: str
    distance: int
    transpositions: bool
    limit: int
    prefix: str
    boost: float


@dataclass(frozen=True, slots=True)
class Ngrams:
    """A share of the target's n-grams occurs in order."""

    path: str
    analyzer: str
    target: str
    threshold: float
    boost: float


@dataclass(frozen=True, slots=True)
class PhrasePart:
    """One part of a phrase: `skip` tokens may stand before it. `kind` "text" is analysed, the others are not."""

    skip: int
    kind: str
    value: Any


@dataclass(frozen=True, slots=True)
class Phrase:
    path: str
    analyzer: str
    parts: tuple[PhrasePart, ...]
    boost: float


@dataclass(frozen=True, slots=True)
class Exists:
    """The attribute is indexed with any value, or with one of a type (or analyzer)."""

    path: str
    kind: str | None
    analyzer: str | None


@dataclass(frozen=True, slots=True)
class Located:
    """The attribute holds a place that its analyzer knows."""

    path: str
    analyzer: str


@dataclass(frozen=True, slots=True)
class Nested:
    """So many of the objects in an array, each by itself, are as `inner` says: at least `least`, at most `most` (None
    for any number), or with `every` all of them. Paths in `inner` begin at such an object."""

    path: str
    least: int
    most: int | None
    every: bool
    inner: Condition


@dataclass(frozen=True, slots=True)
class AllOf:
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: tuple[Condition, ...]
    minimum: int = 1


@dataclass(frozen=True, slots=True)
class Not:
    part: Condition


@dataclass(frozen=True, slots=True)
class Expression:
    """Whatever only the document itself can tell: `matches(document)`. What is at `places` is seen as GeoJSON, whatever
    form of a place their analyzers take."""

    matches: Callable[[dict[str, Any]], bool]
    places: tuple[Located, ...] = ()


Condition: TypeAlias = (
    Every
    | Nothing
    | Terms
    | Values
    | Strings
    | Prefixes
    | Like
    | Fuzzy
    | Ngrams
    | Phrase
    | Exists
    | Located
    | Nested
    | AllOf
    | AnyOf
    | Not
    | Expression
)


def all_of(parts: Sequence[Condition]) -> Condition:
    """AND with what is always or never true folded."""
    kept: list[Condition] = []
    for part in parts:
        if isinstance(part, Nothing):
            return part
        if isinstance(part, AllOf):
            kept.extend(part.parts)
        elif not isinstance(part, Every):
            kept.append(part)
    return Every() if not kept else kept[0] if len(kept) == 1 else AllOf(tuple(kept))


def any_of(parts: Sequence[Condition]) -> Condition:
    """OR, likewise folded."""
    kept: list[Condition] = []
    for part in parts:
        if isinstance(part, Every):
            return part
        if isinstance(part, AnyOf) and part.minimum == 1:
            kept.extend(part.parts)
        elif not isinstance(part, Nothing):
            kept.append(part)
    return Nothing() if not kept else kept[0] if len(kept) == 1 else AnyOf(tuple(kept))


def negation(part: Condition) -> Condition:
    match part:
        case Every():
            return Nothing()
        case Nothing():
            return Every()
        case Not(inner):
            return inner
        case _:
            return Not(part)
