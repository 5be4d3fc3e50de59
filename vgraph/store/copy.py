"""Moves everything from one ArangoDB to another, embedded or served, either way: `copy(End("embedded:graph.sqlite"), End("http://db:8529"))`.

Analyzers, collections, documents, indexes, views and graphs, in this order, each made if it is missing and changed if it differs.
What is equal already is not written again, so that a second copy changes nothing. A copy of all databases ends with the users.

An interrupted copy goes on where it was: while one is under way, the target keeps a system collection that says which collections
are complete or were begun empty. It is dropped at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import orjson
from arango.request import Request

from vgraph.errors import NotFoundError, StoreError, UserError
from vgraph.store import definitions
from vgraph.store.accounts import copy_users
from vgraph.store.connect import connect
from vgraph.store.translate import translated
from vgraph.types import Progress

LEDGER: Final = "_vgraph_copy"
SYSTEM: Final = "_system"
NOT_IMPLEMENTED: Final = 9
NO_DATABASE: Final = 1228
BATCH_BYTES: Final = 4_000_000
BATCH_DOCUMENTS: Final = 2000
_SAMPLE: Final = 32
_CURSOR_SECONDS: Final = 3600  # between two batches lies a write to the other side
_TIMEOUT_S: Final = 3600.0  # building an index is one request

Document = dict[str, Any]
Report = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class End:
    """One side of a copy: where, and as whom."""

    url: str
    username: str = "root"
    password: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy did. `users`: how many were made or changed. `notes` tell what could not be made the same."""

    databases: tuple[str, ...]
    collections: int
    written: int
    unchanged: int
    notes: tuple[str, ...]
    users: int = 0


def copy(source: End, target: End, *, database: str | None = None, report: Report = lambda progress: None) -> Copied:
    """Copy one database, or all that hold anything and then the users with their permissions.

    Raises UserError for URLs that cannot be copied between, NotFoundError when the source is not there, StoreError and Unavailable.
    """
    for end in (source, target):
        _check_url(end.url)
    if _place(source.url) == _place(target.url):
        raise UserError(f"source and target are both {source.url}")
    names = _databases(source, database)
    tally = _Tally()
    for name in names:
        with _opened(source, name, create=False) as ours, _opened(target, name, create=True) as theirs:
            _Copy(ours, theirs, name, _place(source.url), tally, report).run()
    users = 0
    if database is None:
        with _opened(source, SYSTEM, create=False) as ours, _opened(target, SYSTEM, create=False) as theirs:
            users = copy_users(ours, theirs, names, tally.notes.append)
    return Copied(tuple(names), tally.collections, tally.written, tally.unchanged, tuple(tally.notes), users)


def _check_url(url: str) -> None:
    if not url.startswith(("embedded:", "http://", "https://")):
        raise UserError(f"{url!r}: use embedded:PATH, http://host:8529 or https://host:8529")
    if not url.startswith("embedded:") and "@" in urlsplit(url).netloc:
        raise UserError("the URL holds a user or a password: give them apart from it")


def _place(url: str) -> str:
    if url.startswith("embedded:"):
        return str(Path(url.removeprefix("embedded:").removeprefix("//")).expanduser().resolve())
    return url.rstrip("/")


def _databases(source: End, wanted: str | None) -> list[str]:
    with _opened(source, wanted or SYSTEM, create=False) as side:
        try:
            names: list[str] = side.get("/_api/database/user")["result"]
        except StoreError as error:
            if error.number != NO_DATABASE:
                raise
            raise NotFoundError(f"there is no database {wanted} at {source.url}") from error
        return [wanted] if wanted else [name for name in names if name != SYSTEM or not side.is_bare()]


# --- the two sides ----------------------------------------------------------------------------------------------------------


