"""What the graph derives from itself: likeness between clips, summaries of windows, themes. Part of Store as `store.derived`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vgraph.store import schema
from vgraph.store.run import Transaction, now_ms, one, run, run_by_vector, until_undisturbed
from vgraph.types import Record

SUMMARY_EDGES = ("IN_SUMMARY", "SUMMARY_OF")


@dataclass(frozen=True, slots=True)
class Pending:
    """A document for which a stage is still to be done; `config` is what the ledger is to remember when it is."""

    document: str
    camera: str
    config: str


class Derived:
    """Reads what the graph stages need and writes what they make, each batch whole or not at all."""

    def __init__(self, db: schema.Database, writing: threading.RLock) -> None:
        """`writing` is the lock that all writers of this process take their turn by."""
        self._db, self._writing = db, writing

    def _write(self, collections: Sequence[str], action: Callable[[schema.Database], None]) -> None:
        """One transaction, whole or not at all; run again where another writer came between."""

        def write() -> None:
            with Transaction(self._db, collections) as db:
                action(db)

        with self._writing:
            until_undisturbed(write)

    def pending(self, stage: str, config: str) -> list[Pending]:
        """Documents whose `stage` was not done under this configuration, or that have changed since; by camera and time."""
        rows = run(self._db, "derive_pending", stage=stage, config=config)
        return [Pending(row["_key"], row["camera"], row["config"]) for row in rows]

    def done(self, stage: str, pending: Iterable[Pending]) -> None:
        """Remember that a stage is done for documents."""
        entries = [_entry(stage, one) for one in pending]
        self._write(("ledger",), lambda db: _put(db, "ledger", entries))

    # --- likeness between clips -----------------------------------------------------------------------------------------

    def chunks(self, document: str) -> list[dict[str, Any]]:
        """A document's chunks in order of time: {_key, described: whether anything was said of it}."""
        return list(run(self._db, "document_chunks", document=document))

    def similar(self, keys: Sequence[str], camera: str, *, eta: float, probe: int) -> list[dict[str, Any]]:
        """The chunks most like each of these, which are all of one camera: {chunk, document, near: {chunk, document, camera, weight}[]}.

        `probe` are looked at of the same camera, and as many of the others.
        """
        binds: dict[str, Any] = {"keys": list(keys), "camera": camera, "eta": eta, "probe": probe}
        found = run_by_vector(self._db, "similar_chunks", **binds)
        return list(run(self._db, "similar_chunks_exact", **binds)) if found is None else found

    def similar_from(self, chunks: Sequence[str]) -> list[dict[str, Any]]:
        """The SIMILAR_TO that leave chunks (keys): {_from, _to, across, weight}."""
        return list(run(self._db, "similar_from", ids=[f"chunks/{key}" for key in chunks]))

    def relink(self, chunks: Sequence[str], edges: Sequence[Record], gone: Sequence[str]) -> None:
        """Put these edges in the place of all SIMILAR_TO that leave the chunks (keys), and take those `gone` (keys) away."""

        def relink(db: schema.Database) -> None:
            run(db, "remove_edges_from", ids=[f"chunks/{key}" for key in chunks], collection="SIMILAR_TO")
            if gone:
                run(db, "remove_keys", keys=list(gone), collection="SIMILAR_TO")
            _put(db, "SIMILAR_TO", edges)

        self._write(("SIMILAR_TO",), relink)

    # --- summaries ------------------------------------------------------------------------------------------------------

    def window_texts(self, document: str) -> Iterator[dict[str, Any]]:
        """A document's chunks with their lines and the names in them, streamed in order of time."""
        yield from run(self._db, "window_texts", stream=True, document=document)

    def communities(
        self, kind: str | None, document: str | None, level: int | None, limit: int
    ) -> list[dict[str, Any]]:
        """Summaries and themes, the highest level first."""
        return list(run(self._db, "list_communities", kind=kind, document=document, level=level, limit=limit))

    def communities_of(self, document: str) -> list[dict[str, Any]]:
        return list(run(self._db, "communities_of_document", document=document))

    def replace_communities(
        self, gone: Sequence[str], records: Sequence[Record], edges: Mapping[str, Sequence[Record]]
    ) -> None:
        """Write communities with the edges that lead into them; those `gone` (keys) disappear with all theirs."""
        now = now_ms()
        written = [f"communities/{record['_key']}" for record in records]
        left = [f"communities/{key}" for key in gone]

        def replace(db: schema.Database) -> None:
            for collection in SUMMARY_EDGES:
                run(db, "remove_edges_to", ids=written + left, collection=collection)
            run(db, "remove_edges_from", ids=left, collection="SUMMARY_OF")
            run(db, "remove_communities", keys=list(gone))
            _put(db, "communities", [{**record, "recorded_ms": now} for record in records])
            for collection, rows in edges.items():
                _put(db, collection, rows)

        self._write(("communities", *SUMMARY_EDGES), replace)

    def replace_top(self, document: str, edges: Sequence[Record]) -> None:
        """Put these SUMMARY_OF edges in the place of all that lead to a document."""

        def replace(db: schema.Database) -> None:
            run(db, "remove_edges_to", ids=[f"documents/{document}"], collection="SUMMARY_OF")
            _put(db, "SUMMARY_OF", edges)

        self._write(("SUMMARY_OF",), replace)

    # --- themes ---------------------------------------------------------------------------------------------------------

    def entities_of(self, document: str) -> list[str]:
        """Keys of the entities a document mentions."""
        return [str(found).partition("/")[2] for found in run(self._db, "entities_of_document", document=document)]

    def regrouped(self) -> list[str]:
        """Keys of entities whose cluster is another one than when themes were made last."""
        return list(run(self._db, "regrouped_entities"))

    def themed(self, entities: Sequence[str]) -> None:
        """Remember that the themes of regrouped entities (keys) are made."""

        def write(db: schema.Database) -> None:
            run(db, "themed_entities", keys=list(entities))

        self._write(("entities",), write)

    def neighbours_of(self, entities: Sequence[str]) -> list[str]:
        """Keys of the entities that have to do with some of these (keys): linked, named together, or one with them."""
        return list(run(self._db, "theme_neighbours", ids=_ids(entities)))

    def themes_of(self, entities: Sequence[str]) -> list[dict[str, Any]]:
        """Themes that hold any of these entities (keys)."""
        return list(run(self._db, "theme_region", entities=list(entities)))

    def theme_entities(self, keys: Sequence[str]) -> list[dict[str, Any]]:
        return list(run(self._db, "theme_entities", keys=list(keys)))

    def theme_links(self, keys: Sequence[str]) -> Iterator[dict[str, Any]]:
        yield from run(self._db, "theme_links", stream=True, ids=_ids(keys))

    def theme_mentions(self, keys: Sequence[str]) -> Iterator[dict[str, Any]]:
        yield from run(self._db, "theme_mentions", stream=True, ids=_ids(keys))

    def theme_texts(self, chunks: Sequence[str]) -> list[list[str]]:
        """The lines of chunks (keys), in order of time."""
        return list(run(self._db, "theme_texts", keys=list(chunks)))

    def theme_span(self, chunks: Sequence[str]) -> dict[str, Any]:
        """{start_ms, end_ms, known_ms} of chunks (keys) together."""
        return one(run(self._db, "theme_span", keys=list(chunks)))


