"""Whether the graph and its pictures fit together: `vgraph check`."""

from __future__ import annotations

from collections.abc import Iterator

from vgraph.ingest.moving import move_camera, pending_documents
from vgraph.media.assets import Assets
from vgraph.store import Store
from vgraph.store.audit import EXAMPLES, Fault


def check(store: Store, assets: Assets, *, repair: bool = False) -> tuple[Fault, ...]:
    """Every fault of the graph, then of the assets folder. With `repair` what nothing owns is removed, in the database and in the folder.

    A picture that the graph names and the folder lacks can only be made again, by ingesting its video: it is told, never repaired. Run
    it while nothing is ingested: the files of a document that is being made are not owned yet.
    """
    faults = list(store.audit.faults(repair=repair))
    return (*faults, *_clocks(store, repair), *_files(store, assets, repair))


def _clocks(store: Store, repair: bool) -> Iterator[Fault]:
    """Documents whose records do not stand where their camera's clock has them: a move was interrupted. Repaired, it is ended."""
    for camera in store.cameras():
        if pending := pending_documents(store, camera["_key"]):
            if repair:
                move_camera(store, camera["_key"])
            yield Fault("clock is half moved", "documents", len(pending), tuple(pending[:EXAMPLES]), repair)


def _files(store: Store, assets: Assets, repair: bool) -> Iterator[Fault]:
    owned = set(store.audit.assets())
    there = set(assets.names())
    missing, alone = sorted(owned - there), sorted(there - owned)
    if missing:
        yield Fault("file is missing", "frames", len(missing), tuple(missing[:EXAMPLES]))
    if alone:
        if repair:
            assets.forget(alone)
        yield Fault("nothing owns it", "files", len(alone), tuple(alone[:EXAMPLES]), repair)
