"""What people say about identities: merge, split, confirm, reject, undo. Each is an entry of the log and then a run of `resolve`.

Nothing is decided that contradicts what stands: the message says which decision to undo first.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from vgraph.errors import NotFoundError, UserError
from vgraph.ingest.identity.decisions import (
    Decision,
    Kind,
    Pair,
    Selection,
    decision,
    dependents,
    pair,
    rulings,
    standing,
)
from vgraph.store import Store

ATTEMPTS = 10
"""So many others may enter a decision in the moment in which this one is entered."""
LISTED = 5


def find_entity(store: Store, named: str) -> dict[str, Any]:
    """The entity of a key, or the only one of a name. Raises NotFoundError, and UserError where several bear the name."""
    found = store.identities.find(named)
    if not found:
        raise NotFoundError(f"no entity {named!r}; `vgraph entities list` lists them")
    if len(found) > 1:
        keys = ", ".join(f"{one['_key']} ({one['type']})" for one in found[:LISTED])
        raise UserError(f"{len(found)} entities are called {named!r}: name one by its key: {keys}")
    return found[0]


def merge(store: Store, one: str, others: Sequence[str]) -> Decision:
    """Entities (keys or names) that are one. Raises UserError where their types differ or a decision that stands holds them apart."""
    first, *rest = (find_entity(store, name) for name in (one, *others))
    for other in rest:
        if other["type"] != first["type"]:
            raise UserError(
                f"{first['name']!r} is a {first['type']}, {other['name']!r} a {other['type']}: one thing has one type"
            )
    keys = list(dict.fromkeys(entity["_key"] for entity in (first, *rest)))
    if len(keys) < 2:
        raise UserError("to merge takes two entities or more")
    if number := _said_already(history(store), keys):
        raise UserError(f"decision {number} says so already: nothing is to be decided")
    return _enter(store, "merge", keys)


def _said_already(log: Sequence[Decision], keys: Sequence[str]) -> int:
    """The last of the standing decisions by which entities are one already, 0 where they are not."""
    ruled = rulings(standing(log))
    paths = [_path(pair(keys[0], key), ruled) for key in keys[1:]]
    return max(max(path) for path in paths) if all(paths) else 0


def split(store: Store, named: str, selection: Selection, name: str | None = None) -> Decision:
    """Mentions of an entity that are another's: those of documents, tracks or chunks. Raises UserError where it selects none, or all."""
    entity = find_entity(store, named)
    if name is not None and not name.strip():
        raise UserError("--name is empty: leave it out, and the other one is called as before")
    if not selection:
        raise UserError("name what belongs to the other one: --document, --track or --chunk")
    _check_selection(store, entity["_key"], selection)
    return _enter(store, "split", [entity["_key"]], selection, name)


def _check_selection(store: Store, key: str, selection: Selection) -> None:
    """A split that takes nothing, or leaves nothing, splits nothing."""
    taken, left = store.identities.selected(
        key, documents=selection.documents, tracks=selection.tracks, chunks=selection.chunks
    )
    if not taken:
        raise UserError("nothing of that entity lies in what was named")
    if not left:
        raise UserError("all of that entity lies in what was named: nothing would be left of it")


def rule(store: Store, proposal: str, same: bool) -> Decision:
    """Confirm or reject a proposal: the key of a SAME_AS edge, or of an entity that may be two. Raises NotFoundError."""
    kind: Kind = "confirm" if same else "reject"
    if edge := store.identities.edge(proposal):
        return _enter(store, kind, [edge[end].partition("/")[2] for end in ("_from", "_to")])
    doubted = next((one for one in store.identities.find(proposal) if one.get("doubt")), None)
    if doubted is None:
        raise NotFoundError(f"no proposal {proposal!r}; `vgraph entities proposals` lists them")
    if same:
        return split(store, doubted["_key"], Selection(documents=tuple(doubted["doubt"]["documents"])))
    return _enter(store, kind, [doubted["_key"]])


