"""Definitions of views, links and inverted indexes: checked, completed with defaults, as the HTTP API shows them."""

from __future__ import annotations

from typing import Any

from vgraph.embedded.errors import ArangoError, unsupported

from .analyzers import BUILTIN, FEATURES, check_features
from .fields import FieldRule, PathRule, path_steps

JSON = dict[str, Any]

_POLICY: JSON = {
    "type": "tier",
    "segmentsBytesMax": 8589934592,
    "maxSkewThreshold": 0.4,
    "minDeletionRatio": 0.5,
}
_INTERVALS: JSON = {"cleanupIntervalStep": 2, "commitIntervalMsec": 1000, "consolidationIntervalMsec": 5000}
_BUFFERS: JSON = {"writebufferActive": 0, "writebufferIdle": 64, "writebufferSizeMax": 33554432}
_FIXED = ("optimizeTopK", "primarySort", "primarySortCompression", "storedValues", *_BUFFERS)


def _bad(message: str) -> ArangoError:
    return ArangoError(10, message)


def _number(given: JSON, name: str, default: int) -> int:
    value = given.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _bad(f"Invalid value for attribute '{name}': a non-negative integer is expected")
    return value


def _flag(given: JSON, name: str, default: bool) -> bool:
    value = given.get(name, default)
    if not isinstance(value, bool):
        raise _bad(f"Invalid value for attribute '{name}': a boolean is expected")
    return value


def _caches(given: JSON, *names: str) -> JSON:
    """Switches of the server's column cache: shown where they are on; here everything is cached."""
    return {name: True for name in names if _flag(given, name, False)}


def _array(given: JSON, name: str) -> list[Any]:
    value = given.get(name, [])
    if not isinstance(value, list):
        raise _bad(f"Invalid value for attribute '{name}': an array is expected")
    return value


def _policy(given: JSON) -> JSON:
    value = given.get("consolidationPolicy", _POLICY)
    if not isinstance(value, dict) or value.get("type", "tier") not in ("tier", "bytes_accum"):
        raise _bad("Invalid value for attribute 'consolidationPolicy'")
    if value.get("type", "tier") == "bytes_accum":
        return {"type": "bytes_accum", "threshold": value.get("threshold", 0.1)}
    return {name: value.get(name, default) for name, default in _POLICY.items()}


def _compression(value: Any) -> str:
    if value not in ("lz4", "none"):
        raise _bad("Invalid value for attribute 'primarySortCompression': lz4 or none is expected")
    return str(value)


def _sort_fields(fields: Any) -> list[JSON]:
    if not isinstance(fields, list):
        raise _bad("Invalid value for attribute 'primarySort': an array is expected")
    shown = []
    for entry in fields:
        if not isinstance(entry, dict) or not isinstance(entry.get("field"), str):
            raise _bad("Invalid value for attribute 'primarySort': objects with 'field' and 'direction' are expected")
        ascending = entry.get("asc", str(entry.get("direction", "asc")).lower() == "asc")
        shown.append({"field": entry["field"], "asc": bool(ascending)})
    return shown


def _stored_values(given: JSON) -> list[JSON]:
    shown = []
    for entry in _array(given, "storedValues"):
        fields = entry.get("fields") if isinstance(entry, dict) else entry
        fields = [fields] if isinstance(fields, str) else fields
        if not isinstance(fields, list) or not all(isinstance(name, str) for name in fields):
            raise _bad("Invalid value for attribute 'storedValues'")
        compression = entry.get("compression", "lz4") if isinstance(entry, dict) else "lz4"
        caches = _caches(entry, "cache") if isinstance(entry, dict) else {}
        shown.append({"fields": fields, "compression": _compression(compression), **caches})
    return shown


# ---------------------------------------------------------------------------------------------- arangosearch


