"""What a collection asks of its documents: a JSON schema, and attributes computed when they are written.

Source: ArangoDB documentation, "Document schema validation" and "Computed values".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vgraph.embedded import schema
from vgraph.embedded.errors import ArangoError

if TYPE_CHECKING:
    from vgraph.embedded.documents import Collection, Document

SYSTEM: Final = frozenset(("_key", "_id", "_rev", "_from", "_to"))
_LEVELS: Final = ("none", "new", "moderate", "strict")
_OPERATIONS: Final = ("insert", "update", "replace")


def check_schema(value: Any) -> dict[str, Any] | None:
    """A collection's `schema` with defaults; 1621."""
    if value is None or value == {}:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("rule"), dict):
        raise ArangoError(1621)
    level = value.get("level", "strict")
    if level not in _LEVELS or value.get("type", "json") != "json" or not isinstance(value.get("message", ""), str):
        raise ArangoError(1621)
    return {"rule": value["rule"], "level": level, "message": value.get("message", ""), "type": "json"}


def check_computed_values(values: Any) -> list[dict[str, Any]] | None:
    """A collection's `computedValues` with defaults; 10."""
    if values is None or values == []:
        return None
    if not isinstance(values, list):
        raise ArangoError(10, "Computed values are not an array.")
    checked = [_check_computed_value(value) for value in values]
    if len({value["name"] for value in checked}) < len(checked):
        raise ArangoError(10, "Computed value definition: duplicate name")
    return checked


def _check_computed_value(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or not value["name"]:
        raise ArangoError(10, "Computed value definition: missing attribute 'name'")
    if value["name"] in SYSTEM:
        raise ArangoError(10, f"Computed value definition: '{value['name']}' is a system attribute")
    if not isinstance(value.get("expression"), str) or not value["expression"].lstrip().upper().startswith("RETURN"):
        raise ArangoError(10, "Computed value definition: the expression must be a RETURN statement")
    if not isinstance(value.get("overwrite"), bool):
        raise ArangoError(10, "Computed value definition: missing attribute 'overwrite'")
    compute_on = value.get("computeOn", list(_OPERATIONS))
    if not isinstance(compute_on, list) or not compute_on or not set(compute_on) <= set(_OPERATIONS):
        raise ArangoError(10, "Computed value definition: 'computeOn' may hold insert, update and replace")
    from vgraph.embedded import aql

    aql.parse(value["expression"])
    return {
        "name": value["name"],
        "expression": value["expression"],
        "computeOn": compute_on,
        "overwrite": value["overwrite"],
        "failOnWarning": bool(value.get("failOnWarning", False)),
        "keepNull": bool(value.get("keepNull", True)),
    }


def apply(collection: Collection, new: Document, old: Document | None, operation: str) -> Document:
    """The document with its computed attributes, checked against the schema; 1620."""
    properties = collection.info.properties
    for computed in properties.get("computedValues") or ():
        if operation in computed["computeOn"] and (computed["overwrite"] or computed["name"] not in new):
            _compute(collection, new, computed)
    if properties.get("schema"):
        _validate(properties["schema"], new, old)
    return new


def _compute(collection: Collection, doc: Document, computed: dict[str, Any]) -> None:
    from vgraph.embedded import aql

    txn = collection.txn
    binds = {"doc": doc} if "@doc" in computed["expression"] else {}
    options = {"failOnWarning": computed["failOnWarning"]}
    [value] = aql.execute(txn, txn.database, computed["expression"], binds, options).all()
    if value is None and not computed["keepNull"]:
        doc.pop(computed["name"], None)
    else:
        doc[computed["name"]] = value


def _validate(rules: dict[str, Any], new: Document, old: Document | None) -> None:
    level, rule = rules["level"], rules["rule"]
    if level == "none" or (level == "new" and old is not None):
        return
    if fits(rule, new):
        return
    if level == "moderate" and old is not None and not fits(rule, old):
        return
    raise ArangoError(1620, rules["message"] or None)


def fits(rule: dict[str, Any], doc: Document) -> bool:
    """Whether a document is as a schema's rule wants it."""
    return schema.is_valid(rule, _seen_by(rule, doc))


def _seen_by(rule: dict[str, Any], doc: Document) -> Document:
    """The document as a schema sees it: without the system attributes that it does not mention."""
    mentioned = {*rule.get("properties", {}), *(rule.get("required") or ())}
    return {name: value for name, value in doc.items() if name not in SYSTEM or name in mentioned}
