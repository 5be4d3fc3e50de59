"""What the graph derives from itself once documents are in it: likeness of clips, who is who, summaries of windows, themes.

Each stage asks the ledger which documents it has not done, does those only, and may be killed anywhere and run again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from vgraph.ingest.communities import ThemeOptions, WindowOptions, Writers, find_themes, summarise_windows
from vgraph.ingest.identity import IdentityOptions, resolve
from vgraph.ingest.similar import SimilarOptions, link_similar
from vgraph.store import Store
from vgraph.types import Progress


@dataclass(frozen=True, slots=True)
class DeriveOptions:
    """The stages to run, each with its options; None leaves a stage out and what it made before as it is."""

    similar: SimilarOptions | None = field(default_factory=SimilarOptions)
    identity: IdentityOptions | None = field(default_factory=IdentityOptions)
    windows: WindowOptions | None = field(default_factory=WindowOptions)
    themes: ThemeOptions | None = field(default_factory=ThemeOptions)


@dataclass(frozen=True, slots=True)
class DeriveReport:
    """Seconds a stage took, and what went wrong: where a model failed, the next run tries again."""

    seconds: dict[str, float]
    warnings: tuple[str, ...]


def derive(
    store: Store, options: DeriveOptions, writers: Writers, report: Callable[[Progress], None] = lambda progress: None
) -> DeriveReport:
    """Run the stages over all documents that are new or changed. The same call again changes nothing."""
    seconds: dict[str, float] = {}
    warnings: list[str] = []

    @contextmanager
    def timed(stage: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        seconds[stage] = time.perf_counter() - begun

    if options.similar:
        with timed("similar"):
            link_similar(store, options.similar, report)
    if options.identity:
        with timed("identity"):
            resolve(store, options.identity, report)
    if options.windows:
        with timed("windows"):
            warnings += summarise_windows(store, options.windows, writers, report)
    if options.themes:
        with timed("themes"):
            warnings += find_themes(store, options.themes, writers, report)
    store.ensure_vector_indexes()
    return DeriveReport(seconds, tuple(warnings))
