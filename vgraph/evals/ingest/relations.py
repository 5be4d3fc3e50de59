"""When relations held, against the truth: intervals of edges that a language model read out of captions and speech alone.

The captions lose what is structured in them, and often say "the same one". **The model is simulated**: it reads sentences of the
world's own phrases without a mistake, and knows nothing but the notes it is shown. So the figures tell what units, dating, fusion and
union are worth to a perfect reader, and nothing about how well a real model reads.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from vgraph.app import VGraph
from vgraph.evals.ingest.topic import GIVEN, Topic, Variant
from vgraph.evals.metrics import Interval, iou, overlap
from vgraph.evals.world import World
from vgraph.evals.world.captions import VERBS
from vgraph.types import Completion, Message, ToolSpec

NEAR_MS: Final = 15_000
"""An edge further from a true relation than this is not about it."""
SLACK_MS: Final = 5_000
"""An edge within the true interval, widened by so much on both sides, leads to the right moment (recall@10 s)."""
SAME: Final = "the same one"
ROWS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class RelationScores:
    """What cameras truly saw somebody do to something, and the edges that say so.

    found: the share of true relations with an edge of the same ends and name near their time. iou: the mean overlap of their best edges.
    within: the share of these edges that lie within the true time (widened by 5 s). right: the share of all edges that are near a true one.
    """

    true: int
    edges: int
    found: float
    iou: float
    within: float
    right: float


@dataclass(frozen=True, slots=True)
class Fact:
    """A relation in one recording: names, and its time in media ms."""

    recording: str
    source: str
    relation: str
    target: str
    time: Interval

    @property
    def triplet(self) -> tuple[str, str, str, str]:
        return self.recording, self.source, self.relation, self.target


def measure(world: World, graph: VGraph) -> RelationScores:
    return scored(tuple(true_facts(world)), tuple(edges_of(graph)))


def scored(true: Sequence[Fact], edges: Sequence[Fact]) -> RelationScores:
    """Scores of edges against true relations."""
    best = [_best(fact, edges) for fact in true]
    pairs = [(fact, edge) for fact, edge in zip(true, best, strict=True) if edge]
    right = sum(any(_near(fact, edge) for fact in true) for edge in edges)
    return RelationScores(
        true=len(true),
        edges=len(edges),
        found=_share(len(pairs), len(true)),
        iou=round(fmean(iou(fact.time, edge.time) for fact, edge in pairs), 3) if pairs else 0.0,
        within=_share(sum(_within(fact, edge) for fact, edge in pairs), len(pairs)),
        right=_share(right, len(edges)),
    )


def _best(fact: Fact, edges: Iterable[Fact]) -> Fact | None:
    near = [edge for edge in edges if _near(fact, edge)]
    return max(near, key=lambda edge: (iou(fact.time, edge.time), -abs(fact.time[0] - edge.time[0])), default=None)


def _near(fact: Fact, edge: Fact) -> bool:
    wide = (fact.time[0] - NEAR_MS, fact.time[1] + NEAR_MS)
    return fact.triplet == edge.triplet and overlap((edge.time[0], edge.time[1] + 1), wide) > 0


def _within(fact: Fact, edge: Fact) -> bool:
    return fact.time[0] - SLACK_MS <= edge.time[0] and edge.time[1] <= fact.time[1] + SLACK_MS


def _share(part: int, whole: int) -> float:
    return round(part / whole, 3) if whole else 0.0


def true_facts(world: World) -> Iterator[Fact]:
    """Who did what to whom or what, once for each recording that shows it."""
    truth, cast = world.truth(), Cast.of(world)
    starts = {r["stem"]: r["start_ms"] for camera in truth["cameras"] for r in camera["recordings"]}
    for action in truth["actions"]:
        for stem, (start, end) in action["seen_by"].items():
            time = (start - starts[stem], end - starts[stem])
            yield Fact(stem, cast.names[action["subject"]], action["verb"], cast.names[action["object"]], time)


def edges_of(graph: VGraph) -> Iterator[Fact]:
    """The relations that a model stated, by the recordings' names."""
    found = graph.aql(
        "FOR l IN LINKS_TO FILTER STARTS_WITH(l.method, 'model:') "
        "LET uri = DOCUMENT(CONCAT('documents/', l.document)).uri "
        "RETURN [uri, DOCUMENT(l._from).name, l.relation, DOCUMENT(l._to).name, l.offset_ms, l.end_offset_ms]",
        limit=ROWS,
    )
    for uri, source, relation, target, start, end in found.rows:
        yield Fact(Path(uri).stem, source, relation, target, (start, end))


