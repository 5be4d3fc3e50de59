"""Where one may look: filters that hold inside of other filters, and moments as people write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from vgraph.errors import UserError
from vgraph.types import Filters

NOTHING = Filters(cameras=())
"""Filters that let nothing through."""


SETS = (
    "cameras", "documents", "places", "tags", "entities", "entity_types", "relation_types", "modalities", "speakers", "weekdays",
)  # fmt: skip
"""Filters of which one value is enough."""


def narrowed(outer: Filters, inner: Filters) -> Filters:
    """What both let through: sets are cut with one another, spans too, the earlier gates hold. Any other side keeps the outer one's value.

    The result never lets through what `outer` does not. Spans that have nothing in common let nothing through.
    """
    sides = {field.name: _other(getattr(outer, field.name), getattr(inner, field.name)) for field in fields(Filters)}
    sides |= {name: _common(getattr(outer, name), getattr(inner, name)) for name in SETS}
    sides["start_ms"] = max(_given(outer.start_ms, inner.start_ms), default=None)
    sides["end_ms"] = min(_given(outer.end_ms, inner.end_ms), default=None)
    sides["not_after"] = min(_given(outer.not_after, inner.not_after), default=None)
    sides["as_of"] = min(_given(outer.as_of, inner.as_of), default=None)
    cut = Filters(**sides)  # type: ignore[arg-type]
    nothing = cut.start_ms is not None and cut.end_ms is not None and cut.start_ms >= cut.end_ms
    return replace(cut, cameras=()) if nothing else cut


def _other(outer: object, inner: object) -> object:
    return inner if outer is None else outer


def _common(outer: Sequence[object] | None, inner: Sequence[object] | None) -> tuple[object, ...] | None:
    if outer is None or inner is None:
        found = inner if outer is None else outer
        return None if found is None else tuple(found)
    return tuple(name for name in outer if name in inner)


def _given(*sides: int | None) -> list[int]:
    return [side for side in sides if side is not None]


def moment(value: str | datetime, tz: str) -> int:
    """UTC ms of a time; naive ones are in `tz`. Raises UserError for what is not ISO 8601, and for an unknown zone."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else value
        return round((found if found.tzinfo else found.replace(tzinfo=zone(tz))).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise UserError(f"{value!r} is not a time: use ISO 8601, for example 2026-03-02T08:15:00+01:00") from None


def zone(tz: str) -> ZoneInfo:
    """The zone of a name. Raises UserError for one that is not known."""
    try:
        return ZoneInfo(tz)
    except (KeyError, ValueError, OSError):
        raise UserError(f"time zone {tz!r} is not known: use a name such as Europe/Berlin or UTC") from None