def normalise_view(kind: str, properties: JSON, previous: JSON | None = None, partial: bool = False) -> JSON:
    """Properties of a view with defaults; with `previous` those after a PUT (or, `partial`, a PATCH)."""
    if not isinstance(properties, dict):
        raise _bad("view properties must be an object")
    if kind == "search-alias":
        return {"indexes": _alias_indexes(properties, previous, partial)}
    if kind != "arangosearch":
        raise _bad(f"unknown view type '{kind}'")
    given = dict(properties)
    if previous is not None:
        # fixed when the view was made
        given.update({name: previous[name] for name in _FIXED})
        given.update({name: previous.get(name, False) for name in ("primarySortCache", "primaryKeyCache")})
        if partial:
            given = {**{name: previous[name] for name in (*_INTERVALS, "consolidationPolicy")}, **given}
    shown: JSON = {name: _number(given, name, default) for name, default in _INTERVALS.items()}
    shown["consolidationPolicy"] = _policy(given)
    shown["optimizeTopK"] = _array(given, "optimizeTopK")
    shown["primarySort"] = _sort_fields(given.get("primarySort", []))
    shown["primarySortCompression"] = _compression(given.get("primarySortCompression", "lz4"))
    shown["storedValues"] = _stored_values(given)
    shown |= _caches(given, "primarySortCache", "primaryKeyCache")
    shown |= {name: _number(given, name, default) for name, default in _BUFFERS.items()}
    links = given.get("links", {})
    if not isinstance(links, dict):
        raise _bad("Invalid value for attribute 'links': an object is expected")
    kept = dict(previous["links"]) if previous is not None and partial else {}
    for name, link in links.items():
        if link is None:
            kept.pop(name, None)
        else:
            kept[name] = normalise_link(link)
    shown["links"] = kept
    return shown


def normalise_link(given: Any) -> JSON:
    """A link with every default, nested fields with what differs from the level above."""
    if not isinstance(given, dict):
        raise _bad("Invalid value for a link: an object is expected")
    if given.get("nested"):
        raise unsupported("nested fields of a view link")
    return _field_meta(given, None)


def _field_meta(given: Any, parent: JSON | None) -> JSON:
    if not isinstance(given, dict):
        raise _bad("Invalid value for attribute 'fields': objects are expected")
    analyzers = given.get("analyzers", parent["analyzers"] if parent else ["identity"])
    if not isinstance(analyzers, list) or not analyzers or not all(isinstance(name, str) for name in analyzers):
        raise _bad("Invalid value for attribute 'analyzers': a non-empty array of names is expected")
    stored = given.get("storeValues", parent["storeValues"] if parent else "none")
    if stored not in ("none", "id"):
        raise _bad("Invalid value for attribute 'storeValues': none or id is expected")
    meta: JSON = {
        "analyzers": sorted({name.rpartition("::")[2] for name in analyzers}),
        "fields": {},
        "includeAllFields": _flag(given, "includeAllFields", False),
        "storeValues": stored,
        "trackListPositions": _flag(given, "trackListPositions", bool(parent and parent["trackListPositions"])),
    }
    fields = given.get("fields", {})
    if not isinstance(fields, dict):
        raise _bad("Invalid value for attribute 'fields': an object is expected")
    meta |= _caches(given, "cache")
    meta["fields"] = {name: _difference(_field_meta(below, meta), meta) for name, below in fields.items()}
    return meta


def _difference(meta: JSON, parent: JSON) -> JSON:
    """What a nested field says that its parent does not."""
    shown = {
        name: meta[name] for name in ("analyzers", "storeValues", "trackListPositions") if meta[name] != parent[name]
    }
    if meta["fields"]:
        shown["fields"] = meta["fields"]
    if meta["includeAllFields"]:
        shown["includeAllFields"] = True
    if meta.get("cache") and not parent.get("cache"):
        shown["cache"] = True
    return dict(sorted(shown.items()))


def link_rule(link: JSON, parent: FieldRule | None = None) -> FieldRule:
    """The rule of a normalised link."""
    rule = FieldRule(
        tuple(link.get("analyzers", parent.analyzers if parent else ("identity",))),
        {},
        link.get("includeAllFields", False),
        link["storeValues"] == "id" if "storeValues" in link else bool(parent and parent.stored),
        link.get("trackListPositions", parent.positions if parent else False),
    )
    rule.fields = {name: link_rule(below, rule) for name, below in link.get("fields", {}).items()}
    return rule


# ---------------------------------------------------------------------------------------------- search-alias


def _alias_indexes(properties: JSON, previous: JSON | None, partial: bool) -> list[JSON]:
    kept: list[JSON] = list(previous["indexes"]) if previous is not None and partial else []
    for entry in _array(properties, "indexes"):
        if not isinstance(entry, dict) or not all(isinstance(entry.get(name), str) for name in ("collection", "index")):
            raise _bad("Invalid value for attribute 'indexes': objects with 'collection' and 'index' are expected")
        shown = {"collection": entry["collection"], "index": entry["index"]}
        operation = entry.get("operation", "add")
        if operation not in ("add", "del"):
            raise _bad("Invalid value for attribute 'operation': add or del is expected")
        if operation == "del":
            kept = [known for known in kept if known != shown]
        elif shown not in kept:
            kept.append(shown)
    return kept