def rule_pair(store: Store, one: str, other: str, same: bool) -> Decision:
    """Two entities (keys or names) are one, or two. Raises UserError where a decision that stands says otherwise."""
    if same:
        return merge(store, one, [other])
    return _enter(store, "reject", [find_entity(store, name)["_key"] for name in (one, other)])


def undo(store: Store, number: int | None = None) -> Decision:
    """Take a decision back, the last one that stands without a number. Raises NotFoundError, and UserError where others rest on it."""
    log = history(store)
    stands = standing(log)
    if number is None and not stands:
        raise UserError("there is no decision to undo")
    number = stands[-1].number if number is None else number
    taken = next((entry for entry in log if entry.number == number), None)
    if taken is None:
        raise NotFoundError(f"no decision {number}; `vgraph entities history` lists them")
    if taken.kind != "undo" and taken not in stands:
        raise UserError(f"decision {number} is undone already; undoing the undo brings it back")
    if resting := dependents(number, stands):
        raise UserError(
            f"decision {resting[-1].number} is about what decision {number} made: undo {resting[-1].number} first"
        )
    return _enter(store, "undo", list(taken.entities), of=number)


def history(store: Store) -> tuple[Decision, ...]:
    return tuple(decision(record) for record in store.identities.decisions())


def _enter(
    store: Store, kind: Kind, entities: Sequence[str], selection: Selection | None = None, name: str | None = None,
    of: int | None = None,
) -> Decision:  # fmt: skip
    """Write the decision with the next number, and have whom it is about resolved again."""
    for _ in range(ATTEMPTS):
        log = history(store)
        number = log[-1].number + 1 if log else 1
        entry = Decision(number, kind, tuple(entities), selection or Selection(), name, of)
        _check_consistent((*log, entry))
        made = [e.product for e in log if e.kind == "split" and e.entities[0] in entities]
        if store.identities.decide(entry.record(time.time_ns() // 1_000_000), [*entities, *made]):
            return entry
    raise UserError("others decide at this moment; try again")


def _check_consistent(log: Sequence[Decision]) -> None:
    """Raise UserError where the decisions that stand make two entities one and hold them apart."""
    ruled = rulings(standing(log))
    roots: dict[str, str] = {}

    def root(key: str) -> str:
        while key in roots:
            key = roots[key]
        return key

    for (a, b), ruling in ruled.items():
        if ruling.same and root(a) != root(b):
            roots[max(root(a), root(b))] = min(root(a), root(b))
    for couple, ruling in ruled.items():
        if not ruling.same and root(couple[0]) == root(couple[1]):
            raise UserError(_contradiction(couple, ruled, log[-1].number))


def _contradiction(couple: Pair, ruled: Mapping[Pair, Any], newest: int) -> str:
    """Which decisions stand against the newest one: the one that holds the couple apart, or those that make it one."""
    apart = ruled[couple].number
    if apart != newest:
        return f"decision {apart} holds {couple[0]} and {couple[1]} apart, and this would make them one: undo {apart} first"
    path = sorted(_path(couple, ruled))
    return f"{couple[0]} and {couple[1]} are one by decision {', '.join(map(str, path))}: undo that first"


def _path(couple: Pair, ruled: Mapping[Pair, Any]) -> set[int]:
    """Numbers of the decisions by which one end of a couple is one with the other."""
    came: dict[str, tuple[str, int]] = {}
    frontier = [couple[0]]
    while frontier and couple[1] not in came:
        here = frontier.pop(0)
        for (a, b), ruling in ruled.items():
            other = b if a == here else a if b == here else None
            if ruling.same and other and other != couple[0] and other not in came:
                came[other] = (here, ruling.number)
                frontier.append(other)
    numbers, here = set(), couple[1]
    while here in came:
        here, number = came[here]
        numbers.add(number)
    return numbers
