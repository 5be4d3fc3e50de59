"""The face of identities: what is held of them, and what people say of them. Every decision is followed by a run of `resolve`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from vgraph.errors import UserError
from vgraph.ingest.identity import deciding
from vgraph.ingest.identity.decisions import Decision, Selection, standing
from vgraph.ingest.identity.options import IdentityOptions
from vgraph.ingest.identity.presence import Between
from vgraph.ingest.identity.resolve import ResolveReport, resolve
from vgraph.ingest.identity.sites import adjacency, adjacency_key
from vgraph.store import Store
from vgraph.types import Progress


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision that was entered, and what became of the graph by it."""

    decision: Decision
    report: ResolveReport


class Identification:
    """Entities of a graph as people look at them and decide about them. Entities are named by key, or by a name that only one bears."""

    def __init__(self, store: Store, options: IdentityOptions, report: Callable[[Progress], None]) -> None:
        self._store, self._options, self._report = store, options, report

    def resolve(self) -> ResolveReport:
        """Find out which entities are one, as far as they changed since the last run."""
        return resolve(self._store, self._options, self._report)

    # --- looking --------------------------------------------------------------------------------------------------------

    def listed(self, *, type: str | None = None, name: str | None = None, limit: int = 50) -> list[dict[str, Any]]:
        """Entities, those that are one as one, most often mentioned first."""
        return self._store.identities.listed(type, name, limit)

    def show(self, named: str) -> dict[str, Any]:
        """An entity with its cluster, the edges that make it, and what may be one with it."""
        entity = deciding.find_entity(self._store, named)
        canonical = entity.get("canonical") or entity["_key"]
        members = sorted({entity["_key"], *self._store.identities.family([canonical])})
        edges = self._store.identities.edges(members)
        profiles = self._store.identities.profiles(sorted({*members, *(_key(e[end]) for e in edges for end in ENDS)}))
        named_by = {row["_key"]: row["name"] for row in profiles}
        told = [
            {**edge, "first": {"_key": _key(edge["_from"]), "name": named_by.get(_key(edge["_from"]))},
             "second": {"_key": _key(edge["_to"]), "name": named_by.get(_key(edge["_to"]))}}
            for edge in edges
        ]  # fmt: skip
        shown = [
            {name: row.get(name) for name in ("_key", "type", "name", "aliases", "description", "cameras")}
            for row in profiles
            if row["_key"] in members
        ]
        return {"_key": canonical, "members": shown, "identities": told, "doubt": entity.get("doubt")}

    def proposals(self, *, status: str = "proposed", limit: int = 50) -> dict[str, list[dict[str, Any]]]:
        """What waits for a decision (or was decided): {merges: SAME_AS edges with both ends, splits: entities that may be two}."""
        found = self._store.identities
        return {"merges": found.proposals(status, limit), "splits": found.doubts(status, limit)}

    def history(self) -> list[dict[str, Any]]:
        """The log of decisions, each with whether it stands."""
        log = deciding.history(self._store)
        stands = {entry.number for entry in standing(log)}
        return [{**asdict(entry), "stands": entry.number in stands} for entry in log]

    # --- deciding -------------------------------------------------------------------------------------------------------

    def merge(self, one: str, *others: str) -> Decided:
        return self._done(deciding.merge(self._store, one, others))

    def split(
        self,
        named: str,
        *,
        documents: Sequence[str] = (),
        tracks: Sequence[str] = (),
        chunks: Sequence[str] = (),
        name: str | None = None,
    ) -> Decided:
        """Give what an entity has in documents, tracks or chunks (keys) to another one, that is called `name` or as before."""
        chosen = Selection(tuple(documents), tuple(tracks), tuple(chunks))
        return self._done(deciding.split(self._store, named, chosen, name))

    def confirm(self, *named: str) -> Decided:
        """A proposal by its key, or two entities, are one; the proposal of a split is followed."""
        return self._rule(named, True)

    def reject(self, *named: str) -> Decided:
        """A proposal by its key, or two entities, are not one; the proposal of a split is dismissed."""
        return self._rule(named, False)

    def undo(self, number: int | None = None) -> Decided:
        """Take a decision back, by its number or the last one that stands."""
        return self._done(deciding.undo(self._store, number))

    def _rule(self, named: Sequence[str], same: bool) -> Decided:
        if len(named) not in (1, 2):
            raise UserError("name a proposal, or two entities")
        if len(named) == 2:
            return self._done(deciding.rule_pair(self._store, named[0], named[1], same))
        return self._done(deciding.rule(self._store, named[0], same))

    def _done(self, decision: Decision) -> Decided:
        return Decided(decision, self.resolve())

    def look(self, tracks: Iterable[tuple[str, Sequence[float]]]) -> None:
        """Say how tracks (keys) look: a re-identification model's embedding of each. `resolve` compares them by it."""
        self._store.identities.write_looks([{"_key": key, "embedding": list(vector)} for key, vector in tracks])

    # --- cameras --------------------------------------------------------------------------------------------------------

    def adjoin(
        self, one: str, other: str, *, overlapping: bool = False, min_ms: int = 0, max_ms: int | None = None
    ) -> None:
        """Say how two cameras (keys) lie to one another: whether their views overlap, and how long the way takes.

        Raises UserError for one camera, and for times that contradict.
        """
        between = Between(overlapping, min_ms, max_ms)
        if one == other:
            raise UserError("a camera is not adjacent to itself")
        if between.max_ms is not None and between.max_ms < between.min_ms:
            raise UserError("the longest time from camera to camera is shorter than the shortest")
        self._store.identities.adjoin([adjacency(one, other, between)])

    def part(self, one: str, other: str) -> None:
        """Forget how two cameras (keys) lie to one another."""
        self._store.identities.part([adjacency_key(one, other)])

    def adjacent(self) -> list[dict[str, Any]]:
        """How cameras lie to one another: {a, b, min_ms, max_ms, overlapping}."""
        found: list[dict[str, Any]] = self._store.identities.sites()["ways"]
        return found


ENDS = ("_from", "_to")


def _key(id_: str) -> str:
    return id_.partition("/")[2]
