"""Tools that ask the graph of entities and relations."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from vgraph.agents.tools.scope import Cameras, End, Found, Name, Scope, Start, Types
from vgraph.agents.tools.telling import of_rows
from vgraph.retrieve.cascade import RelationQuery

RELATIONS = 60


def entity_graph_search(
    scope: Scope,
    source: Annotated[Name | None, Field(description="Who does it.")] = None,
    relation: Annotated[
        list[str] | None, Field(max_length=10, description="Relations, such as gives or talks to; leave out for any.")
    ] = None,
    target: Annotated[Name | None, Field(description="With whom or what it is done.")] = None,
    source_types: Types = None,
    target_types: Types = None,
    form: Annotated[
        Literal["window", "days"],
        Field(
            description="How an empty search is relaxed. window: the span is widened; days: the same day, then all days."
        ),
    ] = "window",
    cameras: Cameras = None,
    start: Start = None,
    end: End = None,
) -> Found:
    """Find who has to do with whom or what, when and where, in the graph. Asked strictly first, then ever more loosely.

    Each row tells at which level it was found. Cheap: ask it first when the question names somebody or something.
    """
    asked = RelationQuery(source, target, _tuple(relation), _tuple(source_types), _tuple(target_types))
    filters = scope.within(cameras, start, end)
    found = scope.sources.relations(asked, filters, within=scope.filters, form=form)
    hits = found.hits[:RELATIONS]
    note = (
        "" if hits else f"the graph knows no such relation (asked: {', '.join(found.asked)}): search by sight or speech"
    )
    return of_rows(scope, [_relation(hit) for hit in hits], scope.filters, note, limit=RELATIONS)


def _relation(hit: Any) -> dict[str, Any]:
    """A hit as a row; of the level `words`, only its chunk."""
    if not hit.id:
        return {"level": hit.level, "clip": hit.chunk, "chunk": hit.chunk}
    return {
        "level": hit.level, "source": hit.source_name, "relation": hit.relation, "target": hit.target_name, "camera": hit.camera,
        "start_ms": hit.start_ms, "end_ms": hit.end_ms, "supporting_text": hit.supporting_text, "chunk": hit.chunk,
    }  # fmt: skip


def _tuple(values: list[str] | None) -> tuple[str, ...] | None:
    return tuple(values) if values else None


def entity(scope: Scope, name: Name) -> Found:
    """Who or what bears a name: type, key, and when and on which cameras it was first and last seen."""
    known = scope.sources.analytics.groups([name])
    stays = scope.sources.analytics.timeline([name], scope.filters)
    rows = [_entity(group, [stay for stay in stays if stay["entity"] == group.key]) for group in known]
    seen = [row for row in rows if row["stays"]]
    return of_rows(scope, seen, scope.filters, "" if seen else f"{name!r} is not seen in what may be looked at")


def _entity(group: Any, stays: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "entity": group.key,
        "name": group.name,
        "type": group.type,
        "stays": len(stays),
        "first_ms": min((stay["start_ms"] for stay in stays), default=None),
        "last_ms": max((stay["end_ms"] for stay in stays), default=None),
        "cameras": sorted({stay["camera"] for stay in stays}),
        "chunks": [key for stay in (stays[:1] + stays[-1:]) for key in stay["chunks"][:2]],
    }


def neighbours(
    scope: Scope,
    name: Name,
    types: Types = None,
    limit: Annotated[int, Field(ge=1, le=100)] = 30,
    cameras: Cameras = None,
    start: Start = None,
    end: End = None,
) -> Found:
    """Everybody and everything a person or thing has to do with, and how: its neighbours in the graph."""
    filters = scope.within(cameras, start, end)
    keys = {group.key for group in scope.sources.analytics.groups([name])}
    rows = scope.sources.analytics.interactions(filters, types=types, limit=1000)
    mine = [row for row in rows if {row["source"]["entity"], row["target"]["entity"]} & keys]
    return of_rows(
        scope, mine, filters, "" if mine else f"{name!r} has to do with nobody in what may be looked at", limit=limit
    )


def count_and_measure(
    scope: Scope,
    measure: Annotated[
        Literal["how_many", "how_often", "how_long"],
        Field(description="how_many: different entities; how_often: separate stays; how_long: seconds present in all."),
    ],
    entities: Annotated[list[Name] | None, Field(max_length=20, description="Only these, by name or key.")] = None,
    types: Types = None,
    cameras: Cameras = None,
    start: Start = None,
    end: End = None,
) -> Found:
    """Count different entities, count how often they came, or measure how long they stayed; with everyone that was counted.

    Name entities, types, or neither for everybody. The first line is the figure, the others are what it is made of.
    """
    filters = scope.within(cameras, start, end)
    if entities:
        stays = scope.sources.analytics.timeline(entities, filters)
    else:
        known = scope.sources.analytics.first_last_seen(filters, types=types, limit=1000)
        stays = scope.sources.analytics.timeline([row["entity"] for row in known], filters) if known else []
    by_entity: dict[str, list[dict[str, Any]]] = {}
    for stay in stays:
        by_entity.setdefault(stay["entity"], []).append(stay)
    rows = [_counted(own) for own in by_entity.values()]
    figures = {"how_many": len(rows), "how_often": sum(row["times"] for row in rows)}
    if measure == "how_long":
        total: dict[str, Any] = {"total_ms": sum(row["present_ms"] for row in rows)}
    else:
        total = {"total": figures[measure]}
    return of_rows(scope, [{"measure": measure, **total}, *rows], filters, limit=100)


def _counted(stays: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "entity": stays[0]["entity"],
        "name": stays[0]["name"],
        "times": len(stays),
        "present_ms": _length(stays),
        "cameras": sorted({stay["camera"] for stay in stays}),
        "first_ms": min(stay["start_ms"] for stay in stays),
        "last_ms": max(stay["end_ms"] for stay in stays),
        "chunks": [key for stay in stays for key in stay["chunks"][:1]],
    }


def _length(stays: list[dict[str, Any]]) -> int:
    """The time of all stays together, in ms; where two cameras saw one at once it counts once."""
    total, until = 0, None
    for start, end in sorted((stay["start_ms"], stay["end_ms"]) for stay in stays):
        begin = start if until is None else max(start, until)
        total += max(0, end - begin)
        until = end if until is None else max(until, end)
    return total
