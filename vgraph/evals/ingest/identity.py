"""Entity resolution against the truth: who the entities of a graph truly are, and which of them were joined.

What is counted is pairs of records; a record is an entity as one recording tells of it (a name, or a track). Records of one cluster are
held to be one, records of one true person are one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vgraph.app import VGraph
from vgraph.evals.ingest.topic import Topic, Variant
from vgraph.evals.metrics import PairScores, pair_scores
from vgraph.evals.world import Noise, Picture, TrueMention, World

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ROWS = 10_000_000


@dataclass(frozen=True, slots=True)
class IdentityScores:
    """Pairs of records of people: how many of the pairs held to be one are, how many that are one are held to be.

    false_merges: the share of wrong ones among the pairs of different entities that were joined. proposed: proposals, and the share of
    right ones among them. doubted: entities proposed to be split, and the share of those that truly are several people.
    """

    records: int
    people: int
    precision: float
    recall: float
    f1: float
    false_merges: float
    tracks_named: float
    proposed: int
    proposed_right: float
    doubted: int
    doubted_right: float


@dataclass(frozen=True, slots=True)
class Record:
    """An entity as a recording tells of it, with the cluster it was put into and the id of whom it truly is."""

    entity: str
    cluster: str
    document: str
    truth: str
    followed: bool


def measure(world: World, graph: VGraph) -> IdentityScores:
    records = people_records(world, graph)
    scores = pair_scores([(record.cluster, record.truth) for record in records])
    before = pair_scores([(record.entity, record.truth) for record in records])
    right, wrong = proposals(graph, records)
    doubted = doubts(graph, records)
    return IdentityScores(
        records=len(records),
        people=len({record.truth for record in records}),
        precision=scores.precision,
        recall=scores.recall,
        f1=scores.f1,
        false_merges=_false_merges(scores, before),
        tracks_named=_tracks_named(records),
        proposed=right + wrong,
        proposed_right=right / (right + wrong) if right + wrong else 1.0,
        doubted=len(doubted),
        doubted_right=sum(doubted) / len(doubted) if doubted else 1.0,
    )


def _false_merges(scores: PairScores, before: PairScores) -> float:
    """Pairs that were one by their key already are none of the resolution's."""
    joined = scores.claimed - before.claimed
    return (joined - (scores.right - before.right)) / joined if joined else 0.0


def _tracks_named(records: Sequence[Record]) -> float:
    """The share of tracks that are in a cluster with a name."""
    tracks = [record for record in records if record.followed]
    named = {record.cluster for record in records if not record.followed}
    return sum(record.cluster in named for record in tracks) / len(tracks) if tracks else 1.0


def people_records(world: World, graph: VGraph) -> list[Record]:
    """Every person of every recording, as the graph knows them, with their true ids; what the truth does not tell apart is left out."""
    stems = {row["document"]: row["stem"] for row in graph.aql(STEMS, limit=ROWS).rows}
    truth = {document: _True(world, stem) for document, stem in stems.items()}
    found: dict[tuple[str, str], Record] = {}
    for row in graph.aql(MENTIONS, limit=ROWS).rows:
        if row["document"] in truth and (id_ := truth[row["document"]].id(row)):
            record = Record(row["entity"], row["cluster"], row["document"], id_, row["modality"] == "detection")
            found[(record.entity, f"{record.document} {record.truth}")] = record
    return list(found.values())


class _True:
    """Who is meant in one recording."""

    def __init__(self, world: World, stem: str) -> None:
        self.tracks = world.tracks(stem)
        self.people = {person.id for person in world.script.people}
        self.mentions: dict[str, list[TrueMention]] = {}
        for mention in world.mentions(stem):
            self.mentions.setdefault(mention.name, []).append(mention)

    def id(self, row: Mapping[str, Any]) -> str | None:
        if row["modality"] == "detection":
            found = self.tracks.get(row["track"])
            return found if found in self.people else None
        middle = (row["offset_ms"] + row["end_offset_ms"]) // 2
        meant = {m.id for m in self.mentions.get(row["mention"], ()) if m.offset_ms <= middle <= m.end_offset_ms}
        return meant.pop() if len(meant) == 1 else None


def proposals(graph: VGraph, records: Iterable[Record]) -> tuple[int, int]:
    """Right and wrong ones among the proposed pairs of people; right if most records of both are of one person."""
    truth = _majority(records)
    right = wrong = 0
    for row in graph.aql(PROPOSED, limit=ROWS).rows:
        first, second = truth.get(row["first"]), truth.get(row["second"])
        if first and second:
            right, wrong = right + (first == second), wrong + (first != second)
    return right, wrong


