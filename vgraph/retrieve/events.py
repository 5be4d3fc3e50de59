"""What happened, as the graph tells it: relations and sentences of captions joined into events, each with who, what, where and when.

One thing that happened is told by several relations (`Maria hands over crate 7`, `Jonas receives crate 7`), by a sentence, and by every
camera that saw it. They are one event where they mean the same, at the same time, and nobody in them excludes another. The times are those
of the relations where there are any, for a sentence only tells when its caption began and ended.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vgraph.retrieve.clauses import KINDS, Argument, Clause, Mention, clauses
from vgraph.retrieve.facts import Told
from vgraph.retrieve.naming import Known, Names, looks_of
from vgraph.retrieve.verbs import MUTUAL
from vgraph.types import EvidenceChunk, Line

SLACK_MS = 2_500
"""How far two accounts of one event may lie apart: cameras' clocks differ, and observers are late."""
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+")
PLACES = frozenset(
    [
        "at",
        "in",
        "inside",
        "on",
        "near",
        "beside",
        "by",
        "outside",
        "behind",
        "under",
        "around",
        "within",
        "across",
        "through",
        "past",
    ]
)
_MOVES = frozenset(["arrive", "leave", "approach", "park", "stay", "pass", "walk", "run", "see"])


@dataclass(frozen=True, slots=True)
class Filler:
    """Who or what stands in a role. `keys` are the entities it may be; `guess` is who it is by looks alone, where the words do not name."""

    keys: frozenset[str]
    text: str
    type: str = ""
    guess: str = ""

    @property
    def named(self) -> bool:
        return not self.guess and not anonymous(self.text, self.type)


@dataclass(frozen=True, slots=True)
class Source:
    """Where an event is told: a line of a chunk, with the time that it gives to it; `exact` where that is the event's own."""

    chunk: EvidenceChunk
    line: Line
    start_ms: int
    end_ms: int
    exact: bool


Roles = Mapping[str, tuple[Filler, ...]]


@dataclass(slots=True)
class Event:
    """Something that happened. `verbs` as they are told, `senses` what they mean, `words` all that its sentences say."""

    verbs: Counter[str]
    senses: frozenset[str]
    roles: dict[str, tuple[Filler, ...]]
    sources: list[Source]
    negated: bool = False
    telling: dict[str, None] = field(default_factory=dict)

    @property
    def _timed(self) -> list[Source]:
        return [source for source in self.sources if source.exact] or self.sources

    @property
    def exact(self) -> bool:
        return any(source.exact for source in self.sources)

    @property
    def start_ms(self) -> int:
        return min(source.start_ms for source in self._timed)

    @property
    def end_ms(self) -> int:
        return max(source.end_ms for source in self._timed)

    @property
    def cameras(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(source.chunk.camera for source in self.sources))

    @property
    def text(self) -> str:
        return " ".join(self.telling)

    def fillers(self) -> Iterator[Filler]:
        for found in self.roles.values():
            yield from found


def anonymous(name: str, kind: str) -> bool:
    """Whether a person is told by looks or by number instead of a name: `person in a red jacket`, `person 26`."""
    words = name.casefold().split()
    first = words[1] if len(words) > 1 and words[0] in ("a", "an", "the") else (words[0] if words else "")
    return kind in ("", "person") and first in KINDS


# --- what is told ---------------------------------------------------------------------------------------------------------


def events(told: Told, wanted: Callable[[Event], object] = lambda event: True) -> list[Event]:
    """Everything that some clips tell of, in order of time; of accounts that are not `wanted`, nothing."""
    cast = _Cast(told.known)
    single = [*_of_relations(told, cast), *_of_sentences(told, cast)]
    return joined(event for event in single if wanted(event))


class _Cast:
    """Entities as fillers; whoever is told by looks that only one fits is taken for that one."""

    def __init__(self, known: Sequence[Known]) -> None:
        self.names = Names(known)
        self._of = {one.key: one for one in known}
        named = [one for one in known if one.type == "person" and not anonymous(one.name, one.type)]
        looks = {one.key: looks_of(one) for one in named}
        self._guessed: dict[str, Known] = {}
        for one in known:
            wanted = looks_of(one)
            if one.type == "person" and anonymous(one.name, one.type) and wanted:
                fits = [other for other in named if wanted <= looks[other.key]]
                if len(fits) == 1:
                    self._guessed[one.key] = fits[0]

    def mention(self, key: str, start: int) -> Mention:
        one = self._of[key]
        return Mention(start, start + len(one.name), one.name, frozenset([key]), one.type, one.name)

    def name(self, key: str) -> str:
        return self._of[key].name

    def filler(self, argument: Argument) -> Filler | None:
        mention = argument.mention
        if mention is None:
            return Filler(frozenset(), argument.text, argument.kind) if argument.words else None
        guess = next((self._guessed[key] for key in mention.keys if key in self._guessed), None)
        if guess is not None:
            return Filler(mention.keys | {guess.key}, mention.name, "person", guess.name)
        return Filler(mention.keys, mention.name or mention.text, mention.type)


