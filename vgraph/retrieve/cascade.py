"""Entity graph search: a structured question about relations, asked strictly first and then ever more loosely (EGAgent, its two cascades).

All hits of all levels asked are kept, each with the level that found it first; the cascade stops when there is enough evidence, not when a
level has many rows. Where every level is empty the caller falls back to search by meaning and words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from vgraph.errors import UserError
from vgraph.retrieve.bounds import narrowed
from vgraph.store import Store
from vgraph.types import Filters

Form = Literal["window", "days"]
"""`window` (form A): exact, window twice as wide, names like these, any relation, each entity alone. `days` (form B, of many days): exact,
the same day, all days up to the question, names like these, any relation, the target alone, the words of the question."""
ANYWHERE = Filters()
ENOUGH = 5
ROWS = 100
NAMES_READ = 50
LIKENESS = 80.0
"""Least likeness of a name (rapidfuzz partial ratio, 0 to 100) at the levels that take names like the one asked for."""


@dataclass(frozen=True, slots=True)
class RelationQuery:
    """Who has to do with whom and how; a side or the relation that is None may be anything. At least one of them is needed.

    `either_way`: nobody knows which of the two does it to the other.
    """

    source: str | None = None
    target: str | None = None
    relations: tuple[str, ...] | None = None
    source_types: tuple[str, ...] | None = None
    target_types: tuple[str, ...] | None = None
    either_way: bool = False


@dataclass(frozen=True, slots=True)
class Level:
    """How loosely a level asks. `span` says what becomes of the asked time."""

    name: str
    span: Literal["asked", "wider", "day", "open"] = "asked"
    similar_names: bool = False
    any_relation: bool = False
    ends: Literal["both", "each", "target"] = "both"
    words: bool = False


FORMS: Mapping[Form, tuple[Level, ...]] = {
    "window": (
        Level("exact"),
        Level("wider window", span="wider"),
        Level("similar names", span="wider", similar_names=True),
        Level("any relation", span="wider", similar_names=True, any_relation=True),
        Level("each entity alone", span="wider", similar_names=True, any_relation=True, ends="each"),
    ),
    "days": (
        Level("exact"),
        Level("same day", span="day"),
        Level("all days", span="open"),
        Level("similar names", span="open", similar_names=True),
        Level("any relation", span="open", similar_names=True, any_relation=True),
        Level("target alone", span="open", similar_names=True, any_relation=True, ends="target"),
        Level("words", span="open", words=True),
    ),
}


@dataclass(frozen=True, slots=True)
class RelationHit:
    """A relation found, or for the level `words` a chunk: then only `chunk` and `level` are set. Times UTC ms."""

    level: str
    chunk: str
    id: str = ""
    source: str = ""
    source_name: str = ""
    target: str = ""
    target_name: str = ""
    relation: str = ""
    start_ms: int = 0
    end_ms: int = 0
    camera: str = ""
    supporting_text: str = ""
    confidence: float = 0.0


@dataclass(frozen=True, slots=True)
class RelationEvidence:
    """Hits by level and time, and which levels were asked. Without hits nothing of the graph answers, and search by words has to."""

    hits: tuple[RelationHit, ...]
    asked: tuple[str, ...]


def search_relations(
    store: Store, asked: RelationQuery, filters: Filters, *, form: Form = "window", enough: int = ENOUGH, tz: str = "UTC",
    within: Filters = ANYWHERE, by_words: Callable[[Filters], Sequence[str]] = lambda filters: (),
) -> RelationEvidence:  # fmt: skip
    """Ask level by level until `enough` hits were found. Nothing after `filters.not_after` is ever read.

    However far a level relaxes the span of the filters, what it finds lies `within` these.

    `by_words` finds chunks (keys) for the level `words`. Raises UserError for a query that names nothing.
    """
    if asked.source is None and asked.target is None and not asked.relations:
        raise UserError("a relation query names a source, a target or a relation")
    names = _Names(store, filters)
    found: dict[str, RelationHit] = {}
    told: list[str] = []
    for level in FORMS[form]:
        told.append(level.name)
        for hit in _hits(level, store, asked, narrowed(within, _spanned(level, filters, tz)), names, by_words):
            found.setdefault(hit.id or hit.chunk, hit)
        if len(found) >= enough:
            break
    return RelationEvidence(tuple(found.values()), tuple(told))


def _hits(
    level: Level, store: Store, asked: RelationQuery, filters: Filters, names: _Names,
    by_words: Callable[[Filters], Sequence[str]],
) -> Iterator[RelationHit]:  # fmt: skip
    if level.words:
        yield from (RelationHit(level.name, chunk) for chunk in by_words(filters))
        return
    relations = None if level.any_relation else asked.relations
    for source, target in _ends(level, asked, names):
        if source is None and target is None and relations is None:
            continue
        for row in store.match_relations(source, target, relations, filters, limit=ROWS):
            yield RelationHit(
                level.name, row["chunk"], row["_id"], row["source"], row["source_name"], row["target"], row["target_name"],
                row["relation"], row["start_ms"], row["end_ms"], row["camera"], row["supporting_text"], row["confidence"],
            )  # fmt: skip


Ids = list[str] | None


def _ends(level: Level, asked: RelationQuery, names: _Names) -> Iterator[tuple[Ids, Ids]]:
    """The pairs of ends a level asks for, as ids; an end that was named and that nobody bears finds nothing."""
    source = names.ids(asked.source, asked.source_types, similar=level.similar_names)
    target = names.ids(asked.target, asked.target_types, similar=level.similar_names)
    if level.ends == "both":
        if source != [] and target != []:
            yield source, target
            if asked.either_way:
                yield target, source
        return
    alone = (target,) if level.ends == "target" else (source, target)
    for ids in alone:
        if ids:
            yield ids, None
            yield None, ids


class _Names:
    """Entities by name, each looked up once a search; at a moment, by the names that were known then."""

    def __init__(self, store: Store, filters: Filters) -> None:
        self._store, self._not_after, self._as_of = store, filters.not_after, filters.as_of
        self._known: dict[tuple[str, tuple[str, ...] | None, bool], list[str]] = {}

    def ids(self, name: str | None, types: tuple[str, ...] | None, *, similar: bool) -> Ids:
        """All records of those who bear the name; of one that is None, None: anybody."""
        if name is None:
            return None
        key = name, types, similar
        if key not in self._known:
            self._known[key] = self._find(name, types, similar)
        return self._known[key]

    def _find(self, name: str, types: tuple[str, ...] | None, similar: bool) -> list[str]:
        rows = self._store.named_entities(
            name, types, fuzzy=similar, limit=NAMES_READ, not_after=self._not_after, as_of=self._as_of
        )
        meant = [row["_key"] for row in rows if any(_is(name, alias, similar) for alias in row["aliases"])]
        return self._store.entity_records(meant, not_after=self._not_after, as_of=self._as_of) if meant else []


def _is(name: str, alias: str, similar: bool) -> bool:
    """The same name but for case and spaces; or, where similar ones count, one that is spelt nearly so or holds it."""
    from rapidfuzz import fuzz

    wanted, borne = " ".join(name.casefold().split()), " ".join(alias.casefold().split())
    if wanted == borne:
        return True
    return similar and bool(wanted) and fuzz.partial_ratio(wanted, borne, score_cutoff=LIKENESS) > 0


def _spanned(level: Level, filters: Filters, tz: str) -> Filters:
    """The filters with the level's time. A side that was open stays open; nothing ever reaches beyond `not_after`."""
    match level.span:
        case "wider":
            return _widened(filters)
        case "day":
            return _day(filters, tz)
        case "open":
            return replace(filters, start_ms=None, end_ms=None)
        case _:
            return filters


def _widened(filters: Filters) -> Filters:
    """Twice as long, about the same middle."""
    if filters.start_ms is None or filters.end_ms is None:
        return filters
    more = (filters.end_ms - filters.start_ms + 1) // 2
    return replace(filters, start_ms=filters.start_ms - more, end_ms=filters.end_ms + more)


def _day(filters: Filters, tz: str) -> Filters:
    """From the midnight before the span's start to the one after its end, in a zone."""
    zone = ZoneInfo(tz)
    start, end = filters.start_ms, filters.end_ms
    return replace(
        filters,
        start_ms=None if start is None else _midnight(start, zone, 0),
        end_ms=None if end is None else _midnight(end - 1, zone, 1),
    )


def _midnight(ms: int, zone: ZoneInfo, days: int) -> int:
    day = datetime.fromtimestamp(ms / 1000, zone).date() + timedelta(days=days)
    return int(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp() * 1000)
