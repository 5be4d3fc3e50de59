"""What is taken out of the graph: a document with all that hangs on it, its graph part alone, or what is older than a moment.

Entities that others mention stay, with what is left of their times, cameras, names and descriptions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vgraph.errors import NotFoundError
from vgraph.store import schema
from vgraph.store.derived import forget_derived
from vgraph.store.run import KEY, Transaction, run, until_undisturbed
from vgraph.types import Record

OF_CHUNKS = (
    "chunks", "NEXT_CHUNK", "PART_OF", "HAS_ENTITY", "LINKS_TO", "SEEN_IN", "DEPICTS", "SIMILAR_TO", "IN_SUMMARY", "SUMMARY_OF",
    "communities",
)  # fmt: skip
"""What is made of what was seen and heard, by the attribute `document`."""
SENSED = ("frames", "utterances", "tracks")
OF_A_DOCUMENT = (*OF_CHUNKS, *SENSED, "RECORDED_BY", "ledger")
WRITTEN = (*OF_A_DOCUMENT, "documents", "entities", "SAME_AS", "CITES")
SETTLE = "settle"
"""The ledger's entry that names entities to be put right when a document made anew is complete."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """What a deletion removed, by collection, and the entities (`_key type name description`) whose embedding no longer fits."""

    removed: Mapping[str, int]
    renamed: tuple[Record, ...]


