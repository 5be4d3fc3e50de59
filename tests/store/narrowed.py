"""A small world under filters, and what passes them by plain Python: the outside oracle of test_narrowing."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from tests.store.test_store import edge, vector
from vgraph.types import Filters, GraphDelta

MINUTE = 60_000
ZONES = {"dock": "Europe/Berlin", "gate": "America/New_York", "yard": "UTC"}
PLACES = {"dock": "Harbour", "gate": "Gatehouse", "yard": "Harbour"}
STARTS = {
    "d0": ("dock", "2026-03-28T21:00"),  # the clocks of Berlin go forward in it
    "d1": ("dock", "2026-10-24T21:30"),  # and back
    "d2": ("gate", "2026-03-08T03:10"),  # those of New York too
    "d3": ("gate", "2026-11-01T02:00"),
    "d4": ("yard", "2026-03-28T22:00"),
    "d5": ("yard", "1970-01-01T00:00"),  # nobody knows when
}
PEOPLE = {
    "ada": "person",
    "adah": "person",
    "ben": "person",
    "benny": "person",
    "cy": "person",
    "van": "vehicle",
    "bus": "vehicle",
}
RELATIONS = ("carries", "greets")
SENSES = ("caption", "speech", "ocr", "detection")
SPEAKERS = ("ada", "ben", "voice")
WORDS = "crate gate lorry rain ladder".split()  # noqa: SIM905
Record = dict[str, Any]
ADA = {"canonical": "ada", "called": "Ada"}


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@dataclass
class World:
    """Records by collection. Times are whole minutes; what the graph learnt is stamped 1 to 9 ms."""

    chunks: dict[str, Record] = field(default_factory=dict)
    mentions: list[Record] = field(default_factory=list)
    links: list[Record] = field(default_factory=list)
    communities: dict[str, Record] = field(default_factory=dict)
    beneath: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    documents: dict[str, Record] = field(default_factory=dict)
    alike: list[Record] = field(default_factory=list)
    chain: list[Record] = field(default_factory=list)


def made(seed: int) -> tuple[World, GraphDelta]:
    draw, world = random.Random(seed), World()
    utterances: list[Record] = []
    for document, (camera, start) in STARTS.items():
        at = ms(start)
        begun, before = at, ""
        for index in range(8):
            end = at + draw.choice((5, 20, 45, 90)) * MINUTE
            chunk = _chunk(draw, document, camera, index, at, end, begun)
            world.chunks[chunk["_key"]] = chunk
            _named(draw, world, chunk)
            for number, speaker in enumerate(chunk["speakers"]):
                key = f"{chunk['_key']}-u{number}"
                chunk["utterances"].append(key)
                utterances.append({
                    "_key": key, "document": document, "camera": camera, "speaker": speaker, "text": draw.choice(WORDS), "start_ms": at,
                    "end_ms": end, "offset_ms": at - begun, "recorded_ms": chunk["recorded_ms"],
                })  # fmt: skip
            if before:
                world.chain.append(edge("n", f"chunks/{before}", f"chunks/{chunk['_key']}", document, camera))
            before, at = chunk["_key"], end
        world.documents[document] = {
            "_key": document, "camera": camera, "title": document, "uri": f"/{document}.mp4", "start_ms": begun, "end_ms": at,
            "duration_ms": at - begun, "state": "complete", "start_source": "unknown" if document == "d5" else "flag",
            "tags": sorted(draw.sample(("night", "alarm"), draw.randint(0, 2))),
        }  # fmt: skip
    summed = _summaries(draw, world)
    keys = sorted(world.chunks)
    for _ in range(12):
        a, b = draw.sample(keys, 2)
        one = world.chunks[a]
        world.alike.append(
            edge("s", f"chunks/{a}", f"chunks/{b}", one["document"], one["camera"], weight=draw.choice((0.3, 0.6, 0.9)))
        )
    same = [
        _same("ada", "adah", [[3, "proposed"], [5, "confirmed"]]),
        _same("ben", "benny", [[2, "confirmed"], [7, "rejected"]]),
    ]
    entities = [
        {
            "_key": key, "type": kind, "name": key, "aliases": [key], "description": "", "first_ms": 0, "last_ms": 0, "cameras": [],
            "named": "", "described": "", "embedding": vector(key), **(ADA if key in ("ada", "adah") else {}),
        }
        for key, kind in PEOPLE.items()
    ]  # fmt: skip
    cameras = [{"_key": c, "label": c.upper(), "place": PLACES[c], "tz": tz} for c, tz in ZONES.items()]
    vertices = {
        "cameras": cameras, "documents": world.documents.values(), "chunks": world.chunks.values(), "entities": entities,
        "utterances": utterances, "communities": world.communities.values(),
    }  # fmt: skip
    edges = {
        "HAS_ENTITY": world.mentions, "LINKS_TO": world.links, "NEXT_CHUNK": world.chain, "SIMILAR_TO": world.alike, "IN_SUMMARY": summed,
        "SAME_AS": same,
    }  # fmt: skip
    return world, GraphDelta({k: tuple(v) for k, v in vertices.items()}, {k: tuple(v) for k, v in edges.items()})


def _same(a: str, b: str, history: list[list[Any]]) -> Record:
    ends = {"_from": f"entities/{a}", "_to": f"entities/{b}"}
    return {"_key": a, **ends, "status": history[-1][1], "score": 1.0, "history": history}


def _chunk(draw: random.Random, document: str, camera: str, index: int, start: int, end: int, zero: int) -> Record:
    senses = sorted(draw.sample(SENSES, draw.randint(1, 3)))
    text = f"{draw.choice(WORDS)} {draw.choice(WORDS)} {index}"
    return {
        "_key": f"{document}-{index}", "document": document, "camera": camera, "index": index, "start_ms": start, "end_ms": end,
        "offset_ms": start - zero, "end_offset_ms": end - zero, "known_ms": end, "recorded_ms": draw.randint(1, 9), "text": text,
        "lines": [[start - zero, end - zero, sense, "given", text] for sense in senses], "frames": [], "origins": {}, "fused": [],
        "modalities": senses, "speakers": sorted(draw.sample(SPEAKERS, draw.randint(0, 2))) if "speech" in senses else [],
        "utterances": [], "embedding": vector(f"{document}-{index}"),
    }  # fmt: skip


def _named(draw: random.Random, world: World, chunk: Record) -> None:
    there = draw.sample(sorted(PEOPLE), draw.randint(0, 3))
    start, minutes = chunk["start_ms"], (chunk["end_ms"] - chunk["start_ms"]) // MINUTE
    told = {name: chunk[name] for name in ("modalities", "speakers")}

    def span() -> dict[str, int]:
        begin = draw.randrange(minutes)
        return {"start_ms": start + begin * MINUTE, "end_ms": start + draw.randint(begin + 1, minutes) * MINUTE}

    for who in there:
        world.mentions.append(edge(
            "m", f"chunks/{chunk['_key']}", f"entities/{who}", chunk["document"], chunk["camera"], **span(), **told, type=PEOPLE[who],
            modality=draw.choice((*chunk["modalities"], "extraction")), mention=draw.choice((who, f"the {who}")),
            description=draw.choice(("", f"{who} in {chunk['_key']}")), known_ms=chunk["end_ms"] + draw.choice((0, 0, 600 * MINUTE)),
            described_ms=chunk["end_ms"] + 600 * MINUTE, recorded_ms=draw.randint(chunk["recorded_ms"], 9),
        ))  # fmt: skip
    for number, (a, b) in enumerate(pairwise(there)):
        world.links.append(edge(
            f"l{number}", f"entities/{a}", f"entities/{b}", chunk["document"], chunk["camera"], **span(), **told,
            types=[PEOPLE[a], PEOPLE[b]], relation=draw.choice(RELATIONS), chunk=chunk["_key"], supporting_text="", confidence=1.0,
            known_ms=chunk["end_ms"], recorded_ms=draw.randint(1, 9), retracted_ms=draw.choice((None, None, 4)),
        ))  # fmt: skip


def _summaries(draw: random.Random, world: World) -> list[Record]:
    keys = sorted(world.chunks)
    groups = [(f"w{n}", keys[n : n + 3], True) for n in range(0, len(keys), 3)]
    groups += [(f"t{n}", draw.sample(keys, 4), False) for n in range(4)]
    edges = []
    for key, members, window in groups:
        chunks = [world.chunks[member] for member in members]
        world.communities[key] = {
            "_key": key, "kind": "window" if window else "theme", "level": 0, "title": key, "summary": draw.choice(WORDS), "method": "m",
            "document": chunks[0]["document"] if window else None, "cameras": sorted({c["camera"] for c in chunks}),
            "start_ms": min(c["start_ms"] for c in chunks), "end_ms": max(c["end_ms"] for c in chunks),
            "known_ms": max(c["known_ms"] for c in chunks), "recorded_ms": draw.randint(1, 9), "embedding": vector(key),
        }  # fmt: skip
        world.beneath[key] = set(members)
        edges += [edge("i", f"chunks/{c['_key']}", f"communities/{key}", c["document"], c["camera"]) for c in chunks]
    return edges


# --- filters ---------------------------------------------------------------------------------------------------------------


SIDES = (
    "cameras", "documents", "start_ms", "end_ms", "not_after", "places", "tags", "entities", "entity_types", "relation_types", "modalities",
    "speakers", "time_of_day", "weekdays", "as_of",
)  # fmt: skip


def random_sides(draw: random.Random) -> frozenset[str]:
    """Which sides of a filter are set: any combination of none to five."""
    return frozenset(draw.sample(SIDES, draw.randint(0, 5)))


def random_filters(draw: random.Random, world: World, sides: frozenset[str]) -> Filters:
    """Filters of these sides with any values."""

    def some(values: Iterable[Any], most: int) -> tuple[Any, ...]:
        pool = sorted(values)
        return tuple(draw.sample(pool, draw.randint(1, min(most, len(pool)))))

    def moment() -> int:
        chunk = draw.choice(sorted(world.chunks.values(), key=lambda c: c["_key"]))
        return int(chunk["start_ms"]) + draw.randrange(0, 90) * MINUTE

    span = sorted((moment(), moment()))
    given = {
        "cameras": some(ZONES, 2), "documents": some(STARTS, 4), "start_ms": span[0], "end_ms": span[1] + MINUTE, "not_after": moment(),
        "places": some(set(PLACES.values()), 2), "tags": some(("night", "alarm"), 2), "entities": some(PEOPLE, 3),
        "entity_types": some(set(PEOPLE.values()), 1), "relation_types": some(RELATIONS, 1), "modalities": some(SENSES, 2),
        "speakers": some(SPEAKERS, 2), "time_of_day": (draw.randrange(1440), draw.randrange(1, 1441)), "weekdays": some(range(1, 8), 4),
        "as_of": draw.randint(0, 10),
    }  # fmt: skip
    return Filters(**{side: given[side] for side in sides})


@dataclass(frozen=True)
class Oracle:
    """What passes filters, one record at a time."""

    world: World
    f: Filters
    known: dict[str, bool] = field(default_factory=dict)

    def open(self, camera: str, start: int, end: int) -> bool:
        """Whether any minute of [start, end) is one of a time and day asked for, by the clocks of the camera's zone."""
        if self.f.time_of_day is None and self.f.weekdays is None:
            return True
        return any(self._is_open(camera, at) for at in range(start, end, MINUTE))

    def _is_open(self, camera: str, at: int) -> bool:
        local = datetime.fromtimestamp(at / 1000, ZoneInfo(ZONES[camera]))
        minute = local.hour * 60 + local.minute
        from_, to = self.f.time_of_day or (0, 1440)
        timely = from_ <= minute < to if from_ < to else minute >= from_ or minute < to
        return timely and (self.f.weekdays is None or local.isoweekday() in self.f.weekdays)

    def itself(self, r: Record) -> bool:
        """By camera, document and time."""
        f, document = self.f, self.world.documents[r["document"]]
        timed = (f.time_of_day is None and f.weekdays is None) or document["start_source"] != "unknown"
        return (
            (f.cameras is None or r["camera"] in f.cameras)
            and (f.places is None or PLACES[r["camera"]] in f.places)
            and (f.documents is None or r["document"] in f.documents)
            and (f.tags is None or bool(set(f.tags) & set(document["tags"])))
            and (f.start_ms is None or r["end_ms"] > f.start_ms)
            and (f.end_ms is None or r["start_ms"] < f.end_ms)
            and (f.not_after is None or r["known_ms"] <= f.not_after)
            and (f.as_of is None or r["recorded_ms"] <= f.as_of)
            and timed and self.open(r["camera"], r["start_ms"], r["end_ms"])
        )  # fmt: skip

    def stands(self, link: Record) -> bool:
        """Not retracted, or not yet."""
        gone = link["retracted_ms"]
        return gone is None or (self.f.as_of is not None and gone > self.f.as_of)

    def meant(self) -> set[str]:
        """The entities asked for with those that were one with them."""
        asked = set(self.f.entities or ())
        if self.f.not_after is None and self.f.as_of is None:
            return asked | {"ada", "adah"} if asked & {"ada", "adah"} else asked
        if self.f.not_after is None and self.f.as_of is not None:
            if self.f.as_of >= 5 and asked & {"ada", "adah"}:
                asked |= {"ada", "adah"}
            if 2 <= self.f.as_of < 7 and asked & {"ben", "benny"}:
                asked |= {"ben", "benny"}
        return asked

    def told(self, r: Record) -> bool:
        """By the chunk's senses."""
        f = self.f
        return (f.modalities is None or bool(set(f.modalities) & set(r["modalities"]))) and (
            f.speakers is None or bool(set(f.speakers) & set(r["speakers"]))
        )

    def within(self, chunk: str) -> bool:
        if chunk not in self.known:
            self.known[chunk] = self._within(chunk)
        return self.known[chunk]

    def _within(self, chunk: str) -> bool:
        f, mentions = self.f, [m for m in self.world.mentions if m["_from"] == f"chunks/{chunk}" and self.itself(m)]
        if f.entities is not None and not self.meant() & {m["_to"].removeprefix("entities/") for m in mentions}:
            return False
        if f.entity_types is not None and not set(f.entity_types) & {m["type"] for m in mentions}:
            return False
        stated = {x["relation"] for x in self.world.links if x["chunk"] == chunk and self.itself(x) and self.stands(x)}
        return f.relation_types is None or bool(set(f.relation_types) & stated)

    def chunk(self, c: Record) -> bool:
        return self.itself(c) and self.told(c) and self.within(c["_key"])

    def mention(self, m: Record) -> bool:
        f = self.f
        sensed = (
            f.modalities is None or m["modality"] in f.modalities or (m["modality"] == "extraction" and self.told(m))
        )
        return (
            self.itself(m) and sensed and (f.speakers is None or bool(set(f.speakers) & set(m["speakers"])))
            and (f.entity_types is None or m["type"] in f.entity_types) and self.within(m["_from"].removeprefix("chunks/"))
        )  # fmt: skip

    def link(self, x: Record) -> bool:
        f = self.f
        ends = {x[end].removeprefix("entities/") for end in ("_from", "_to")}
        return (
            self.itself(x) and self.stands(x) and self.told(x) and self.within(x["chunk"])
            and (f.relation_types is None or x["relation"] in f.relation_types)
            and (f.entity_types is None or set(x["types"]) <= set(f.entity_types))
            and (f.entities is None or bool(self.meant() & ends))
        )  # fmt: skip

    def community(self, c: Record) -> bool:
        f = self.f
        cameras = {k for k in c["cameras"] if f.cameras is None or k in f.cameras}
        cameras = {k for k in cameras if f.places is None or PLACES[k] in f.places}
        narrow = (f.cameras, f.places) != (None, None)
        tagged = {k for k, d in self.world.documents.items() if f.tags is None or set(f.tags) & set(d["tags"])}
        documents = (f.documents, f.tags) != (None, None)
        deep = any(
            side is not None
            for side in (
                f.modalities,
                f.speakers,
                f.time_of_day,
                f.weekdays,
                f.entities,
                f.entity_types,
                f.relation_types,
            )
        )
        return (
            (bool(cameras) or not narrow)
            and (not documents or (c["document"] in tagged and (f.documents is None or c["document"] in f.documents)))
            and (f.start_ms is None or c["end_ms"] > f.start_ms) and (f.end_ms is None or c["start_ms"] < f.end_ms)
            and (f.not_after is None or c["known_ms"] <= f.not_after) and (f.as_of is None or c["recorded_ms"] <= f.as_of)
            and (not deep or any(self.chunk(self.world.chunks[key]) for key in self.world.beneath[c["_key"]]))
        )  # fmt: skip

    # --- sets ------------------------------------------------------------------------------------------------------------

    def chunks(self) -> set[str]:
        return {key for key, c in self.world.chunks.items() if self.chunk(c)}

    def mentions(self) -> list[Record]:
        return [m for m in self.world.mentions if self.mention(m)]

    def links(self) -> list[Record]:
        return [x for x in self.world.links if self.link(x)]
