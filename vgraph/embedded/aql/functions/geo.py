"""Geo functions: GeoJSON constructors, distances, areas and predicates, on the sphere or on the WGS84 ellipsoid.

A shape that cannot be read gives null and a warning (number 10 with the reason). Source: ArangoDB documentation, "Geo-spatial
functions in AQL"; ellipsoid: Karney, "Algorithms for geodesics", J. Geodesy 87 (2013), by the package geographiclib.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from heapq import nsmallest
from importlib import import_module
from math import asin, cos, hypot, pi, radians, sin
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from ...errors import ArangoError
from .. import geojson
from ..geojson import EARTH_RADIUS, Shape
from ..sphere import Area, Point, angle, from_degrees, to_degrees
from .registry import Table, Value, wrong_type

if TYPE_CHECKING:
    from ..expressions import Runtime

TABLE = Table()

ARRAY_EXPECTED: Final = 1563
TYPE_MISMATCH: Final = 1542


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: float) -> float | int:
    """A float as the server prints it: without a fraction where there is none."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def _mismatch(rt: Runtime, name: str, reason: str) -> Value:
    """Null, after a warning."""
    rt.warnings.add(TYPE_MISMATCH, f"invalid argument type in call to function '{name}()': {reason}")
    return None


# ------------------------------------------------------------------------------------------------ shapes


class _Recent:
    """The last shapes that were read, found again by identity: a query asks about one polygon for every row."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._known: tuple[tuple[Any, Shape], ...] = ()

    def parse(self, value: Value) -> Shape:
        found = next((entry for entry in self._known if entry[0] is value), None) or (value, geojson.parse(value))
        self._known = (found, *(entry for entry in self._known if entry is not found))[: self._size]
        return found[1]


_recent = _Recent(4)


def _shape(rt: Runtime, name: str, value: Value) -> Shape | None:
    try:
        return _recent.parse(value)
    except ArangoError as error:
        rt.warnings.add(error.num, f"in function '{name}()': {error.message}")
        return None


@cache
def _wgs84() -> Any:
    return import_module("geographiclib.geodesic").Geodesic.WGS84


def _on_ellipsoid(rt: Runtime, name: str, ellipsoid: Value) -> bool:
    """Whether WGS84 was asked for; anything but "sphere" besides warns and means the sphere."""
    if isinstance(ellipsoid, str) and ellipsoid.lower() in ("sphere", "wgs84"):
        return ellipsoid.lower() == "wgs84"
    rt.warnings.add(10, f"in function '{name}()': invalid ellipsoid specified, falling back to \"sphere\"")
    return False


def _metres(one: Point, two: Point, ellipsoid: bool) -> float:
    if not ellipsoid:
        return angle(one, two) * EARTH_RADIUS
    (longitude, latitude), (other_longitude, other_latitude) = to_degrees(one), to_degrees(two)
    return float(_wgs84().Inverse(latitude, longitude, other_latitude, other_longitude)["s12"])


@TABLE.add("DISTANCE", args=(4, 4))
def distance(rt: Runtime, latitude1: Value, longitude1: Value, latitude2: Value, longitude2: Value) -> Value:
    """Metres between two positions, by the haversine formula."""
    if not all(map(_is_number, (latitude1, longitude1, latitude2, longitude2))):
        return wrong_type(rt, "DISTANCE")
    across = sin(radians(latitude2 - latitude1) / 2)
    along = sin(radians(longitude2 - longitude1) / 2)
    chord = hypot(across, along * abs(cos(radians(latitude1)) * cos(radians(latitude2))) ** 0.5)
    return _number(EARTH_RADIUS * 2 * asin(min(1.0, chord)))


@TABLE.add("GEO_DISTANCE", args=(2, 3))
def geo_distance(rt: Runtime, one: Value, two: Value, *ellipsoid: Value) -> Value:
    """Metres between the centroids of two shapes."""
    first, second = _shape(rt, "GEO_DISTANCE", one), _shape(rt, "GEO_DISTANCE", two)
    if first is None or second is None:
        return None
    wgs84 = bool(ellipsoid) and _on_ellipsoid(rt, "GEO_DISTANCE", ellipsoid[0])
    return _number(_metres(geojson.centroid(first), geojson.centroid(second), wgs84))


@TABLE.add("GEO_IN_RANGE", args=(4, 7))
def geo_in_range(rt: Runtime, one: Value, two: Value, low: Value, high: Value, *more: Value) -> Value:
    """Whether the distance of two shapes lies between two bounds; flags say whether each bound belongs to the range."""
    name = "GEO_IN_RANGE"
    first, second = _shape(rt, name, one), _shape(rt, name, two)
    if first is None or second is None:
        return None
    for at, value, kind in (
        (3, low, "number"),
        (4, high, "number"),
        *((5 + n, flag, "bool") for n, flag in enumerate(more[:2])),
    ):
        if not (_is_number(value) if kind == "number" else isinstance(value, bool)):
            rt.warnings.add(10, f"in function '{name}()': argument {at} requires a {kind}")
            return None
    include_low, include_high = (*more[:2], True, True)[:2]
    wgs84 = len(more) > 2 and _on_ellipsoid(rt, name, more[2])
    metres = _metres(geojson.centroid(first), geojson.centroid(second), wgs84)
    above = metres >= low if include_low else metres > low
    return above and (metres <= high if include_high else metres < high)


@TABLE.add("GEO_CONTAINS", args=(2, 2))
def geo_contains(rt: Runtime, area: Value, other: Value) -> Value:
    """Whether a polygon contains a shape."""
    return _compare(rt, "GEO_CONTAINS", area, other)


@TABLE.add("GEO_INTERSECTS", args=(2, 2))
def geo_intersects(rt: Runtime, one: Value, other: Value) -> Value:
    """Whether two shapes intersect."""
    return _compare(rt, "GEO_INTERSECTS", one, other)


def _compare(rt: Runtime, name: str, one: Value, other: Value) -> Value:
    if not isinstance(one, dict):
        return _mismatch(rt, name, "Expecting GeoJSON object")
    first = _shape(rt, name, one)
    if first is None:
        return None
    if name == "GEO_CONTAINS" and not isinstance(first, Area):
        return _mismatch(rt, name, "Only Polygon and MultiPolygon types are valid as first argument")
    second = _shape(rt, name, other)
    if second is None:
        return None
    try:
        if name == "GEO_CONTAINS" and isinstance(first, Area):
            return geojson.contains(first, second)
        return geojson.intersects(first, second)
    except ArangoError as error:
        rt.warnings.add(error.num, error.message)
        return False


@TABLE.add("GEO_EQUALS", args=(2, 2))
def geo_equals(rt: Runtime, one: Value, other: Value) -> Value:
    """Whether two GeoJSON objects are the same shape."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return _mismatch(rt, "GEO_EQUALS", "Expecting GeoJSON object")
    first, second = _shape(rt, "GEO_EQUALS", one), _shape(rt, "GEO_EQUALS", other)
    return None if first is None or second is None else geojson.equals(first, second)


