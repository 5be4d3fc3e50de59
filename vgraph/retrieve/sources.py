"""All that an agent may read, in one place: evidence, chunks, speech, pictures, relations, intervals, summaries, and guarded AQL.

Everything takes filters, and nothing outside of them comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from vgraph.errors import NotFoundError, UserError
from vgraph.models import ImageEmbedder
from vgraph.retrieve.analytics import Analytics
from vgraph.retrieve.bounds import narrowed
from vgraph.retrieve.cascade import Form, RelationEvidence, RelationQuery, search_relations
from vgraph.retrieve.facts import Facts
from vgraph.retrieve.profiles import Profile, Way
from vgraph.retrieve.search import NO_AIDS, Aids, QueryVectors, evidence_chunks, retrieve
from vgraph.store import Store
from vgraph.types import Evidence, EvidenceChunk, EvidenceSummary, Filters

READABLE = frozenset(
    [
        "cameras", "documents", "chunks", "frames", "utterances", "tracks", "entities", "communities", "NEXT_CHUNK", "PART_OF",
        "RECORDED_BY", "HAS_ENTITY", "LINKS_TO", "SEEN_IN", "DEPICTS", "SIMILAR_TO", "IN_SUMMARY", "SUMMARY_OF", "SAME_AS",
        "ADJACENT_TO",
    ]
)  # fmt: skip
"""What a query that a model wrote may read: what was recorded, not what others asked, what models replied, or how it is set up."""
AQL_ROWS, AQL_SECONDS, AQL_BYTES = 100, 10.0, 64 << 20
UNFILTERED = Filters()


@dataclass(frozen=True, slots=True)
class Seen:
    """A stored picture found by what it shows: cosine `score` in the image-text space."""

    asset: str
    chunk: str
    camera: str
    at_ms: int
    offset_ms: int
    score: float


class Sources:
    """What tools read. `images` is the model of the pictures' space, None where the graph holds no embedded pictures."""

    def __init__(
        self, store: Store, vectors: Callable[[], QueryVectors], profile: Profile, images: ImageEmbedder | None = None,
        aids: Aids = NO_AIDS,
    ) -> None:  # fmt: skip
        self._store, self._vectors, self._profile, self._images, self._aids = store, vectors, profile, images, aids

    @cached_property
    def analytics(self) -> Analytics:
        return Analytics(self._store)

    @cached_property
    def facts(self) -> Facts:
        """What the graph tells of entities, places and times, without a search."""
        return Facts(self._store)

    def similarity(self, text: str, texts: Sequence[str]) -> list[float]:
        """How near in meaning each of some texts is to one, as cosine."""
        return self._vectors().similarity(text, texts)

    @cached_property
    def cameras(self) -> tuple[Mapping[str, Any], ...]:
        """{_key, label, place, tz} of every camera."""
        return tuple(self._store.camera_names())

    def camera(self, name: str) -> str:
        """The key of a camera by its label or key. Raises NotFoundError."""
        for camera in self.cameras:
            if name in (camera["_key"], camera["label"]) or name.casefold() == str(camera["label"]).casefold():
                return str(camera["_key"])
        raise NotFoundError(
            f"no camera {name!r}; there are: {', '.join(c['label'] for c in self.cameras) or 'none yet'}"
        )

    def zone(self, filters: Filters = UNFILTERED) -> str:
        """The zone of the cameras that may be looked at; UTC where they have several."""
        zones = {c["tz"] for c in self.cameras if filters.cameras is None or c["_key"] in filters.cameras}
        return zones.pop() if len(zones) == 1 else "UTC"

    # --- what was seen and said ------------------------------------------------------------------------------------------

    def search(self, question: str, filters: Filters, *, way: Way | None = None, k: int | None = None) -> Evidence:
        """Evidence for a question (see retrieve/search.py)."""
        profile = replace(self._profile, way=way or self._profile.way, k=k or self._profile.k)
        profile = replace(profile, leg_k=max(profile.leg_k, profile.k))
        return retrieve(question, self._store, self._vectors(), filters, profile, self._aids)

    def chunks(self, keys: Sequence[str], filters: Filters, *, silent: bool = False) -> tuple[EvidenceChunk, ...]:
        """Chunks by key that pass the filters, in the order of the keys; with `silent` those too of which nothing was said or written."""
        wanted = list(dict.fromkeys(key.removeprefix("chunks/") for key in keys))
        rows = self._store.read_chunks(wanted, filters) if wanted else {}
        return tuple(evidence_chunks([(key, "read", 0.0) for key in wanted], rows, filters, silent=silent))

    def during(self, filters: Filters, *, limit: int, silent: bool = False) -> tuple[EvidenceChunk, ...]:
        """Chunks of the span and cameras of the filters, in order of time."""
        return self.chunks(self._store.chunks_during(filters, limit=limit), filters, silent=silent)

    def around(self, key: str, filters: Filters, *, neighbours: int) -> tuple[EvidenceChunk, ...]:
        """A chunk and those before and after it in its recording, in order of time."""
        rows = self._store.stitch_chunks([key], filters, neighbours=neighbours)
        found = self.chunks([key, *(row["chunk"] for row in rows)], filters)
        return tuple(sorted(found, key=lambda chunk: (chunk.start_ms, chunk.id)))

    def said(self, query: str, filters: Filters, *, k: int) -> tuple[EvidenceChunk, ...]:
        """Chunks in which words of the query were said (BM25 over what was said), best first."""
        rows = self._store.finding.by_utterances(query, filters, k=k)
        return tuple(chunk for chunk in self.chunks([row["chunk"] for row in rows], filters) if speech(chunk))

    def spoken(self, filters: Filters, *, limit: int) -> tuple[EvidenceChunk, ...]:
        """Chunks in which something was said, in order of time."""
        return tuple(chunk for chunk in self.during(filters, limit=limit) if speech(chunk))

    @property
    def sees_pictures(self) -> bool:
        """Whether pictures can be found by what they show."""
        return self._images is not None and self._store.embedding("image") is not None

    def pictures(self, query: str, filters: Filters, *, k: int) -> tuple[Seen, ...]:
        """Stored pictures nearest to a text in the image-text space, best first. Raises UserError where there is no such space."""
        if self._images is None:
            raise UserError("VGRAPH_MODELS__IMAGE_EMBED: no model finds pictures by text")
        vector = self._images.embed_texts([query])[0].tolist()
        return tuple(Seen(**row) for row in self._store.finding.frames(vector, filters, k=k))

    def summaries(self, question: str, filters: Filters, *, k: int) -> tuple[EvidenceSummary, ...]:
        """Summaries nearest to a question that the filters let through, with the times and cameras they sum up."""
        found = retrieve(
            question,
            self._store,
            self._vectors(),
            filters,
            replace(self._profile, way="summaries", summaries=k, intent="none", rerank=0),
        )
        return found.summaries

    # --- the graph -------------------------------------------------------------------------------------------------------

    def relations(
        self, asked: RelationQuery, filters: Filters, *, within: Filters = UNFILTERED, form: Form = "window"
    ) -> RelationEvidence:
        """Entity graph search, from strict to relaxed; however far a level relaxes the span of `filters`, it stays `within`."""
        words = " ".join(filter(None, (asked.source, *(asked.relations or ()), asked.target)))
        return search_relations(
            self._store, asked, filters, within=within, form=form, tz=self.zone(filters),
            by_words=lambda chosen: [chunk.id for chunk in self.search(words, narrowed(within, chosen)).chunks],
        )  # fmt: skip

    def entities(self, name: str) -> list[dict[str, Any]]:
        """Entities of a name or key: {_key, type, name, canonical}."""
        return self._store.identities.find(name)

    def recorded(self, filters: Filters) -> tuple[tuple[str, int, int], ...]:
        """What was recorded: (camera, start_ms, end_ms), cut at `not_after`."""
        last = filters.not_after
        asked = filters if last is None else narrowed(filters, Filters(end_ms=last))
        return tuple(
            (row["camera"], row["start_ms"], row["end_ms"] if last is None else min(row["end_ms"], last))
            for row in self._store.coverage(asked)
        )

    # --- a query of one's own --------------------------------------------------------------------------------------------

    def aql(self, query: str, binds: Mapping[str, Any], filters: Filters) -> tuple[list[Any], tuple[str, ...]]:
        """Rows and warnings of a reading query over READABLE collections, within limits of rows, time and memory.

        A query can reach any record by ways that no filter holds (a traversal, a key), so under filters none is run: UserError.
        """
        if filters != UNFILTERED:
            raise UserError(
                "this question is asked within filters, to which a query cannot be held: use the other tools"
            )
        result = self._store.aql(
            query, binds, limit=AQL_ROWS, timeout_s=AQL_SECONDS, memory=AQL_BYTES, collections=READABLE
        )
        return result.rows, result.warnings


def speech(chunk: EvidenceChunk) -> bool:
    return any(line.modality == "speech" for line in chunk.lines)
