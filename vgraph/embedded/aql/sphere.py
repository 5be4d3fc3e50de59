"""Geometry on the unit sphere: points are unit vectors, edges the shorter great-circle arcs, a ring's interior lies to
its left.

The interior to the left (and not the smaller side) is what GeoJSON (RFC 7946) and ArangoDB's geo functions mean, so a
ring that runs clockwise encloses the rest of the earth. Where a predicate asks about a boundary it takes points just
beside it, so that shapes which only touch do not intersect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import atan2, cos, degrees, hypot, pi, radians, sin, sqrt
from typing import TypeAlias

Point: TypeAlias = tuple[float, float, float]

_BESIDE = 1e-11
"""How far beside an edge a point is taken, in radians: less than a tenth of a millimetre on earth."""

_ROUNDING = (4e-16) ** 2


def from_degrees(longitude: float, latitude: float) -> Point:
    lon, lat = radians(longitude), radians(latitude)
    return cos(lat) * cos(lon), cos(lat) * sin(lon), sin(lat)


def to_degrees(point: Point) -> tuple[float, float]:
    """(longitude, latitude)"""
    x, y, z = point
    return degrees(atan2(y, x)), degrees(atan2(z, hypot(x, y)))


def dot(a: Point, b: Point) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Point, b: Point) -> Point:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def normal(a: Point, b: Point) -> Point:
    """a x b, computed so that it keeps its direction when the two are close."""
    total = (a[0] + b[0], a[1] + b[1], a[2] + b[2])
    difference = (b[0] - a[0], b[1] - a[1], b[2] - a[2])
    x, y, z = cross(total, difference)
    return x / 2, y / 2, z / 2


def unit(vector: Point) -> Point:
    length = sqrt(dot(vector, vector))
    if not length:
        return vector
    return vector[0] / length, vector[1] / length, vector[2] / length


def angle(a: Point, b: Point) -> float:
    """The distance of two points in radians, exact for near and for opposite ones."""
    across = normal(a, b)
    return atan2(sqrt(dot(across, across)), dot(a, b))


def edges_cross(a: Point, b: Point, c: Point, d: Point) -> bool:
    """Whether the arcs ab and cd cross at a point inside both."""
    ab, cd = normal(a, b), normal(c, d)
    side_c, side_d = _side(ab, c), _side(ab, d)
    if side_c * side_d >= 0:
        return False
    side_a, side_b = _side(cd, a), _side(cd, b)
    # c left of ab and d right of it (or the reverse), and the arcs meet on one half of the sphere
    return side_a * side_b < 0 and side_c * side_b > 0


def _side(plane: Point, point: Point) -> int:
    """1 left of the plane's edge, -1 right of it, 0 as near as rounding lets one tell."""
    value = dot(plane, point)
    if value * value <= _ROUNDING * dot(plane, plane):
        return 0
    return 1 if value > 0 else -1


@dataclass(frozen=True)
class Line:
    """Vertices joined by arcs."""

    vertices: tuple[Point, ...]

    @property
    def edges(self) -> Iterator[tuple[Point, Point]]:
        return zip(self.vertices, self.vertices[1:], strict=False)

    @property
    def centroid(self) -> Point:
        """The integral of position along the line (not normalised)."""
        return _sum(
            _scaled(unit((a[0] + b[0], a[1] + b[1], a[2] + b[2])), 2 * sin(angle(a, b) / 2)) for a, b in self.edges
        )

    def meets(self, other: Line) -> bool:
        """Whether the lines cross or share a vertex."""
        return not set(self.vertices).isdisjoint(other.vertices) or _any_cross(self.edges, other.edges)


