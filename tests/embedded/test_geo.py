"""Geo functions: recorded answers, figures of the S2 library and of Karney's geodesics, and laws that shapes obey."""

from __future__ import annotations

import json
from math import pi
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgraph.embedded.aql import sphere
from vgraph.embedded.aql.functions.geo import TABLE
from vgraph.embedded.graphs.memory import MemoryRuntime

BOX = {"type": "Polygon", "coordinates": [[[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]]}
INNER = {"type": "Polygon", "coordinates": [[[2, 2], [4, 2], [4, 4], [2, 4], [2, 2]]]}
NEXT = {"type": "Polygon", "coordinates": [[[10, 0], [20, 0], [20, 10], [10, 10], [10, 0]]]}
CLOCKWISE = {"type": "Polygon", "coordinates": [[[0, 0], [0, 10], [10, 10], [10, 0], [0, 0]]]}
HOLED = {
    "type": "Polygon",
    "coordinates": [
        [[35, 10], [45, 45], [15, 40], [10, 20], [35, 10]],
        [[20, 30], [35, 35], [30, 20], [20, 30]],
    ],
}
SAHARA = {"type": "Polygon", "coordinates": [[[-11.5, 23.5], [-10.5, 26.1], [-11.2, 27.1], [-11.5, 23.5]]]}
ROAD = {"type": "LineString", "coordinates": [[-5, 5], [15, 5]]}


def call(name: str, *args: Any) -> Any:
    rt = MemoryRuntime()
    answer = TABLE[name].impl(rt, *args)
    assert rt.warnings.items == []
    return answer


def warned(name: str, *args: Any) -> int:
    rt = MemoryRuntime()
    assert TABLE[name].impl(rt, *args) in (None, False)
    [(num, _)] = rt.warnings.items
    return num


def point(longitude: float, latitude: float) -> dict[str, Any]:
    return {"type": "Point", "coordinates": [longitude, latitude]}


# ------------------------------------------------------------------------------------------------ recorded


@pytest.mark.parametrize(
    ("name", "args", "coordinates"),
    [
        ("Point", (1.0, 2.0), [1, 2]),
        ("MultiPoint", ([[35, 10], [45, 45]],), [[35, 10], [45, 45]]),
        ("Polygon", ([[0.0, 0.0], [7.5, 2.5], [0.0, 5.0], [0.0, 0.0]],), [[[0, 0], [7.5, 2.5], [0, 5], [0, 0]]]),
        (
            "Polygon",
            ([[[35, 10], [45, 45], [15, 40], [10, 20], [35, 10]], [[20, 30], [30, 20], [35, 35], [20, 30]]],),
            [[[35, 10], [45, 45], [15, 40], [10, 20], [35, 10]], [[20, 30], [30, 20], [35, 35], [20, 30]]],
        ),
        (
            "MultiLineString",
            ([[[100.0, 0.0], [101.0, 1.0]], [[102.0, 2.0], [101.0, 2.3]]],),
            [[[100, 0], [101, 1]], [[102, 2], [101, 2.3]]],
        ),
        (
            "MultiPolygon",
            (
                [
                    [[[40, 40], [20, 45], [45, 30], [40, 40]]],
                    [
                        [[20, 35], [10, 30], [10, 10], [30, 5], [45, 20], [20, 35]],
                        [[30, 20], [20, 15], [20, 25], [30, 20]],
                    ],
                ],
            ),
            [
                [[[40, 40], [20, 45], [45, 30], [40, 40]]],
                [[[20, 35], [10, 30], [10, 10], [30, 5], [45, 20], [20, 35]], [[30, 20], [20, 15], [20, 25], [30, 20]]],
            ],
        ),
    ],
)
def test_constructors_as_recorded(name: str, args: tuple[Any, ...], coordinates: Any) -> None:
    made = call(f"GEO_{name.upper()}", *args)
    assert json.dumps(made) == json.dumps({"type": name, "coordinates": coordinates})


def test_distances_from_bonn_as_recorded() -> None:
    bonn = [7.0998, 50.734]
    cities = {"Berlin": [13.3833, 52.5167], "Cologne": [6.9528, 50.9364], "Hamburg": [10.0014, 53.5653]}
    near = [name for name, place in cities.items() if call("GEO_DISTANCE", bonn, point(*place)) < 400000]
    assert near == ["Cologne", "Hamburg"]


# ------------------------------------------------------------------------------------------------ figures


def test_distance_is_the_documented_one() -> None:
    assert call("DISTANCE", 52.5163, 13.3777, 50.9322, 6.94) == 476918.89688380965
    assert call("DISTANCE", 0, 0, 0, 0) == 0


def test_distances_on_sphere_and_ellipsoid() -> None:
    assert call("GEO_DISTANCE", [0, 0], [0, 1]) == pytest.approx(6371000 * pi / 180, rel=1e-12)
    assert call("GEO_DISTANCE", [0, 0], [0, 1], "wgs84") == pytest.approx(110574.38855779878, rel=1e-12)
    assert call("GEO_DISTANCE", [0, 0], [180, 0], "wgs84") == pytest.approx(20003931.458625447, rel=1e-12)
    assert call("GEO_DISTANCE", BOX, [5, 5]) == pytest.approx(call("GEO_DISTANCE", [5, 5], BOX))
    assert call("GEO_DISTANCE", ROAD, [5, 5]) == pytest.approx(8532.32, abs=0.01)


def test_areas_on_sphere_and_ellipsoid() -> None:
    assert call("GEO_AREA", SAHARA) == pytest.approx(15690473448.7, rel=1e-9)
    assert call("GEO_AREA", SAHARA, "wgs84") == pytest.approx(15659312679.3, rel=1e-9)
    earth = 4 * pi * 6371000**2
    assert call("GEO_AREA", BOX) + call("GEO_AREA", CLOCKWISE) == pytest.approx(earth)
    whole = {"type": "Polygon", "coordinates": HOLED["coordinates"][:1]}
    hole = {"type": "Polygon", "coordinates": HOLED["coordinates"][1:]}
    turned = {"type": "Polygon", "coordinates": [hole["coordinates"][0][::-1]]}
    for ellipsoid in ("sphere", "wgs84"):
        expected = call("GEO_AREA", whole, ellipsoid) - call("GEO_AREA", turned, ellipsoid)
        assert call("GEO_AREA", HOLED, ellipsoid) == pytest.approx(expected)
    assert call("GEO_AREA", ROAD) == 0


# ------------------------------------------------------------------------------------------------ predicates


@pytest.mark.parametrize(
    ("area", "other", "contained", "met"),
    [
        (BOX, point(5, 5), True, True),
        (BOX, [5, 5], True, True),
        (BOX, point(11, 5), False, False),
        (BOX, INNER, True, True),
        (INNER, BOX, False, True),
        (BOX, BOX, True, True),
        (BOX, NEXT, False, False),
        (BOX, ROAD, False, True),
        (BOX, {"type": "LineString", "coordinates": [[1, 1], [9, 2], [5, 9]]}, True, True),
        (BOX, {"type": "MultiPoint", "coordinates": [[1, 1], [11, 1]]}, False, True),
        (BOX, {"type": "MultiLineString", "coordinates": [[[1, 1], [2, 2]], [[3, 3], [4, 4]]]}, True, True),
        (BOX, {"type": "MultiPolygon", "coordinates": [INNER["coordinates"], NEXT["coordinates"]]}, False, True),
        (CLOCKWISE, point(5, 5), False, False),
        (CLOCKWISE, point(-120, -40), True, True),
        (HOLED, point(28, 28), False, False),
        (HOLED, point(20, 20), True, True),
        (HOLED, {"type": "LineString", "coordinates": [[18, 20], [30, 40]]}, False, True),
    ],
)
def test_contains_and_intersects(area: Any, other: Any, contained: bool, met: bool) -> None:
    assert call("GEO_CONTAINS", area, other) is contained
    assert call("GEO_INTERSECTS", area, other) is met


def test_lines_intersect_where_they_cross_or_share_a_vertex() -> None:
    across = {"type": "LineString", "coordinates": [[5, -5], [5, 15]]}
    beyond = {"type": "LineString", "coordinates": [[15, 5], [20, 5]]}
    apart = {"type": "LineString", "coordinates": [[-5, 6], [15, 8]]}
    assert [call("GEO_INTERSECTS", ROAD, line) for line in (across, beyond, apart)] == [True, True, False]
    assert warned("GEO_INTERSECTS", ROAD, point(0, 5)) == 9


def test_equal_shapes_may_begin_elsewhere() -> None:
    rotated = {"type": "Polygon", "coordinates": [[[10, 10], [0, 10], [0, 0], [10, 0], [10, 10]]]}
    assert call("GEO_EQUALS", BOX, rotated) is True
    assert call("GEO_EQUALS", BOX, CLOCKWISE) is False
    assert call("GEO_EQUALS", point(1, 2), point(1.0, 2)) is True
    assert call("GEO_EQUALS", point(1, 2), {"type": "MultiPoint", "coordinates": [[1, 2]]}) is False
    assert call("GEO_EQUALS", ROAD, ROAD) is True


def test_in_range_with_and_without_its_bounds() -> None:
    metres = call("GEO_DISTANCE", [0, 0], [0, 1])
    assert call("GEO_IN_RANGE", [0, 0], [0, 1], 0, metres) is True
    assert call("GEO_IN_RANGE", [0, 0], [0, 1], 0, metres, True, False) is False
    assert call("GEO_IN_RANGE", [0, 0], [0, 1], metres, 2 * metres, False) is False
    assert call("GEO_IN_RANGE", [0, 0], [0, 1], 0, 110600, True, True, "wgs84") is True


def test_is_in_polygon_takes_latitude_first() -> None:
    ring = [[0, 0], [0, 10], [5, 10], [5, 0]]
    assert call("IS_IN_POLYGON", ring, 2, 8) is True
    assert call("IS_IN_POLYGON", ring, 8, 2) is False
    assert call("IS_IN_POLYGON", ring, [2, 8]) is True
    assert call("IS_IN_POLYGON", ring, [2, 8], True) is True
    assert call("IS_IN_POLYGON", [[0, 0], [10, 0], [10, 5], [0, 5]], [8, 2], True) is True
    assert call("IS_IN_POLYGON", ring[::-1], 2, 8) is True


# ------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("name", "args", "num"),
    [
        ("DISTANCE", (1, 2, "3", 4), 1542),
        ("GEO_POINT", ("1", 2), 1542),
        ("GEO_MULTIPOINT", (1,), 1563),
        ("GEO_MULTIPOINT", ([[1, 2]],), 1542),
        ("GEO_LINESTRING", ([[1, 2], ["a", 2]],), 1542),
        ("GEO_MULTILINESTRING", ([],), 1542),
        ("GEO_POLYGON", ([[0, 0], [1, 1], [2, 2]],), 10),
        ("GEO_POLYGON", ([[0, 0], [10, 10], [10, 0], [0, 10], [0, 0]],), 10),
        ("GEO_POLYGON", ([*BOX["coordinates"], *NEXT["coordinates"]],), 10),
        ("GEO_MULTIPOLYGON", ([BOX["coordinates"]],), 1542),
        ("GEO_DISTANCE", ([0, 0], [181, 0]), 10),
        ("GEO_DISTANCE", ([0, 0], "x"), 10),
        ("GEO_DISTANCE", ({"type": "GeometryCollection", "coordinates": []}, [0, 0]), 9),
        ("GEO_CONTAINS", ([0, 0], [0, 0]), 1542),
        ("GEO_CONTAINS", (ROAD, [0, 0]), 1542),
        ("GEO_EQUALS", ([0, 0], [0, 0]), 1542),
        ("GEO_IN_RANGE", ([0, 0], [0, 1], "a", 1), 10),
        ("GEO_IN_RANGE", ([0, 0], [0, 1], 0, 1, 1), 10),
        ("IS_IN_POLYGON", (1, 2, 3), 1563),
        ("IS_IN_POLYGON", ([[0, 0], [1, 1]], 2, 3), 10),
        ("IS_IN_POLYGON", ([[0, 0]], "a"), 1542),
    ],
)
def test_unfit_arguments_are_null_with_a_warning(name: str, args: tuple[Any, ...], num: int) -> None:
    assert warned(name, *args) == num


