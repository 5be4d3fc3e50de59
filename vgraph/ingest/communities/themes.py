"""Thematic communities: entities that have to do with each other, found by Louvain, in levels, each with a title and a summary.

Two entities belong together the more often they are linked and the more chunks name both. Entities that are confirmed to be one count as
one. Each part of the graph that hangs together is clustered by itself, so its themes are those of what is in it and not of the order in
which that came; only parts that a run touches are clustered anew, and of their themes only those written anew that are others now.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from vgraph.ingest.communities.records import Writers, is_good, told
from vgraph.ingest.communities.summaries import Material
from vgraph.ingest.communities.windows import batches
from vgraph.ingest.keys import content_key, edge_key
from vgraph.store import Store
from vgraph.types import Progress, Record

if TYPE_CHECKING:
    import networkx

STAGE = "themes"
PAGE = 256
SEED = 0
"""Louvain visits vertices in an order drawn from this; with vertices sorted by key the same graph gives the same themes."""
CHUNKS_READ = 48
"""Chunks of a theme whose text its summary is made of: those that name most of its members."""
NAMED_TOGETHER = 24
"""In a chunk with more entities than this nobody can be said to have to do with anybody."""


@dataclass(frozen=True, slots=True)
class ThemeOptions:
    """members: smaller communities are no theme; levels: finest first; resolution: above 1 gives smaller ones (Blondel et al. 2008)."""

    members: int = 3
    levels: int = 2
    resolution: float = 1.0

    def config(self, writers: Writers) -> str:
        parts = (
            self.members,
            self.levels,
            repr(self.resolution),
            writers.name,
            writers.sentences,
            writers.embedder.name,
        )
        return content_key(STAGE, *parts)


@dataclass(frozen=True, slots=True)
class _Region:
    """The part of the entity graph that is clustered anew. Keys are those of representatives; `occurs`: key -> chunks."""

    entities: Mapping[str, Mapping[str, Any]]
    names: Mapping[str, frozenset[str]]
    """All that each is called, in lower case: the names of those that are one with it."""
    weights: Mapping[tuple[str, str], float]
    occurs: Mapping[str, frozenset[str]]
    places: Mapping[str, tuple[str, str]]
    """Chunk -> its document and camera."""


def find_themes(store: Store, options: ThemeOptions, writers: Writers, report: Callable[[Progress], None]) -> list[str]:
    """Make the themes of whatever is new or changed; what went wrong, one line each.

    That is all that hangs together with entities of documents that are new or changed, and with entities that have become one or two.
    """
    pending = store.derived.pending(STAGE, options.config(writers))
    regrouped = store.derived.regrouped()
    if not pending and not regrouped:
        return []
    report(Progress("entities", STAGE, 0, None, "themes"))
    touched = {key for one in pending for key in store.derived.entities_of(one.document)}
    warnings = _cluster(store, {*touched, *regrouped}, options, writers.remembering(store, None), report)
    if not warnings:
        store.derived.done(STAGE, pending)
        store.derived.themed(regrouped)
    return warnings


def _cluster(
    store: Store, touched: set[str], options: ThemeOptions, writers: Writers, report: Callable[[Progress], None]
) -> list[str]:
    known, members = _affected(store, touched)
    region = _region(store, sorted(members))
    seen: set[str] = set()
    warnings: list[str] = []
    found = themes(region.weights, options)
    parents = _parents(found)
    total = sum(map(len, found))
    for level, level_themes in enumerate(found):
        for theme in level_themes:
            record, edges, written = _theme(store, region, level, theme, parents, writers, known)
            seen.add(record["_key"])
            warnings += [f"theme {record['title']!r}: {warning}" for warning in record["warnings"]]
            if written:
                store.derived.replace_communities((), writers.embedded([record]), edges)
            report(Progress("entities", STAGE, len(seen), total, "themes"))
    store.derived.replace_communities(sorted(set(known) - seen), (), {})
    return warnings


def _affected(store: Store, touched: set[str]) -> tuple[dict[str, dict[str, Any]], set[str]]:
    """The themes of whatever hangs together with some entities, by key, and all entities that do."""
    members, fresh = set(touched), sorted(touched)
    while fresh:
        found = {key for page in batches(fresh, PAGE) for key in store.derived.neighbours_of(page)}
        fresh = sorted(found - members)
        members |= found
    pages = batches(sorted(members), PAGE)
    return {row["_key"]: row for page in pages for row in store.derived.themes_of(page)}, members


# --- the graph ----------------------------------------------------------------------------------------------------------


def _region(store: Store, keys: Sequence[str]) -> _Region:
    rows = store.derived.theme_entities(keys)
    canonical = {row["_key"]: row["canonical"] for row in rows}
    weights: Counter[tuple[str, str]] = Counter()
    for link in store.derived.theme_links(keys):
        ends = [canonical.get(link[side].partition("/")[2]) for side in ("a", "b")]
        if ends[0] and ends[1] and ends[0] != ends[1]:
            weights[min(ends[0], ends[1]), max(ends[0], ends[1])] += link["weight"]
    occurs: defaultdict[str, set[str]] = defaultdict(set)
    named: defaultdict[str, set[str]] = defaultdict(set)
    places: dict[str, tuple[str, str]] = {}
    for mention in store.derived.theme_mentions(keys):
        if entity := canonical.get(mention["entity"].partition("/")[2]):
            chunk = mention["chunk"].partition("/")[2]
            occurs[entity].add(chunk)
            named[chunk].add(entity)
            places[chunk] = mention["document"], mention["camera"]
    for together in named.values():
        if len(together) <= NAMED_TOGETHER:
            weights.update(combinations(sorted(together), 2))
    entities = {row["_key"]: row for row in rows}
    names: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        names[row["canonical"]].add(row["own"].casefold())
    called = {key: frozenset(told) for key, told in names.items()}
    return _Region(entities, called, weights, {key: frozenset(chunks) for key, chunks in occurs.items()}, places)


def themes(weights: Mapping[tuple[str, str], float], options: ThemeOptions) -> list[list[tuple[str, ...]]]:
    """Communities by level, finest first, each a sorted tuple of keys; those with fewer members than asked are left out.

    `weights` maps pairs of keys to how much they have to do with each other.
    """
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(sorted({key for pair in weights for key in pair}))
    graph.add_weighted_edges_from((a, b, weight) for (a, b), weight in sorted(weights.items()))
    found: list[list[tuple[str, ...]]] = []
    for part in sorted(map(sorted, networkx.connected_components(graph))):
        for level, communities in enumerate(_levels(_alone(graph, part), options)):
            found += [[]] * (level + 1 - len(found))
            found[level] = sorted([*found[level], *communities])
    return found


def _alone(graph: networkx.Graph, part: Sequence[str]) -> networkx.Graph:
    """A part of a graph with vertices and edges in order of key, as if there were nothing else."""
    alone = graph.__class__()
    alone.add_nodes_from(part)
    alone.add_edges_from(sorted((min(a, b), max(a, b), facts) for a, b, facts in graph.edges(part, data=True)))
    return alone


def _levels(graph: networkx.Graph, options: ThemeOptions) -> list[list[tuple[str, ...]]]:
    """Louvain's passes over a graph that hangs together: the first, and the last ones up to `levels`."""
    import networkx

    passes = [
        sorted(tuple(sorted(part)) for part in partition if len(part) >= options.members)
        for partition in networkx.community.louvain_partitions(
            graph, weight="weight", resolution=options.resolution, seed=SEED
        )
    ]
    distinct = [level for number, level in enumerate(passes) if level and level not in passes[:number]]
    return distinct[:1] + distinct[1:][-(options.levels - 1) :] if options.levels > 1 else distinct[-1:]


