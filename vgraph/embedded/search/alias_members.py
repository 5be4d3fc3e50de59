"""Which inverted indexes may stand together in one search-alias view.

Source: ArangoDB documentation, "Inverted indexes", "Restrictions": one primary sort and one set of stored values, and
each attribute path indexed in one way, whichever of the indexes it is asked of; twice within a collection not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final

from .definitions import JSON, bad

_Setting = tuple[str, bool]
_EXPANSION: Final = "[*]"


def check_together(members: Sequence[tuple[str, str, JSON]]) -> None:
    """10 unless these (collection, name, normalised definition) can be searched as one."""
    for (left, left_name, one), (right, right_name, other) in combinations(members, 2):
        where = f"inverted indexes '{left}/{left_name}' and '{right}/{right_name}'"
        for name in ("primarySort", "storedValues"):
            if _without_caches(one[name]) != _without_caches(other[name]):
                raise bad(f"'{name}' of {where} differ")
        for path in (
            _paths(one) | _paths(other) | ({""} if one["includeAllFields"] and other["includeAllFields"] else set())
        ):
            first, second = _setting(one, path), _setting(other, path)
            if first is None or second is None:
                continue
            shown = f"field '{path}'" if path else "other fields"
            if left == right:
                raise bad(f"{where} both index {shown}")
            if first != second:
                raise bad(f"analyzers or searchField settings of {shown} in {where} differ")


def _paths(definition: JSON) -> set[str]:
    return {entry["name"].replace(_EXPANSION, "") for entry in definition["fields"]}


def _setting(definition: JSON, path: str) -> _Setting | None:
    """How an index indexes a path (analyzer, searchField): by itself, below a field with all its own, or with all others."""
    nearest = ""
    found: _Setting | None = (definition["analyzer"], definition["searchField"])
    if not definition["includeAllFields"]:
        found = None
    for entry in definition["fields"]:
        name = entry["name"].replace(_EXPANSION, "")
        below = entry.get("includeAllFields") and path.startswith(f"{name}.") and len(name) > len(nearest)
        if name == path or below:
            nearest = name
            found = (entry.get("analyzer", definition["analyzer"]), entry.get("searchField", definition["searchField"]))
            if name == path:
                break
    return found


def _without_caches(value: JSON | list[JSON]) -> JSON | list[JSON]:
    if isinstance(value, list):
        return [{name: item for name, item in entry.items() if name != "cache"} for entry in value]
    return {name: item for name, item in value.items() if name != "cache"}