def test_an_unknown_ellipsoid_warns_and_means_the_sphere() -> None:
    rt = MemoryRuntime()
    assert TABLE["GEO_DISTANCE"].impl(rt, [0, 0], [0, 1], "moon") == call("GEO_DISTANCE", [0, 0], [0, 1])
    assert [num for num, _ in rt.warnings.items] == [10]


# ------------------------------------------------------------------------------------------------ laws

LONGITUDES, LATITUDES = st.floats(-179, 179), st.floats(-80, 80)
SPREADS = st.lists(st.floats(0.2, 1), min_size=5, max_size=9)


def star(longitude: float, latitude: float, size: float, spreads: list[float]) -> sphere.Ring:
    """A ring around a centre, counterclockwise."""
    centre = sphere.from_degrees(longitude, latitude)
    east = sphere.unit(sphere.cross((0, 0, 1), centre))
    north = sphere.cross(centre, east)
    corners = []
    for at, spread in enumerate(spreads):
        turn = 2 * pi * at / len(spreads)
        x, y = (size * spread * part for part in (sphere.cos(turn), sphere.sin(turn)))
        corners.append(sphere.unit(tuple(c + x * e + y * n for c, e, n in zip(centre, east, north, strict=True))))
    return sphere.Ring(tuple(corners))