class Removal:
    """The removing part of a Store; `writing` is the lock that all writers of this process take their turn by."""

    def __init__(self, db: schema.Database, writing: threading.RLock) -> None:
        self._db, self._writing = db, writing

    def document(self, key: str, also: Callable[[str], object] = lambda key: None) -> Deletion:
        """Remove a document and all that hangs on it. Raises NotFoundError where there is none.

        `also` removes what lies outside of the database. It is called last before the document is gone for good, so that an interrupted
        deletion can be run again; it is, when another writer came between.
        """
        if not KEY.fullmatch(key) or not list(run(self._db, "document_state", document=key)):
            raise NotFoundError(f"no document {key!r}; `vgraph documents` lists them")
        before = self._counts()
        with self._writing:
            renamed = until_undisturbed(lambda: self._document(key, also))
        after = self._counts()
        return Deletion({name: before[name] - after[name] for name in before if before[name] != after[name]}, renamed)

    def _document(self, key: str, also: Callable[[str], object]) -> tuple[Record, ...]:
        with Transaction(self._db, WRITTEN) as db:
            touched = [*run(db, "entities_of_document", document=key), *_unsettled(db, key)]
            forget_derived(db, key)
            run(db, "remove_citations", document=key)
            for collection in OF_A_DOCUMENT:
                run(db, "remove_of_document", document=key, collection=collection)
            run(db, "remove_document", document=key)
            renamed = _settle(db, touched)
            also(key)
        return renamed

    def camera(self, key: str) -> dict[str, int]:
        """Remove a camera without documents, and what says how far it is from others; counts removed by collection."""
        before = self._counts()
        with self._writing, Transaction(self._db, ("cameras", "ADJACENT_TO")) as db:
            run(db, "remove_edges_from", ids=[f"cameras/{key}"], collection="ADJACENT_TO")
            run(db, "remove_edges_to", ids=[f"cameras/{key}"], collection="ADJACENT_TO")
            run(db, "remove_keys", keys=[key], collection="cameras")
        after = self._counts()
        return {name: before[name] - after[name] for name in before if before[name] != after[name]}

    def graph_part(self, key: str, also: Sequence[str] = (), keep: Sequence[str] = ()) -> None:
        """Remove what was made of what is stored of a document: chunks, their edges and what was derived from them; nothing else.

        Records of the collections in `also` (frames, utterances, tracks) go too, and the ledger's word on every stage but those in `keep`.
        Entities stay until `settled` is called, so that decisions on who is who outlive it.
        """
        with self._writing:
            until_undisturbed(lambda: self._graph_part(key, also, keep))

    def _graph_part(self, key: str, also: Sequence[str], keep: Sequence[str]) -> None:
        with Transaction(self._db, WRITTEN) as db:
            touched = sorted({*run(db, "entities_of_document", document=key), *_unsettled(db, key)})
            forget_derived(db, key)
            for collection in (*OF_CHUNKS, *also):
                run(db, "remove_of_document", document=key, collection=collection)
            run(db, "remove_stages", document=key, keep=list(keep))
            run(db, "update_document", key=key, values={"state": "ingesting"})
            if touched:
                entry = {"_key": f"{key}-{SETTLE}", "kind": "stage", "document": key, "stage": SETTLE}
                facts = {"config": "", "state": "done", "chunk": None, "entities": touched}
                run(db, "write_records", records=[{**entry, **facts}], collection="ledger")

    def settled(self, key: str) -> tuple[Record, ...]:
        """Entities that a document made anew no longer mentions become what is left of them; those whose embedding no longer fits."""
        with self._writing:
            return until_undisturbed(lambda: self._settled(key))

    def _settled(self, key: str) -> tuple[Record, ...]:
        with Transaction(self._db, ("entities", "SAME_AS", "ledger")) as db:
            touched = _unsettled(db, key)
            if not touched:
                return ()
            renamed = _settle(db, touched)
            run(db, "remove_keys", keys=[f"{key}-{SETTLE}"], collection="ledger")
        return renamed

    def before(self, key: str, end_ms: int) -> tuple[Mapping[str, int], tuple[Record, ...], list[str]]:
        """Remove what a growing document holds that ended before a moment (UTC ms): (removed by collection, renamed entities, assets)."""
        with self._writing:
            return until_undisturbed(lambda: self._before(key, end_ms))

    def _before(self, key: str, end_ms: int) -> tuple[Mapping[str, int], tuple[Record, ...], list[str]]:
        with Transaction(self._db, WRITTEN) as db:
            found = list(run(db, "chunks_before", document=key, end_ms=end_ms))
            old, cuts = [row["key"] for row in found], [row["end_offset_ms"] for row in found]
            if not old:
                return {}, (), []
            chunks = [f"chunks/{chunk}" for chunk in old]
            touched = list(run(db, "entities_of_chunks", chunks=chunks))
            assets = list(run(db, "assets_of_chunks", document=key, keys=old))
            removed = {"chunks": len(old), "frames": len(assets)}
            for collection in ("HAS_ENTITY", "PART_OF", "NEXT_CHUNK", "SIMILAR_TO", "IN_SUMMARY"):
                run(db, "remove_edges_from", ids=chunks, collection=collection)
            for collection in ("NEXT_CHUNK", "SEEN_IN", "SIMILAR_TO", "CITES"):
                run(db, "remove_edges_to", ids=chunks, collection=collection)
            run(db, "remove_links_of_chunks", chunks=old)
            run(db, "remove_frames_of_chunks", chunks=old)
            run(db, "remove_keys", keys=old, collection="chunks")
            for collection in ("utterances", "tracks"):
                run(db, "remove_older", document=key, end_ms=end_ms, collection=collection)
            run(db, "remove_depictions", document=key)
            run(db, "remove_calls_of_chunks", document=key, chunks=old)
            run(db, "forget_answers")
            run(db, "update_beginning", document=key, offset_ms=max(cuts))
            renamed = _settle(db, touched)
        return removed, renamed, assets

    # --- retention ------------------------------------------------------------------------------------------------------

    def keep(self, camera: str, keep_ms: int | None) -> None:
        """How long recordings of a camera are kept; None for ever. Raises NotFoundError where there is no such camera."""
        with self._writing:
            if not list(run(self._db, "update_retention", camera=camera, keep_ms=keep_ms)):
                raise NotFoundError(f"no camera {camera!r}; `vgraph cameras` lists them")

    def kept(self) -> dict[str, int]:
        """Cameras whose recordings are kept for a time only, and that time in ms."""
        return {row["camera"]: row["keep_ms"] for row in run(self._db, "camera_retention")}

    def expired(self, camera: str, before_ms: int) -> list[dict[str, Any]]:
        """Documents of a camera that hold something from before a moment, the oldest first: {document, kind, end_ms}."""
        return list(run(self._db, "expired_documents", camera=camera, before_ms=before_ms))

    def _counts(self) -> dict[str, int]:
        return {name: int(self._db.collection(name).count()) for name in schema.collection_names()}


def _unsettled(db: schema.Database, key: str) -> list[str]:
    """Entities (_id) that an unfinished remake of a document has touched."""
    return [entity for entities in run(db, "unsettled_entities", key=f"{key}-{SETTLE}") for entity in entities]


def _settle(db: schema.Database, touched: Sequence[str]) -> tuple[Record, ...]:
    """Entities nothing mentions go, the others become what is left of them. The renamed ones are returned."""
    uses: list[dict[str, Any]] = list(run(db, "entity_uses", entities=list(dict.fromkeys(touched))))
    gone = [use["_key"] for use in uses if not use["uses"]]
    kept = [use for use in uses if use["uses"]]
    run(db, "remove_identities", entities=[f"entities/{key}" for key in gone])
    run(db, "remove_entities", keys=gone)
    run(db, "update_entities", records=[{k: v for k, v in use.items() if k not in ("uses", "renamed")} for use in kept])
    return tuple(use for use in kept if use["renamed"])
