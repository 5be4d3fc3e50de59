"""Which entities and relations a model may name: one of the sets for a domain, or the operator's own."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

_JOINTS: Final = re.compile(r"(?<=\w)[-_]+(?=\w)|_+")
EGAGENT: Final = ("talks to", "interacts with", "mentions", "uses")
"""EGAgent's relations (E4); a hyphen between words is read as a space."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The types a model may use. With `open_relations`, or without relation types, a short verb phrase of its own passes, too.

    `synonyms` (from, to) are relation names that mean another one; nothing else is taken for the same.
    """

    entity_types: tuple[str, ...]
    relation_types: tuple[str, ...] = ()
    open_relations: bool = False
    synonyms: tuple[tuple[str, str], ...] = ()

    def relation(self, name: str) -> str:
        """A relation's name in the form that is stored: lower case, single spaces, a configured synonym replaced."""
        plain = normal_relation(name)
        return next((normal_relation(to) for known, to in self.synonyms if normal_relation(known) == plain), plain)

    @property
    def relations(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(map(self.relation, self.relation_types)))

    @property
    def is_open(self) -> bool:
        return self.open_relations or not self.relation_types

    def permits(self, relation: str) -> bool:
        """Whether a relation, in its stored form, may be used."""
        return self.is_open or relation in self.relations


def normal_relation(name: str) -> str:
    """`Talks-To` and `talks_to` are `talks to`."""
    return " ".join(_JOINTS.sub(" ", unicodedata.normalize("NFKC", name).casefold()).split())


PRESETS: Final[Mapping[str, Vocabulary]] = MappingProxyType(
    {
        "general": Vocabulary(
            ("person", "vehicle", "object", "location", "organisation", "event", "animal"), EGAGENT, open_relations=True
        ),
        "egocentric": Vocabulary(("person", "location", "object"), EGAGENT),
        "warehouse": Vocabulary(
            ("person", "vehicle", "package", "equipment", "location", "organisation"),
            ("picks up", "puts down", "carries", "hands over", "receives", "loads", "unloads", "scans", "opens", "closes", "drives",
             "gets into", "gets out of", "enters", "leaves", "is in", "waits at", "comes close to", *EGAGENT),
        ),
        "traffic": Vocabulary(
            ("person", "vehicle", "animal", "location", "sign", "event"),
            ("drives along", "turns into", "stops at", "waits at", "parks at", "enters", "leaves", "crosses", "follows", "overtakes",
             "yields to", "passes", "comes close to", "collides with", "disregards", "gets into", "gets out of", *EGAGENT),
        ),
        "retail": Vocabulary(
            ("person", "product", "object", "location", "organisation", "event"),
            ("looks at", "picks up", "puts back", "carries", "tries on", "puts into", "conceals", "pays for", "hands over", "receives",
             "queues at", "serves", "asks for", "enters", "leaves", *EGAGENT),
        ),
    }
)  # fmt: skip
"""Sets of types by domain. `general`: the widest, E4's relations and any other verb phrase; `egocentric`: E4's own, and nothing else."""


def vocabulary(
    preset: str = "general",
    entity_types: Sequence[str] = (),
    relation_types: Sequence[str] = (),
    open_relations: bool | None = None,
    synonyms: Iterable[tuple[str, str]] = (),
) -> Vocabulary:
    """A preset with what the operator sets in its place: own relation types are all there are, unless `open_relations` says otherwise."""
    base = PRESETS[preset]
    is_open = base.open_relations and not relation_types if open_relations is None else open_relations
    return Vocabulary(
        tuple(entity_types) or base.entity_types,
        tuple(relation_types) or base.relation_types,
        is_open,
        tuple(synonyms),
    )
