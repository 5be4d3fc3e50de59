"""What an operator does with cameras' clocks: look, set, give anchors, fit, reset; and the coverage of a span. The app's `clocks`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from vgraph.errors import NotFoundError, UserError
from vgraph.ingest.burnt_in import Order, Text, readings
from vgraph.ingest.clock import (
    FORGOTTEN,
    OWN,
    SOURCE_UNCERTAINTY_MS,
    Anchor,
    Clock,
    Span,
    clock_of,
    clock_record,
    told_start,
    with_anchor,
    with_span,
    zoned,
)
from vgraph.ingest.clock_pictures import looked_at
from vgraph.ingest.fit import Fitted, Level, OwnTime, fitted, own_time
from vgraph.ingest.moving import Moved, Report, move_camera, pending_documents, start_values
from vgraph.media.probe import probe
from vgraph.models import Reader
from vgraph.store import Store
from vgraph.types import Filters, StartSource, StartTime

REPLACED_BY_READING = (StartSource.container, StartSource.burnt_in, StartSource.file_name, StartSource.unknown)
"""Starts that a clock seen in the picture knows better. What was given, and a timecode, which is exact to the frame, stay."""


@dataclass(frozen=True, slots=True)
class ReadStart:
    """What a document's burnt-in clock told: its own time at the first frame, and where it stood before."""

    document: str
    title: str
    before_ms: int
    before_source: str
    own_ms: int
    uncertainty_ms: int
    used: int
    misread: int


@dataclass(frozen=True, slots=True)
class FitReport:
    """What a fit found and moved. `spans` is the whole clock; `moved` is empty of a dry run."""

    camera: str
    spans: tuple[Span, ...]
    anchors: int
    residual_ms: int | None
    outliers: tuple[Anchor, ...]
    starts: tuple[ReadStart, ...]
    moved: Moved = field(default_factory=Moved)

    def true(self, own_ms: int) -> int:
        """True time, UTC ms, of an own time by the fitted clock."""
        return Clock(self.spans).true(own_ms)