class Side:
    """One database of an engine, asked through python-arango with the bodies of ArangoDB's HTTP API."""

    def __init__(self, database: Any) -> None:
        self.database = database

    def call(self, method: str, path: str, body: Any = None, **params: Any) -> Document:
        with translated(f"{method.upper()} {path}"):
            sent = Request(method=method, endpoint=path, data=body, params=params or None)
            answer = self.database.conn.send_request(sent)
        if not answer.is_success:
            what = answer.error_message or f"{answer.status_code} {answer.status_text}"
            raise StoreError(f"{method.upper()} {path}: {what}", number=answer.error_code)
        found: Document = answer.body
        return found

    def get(self, path: str, **params: Any) -> Document:
        return self.call("get", path, **params)

    def collections(self) -> list[str]:
        """Names, vertices before edges."""
        found = [c for c in self.get("/_api/collection")["result"] if not c["isSystem"]]
        return [c["name"] for c in sorted(found, key=lambda c: (c["type"], c["name"]))]

    def properties(self, name: str) -> Document:
        return self.get(f"/_api/collection/{quote(name)}/properties")

    def revision(self, name: str) -> str:
        return str(self.get(f"/_api/collection/{quote(name)}/revision")["revision"])

    def count(self, name: str) -> int:
        return int(self.get(f"/_api/collection/{quote(name)}/count")["count"])

    def indexes(self, name: str) -> list[Document]:
        found = self.get("/_api/index", collection=name)["indexes"]
        return [definitions.index_body(index) for index in found if index["type"] not in definitions.BUILT_IN]

    def views(self) -> list[Document]:
        names = [view["name"] for view in self.get("/_api/view")["result"]]
        return [definitions.view_body(self.get(f"/_api/view/{quote(name)}/properties")) for name in names]

    def analyzers(self) -> list[Document]:
        found = self.get("/_api/analyzer")["result"]
        own = f"{self.database.name}::"
        return [definitions.analyzer_body(a) for a in found if a["name"].startswith(own)]

    def graphs(self) -> list[Document]:
        return [definitions.graph_body(graph) for graph in self.get("/_api/gharial")["graphs"]]

    def is_bare(self) -> bool:
        return not (self.collections() or self.views() or self.graphs() or self.analyzers())

    def rows(self, text: str, size: int, **binds: Any) -> Iterator[Any]:
        """Stream a query's rows; `size` a batch."""
        names = {f"@{name}" if name == "collection" else name: value for name, value in binds.items()}
        with translated(text):
            cursor = self.database.aql.execute(text, bind_vars=names, stream=True, batch_size=size, ttl=_CURSOR_SECONDS)
            with closing(_Closing(cursor)):
                yield from cursor

    def batch_size(self, collection: str) -> int:
        """How many documents make a batch of a few megabytes, judged by the first ones and by the average."""
        text = f"FOR d IN @@collection LIMIT {_SAMPLE} RETURN LENGTH(JSON_STRINGIFY(d))"
        figures = self.get(f"/_api/collection/{quote(collection)}/figures")
        average = int(figures["figures"].get("documentsSize", 0)) // max(1, int(figures["count"]))
        largest: int = max(self.rows(text, _SAMPLE, collection=collection), default=0)
        return max(1, min(BATCH_DOCUMENTS, BATCH_BYTES // max(1, average, largest)))

    def absent(self, collection: str, keys: list[str]) -> list[str]:
        """Those keys that no document has."""
        text = "FOR d IN @@collection FILTER d._key IN @keys RETURN d._key"
        present = set(self.rows(text, len(keys), collection=collection, keys=keys))
        return [key for key in keys if key not in present]

    def documents(self, collection: str, keys: list[str]) -> list[Document]:
        text = "FOR d IN @@collection FILTER d._key IN @keys RETURN d"
        return [_plain(d) for d in self.rows(text, len(keys), collection=collection, keys=keys)]

    def write(self, collection: str, documents: list[Document]) -> None:
        with translated(f"copy documents into {collection}", collection):
            self.database.collection(collection).import_bulk(documents, on_duplicate="replace", halt_on_error=True)


@dataclass(frozen=True, slots=True)
class _Closing:
    cursor: Any

    def close(self) -> None:
        self.cursor.close(ignore_missing=True)


@contextmanager
def _opened(end: End, name: str, *, create: bool) -> Iterator[Side]:
    connection = connect(
        end.url, name, username=end.username, password=end.password, timeout_s=_TIMEOUT_S, create=create
    )
    with closing(connection):
        yield Side(connection.database)


# --- one database -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Tally:
    collections: int = 0
    written: int = 0
    unchanged: int = 0
    notes: list[str] = field(default_factory=list)


class _Copy:
    """The copying of one database."""

    def __init__(self, source: Side, target: Side, name: str, origin: str, tally: _Tally, report: Report) -> None:
        self.source, self.target, self.name = source, target, name
        self.tally, self.report = tally, report
        self.ledger = Ledger(target, f"{origin}/{name}")

    def run(self) -> None:
        collections = self.source.collections()
        self.ledger.open()
        self._analyzers()
        for name in self._step(collections, "collections"):
            self._collection(name)
        for name in collections:
            self._documents(name)
        for name in self._step(collections, "indexes"):
            self._indexes(name)
        self._views()
        self._graphs()
        self.ledger.drop()
        self.tally.collections += len(collections)

    def _step(self, items: list[Any], stage: str) -> Iterator[Any]:
        for done, item in enumerate(items):
            yield item
            self.report(Progress(self.name, stage, done + 1, len(items), stage))

    def _note(self, text: str) -> None:
        self.tally.notes.append(f"{self.name}: {text}")

    # --- definitions --------------------------------------------------------------------------------------------------------

    def _analyzers(self) -> None:
        present = {analyzer["name"]: analyzer for analyzer in self.target.analyzers()}
        for analyzer in self._step(self.source.analyzers(), "analyzers"):
            there = present.get(analyzer["name"])
            if there is None:
                self.target.call("post", "/_api/analyzer", analyzer)
            elif not definitions.agrees(analyzer, there):
                raise StoreError(f"the target has another analyzer named {analyzer['name']}; remove it first")

    def _collection(self, name: str) -> None:
        properties = self.source.properties(name)
        if name not in self.target.collections():
            if not properties.get("keyOptions", {}).get("allowUserKeys", True):
                self._note(f"collection {name} refuses keys of its users at the source; its copy takes them")
            self.target.call("post", "/_api/collection", definitions.collection_body(properties))
        elif self.target.properties(name)["type"] != properties["type"]:
            raise StoreError(f"the target's collection {name} is of another type", collection=name)

    def _indexes(self, name: str) -> None:
        present = {index["name"]: index for index in self.target.indexes(name)}
        # the vectors last: a server trains their index on what is there
        for index in sorted(self.source.indexes(name), key=lambda index: index["type"] == "vector"):
            there = present.get(index["name"])
            if there is not None and definitions.agrees(index, there):
                continue
            if there is not None:
                self.target.call("delete", f"/_api/index/{quote(name)}/{quote(index['name'])}")
            self._add_index(name, index)

    def _add_index(self, collection: str, index: Document) -> None:
        try:
            self.target.call("post", "/_api/index", index, collection=collection)
        except StoreError as error:
            if index["type"] != "vector" and error.number != NOT_IMPLEMENTED:
                raise
            self._note(f"the {index['type']} index {index['name']} of {collection} could not be built ({error})")

    def _views(self) -> None:
        present = {view["name"]: view for view in self.target.views()}
        for view in self._step(self.source.views(), "views"):
            there = present.get(view["name"])
            if there is None:
                self.target.call("post", "/_api/view", view)
            elif there["type"] != view["type"]:
                raise StoreError(f"the target's view {view['name']} is of another type")
            elif not definitions.agrees(view, there):
                self.target.call("put", f"/_api/view/{quote(view['name'])}/properties", view)

    def _graphs(self) -> None:
        present = {graph["name"]: graph for graph in self.target.graphs()}
        for graph in self._step(self.source.graphs(), "graphs"):
            there = present.get(graph["name"])
            if there == graph:
                continue
            if there is not None:
                self.target.call("delete", f"/_api/gharial/{quote(graph['name'])}")
            self.target.call("post", "/_api/gharial", graph)

    # --- documents ----------------------------------------------------------------------------------------------------------

    def _documents(self, name: str) -> None:
        """Bring a collection's documents over, then what rules them."""
        revision, count = self.source.revision(name), self.source.count(name)
        if self.ledger.is_complete(name, revision):
            self.tally.unchanged += count
        else:
            self._transfer(name, revision, count)
        self._set_rules(name, definitions.rules_body(self.source.properties(name)))
        self.ledger.complete(name, revision)

    def _transfer(self, name: str, revision: str, count: int) -> None:
        done, bare = 0, False
        for read, documents in self._batches(name, revision, count):
            if documents and not bare:
                self._set_rules(name, definitions.rules_body({}))
                bare = True
            if documents:
                self.target.write(name, documents)
            done += read
            self.tally.written += len(documents)
            self.tally.unchanged += read - len(documents)
            self.report(Progress(self.name, name, done, count, "documents"))
        if self.target.count(name) < count:
            self._note(
                f"collection {name} has fewer documents than at the source; something else writes to one of the two"
            )

    def _set_rules(self, name: str, rules: Document) -> None:
        if definitions.rules_body(self.target.properties(name)) != rules:
            self.target.call("put", f"/_api/collection/{quote(name)}/properties", rules)

    def _batches(self, name: str, revision: str, count: int) -> Iterator[tuple[int, list[Document]]]:
        """(documents looked at, those to write), batch by batch."""
        if self.ledger.is_filling(name, revision):
            return self._missing(name)
        if count and self.target.count(name) == 0:
            self.ledger.filling(name, revision)
            return ((len(batch), batch) for batch in self._stream(name))
        return self._differing(name)

    def _missing(self, name: str) -> Iterator[tuple[int, list[Document]]]:
        """What an interrupted copy into an empty collection has not brought over: only keys are compared."""
        size = self.source.batch_size(name)
        keys = self.source.rows("FOR d IN @@collection RETURN d._key", BATCH_DOCUMENTS, collection=name)
        for batch in _chunks(keys, BATCH_DOCUMENTS):
            absent = self.target.absent(name, batch)
            yield len(batch) - len(absent), []
            for wanted in _chunks(absent, size):
                documents = self.source.documents(name, wanted)
                yield len(wanted), documents

    def _differing(self, name: str) -> Iterator[tuple[int, list[Document]]]:
        for batch in self._stream(name):
            present = {d["_key"]: d for d in self.target.documents(name, [d["_key"] for d in batch])}
            yield len(batch), [d for d in batch if not same(d, present.get(d["_key"]))]

    def _stream(self, name: str) -> Iterator[list[Document]]:
        size = self.source.batch_size(name)
        rows = self.source.rows("FOR d IN @@collection RETURN d", size, collection=name)
        return _chunks(map(_plain, rows), size)


# --- what an interrupted copy leaves behind -----------------------------------------------------------------------------------


class Ledger:
    """Which collections of a database are complete, and which were empty when their copying began; each as of a revision of the source."""

    def __init__(self, target: Side, origin: str) -> None:
        self.target, self.origin = target, origin
        self._states: dict[str, list[str]] = {}
        self._stored = False

    def open(self) -> None:
        """Read what an earlier copy from the same place has left."""
        names = [c["name"] for c in self.target.get("/_api/collection")["result"]]
        self._stored = LEDGER in names
        if self._stored:
            found = self.target.documents(LEDGER, ["progress"])
            self._states = found[0]["states"] if found and found[0]["origin"] == self.origin else {}

    def is_complete(self, collection: str, revision: str) -> bool:
        return self._states.get(collection) == ["complete", revision]

    def is_filling(self, collection: str, revision: str) -> bool:
        return self._states.get(collection) == ["filling", revision]

    def filling(self, collection: str, revision: str) -> None:
        self._states[collection] = ["filling", revision]
        if not self._stored:
            self.target.call("post", "/_api/collection", {"name": LEDGER, "isSystem": True})
            self._stored = True
        self._save()

    def complete(self, collection: str, revision: str) -> None:
        self._states[collection] = ["complete", revision]
        if self._stored:
            self._save()

    def _save(self) -> None:
        document = {"_key": "progress", "origin": self.origin, "states": self._states}
        self.target.write(LEDGER, [document])

    def drop(self) -> None:
        if self._stored:
            self.target.call("delete", f"/_api/collection/{LEDGER}", isSystem=True)


# --- plain values -----------------------------------------------------------------------------------------------------------


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: 1 is 1.0, but not true; the order of attributes says nothing."""
    return _sorted(one) == _sorted(other) or _deeply_same(one, other)


def _sorted(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _deeply_same(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_deeply_same(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_deeply_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _plain(document: Document) -> Document:
    """Without what each engine gives a document itself."""
    return {name: value for name, value in document.items() if name not in ("_id", "_rev")}


def _chunks(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk
