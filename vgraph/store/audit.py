"""What should not be in a graph: ends of edges, documents, pictures and mentions that are gone. Part of Store as `store.audit`."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from vgraph.store import schema
from vgraph.store.removal import OF_A_DOCUMENT
from vgraph.store.run import Transaction, run, until_undisturbed

PAGE: Final = 1000
EXAMPLES: Final = 5


@dataclass(frozen=True, slots=True)
class Fault:
    """Records of a collection that should not be there: what is wrong, how many, some of their keys, whether they were removed."""

    kind: str
    collection: str
    count: int
    examples: tuple[str, ...]
    repaired: bool = False


class Audit:
    """The checking part of a Store; every check reads its collection whole, in a stream."""

    def __init__(self, db: schema.Database, writing: threading.RLock) -> None:
        self._db, self._writing = db, writing

    def faults(self, *, repair: bool = False) -> Iterator[Fault]:
        """What is wrong, a fault a kind and collection; with `repair` the records are removed.

        What was there while it was looked at and has gone since is not repaired twice; run it while nothing is being ingested.
        """
        for collection in schema.collection_names(edges=True):
            yield from self._found("dangling edge", "dangling_edges", collection, collection, repair)
        for collection in OF_A_DOCUMENT:
            yield from self._found("document is gone", "strays", collection, collection, repair)
        yield from self._found("chunk is gone", "stray_frames", "frames", None, repair)
        yield from self._found("track of no chunk", "stray_tracks", "tracks", None, repair)
        yield from self._found("summary of nothing", "empty_communities", "communities", None, repair)
        yield from self._found("nothing mentions it", "unmentioned_entities", "entities", None, repair)

    def _found(self, kind: str, query: str, collection: str, bind: str | None, repair: bool) -> Iterator[Fault]:
        binds: dict[str, Any] = {} if bind is None else {"collection": bind}
        keys: Iterator[str] = iter(run(self._db, query, stream=True, **binds))
        examples: list[str] = []
        count = 0
        while page := list(islice(keys, PAGE)):
            examples += page[: EXAMPLES - len(examples)]
            count += len(page)
            if repair:
                self._remove(collection, page)
        if count:
            yield Fault(kind, collection, count, tuple(examples), repair)

    def _remove(self, collection: str, keys: Sequence[str]) -> None:
        with self._writing:
            until_undisturbed(lambda: self._removed(collection, keys))

    def _removed(self, collection: str, keys: Sequence[str]) -> None:
        with Transaction(self._db, (collection, "SAME_AS", "IN_SUMMARY", "SUMMARY_OF")) as db:
            if collection == "entities":
                run(db, "remove_identities", entities=[f"entities/{key}" for key in keys])
            if collection == "communities":
                ids = [f"communities/{key}" for key in keys]
                for edges in ("IN_SUMMARY", "SUMMARY_OF"):
                    run(db, "remove_edges_to", ids=ids, collection=edges)
                run(db, "remove_edges_from", ids=ids, collection="SUMMARY_OF")
            run(db, "remove_keys", keys=list(keys), collection=collection)

    def assets(self) -> Iterator[str]:
        """Every picture that the graph points to, in order of key."""
        yield from run(self._db, "list_assets", stream=True)