@TABLE.add("GEO_AREA", args=(1, 2))
def geo_area(rt: Runtime, shape: Value, *ellipsoid: Value) -> Value:
    """Square metres of a polygon; 0 for other shapes."""
    parsed = _shape(rt, "GEO_AREA", shape)
    if parsed is None:
        return None
    wgs84 = bool(ellipsoid) and _on_ellipsoid(rt, "GEO_AREA", ellipsoid[0])
    if not isinstance(parsed, Area):
        return 0
    return _number(_ellipsoid_area(parsed) if wgs84 else parsed.area * EARTH_RADIUS**2)


def _ellipsoid_area(area: Area) -> float:
    total = 0.0
    for ring, depth in zip(area.rings, area.depths, strict=True):
        polygon = _wgs84().Polygon()
        for vertex in ring.vertices:
            longitude, latitude = to_degrees(vertex)
            polygon.AddPoint(latitude, longitude)
        square_metres = polygon.Compute(False, False)[2]
        total += -square_metres if depth % 2 else square_metres
    return total


@TABLE.add("IS_IN_POLYGON", args=(2, 3))
def is_in_polygon(rt: Runtime, polygon: Value, *where: Value) -> Value:
    """Whether a position lies in a ring of [latitude, longitude] pairs (with `useLonLat` the other way round)."""
    if not isinstance(polygon, list):
        rt.warnings.add(ARRAY_EXPECTED)
        return None
    swapped = isinstance(where[0], list) and len(where) > 1 and where[1] is True
    position = where[0] if isinstance(where[0], list) else list(where)
    if len(position) < 2 or not all(map(_is_number, position[:2])):
        return wrong_type(rt, "IS_IN_POLYGON")
    try:
        vertices = [_pair(pair, swapped) for pair in polygon]
        ring = geojson.ring(vertices if vertices[:1] == vertices[-1:] else vertices + vertices[:1])
    except ArangoError as error:
        rt.warnings.add(error.num, f"in function 'IS_IN_POLYGON()': {error.message}")
        return None
    smaller = ring if ring.area <= 2 * pi else ring.inverted()
    return smaller.contains(_pair(position[:2], swapped))


