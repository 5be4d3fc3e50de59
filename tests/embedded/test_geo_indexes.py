"""What a geo index changes: who is in it, and which coordinate comes first."""

from __future__ import annotations

import pytest

from tests.embedded.conftest import Database
from vgraph.embedded.errors import ArangoError

LEGACY = {"type": "geo", "fields": ["loc"]}
PAIR = {"type": "geo", "fields": ["at.lat", "at.lng"]}
JSON = {"type": "geo", "fields": ["loc"], "geoJson": True}
# latitude 1, longitude 0 … latitude 5, longitude 0
PLACES = [{"_key": str(n), "loc": [n, 0], "at": {"lat": n, "lng": 0}} for n in (3, 1, 5, 2, 4)]
NOWHERE = [
    {"_key": "none"},
    {"_key": "text", "loc": ["a", "b"], "at": {"lat": "a"}},
    {"_key": "off", "loc": [199, 199]},
]


@pytest.fixture
def places(fresh: Database) -> Database:
    fresh.collection("legacy", PLACES + NOWHERE, indexes=[LEGACY])
    fresh.collection("pairs", PLACES + NOWHERE, indexes=[PAIR])
    points = [{"_key": one["_key"], "loc": {"type": "Point", "coordinates": one["loc"][::-1]}} for one in PLACES]
    fresh.collection("geojson", points + NOWHERE, indexes=[JSON])
    fresh.collection("plain", PLACES + NOWHERE)
    return fresh


@pytest.mark.parametrize("name", ["legacy", "pairs", "geojson"])
def test_near_and_within(places: Database, name: str):
    assert places.run(f"FOR d IN NEAR({name}, 1, 0) RETURN d._key") == ["1", "2", "3", "4", "5"]
    assert places.run(f"FOR d IN NEAR('{name}', 4.2, 0, 2) RETURN d._key") == ["4", "5"]
    assert places.run(f"FOR d IN NEAR({name}, 1, 0, 1, 'far') RETURN d.far") == [0]
    found = places.run(f"FOR d IN WITHIN({name}, 3, 0, 111200, 'far') RETURN [d._key, ROUND(d.far)]")
    assert found[0] == ["3", 0] and sorted(found[1:]) == [["2", 111195], ["4", 111195]]
    assert places.run(f"FOR d IN WITHIN_RECTANGLE({name}, 1.5, -1, 3.5, 1) SORT d._key RETURN d._key") == ["2", "3"]


def test_near_needs_an_index(places: Database):
    with pytest.raises(ArangoError) as caught:
        places.run("RETURN NEAR(plain, 1, 0)")
    assert caught.value.num == 1570
    with pytest.raises(ArangoError) as caught:
        places.run("RETURN WITHIN(legacy, 'x', 0, 1)")
    assert caught.value.num == 1542


@pytest.mark.parametrize(
    ("name", "read"), [("legacy", "d.loc"), ("pairs", "[d.at.lng, d.at.lat]"), ("geojson", "d.loc")]
)
def test_filters_and_sorts_see_what_the_index_holds(places: Database, name: str, read: str):
    near = f"FOR d IN {name} FILTER GEO_DISTANCE([0, 2], {read}) <= @far SORT d._key RETURN d._key"
    assert places.run(near, {"far": 112000}) == ["1", "2", "3"]
    assert places.run(f"FOR d IN {name} SORT GEO_DISTANCE({read}, [0, 5]) LIMIT 2 RETURN d._key") == ["5", "4"]
    assert len(places.run(f"FOR d IN {name} LET far = GEO_DISTANCE([0, 5], {read}) SORT far RETURN d")) == 5
    box = "LET box = GEO_POLYGON([[-1, 1.5], [1, 1.5], [1, 3.5], [-1, 3.5], [-1, 1.5]])"
    inside = f"{box} FOR d IN {name} FILTER GEO_CONTAINS(box, {read}) SORT d._key RETURN d._key"
    result = places.result(inside)
    assert (result.all(), result.warnings) == (["2", "3"], [])
    assert "geo-index-optimizer" in places.plan(inside)["rules"]


def test_distance_over_two_attributes(places: Database):
    query = "FOR d IN pairs FILTER DISTANCE(d.at.lat, d.at.lng, 2, 0) < 1000 RETURN d._key"
    result = places.result(query)
    assert (result.all(), result.warnings) == (["2"], [])


def test_without_an_index_the_longitude_comes_first(places: Database):
    query = "FOR d IN plain FILTER IS_ARRAY(d.loc) AND GEO_DISTANCE([2, 0], d.loc) == 0 RETURN d._key"
    assert places.run(query) == ["2"]
