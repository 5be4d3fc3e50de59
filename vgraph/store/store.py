"""Everything vgraph asks of its graph: each method runs one query of `arango/queries`, or one transaction of them."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Any

from vgraph.errors import ModelMismatch, UserError
from vgraph.store import schema
from vgraph.store.analytics import Analytics
from vgraph.store.audit import Audit
from vgraph.store.clocks import Clocks
from vgraph.store.connect import Connection
from vgraph.store.derived import Derived
from vgraph.store.finding import Finding
from vgraph.store.guard import read_by
from vgraph.store.identities import Identities
from vgraph.store.ledgers import Ledgers
from vgraph.store.removal import Removal
from vgraph.store.run import KEY, Transaction, are_few, filter_binds, one, run, run_by_vector, until_undisturbed
from vgraph.store.runs import Runs
from vgraph.store.telling import Telling
from vgraph.store.translate import translated
from vgraph.types import Filters, GraphDelta, Hit, Record

TERMS = ("tags", "entity_types", "relation_types", "speakers")
"""Filters whose values are words of the graph."""
TEXT_EMBEDDED = ("chunks", "entities", "communities")
UNTIMED = (
    "_id",
    "_rev",
    "recorded_ms",
    "history",
    "regrouped",
    "seconds",
    "attempts",
    "input_tokens",
    "output_tokens",
    "money",
    "spent",
)
"""What is not exported: revisions, times of writing, and what it cost to get there."""


@dataclass(frozen=True, slots=True)
class EmbeddingSpace:
    """Which model made the vectors of a space (`text` or `image`), their length, and the setting that chooses this model."""

    model: str
    dimension: int
    spec: str


@dataclass(frozen=True, slots=True)
class Holding:
    """A document that is being made, its configuration, and the timeline (its fingerprint) that its records are timed by; None: any."""

    document: str
    config: str
    timed: str | None = None


@dataclass(frozen=True, slots=True)
class QueryResult:
    rows: list[Any]
    count: int
    warnings: tuple[str, ...]
    seconds: float


class Store:
    """The graph in one database. Open it with `Store.open(connect(url, name))`; it makes its own schema."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._db: schema.Database = connection.database
        self._writing = threading.RLock()
        """The writers of this process take turns, so that videos ingested at once do not collide in the database."""

    @classmethod
    def open(cls, connection: Connection, language: str = "en", *also: str) -> Store:
        """The graph of a database, its text stemmed in a language and in those `also` spoken (ISO 639-1)."""
        store = cls(connection)
        store._prepare(tuple(dict.fromkeys((language, *also))))
        return store

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @cached_property
    def identities(self) -> Identities:
        """Which entities are one, and what was decided of it."""
        return Identities(self._db, self._writing)

    @cached_property
    def analytics(self) -> Analytics:
        """Who was where, when, with whom and for how long."""
        return Analytics(self._db)

    @cached_property
    def telling(self) -> Telling:
        """What is told by entities and clips, without a search."""
        return Telling(self._db)

    @cached_property
    def finding(self) -> Finding:
        """The ways into the graph beside the hybrid search over chunks."""
        return Finding(self._db)

    @cached_property
    def derived(self) -> Derived:
        """What the graph derives from itself."""
        return Derived(self._db, self._writing)

    @cached_property
    def clocks(self) -> Clocks:
        """Cameras' clocks, the times that hang on them, and what was recorded when."""
        return Clocks(self._db, self._writing)

    @cached_property
    def ledgers(self) -> Ledgers:
        """How far ingests have come, and what models have answered."""
        return Ledgers(self._db, self._writing)

    @cached_property
    def runs(self) -> Runs:
        """Questions that were asked, and how they were answered."""
        return Runs(self._db, self._writing)

    @cached_property
    def removal(self) -> Removal:
        """Taking out of the graph."""
        return Removal(self._db, self._writing)

    @cached_property
    def audit(self) -> Audit:
        """What should not be in the graph."""
        return Audit(self._db, self._writing)

    # --- schema and models ----------------------------------------------------------------------------------------------

    def _prepare(self, languages: tuple[str, ...]) -> None:
        language, *also = languages
        if len(languages) > schema.LANGUAGES:
            raise UserError(
                f"VGRAPH_INGEST__LANGUAGES: text is stemmed in {schema.LANGUAGES} languages at most, not in {len(languages)}"
            )
        stored = self.meta("schema")
        if stored is not None:
            _check_languages(stored, language, also)
        if stored is None or stored["version"] != schema.SCHEMA_VERSION:
            schema.ensure_schema(self._db, languages)
            if stored is not None:
                self._tell_senses()
            self._put_meta("schema", {"version": schema.SCHEMA_VERSION, "language": language, "languages": also})

    def _tell_senses(self) -> None:
        """Add what filters ask for to a graph of an earlier schema; what has it is passed over."""
        for document in self.documents():
            for name in ("tell_senses", "tell_mentions", "tell_links", "tell_frames"):
                run(self._db, name, document=document["_key"])

    def meta(self, key: str) -> dict[str, Any] | None:
        """A fact the database keeps about itself (`schema`, `embedding_text`, `embedding_image`)."""
        with translated("read the schema", schema.META):
            if not self._db.has_collection(schema.META):
                return None
            found: dict[str, Any] | None = self._db.collection(schema.META).get(key)
            return found

    def _put_meta(self, key: str, value: Mapping[str, Any]) -> None:
        with translated("write the schema", schema.META):
            self._db.collection(schema.META).insert({"_key": key, **value}, overwrite=True, silent=True)

    def version(self) -> str:
        with translated("read the version"):
            return str(self._db.version())

    def embedding(self, space: str) -> EmbeddingSpace | None:
        found = self.meta(f"embedding_{space}")
        return EmbeddingSpace(found["model"], found["dimension"], found["spec"]) if found else None

    def claim_embedding(self, space: str, model: str, dimension: int, spec: str = "") -> None:
        """Record which model fills a space; another one raises ModelMismatch, because distances between them mean nothing.

        `spec` is the setting that chooses the model.
        """
        known = self.meta(f"embedding_{space}")
        if known is None:
            facts = {"model": model, "dimension": dimension, "spec": spec or model, "complete": True}
            self._put_meta(f"embedding_{space}", facts)
        elif not known["complete"]:
            raise ModelMismatch(
                f"embedding again with {known['model']} was interrupted: run `vgraph db reembed` to finish it"
            )
        elif (known["model"], known["dimension"]) != (model, dimension):
            raise ModelMismatch(
                f"the {space} embeddings in this database come from {known['model']} ({known['dimension']} dimensions), "
                f"but the settings choose {model} ({dimension}): set VGRAPH_MODELS__EMBED={known['spec']}, "
                "or embed everything again with `vgraph db reembed`"
            )

    def begin_reembedding(self, model: str, dimension: int, spec: str = "") -> None:
        """Forget the text embeddings: until `end_reembedding` nothing else may be written or searched by vector."""
        facts = {"model": model, "dimension": dimension, "spec": spec or model, "complete": False}
        self._put_meta("embedding_text", facts)
        for collection in TEXT_EMBEDDED:
            schema.drop_vector_index(self._db, collection)

    def texts(self, collection: str, size: int = 256) -> Iterator[list[dict[str, Any]]]:
        """Pages of records with what is embedded of them."""
        after = ""
        while page := list(run(self._db, "read_texts", collection=collection, after=after, limit=size)):
            yield page
            after = page[-1]["_key"]

    def write_embeddings(self, collection: str, records: Sequence[Record]) -> None:
        run(self._db, "write_embeddings", records=[dict(record) for record in records], collection=collection)

    def entities_to_embed(self, document: str) -> list[dict[str, Any]]:
        """Entities that a document mentions: {_key, type, name, description, embedded: hash of the text their embedding is of}."""
        return list(run(self._db, "entities_to_embed", document=document))

    def write_entity_embeddings(self, records: Sequence[Record]) -> None:
        """Embeddings of entities; one that was renamed meanwhile is left to whoever renamed it."""
        with self._writing:
            run(self._db, "write_entity_embeddings", records=[dict(record) for record in records])

    def end_reembedding(self) -> None:
        known = self.meta("embedding_text") or {}
        facts = {name: value for name, value in known.items() if not name.startswith("_")}
        self._put_meta("embedding_text", {**facts, "complete": True})
        self.ensure_vector_indexes()

    def ensure_vector_indexes(self) -> tuple[str, ...]:
        """Build the vector indexes that the corpus now allows or has outgrown; the collections they were built on."""
        built = []
        for collection in schema.vector_collections():
            space = self.embedding("image" if collection == "frames" else "text")
            if space and schema.ensure_vector_index(self._db, collection, space.dimension):
                built.append(collection)
        return tuple(built)

    # --- writing --------------------------------------------------------------------------------------------------------

    def apply(self, delta: GraphDelta, *, holding: Holding | None = None) -> None:
        """Write a delta whole or not at all. The same delta again changes nothing; a lost race with another writer is run again.

        Where the document of `holding` was removed, made anew or moved in time meanwhile, nothing is written and UserError is raised.
        """
        with self._writing:
            until_undisturbed(lambda: self._apply(delta, holding))

    def _apply(self, delta: GraphDelta, holding: Holding | None) -> None:
        records = {**delta.vertices, **delta.edges}
        with self._transaction(("documents", *(name for name in records if name != "documents"))) as db:
            if holding:
                _hold(db, holding)
            for collection, rows in records.items():
                if rows:
                    _write(db, collection, rows)

    def _transaction(self, write: Sequence[str]) -> Transaction:
        return Transaction(self._db, write)

    def tag(self, document: str, add: Sequence[str], remove: Sequence[str] = ()) -> list[str]:
        """Add and take away tags of a document (key); its tags now. None of a document that is not there."""
        rows = run(self._db, "tag_document", key=document, add=list(add), remove=list(remove))
        return next(iter(rows), [])

    # --- reading --------------------------------------------------------------------------------------------------------

    def document(self, key: str) -> dict[str, Any] | None:
        if not KEY.fullmatch(key):  # the driver would take it for something other than a key
            return None
        with translated("read a document", "documents"):
            found: dict[str, Any] | None = self._db.collection("documents").get(key)
            return found

    def camera(self, key: str) -> dict[str, Any] | None:
        with translated("read a camera", "cameras"):
            found: dict[str, Any] | None = self._db.collection("cameras").get(key)
            return found

    def documents(self) -> list[dict[str, Any]]:
        return list(run(self._db, "list_documents"))

    def cameras(self) -> list[dict[str, Any]]:
        return list(run(self._db, "list_cameras"))

    def camera_names(self) -> list[dict[str, Any]]:
        """Every camera as questions speak of it: {_key, label, place, tz}."""
        return list(run(self._db, "name_cameras"))

    def last_recorded(self, cameras: Sequence[str]) -> int | None:
        """When the last recording of some cameras ends."""
        (last,) = run(self._db, "last_recorded", cameras=list(cameras))
        return None if last is None else int(last)

    def utterances(self, document: str) -> list[dict[str, Any]]:
        return list(run(self._db, "read_utterances", document=document))

    def tracks(self, document: str) -> list[dict[str, Any]]:
        return list(run(self._db, "read_tracks", document=document))

    def frames(self, chunks: Sequence[str]) -> list[dict[str, Any]]:
        """Pictures kept of chunks (keys), in order of time: {offset_ms, asset, width, height, embedding}."""
        return list(run(self._db, "read_frames", chunks=list(chunks)))

    def counts(self) -> dict[str, int]:
        """Number of records in every collection."""
        with translated("count"):
            return {name: int(self._db.collection(name).count()) for name in schema.collection_names()}

    def export(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """(collection, record) in order of collection and key, without revisions and times of writing: equal graphs export equally."""
        for name in schema.collection_names():
            for record in run(self._db, "export_collection", drop=list(UNTIMED), stream=True, collection=name):
                yield name, record

    # --- retrieving -----------------------------------------------------------------------------------------------------

    def hybrid_chunks(
        self, vector: Sequence[float], text: str, filters: Filters, *, k: int, leg_k: int, rrf_k: int,
        weights: tuple[float, float] = (1.0, 1.0),
    ) -> tuple[Hit, ...]:  # fmt: skip
        """Chunks nearest in meaning and in words, fused by reciprocal rank. Exact when no index can serve or it found too few.

        `weights` are those of the two legs, meaning and words; a leg of weight 0 finds nothing.
        """
        binds = {
            "vector": list(vector), "text": text, "k": k, "leg_k": leg_k, "rrf_k": rrf_k, "vector_weight": weights[0],
            "text_weight": weights[1], **filter_binds(filters),
        }  # fmt: skip
        found = self._by_legs("hybrid_chunks", "hybrid_chunks_exact", binds, leg_k)
        return tuple(
            Hit(row["chunk"], row["score"], {leg: rank for leg, rank in row["ranks"].items() if rank})
            for row in found["hits"]
        )

    def weighted_chunks(
        self, vector: Sequence[float], text: str, filters: Filters, *, k: int, leg_k: int,
        weights: tuple[float, float] = (1.0, 1.0),
    ) -> tuple[Hit, ...]:  # fmt: skip
        """As `hybrid_chunks`, but fused by the legs' own scores, each scaled to 0..1 among what its leg found."""
        binds = {
            "vector": list(vector), "text": text, "k": k, "leg_k": leg_k, "vector_weight": weights[0], "text_weight": weights[1],
            **filter_binds(filters),
        }  # fmt: skip
        found = self._by_legs("weighted_chunks", "weighted_chunks_exact", binds, leg_k)
        return tuple(
            Hit(
                row["chunk"],
                row["score"],
                {leg: rank for leg, rank in row["ranks"].items() if rank},
                {leg: score for leg, score in row["scores"].items() if score is not None},
            )
            for row in found["hits"]
        )

    def _by_legs(self, name: str, exact: str, binds: Mapping[str, Any], leg_k: int) -> dict[str, Any]:
        """By the vector index; every vector compared where none can serve, it finds too few, or few pass the filters."""
        rows = None if are_few(self._db, binds["filters"]) else run_by_vector(self._db, name, **binds)
        found = None if rows is None else one(rows)
        return one(run(self._db, exact, **binds)) if found is None or found["near"] < leg_k else found

    def chunk_embeddings(self, keys: Sequence[str]) -> dict[str, list[float]]:
        """Embeddings of chunks by key; one that has none is left out."""
        rows = run(self._db, "chunk_embeddings", keys=list(keys))
        return {row["chunk"]: row["embedding"] for row in rows if row["embedding"]}

    def expand_entities(
        self, chunks: Sequence[str], filters: Filters, *, hops: int, entity_limit: int, relation_limit: int
    ) -> dict[str, Any]:
        """Entities of chunks (keys) and relations within `hops`: {anchors, relations, entities, mentions}."""
        binds = {"chunks": [f"chunks/{key}" for key in chunks], "hops": hops, **filter_binds(filters)}
        rows = run(self._db, "expand_entities", entity_limit=entity_limit, relation_limit=relation_limit, **binds)
        return one(rows)

    def stitch_chunks(self, chunks: Sequence[str], filters: Filters, *, neighbours: int) -> list[dict[str, Any]]:
        """Neighbours of chunks (keys) along NEXT_CHUNK: {chunk, distance, of}."""
        if not neighbours or not chunks:
            return []
        binds = {"chunks": [f"chunks/{key}" for key in chunks], "neighbours": neighbours, **filter_binds(filters)}
        return list(run(self._db, "stitch_chunks", **binds))

    def read_chunks(self, keys: Sequence[str], filters: Filters) -> dict[str, dict[str, Any]]:
        """Chunks that pass the filters, as evidence, by key."""
        return {row["_key"]: row for row in run(self._db, "read_chunks", keys=list(keys), **filter_binds(filters))}

    def chunks_during(self, filters: Filters, *, limit: int) -> list[str]:
        """Keys of chunks that pass the filters, in order of time."""
        return list(run(self._db, "chunks_during", limit=limit, **filter_binds(filters)))

    def coverage(self, filters: Filters) -> list[dict[str, Any]]:
        """What the asked cameras recorded in the asked time: {camera, document, start_ms, end_ms}."""
        return list(run(self._db, "coverage", **filter_binds(filters)))

    def unknown_terms(self, terms: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """Of tags, entity_types, relation_types and speakers, by name, those that nothing in the graph bears."""
        binds: dict[str, Any] = {name: list(terms.get(name, ())) for name in TERMS}
        return one(run(self._db, "unknown_terms", **binds))

    def named_entities(
        self,
        name: str,
        types: Sequence[str] | None,
        *,
        fuzzy: bool,
        limit: int,
        not_after: int | None = None,
        as_of: int | None = None,
    ) -> list[dict[str, Any]]:
        """Entities that may be meant by a name, the likeliest first: {_key, canonical, type, name, aliases}.

        With `not_after` or `as_of` (UTC ms) only names that were known then count, and everybody is one for himself.
        """
        binds: dict[str, Any] = {"name": name, "types": None if types is None else list(types), "fuzzy": fuzzy}
        return list(run(self._db, "named_entities", limit=limit, not_after=not_after, as_of=as_of, **binds))

    def entity_records(self, keys: Sequence[str], *, not_after: int | None, as_of: int | None) -> list[str]:
        """Ids of all records of some entities (keys): those that are one with them, or were by `as_of` (UTC ms).

        Under `not_after` they alone, for who is one with whom was found out by all that is known.
        """
        ids = [f"entities/{key.removeprefix('entities/')}" for key in keys]
        return list(run(self._db, "entity_records", ids=ids, not_after=not_after, as_of=as_of))

    def relation_kinds(self, entities: Sequence[str], filters: Filters) -> list[str]:
        """The relations between some entities (ids) and anybody."""
        rows = run(self._db, "relation_kinds", ids=list(entities), **filter_binds(filters))
        return [row["relation"] for row in rows]

    def match_relations(
        self, sources: Sequence[str] | None, targets: Sequence[str] | None, relations: Sequence[str] | None, filters: Filters, *,
        limit: int,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Relations by their ends (ids), kind and time, in order of time; None is anything."""
        given = {"sources": sources, "targets": targets, "relations": relations}
        binds: dict[str, Any] = {name: None if value is None else list(value) for name, value in given.items()}
        return list(run(self._db, "match_relations", limit=limit, **binds, **filter_binds(filters)))

    # --- a user's own AQL -----------------------------------------------------------------------------------------------

    def aql(
        self,
        text: str,
        binds: Mapping[str, Any] | None = None,
        *,
        limit: int = 1000,
        timeout_s: float = 30.0,
        memory: int = 256 << 20,
        collections: Collection[str] | None = None,
    ) -> QueryResult:
        """Run a reading query: refused unless parse and explain show no modification, then run in a read-only transaction with limits.

        With `collections` a query that reads any other, or could do so unseen, is refused too (see guard.py).
        """
        read = read_by(self._db, text, binds or {}, collections)
        with translated("query"), Transaction(self._db, (), read) as db:
            cursor: Any = db.aql.execute(
                text,
                bind_vars=dict(binds or {}),
                batch_size=min(limit, 1000),
                max_runtime=timeout_s,
                memory_limit=memory,
                stream=True,
            )
            rows = [row for _, row in zip(range(limit), cursor, strict=False)]
            statistics, warnings = cursor.statistics() or {}, cursor.warnings() or []
            cursor.close(ignore_missing=True)
        messages = tuple(f"{w['code']}: {w['message']}" for w in warnings)
        return QueryResult(rows, len(rows), messages, float(statistics.get("execution_time", 0.0)))


def _check_languages(stored: Mapping[str, Any], language: str, also: Sequence[str]) -> None:
    """Raise UserError where a database stems text otherwise than the settings say."""
    if stored["language"] != language:
        raise UserError(
            f"this database stems text as {stored['language']!r}, the setting VGRAPH_INGEST__LANGUAGE says {language!r}: "
            f"use {stored['language']!r}, or another database"
        )
    if (known := stored.get("languages", [])) != list(also):
        raise UserError(
            f"this database stems text besides in {','.join(known) or 'no other language'}, the setting VGRAPH_INGEST__LANGUAGES says "
            f"{','.join(also) or 'none'}: use what it has, or another database"
        )


def _write(db: Any, collection: str, rows: Sequence[Record]) -> None:
    records = [row if isinstance(row, dict) else dict(row) for row in rows]
    if collection == "entities":
        run(db, "merge_entities", records=records)
    elif collection == "LINKS_TO":
        run(db, "merge_links", records=records)
    else:
        run(db, "write_records", records=records, collection=collection)


def _hold(db: schema.Database, held: Holding) -> None:
    if not list(run(db, "hold_document", document=held.document, config=held.config, timed=held.timed)):
        raise UserError(
            f"document {held.document} was deleted, begun anew with other settings, or its camera's clock was set, while it was being "
            "ingested; the same command again goes on from there"
        )
