"""Actions as sentences and as relations."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from zoneinfo import ZoneInfo

from vgraph.evals.world.script import Action, Script
from vgraph.evals.world.site import ZONES, Vehicle

Naming = Callable[[str], str]
"""From an id to what it is called in a sentence."""

FORMS: dict[str, tuple[str, str]] = {  # present: infinitive, past
    "picks up": ("pick up", "picked up"),
    "puts down": ("put down", "put down"),
    "hands over": ("hand over", "handed over"),
    "loads": ("load", "loaded"),
    "unloads": ("unload", "unloaded"),
    "gets into": ("get into", "got into"),
    "gets out of": ("get out of", "got out of"),
    "drives": ("drive", "drove"),
    "talks to": ("talk to", "talked to"),
    "arrives at": ("arrive at", "arrived at"),
    "leaves": ("leave", "left"),
    "comes to": ("come to", "came to"),
}
_TOWARDS = {"hands over": "to", "loads": "into", "unloads": "from"}
_LINKS = {  # what an action says besides subject -verb-> object
    "hands over": (("other", "receives", "object"), ("subject", "gives something to", "other")),
    "loads": (("object", "is loaded into", "other"),),
    "unloads": (("object", "is unloaded from", "other"),),
    "puts down": (("object", "is put down in", "zone"),),
    "picks up": (("object", "is picked up in", "zone"),),
}


def named(script: Script) -> Naming:
    """Full names, with an article where a sentence needs one."""

    def name(id_: str) -> str:
        if id_ in ZONES:
            return f"the {ZONES[id_].name}"
        item = script.named[id_]
        if isinstance(item, Vehicle):
            return f"the {item.colour} {item.name}"
        return item.name

    return name


def clause(action: Action, verb: str, name: Naming) -> str:
    """ "Maria Lopez handed over parcel 12 to Jonas Weber", with the verb in the form given."""
    text = f"{name(action.subject)} {verb} {name(action.object)}"
    return f"{text} {_TOWARDS[action.verb]} {name(action.other)}" if action.other else text


def relations(action: Action) -> tuple[tuple[str, str, str], ...]:
    """The relations that hold while an action lasts, as ids: source, relation, target."""
    main = (action.subject, action.verb, action.object)
    more = ((getattr(action, a), verb, getattr(action, b)) for a, verb, b in _LINKS.get(action.verb, ()))
    return (main, *more)


def clock(ms: int, tz: str, form: str = "%H:%M:%S") -> str:
    return datetime.datetime.fromtimestamp(ms // 1000, ZoneInfo(tz)).strftime(form)