def _pair(pair: Value, swapped: bool) -> Point:
    if not isinstance(pair, list) or len(pair) != 2 or not all(map(_is_number, pair)):
        raise ArangoError(10, f"Bad coordinates {pair}")
    return from_degrees(*pair) if swapped else from_degrees(*reversed(pair))


# ------------------------------------------------------------------------------------------------ geo indexes

INDEXED: Final = "GEO INDEXED"
"""What a geo index holds of a document: no function of the language, its name cannot be written."""


@TABLE.add(INDEXED, args=(2, 3))
def geo_indexed(rt: Runtime, *args: Value) -> Value:
    """[longitude, latitude] or the GeoJSON object that an index over one attribute or two has; null when it has none."""
    *values, latitude_first = args
    value = values if len(values) == 2 else values[0]
    if isinstance(value, list):
        if len(value) < 2 or not all(map(_is_number, value[:2])):
            return None
        longitude, latitude = value[1::-1] if latitude_first else value[:2]
        return [longitude, latitude] if abs(latitude) <= 90 and abs(longitude) <= 180 else None
    if latitude_first or not isinstance(value, dict):
        return None
    try:
        _recent.parse(value)
    except ArangoError:
        return None
    return value


def _indexed_collection(rt: Runtime, name: str, collection: Value, numbers: Sequence[Value]) -> Any:
    """The collection that NEAR and its like search; 1542 for arguments of other types."""
    if not isinstance(collection, str) or not all(map(_is_number, numbers)):
        raise ArangoError(TYPE_MISMATCH, f"invalid argument type in call to function '{name}()'")
    return rt.txn.collection(collection)


def _geo_reader(rt: Runtime, collection: Any) -> Callable[[dict[str, Any]], Value]:
    """How the collection's first geo index reads a document; 1570."""
    index = next((index for index in collection.indexes if index.type == "geo"), None)
    if index is None:
        raise ArangoError(1570)
    paths = [field.split(".") for field in index.fields]
    latitude_first = not index.spec["geoJson"]

    def read(document: dict[str, Any]) -> Value:
        values: list[Any] = []
        for path in paths:
            value: Any = document
            for name in path:
                value = value.get(name) if isinstance(value, dict) else None
            values.append(value)
        return geo_indexed(rt, *values, latitude_first)

    return read


def _by_distance(rt: Runtime, source: Any, latitude: Value, longitude: Value) -> Iterator[Any]:
    """(metres, document) of what the geo index has."""
    read, here = _geo_reader(rt, source), from_degrees(longitude, latitude)
    for number, (_, document) in enumerate(source.scan()):
        if number % 256 == 0:
            rt.check()
        place = read(document)
        if place is not None:
            yield _metres(here, geojson.centroid(_recent.parse(place)), False), document


def _with_distance(found: list[Any], attribute: Value) -> list[Any]:
    """The documents of (metres, document), nearest first, with the distance if it has a name."""
    found.sort(key=itemgetter(0))
    if not isinstance(attribute, str):
        return [document for _, document in found]
    return [{**document, attribute: _number(metres)} for metres, document in found]


@TABLE.add("NEAR", args=(3, 5), deterministic=False, collections=(0,))
def near(
    rt: Runtime, collection: Value, latitude: Value, longitude: Value, limit: Value = 100, attribute: Value = None
) -> Value:
    """The documents nearest to a position."""
    count = 100 if limit is None else limit
    source = _indexed_collection(rt, "NEAR", collection, (latitude, longitude, count))
    found = _by_distance(rt, source, latitude, longitude)
    return _with_distance(nsmallest(max(0, int(count)), found, key=itemgetter(0)), attribute)


@TABLE.add("WITHIN", args=(4, 5), deterministic=False, collections=(0,))
def within(
    rt: Runtime, collection: Value, latitude: Value, longitude: Value, radius: Value, attribute: Value = None
) -> Value:
    """The documents no farther from a position than so many metres, nearest first."""
    source = _indexed_collection(rt, "WITHIN", collection, (latitude, longitude, radius))
    found = _by_distance(rt, source, latitude, longitude)
    return _with_distance([pair for pair in found if pair[0] <= radius], attribute)