# --- the world's phrases -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Clause:
    """What a sentence says: who does what to what. `text` is the sentence."""

    source: str
    relation: str
    target: str
    text: str


@dataclass(frozen=True)
class Cast:
    """What everything is called in captions: `names` by id, `kinds` by name."""

    names: Mapping[str, str]
    kinds: Mapping[str, str]
    looks: tuple[str, ...] = ()
    pattern: re.Pattern[str] = field(init=False, repr=False)

    @classmethod
    def of(cls, world: World) -> Cast:
        truth = world.truth()
        named = {p["id"]: (p["name"], "person") for p in truth["people"]}
        named |= {v["id"]: (f"{v['colour']} {v['name']}", "vehicle") for v in truth["vehicles"]}
        named |= {t["id"]: (t["name"], "object") for t in truth["things"]}
        named |= {z["id"]: (z["name"], "location") for z in truth["zones"]}
        looks = tuple(f"person in {_article(p['jacket'])} {p['jacket']} jacket" for p in truth["people"])
        kinds = dict(named.values()) | dict.fromkeys(looks, "person")
        return cls({id_: name for id_, (name, _) in named.items()}, kinds, looks)

    def __post_init__(self) -> None:
        names = "|".join(
            re.escape(name) for name in sorted((*self.kinds, SAME.removeprefix("the ")), key=len, reverse=True)
        )
        one = rf"(?:(?:an|a|the) )?({names})"
        spoken = sorted({form for forms in VERBS.values() for form in forms}, key=len, reverse=True)
        verb = "|".join(map(re.escape, spoken))
        object.__setattr__(
            self, "pattern", re.compile(rf"{one} ({verb}) {one}(?: (to|into|from) {one})?", re.IGNORECASE)
        )

    def clauses(self, text: str) -> Iterator[Clause]:
        """The clauses of a caption, a sentence each; sentences about who merely stands there have none."""
        for sentence in re.findall(r"[^.]+\.", text):
            if match := self.pattern.search(sentence):
                source, said, target, joint, _ = match.groups()
                yield Clause(self._called(source), _verb(said, joint), self._called(target), sentence.strip())

    def _called(self, found: str) -> str:
        known = {name.casefold(): name for name in self.kinds}
        return known.get(found.casefold(), SAME)


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def _verb(said: str, joint: str | None) -> str:
    """The world's own word: `takes … from` is unloading, `takes` alone is picking up."""
    possible = [verb for verb, forms in VERBS.items() if said.casefold() in forms]
    wanted = {"from": "unloads", "into": "loads", "to": "hands over"}.get(joint or "")
    return wanted if wanted in possible else possible[0]


def unstructured(world: World, cast: Cast, stem: str) -> Iterator[dict[str, Any]]:
    """The captions of a recording as bare text, in which whoever acts again is "the same one"."""
    last = ""
    for caption in world.captions(stem):
        text = caption["text"]
        for clause in cast.clauses(text):
            if clause.source == last:
                text = text.replace(clause.text, _unnamed(clause), 1)
            last = clause.source
        yield {"start": caption["start"], "end": caption["end"], "text": text}


def _unnamed(clause: Clause) -> str:
    name = re.compile(rf"(?:(?:an|a|the) )?{re.escape(clause.source)}", re.IGNORECASE)
    text = name.sub(SAME, clause.text, count=1)
    return text[0].upper() + text[1:]


# --- the simulated model -------------------------------------------------------------------------------------------------------

