"""Definitions of views, links and inverted indexes: checked, completed with defaults, as the HTTP API shows them."""

from __future__ import annotations

from typing import Any

from vgraph.embedded.errors import ArangoError

from .fields import FieldRule

JSON = dict[str, Any]

_POLICY: JSON = {
    "type": "tier",
    "segmentsBytesMax": 8589934592,
    "maxSkewThreshold": 0.4,
    "minDeletionRatio": 0.5,
}
_INTERVALS: JSON = {"cleanupIntervalStep": 2, "commitIntervalMsec": 1000, "consolidationIntervalMsec": 5000}
BUFFERS: JSON = {"writebufferActive": 0, "writebufferIdle": 64, "writebufferSizeMax": 33554432}
_FIXED = ("optimizeTopK", "primarySort", "primarySortCompression", "storedValues", *BUFFERS)


def bad(message: str) -> ArangoError:
    return ArangoError(10, message)


def number(given: JSON, name: str, default: int) -> int:
    value = given.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise bad(f"Invalid value for attribute '{name}': a non-negative integer is expected")
    return value


def flag(given: JSON, name: str, default: bool) -> bool:
    value = given.get(name, default)
    if not isinstance(value, bool):
        raise bad(f"Invalid value for attribute '{name}': a boolean is expected")
    return value


def caches(given: JSON, *names: str) -> JSON:
    """Switches of the server's column cache: shown where they are on; here everything is cached."""
    return {name: True for name in names if flag(given, name, False)}


def array(given: JSON, name: str) -> list[Any]:
    value = given.get(name, [])
    if not isinstance(value, list):
        raise bad(f"Invalid value for attribute '{name}': an array is expected")
    return value


def policy(given: JSON) -> JSON:
    value = given.get("consolidationPolicy", _POLICY)
    if not isinstance(value, dict) or value.get("type", "tier") not in ("tier", "bytes_accum"):
        raise bad("Invalid value for attribute 'consolidationPolicy'")
    if value.get("type", "tier") == "bytes_accum":
        return {"type": "bytes_accum", "threshold": value.get("threshold", 0.1)}
    return {name: value.get(name, default) for name, default in _POLICY.items()}


def compression(value: Any) -> str:
    if value not in ("lz4", "none"):
        raise bad("Invalid value for attribute 'primarySortCompression': lz4 or none is expected")
    return str(value)


def sort_fields(fields: Any) -> list[JSON]:
    if not isinstance(fields, list):
        raise bad("Invalid value for attribute 'primarySort': an array is expected")
    shown = []
    for entry in fields:
        if not isinstance(entry, dict) or not isinstance(entry.get("field"), str):
            raise bad("Invalid value for attribute 'primarySort': objects with 'field' and 'direction' are expected")
        ascending = entry.get("asc", str(entry.get("direction", "asc")).lower() == "asc")
        shown.append({"field": entry["field"], "asc": bool(ascending)})
    return shown


def stored_values(given: JSON) -> list[JSON]:
    shown = []
    for entry in array(given, "storedValues"):
        fields = entry.get("fields") if isinstance(entry, dict) else entry
        fields = [fields] if isinstance(fields, str) else fields
        if not isinstance(fields, list) or not all(isinstance(name, str) for name in fields):
            raise bad("Invalid value for attribute 'storedValues'")
        given_compression = entry.get("compression", "lz4") if isinstance(entry, dict) else "lz4"
        cached = caches(entry, "cache") if isinstance(entry, dict) else {}
        shown.append({"fields": fields, "compression": compression(given_compression), **cached})
    return shown


# ---------------------------------------------------------------------------------------------- arangosearch


