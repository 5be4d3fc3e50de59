"""Definition of a vector index and the vectors it accepts ("Vector indexes", ArangoDB documentation)."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from vgraph.embedded.arrays import Floats
from vgraph.embedded.errors import ArangoError

METRICS: Final = ("cosine", "l2", "innerProduct")
_STORED_VALUES: Final = 32


def _bad(message: str) -> ArangoError:
    return ArangoError(10, message)


def normalise(given: dict[str, Any]) -> dict[str, Any]:
    """The definition with defaults, without id and name; error 10 when it is wrong."""
    if given.get("unique"):
        raise _bad("a vector index cannot be unique")
    fields = given.get("fields")
    if not isinstance(fields, list) or len(fields) != 1 or not isinstance(fields[0], str) or not fields[0]:
        raise _bad("a vector index needs exactly one attribute path in 'fields'")
    if "[*]" in fields[0]:
        raise _bad("a vector index cannot expand arrays")
    params = given.get("params")
    if not isinstance(params, dict):
        raise _bad("a vector index needs an object 'params'")
    shown: dict[str, Any] = {
        "type": "vector",
        "fields": list(fields),
        "unique": False,
        "sparse": _flag(given, "sparse", False),
        "parallelism": _positive(given, "parallelism", 2),
        "inBackground": _flag(given, "inBackground", False),
        "params": _params(params),
    }
    stored = given.get("storedValues", [])
    if (
        not isinstance(stored, list)
        or len(stored) > _STORED_VALUES
        or not all(isinstance(name, str) for name in stored)
    ):
        raise _bad(f"'storedValues' must be an array of at most {_STORED_VALUES} attribute paths")
    if stored:
        shown["storedValues"] = list(stored)
    return shown


def _params(given: dict[str, Any]) -> dict[str, Any]:
    metric = given.get("metric")
    if metric not in METRICS:
        raise _bad(f"'params.metric' must be one of {', '.join(METRICS)}")
    shown: dict[str, Any] = {"metric": metric, "dimension": _positive(given, "dimension", None)}
    lists = given.get("nLists")
    if isinstance(lists, dict):
        shown["nLists"] = lists
    elif lists is not None:
        shown["nLists"] = _positive(given, "nLists", None)
    shown["defaultNProbe"] = _positive(given, "defaultNProbe", 1)
    shown["trainingIterations"] = _positive(given, "trainingIterations", 25)
    if "factory" in given:
        if not isinstance(given["factory"], str) or not given["factory"].startswith("IVF"):
            raise _bad("'params.factory' must be a string that starts with IVF")
        shown["factory"] = given["factory"]
    return shown


def _flag(given: dict[str, Any], name: str, default: bool) -> bool:
    value = given.get(name, default)
    if not isinstance(value, bool):
        raise _bad(f"'{name}' must be a boolean")
    return value


def _positive(given: dict[str, Any], name: str, default: int | None) -> int:
    value = given.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _bad(f"'{name}' must be an integer of at least 1")
    return value


# -------------------------------------------------------------------------------------------- document vectors


def attribute_value(document: dict[str, Any], path: tuple[str, ...]) -> Any:
    """The value at a path, `...` where there is none."""
    value: Any = document
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return ...
        value = value[name]
    return value


def document_vector(document: dict[str, Any], path: tuple[str, ...], dimension: int, *, sparse: bool) -> Floats | None:
    """A document's vector; None when it has none and need not; 10 when it must, 17 when it is not one."""
    value = attribute_value(document, path)
    if value is ... or (value is None and sparse):
        if sparse:
            return None
        raise _bad(f"vector field '{'.'.join(path)}' is not present in the document")
    vector = as_vector(value, dimension)
    if vector is None:
        raise ArangoError(17, f"vector field '{'.'.join(path)}' must be an array of {dimension} numbers")
    return vector


def as_vector(value: Any, dimension: int) -> Floats | None:
    """A list of `dimension` numbers as float32, None for anything else."""
    if not isinstance(value, list) or len(value) != dimension or not set(map(type, value)) <= {int, float}:
        return None
    with np.errstate(over="ignore"):
        return np.array(value, np.float32)