def _put(db: schema.Database, collection: str, records: Sequence[Record]) -> None:
    if records:
        run(db, "write_records", records=list(records), collection=collection)


def forget_derived(db: schema.Database, document: str) -> None:
    """Within a deletion: what other documents derived from this one goes, and they are marked to derive it anew.

    A theme that rests on the document goes whole, because its summary may tell what the document showed. What the document held together
    may fall apart: all other documents that name any of its entities are to have their themes made anew.
    """
    alike = list(run(db, "documents_similar_to", document=document))
    run(db, "remove_similar_to", document=document)
    found = one(run(db, "themes_of_document", document=document))
    ids = [f"communities/{key}" for key in found["themes"]]
    for collection in SUMMARY_EDGES:
        run(db, "remove_edges_to", ids=ids, collection=collection)
    run(db, "remove_edges_from", ids=ids, collection="SUMMARY_OF")
    run(db, "remove_communities", keys=found["themes"])
    stale = [f"{key}-similar" for key in alike] + [f"{key}-themes" for key in found["documents"]]
    run(db, "remove_ledger", keys=stale)
    run(db, "forget_answers")


def _ids(keys: Sequence[str]) -> list[str]:
    return [f"entities/{key}" for key in keys]


def _entry(stage: str, pending: Pending) -> dict[str, Any]:
    return {
        "_key": f"{pending.document}-{stage}",
        "document": pending.document,
        "stage": stage,
        "config": pending.config,
        "state": "done",
    }