@dataclass(frozen=True)
class Ring:
    """A closed line, the last vertex not repeated; its interior is on its left."""

    vertices: tuple[Point, ...]

    @property
    def edges(self) -> Iterator[tuple[Point, Point]]:
        return zip(self.vertices, (*self.vertices[1:], self.vertices[0]), strict=True)

    def inverted(self) -> Ring:
        return Ring(self.vertices[::-1])

    @cached_property
    def _inside(self) -> tuple[Point, ...]:
        """Points of the interior, beside two edges that are not opposite one another."""
        return tuple(_beside(a, b, 1) for a, b in list(self.edges)[:2])

    def contains(self, point: Point) -> bool:
        """Whether the arc from here to a point of the interior crosses the ring an even number of times."""
        inside = self._inside[0] if dot(point, self._inside[0]) > -0.999 else self._inside[-1]
        plane = normal(point, inside)
        crossings = 0
        sides = [dot(plane, vertex) >= 0 for vertex in self.vertices]
        before = len(sides) - 1
        for at, side in enumerate(sides):
            if side != sides[before]:
                a, b = self.vertices[before], self.vertices[at]
                there = cross(plane, normal(a, b))
                if dot(there, a) + dot(there, b) < 0:
                    there = -there[0], -there[1], -there[2]
                crossings += dot(cross(point, there), plane) > 0 and dot(cross(there, inside), plane) > 0
            before = at
        return crossings % 2 == 0

    @property
    def area(self) -> float:
        """The interior in steradians."""
        first = self.vertices[0]
        total = sum(_signed_area(first, a, b) for a, b in zip(self.vertices[1:], self.vertices[2:], strict=False))
        return total if total >= 0 else total + 4 * pi

    @property
    def centroid(self) -> Point:
        """The integral of position over the interior (not normalised)."""
        return _sum(_scaled(unit(normal(a, b)), angle(a, b) / 2) for a, b in self.edges)

    @property
    def crosses_itself(self) -> bool:
        edges = list(self.edges)
        apart = ((at, other) for at in range(len(edges)) for other in range(at + 2, len(edges)))
        return any(edges_cross(*edges[at], *edges[other]) for at, other in apart if (at, other) != (0, len(edges) - 1))


@dataclass(frozen=True)
class Area:
    """A polygon or several: a point is inside when an odd number of rings contain it (holes are rings too)."""

    rings: tuple[Ring, ...]

    @property
    def edges(self) -> Iterator[tuple[Point, Point]]:
        for ring in self.rings:
            yield from ring.edges

    def contains(self, point: Point) -> bool:
        return sum(ring.contains(point) for ring in self.rings) % 2 == 1

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """In how many others each ring lies: a hole has an odd depth."""
        return tuple(
            sum(other is not ring and other.contains(ring.vertices[0]) for other in self.rings) for ring in self.rings
        )

    @property
    def area(self) -> float:
        return sum(-ring.area if depth % 2 else ring.area for ring, depth in zip(self.rings, self.depths, strict=True))

    @property
    def centroid(self) -> Point:
        return _sum(
            _scaled(ring.centroid, -1 if depth % 2 else 1) for ring, depth in zip(self.rings, self.depths, strict=True)
        )

    def contains_line(self, line: Line) -> bool:
        if _any_cross(self.edges, line.edges):
            return False
        return all(self.contains(point) for point in (*line.vertices, *(_middle(a, b) for a, b in line.edges)))

    def meets_line(self, line: Line) -> bool:
        return any(map(self.contains, line.vertices)) or _any_cross(self.edges, line.edges)

    def contains_area(self, other: Area) -> bool:
        if _any_cross(self.edges, other.edges):
            return False
        return all(map(self.contains, other._border(1))) and not any(map(other.contains, self._border(-1)))

    def meets_area(self, other: Area) -> bool:
        if any(map(self.contains, other._border(1))) or any(map(other.contains, self._border(1))):
            return True
        return _any_cross(self.edges, other.edges)

    def _border(self, inwards: int) -> Iterator[Point]:
        """A point beside the middle of each edge, inside (1) or outside (-1)."""
        for ring, depth in zip(self.rings, self.depths, strict=True):
            for a, b in ring.edges:
                yield _beside(a, b, -inwards if depth % 2 else inwards)


def _any_cross(edges: Iterable[tuple[Point, Point]], others: Iterable[tuple[Point, Point]]) -> bool:
    second = list(others)
    return any(edges_cross(*edge, *other) for edge in edges for other in second)


def _signed_area(a: Point, b: Point, c: Point) -> float:
    """The area of a triangle, negative when it runs clockwise (van Oosterom and Strackee, 1983)."""
    return 2 * atan2(dot(a, normal(b, c)), 1 + dot(a, b) + dot(b, c) + dot(c, a))


def _middle(a: Point, b: Point) -> Point:
    return unit((a[0] + b[0], a[1] + b[1], a[2] + b[2]))


def _beside(a: Point, b: Point, left: int) -> Point:
    middle, aside = _middle(a, b), unit(normal(a, b))
    step = left * _BESIDE
    return unit((middle[0] + step * aside[0], middle[1] + step * aside[1], middle[2] + step * aside[2]))


def _scaled(vector: Point, factor: float) -> Point:
    return vector[0] * factor, vector[1] * factor, vector[2] * factor


def _sum(vectors: Iterable[Point]) -> Point:
    x = y = z = 0.0
    for vector in vectors:
        x, y, z = x + vector[0], y + vector[1], z + vector[2]
    return x, y, z


def mean(points: Sequence[Point]) -> Point:
    """The centroid of single points."""
    return unit(_sum(points))
