"""Relations of several graphs of one unit as one (EGAgent E7): the same statement told twice is one edge that names all its sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vgraph.ingest.extract.reading import Stated
from vgraph.ingest.extract.structured import STRUCTURED, identity
from vgraph.ingest.extract.wording import Wording
from vgraph.types import Mention, Relation


def resolved(relations: Sequence[Stated], wording: Wording) -> list[Stated]:
    """Equal triplets whose intervals overlap become one; of those the surest is kept, of equally sure ones what was given.

    Triplets are equal when both ends are the same entities and the relation's words have the same stems (`hands over`, `handed over`).
    """
    groups: dict[tuple[object, ...], list[Stated]] = {}
    for stated in sorted(relations, key=_rank):
        kept = groups.setdefault(_triplet(stated.relation, wording), [])
        place = next((i for i, other in enumerate(kept) if _same_time(other.relation, stated.relation)), None)
        if place is None:
            kept.append(stated)
        else:
            kept[place] = _joined(kept[place], stated)
    found = [stated for kept in groups.values() for stated in kept]
    return sorted(found, key=lambda stated: _order(stated.relation))


def _rank(stated: Stated) -> tuple[object, ...]:
    relation = stated.relation
    return (-relation.confidence, STRUCTURED not in relation.sources, *_order(relation))


def _order(relation: Relation) -> tuple[object, ...]:
    return (
        relation.offset_ms,
        relation.end_offset_ms,
        relation.source,
        relation.relation,
        relation.target,
        relation.sources,
    )


def _triplet(relation: Relation, wording: Wording) -> tuple[object, ...]:
    return (*(_end(mention, name) for mention, name in zip(relation.ends, (relation.source, relation.target), strict=True)),
            wording.words(relation.relation))  # fmt: skip


def _end(mention: Mention | None, name: str) -> tuple[object, ...]:
    return identity(mention) if mention else ("", name, None)


def _same_time(one: Relation, other: Relation) -> bool:
    """Whether they share time; a moment counts where it lies."""
    a, b = _span(one), _span(other)
    return a[0] < b[1] and b[0] < a[1]


def _span(relation: Relation) -> tuple[int, int]:
    start = relation.offset_ms or 0
    return start, max(relation.end_offset_ms or 0, start + 1)


def _joined(kept: Stated, other: Stated) -> Stated:
    sources = tuple(sorted({*kept.relation.sources, *other.relation.sources}))
    return replace(kept, relation=replace(kept.relation, sources=sources))