def _parents(found: Sequence[Sequence[tuple[str, ...]]]) -> dict[tuple[int, str], str]:
    """(level, anchor of a theme) -> key of the theme above it."""
    holder = [{member: theme for theme in level for member in theme} for level in found]
    return {
        (level, theme[0]): theme_key(level + 1, holder[level + 1][theme[0]])
        for level in range(len(found) - 1)
        for theme in found[level]
        if theme[0] in holder[level + 1]
    }


def theme_key(level: int, members: Sequence[str]) -> str:
    """By its first member: of one level no two themes share one, and a theme that gains another member stays itself."""
    return content_key("community", "theme", level, members[0])


# --- one theme ----------------------------------------------------------------------------------------------------------


def _theme(
    store: Store, region: _Region, level: int, members: tuple[str, ...], parents: Mapping[tuple[int, str], str],
    writers: Writers, known: Mapping[str, Mapping[str, Any]],
) -> tuple[dict[str, Any], dict[str, list[Record]], bool]:  # fmt: skip
    """The record, the edges that lead into it, and whether they are new."""
    key = theme_key(level, members)
    chunks = _chunks_of(region, members)
    texts = store.derived.theme_texts(chunks[:CHUNKS_READ])
    material = Material(
        f"{len(members)} persons, things or places that have to do with each other",
        tuple(line for lines in texts for line in _about(lines, region, members)),
        Counter({region.entities[m]["name"]: len(region.occurs.get(m, ())) for m in members}),
    )
    edges = {"IN_SUMMARY": list(_evidence(region, key, chunks) if level == 0 else ())}
    edges["SUMMARY_OF"] = list(_children(key, level, parents, region))
    before, span = known.get(key), store.derived.theme_span(chunks)
    facts = (*(f"{name}={often}" for name, often in sorted(material.names.items())), repr(sorted(span.items())))
    digest = writers.digest(material, *members, *chunks, *facts, *(edge["_from"] for edge in edges["SUMMARY_OF"]))
    record: dict[str, Any] = {
        "_key": key,
        "kind": "theme",
        "level": level,
        "document": None,
        "members": list(members),
        "cameras": sorted({region.places[chunk][1] for chunk in chunks}),
        **span,
    }
    if is_good(before, digest):
        assert before is not None
        return record | dict(before), {}, False
    return record | told(writers.write(material), digest), edges, True


