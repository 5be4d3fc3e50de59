"""Entity graph search: which level finds what, that nothing found is thrown away, and that nothing later is ever read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.conftest import fresh_store
from vgraph.errors import UserError
from vgraph.retrieve.cascade import ENOUGH, FORMS, RelationQuery, search_relations
from vgraph.store import Store
from vgraph.types import Filters, GraphDelta

DAY = 86_400_000
HOUR = 3_600_000
PEOPLE = {"dana": "Dana Reyes", "dan": "Dan Ray", "eli": "Eli Moss", "dana2": "D. Reyes", "crate": "crate 7"}
LINKS = [
    # source, target, relation, start
    ("dana", "crate", "carries", 10 * HOUR),
    ("dana", "crate", "carries", 12 * HOUR),
    ("dana2", "crate", "carries", 10 * HOUR + 60_000),
    ("dana", "crate", "drops", 10 * HOUR),
    ("eli", "dana", "greets", 10 * HOUR),
    ("dana", "crate", "carries", DAY + 10 * HOUR),
    ("eli", "crate", "opens", 3 * DAY),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    entities = tuple(
        {
            "_key": key, "type": "object" if key == "crate" else "person", "name": name, "aliases": [name], "description": "",
            "first_ms": 0, "last_ms": 0, "cameras": ["dock"], "named": "", "described": "",
            **({"canonical": "dana"} if key.startswith("dana") else {}),
        }
        for key, name in PEOPLE.items()
    )  # fmt: skip
    links = tuple(
        {
            "_key": f"l{number}", "_from": f"entities/{source}", "_to": f"entities/{target}", "relation": relation, "camera": "dock",
            "document": "d", "chunk": f"c{number}", "start_ms": start, "end_ms": start + 5_000, "known_ms": start + 9_000,
            "supporting_text": f"{source} {relation}", "confidence": 1.0, "retracted_ms": None, "recorded_ms": 1,
        }
        for number, (source, target, relation, start) in enumerate(LINKS)
    )  # fmt: skip
    mentions = tuple(
        {
            "_key": f"m{number}-{end}", "_from": f"chunks/c{number}", "_to": f"entities/{end}", "mention": PEOPLE[end], "camera": "dock",
            "document": "d", "start_ms": start, "end_ms": start + 5_000, "known_ms": start + 9_000, "description": "",
        }
        for number, (source, target, _, start) in enumerate(LINKS)
        for end in (source, target)
    )  # fmt: skip
    with fresh_store(tmp_path_factory.mktemp("cascade")) as opened:
        opened.apply(GraphDelta({"entities": entities}, {"LINKS_TO": links, "HAS_ENTITY": mentions}))
        assert opened.named_entities("Dana Reyes", None, fuzzy=False, limit=5)
        yield opened


@contextmanager
def fresh_store_of(store: Store) -> Iterator[Store]:
    """A store of its own with the same records."""
    with TemporaryDirectory() as folder, fresh_store(Path(folder)) as opened:
        vertices: dict[str, list[Any]] = {}
        for name, record in store.export():
            if name in ("entities", "LINKS_TO", "HAS_ENTITY"):
                vertices.setdefault(name, []).append({"recorded_ms": 1, **record})
        opened.apply(GraphDelta({name: tuple(records) for name, records in vertices.items()}, {}))
        yield opened


MORNING = Filters(None, None, 10 * HOUR, 10 * HOUR + 30_000)
CARRIES = RelationQuery("Dana Reyes", "crate 7", ("carries",))


def levels(found: object) -> dict[str, str]:
    return {hit.id.partition("/")[2] or hit.chunk: hit.level for hit in found.hits}  # type: ignore[attr-defined]


def test_few_exact_hits_are_kept_and_looser_levels_add_to_them(store: Store) -> None:
    found = search_relations(store, CARRIES, MORNING)
    assert found.asked == tuple(level.name for level in FORMS["window"])
    assert levels(found) == {"l0": "exact", "l3": "any relation", "l4": "each entity alone"}


def test_a_window_twice_as_wide_and_records_that_are_one(store: Store) -> None:
    span = Filters(None, None, 10 * HOUR, 10 * HOUR + 50_000)
    assert levels(search_relations(store, CARRIES, span))["l2"] == "wider window"


def test_it_stops_when_there_is_enough(store: Store) -> None:
    found = search_relations(store, CARRIES, MORNING, enough=1)
    assert (found.asked, levels(found)) == (("exact",), {"l0": "exact"})
    assert ENOUGH > 3


def test_over_days_the_time_is_given_up_first_by_day_then_wholly(store: Store) -> None:
    found = search_relations(store, CARRIES, MORNING, form="days", enough=99, by_words=lambda filters: ["c9"])
    assert found.asked == tuple(level.name for level in FORMS["days"])
    assert levels(found) == {
        "l0": "exact", "l1": "same day", "l2": "same day", "l5": "all days", "l3": "any relation", "l6": "target alone",
        "c9": "words",
    }  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_no_level_reads_what_was_not_known_yet(store: Store, form: str) -> None:
    until = 10 * HOUR + 9_000
    gate = Filters(None, None, 10 * HOUR, 11 * HOUR, until)
    seen: list[Filters] = []
    found = search_relations(store, CARRIES, gate, form=form, enough=99, by_words=lambda f: seen.append(f) or [])  # type: ignore[arg-type, func-returns-value]
    assert set(levels(found)) == {"l0", "l3", *({"l4"} if form == "window" else ())}
    assert all(filters.not_after == until for filters in seen)


def test_a_name_that_was_learned_later_finds_nobody_before(store: Store) -> None:
    """`Dana` is called `the courier` only on the second day; then she is found by it, and bears it."""
    late = {
        "_key": "late", "_from": "chunks/c5", "_to": "entities/dana", "mention": "the courier", "camera": "dock", "document": "d",
        "start_ms": DAY, "end_ms": DAY + 1, "known_ms": DAY + 2, "description": "",
    }  # fmt: skip
    known = {"aliases": ["Dana Reyes", "the courier"], "name": "the courier", "called": "the courier"}
    with fresh_store_of(store) as opened:
        opened.apply(GraphDelta({}, {"HAS_ENTITY": (late,)}))
        opened._db.aql.execute("UPDATE 'dana' WITH @known IN entities", bind_vars={"known": known})
        asked = RelationQuery("the courier", "crate 7", ("carries",))
        assert search_relations(opened, asked, Filters(not_after=DAY)).hits[0].level == "each entity alone"
        [first, *_] = search_relations(opened, replace(asked, source="Dana Reyes"), Filters(not_after=DAY)).hits
        assert (first.level, first.source_name) == ("exact", "Dana Reyes")
        [first, *_] = search_relations(opened, asked, Filters()).hits
        assert (first.level, first.source_name) == ("exact", "the courier")


def test_a_question_that_does_not_know_who_did_it_to_whom_asks_both_ways(store: Store) -> None:
    turned = RelationQuery("crate 7", "Dana Reyes", ("carries",))
    assert "exact" not in levels(search_relations(store, turned, MORNING)).values()
    assert levels(search_relations(store, replace(turned, either_way=True), MORNING))["l0"] == "exact"


@pytest.mark.parametrize(
    ("name", "level"), [("dana reyes", "exact"), ("Reyes", "similar names"), ("Dana Reyez", "similar names")]
)
def test_names_are_taken_strictly_first(store: Store, name: str, level: str) -> None:
    found = search_relations(store, RelationQuery(name, "crate 7", ("carries",)), MORNING)
    assert levels(found)["l0"] == level


def test_nobody_of_that_name_finds_nothing_but_what_the_other_end_gives(store: Store) -> None:
    found = search_relations(store, RelationQuery("Zoltan", "crate 7", ("carries",)), MORNING)
    assert set(levels(found).values()) == {"each entity alone"}
    assert search_relations(store, RelationQuery("Zoltan", None, ("carries",)), MORNING).hits == ()


def test_the_same_question_gives_the_same_hits_in_the_same_order(store: Store) -> None:
    runs = [search_relations(store, CARRIES, MORNING, form="days", enough=99) for _ in range(3)]
    assert runs[0] == runs[1] == runs[2]


def test_types_tell_people_from_things(store: Store) -> None:
    assert (
        search_relations(store, RelationQuery("crate 7", target_types=None, source_types=("person",)), Filters()).hits
        == ()
    )


def test_a_query_that_names_nothing_is_refused(store: Store) -> None:
    with pytest.raises(UserError, match="a source, a target or a relation"):
        search_relations(store, RelationQuery(), Filters())