NOTE: Final = re.compile(r"^\[(\d+)\] ([\d.]+) to ([\d.]+), (\w+): (.*)$", re.MULTILINE)
PAUSE_S: Final = 1.0
LISTED: Final = re.compile(r"^(\d+)\. (.+?) \| (.+?) \| (.+?) \((.*)\)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Seen:
    number: int
    start: float
    end: float
    sense: str
    text: str


class SimulatedReader:
    """A chat model that reads the world's phrases perfectly, out of the notes in its prompt and nothing else."""

    name = "simulated:reader"

    def __init__(self, cast: Cast) -> None:
        self._cast = cast

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[ToolSpec] = (),
        max_tokens: int = 1024,
        temperature: float = 0.0,
    ) -> Completion:
        shown = messages[-1].text
        notes = [Seen(int(n), float(a), float(b), sense, text) for n, a, b, sense, text in NOTE.findall(shown)]
        asked = (schema or {}).get("properties", {})
        if "entities" in asked:
            return Completion("", self._relations(notes), model=self.name)
        value = self._sentences(notes) if "sentences" in asked else self._intervals(notes, LISTED.findall(shown))
        return Completion("", value, model=self.name)

    def _relations(self, notes: Sequence[Seen]) -> dict[str, Any]:
        found = [(note, clause) for note, clause in self._told(notes)]
        names = {name: None for _, clause in found for name in (clause.source, clause.target)}
        entities = [{"name": name, "type": self._cast.kinds.get(name, "person"), "description": ""} for name in names]
        relations = [
            {
                "source": clause.source, "relation": clause.relation, "target": clause.target, "note": note.number,
                "supporting_text": clause.text, "confidence": 0.9,
            }
            for note, clause in found
        ]  # fmt: skip
        return {"entities": entities, "relations": relations}

    def _told(self, notes: Sequence[Seen]) -> Iterator[tuple[Seen, Clause]]:
        """Clauses of captions, "the same one" being who acted last, and who speaks to whom by name."""
        last = SAME
        for note in notes:
            if note.sense == "speech":
                yield from ((note, clause) for clause in self._spoken(note))
                continue
            for clause in self._cast.clauses(note.text):
                last = last if clause.source == SAME else clause.source
                yield note, replace(clause, source=last)

    def _spoken(self, note: Seen) -> Iterator[Clause]:
        """`Maria Lopez: Jonas, please …`: she talks to him."""
        speaker, _, words = note.text.partition(": ")
        for name, kind in self._cast.kinds.items():
            if kind == "person" and name not in (speaker, *self._cast.looks) and _addresses(words, name):
                yield Clause(speaker, "talks to", name, note.text)

    def _sentences(self, notes: Sequence[Seen]) -> dict[str, Any]:
        return {"sentences": [{"text": note.text, "notes": [note.number]} for note in notes]}

    def _intervals(self, notes: Sequence[Seen], listed: Sequence[tuple[str, ...]]) -> dict[str, Any]:
        """Where two talk, from the first to the last that they say to one another while the statement holds."""
        dated = []
        for number, source, relation, target, text in listed:
            told = next((note for note in notes if text in note.text), None)
            said = _exchange(notes, told, (source, target)) if told else []
            if said and relation == "talks to":
                span = {"start": min(note.start for note in said), "end": max(note.end for note in said)}
                dated.append({"relation": int(number), **span, "confidence": 0.9, "reason": "what they say"})
        return {"intervals": dated}


def _addresses(words: str, name: str) -> bool:
    first = re.escape(name.split()[0])
    return re.search(rf"^{first},|, {first}[.?!]|\b{first}\. ", words) is not None


def _exchange(notes: Sequence[Seen], told: Seen, pair: Sequence[str]) -> list[Seen]:
    """What two say to one another from where one of them addresses the other while a statement holds, as long as nobody pauses."""
    lines = [note for note in notes if note.sense == "speech" and note.text.partition(": ")[0] in pair]
    said = [note for note in lines if note.start < told.end and note.end > told.start and _is_to_other(note, pair)]
    for note in sorted(lines, key=lambda note: note.start):
        if said and note not in said and any(-PAUSE_S < note.start - other.end < PAUSE_S for other in said):
            said.append(note)
    return said


def _is_to_other(note: Seen, pair: Sequence[str]) -> bool:
    speaker, _, words = note.text.partition(": ")
    return any(name != speaker and _addresses(words, name) for name in pair)


# --- into the graph ------------------------------------------------------------------------------------------------------------


def bring_in(world: World, folder: Path, graph: VGraph) -> None:
    """The world's videos with unstructured captions and subtitles, read by the simulated model."""
    cast, place = Cast.of(world), folder / "unstructured"
    place.mkdir(parents=True, exist_ok=True)
    graph.models = replace(graph.models, chat=SimulatedReader(cast))
    written = world.write(folder).videos
    for video in written:
        for file in (video.video, *(s for s in video.sidecars if s.suffixes[-1] in (".vtt", ".json"))):
            shutil.copyfile(file, place / file.name)
        captions = (json.dumps(caption) for caption in unstructured(world, cast, video.video.stem))
        (place / f"{video.video.stem}.captions.jsonl").write_text("\n".join(captions), encoding="utf-8")
    for _ in graph.ingest([place / video.video.name for video in written]):
        pass


def _off(**switches: Any) -> dict[str, dict[str, Any]]:
    return {"ingest": switches}


TOPIC = Topic(
    name="relations",
    title="Relation intervals, read by a simulated perfect model",
    measure=measure,
    ingest=bring_in,
    settings={**GIVEN, "identity": {"enabled": False}},
    variants=(
        Variant("all"),
        Variant("without dating (E5)", _off(temporal=False)),
        Variant("units of one chunk (E3)", _off(unit_s=1.0)),
        Variant("without union (E7)", _off(union=False)),
        Variant("without fusion (E2)", _off(fuse=False)),
    ),
)