def _chunks_of(region: _Region, members: Iterable[str]) -> list[str]:
    """Chunks that name two members or more, those that name most of them first; for a theme of links only, those that name one."""
    named = Counter(chunk for member in members for chunk in region.occurs.get(member, ()))
    several = {chunk: number for chunk, number in named.items() if number > 1} or named
    return sorted(several, key=lambda chunk: (-several[chunk], chunk))


def _about(lines: Iterable[str], region: _Region, members: Iterable[str]) -> Iterator[str]:
    """Lines that name a member."""
    names = [name for member in members for name in region.names[member]]
    return (line for line in lines if any(name in line.casefold() for name in names))


def _evidence(region: _Region, key: str, chunks: Iterable[str]) -> Iterator[Record]:
    for chunk in chunks:
        start, end = f"chunks/{chunk}", f"communities/{key}"
        document, camera = region.places[chunk]
        yield {
            "_key": edge_key(start, "IN_SUMMARY", end), "_from": start, "_to": end, "document": document, "camera": camera,
        }  # fmt: skip


def _children(key: str, level: int, parents: Mapping[tuple[int, str], str], region: _Region) -> Iterator[Record]:
    """SUMMARY_OF edges from the themes below; no one document or camera is theirs."""
    for (below, anchor), parent in sorted(parents.items()):
        if below == level - 1 and parent == key:
            start, end = f"communities/{theme_key(below, (anchor,))}", f"communities/{key}"
            yield {
                "_key": edge_key(start, "SUMMARY_OF", end), "_from": start, "_to": end, "document": None, "camera": None,
            }  # fmt: skip