@TABLE.add("WITHIN_RECTANGLE", args=(5, 5), deterministic=False, collections=(0,))
def within_rectangle(rt: Runtime, collection: Value, south: Value, west: Value, north: Value, east: Value) -> Value:
    """The documents between two corners."""
    source = _indexed_collection(rt, "WITHIN_RECTANGLE", collection, (south, west, north, east))
    corners = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    area = {"type": "Polygon", "coordinates": [corners]}
    read = _geo_reader(rt, source)
    return [document for _, document in source.scan() if (place := read(document)) and geo_contains(rt, area, place)]


# ------------------------------------------------------------------------------------------------ constructors


@TABLE.add("GEO_POINT", args=(2, 3))
def geo_point(rt: Runtime, longitude: Value, latitude: Value, *altitude: Value) -> Value:
    """{type: "Point"}"""
    coordinates = [longitude, latitude, *altitude]
    if not all(map(_is_number, coordinates)):
        return wrong_type(rt, "GEO_POINT")
    return {"type": "Point", "coordinates": [_number(part) for part in coordinates]}


@TABLE.add("GEO_MULTIPOINT", args=(1, 1))
def geo_multipoint(rt: Runtime, points: Value) -> Value:
    """{type: "MultiPoint"} of at least two positions."""
    return _built(rt, "GEO_MULTIPOINT", "MultiPoint", points, lambda: _positions(points, 2, "a MultiPoint"))


@TABLE.add("GEO_LINESTRING", args=(1, 1))
def geo_linestring(rt: Runtime, points: Value) -> Value:
    """{type: "LineString"} of at least two positions."""
    return _built(rt, "GEO_LINESTRING", "LineString", points, lambda: _positions(points, 2, "a LineString"))


@TABLE.add("GEO_MULTILINESTRING", args=(1, 1))
def geo_multilinestring(rt: Runtime, lines: Value) -> Value:
    """{type: "MultiLineString"} of at least one line."""

    def build() -> list[Any]:
        if not lines:
            raise _UnfitError("a MultiLineString needs at least one array of linestrings")
        return [_positions(line, 2, "a line") for line in lines]

    return _built(rt, "GEO_MULTILINESTRING", "MultiLineString", lines, build)


@TABLE.add("GEO_POLYGON", args=(1, 1))
def geo_polygon(rt: Runtime, rings: Value) -> Value:
    """{type: "Polygon"} of one ring, or of an array of rings (the first the exterior)."""
    return _built(rt, "GEO_POLYGON", "Polygon", rings, lambda: _polygon(rings), checked=True)


@TABLE.add("GEO_MULTIPOLYGON", args=(1, 1))
def geo_multipolygon(rt: Runtime, polygons: Value) -> Value:
    """{type: "MultiPolygon"} of at least two polygons."""

    def build() -> list[Any]:
        if len(polygons) < 2 or not all(isinstance(polygon, list) for polygon in polygons):
            raise _UnfitError("a MultiPolygon needs at least two Polygons inside.")
        return [_polygon(polygon) for polygon in polygons]

    return _built(rt, "GEO_MULTIPOLYGON", "MultiPolygon", polygons, build, checked=True)


class _UnfitError(Exception):
    """Coordinates that do not make the shape; the text says why."""


def _built(rt: Runtime, name: str, kind: str, given: Value, build: Any, *, checked: bool = False) -> Value:
    if not isinstance(given, list):
        rt.warnings.add(ARRAY_EXPECTED)
        return None
    try:
        made = {"type": kind, "coordinates": build()}
    except _UnfitError as reason:
        return _mismatch(rt, name, str(reason))
    return None if checked and _shape(rt, name, made) is None else made


def _positions(values: Value, least: int, what: str) -> list[list[float]]:
    if not isinstance(values, list):
        raise _UnfitError("not an array containing positions")
    if len(values) < least:
        raise _UnfitError(f"{what} needs at least {least} positions")
    return [_position(value) for value in values]


def _position(value: Value) -> list[float]:
    if not isinstance(value, list):
        raise _UnfitError("not an array containing positions")
    if not 2 <= len(value) <= 3 or not all(map(_is_number, value)):
        raise _UnfitError("a position needs two or three numbers")
    return [_number(part) for part in value]


def _polygon(rings: list[Any]) -> list[list[list[float]]]:
    nested = rings if not any(_is_position(ring) for ring in rings) else [rings]
    return [_positions(ring, 3, "a Polygon") for ring in nested]


def _is_position(value: Value) -> bool:
    return isinstance(value, list) and bool(value) and _is_number(value[0])
