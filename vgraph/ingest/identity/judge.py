"""Whether two entities are one: what speaks for it and against it, each with its weight and where it can be seen.

Weights are natural logarithms of likelihood ratios and add up (Fellegi and Sunter 1969); the score is the probability they come to,
beginning from that of any two entities that met as candidates. A veto is no weight: what it forbids stays forbidden.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import exp, log
from typing import Any

from vgraph.ingest.identity.facts import Facts, Look, Profile
from vgraph.ingest.identity.names import Likeness, compared
from vgraph.ingest.identity.options import IdentityOptions
from vgraph.ingest.identity.presence import Presence, Sites, conflict

PRIOR = -3.0
"""One pair of candidates in twenty is one entity."""
MEANING = 1.25
"""As much as embeddings that are the same may add."""
CONTEXT = 3.0
"""As much as may be added by all else; a pair that this cannot help is not looked at further."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing that speaks for (weight above 0) or against two entities being one; `chunks` are where it can be seen."""

    kind: str
    weight: float
    text: str
    chunks: tuple[str, ...] = ()
    veto: bool = False

    def record(self) -> dict[str, Any]:
        speaks = "for" if self.weight > 0 else "against"
        return {
            "kind": self.kind, "speaks": speaks, "weight": round(self.weight, 3), "veto": self.veto, "text": self.text,
            "chunks": list(self.chunks),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Judgement:
    """Two entities by key, the smaller first. `method` is the kind of evidence that speaks loudest for them."""

    first: str
    second: str
    score: float
    evidence: tuple[Evidence, ...]

    @property
    def odds(self) -> float:
        return PRIOR + sum(item.weight for item in self.evidence)

    @property
    def vetoed(self) -> bool:
        return any(item.veto for item in self.evidence)

    @property
    def method(self) -> str:
        loudest = max(self.evidence, key=lambda item: (item.weight, item.kind), default=None)
        return loudest.kind if loudest and loudest.weight > 0 else "none"


@dataclass(frozen=True, slots=True)
class Court:
    """What every judgement needs beside the two entities."""

    options: IdentityOptions
    sites: Sites = field(default_factory=Sites)


def probability(weights: float) -> float:
    return round(1 / (1 + exp(-max(min(weights, 50.0), -50.0))), 4)


def promising(a: Profile, b: Profile, court: Court) -> bool:
    """Whether two vertices are alike enough for their edges to be looked at; who is heard is not yet known, and may be."""
    if a.type != b.type:
        return False
    weight = sum(item.weight for item in _of_vertices(a, b, court.options, True, ()))
    if court.options.embedding and a.vector and b.vector:
        weight += MEANING
    least = log(court.options.propose / (1 - court.options.propose))
    return PRIOR + weight + CONTEXT >= least


def judge(a: Facts, b: Facts, court: Court, more: Sequence[Evidence] = ()) -> Judgement:
    """All that is known of two entities of one type. `more` is evidence that was found on the way to them."""
    a, b = sorted((a, b), key=lambda side: side.key)
    shown = tuple(dict.fromkeys((*a.chunks[:1], *b.chunks[:1])))
    followed = a.followed or b.followed
    found = [] if followed else list(_of_vertices(a.profile, b.profile, court.options, a.heard or b.heard, shown))
    if court.options.embedding and not followed:
        found += _meaning(a, b, court.options, shown)
    found += [item for item in (*_of_edges(a, b, court), *more) if item]
    return Judgement(a.key, b.key, probability(PRIOR + sum(item.weight for item in found)), tuple(found))


def vetoes(a: Facts, b: Facts, court: Court) -> Evidence | None:
    """What forbids two entities to be one, whatever speaks for it."""
    options = court.options
    found = [_ids(a, b), _side_by_side(a, b) if options.cooccurrence else None]
    if options.veto and a.profile.type in options.one_place:
        found.append(_two_places(a, b, court.sites))
    return next((item for item in found if item and item.veto), None)


# --- what the vertices say ----------------------------------------------------------------------------------------------


def _of_vertices(
    a: Profile, b: Profile, options: IdentityOptions, heard: bool, chunks: tuple[str, ...]
) -> Iterator[Evidence]:
    likeness = _names(a, b, options, heard) if options.names else None
    if likeness:
        yield Evidence(likeness.kind, likeness.weight, likeness.how, chunks)
    if a.words and b.words:
        yield from _descriptions(a, b, likeness is not None, chunks)


def _names(a: Profile, b: Profile, options: IdentityOptions, heard: bool) -> Likeness | None:
    """The best that any two of their names come to."""
    pairs = ((one, other) for one in a.names for other in b.names)
    found = [like for one, other in pairs if (like := compared(one, other, options.phonetic, heard))]
    return max(found, key=lambda like: (like.weight, like.how), default=None)


def _descriptions(a: Profile, b: Profile, named: bool, chunks: tuple[str, ...]) -> Iterator[Evidence]:
    """Descriptions count for more where one of the two has no name."""
    shared = a.words & b.words
    share = len(shared) / min(len(a.words), len(b.words))
    said = ", ".join(sorted(shared))
    if share == 1 and len(shared) > 1:
        yield Evidence("description", 1.5 if named else 3.5, f"both are described by {said}", chunks)
    elif share >= 0.5:
        yield Evidence("description", 0.75, f"both are described by {said}", chunks)
    elif not shared and named:
        yield Evidence("description", -1.0, "their descriptions have nothing in common", chunks)


def _meaning(a: Facts, b: Facts, options: IdentityOptions, chunks: tuple[str, ...]) -> Iterator[Evidence]:
    if a.embedding is None or b.embedding is None:
        return
    cosine = round(float(a.embedding @ b.embedding), 4)
    if cosine >= options.near_min:
        weight = 0.5 + (MEANING - 0.5) * (cosine - options.near_min) / max(1 - options.near_min, 1e-6)
        yield Evidence("embedding", weight, f"cosine of their embeddings {cosine:.2f}", chunks)


# --- what the edges say -------------------------------------------------------------------------------------------------


def _of_edges(a: Facts, b: Facts, court: Court) -> Iterator[Evidence | None]:
    options = court.options
    yield _ids(a, b)
    if options.cooccurrence:
        yield _side_by_side(a, b)
        yield _partners(a, b)
        yield _same_moment(a, b, court.sites)
    if options.veto and a.profile.type in options.one_place:
        yield _two_places(a, b, court.sites)
    if options.appearance:
        yield appearance(a.looks, b.looks, options)
    if options.travel and a.followed and b.followed:
        yield _way(a, b, court.sites)


def _ids(a: Facts, b: Facts) -> Evidence | None:
    """Ids given by sources are trusted; the id of a track is only that of a track."""
    if a.profile.given_id and b.profile.given_id and not (a.followed or b.followed):
        return Evidence("id", -9.0, "their sources give them different ids", (), veto=True)
    return None


def _side_by_side(a: Facts, b: Facts) -> Evidence | None:
    """One caption that names both takes them for two; that it does so once may be a slip."""
    both = sorted(a.captions.keys() & b.captions.keys(), key=lambda caption: caption[1:])
    if not both:
        return None
    chunks = tuple(dict.fromkeys(a.captions[caption] for caption in both))
    return Evidence("caption", -4.0, f"{len(both)} captions name both", chunks[:3], veto=len(both) > 1)


def _partners(a: Facts, b: Facts) -> Evidence | None:
    shared = {pair for pair in a.partners & b.partners if pair[1] not in (a.key, b.key)}
    if not shared:
        return None
    weight = 0.5 * min(len(shared), 3)
    return Evidence(
        "co-occurrence", weight, f"{len(shared)} relations to the same partners", (*a.chunks[:1], *b.chunks[:1])
    )


def _same_moment(a: Facts, b: Facts, sites: Sites) -> Evidence | None:
    """Seen at the same time by two cameras whose views overlap."""
    for one in a.presences:
        for other in b.presences:
            if other.start_ms >= one.end_ms:
                break
            if one.camera != other.camera and sites.way(one.camera, other.camera).overlapping and _half(one, other):
                text = f"before {one.camera} and {other.camera}, whose views overlap, at the same time"
                return Evidence("co-occurrence", 0.75, text, (one.chunk, other.chunk))
    return None


def _half(a: Presence, b: Presence) -> bool:
    shared = min(a.end_ms, b.end_ms) - max(a.start_ms, b.start_ms)
    return shared * 2 >= min(a.end_ms - a.start_ms, b.end_ms - b.start_ms) > 0


def _two_places(a: Facts, b: Facts, sites: Sites) -> Evidence | None:
    found = conflict(a.presences, b.presences, sites)
    if found is None:
        return None
    chunks = (found.first.chunk, found.second.chunk)
    return Evidence("two places", -9.0 if found.hard else -4.0, f"one of them {found}", chunks, veto=found.hard)


def appearance(ours: Sequence[Look], theirs: Sequence[Look], options: IdentityOptions) -> Evidence | None:
    """Alike if the least cosine between their recent references is above one threshold and the greatest above a higher one (GEB)."""
    if not ours or not theirs:
        return None
    cosines = [float(a.vector @ b.vector) for a in ours[: options.recent] for b in theirs[: options.recent]]
    least, most = min(cosines), max(cosines)
    text = f"cosines of their pictures {least:.2f} to {most:.2f}"
    if least > options.appearance_min and most > options.appearance_max:
        return Evidence("appearance", 4.0 + 4.0 * (least - options.appearance_min) / (1 - options.appearance_min), text)
    return Evidence("appearance", -4.0 if most <= options.appearance_max else -2.0, text)


def _way(a: Facts, b: Facts, sites: Sites) -> Evidence | None:
    """Two tracks one after the other, on cameras between which somebody takes about that long."""
    if not a.presences or not b.presences:
        return None
    before, after = sorted((a, b), key=lambda side: side.presences[0].start_ms)
    last, first = before.presences[-1], after.presences[0]
    if last.camera == first.camera or not sites.known(last.camera, first.camera):
        return None
    way, slack = sites.way(last.camera, first.camera), sites.slack(last.camera, first.camera)
    gap = first.start_ms - last.end_ms
    text = f"{gap / 1000:.1f} s from {last.camera} to {first.camera}"
    if way.max_ms is not None and gap > way.max_ms + slack:
        return Evidence("travel", -1.5, text, (last.chunk, first.chunk))
    return Evidence("travel", 1.5, text, (last.chunk, first.chunk)) if gap + slack >= way.min_ms else None