def _of_relations(told: Told, cast: _Cast) -> Iterator[Event]:
    chunks = {chunk.id: chunk for chunk in told.chunks}
    for row in told.relations:
        chunk = chunks.get(row["chunk"])
        if chunk is not None and row["source"] and row["target"]:
            yield _of_relation(row, chunk, cast)


def _of_relation(row: Mapping[str, Any], chunk: EvidenceChunk, cast: _Cast) -> Event:
    relation = " ".join(re.findall(r"[^\W_]+", row["relation"]))
    source, target = cast.name(row["source"]), cast.name(row["target"])
    text = f"{source} {relation} {target}"
    mentions = (cast.mention(row["source"], 0), cast.mention(row["target"], len(source) + len(relation) + 2))
    found = clauses(text, mentions)
    if len(found) == 1 and sum(1 for _, argument in found[0].arguments() if argument.mention) == 2:
        clause = found[0]
    else:
        clause = Clause(relation, roles={"agent": (Argument(mentions[0]),), "theme": (Argument(mentions[1]),)})
    zero = chunk.start_ms - chunk.offset_ms
    line = _line_of(row, chunk) or Line(row["start_ms"] - zero, row["end_ms"] - zero, "caption", text, "relation")
    place = Source(chunk, line, row["start_ms"], row["end_ms"], exact=True)
    return _event(clause, cast, place, text)


def _line_of(row: Mapping[str, Any], chunk: EvidenceChunk) -> Line | None:
    """The line that a relation was told by."""
    said = row["supporting_text"]
    return next((line for line in chunk.lines if said and (said in line.text or line.text in said)), None)


def _of_sentences(told: Told, cast: _Cast) -> Iterator[Event]:
    for chunk, line in lines(told.chunks):
        zero = chunk.start_ms - chunk.offset_ms
        for sentence in _SENTENCE_END.split(line.text):
            place = Source(chunk, line, zero + line.offset_ms, zero + line.end_offset_ms, exact=False)
            for clause in clauses(sentence, cast.names.mentions(sentence, loosely=False)):
                yield _event(clause, cast, place, sentence)


def lines(chunks: Iterable[EvidenceChunk]) -> Iterator[tuple[EvidenceChunk, Line]]:
    """What observers wrote, each line once and in the chunk that holds most of it: windows cut lines in two, and both parts keep it."""
    best: dict[tuple[str, int, str], tuple[int, EvidenceChunk, Line]] = {}
    for chunk in chunks:
        for line in chunk.lines:
            if line.modality in ("caption", "fused"):
                share = min(line.end_offset_ms, chunk.end_offset_ms) - max(line.offset_ms, chunk.offset_ms)
                key = (chunk.document, line.offset_ms, line.text)
                if key not in best or share > best[key][0]:
                    best[key] = (share, chunk, line)
    return ((chunk, line) for _, chunk, line in best.values())


def _event(clause: Clause, cast: _Cast, source: Source, text: str) -> Event:
    roles: dict[str, tuple[Filler, ...]] = {}
    for role, arguments in ordered(clause).items():
        fillers = tuple(filler for argument in arguments if (filler := cast.filler(argument)) is not None)
        if fillers:
            roles[role] = fillers
    spelled = f"{clause.verb} {clause.particle}".strip()
    return Event(Counter([spelled]), clause.senses, roles, [source], clause.negated, {text: None})


def ordered(clause: Clause) -> dict[str, tuple[Argument, ...]]:
    """Roles by what they mean: agent, theme, to, from, into, with, place, whatever preposition led them there."""
    senses = clause.senses
    roles: dict[str, list[Argument]] = {}
    for role, arguments in clause.roles.items():
        for argument in arguments:
            roles.setdefault(_role(role, argument, senses), []).append(argument)
    if senses & MUTUAL:
        shared = [*roles.get("agent", ()), *roles.pop("to", ()), *roles.pop("with", ()), *roles.pop("theme", ())]
        roles["with"] = shared
    elif "agent" not in roles and "give" in senses and "from" in roles:
        roles["agent"] = roles.pop("from")
    return {role: tuple(found) for role, found in roles.items()}


