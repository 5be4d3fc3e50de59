"""Recordings that are kept for a time only: whole documents that ended before it, and the old part of those that still grow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vgraph.media.assets import Assets
from vgraph.store import Store
from vgraph.types import Record


@dataclass(frozen=True, slots=True)
class Expired:
    """What was removed of a document because its time was over: records by collection; `whole` when nothing of it is left."""

    document: str
    camera: str
    whole: bool
    removed: dict[str, int]
    renamed: tuple[Record, ...] = ()


def expire(store: Store, assets: Assets, now_ms: int) -> list[Expired]:
    """Remove what is older than its camera keeps it, by UTC ms. The same call again removes nothing; interrupted, it is run again."""
    return [
        done
        for camera, keep_ms in store.removal.kept().items()
        for row in store.removal.expired(camera, now_ms - keep_ms)
        if (done := _expired(store, assets, camera, row, now_ms - keep_ms)) and (done.removed or done.whole)
    ]


def _expired(store: Store, assets: Assets, camera: str, row: dict[str, Any], before_ms: int) -> Expired | None:
    """A recorded video goes when it has ended before the moment, what still grows piece by piece."""
    document = row["document"]
    if row["end_ms"] <= before_ms:
        deletion = store.removal.document(document, also=assets.delete)
        return Expired(document, camera, True, dict(deletion.removed), deletion.renamed)
    if row["kind"] != "stream":
        return None
    removed, renamed, gone = store.removal.before(document, before_ms)
    assets.forget(gone)
    return Expired(document, camera, False, dict(removed), renamed)
