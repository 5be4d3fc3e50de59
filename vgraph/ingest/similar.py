"""SIMILAR_TO: which clips look or sound like which others, within a camera and across cameras (VideoStir, spatial edges).

Every described clip keeps an edge to the `top` clips most like it on its own camera, without its neighbours in time, and to the `top`
most like it on all others, as far as their cosine reaches `eta`. They come out of the vector index, a batch of clips a query; nothing
is compared with everything. Whoever comes later is offered to those it finds, and takes the place of what is less like them: so the
edges are those of all the clips that are there, in whatever order they came.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from vgraph.ingest.keys import content_key, edge_key
from vgraph.store import Store
from vgraph.store.derived import Derived, Pending
from vgraph.types import Progress, Record

if TYPE_CHECKING:
    from collections.abc import Callable

STAGE = "similar"
BATCH = 64
PROBED = 16
"""How many times `top` are looked at: those whom a clip that comes later may be offered to, and so that clips of one content are told
apart by key and not by the order they were written in."""
KEPT: Final = 100_000
"""Clips whose edges are kept in memory while others are offered to them."""


@dataclass(frozen=True, slots=True)
class SimilarOptions:
    """eta: the least cosine of an edge (VideoStir: 0.4); top: at most so many edges within a camera, and so many across."""

    eta: float = 0.4
    top: int = 4

    @property
    def config(self) -> str:
        return content_key(STAGE, repr(self.eta), self.top)


def link_similar(store: Store, options: SimilarOptions, report: Callable[[Progress], None]) -> int:
    """Make the SIMILAR_TO edges of every document that lacks them under these options; the number of documents done.

    Killed anywhere, the next run begins again with the document it was at, and ends in the same edges.
    """
    pending = store.derived.pending(STAGE, options.config)
    waiting = {document.document for document in pending}
    lists = _Lists(store.derived, options.top)
    for number, document in enumerate(pending):
        report(Progress(document.document, STAGE, number, len(pending), "documents"))
        _link(store.derived, document, options, waiting, lists)
        store.derived.done(STAGE, [document])
        waiting.discard(document.document)
    return len(pending)


def _link(derived: Derived, pending: Pending, options: SimilarOptions, waiting: Set[str], lists: _Lists) -> None:
    """A clip of which nothing was said is like nothing: it only loses the edges it may have had.

    Clips of this document, and of those `waiting`, look for themselves; all others are offered what is found to be like them.
    """
    chunks = derived.chunks(pending.document)
    for begin in range(0, len(chunks), BATCH):
        batch = chunks[begin : begin + BATCH]
        described = [chunk["_key"] for chunk in batch if chunk["described"]]
        found = derived.similar(described, pending.camera, eta=options.eta, probe=PROBED * options.top)
        links = [link for row in found for link in _links(row, pending.camera)]
        own = lists.begin([chunk["_key"] for chunk in batch], links)
        offered = lists.offer([_back(link) for link in links if link.other not in waiting])
        edges = [link.edge for link in (*own, *offered.taken)]
        derived.relink([chunk["_key"] for chunk in batch], edges, [_edge_key(*ends) for ends in offered.left])


# --- who is linked to whom ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Link:
    """`document` and `camera` are those of the clip (key) a link leaves, `other` is the document of the one it reaches."""

    start: str
    end: str
    weight: float
    document: str
    camera: str
    other: str
    other_camera: str

    @property
    def list(self) -> tuple[str, bool]:
        """Which of a clip's two lists it stands in: the one within its camera, or the one across."""
        return self.start, self.camera != self.other_camera

    @property
    def place(self) -> tuple[float, str]:
        """Its place in the list: the likest first, of equals the first by key."""
        return -self.weight, self.end

    @property
    def edge(self) -> Record:
        return {
            "_key": _edge_key(self.start, self.end),
            "_from": f"chunks/{self.start}",
            "_to": f"chunks/{self.end}",
            "document": self.document,
            "other": self.other,
            "camera": self.camera,
            "across": self.camera != self.other_camera,
            "weight": self.weight,
        }


def _links(row: Mapping[str, Any], camera: str) -> Iterator[_Link]:
    for near in row["near"]:
        yield _Link(
            row["chunk"], near["chunk"], near["weight"], row["document"], camera, near["document"], near["camera"]
        )


def _back(link: _Link) -> _Link:
    """The same likeness, seen from the other side."""
    return _Link(link.end, link.start, link.weight, link.other, link.other_camera, link.document, link.camera)


def _edge_key(start: str, end: str) -> str:
    return edge_key(f"chunks/{start}", "SIMILAR_TO", f"chunks/{end}")


@dataclass(slots=True)
class _Offered:
    """What became of an offer: links that were taken, and those (ends) that had to make room."""

    taken: list[_Link] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class _Lists:
    """The `top` places of each list of each clip, as far as they were read or written in this run."""

    derived: Derived
    top: int
    places: dict[tuple[str, bool], list[tuple[float, str]]] = field(default_factory=dict)

    def begin(self, chunks: Iterable[str], links: Iterable[_Link]) -> list[_Link]:
        """Begin the lists of chunks anew with the first of these links; those that found a place."""
        if len(self.places) > 2 * KEPT:
            self.places.clear()
        self.places |= {(chunk, across): [] for chunk in chunks for across in (False, True)}
        taken = []
        for link in sorted(links, key=lambda link: (link.list, link.place)):
            if len(self.places[link.list]) < self.top:
                self.places[link.list].append(link.place)
                taken.append(link)
        return taken

    def offer(self, links: Sequence[_Link]) -> _Offered:
        """Offer links to the lists of clips that were done before."""
        self._read({link.start for link in links})
        taken: dict[tuple[str, str], _Link] = {}
        left: set[tuple[str, str]] = set()
        for link in links:
            places = self.places[link.list]
            if link.place in places or (len(places) == self.top and places[-1] < link.place):
                continue
            insort(places, link.place)
            taken[link.start, link.end] = link
            for _, end in places[self.top :]:
                if taken.pop((link.start, end), None) is None:
                    left.add((link.start, end))
            del places[self.top :]
        return _Offered(list(taken.values()), sorted(left))

    def _read(self, chunks: Set[str]) -> None:
        new = sorted(chunk for chunk in chunks if (chunk, False) not in self.places)
        self.places |= {(chunk, across): [] for chunk in new for across in (False, True)}
        for row in self.derived.similar_from(new) if new else ():
            places = self.places[row["_from"].partition("/")[2], row["across"]]
            insort(places, (-row["weight"], row["_to"].partition("/")[2]))
