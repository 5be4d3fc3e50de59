"""The way into the graph by its relations: who a question names, and how they have to do with one another, strictly asked first.

The question becomes a RelationQuery by rules: entities whose names stand in it, and those of their relations that it speaks of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from vgraph.retrieve.cascade import ANYWHERE, Form, RelationEvidence, RelationHit, RelationQuery, search_relations
from vgraph.retrieve.trace import stage
from vgraph.retrieve.words import content_words
from vgraph.store import Store
from vgraph.types import EvidenceRelation, Filters, Hit

WORDS = re.compile(r"\w+")
NAMES_READ = 50
LEG = "relations"


@dataclass(frozen=True, slots=True)
class Related:
    """Chunks of the relations found, the strictest level and the nearest to the question first; the relations; the levels asked."""

    hits: tuple[Hit, ...]
    relations: tuple[EvidenceRelation, ...] = ()
    asked: tuple[str, ...] = ()
    query: RelationQuery | None = None


def related(
    question: str, vector: Sequence[float], filters: Filters, store: Store, *, form: Form, enough: int, tz: str = "UTC",
    within: Filters = ANYWHERE, by_words: Callable[[Filters], Sequence[str]] = lambda filters: (),
) -> Related:  # fmt: skip
    """What the graph's relations say of a question; nothing where it names nobody that the graph knows.

    `within` and `by_words` as in the cascade.
    """
    with stage(LEG) as tell:
        query = relation_query(question, filters, store)
        if query is None:
            return Related(())
        found = search_relations(
            store, query, filters, form=form, enough=enough, tz=tz, within=within, by_words=by_words
        )
        tell(lambda: ({"level": hit.level, "chunk": hit.chunk, "relation": _said(hit)} for hit in found.hits))
    return Related(ranked(found, vector, store), relations_of(found), found.asked, query)


def relation_query(question: str, filters: Filters, store: Store) -> RelationQuery | None:
    """The first two entities named in a question, and the relations of theirs whose words it uses; None where nobody is named."""
    named = tuple(_named(question, filters, store))[:2]
    if not named:
        return None
    keys = [key for _, keys in named for key in keys]
    rest = content_words(question) - {word for name, _ in named for word in content_words(name)}
    kinds = store.relation_kinds([f"entities/{key}" for key in keys], filters)
    spoken = tuple(kind for kind in kinds if content_words(kind.replace("_", " ")) & rest)
    names = [name for name, _ in named]
    return RelationQuery(names[0], names[1] if len(names) > 1 else None, spoken or None, either_way=True)


def _named(question: str, filters: Filters, store: Store) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names that stand in a question as whole words, in its order, with who bears them (keys); the longest where they overlap."""
    text = f" {' '.join(WORDS.findall(question.casefold()))} "
    borne: dict[str, list[str]] = {}
    for row in store.named_entities(
        question, None, fuzzy=False, limit=NAMES_READ, not_after=filters.not_after, as_of=filters.as_of
    ):
        for alias in row["aliases"]:
            borne.setdefault(" ".join(WORDS.findall(alias.casefold())), []).append(row["_key"])
    found: list[tuple[int, str]] = []
    for name in sorted((name for name in borne if name and f" {name} " in text), key=lambda name: (-len(name), name)):
        place = text.index(f" {name} ")
        text = text.replace(f" {name} ", f" {'*' * len(name)} ", 1)
        found.append((place, name))
    yield from ((name, tuple(sorted(set(borne[name])))) for _, name in sorted(found))


def ranked(found: RelationEvidence, vector: Sequence[float], store: Store) -> tuple[Hit, ...]:
    """A hit for each chunk, by level, then by cosine with the question, then by time; its score falls from level to level."""
    import numpy as np

    first: dict[str, RelationHit] = {}
    for hit in found.hits:
        first.setdefault(hit.chunk, hit)
    vectors = store.chunk_embeddings(list(first))
    cosine = {key: float(np.dot(vectors[key], vector)) if key in vectors else 0.0 for key in first}
    depth = {level: number for number, level in enumerate(found.asked)}
    order = sorted(first.values(), key=lambda hit: (depth[hit.level], -cosine[hit.chunk], hit.start_ms, hit.chunk))
    return tuple(
        Hit(hit.chunk, (1 + max(cosine[hit.chunk], 0.0)) / 2 / (1 + depth[hit.level]), {LEG: place}, level=hit.level)
        for place, hit in enumerate(order, 1)
    )


def relations_of(found: RelationEvidence) -> tuple[EvidenceRelation, ...]:
    """The relations found, as evidence tagged with their level."""
    return tuple(
        EvidenceRelation(
            hit.id, hit.source, hit.source_name, hit.target, hit.target_name, hit.relation, hit.start_ms, hit.end_ms, hit.camera,
            hit.chunk, hit.supporting_text, hit.confidence, 0, hit.level,
        )
        for hit in found.hits
        if hit.id
    )  # fmt: skip


def _said(hit: RelationHit) -> str:
    return f"{hit.source_name} {hit.relation} {hit.target_name}" if hit.id else ""