def doubts(graph: VGraph, records: Sequence[Record]) -> list[bool]:
    """For every entity proposed to be split: whether it is several people."""
    people: dict[str, set[str]] = {}
    for record in records:
        people.setdefault(record.entity, set()).add(record.truth)
    return [len(people.get(row, ())) > 1 for row in graph.aql(DOUBTED, limit=ROWS).rows]


def _majority(records: Iterable[Record]) -> dict[str, str]:
    counts: dict[str, Counter[str]] = {}
    for record in records:
        counts.setdefault(record.entity, Counter())[record.truth] += 1
    return {entity: min(found, key=lambda id_: (-found[id_], id_)) for entity, found in counts.items()}


STEMS = """
FOR d IN documents
  RETURN { document: d._key, stem: FIRST(SPLIT(LAST(SPLIT(d.uri, "/")), ".mp4")) }
"""
MENTIONS = """
WITH entities, tracks
FOR m IN HAS_ENTITY
  LET e = DOCUMENT(m._to)
  FILTER e.type == "person" AND m.modality IN ["caption", "speech", "detection"]
  LET track = m.modality != "detection" ? null : FIRST(
    FOR t, d IN 1..1 INBOUND e DEPICTS
      FILTER t.document == m.document
      RETURN t.track
  )
  SORT m._key
  RETURN {
    entity: e._key, cluster: e.canonical != null ? e.canonical : e._key, document: m.document, modality: m.modality,
    mention: m.mention, offset_ms: m.offset_ms, end_offset_ms: m.end_offset_ms, track
  }
"""
PROPOSED = """
FOR s IN SAME_AS
  FILTER s.status == "proposed"
  RETURN { first: PARSE_IDENTIFIER(s._from).key, second: PARSE_IDENTIFIER(s._to).key }
"""
TRACKS = """
FOR t IN tracks
  FILTER t.class == "person"
  SORT t._key
  RETURN { _key: t._key, document: t.document, track: t.track }
"""
DOUBTED = """
FOR e IN entities
  FILTER e.doubt.status == "proposed" AND e.type == "person"
  SORT e._key
  RETURN e._key
"""


def tell_site(world: World, graph: VGraph) -> None:
    """What the operator of a site knows: which views overlap, and about how long one walks from one to another.

    The truth tells the way between the places where people stand; from the edge of one view to that of the next it is shorter.
    """
    found = graph.identities()
    for way in world.truth()["travel"]:
        cameras = graph.camera_key(way["from"]), graph.camera_key(way["to"])
        walk = way["min_ms"]
        if walk == 0:
            found.adjoin(*cameras, overlapping=True)
        else:
            found.adjoin(*cameras, min_ms=walk * 2 // 5, max_ms=walk * 3 + 15_000)


LOOK, NOISE = 32, 0.45
"""Length of the embeddings of tracks, and how far from each other two of one person lie: their cosine is about 0.8."""


def tell_looks(world: World, graph: VGraph) -> None:
    """Embeddings of tracks as a re-identification model would give them: near to each other for one person, with chance in them."""
    stems = {row["document"]: row["stem"] for row in graph.aql(STEMS, limit=ROWS).rows}
    truth = {document: world.tracks(stem) for document, stem in stems.items()}
    looks = []
    for row in graph.aql(TRACKS, limit=ROWS).rows:
        own = _unit(f"{world.script.seed} {truth[row['document']][row['track']]}")
        looks.append((row["_key"], _normal(own + NOISE * _unit(f"{world.script.seed} track {row['_key']}")).tolist()))
    graph.identities().look(looks)


def _unit(purpose: str) -> NDArray[np.float64]:
    import numpy as np

    return _normal(np.random.default_rng(list(purpose.encode())).normal(size=LOOK))


def _normal(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    unit: NDArray[np.float64] = vector / np.linalg.norm(vector)
    return unit


def tell_all(world: World, graph: VGraph) -> None:
    tell_site(world, graph)
    tell_looks(world, graph)


def _without(name: str, *switches: str) -> Variant:
    return Variant(f"without {name}", {"identity": dict.fromkeys(switches, False)})


TOPIC = Topic(
    name="identity",
    title="Entity resolution (people)",
    measure=measure,
    variants=(
        Variant("all"),
        _without("names", "names"),
        _without("phonetic", "phonetic"),
        _without("embedding", "embedding"),
        _without("co-occurrence", "cooccurrence"),
        _without("appearance", "appearance"),
        _without("travel", "travel"),
        _without("the veto", "veto"),
        _without("resolution", "names", "embedding", "cooccurrence", "appearance"),
    ),
    noise=Noise(nicknamed=0.15, misspelt=0.08, misheard=0.3, namesakes=1),
    minutes=6.0,
    picture=Picture(320, 180, 5),
    stage="derive",
    prepare=tell_all,
)
