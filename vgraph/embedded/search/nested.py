"""Nested search: conditions that one object of an array has to meet by itself.

The index knows of every document what its objects have together, which narrows a search down; what is left is read, and its
objects are searched as documents of their own ("Nested search with ArangoSearch", ArangoDB documentation). It adds nothing to
scores.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from vgraph.embedded.arrays import NO_INTS, Ints

from .conditions import AllOf, AnyOf, Condition, Every, Expression, Nested, Not, Nothing, all_of
from .fields import ELEMENTS, Collector, FieldRule
from .postings import Postings
from .segments import NESTED

if TYPE_CHECKING:
    from .evaluate import Evaluator, Member

_BATCH = 1000  # documents whose objects are searched together


def nested_hits(evaluator: Evaluator, condition: Nested) -> Ints:
    """Ordinals of the documents that have as many such objects as are wanted."""
    member, path = evaluator.member, condition.path.replace("[*]", "")
    rule, marked = member.nested(path), evaluator.postings.value(path, NESTED)
    if rule is None or marked is None:
        return NO_INTS
    candidates = marked.present()
    if condition.least > 0:
        near = evaluator.hits(_together(condition.inner, path)).ords
        candidates = np.intersect1d(candidates, near, assume_unique=True)
    kept = [
        _fitting(evaluator, condition, path, rule, candidates[start : start + _BATCH])
        for start in range(0, len(candidates), _BATCH)
    ]
    return np.concatenate(kept) if kept else NO_INTS


def _together(condition: Condition, path: str) -> Condition:
    """What a document has, taken together, when one of its objects meets a condition."""
    match condition:
        case AllOf(parts):
            return all_of([_together(part, path) for part in parts])
        case AnyOf(parts, minimum):
            return AnyOf(tuple(_together(part, path) for part in parts), minimum)
        case Not() | Expression() | Every():
            return Every()
        case Nothing():
            return condition
        case Nested(below, least, _, _, inner):
            return _together(inner, f"{path}{ELEMENTS}.{below}") if least > 0 else Every()
        case _:
            return replace(condition, path=f"{path}{ELEMENTS}.{condition.path}")


def _fitting(evaluator: Evaluator, condition: Nested, path: str, rule: FieldRule, ords: Ints) -> Ints:
    documents = evaluator.member.documents(evaluator.postings.rows.view[ords])
    objects = [(at, item) for at, document in enumerate(documents) for item in _objects(document, path)]
    parents = np.array([at for at, _ in objects], np.int64)
    within = _inside(evaluator.member, path, rule, [item for _, item in objects])
    found = type(evaluator)(within, type(evaluator.statistics)([within]), ()).hits(condition.inner).ords
    matching = np.bincount(parents[found], minlength=len(ords))
    if condition.every:
        wanted = matching == np.bincount(parents, minlength=len(ords))
    else:
        most = len(objects) if condition.most is None else condition.most
        wanted = (matching >= condition.least) & (matching <= most)
    kept: Ints = ords[wanted]
    return kept


def _objects(document: dict[str, Any] | None, path: str) -> list[dict[str, Any]]:
    value: Any = document
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _inside(member: Member, path: str, rule: FieldRule, objects: list[dict[str, Any]]) -> Member:
    """The objects as the documents of an index."""
    postings = Postings(member.postings.log, member.postings.keep_positions)
    for number, item in enumerate(objects):
        collector = Collector(member.analyzer_named)
        collector.attributes(item, "", rule)
        postings.put(number, collector.payload)

    def full(below: str) -> str:
        return f"{path}{ELEMENTS}.{below}"

    return type(member)(
        postings,
        lambda below, asked: member.resolve(full(below), asked),
        member.analyzer,
        lambda below: True,
        lambda rows: [objects[row] for row in rows.tolist()],
        lambda below: member.nested(full(below)),
    )
