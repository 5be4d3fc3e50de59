"""What is known of an entity when it is compared: its names, where it was and when, whom it has to do with, how it looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vgraph.ingest.identity.names import Name, parsed, telling
from vgraph.ingest.identity.presence import PRESENT, THROUGHOUT, Presence, stays
from vgraph.ingest.keys import chunk_key, entity_key
from vgraph.types import Mention

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_NAMES = 12
"""So many of an entity's names are compared; more of them are a heap, not a name."""
PLACES = frozenset({"location", "organisation", "event"})
"""Types that everybody has to do with: sharing one of them says nothing."""


Caption = tuple[str, int, int]
"""(document, start_ms, end_ms)"""


@dataclass(frozen=True, slots=True)
class Profile:
    """What an entity's own vertex says of it."""

    key: str
    type: str
    name: str
    names: tuple[Name, ...]
    words: frozenset[str]
    vector: bool
    """It has an embedding."""
    given_id: bool
    """Its key was made from an id that a source gave, and not from its name."""
    cameras: tuple[str, ...] = ()
    followed: bool = False
    """Nothing but a detector knows it: its name is none."""


@dataclass(frozen=True, slots=True)
class Look:
    """A track's embedding, normalised, with when and where it was taken."""

    camera: str
    start_ms: int
    end_ms: int
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Facts:
    """What its edges say of it. `presences` are in order of start, `looks` the last ones first; `heard`: a transcript names it."""

    profile: Profile
    embedding: NDArray[np.float32] | None
    presences: tuple[Presence, ...]
    chunks: tuple[str, ...]
    heard: bool
    captions: Mapping[Caption, str]
    """Captions that name it, with their chunks."""
    partners: frozenset[tuple[str, str]]
    looks: tuple[Look, ...]

    @property
    def key(self) -> str:
        return self.profile.key

    @property
    def followed(self) -> bool:
        return self.profile.followed


def profile(record: Mapping[str, Any]) -> Profile:
    names = tuple(dict.fromkeys((record["name"], *record["aliases"])))[:MOST_NAMES]
    parts = tuple(parsed(name) for name in names)
    return Profile(
        record["_key"],
        record["type"],
        record["name"],
        parts,
        telling([record["description"], *(part.text for part in parts if not part.proper)]),
        record["vector"],
        all(entity_key(Mention(name, record["type"])) != record["_key"] for name in names),
        tuple(record["cameras"]),
        record["followed"],
    )


def facts(record: Mapping[str, Any]) -> Facts:
    """From a row of identity_facts.aql."""
    seen = [_presence(row) for row in record["mentions"]]
    senses = {row["modality"] for row in record["mentions"]}
    return Facts(
        profile({**record, "vector": record.get("embedding") is not None, "followed": senses == {"detection"}}),
        _vector(record.get("embedding")),
        tuple(stays(p for p in seen if p.sense in PRESENT)),
        tuple(dict.fromkeys(p.chunk for p in seen)),
        "speech" in senses,
        {(p.document, p.start_ms, p.end_ms): p.chunk for p in seen if p.sense == "caption"},
        frozenset((p["relation"], p["other"]) for p in record["partners"] if p["type"] not in PLACES),
        tuple(_look(row) for row in record["looks"]),
    )


def _presence(row: Mapping[str, Any]) -> Presence:
    return Presence(
        row["camera"],
        row["document"],
        row["chunk"],
        row["start_ms"],
        row["end_ms"],
        row["modality"] in THROUGHOUT,
        row["modality"],
        row["offset_ms"] is not None and row["chunk"] == chunk_key(row["document"], row["offset_ms"]),
    )


def _vector(values: Any) -> NDArray[np.float32] | None:
    import numpy as np

    return None if values is None else np.asarray(values, np.float32)


def _look(row: Mapping[str, Any]) -> Look:
    import numpy as np

    vector = np.asarray(row["embedding"], np.float32)
    return Look(row["camera"], row["start_ms"], row["end_ms"], vector / max(float(np.linalg.norm(vector)), 1e-12))
