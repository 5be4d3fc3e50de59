"""What a document brings to an index: the values of its fields, analysed.

A link of an arangosearch view says by nested objects which attributes are indexed and with which analyzers ("arangosearch
Views", link properties); an inverted index lists paths ("Inverted index"). Both end in a payload as segments.py reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .analyzer_base import Analyzer
from .segments import BOOL, NESTED, NULL, NUMBER, TEXT, Payload, TextPayload, text_parts

Lookup: TypeAlias = Callable[[str], Analyzer]
ELEMENTS = "[?]"  # in a path: the objects of an array, each by itself


@dataclass(slots=True)
class FieldRule:
    """How the value at one place is indexed: analyzers for strings, rules for attributes below, or all of them."""

    analyzers: tuple[str, ...] = ("identity",)
    fields: dict[str, FieldRule] = field(default_factory=dict)
    include_all: bool = False
    stored: bool = False  # EXISTS sees it
    positions: bool = False  # array elements are told apart: "a[0]"
    arrays: bool = True  # array elements are alternative values
    nested: FieldRule | None = None  # what of the objects in an array is searched together

    def at(self, path: str) -> FieldRule | None:
        """The rule of what is below; "a[?].b" is the attribute b of the objects in the array a."""
        step, _, rest = path.partition(".")
        name = step.removesuffix(ELEMENTS)
        below = self.fields.get(name, self if self.include_all else None)
        if below is not None and name != step:
            below = below.nested
        return below if below is None or not rest else below.at(rest)

    def analyzer_names(self) -> set[str]:
        """The analyzers that it and what is below it use."""
        below = (*self.fields.values(), *(() if self.nested is None else (self.nested,)))
        return set(self.analyzers).union(*(rule.analyzer_names() for rule in below))


def text_values(analyzer: Analyzer, values: Sequence[str]) -> list[TextPayload]:
    """What each of several texts brings to a field."""
    if "offset" in analyzer.features:
        return [_with_offsets(analyzer.offsets(value)) for value in values]
    if "position" not in analyzer.features:
        return list(map(analyzer.terms, values))
    found = map(analyzer.positions, values)
    return [terms if placed is None else {"t": terms, "p": placed, "o": None} for terms, placed in found]


def _with_offsets(found: Sequence[tuple[str, int, int, int]]) -> TextPayload:
    offsets = [place for entry in found for place in entry[2:]]
    positions = [entry[1] for entry in found]
    return {"t": [entry[0] for entry in found], "p": positions, "o": offsets}


class Collector:
    """Gathers one document's payload."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self.payload: Payload = {}

    def walk(self, value: Any, path: str, rule: FieldRule) -> None:
        """Index a value and what is below it by a rule."""
        if rule.nested is not None and isinstance(value, list):
            self._nested(value, path, rule.nested)
        if isinstance(value, str):
            for name in rule.analyzers:
                self._text(path, name, value)
        elif value is None:
            self.payload[path + NULL] = [0]
        elif isinstance(value, bool):
            self.payload.setdefault(path + BOOL, []).append(float(value))
        elif isinstance(value, int | float):
            self.payload.setdefault(path + NUMBER, []).append(float(value))
        elif self._taken_whole(value, path, rule):
            return
        elif isinstance(value, list):
            if rule.arrays:
                for at, item in enumerate(value):
                    self.walk(item, f"{path}[{at}]" if rule.positions else path, rule)
        else:
            self.attributes(value, path, rule)

    def _nested(self, items: list[Any], path: str, rule: FieldRule) -> None:
        """Note how many objects there are, and as what narrows a search down all their attributes."""
        objects = [item for item in items if isinstance(item, dict)]
        self.payload[path + NESTED] = [float(len(objects))]
        for item in objects:
            self.attributes(item, path + ELEMENTS, rule)

    def attributes(self, value: dict[str, Any], path: str, rule: FieldRule) -> None:
        """Index the attributes of an object."""
        if not rule.include_all:
            for name, below in rule.fields.items():
                if name in value:
                    self.walk(value[name], f"{path}.{name}" if path else name, below)
            return
        for name, item in value.items():
            self.walk(item, f"{path}.{name}" if path else name, rule.fields.get(name, rule))

    def _taken_whole(self, value: Any, path: str, rule: FieldRule) -> bool:
        """Note an array or object for the analyzers that take it as it is; True when there are no others."""
        whole = [name for name in rule.analyzers if self._lookup(name).whole]
        for name in whole:
            if self._lookup(name).accepts(value):
                self.payload[path + TEXT + name] = [""]
        return len(whole) == len(rule.analyzers)

    def _text(self, path: str, name: str, value: str) -> None:
        analyzer = self._lookup(name)
        if analyzer.returns != "string":
            mark = NUMBER if analyzer.returns == "number" else BOOL
            self.payload.setdefault(path + mark, []).extend(map(float, analyzer.values(value)))
            return
        key = path + TEXT + name
        [found] = text_values(analyzer, [value])
        if key not in self.payload:
            self.payload[key] = found
        else:
            self._extend(key, *text_parts(found))

    def _extend(self, key: str, terms: list[str], positions: list[int] | None, offsets: list[int] | None) -> None:
        """Add another value of the same field: its tokens follow those that are there."""
        old_terms, old_positions, old_offsets = text_parts(self.payload[key])
        if old_positions is None and positions is None:
            self.payload[key] = old_terms + terms
            return
        before = list(range(len(old_terms))) if old_positions is None else old_positions
        after = range(len(terms)) if positions is None else positions
        shift = before[-1] + 1 if before else 0
        self.payload[key] = {
            "t": old_terms + terms,
            "p": before + [place + shift for place in after],
            "o": None if offsets is None else (old_offsets or []) + offsets,
        }


