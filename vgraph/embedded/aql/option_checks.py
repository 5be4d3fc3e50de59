"""Which attributes OPTIONS may have, statement by statement; others, and values of a wrong kind, warn (1539).

Source: ArangoDB documentation, the OPTIONS of "FOR", "COLLECT", "INSERT", "UPDATE", "REPLACE", "REMOVE" and "UPSERT".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from vgraph.embedded.errors import Warnings

INVALID_OPTION: Final = 1539
MODES: Final = ("ignore", "replace", "update", "conflict")


def _anything(value: Any) -> bool:
    return True


def _is_flag(value: Any) -> bool:
    return type(value) is bool


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _is_hint(value: Any) -> bool:
    """The name of an index, or some of them."""
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name for name in names)


_Check = Callable[[Any], bool]
_FOR: Final[dict[str, _Check]] = {
    "disableIndex": _is_flag,
    "forceIndexHint": _is_flag,
    "indexHint": _is_hint,
    "lookahead": _is_number,
    "maxProjections": _is_number,
    "useCache": _is_flag,
    "waitForSync": _is_flag,
}
_COLLECT: Final[dict[str, _Check]] = {
    "aggregateIntoExpressionOnDBServers": _is_flag,
    "disableIndex": _is_flag,
    "method": lambda value: value in ("hash", "sorted"),
}
_MODIFICATION: Final[dict[str, _Check]] = {
    **dict.fromkeys(
        (
            "exclusive",
            "ignoreErrors",
            "ignoreRevs",
            "keepNull",
            "mergeObjects",
            "overwrite",
            "refillIndexCaches",
            "skipDocumentValidation",
            "versionAttribute",
            "waitForSync",
        ),
        _anything,
    ),
    "overwriteMode": lambda value: value in MODES,
}
_UPSERT: Final[dict[str, _Check]] = {
    **_MODIFICATION,
    "disableIndex": _is_flag,
    "forceIndexHint": _is_flag,
    "indexHint": _is_hint,
    "readOwnWrites": _anything,
    "useCache": _is_flag,
}


def check_loop(options: Mapping[str, Any], warnings: Warnings) -> None:
    """Those of FOR over a collection; a hint and no index at all do not go together."""
    _check("FOR", options, _FOR, warnings)
    names = [name for name in options if name in ("indexHint", "disableIndex")]
    if len(names) > 1 and options["disableIndex"] is True and _is_hint(options["indexHint"]):
        _warn("contradicting", "FOR", names[1], warnings)


def check_collect(options: Mapping[str, Any], warnings: Warnings) -> None:
    _check("COLLECT", options, _COLLECT, warnings)


def check_modification(statement: str, options: Mapping[str, Any], warnings: Warnings) -> None:
    """Those of INSERT, UPDATE, REPLACE, REMOVE or UPSERT."""
    _check(statement, options, _UPSERT if statement == "UPSERT" else _MODIFICATION, warnings)


def _check(statement: str, options: Mapping[str, Any], known: Mapping[str, _Check], warnings: Warnings) -> None:
    for name, value in options.items():
        if name not in known:
            _warn("unknown", statement, name, warnings)
        elif not known[name](value):
            _warn("invalid", statement, name, warnings)


def _warn(reason: str, statement: str, name: str, warnings: Warnings) -> None:
    warnings.add(INVALID_OPTION, f"{reason} {statement} option '{name}'")
