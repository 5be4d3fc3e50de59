"""Object functions (ArangoDB documentation, "Document and object functions in AQL"). Arguments are never changed."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from ..operators import index
from ..values import equal, to_string, truthy
from .registry import Table, Value, ticking, wrong_type

if TYPE_CHECKING:
    from ..runtime import Runtime

TABLE: Final = Table()


@TABLE.add("HAS", args=(2, 2))
def has(rt: Runtime, document: Value, name: Value) -> bool:
    return type(document) is dict and to_string(name) in document


def _names(document: dict[str, Any], without_system: Value) -> list[str]:
    if truthy(without_system):
        return [name for name in document if not name.startswith("_")]
    return list(document)


@TABLE.add("ATTRIBUTES", "KEYS", args=(1, 3))
def attributes(rt: Runtime, document: Value, without_system: Value = False, sort: Value = False) -> Value:
    if type(document) is not dict:
        return wrong_type(rt, "ATTRIBUTES")
    return sorted(_names(document, without_system))  # also unsorted, the server's order is that of the names


@TABLE.add("VALUES", args=(1, 2))
def values(rt: Runtime, document: Value, without_system: Value = False) -> Value:
    if type(document) is not dict:
        return wrong_type(rt, "VALUES")
    return [document[name] for name in _names(document, without_system)]


@TABLE.add("ENTRIES", args=(1, 1))
def entries(rt: Runtime, document: Value) -> Value:
    if type(document) is not dict:
        return wrong_type(rt, "ENTRIES")
    return [[name, value] for name, value in document.items()]


@TABLE.add("VALUE", args=(2, 2))
def value_at(rt: Runtime, document: Value, path: Value) -> Value:
    if type(document) is not dict or type(path) is not list:
        return wrong_type(rt, "VALUE")
    if not path:
        return None
    found: Value = document
    for step in path:
        if type(step) not in (str, int, float):
            return wrong_type(rt, "VALUE")
        found = index(found, step)
    return found


def _merge(rt: Runtime, name: str, documents: tuple[Value, ...], combine: Callable[[Value, Value], Value]) -> Value:
    if len(documents) == 1 and type(documents[0]) is list:
        documents = tuple(documents[0])
    merged: dict[str, Any] = {}
    for document in documents:
        if type(document) is not dict:
            return wrong_type(rt, name)
        merged = combine(merged, document)
    return merged


@TABLE.add("MERGE", args=(1, None))
def merge(rt: Runtime, *documents: Value) -> Value:
    """One object of all attributes; the last of a name counts."""
    return _merge(rt, "MERGE", documents, lambda merged, document: {**merged, **document})


def merge_deep(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """`new` over `old`, objects merged all the way down."""
    merged = dict(old)
    for name, value in new.items():
        known = merged.get(name)
        merged[name] = merge_deep(known, value) if type(known) is dict and type(value) is dict else value
    return merged


@TABLE.add("MERGE_RECURSIVE", args=(1, None))
def merge_recursive(rt: Runtime, *documents: Value) -> Value:
    return _merge(rt, "MERGE_RECURSIVE", documents, merge_deep)


def _selected(names: tuple[Value, ...]) -> frozenset[str]:
    """Attribute names given one by one or in arrays."""
    try:
        return _named(*names)
    except TypeError:  # arrays are among them
        found: set[str] = set()
        for name in names:
            if type(name) is list:
                found.update(item for item in name if type(item) is str)
            elif name is not None:
                found.add(to_string(name))
        return frozenset(found)


@lru_cache(maxsize=256, typed=True)
def _named(*names: Value) -> frozenset[str]:
    return frozenset(to_string(name) for name in names if name is not None)


@TABLE.add("UNSET", args=(2, None))
def unset(rt: Runtime, document: Value, *names: Value) -> Value:
    if type(document) is not dict:
        return wrong_type(rt, "UNSET")
    gone = _selected(names)
    return {name: value for name, value in document.items() if name not in gone}


@TABLE.add("KEEP", args=(2, None))
def keep(rt: Runtime, document: Value, *names: Value) -> Value:
    if type(document) is not dict:
        return wrong_type(rt, "KEEP")
    kept = _selected(names)
    return {name: value for name, value in document.items() if name in kept}


@TABLE.add("UNSET_RECURSIVE", args=(2, None))
def unset_recursive(rt: Runtime, document: Value, *names: Value) -> Value:
    if type(document) is not dict:
        return wrong_type(rt, "UNSET_RECURSIVE")
    gone = _selected(names)
    return _filtered(document, lambda name: name not in gone)


@TABLE.add("KEEP_RECURSIVE", args=(2, None))
def keep_recursive(rt: Runtime, document: Value, *names: Value) -> Value:
    if type(document) is not dict:
        return wrong_type(rt, "KEEP_RECURSIVE")
    kept = _selected(names)
    return _filtered(document, lambda name: name in kept)


def _filtered(value: Value, wanted: Callable[[str], bool]) -> Value:
    """The attributes wanted on every level of objects; arrays are gone through too."""
    if type(value) is dict:
        return {name: _filtered(item, wanted) for name, item in value.items() if wanted(name)}
    if type(value) is list:
        return [_filtered(item, wanted) for item in value]
    return value


@TABLE.add("TRANSLATE", args=(2, 3))
def translate(rt: Runtime, value: Value, lookup: Value, *default: Value) -> Value:
    if type(lookup) is not dict:
        return wrong_type(rt, "TRANSLATE")
    key = to_string(value)
    if key in lookup:
        return lookup[key]
    return default[0] if default else value


@TABLE.add("ZIP", args=(2, 2))
def zipped(rt: Runtime, keys: Value, items: Value) -> Value:
    """An object of names and values of the same number; the first of a name counts."""
    if type(keys) is not list or type(items) is not list or len(keys) != len(items):
        return wrong_type(rt, "ZIP")
    found: dict[str, Any] = {}
    for key, item in zip(ticking(rt, keys), items, strict=True):
        found.setdefault(to_string(key), item)
    return found


@TABLE.add("MATCHES", args=(2, 3))
def matches(rt: Runtime, document: Value, examples: Value, return_index: Value = False) -> Value:
    indexed = truthy(return_index)
    if type(document) is not dict:
        return -1 if indexed else False
    given = examples if type(examples) is list else [examples]
    for position, example in enumerate(given):
        if type(example) is not dict:
            wrong_type(rt, "MATCHES")
            continue
        if all(equal(document.get(name), value) for name, value in example.items()):
            return position if indexed else True
    return -1 if indexed else False