# ------------------------------------------------------------------------------------------- inverted indexes


def normalise_inverted(given: JSON) -> JSON:
    """An inverted index's definition with defaults (without id and name)."""
    if given.get("unique"):
        raise _bad("inverted indexes cannot be unique")
    analyzer = _analyzer_name(given, "identity")
    fields = given.get("fields")
    include_all = _flag(given, "includeAllFields", False)
    if not isinstance(fields, list | None) or (not fields and not include_all):
        raise _bad("inverted index: 'fields' must be a non-empty array")
    search_field = _flag(given, "searchField", False)
    sort = given.get("primarySort", {})
    if not isinstance(sort, dict):
        raise _bad("Invalid value for attribute 'primarySort': an object is expected")
    features = _features(given, analyzer)
    top = {"analyzer": analyzer, "features": features, "searchField": search_field, "includeAllFields": False}
    shown: JSON = {
        "analyzer": analyzer,
        "cleanupIntervalStep": _number(given, "cleanupIntervalStep", 2),
        "commitIntervalMsec": _number(given, "commitIntervalMsec", 1000),
        "consolidationIntervalMsec": _number(given, "consolidationIntervalMsec", 5000),
        "consolidationPolicy": _policy(given),
        "features": features,
        "fields": [_inverted_field(entry, top) for entry in fields or ()],
        "includeAllFields": include_all,
        "optimizeTopK": _array(given, "optimizeTopK"),
        "primarySort": {
            "fields": _sort_fields(sort.get("fields", [])),
            "compression": _compression(sort.get("compression", "lz4")),
            **_caches(sort, "cache"),
        },
        "searchField": search_field,
        "sparse": True,
        "storedValues": _stored_values(given),
        "trackListPositions": _flag(given, "trackListPositions", False),
        "type": "inverted",
        "unique": False,
        "version": 1,
    }
    names = [entry["name"] for entry in shown["fields"]]
    if len(set(names)) < len(names):
        raise _bad("inverted index: a field occurs twice")
    shown |= _caches(given, "cache", "primaryKeyCache")
    return shown | {name: _number(given, name, default) for name, default in _BUFFERS.items()}


def _analyzer_name(given: JSON, default: str) -> str:
    value = given.get("analyzer", default)
    if not isinstance(value, str):
        raise _bad("Invalid value for attribute 'analyzer': a name is expected")
    return value.rpartition("::")[2]


def _features(given: JSON, analyzer: str) -> list[str]:
    if "features" in given:
        return list(check_features(given["features"]))
    known = BUILTIN.get(analyzer)
    return list(known.features) if known else list(FEATURES[:2])


def _inverted_field(given: Any, top: JSON) -> JSON:
    if isinstance(given, str):
        given = {"name": given}
    if not isinstance(given, dict) or not isinstance(given.get("name"), str) or not given["name"]:
        raise _bad("inverted index: a field is a name or an object with a name")
    if given.get("nested"):
        raise unsupported("nested fields of an inverted index")
    if given["name"].count("[*]") > 1:
        raise _bad("inverted index: an attribute path may be expanded once only")
    analyzer = _analyzer_name(given, top["analyzer"])
    shown: JSON = {}
    features = _features(given, analyzer) if "features" in given or analyzer != top["analyzer"] else top["features"]
    if features != top["features"]:
        shown["features"] = features
    if analyzer != top["analyzer"]:
        shown["analyzer"] = analyzer
    shown |= _caches(given, "cache")
    for name in ("includeAllFields", "searchField", "trackListPositions"):
        if name in given and _flag(given, name, False) != top.get(name, False):
            shown[name] = given[name]
    return {**shown, "name": given["name"]}


def inverted_rules(definition: JSON) -> tuple[list[PathRule], FieldRule | None]:
    """The rules of a normalised inverted index: one for each path, and one for all other attributes."""
    rules = []
    for entry in definition["fields"]:
        analyzer = entry.get("analyzer", definition["analyzer"])
        arrays = entry.get("searchField", definition["searchField"])
        rule = FieldRule(
            (analyzer,),
            {},
            entry.get("includeAllFields", False),
            True,
            entry.get("trackListPositions", definition["trackListPositions"]),
            arrays,
        )
        rules.append(PathRule(path_steps(entry["name"]), rule))
    rest = None
    if definition["includeAllFields"]:
        rest = FieldRule(
            (definition["analyzer"],), {}, True, True, definition["trackListPositions"], definition["searchField"]
        )
    return rules, rest
