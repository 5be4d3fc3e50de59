"""Who and what a text names: entities by their names, parts of them, their looks, and names that are nearly so where there is no doubt.

What a mention means are keys of entities, several where a word fits several (`the van`, `crates`). Cameras count as places, by their ids.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vgraph.retrieve.clauses import DETERMINER, KINDS, WH, Mention, is_verb

ALIKE = 87.0
"""Least likeness (rapidfuzz ratio, 0 to 100) of a name that is spelt nearly so, and MARGIN what it must be ahead of the next."""
MARGIN = 6.0
LONGEST = 8
"""Words of a name that are compared."""
_WORD = re.compile(r"\w+(?:['’]\w+)?")
_FILLING = frozenset(["no", "number", "nr", "num"])
"""`crate number 7` is crate 7."""
_LOOKS = re.compile(
    r"\b(?:person|man|woman|guy|worker|somebody|someone|anybody|anyone|one|lady|driver|figure|people|who(?:ever)?)\s+"
    r"(?:in|wearing|with|dressed in|who (?:wears|wore)|that (?:wears|wore))\s+(?:an?\s+|the\s+)?(?P<looks>[\w-]+(?:\s+[\w-]+){0,3})",
    re.IGNORECASE,
)
_BLAND = frozenset(
    [
        "a",
        "an",
        "the",
        "in",
        "with",
        "wears",
        "wearing",
        "of",
        "and",
        "on",
        "is",
        "name",
        "not",
        "seen",
        "person",
        "man",
        "woman",
    ]
)


@dataclass(frozen=True, slots=True)
class Known:
    """An entity as it can be named. `key` is that of its representative, or the id of a camera; `looks`: what is known beside names."""

    key: str
    name: str
    type: str
    aliases: tuple[str, ...]
    looks: str = ""


def known_of(rows: Iterable[Mapping[str, Any]]) -> tuple[Known, ...]:
    """Entities of rows {key, name, type, aliases, description}, those that are one as one."""
    found: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        found[row["key"]].append(row)
    return tuple(
        Known(
            key, group[0]["name"], group[0]["type"],
            tuple(dict.fromkeys(alias for row in group for alias in (row["name"], *row["aliases"]))),
            " ".join(dict.fromkeys(row["description"] for row in group if row["description"])),
        )
        for key, group in found.items()
    )  # fmt: skip


def cameras_known(cameras: Iterable[Mapping[str, Any]]) -> tuple[Known, ...]:
    """Cameras as places that can be named: by label and by place."""
    return tuple(
        Known(
            f"cameras/{c['_key']}",
            c["place"] or c["label"],
            "location",
            tuple(n for n in (c["label"], c["place"]) if n),
        )
        for c in cameras
    )


def looks_of(one: Known) -> frozenset[str]:
    """The words that tell what somebody looks like, without those that tell nothing."""
    return frozenset(singular(word) for text in (one.looks, *one.aliases) for word in words_of(text)) - _BLAND


def words_of(text: str) -> tuple[str, ...]:
    return tuple(match.group().casefold() for match in _WORD.finditer(text))


def singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("xes", "ches", "shes", "sses")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


@dataclass(slots=True)
class Names:
    """Entities to be found in texts: built once, asked often."""

    known: Sequence[Known]
    _whole: dict[tuple[str, ...], set[str]] = field(default_factory=lambda: defaultdict(set))
    _part: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _head: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _of: dict[str, Known] = field(default_factory=dict)
    _described: dict[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for one in self.known:
            self._of[one.key] = one
            self._described[one.key] = frozenset(
                singular(word) for text in (one.name, *one.aliases, one.looks) for word in words_of(text)
            )
            for alias in one.aliases:
                self._index(one, words_of(alias))

    def _index(self, one: Known, words: tuple[str, ...]) -> None:
        if not words:
            return
        self._whole[words].add(one.key)
        if len(words) == 1 and one.type != "person":
            self._head[singular(words[0])].add(one.key)
        if len(words) < 2 or words[0] in KINDS:
            return
        if one.type == "person":
            for word in words:
                self._part[word].add(one.key)
        elif one.type == "location":
            self._part[words[-1]].add(one.key)
        else:
            for word in words:
                if not any(sign.isdigit() for sign in word):
                    self._head[singular(word)].add(one.key)

    # --- finding ----------------------------------------------------------------------------------------------------------

    def mentions(self, text: str, *, loosely: bool = True) -> tuple[Mention, ...]:
        """Mentions in order, none within another. `loosely`: parts of names, looks, and nearly right names count as well."""
        found: list[Mention] = []
        tokens = [(match.start(), match.end(), match.group().casefold()) for match in _WORD.finditer(text)]
        ways = (
            [self._by_name, self._by_looks, self._by_part, self._by_kind, self._nearly] if loosely else [self._by_name]
        )
        for way in ways:
            for mention in way(text, tokens):
                if not any(other.start < mention.end and mention.start < other.end for other in found):
                    found.append(mention)
        return tuple(sorted((_with_camera(text, mention) for mention in found), key=lambda mention: mention.start))

    def _mention(self, text: str, start: int, end: int, keys: Iterable[str], *, several: bool = False) -> Mention:
        kept = frozenset(keys)
        one = self._of[min(kept, key=lambda key: (key.startswith("cameras/"), key))]
        types = {self._of[key].type for key in kept}
        name = one.name if len(kept - self._cameras(kept)) <= 1 else text[start:end]
        return Mention(start, end, text[start:end], kept, types.pop() if len(types) == 1 else "", name, several)

    @staticmethod
    def _cameras(keys: Iterable[str]) -> frozenset[str]:
        return frozenset(key for key in keys if key.startswith("cameras/"))

    def _by_name(self, text: str, tokens: Sequence[tuple[int, int, str]]) -> Iterator[Mention]:
        """The longest names that stand there whole, with the words before them that tell the looks of what they name."""
        place = 0
        while place < len(tokens):
            width, keys = self._longest(tokens, place)
            if not width:
                place += 1
                continue
            first = place
            described = frozenset().union(*(self._described[key] for key in keys))
            while (
                first
                and tokens[first - 1][2] in described
                and tokens[first - 1][2] not in DETERMINER
                and not is_verb(tokens[first - 1][2])
            ):
                first -= 1
            yield self._mention(text, tokens[first][0], tokens[place + width - 1][1], keys)
            place += width

    def _longest(self, tokens: Sequence[tuple[int, int, str]], place: int) -> tuple[int, set[str]]:
        for width in range(min(LONGEST, len(tokens) - place), 0, -1):
            words = tuple(word for _, _, word in tokens[place : place + width])
            for form in (words, tuple(w for w in words if w not in _FILLING), (*words[:-1], singular(words[-1]))):
                if form and form in self._whole and not (len(form) == 1 and form[0] in WH):
                    return width, self._with_camera_names(form)
        return 0, set()

    def _with_camera_names(self, words: tuple[str, ...]) -> set[str]:
        """What bears a name, and places and cameras that bear it with other words: `dock` is the loading dock and the camera `dock`."""
        keys = set(self._whole[words])
        if all(key.startswith("cameras/") for key in keys) and len(words) == 1:
            keys |= self._part.get(words[0], set())
        if any(key.startswith("cameras/") for key in keys):
            names = {words_of(alias) for key in keys for alias in self._of[key].aliases}
            keys |= {key for name in names for key in self._whole.get(name, ()) if self._of[key].type == "location"}
        return keys

    def _by_looks(self, text: str, tokens: Sequence[tuple[int, int, str]]) -> Iterator[Mention]:
        """`the man in the red jacket`."""
        people = [one for one in self.known if one.type == "person"]
        for match in _LOOKS.finditer(text):
            words = words_of(match["looks"])
            for width in range(len(words), 0, -1):
                wanted = {singular(word) for word in words[:width]} - _BLAND
                keys = {one.key for one in people if wanted and wanted <= self._described[one.key]}
                if keys:
                    spans = list(_WORD.finditer(match["looks"]))
                    yield self._mention(text, match.start(), match.start("looks") + spans[width - 1].end(), keys)
                    break

    def _by_part(self, text: str, tokens: Sequence[tuple[int, int, str]]) -> Iterator[Mention]:
        """A first or last name, or the last word of a place's name, that only one bears."""
        for start, end, word in tokens:
            keys = self._part.get(word, set())
            spelt = text[start:end]
            if len({key for key in keys if not key.startswith("cameras/")}) == 1:
                one = self._of[next(key for key in keys if not key.startswith("cameras/"))]
                if one.type != "person" or spelt[:1].isupper():
                    yield self._mention(text, start, end, keys)

    def _by_kind(self, text: str, tokens: Sequence[tuple[int, int, str]]) -> Iterator[Mention]:
        """`the white van`, `crates`: all that have such a head and such looks. A lone word means any of its kind."""
        for place, (_, end, word) in enumerate(tokens):
            heads = self._head.get(singular(word), set())
            if not heads or word in KINDS or (is_verb(word) and not _determined(tokens, place)):
                continue
            if place + 1 < len(tokens) and any(sign.isdigit() for sign in tokens[place + 1][2]):
                continue  # `crate 99` is no crate that is known
            first = place
            while first and (rest := {key for key in heads if singular(tokens[first - 1][2]) in self._described[key]}):
                if tokens[first - 1][2] in DETERMINER or tokens[first - 1][2] in _BLAND:
                    break
                heads, first = rest, first - 1
            if first and _qualifies(tokens, first):
                continue  # `the snow plough` is no plough that is known
            yield self._mention(text, tokens[first][0], end, heads, several=len(heads) > 1)

    def _nearly(self, text: str, tokens: Sequence[tuple[int, int, str]]) -> Iterator[Mention]:
        """Capitalised words that are nearly one person's name, and no other's."""
        from rapidfuzz import fuzz, process

        people = {
            alias: one.key for one in self.known if one.type == "person" for alias in one.aliases if alias[:1].isupper()
        }
        for match in re.finditer(r"\b[^\W\d_][\w’']+(?:\s+[^\W\d_][\w’']+)?", text):
            written = match.group()
            if not written[:1].isupper() or not people or len(written) < 5:
                continue
            near = process.extract(written, list(people), scorer=fuzz.ratio, limit=4)
            good = [(name, score) for name, score, _ in near if score >= ALIKE]
            keys = {people[name] for name, score in good if score >= good[0][1] - MARGIN}
            if len(keys) == 1:
                yield self._mention(text, match.start(), match.end(), keys)


def _determined(tokens: Sequence[tuple[int, int, str]], place: int) -> bool:
    return bool(place) and tokens[place - 1][2] in DETERMINER


def _qualifies(tokens: Sequence[tuple[int, int, str]], first: int) -> bool:
    """The word before is part of the name of something else."""
    word = tokens[first - 1][2]
    if first < 2 or word in DETERMINER or word in WH or is_verb(word) or word in KINDS:
        return False
    return tokens[first - 2][2] in DETERMINER


def _with_camera(text: str, mention: Mention) -> Mention:
    """`the dock camera` and `camera dock` are the camera, not the place."""
    cameras = frozenset(key for key in mention.keys if key.startswith("cameras/"))
    if not cameras:
        return mention
    after = re.match(r"\s+(?:camera|cam)\b", text[mention.end :], re.IGNORECASE)
    before = re.search(r"\b(?:camera|cam)\s+['\"]?$", text[: mention.start], re.IGNORECASE)
    if not after and not before:
        return mention
    start, end = before.start() if before else mention.start, mention.end + (after.end() if after else 0)
    return Mention(start, end, text[start:end], cameras, "camera", mention.name)