class Timekeeping:
    """Clocks of cameras (keys) in one graph. A change is written first, then the records follow, which a second call finishes."""

    def __init__(
        self, store: Store, reader: Callable[[], Reader | None], report: Report = lambda progress: None
    ) -> None:
        self._store, self._reader, self._report = store, reader, report

    def show(self, camera: str) -> dict[str, Any]:
        """A camera's zone and clock, its documents with how their starts are known, and which of them have yet to be moved."""
        record = self._camera(camera)
        pending = set(pending_documents(self._store, camera))
        documents = [{**d, "pending": d["_key"] in pending} for d in self._store.clocks.documents(camera)]
        return {
            "camera": camera,
            "label": record["label"],
            "tz": record["tz"],
            "clock": clock_record(clock_of(record)),
            "documents": documents,
        }

    def set(self, camera: str, span: Span | None = None, tz: str | None = None) -> Moved:
        """Set a camera's clock, wholly or from `span.from_ms` of own time on, or its zone."""
        record = self._camera(camera)
        clock = clock_of(record)
        zone = checked_zone(tz) if tz else record["tz"]
        return self._change(camera, with_span(clock, span) if span else clock, zone, tz is not None)

    def reset(self, camera: str, *, clock: bool = True, zone: bool = False) -> Moved:
        """Forget a camera's clock with its anchors and the starts that were read off pictures; or its zone, which then is UTC.

        That is a decision too: no sidecar brings it back.
        """
        record = self._camera(camera)
        if clock:
            for document in self._store.clocks.documents(camera):
                self._restore(document)
        return self._change(camera, FORGOTTEN if clock else clock_of(record), "UTC" if zone else record["tz"], zone)

    def _restore(self, document: Mapping[str, Any]) -> None:
        """Give a document the start back that a reading had replaced."""
        if document["replaced"] and document["start_source"] == StartSource.burnt_in:
            self._store.clocks.write_document(document["_key"], {**document["replaced"], "replaced": None})

    def anchor(self, camera: str, anchor: Anchor) -> int:
        """Keep an anchor for the next fit; how many there are now."""
        record = self._camera(camera)
        clock = with_anchor(clock_of(record), anchor)
        self._store.clocks.write_camera(camera, {"clock": clock_record(clock)})
        return len(clock.anchors)

    def anchor_in(self, camera: str, document: str, offset_ms: int, true_ms: int, uncertainty_ms: int) -> int:
        """Keep as anchor that at `offset_ms` of a recording it truly was `true_ms`.

        Raises UserError for a recording whose start is no time of the camera's own clock.
        """
        record = self._camera(camera)
        found = next((d for d in self._store.clocks.documents(camera) if d["_key"] == document), None)
        if found is None:
            raise NotFoundError(f"no document {document!r} of camera {camera}; `vgraph clock show {camera}` lists them")
        start = told_start(found)
        if start.source not in OWN:
            raise UserError(
                f"nobody knows what the camera's own clock said in {document} (its start is {start.source}): "
                "give --own, or the start of the recording with `vgraph ingest --start`"
            )
        own = zoned(start.ms, start.tz, record["tz"]) + offset_ms
        doubt = start.uncertainty_ms if start.uncertainty_ms is not None else SOURCE_UNCERTAINTY_MS[start.source]
        return self.anchor(camera, Anchor(own, true_ms, uncertainty_ms + (doubt or 0)))

    # --- fitting --------------------------------------------------------------------------------------------------------

    def fit(
        self,
        camera: str,
        *,
        burnt_in: bool = True,
        look: bool = False,
        order: Order | None = None,
        dry_run: bool = False,
    ) -> FitReport:
        """Fit a camera's clock to its anchors and, with `burnt_in`, to the clock read off the pictures of its documents.

        What was read at ingest is taken; with `look` the files are looked at again, where they still are, which tells to about a tenth of
        a second. Raises UserError where there is nothing to fit to.
        """
        record, reader = self._camera(camera), self._looker() if look else None
        clock = clock_of(record)
        told = list(self._told(camera, record["tz"], reader, order)) if burnt_in else []
        starts = [_read_start(document, own) for document, own in told if _is_replaced(document)]
        anchors = [*clock.anchors, *(anchor for document, own in told for anchor in _anchors(document, own))]
        if not anchors and not starts:
            raise UserError(
                f"camera {camera}: nothing to fit to. Give anchors with `vgraph clock anchor {camera}`, or ingest with a model that "
                "reads text (VGRAPH_MODELS__READ), so that a clock in the picture is read"
            )
        found = fitted(anchors) if anchors else None
        new = Clock(found.spans, "fit", clock.anchors) if found else clock
        report = _report(camera, new, len(anchors), found, starts)
        if dry_run:
            return report
        for document, own in told:
            self._restart(document, own.levels[0], record["tz"])
        return replace(report, moved=self._change(camera, new, record["tz"]))

    def _looker(self) -> Reader:
        reader = self._reader()
        if reader is None:
            raise UserError("nothing here reads text in pictures: see VGRAPH_MODELS__READ and `vgraph doctor`")
        return reader

    def _told(
        self, camera: str, tz: str, reader: Reader | None, order: Order | None
    ) -> Iterator[tuple[dict[str, Any], OwnTime]]:
        """Documents with what their burnt-in clocks show, where they show anything."""
        for document in self._store.clocks.documents(camera):
            texts = self._texts(document, reader)
            if own := own_time(readings(texts, tz, order=order, near_ms=_near(document, tz))):
                yield document, own

    def _texts(self, document: Mapping[str, Any], reader: Reader | None) -> Iterable[Text]:
        if reader is not None and Path(document["uri"]).is_file():
            return looked_at(probe(Path(document["uri"])), reader)
        return (Text(**row) for row in self._store.clocks.reads(document["_key"]))

    def _restart(self, document: Mapping[str, Any], level: Level, tz: str) -> None:
        """Take the start of a document from its burnt-in clock; what it was is kept for `reset`."""
        if not _is_replaced(document):
            return
        start = StartTime(level.own_ms, StartSource.burnt_in, tz, level.uncertainty_ms, round(level.drift_ppm, 3))
        was = document["replaced"] or start_values(told_start(document))
        self._store.clocks.write_document(document["_key"], {**start_values(start), "replaced": was})

    # --- coverage -------------------------------------------------------------------------------------------------------

    def coverage(self, filters: Filters, *, join_ms: int = 0) -> list[dict[str, Any]]:
        """What was recorded when, camera by camera: stretches, gaps, and how far their times may be off."""
        return self._store.clocks.coverage(filters, join_ms=join_ms)

    # --- both -----------------------------------------------------------------------------------------------------------

    def _camera(self, key: str) -> dict[str, Any]:
        record = self._store.camera(key)
        if record is None:
            raise NotFoundError(f"no camera {key!r}; `vgraph cameras` lists them")
        return record

    def _change(self, camera: str, clock: Clock, tz: str, zone_decided: bool = False) -> Moved:
        decided = {"tz_decided": True} if zone_decided else {}
        self._store.clocks.write_camera(camera, {"tz": tz, "clock": clock_record(clock), **decided})
        return move_camera(self._store, camera, self._report)


def _is_replaced(document: Mapping[str, Any]) -> bool:
    return StartSource(document["start_source"]) in REPLACED_BY_READING


def _near(document: Mapping[str, Any], tz: str) -> int | None:
    """About when a recording began by the camera's own clock, where anything but the picture tells."""
    start = told_start(document)
    if start.source in (StartSource.unknown, StartSource.burnt_in):
        created: int | None = document["created_ms"]
        return created
    return zoned(start.ms, start.tz, tz)


def _read_start(document: Mapping[str, Any], own: OwnTime) -> ReadStart:
    first = own.levels[0]
    return ReadStart(
        document["_key"], document["title"], document["own_start_ms"], document["start_source"], first.own_ms,
        first.uncertainty_ms, sum(level.used for level in own.levels), own.misread,
    )  # fmt: skip


def _anchors(document: Mapping[str, Any], own: OwnTime) -> Iterator[Anchor]:
    """What a clock in a picture says of a camera's clock, where the recording's true start was given: one anchor a level."""
    if document["start_source"] != StartSource.flag:
        return
    for level in own.levels:
        middle = (level.offset_ms + level.end_offset_ms) // 2
        yield Anchor(level.own_ms + middle, document["own_start_ms"] + middle, level.uncertainty_ms)


def _report(camera: str, clock: Clock, anchors: int, found: Fitted | None, starts: Sequence[ReadStart]) -> FitReport:
    residual, outliers = (found.residual_ms, found.outliers) if found else (None, ())
    return FitReport(camera, clock.spans, anchors, residual, outliers, tuple(starts))


def checked_zone(tz: str) -> str:
    """The zone, if there is one of this name. Raises UserError."""
    try:
        ZoneInfo(tz)
    except (KeyError, ValueError, OSError):
        raise UserError(f"time zone {tz!r} is not known: use a name such as Europe/Berlin or UTC") from None
    return tz
