"""GeoJSON geometries (RFC 7946) as shapes on the sphere, and what can be asked of two shapes.

Source: ArangoDB documentation, "Geo-spatial functions in AQL": coordinates are [longitude, latitude];
GeometryCollection is not supported; the exterior ring's interior is to its left, holes may run either way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ..errors import ArangoError
from .sphere import Area, Line, Point, Ring, from_degrees, mean, unit

EARTH_RADIUS: Final = 6371000.0
"""Metres; ArangoDB's sphere."""


@dataclass(frozen=True)
class Points:
    """Point (one) and MultiPoint."""

    points: tuple[Point, ...]
    single: bool


@dataclass(frozen=True)
class Lines:
    """LineString (one) and MultiLineString."""

    lines: tuple[Line, ...]
    single: bool


Shape: TypeAlias = Points | Lines | Area


def parse(value: Any) -> Shape:
    """The shape of a GeoJSON object or of a [longitude, latitude] pair; error 10 says what is wrong with it."""
    if isinstance(value, list):
        return Points((_position(value),), True)
    kind = value.get("type") if isinstance(value, dict) else None
    reader = _READERS.get(kind.lower()) if isinstance(kind, str) else None
    if reader is None:
        if isinstance(kind, str) and kind.lower() == "geometrycollection":
            raise ArangoError(9, "GeoJSON type GeometryCollection is not supported")
        raise ArangoError(10, "Invalid GeoJSON Geometry Object.")
    coordinates = value.get("coordinates")
    if not isinstance(coordinates, list):
        raise ArangoError(10, "Coordinates missing.")
    return reader(coordinates)


def centroid(shape: Shape) -> Point:
    """The point that stands for a shape where distances are measured."""
    match shape:
        case Points(points):
            return points[0] if len(points) == 1 else mean(points)
        case Lines(lines):
            x, y, z = (sum(parts) for parts in zip(*(line.centroid for line in lines), strict=True))
            return unit((x, y, z))
        case Area():
            return unit(shape.centroid)


def contains(area: Area, shape: Shape) -> bool:
    """Whether the whole shape lies in the area."""
    match shape:
        case Points(points):
            return all(map(area.contains, points))
        case Lines(lines):
            return all(map(area.contains_line, lines))
        case Area():
            return area.contains_area(shape)


def intersects(one: Shape, two: Shape) -> bool:
    """Whether two shapes have a point in common; error 9 for points against lines, as on the server."""
    match one, two:
        case Points(points), Points(others):
            return not set(points).isdisjoint(others)
        case (Points(points), Area() as area) | (Area() as area, Points(points)):
            return any(map(area.contains, points))
        case Lines(lines), Lines(others):
            return any(line.meets(other) for line in lines for other in others)
        case (Lines(lines), Area() as area) | (Area() as area, Lines(lines)):
            return any(map(area.meets_line, lines))
        case Area(), Area():
            return one.meets_area(two)
        case _:
            raise ArangoError(9, "Points against lines: numerically unstable and thus not supported.")


def equals(one: Shape, two: Shape) -> bool:
    """Whether two shapes are of one kind and have the same vertices; a ring may begin anywhere."""
    match one, two:
        case Area(rings), Area(others):
            return sorted(map(_from_least, rings)) == sorted(map(_from_least, others))
        case _:
            return one == two


def _from_least(ring: Ring) -> tuple[Point, ...]:
    at = ring.vertices.index(min(ring.vertices))
    return ring.vertices[at:] + ring.vertices[:at]


# ------------------------------------------------------------------------------------------------ reading


def _position(value: Any) -> Point:
    if isinstance(value, list) and 2 <= len(value) <= 3 and all(map(_is_number, value)):
        longitude, latitude = value[:2]
        if abs(longitude) <= 180 and abs(latitude) <= 90:
            return from_degrees(longitude, latitude)
    raise ArangoError(10, f"Bad coordinates {value}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _positions(values: Any) -> list[Point]:
    if not isinstance(values, list) or not values:
        raise ArangoError(10, "Missing coordinates.")
    return [_position(value) for value in values]


def _distinct(points: list[Point]) -> list[Point]:
    """Without repetitions of the point before."""
    return [point for at, point in enumerate(points) if not at or point != points[at - 1]]


def _line(values: Any) -> Line:
    vertices = _distinct(_positions(values))
    if len(vertices) < 2:
        raise ArangoError(10, "Invalid LineString, adjacent vertices must not be identical or antipodal.")
    return Line(tuple(vertices))


def ring(vertices: list[Point]) -> Ring:
    """A ring of closed vertices; error 10 when it is not closed, too short or crosses itself."""
    if len(vertices) < 4:
        raise ArangoError(10, "Invalid loop in polygon, must have at least 4 vertices")
    if vertices[0] != vertices[-1]:
        raise ArangoError(10, "Loop not closed")
    distinct = _distinct(vertices)[:-1]
    made = Ring(tuple(distinct))
    if len(distinct) < 3 or len(set(distinct)) < len(distinct) or made.crosses_itself:
        raise ArangoError(10, "Invalid Loop in Polygon: a vertex twice, or edges that cross")
    return made


def _polygon(values: list[Any]) -> list[Ring]:
    if not values:
        raise ArangoError(10, "Polygon should contains at least one loop.")
    outer, *holes = (ring(_positions(value)) for value in values)
    return [outer, *(_hole(outer, hole) for hole in holes)]


def _hole(outer: Ring, hole: Ring) -> Ring:
    """The hole turned so that the left of its ring is the hole."""
    area = Area((outer,))
    for turned in (hole, hole.inverted()):
        if area.contains_area(Area((turned,))):
            return turned
    raise ArangoError(10, "Subsequent loop not a hole in polygon.")


def _multi_polygon(values: list[Any]) -> Area:
    rings: list[Ring] = []
    for value in values:
        if not isinstance(value, list):
            raise ArangoError(10, "Missing coordinates.")
        rings.extend(_polygon(value))
    if not rings:
        raise ArangoError(10, "MultiPolygon should contains at least one Polygon.")
    return Area(tuple(rings))


def _multi_line(values: list[Any]) -> Lines:
    if not values:
        raise ArangoError(10, "Invalid MultiLinestring, it must contains at least one Linestring.")
    return Lines(tuple(map(_line, values)), False)


_READERS: Final[dict[str, Callable[[list[Any]], Shape]]] = {
    "point": lambda values: Points((_position(values),), True),
    "multipoint": lambda values: Points(tuple(_positions(values)), False),
    "linestring": lambda values: Lines((_line(values),), True),
    "multilinestring": _multi_line,
    "polygon": lambda values: Area(tuple(_polygon(values))),
    "multipolygon": _multi_polygon,
}
