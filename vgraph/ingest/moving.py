"""Times follow the clock: after a clock, a zone or a start has changed, the records of its documents are moved, not made anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from vgraph.ingest.clock import document_timeline, told_start, zoned
from vgraph.store import Store
from vgraph.types import Progress, StartTime

Report = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Moved:
    """How many documents stood at other times than they should, and how many records of theirs were moved."""

    documents: int = 0
    records: int = 0


def move_camera(store: Store, camera: str, report: Report = lambda progress: None) -> Moved:
    """Move every document of a camera to where its start and the camera's clock have it. Interrupted, it is to be run again.

    A document is entered as moved once all of its records are, so a run that was killed leaves it to the next; what stands right is
    not written. Raises StoreError.
    """
    pending = _pending(store, camera)
    records = 0
    for number, document in enumerate(pending):
        report(Progress(document["title"], "move", number, len(pending), "documents"))
        records += move_document(store, document, store.camera(camera) or {})
    return Moved(len(pending), records)


def pending_documents(store: Store, camera: str) -> list[str]:
    """Keys of the documents whose records do not stand where the clock has them: a move was interrupted, or has yet to be run."""
    return [document["_key"] for document in _pending(store, camera)]


def _pending(store: Store, camera: str) -> list[dict[str, Any]]:
    record = store.camera(camera) or {}
    documents = store.clocks.documents(camera)
    return [d for d in documents if document_timeline(d, record).fingerprint != d["timed"]]


def move_document(store: Store, document: Mapping[str, Any], camera: Mapping[str, Any]) -> int:
    """Move a document's records, its entities' first and last times, and last its own vertex; how many records moved."""
    key, stands, tz = document["_key"], document_timeline(document, camera), camera["tz"]
    count = store.clocks.move(key, stands.at)
    store.clocks.settle(key)
    stood = {
        "start_ms": stands.start_ms,
        "end_ms": stands.at(document["duration_ms"]),
        "own_start_ms": zoned(document["own_start_ms"], document["own_tz"], tz),
        "own_tz": tz if document["own_tz"] else None,
        "uncertainty_ms": stands.uncertainty_ms,
        "timed": stands.fingerprint,
    }
    store.clocks.write_document(key, stood)
    return count


def start_values(start: StartTime) -> dict[str, Any]:
    """A start as a document's vertex keeps it."""
    return {
        "start_source": str(start.source),
        "own_start_ms": start.ms,
        "own_tz": start.tz,
        "own_uncertainty_ms": start.uncertainty_ms,
        "own_drift_ppm": start.drift_ppm,
    }


def follow(store: Store, camera: Mapping[str, Any], document: str, start: StartTime) -> None:
    """Before a video is read, perhaps again: what is newly told of its camera or its start moves what stands by the old."""
    key, known = camera["_key"], store.camera(camera["_key"])
    vertex = store.document(document)
    if vertex and told_start(vertex) != start:
        store.clocks.write_document(document, start_values(start))
    if known and (known["tz"], known["clock"]) != (camera["tz"], camera["clock"]):
        store.clocks.write_camera(key, {"tz": camera["tz"], "clock": camera["clock"]})
        move_camera(store, key)
    elif vertex and document_timeline(store.document(document) or {}, camera).fingerprint != vertex["timed"]:
        move_document(store, store.document(document) or {}, camera)