class Columns:
    """Gathers what many documents bring, field by field: for every field ordinals, ascending, and what each brings to it."""

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        self.fields: dict[str, tuple[list[int], list[Any]]] = {}

    def attributes(self, documents: Sequence[dict[str, Any]], rule: FieldRule) -> None:
        """Index the top-level attributes that a rule names."""
        for name, below in rule.fields.items():
            found = [(at, document[name]) for at, document in enumerate(documents) if name in document]
            if found:
                ords, values = map(list, zip(*found, strict=True))
                self._values(ords, values, name, below)

    def _values(self, ords: list[int], values: list[Any], path: str, rule: FieldRule) -> None:
        kinds = set(map(type, values))
        analyzers = {name: self.lookup(name) for name in rule.analyzers}
        if kinds == {str} and all(analyzer.returns == "string" for analyzer in analyzers.values()):
            for name, analyzer in analyzers.items():
                self.fields[path + TEXT + name] = ords, text_values(analyzer, values)
        elif kinds <= {int, float}:
            self.fields[path + NUMBER] = ords, [(float(value),) for value in values]
        else:
            self._each(ords, values, path, rule)

    def _each(self, ords: list[int], values: list[Any], path: str, rule: FieldRule) -> None:
        for ordinal, value in zip(ords, values, strict=True):
            collector = Collector(self.lookup)
            collector.walk(value, path, rule)
            self.add(ordinal, collector.payload)

    def add(self, ordinal: int, payload: Payload) -> None:
        """What one document brings, to fields that it alone is asked for."""
        for name, value in payload.items():
            ords, values = self.fields.setdefault(name, ([], []))
            ords.append(ordinal)
            values.append(value)


# -------------------------------------------------------------------------------------------- inverted indexes


@dataclass(frozen=True, slots=True)
class PathRule:
    """One field of an inverted index: names, with True where a step goes through the elements of an array."""

    steps: tuple[tuple[str, bool], ...]
    rule: FieldRule

    @property
    def path(self) -> str:
        return ".".join(name for name, _ in self.steps)

    def collect(self, document: dict[str, Any], collector: Collector) -> None:
        self._descend(document, 0, collector)

    def _descend(self, value: Any, depth: int, collector: Collector) -> None:
        if depth == len(self.steps):
            collector.walk(value, self.path, self.rule)
            return
        name, expand = self.steps[depth]
        if not isinstance(value, dict) or name not in value:
            return
        inner = value[name]
        if not expand:
            self._descend(inner, depth + 1, collector)
        elif isinstance(inner, list):
            for item in inner:
                self._descend(item, depth + 1, collector)
        elif self.rule.arrays:
            self._descend(inner, depth + 1, collector)


def path_steps(path: str) -> tuple[tuple[str, bool], ...]:
    """ "a.b[*].c" -> (("a", False), ("b", True), ("c", False))."""
    return tuple((name.removesuffix("[*]"), name.endswith("[*]")) for name in path.split("."))
