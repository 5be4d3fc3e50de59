"""Definitions of inverted indexes: checked, completed with defaults, as the HTTP API shows them, and what they index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from .analyzers import BUILTIN, check_features
from .definitions import (
    BUFFERS,
    JSON,
    array,
    bad,
    caches,
    compression,
    flag,
    number,
    policy,
    sort_fields,
    stored_values,
)
from .fields import ELEMENTS, FieldRule, PathRule, path_steps


def normalise_inverted(given: JSON) -> JSON:
    """An inverted index's definition with defaults (without id and name)."""
    if given.get("unique"):
        raise bad("inverted indexes cannot be unique")
    analyzer = _analyzer_name(given, "identity")
    fields = given.get("fields")
    include_all = flag(given, "includeAllFields", False)
    if not isinstance(fields, list | None) or (not fields and not include_all):
        raise bad("inverted index: 'fields' must be a non-empty array")
    search_field = flag(given, "searchField", False)
    sort = given.get("primarySort", {})
    if not isinstance(sort, dict):
        raise bad("Invalid value for attribute 'primarySort': an object is expected")
    features = _features(given, analyzer)
    top = {"analyzer": analyzer, "features": features, "searchField": search_field, "includeAllFields": False}
    shown: JSON = {
        "analyzer": analyzer,
        "cleanupIntervalStep": number(given, "cleanupIntervalStep", 2),
        "commitIntervalMsec": number(given, "commitIntervalMsec", 1000),
        "consolidationIntervalMsec": number(given, "consolidationIntervalMsec", 5000),
        "consolidationPolicy": policy(given),
        "features": features,
        "fields": [_inverted_field(entry, top) for entry in fields or ()],
        "includeAllFields": include_all,
        "optimizeTopK": array(given, "optimizeTopK"),
        "primarySort": {
            "fields": sort_fields(sort.get("fields", [])),
            "compression": compression(sort.get("compression", "lz4")),
            **caches(sort, "cache"),
        },
        "searchField": search_field,
        "sparse": True,
        "storedValues": stored_values(given),
        "trackListPositions": flag(given, "trackListPositions", False),
        "type": "inverted",
        "unique": False,
        "version": 1,
    }
    names = [entry["name"].replace("[*]", "") for entry in shown["fields"]]
    if len(set(names)) < len(names):
        raise bad("inverted index: a field occurs twice")
    shown |= caches(given, "cache", "primaryKeyCache")
    return shown | {name: number(given, name, default) for name, default in BUFFERS.items()}


def _analyzer_name(given: JSON, default: str) -> str:
    value = given.get("analyzer", default)
    if not isinstance(value, str):
        raise bad("Invalid value for attribute 'analyzer': a name is expected")
    return value.rpartition("::")[2]


def _features(given: JSON, analyzer: str) -> list[str]:
    """Those given, else the analyzer's own; a stored analyzer's have been put in by `complete_features`."""
    if "features" in given:
        return list(check_features(given["features"]))
    known = BUILTIN.get(analyzer)
    return list(known.features) if known else []


def complete_features(given: Any, features_of: Callable[[str], tuple[str, ...]]) -> Any:
    """An inverted index's definition in which the features of stored analyzers are said wherever one is named."""
    if isinstance(given, list):
        return [complete_features(entry, features_of) for entry in given]
    if not isinstance(given, dict):
        return given
    shown = {
        name: complete_features(value, features_of) if name in ("fields", "nested") else value
        for name, value in given.items()
    }
    name = given.get("analyzer")
    if isinstance(name, str) and "features" not in given and name.rpartition("::")[2] not in BUILTIN:
        shown["features"] = list(features_of(name))
    return shown


def _inverted_field(given: Any, top: JSON) -> JSON:
    if isinstance(given, str):
        given = {"name": given}
    if not isinstance(given, dict) or not isinstance(given.get("name"), str) or not given["name"]:
        raise bad("inverted index: a field is a name or an object with a name")
    if given["name"].count("[*]") > 1:
        raise bad("inverted index: an attribute path may be expanded once only")
    analyzer = _analyzer_name(given, top["analyzer"])
    shown: JSON = {}
    features = _features(given, analyzer) if "features" in given or analyzer != top["analyzer"] else top["features"]
    if features != top["features"]:
        shown["features"] = features
    if analyzer != top["analyzer"]:
        shown["analyzer"] = analyzer
    shown |= caches(given, "cache")
    for name in ("includeAllFields", "searchField", "trackListPositions"):
        if name in given and flag(given, name, False) != top.get(name, False):
            shown[name] = given[name]
    if given.get("nested") is not None:
        below = {**top, "analyzer": analyzer, "features": features}
        shown["nested"] = [_inverted_field(entry, below) for entry in array(given, "nested")]
    return {**shown, "name": given["name"]}


_FEATURES: Final = "\x06"


def analyzer_key(name: str, features: Sequence[str]) -> str:
    """What a field's postings are kept under: the analyzer, with the features it has there when they are not its own."""
    known = BUILTIN.get(name)
    return name if known is not None and known.features == tuple(features) else name + _FEATURES + ",".join(features)


def with_features(key: str) -> tuple[str, tuple[str, ...] | None]:
    """(analyzer, features or None for its own) of such a key."""
    name, separator, features = key.partition(_FEATURES)
    return name, tuple(filter(None, features.split(","))) if separator else None


def inverted_rules(definition: JSON) -> tuple[list[PathRule], FieldRule | None]:
    """The rules of a normalised inverted index: one for each path, and one for all other attributes."""
    rules = [PathRule(path_steps(entry["name"]), _inverted_rule(entry, definition)) for entry in definition["fields"]]
    key = analyzer_key(definition["analyzer"], definition["features"])
    rest = None
    if definition["includeAllFields"]:
        rest = FieldRule((key,), {}, True, True, definition["trackListPositions"], definition["searchField"])
    return rules, rest


def _inverted_rule(entry: JSON, top: JSON) -> FieldRule:
    inherited = ("analyzer", "features", "searchField", "trackListPositions")
    held: JSON = {name: entry.get(name, top[name]) for name in inherited}
    key = analyzer_key(held["analyzer"], held["features"])
    include_all = entry.get("includeAllFields", False)
    rule = FieldRule((key,), {}, include_all, True, held["trackListPositions"], held["searchField"])
    if entry.get("nested"):
        rule.nested = FieldRule((key,))
        for below in entry["nested"]:
            _place(rule.nested, below["name"].split("."), _inverted_rule(below, held))
    return rule


def _place(rule: FieldRule, path: list[str], below: FieldRule) -> None:
    name, *rest = path
    if not rest:
        rule.fields[name] = below
    else:
        _place(rule.fields.setdefault(name, FieldRule(rule.analyzers)), rest, below)


def by_path(path: str, rule: FieldRule) -> Iterator[tuple[str, FieldRule]]:
    """A rule and those of the objects in its array, by their paths."""
    yield path, rule
    if rule.nested is not None:
        for name, below in rule.nested.fields.items():
            yield from _below(f"{path}{ELEMENTS}.{name}", below)


def _below(path: str, rule: FieldRule) -> Iterator[tuple[str, FieldRule]]:
    yield from by_path(path, rule)
    for name, below in rule.fields.items():
        yield from _below(f"{path}.{name}", below)
