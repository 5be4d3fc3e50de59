"""What goes wrong between what happened and what is told of it: shares of errors, and names as they are miswritten and misheard."""

from __future__ import annotations

import random
from dataclasses import dataclass

from vgraph.evals.world.script import Script


@dataclass(frozen=True, slots=True)
class Noise:
    """Shares in [0, 1]; `jitter_ms` is the largest error of a time.

    How people's names suffer: `nicknamed` (a first name, or less, alone), `misspelt` in captions, `misheard` as speakers; `namesakes` is
    the number of people who bear the name of another one.
    """

    missed: float = 0.06
    dropped: float = 0.08
    unnamed: float = 0.10
    jitter_ms: int = 400
    nicknamed: float = 0.0
    misspelt: float = 0.0
    misheard: float = 0.0
    namesakes: int = 0


SOUNDS = (
    ("ei", "ai"), ("ie", "ee"), ("sch", "sh"), ("ue", "ua"), ("ch", "tch"), ("oy", "oi"), ("ai", "ay"), ("ia", "ea"), ("av", "aw"),
    ("c", "k"), ("k", "c"), ("z", "s"), ("sh", "sch"), ("y", "ie"), ("ee", "ea"), ("mm", "m"), ("n", "nn"), ("o", "oh"), ("a", "ah"),
)  # fmt: skip
"""What a transcript writes for what it hears, most telling first."""


class Names:
    """What people are called, drawn from a stream of chance of their own: other noise stays as it is whatever happens to names."""

    def __init__(self, script: Script, noise: Noise, purpose: str) -> None:
        self._noise = noise
        self._rng = random.Random(f"vgraph world {script.seed} names {purpose}")  # noqa: S311
        people = script.people
        self._known = {person.id: person.name for person in people}
        for one, other in zip(people[: noise.namesakes], reversed(people), strict=False):
            if one.id != other.id:
                self._known[other.id] = one.name

    def written(self) -> dict[str, str]:
        """Names for one caption: whoever is called something in it is called so throughout."""
        return {id_: self._written(name) for id_, name in self._known.items()}

    def heard(self, id_: str) -> str:
        """A speaker's name as a transcript gives it."""
        name = self._known[id_]
        return _misheard(self._rng, name) if self._chance(self._noise.misheard) else name

    def _written(self, name: str) -> str:
        if self._chance(self._noise.nicknamed):
            return name.split()[0]
        return _misspelt(self._rng, name) if self._chance(self._noise.misspelt) else name

    def _chance(self, share: float) -> bool:
        return share > 0 and self._rng.random() < share


def _misspelt(rng: random.Random, name: str) -> str:
    """One letter, not a word's first, is left out, doubled, or changes places with the next."""
    places = [place for place in range(1, len(name) - 1) if name[place - 1 : place + 2].isalpha()]
    place = rng.choice(places)
    kind = rng.randrange(3)
    if kind == 0:
        return name[:place] + name[place + 1 :]
    if kind == 1:
        return name[:place] + name[place] + name[place:]
    return name[:place] + name[place + 1] + name[place] + name[place + 2 :]


def _misheard(rng: random.Random, name: str) -> str:
    """One or two sounds are spelt otherwise."""
    told = name
    for sound, other in rng.sample(SOUNDS, len(SOUNDS)):
        if sound in told:
            told = told.replace(sound, other, 1)
            if told != name and rng.random() < 0.6:
                break
    return told