def _role(role: str, argument: Argument, senses: frozenset[str]) -> str:
    kind = argument.mention.type if argument.mention else argument.kind
    if kind == "camera":
        return "place"
    if kind == "location" and (
        role in PLACES or role in ("to", "into", "onto", "from", "out_of", "up_to", "of", "off", "towards", "toward")
    ):
        return "place"
    if role == "theme" and senses & _MOVES and (kind == "location" or (argument.words and "arrive" in senses)):
        return "place"
    if senses & {"get into", "get out"} and role in (
        "into",
        "in",
        "on",
        "onto",
        "aboard",
        "from",
        "out_of",
        "off",
        "to",
        "inside",
    ):
        return "theme"
    if role in ("out_of", "off", "from"):
        return "from"
    if role in ("into", "onto", "inside", "aboard") or (role in ("in", "on", "to") and "load" in senses):
        return "into"
    if role in ("to", "for", "up_to", "towards", "toward"):
        return "to"
    if role in ("with", "between", "among"):
        return "with"
    if role in PLACES:
        return "place"
    return role


# --- what is one ----------------------------------------------------------------------------------------------------------


def joined(single: Iterable[Event]) -> list[Event]:
    """Accounts of one event as one: first those of relations, whose times are their own, then sentences and other cameras."""
    done = _Shelf()
    for event in sorted(single, key=lambda e: (not e.exact, e.start_ms, e.end_ms)):
        twin = next((other for other in done.near(event) if one(event, other)), None)
        if twin is None:
            done.put(replace(event, sources=list(event.sources), telling=dict(event.telling)))
        else:
            _take_in(twin, event)
    return sorted(done.all, key=lambda e: (e.start_ms, e.end_ms))


class _Shelf:
    """Events by half minutes, so that each is compared only with those of its time."""

    CELL_MS, MOST_CELLS = 30_000, 200

    def __init__(self) -> None:
        self.all: list[Event] = []
        self._cells: defaultdict[int, list[Event]] = defaultdict(list)
        self._long: list[Event] = []

    def put(self, event: Event) -> None:
        self.all.append(event)
        cells = self._of(event)
        if len(cells) > self.MOST_CELLS:
            self._long.append(event)
        for cell in cells[: self.MOST_CELLS]:
            self._cells[cell].append(event)

    def near(self, event: Event) -> Iterator[Event]:
        found = [other for cell in self._of(event)[: self.MOST_CELLS] for other in self._cells[cell]]
        yield from {id(other): other for other in (*found, *self._long)}.values()

    def _of(self, event: Event) -> range:
        return range((event.start_ms - SLACK_MS) // self.CELL_MS, (event.end_ms + SLACK_MS) // self.CELL_MS + 1)


def one(event: Event, other: Event) -> bool:
    """Whether two accounts may tell of the same event."""
    if not event.senses & other.senses and not set(event.verbs) & set(other.verbs):
        return False
    slack = SLACK_MS if event.cameras != other.cameras else 500
    if event.start_ms > other.end_ms + slack or other.start_ms > event.end_ms + slack:
        return False
    if event.exact and other.exact and event.cameras == other.cameras and not _near(event, other):
        return False
    if event.negated != other.negated:
        return False
    shared = [role for role in event.roles if role in other.roles and role != "place"]
    if "with" in shared:
        return _same_company(event.roles["with"], other.roles["with"])
    if not shared or not all(_agree(event.roles[role], other.roles[role]) for role in shared):
        return False
    if event.roles.get("place") and other.roles.get("place") and event.senses & {"arrive", "leave"}:
        return _agree(event.roles["place"], other.roles["place"])
    return True


def _near(event: Event, other: Event) -> bool:
    """Two relations of one camera tell of one event only where they hold at the same time."""
    shared = min(event.end_ms, other.end_ms) - max(event.start_ms, other.start_ms)
    return shared * 2 >= min(event.end_ms - event.start_ms, other.end_ms - other.start_ms)


def _agree(some: Sequence[Filler], others: Sequence[Filler]) -> bool:
    return any(same(a, b) for a in some for b in others)


def same(a: Filler, b: Filler) -> bool:
    if a.keys and b.keys:
        return bool(a.keys & b.keys)
    return not a.keys and not b.keys and a.text == b.text


def _same_company(some: Sequence[Filler], others: Sequence[Filler]) -> bool:
    fewer, more = sorted((some, others), key=len)
    return len(fewer) > 0 and all(any(same(a, b) for b in more) for a in fewer)


def _take_in(event: Event, other: Event) -> None:
    event.verbs.update(other.verbs)
    event.senses = event.senses & other.senses or event.senses
    event.sources.extend(other.sources)
    event.telling.update(other.telling)
    for role, fillers in other.roles.items():
        event.roles[role] = _united(event.roles.get(role, ()), fillers)


def _united(kept: Sequence[Filler], more: Sequence[Filler]) -> tuple[Filler, ...]:
    """Each filler once, by the account that names it best."""
    found = list(kept)
    for filler in more:
        place = next((n for n, other in enumerate(found) if same(filler, other)), None)
        if place is None:
            found.append(filler)
        elif filler.named and not found[place].named:
            found[place] = filler
    return tuple(found)
