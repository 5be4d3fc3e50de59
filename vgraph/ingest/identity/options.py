"""How entities are told to be one: each mechanism can be switched off, each bar moved."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from vgraph.ingest.keys import content_key

ONE_PLACE = ("person", "vehicle", "animal", "object")


@dataclass(frozen=True, slots=True)
class IdentityOptions:
    """What speaks for or against two entities being one, and how much of it is enough.

    propose, confirm: the least score of a proposal, and of a union made without asking.
    near, near_min: so many entities nearest by embedding become candidates, from this cosine on.
    block_max: a name key shared by more entities tells nothing and is passed over, so that the work stays near-linear.
    appearance_min, appearance_max, recent: two tracks' entities look alike if the least cosine between their last `recent` pictures is
    above the one and the greatest above the other (GEB: two thresholds over an entity's recent references).
    again_ms: who leaves a camera's view is looked for on it again for so long, and on a camera to which the way is told without a most.
    uncertainty_ms: how far the clock of a camera may be wrong that says nothing of it.
    one_place: types whose entities are in one place at a time.
    """

    names: bool = True
    phonetic: bool = True
    embedding: bool = True
    cooccurrence: bool = True
    appearance: bool = True
    travel: bool = True
    veto: bool = True
    propose: float = 0.6
    confirm: float = 0.95
    near: int = 8
    near_min: float = 0.7
    block_max: int = 32
    appearance_min: float = 0.5
    appearance_max: float = 0.7
    recent: int = 10
    again_ms: int = 60_000
    uncertainty_ms: int = 1_000
    one_place: tuple[str, ...] = ONE_PLACE

    @property
    def config(self) -> str:
        """Entities resolved under another one are resolved again."""
        return content_key("identity", repr(astuple(self)))
