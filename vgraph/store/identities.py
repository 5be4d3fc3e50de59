"""Which entities are one: reads what they are compared by, writes what was found and decided. Part of Store as `store.identities`."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from vgraph.errors import StoreError
from vgraph.store import schema
from vgraph.store.run import Transaction, now_ms, one, run, run_by_vector, until_undisturbed
from vgraph.store.translate import translated
from vgraph.types import Record

TAKEN = 1210
"""The database's error for a key or number that is there already."""
EDGES = ("HAS_ENTITY", "DEPICTS", "LINKS_TO")
"""What a split moves from one entity to another."""


class Identities:
    """The identities' part of a Store. `writing` is the lock that all writers of this process take their turn by."""

    def __init__(self, db: schema.Database, writing: threading.RLock) -> None:
        self._db, self._writing = db, writing

    # --- what is to be resolved -----------------------------------------------------------------------------------------

    def touched(self, config: str) -> list[str]:
        """Keys of entities that changed since they were resolved under this configuration, in order."""
        return sorted(run(self._db, "identity_touched", stream=True, config=config))

    def profiles(self, keys: Sequence[str]) -> list[dict[str, Any]]:
        """Entities by key, without their vectors: rows of identity_profiles.aql."""
        return list(run(self._db, "identity_profiles", keys=list(keys)))

    def clusters(self, keys: Sequence[str]) -> list[dict[str, Any]]:
        """Which cluster entities (keys) are in by now: {_key, canonical, called, resolved}."""
        return list(run(self._db, "identity_clusters", keys=list(keys)))

    def facts(self, keys: Sequence[str], *, most: int, recent: int) -> list[dict[str, Any]]:
        """Entities by key with at most so many of their mentions and relations, and the looks of their last tracks."""
        return list(run(self._db, "identity_facts", ids=_ids(keys), most=most, recent=recent))

    def sites(self) -> dict[str, Any]:
        """How cameras lie: {cameras: {camera, uncertainty_ms}[], ways: {a, b, min_ms, max_ms, overlapping}[]}."""
        return one(run(self._db, "list_sites"))

    # --- candidates -----------------------------------------------------------------------------------------------------

    def blocks(self, name_keys: Sequence[str], most: int) -> dict[str, list[str]]:
        """Who shares each name key (entity keys, in order), of those that several share; nobody where more than `most` do."""
        rows = run(self._db, "identity_blocks", name_keys=list(name_keys), most=most + 1)
        return {row["name_key"]: row["members"] or [] for row in rows}

    def near(self, keys: Sequence[str], kind: str, *, least: float, probe: int, lists: int) -> list[list[str]]:
        """Pairs of keys: an entity of a type with those of the `probe` nearest, as far as the index finds them in so many of its lists,
        whose cosine is at least `least`; the nearest first.
        """
        binds: dict[str, Any] = {"keys": list(keys), "type": kind, "least": least, "probe": probe}
        found = run_by_vector(self._db, "identity_near", lists=lists, **binds)
        return list(run(self._db, "identity_near_exact", **binds)) if found is None else found

    def count(self) -> int:
        """How many entities there are."""
        with translated("count entities", "entities"):
            return int(self._db.collection("entities").count())

    def vectors(self, kind: str, *, keyed: bool) -> Iterator[tuple[str, list[float]]]:
        """Entities of a type with their embeddings, in no order; `keyed`: those with name keys, whom more than a detector knows."""
        yield from run(self._db, "identity_vectors", stream=True, type=kind, keyed=keyed)

    def together(self, keys: Sequence[str]) -> list[dict[str, Any]]:
        """Followed and named entities of one type in the same chunks: {followed, named, type}."""
        return list(run(self._db, "identity_together", ids=_ids(keys)))

    def captions(self, documents: Sequence[str]) -> list[list[Any]]:
        """When captions of documents (keys) name anybody or anything: [document, start_ms, end_ms]."""
        return list(run(self._db, "identity_captions", documents=list(documents)))

    def tracks(self, keys: Sequence[str]) -> list[dict[str, Any]]:
        """Tracks with an embedding of entities: {entity, camera, class, start_ms, end_ms}."""
        return list(run(self._db, "identity_tracks", ids=_ids(keys)))

    def shown(self, document: str) -> list[dict[str, str]]:
        """The tracks of a document with the entity that each shows: {track: its id within the document, entity}."""
        return list(run(self._db, "identity_shown", document=document))

    def passing(self, spans: Sequence[Mapping[str, Any]], most: int) -> list[list[str]]:
        """Pairs of keys: an entity with those of at most `most` tracks in a span of identity_passing.aql."""
        return list(run(self._db, "identity_passing", spans=[dict(span) for span in spans], most=most))

    # --- what was found -------------------------------------------------------------------------------------------------

    def edges(self, keys: Sequence[str]) -> list[dict[str, Any]]:
        """SAME_AS edges of entities (keys)."""
        return list(run(self._db, "identity_edges", ids=_ids(keys)))

    def family(self, canonicals: Iterable[str]) -> dict[str, str]:
        """Entities with one of these representatives: key -> representative."""
        return {row["_key"]: row["canonical"] for row in run(self._db, "identity_family", canonicals=list(canonicals))}

    def write(self, *, edges: Sequence[Record] = (), gone: Sequence[str] = (), entities: Sequence[Record] = ()) -> None:
        """Put edges, take those `gone` (keys) away, and change attributes of entities, whole or not at all."""

        def write() -> None:
            with Transaction(self._db, ("SAME_AS", "entities")) as db:
                if gone:
                    run(db, "remove_identity_edges", keys=list(gone))
                if edges:
                    run(db, "write_identities", records=list(edges), now=now_ms())
                if entities:
                    run(db, "update_entities", records=list(entities))

        with self._writing:
            until_undisturbed(write)

    # --- decisions ------------------------------------------------------------------------------------------------------

    def decisions(self) -> list[dict[str, Any]]:
        """The log, in order."""
        return list(run(self._db, "list_decisions"))

    def decide(self, record: Record, touched: Sequence[str]) -> bool:
        """Enter a decision and have these entities (keys) resolved again; False where its number was taken meanwhile."""

        def write() -> None:
            with Transaction(self._db, ("decisions", "entities")) as db:
                run(db, "write_decision", record=dict(record))
                run(db, "touch_entities", keys=list(touched))

        try:
            with self._writing:
                until_undisturbed(write)
        except StoreError as error:
            if error.number == TAKEN:
                return False
            raise
        return True

    def selected(
        self, key: str, *, documents: Sequence[str], chunks: Sequence[str], tracks: Sequence[str]
    ) -> tuple[int, int]:
        """How many mentions of an entity (key) lie in documents, chunks and tracks (keys), and how many do not."""
        binds: dict[str, Any] = _selection({"documents": documents, "chunks": chunks, "tracks": tracks})
        found = one(run(self._db, "count_selected", source=f"entities/{key}", **binds))
        return found["taken"], found["left"]

    def split(self, source: str, products: Sequence[tuple[str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
        """Take all products' mentions, tracks and relations home to `source` (keys), then give each what it selects, in order.

        A product is (key, {documents, chunks, tracks: keys; active: bool; name: str | None}). What they have now become is returned:
        rows of entity_uses.aql, of `source` first.
        """

        def write() -> list[dict[str, Any]]:
            with Transaction(self._db, (*EDGES, "entities", "SAME_AS")) as db:
                for key, _ in reversed(products):
                    _move(db, key, source, None)
                for key, chosen in products:
                    if chosen["active"]:
                        run(db, "copy_entity", source=source, target=key)
                        _move(db, source, key, chosen)
                return _settled(db, source, products)

        with self._writing:
            return until_undisturbed(write)

    def write_looks(self, records: Sequence[Record]) -> None:
        """How tracks look: {_key, embedding}. Whom they show is to be resolved again."""
        keys = [record["_key"] for record in records]

        def write() -> None:
            with Transaction(self._db, ("tracks", "entities")) as db:
                run(db, "write_embeddings", records=[dict(record) for record in records], collection="tracks")
                run(db, "touch_entities", keys=list(run(db, "entities_of_tracks", ids=_ids(keys, "tracks"))))

        with self._writing:
            until_undisturbed(write)

    # --- looking --------------------------------------------------------------------------------------------------------

    def edge(self, key: str) -> dict[str, Any] | None:
        """A SAME_AS edge by key."""
        return next(iter(run(self._db, "read_identity", key=key)), None)

    def find(self, named: str) -> list[dict[str, Any]]:
        """Entities of a key or a name: {_key, type, name, canonical, doubt}."""
        return list(run(self._db, "find_entities", named=named))

    def listed(self, kind: str | None, words: str | None, limit: int) -> list[dict[str, Any]]:
        """Entities, those that are one as one, most often mentioned first."""
        return list(run(self._db, "list_entities", type=kind, words=words.lower() if words else None, limit=limit))

    def proposals(self, status: str, limit: int) -> list[dict[str, Any]]:
        """SAME_AS edges of a status with both ends, the likeliest first."""
        return list(run(self._db, "list_proposals", status=status, limit=limit))

    def doubts(self, status: str, limit: int) -> list[dict[str, Any]]:
        """Entities that may be two: {_key, name, type, doubt}."""
        return list(run(self._db, "list_doubts", status=status, limit=limit))

    # --- cameras --------------------------------------------------------------------------------------------------------

    def adjoin(self, edges: Sequence[Record]) -> None:
        """Say how cameras lie to one another: ADJACENT_TO edges, each in the place of the one of its key."""
        with self._writing:
            until_undisturbed(lambda: run(self._db, "write_records", records=list(edges), collection="ADJACENT_TO"))

    def part(self, keys: Sequence[str]) -> None:
        """Forget how cameras lie to one another: ADJACENT_TO edges by key."""
        with self._writing:
            until_undisturbed(lambda: run(self._db, "remove_adjacent", keys=list(keys)))


def _ids(keys: Iterable[str], collection: str = "entities") -> list[str]:
    return [f"{collection}/{key}" for key in keys]


def _move(db: schema.Database, source: str, target: str, chosen: Mapping[str, Any] | None) -> None:
    """Mentions first, then tracks, then the relations told where the mentions went; all of them without a choice."""
    ends: dict[str, Any] = {"source": f"entities/{source}", "target": f"entities/{target}", "all": chosen is None}
    which = _selection(chosen or {"documents": (), "chunks": (), "tracks": ()})
    run(db, "move_mentions", **ends, **which)
    run(db, "move_tracks", **ends, **which)
    run(db, "move_links", **ends)


def _selection(chosen: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "documents": list(chosen["documents"]),
        "chunks": _ids(chosen["chunks"], "chunks"),
        "tracks": _ids(chosen["tracks"], "tracks"),
    }


def _settled(
    db: schema.Database, source: str, products: Sequence[tuple[str, Mapping[str, Any]]]
) -> list[dict[str, Any]]:
    """Names and times of what was split, from what is left to each; a product that has nothing goes."""
    names = {key: chosen["name"] for key, chosen in products if chosen["name"]}
    there = [row["_key"] for row in run(db, "identity_profiles", keys=[source, *(key for key, _ in products)])]
    uses: list[dict[str, Any]] = list(run(db, "entity_uses", entities=_ids(there)))
    gone = [use["_key"] for use in uses if not use["uses"] and use["_key"] != source]
    kept = [{**use, "name": names.get(use["_key"], use["name"]), "regrouped": True} for use in uses if use["uses"]]
    run(db, "remove_identities", entities=_ids(gone))
    run(db, "remove_entities", keys=gone)
    run(db, "update_entities", records=[{k: v for k, v in use.items() if k not in ("uses", "renamed")} for use in kept])
    return kept
