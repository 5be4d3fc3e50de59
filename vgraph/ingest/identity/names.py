"""Names as they are compared: words, numbers, sounds; and the keys under which names that may mean the same meet.

Spelling is compared by optimal string alignment (rapidfuzz), sound by Metaphone (Philips 1990, by jellyfish), which a transcript of
speech gets right where it gets the spelling wrong.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import jellyfish
from rapidfuzz.distance import OSA

SPELLED = 0.75
"""Two words are one word misspelt from this similarity on: one slip in four letters, two in eight."""
MOST_WORDS = 6
"""So many words of a description are paired to keys."""
_IDLE = frozenset((
    "a", "an", "the", "of", "in", "on", "at", "by", "with", "and", "or", "to", "from", "is", "are", "be", "has",
    "wears", "wearing", "carrying", "holding", "who", "that", "this", "his", "her", "its", "their", "name", "not",
    "seen", "person", "man", "woman", "boy", "girl", "somebody", "someone", "people", "unknown", "male", "female",
))  # fmt: skip
"""Words of descriptions that tell nobody from anybody."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name taken apart. `marks` are its words with digits in them; `proper` is false for descriptions such as "man in a blue coat"."""

    text: str
    words: tuple[str, ...]
    marks: tuple[str, ...]
    proper: bool


@lru_cache(maxsize=65_536)
def parsed(text: str) -> Name:
    """A name's words without case, accents and articles, in order; nothing is lost of scripts that have neither."""
    words = tuple(word for word in _words(text) if word not in ("the", "a", "an"))
    marks = tuple(sorted(word for word in words if any(sign.isdigit() for sign in word)))
    cased = [sign for sign in text if sign.isupper() or sign.islower()]
    return Name(text, words, marks, bool(marks) or not cased or any(sign.isupper() for sign in cased))


def _words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKD", text).casefold()
    return re.findall(r"[^\W_]+", "".join(sign for sign in plain if not unicodedata.combining(sign)))


@lru_cache(maxsize=65_536)
def sound(word: str) -> str:
    """How a word of letters sounds; empty where Metaphone, made for Latin letters, says nothing."""
    return jellyfish.metaphone(word) if word.isascii() and word.isalpha() else ""


def telling(texts: Iterable[str]) -> frozenset[str]:
    """The words of descriptions that can tell one from another."""
    return frozenset(word for text in texts for word in _words(text) if word not in _IDLE)


# --- keys ---------------------------------------------------------------------------------------------------------------


def name_keys(kind: str, names: Iterable[str], description: str, phonetic: bool) -> list[str]:
    """Keys of an entity: two that may be one share at least one. Each begins with the type, for types must agree."""
    parts = [parsed(name) for name in names]
    found = {key for name in parts if name.proper and name.words for key in _proper_keys(name, phonetic)}
    described = telling([description, *(name.text for name in parts if not name.proper)])
    found |= {f"w:{a} {b}" for a, b in combinations(sorted(described)[:MOST_WORDS], 2)}
    return sorted(f"{kind}|{key}" for key in found)


def _proper_keys(name: Name, phonetic: bool) -> Iterator[str]:
    plain = [word for word in name.words if word not in name.marks]
    yield f"n:{' '.join(sorted(name.words))}"
    yield from (f"t:{word}" for word in plain if len(word) > 2)
    yield from (f"d:{mark}" for mark in name.marks if len(mark) > 1)
    if plain and not name.marks:
        yield f"s:{plain[0][:3]} {plain[-1][:3]}"
    if phonetic and not name.marks:
        yield from _sound_keys(plain)


def _sound_keys(words: Sequence[str]) -> Iterator[str]:
    sounds = [sound(word) for word in words]
    yield from (f"p:{one}" for one in sounds if len(one) > 1)
    if len(sounds) > 1 and all(sounds):
        yield f"P:{' '.join(sounds)}"


# --- comparison ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Likeness:
    """How two names agree: `weight` in natural log-odds, `how` in words; `kind` is name or phonetic."""

    weight: float
    how: str
    kind: str = "name"


def compared(a: Name, b: Name, phonetic: bool, heard: bool) -> Likeness | None:
    """Two names; None where they tell nothing. `heard` says that one of them comes from a transcript, whose spelling is a guess."""
    if not a.words or not b.words:
        return None
    if a.marks and b.marks and a.marks != b.marks:
        return Likeness(-9.0, f"the numbers of {a.text!r} and {b.text!r} differ")
    if sorted(a.words) == sorted(b.words):
        sure = len(a.words) > 1 or bool(a.marks)
        return Likeness(7.0 if sure else 4.5, f"both are called {a.text!r}") if a.proper and b.proper else None
    if a.proper and b.proper:
        short, long = sorted((a, b), key=lambda name: (len(name.words), name.text))
        return _proper(short, long, phonetic, heard)
    return None


def _proper(short: Name, long: Name, phonetic: bool, heard: bool) -> Likeness:
    """Every word of the shorter name has to find its own in the longer one."""
    left, matches = list(long.words), []
    for word in short.words:
        best = max(((_match(word, other, phonetic, heard), other) for other in left), default=("", ""), key=_better)
        matches.append(best[0])
        if best[0]:
            left.remove(best[1])
    missed = sum(not match for match in matches)
    if missed:
        return Likeness(-6.0 if missed == len(matches) else -4.0, f"{short.text!r} is another name than {long.text!r}")
    return _agreeing(short, long, matches)


_ORDER = ("", "sound", "spelling", "both", "initial", "short", "same")


def _better(item: tuple[str, str]) -> tuple[int, str]:
    return _ORDER.index(item[0]), item[1]


def _match(word: str, other: str, phonetic: bool, heard: bool) -> str:
    """How a word stands for another: same, short (Sam, Samuel), initial, both (spelling and sound), spelling, sound, or not at all."""
    if word == other:
        return "same"
    shorter, longer = sorted((word, other), key=len)
    if longer.startswith(shorter) and shorter.isalpha():
        return "initial" if len(shorter) == 1 else "short" if len(shorter) > 2 else ""
    spelt = len(shorter) > 2 and OSA.normalized_similarity(word, other) >= SPELLED
    sounds = phonetic and sound(word) == sound(other) and (len(sound(word)) > 1 or spelt)
    return "both" if spelt and sounds else "spelling" if spelt else "sound" if sounds and heard else ""


def _agreeing(short: Name, long: Name, matches: Sequence[str]) -> Likeness:
    """Names that agree word by word. What the shorter lacks, and each word that is not the same, makes them less telling."""
    unlike = [match for match in matches if match != "same"]
    kind = "phonetic" if any(match in ("both", "sound") for match in unlike) else "name"
    how = {"phonetic": "sounds like", "name": "may be written for"}[kind]
    if len(short.words) < len(long.words):
        weight, how = (3.0 if not unlike else 2.0), "is part of" if not unlike else how
    elif len(short.words) == 1:
        weight = 3.0 if unlike == ["both"] else 1.5
    else:
        weight = 5.0 - 0.5 * len(unlike) + (0.5 if unlike == ["both"] else 0.0)
    return Likeness(weight, f"{short.text!r} {how} {long.text!r}", kind)
