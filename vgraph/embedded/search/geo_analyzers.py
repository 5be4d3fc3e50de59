"""Analyzers of places. The index knows which documents have one; geo functions in SEARCH look at the documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from .analyzer_base import Analyzer, Token, bad, choice_property, strings_property

_OPTIONS: Final = {"maxCells": 20, "minLevel": 4, "maxLevel": 23}


def _options(given: dict[str, Any]) -> dict[str, Any]:
    options = given.get("options", {})
    if not isinstance(options, dict) or not set(options) <= set(_OPTIONS):
        raise bad("analyzer property 'options' must be an object with maxCells, minLevel, maxLevel")
    return {**_OPTIONS, **options}


class GeoJson(Analyzer):
    """GeoJSON objects and [longitude, latitude] pairs."""

    type = "geojson"
    whole = True

    def configure(self, given: dict[str, Any]) -> dict[str, Any]:
        kind = choice_property(given, "type", "shape", ("shape", "centroid", "point"))
        return {"type": kind, "options": _options(given), "legacy": False}

    def stream(self, text: str) -> Iterator[Token]:
        return iter(())


class GeoS2(GeoJson):
    """The same; the format in which a server stores positions is kept with the definition."""

    type = "geo_s2"

    def configure(self, given: dict[str, Any]) -> dict[str, Any]:
        kept = super().configure(given)
        format_ = choice_property(given, "format", "latLngDouble", ("latLngDouble", "latLngInt", "s2Point"))
        return {"options": kept["options"], "type": kept["type"], "format": format_}


class GeoPoint(Analyzer):
    """[latitude, longitude] pairs, or objects with an attribute for each."""

    type = "geopoint"
    whole = True

    def configure(self, given: dict[str, Any]) -> dict[str, Any]:
        self._paths = [strings_property(given, name) if name in given else [] for name in ("latitude", "longitude")]
        if bool(self._paths[0]) != bool(self._paths[1]):
            raise bad("analyzer properties 'latitude' and 'longitude' must both be given or both be left out")
        return {"latitude": self._paths[0], "longitude": self._paths[1], "options": _options(given)}

    def stream(self, text: str) -> Iterator[Token]:
        return iter(())

    def accepts(self, value: Any) -> bool:
        return self.place(value) is not None

    def place(self, value: Any) -> dict[str, Any] | None:
        """The value as a GeoJSON point; None when it is no place."""
        if not self._paths[0]:
            found = value if isinstance(value, list) and len(value) == 2 else None
        else:
            found = [_at(value, path) for path in self._paths]
        if found is None or not all(isinstance(one, int | float) and not isinstance(one, bool) for one in found):
            return None
        latitude, longitude = found
        return {"type": "Point", "coordinates": [longitude, latitude]}


def _at(value: Any, path: list[str]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def changed_at(document: dict[str, Any], path: Sequence[str], change: Callable[[Any], Any]) -> dict[str, Any]:
    """A copy with another value at a path; the document itself where it has none there."""
    name, *rest = path
    value = document.get(name)
    if value is None or (rest and not isinstance(value, dict)):
        return document
    return {**document, name: changed_at(value, rest, change) if rest else change(value)}
