"""What describes a collection, an index, a view: from ArangoDB's answer about one, the body that makes the same one elsewhere.

Answers also hold ids, states and figures of the engine they come from; and engines of different versions name different sets of attributes.
"""

from __future__ import annotations

from typing import Any, Final

Body = dict[str, Any]

_OF_AN_ANSWER: Final = {"id", "error", "code", "globallyUniqueId", "isNewlyCreated"}
_OF_AN_INDEX: Final = _OF_AN_ANSWER | {"selectivityEstimate", "trainingState", "figures", "version", "progress"}
_OF_A_COLLECTION: Final[tuple[str, ...]] = ("name", "type", "waitForSync", "cacheEnabled")
_OF_A_CLUSTER: Final[tuple[str, ...]] = (
    "numberOfShards",
    "replicationFactor",
    "writeConcern",
    "shardKeys",
    "shardingStrategy",
)
_NAMED: Final = {"links", "fields"}
BUILT_IN: Final = frozenset({"primary", "edge", "arangosearch"})
"""Index types that come with a collection or a view."""


def collection_body(answer: Body) -> Body:
    """A collection as it has to be while documents are brought in: rules and computed values come later (`rules_body`)."""
    kept = {name: answer[name] for name in _OF_A_COLLECTION if name in answer}
    if "numberOfShards" in answer:
        kept |= {name: answer[name] for name in _OF_A_CLUSTER if name in answer}
    options = {name: value for name, value in answer.get("keyOptions", {}).items() if name != "lastValue"}
    return {**kept, "keyOptions": {**options, "allowUserKeys": True}}


def rules_body(answer: Body) -> Body:
    """What would refuse or change documents on their way in."""
    schema = answer.get("schema")
    if schema:
        schema = {name: value for name, value in schema.items() if name != "type"}
    return {"schema": schema or None, "computedValues": answer.get("computedValues") or []}


def index_body(answer: Body) -> Body:
    return {name: value for name, value in answer.items() if name not in _OF_AN_INDEX}


def view_body(answer: Body) -> Body:
    return {name: value for name, value in answer.items() if name not in _OF_AN_ANSWER}


def analyzer_body(answer: Body) -> Body:
    """Names are answered as `database::name` and created as `name`."""
    kept = {name: answer[name] for name in ("type", "properties", "features")}
    return {"name": answer["name"].rpartition("::")[2], **kept}


def graph_body(answer: Body) -> Body:
    definitions = [
        {"collection": d["collection"], "from": sorted(d["from"]), "to": sorted(d["to"])}
        for d in answer["edgeDefinitions"]
    ]
    return {
        "name": answer.get("name", answer.get("_key")),
        "edgeDefinitions": sorted(definitions, key=lambda d: str(d["collection"])),
        "orphanCollections": sorted(answer.get("orphanCollections", [])),
    }


def agrees(wanted: Any, present: Any, named: bool = False) -> bool:
    """Whether what is there is what is wanted, as far as both say anything of it.

    named: attributes are names that somebody gave, not settings that one of the engines may not know.
    """
    if isinstance(wanted, dict) and isinstance(present, dict):
        if named and wanted.keys() != present.keys():
            return False
        shared = wanted.keys() & present.keys()
        return all(agrees(wanted[name], present[name], name in _NAMED) for name in shared)
    if isinstance(wanted, list) and isinstance(present, list):
        return len(wanted) == len(present) and all(map(agrees, wanted, present))
    return bool(wanted == present)
