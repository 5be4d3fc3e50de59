"""One document on its way into the graph: what its stages share, and what they note."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from vgraph.errors import MediaError, MissingDependency, ModelError
from vgraph.ingest.calls import Calls, Shared
from vgraph.ingest.graph import Place
from vgraph.ingest.options import Options, Tools
from vgraph.media.assets import Assets
from vgraph.media.audio import audio
from vgraph.media.container import Warn
from vgraph.media.frames import frames
from vgraph.store import Store
from vgraph.store.store import Holding
from vgraph.types import AudioPiece, Frame, GraphDelta, Progress, Record, Sidecars, Video

Report = Callable[[Progress], None]
Outcome = Literal["ingested", "resumed", "unchanged"]
Seal = tuple[int, ...]
"""What tells a file from another one, or from itself before it was written to."""
T = TypeVar("T")


@dataclass(slots=True)
class Notes:
    """What a run notes for its report: seconds spent a stage, what went wrong on the way, how often a model failed."""

    seconds: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    failures: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        begun = time.perf_counter()
        try:
            yield
        finally:
            passed = time.perf_counter() - begun
            with self._lock:
                self.seconds[name] = self.seconds.get(name, 0.0) + passed

    def failed(self) -> None:
        with self._lock:
            self.failures += 1


@dataclass(frozen=True, slots=True)
class Job:
    """One document, or a piece of a live one, on its way: everything its stages share, none of it changing.

    `stages` maps a stage to its configuration (ledger.py), `ledger` what is finished to its entry. `base_ms` is the document's media time
    at the first picture of `video`: 0, but for a piece of a live document. Stages speak of the document's media time only.
    """

    video: Video
    sidecars: Sidecars
    place: Place
    options: Options
    tools: Tools
    store: Store
    assets: Assets
    report: Report
    notes: Notes
    stages: Mapping[str, str]
    ledger: Mapping[str, Mapping[str, Any]]
    seal: Seal
    calls: Calls
    shared: Shared
    outcome: Outcome = "ingested"
    """What the report is to say: `resumed` where an earlier run of the same configuration is gone on with."""
    looked: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """Segments (by offset) whose pictures are kept, with what was damaged in them."""
    base_ms: int = 0
    live: bool = False
    names: Mapping[str, str] = field(default_factory=dict)
    """Whom people confirmed tracks (by id) to be."""
    subject: str = ""
    """What progress is told of; the video's name where nothing else is said."""

    # --- the ledger -----------------------------------------------------------------------------------------------------

    @property
    def config(self) -> str:
        """The configuration of the whole document."""
        return self.stages["chunks"]

    def entry(self, name: str, stage: str, **facts: Any) -> dict[str, Any]:
        """The ledger's word that a stage, or a batch of one, is finished."""
        return {
            "_key": f"{self.place.document}-{name}",
            "kind": "stage",
            "document": self.place.document,
            "chunk": None,
            "stage": name,
            "config": self.stages[stage],
            "state": "done",
            **facts,
        }

    def done(self, name: str, stage: str) -> bool:
        """Whether it is finished under the configuration it has now."""
        found = self.ledger.get(name)
        return found is not None and found["state"] == "done" and found["config"] == self.stages[stage]

    def apply(self, delta: GraphDelta) -> None:
        """Write a stage, unless the file was replaced, or the document deleted or begun anew by somebody else, meanwhile."""
        if seal_of(self.video.path) != self.seal:
            what = f"{self.video.path}: changed while it was being read; what was read of it is not complete"
            raise MediaError(what, path=str(self.video.path))
        self.store.apply(delta, holding=Holding(self.place.document, self.config, self.place.timeline.fingerprint))

    def write_stage(
        self, name: str, stage: str, collection: str, records: tuple[Record, ...], failed: Sequence[str]
    ) -> None:
        """A stage that failed is told and not entered in the ledger: the next run does it again. A growing document goes by its chunks."""
        self.notes.warnings.extend(failed)
        ledger = () if failed or self.live else (self.entry(name, stage),)
        now = time.time_ns() // 1_000_000
        self.apply(GraphDelta({collection: tuple({**r, "recorded_ms": now} for r in records), "ledger": ledger}))

    # --- what stages use ------------------------------------------------------------------------------------------------

    def tell(self, stage: str, done: int, total: int | None, unit: str = "segments") -> None:
        """How far a stage has come; the place where a run that is to stop does."""
        self.shared.check()
        self.report(Progress(self.subject or self.video.path.name, stage, done, total, unit))

    def attempt(self, what: str, action: Callable[[], T], otherwise: T) -> tuple[T, tuple[str, ...]]:
        """What a model gives, or `otherwise` and a warning when it fails; a package that is not installed stops the ingest."""
        try:
            return action(), ()
        except MissingDependency:
            raise
        except ModelError as error:
            self.notes.failed()
            return otherwise, (f"{what}: {error}",)

    def warn(self, text: str) -> None:
        self.notes.warnings.append(text)

    @property
    def end_ms(self) -> int:
        """The document's media time at the end of `video`."""
        return self.base_ms + self.video.duration_ms

    def frames(
        self,
        every_ms: int,
        *,
        start_ms: int | None = None,
        end_ms: int | None = None,
        width: int | None = None,
        warn: Warn | None = None,
    ) -> Iterator[Frame]:
        """As media.frames, in the document's media time."""
        start = 0 if start_ms is None else start_ms - self.base_ms
        end = None if end_ms is None else end_ms - self.base_ms
        found = frames(self.video, every_ms, start_ms=start, end_ms=end, width=width, warn=warn or self.warn)
        return found if not self.base_ms else (replace(f, offset_ms=f.offset_ms + self.base_ms) for f in found)

    def audio(self) -> Iterator[AudioPiece]:
        """The sound, in the document's media time; none where there is none."""
        if self.video.audio is None:
            return
        for piece in audio(self.video, warn=self.warn):
            yield replace(piece, offset_ms=piece.offset_ms + self.base_ms) if self.base_ms else piece


def seal_of(path: Path) -> Seal:
    """Nothing where there is no file: `probe` says what is wrong."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