def normalise_view(kind: str, properties: JSON, previous: JSON | None = None, partial: bool = False) -> JSON:
    """Properties of a view with defaults; with `previous` those after a PUT (or, `partial`, a PATCH)."""
    if not isinstance(properties, dict):
        raise bad("view properties must be an object")
    if kind == "search-alias":
        return {"indexes": _alias_indexes(properties, previous, partial)}
    if kind != "arangosearch":
        raise bad(f"unknown view type '{kind}'")
    given = dict(properties)
    if previous is not None:
        # fixed when the view was made
        given.update({name: previous[name] for name in _FIXED})
        given.update({name: previous.get(name, False) for name in ("primarySortCache", "primaryKeyCache")})
        if partial:
            given = {**{name: previous[name] for name in (*_INTERVALS, "consolidationPolicy")}, **given}
    shown: JSON = {name: number(given, name, default) for name, default in _INTERVALS.items()}
    shown["consolidationPolicy"] = policy(given)
    shown["optimizeTopK"] = array(given, "optimizeTopK")
    shown["primarySort"] = sort_fields(given.get("primarySort", []))
    shown["primarySortCompression"] = compression(given.get("primarySortCompression", "lz4"))
    shown["storedValues"] = stored_values(given)
    shown |= caches(given, "primarySortCache", "primaryKeyCache")
    shown |= {name: number(given, name, default) for name, default in BUFFERS.items()}
    links = given.get("links", {})
    if not isinstance(links, dict):
        raise bad("Invalid value for attribute 'links': an object is expected")
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
        raise bad("Invalid value for a link: an object is expected")
    if given.get("nested"):
        raise bad("Invalid value for a link: 'nested' is for the fields of a link")
    return _field_meta(given, None)


def _field_meta(given: Any, parent: JSON | None) -> JSON:
    if not isinstance(given, dict):
        raise bad("Invalid value for attribute 'fields': objects are expected")
    analyzers = given.get("analyzers", parent["analyzers"] if parent else ["identity"])
    if not isinstance(analyzers, list) or not analyzers or not all(isinstance(name, str) for name in analyzers):
        raise bad("Invalid value for attribute 'analyzers': a non-empty array of names is expected")
    stored = given.get("storeValues", parent["storeValues"] if parent else "none")
    if stored not in ("none", "id"):
        raise bad("Invalid value for attribute 'storeValues': none or id is expected")
    meta: JSON = {
        "analyzers": sorted({name.rpartition("::")[2] for name in analyzers}),
        "fields": {},
        "includeAllFields": flag(given, "includeAllFields", False),
        "storeValues": stored,
        "trackListPositions": flag(given, "trackListPositions", bool(parent and parent["trackListPositions"])),
    }
    fields = given.get("fields", {})
    if not isinstance(fields, dict):
        raise bad("Invalid value for attribute 'fields': an object is expected")
    meta |= caches(given, "cache")
    meta["fields"] = {name: _difference(_field_meta(below, meta), meta) for name, below in fields.items()}
    nested = given.get("nested", {})
    if not isinstance(nested, dict):
        raise bad("Invalid value for attribute 'nested': an object is expected")
    if nested:
        meta["nested"] = {name: _difference(_field_meta(below, meta), meta) for name, below in nested.items()}
    return meta


def _difference(meta: JSON, parent: JSON) -> JSON:
    """What a nested field says that its parent does not."""
    shown = {
        name: meta[name] for name in ("analyzers", "storeValues", "trackListPositions") if meta[name] != parent[name]
    }
    shown |= {name: meta[name] for name in ("fields", "nested") if meta.get(name)}
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
    if link.get("nested"):
        rule.nested = FieldRule(
            rule.analyzers, {name: link_rule(below, rule) for name, below in link["nested"].items()}
        )
    return rule


# ---------------------------------------------------------------------------------------------- search-alias


def _alias_indexes(properties: JSON, previous: JSON | None, partial: bool) -> list[JSON]:
    kept: list[JSON] = list(previous["indexes"]) if previous is not None and partial else []
    named: list[JSON] = []
    for entry in array(properties, "indexes"):
        if not isinstance(entry, dict) or not all(isinstance(entry.get(name), str) for name in ("collection", "index")):
            raise bad("Invalid value for attribute 'indexes': objects with 'collection' and 'index' are expected")
        shown = {"collection": entry["collection"], "index": entry["index"]}
        operation = entry.get("operation", "add")
        if operation not in ("add", "del"):
            raise bad("Invalid value for attribute 'operation': add or del is expected")
        if shown in named or (operation == "del" and shown not in kept):
            raise bad(f"index '{shown['index']}' of collection '{shown['collection']}' is named twice or not there")
        named.append(shown)
        if operation == "del":
            kept = [known for known in kept if known != shown]
        elif shown not in kept:
            kept.append(shown)
    return kept