@given(LONGITUDES, LATITUDES, st.sampled_from([1e-4, 0.01, 0.5]), SPREADS)
def test_a_ring_contains_its_centre_and_its_inverse_the_rest(
    longitude: float, latitude: float, size: float, spreads: list[float]
) -> None:
    ring = star(longitude, latitude, size, spreads)
    centre = sphere.from_degrees(longitude, latitude)
    opposite = -centre[0], -centre[1], -centre[2]
    assert ring.contains(centre)
    assert not ring.contains(opposite)
    assert not ring.inverted().contains(centre)
    assert ring.inverted().contains(opposite)
    assert ring.area + ring.inverted().area == pytest.approx(4 * pi)
    assert 0 < ring.area < 2 * pi
    assert not ring.crosses_itself


@given(LONGITUDES, LATITUDES, SPREADS, st.floats(0.1, 0.9))
def test_a_ring_contains_the_same_ring_drawn_smaller(
    longitude: float, latitude: float, spreads: list[float], factor: float
) -> None:
    outer = sphere.Area((star(longitude, latitude, 0.05, spreads),))
    inner = sphere.Area((star(longitude, latitude, 0.05 * factor, spreads),))
    assert outer.contains_area(inner)
    assert not inner.contains_area(outer)
    assert outer.meets_area(inner)
    assert inner.meets_area(outer)


@given(LONGITUDES, LATITUDES, LONGITUDES, LATITUDES)
def test_degrees_and_distances(longitude: float, latitude: float, other: float, place: float) -> None:
    one, two = sphere.from_degrees(longitude, latitude), sphere.from_degrees(other, place)
    assert sphere.to_degrees(one) == pytest.approx((longitude, latitude), abs=1e-9)
    assert sphere.angle(one, two) == pytest.approx(sphere.angle(two, one))
    haversine = call("DISTANCE", latitude, longitude, place, other)
    assert sphere.angle(one, two) * 6371000 == pytest.approx(haversine, rel=1e-6, abs=1e-3)
