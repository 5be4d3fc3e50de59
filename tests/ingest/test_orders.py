"""The order in which recordings come must not show: one by one in any order, or all at once, they give the same graph."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import write_video
from vgraph import Settings, VGraph

NAMES = (
    "Maria Lopez",
    "Mario Lopes",
    "Lars Nielsen",
    "Lars",
    "Mei Chen",
    "Samuel Okoye",
    "a man in a blue coat",
    "a man in a blue jacket",
)
THINGS = ("crate 7", "crate 9", "the white van", "toolbox 55")
DEEDS = ("carries", "hands over", "looks at")
CAMERAS = ("dock", "gate", "yard")


def recordings(folder: Path, seed: int) -> list[Path]:
    """Six recordings of three cameras, of eight seconds each, with captions that name the same people and things again and again."""
    chance = random.Random(seed)
    found = []
    for number in range(6):
        path = write_video(folder / f"{CAMERAS[number % 3]}-{number}.mp4", seconds=8, seed=10 * seed + number)
        path.with_suffix(".captions.jsonl").write_text("\n".join(captions(chance)), encoding="utf-8")
        start = f"2026-03-02T08:{5 * number:02d}:00+00:00"
        path.with_suffix(".meta.json").write_text(
            json.dumps({"camera": {"label": CAMERAS[number % 3]}, "start": start})
        )
        found.append(path)
    return found


def captions(chance: random.Random) -> Iterator[str]:
    for second in range(0, 8, 2):
        people, things = chance.sample(NAMES, chance.randint(1, 2)), chance.sample(THINGS, 1)
        deed = chance.choice(DEEDS)
        yield json.dumps({
            "start": second, "end": second + 2, "text": f"{' and '.join(people)} {deed} {things[0]}.",
            "entities": [*({"name": name, "type": "person", "description": chance.choice(("", "blue coat and hat"))} for name in people),
                         *({"name": name, "type": "object"} for name in things)],
            "relations": [{"source": people[0], "relation": deed, "target": things[0]}],
        })  # fmt: skip


def opened(folder: Path) -> VGraph:
    return VGraph.open(Settings.load(
        database={"url": f"embedded:{folder / 'g.sqlite'}"},
        media={"assets": folder / "assets", "window_s": 2.0, "frame_every_s": 4.0},
        models={"embed": "wordllama", "detect": "none", "read": "none", "transcribe": "none"},
        derive={"similar_top": 2, "similar_eta": 0.3, "window_chunks": 3},
    ))  # fmt: skip


def graph_of(folder: Path, runs: Sequence[Sequence[Path]]) -> list[tuple[str, dict[str, Any]]]:
    folder.mkdir()
    with opened(folder) as graph:
        for paths in runs:
            list(graph.ingest(paths))
        return list(graph.records())


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_order_of_ingesting_does_not_show(tmp_path: Path, seed: int) -> None:
    paths = recordings(tmp_path / "media", seed)
    shuffled = random.Random(seed).sample(paths, len(paths))
    at_once = graph_of(tmp_path / "at once", [paths])
    kinds = {name for name, _ in at_once}
    assert {"SIMILAR_TO", "SAME_AS", "communities", "IN_SUMMARY"} <= kinds
    assert {record["kind"] for name, record in at_once if name == "communities"} == {"window", "theme"}
    for name, runs in {
        "one by one": [[path] for path in paths], "backwards": [[path] for path in reversed(paths)],
        "shuffled": [[path] for path in shuffled], "in two": [shuffled[:3], shuffled[3:]],
    }.items():  # fmt: skip
        assert differences(at_once, graph_of(tmp_path / name, runs)) == []


def differences(one: Sequence[tuple[str, Any]], other: Sequence[tuple[str, Any]]) -> list[Any]:
    """Records that only one of two graphs has, or has otherwise."""
    graphs = [{(name, record["_key"]): record for name, record in graph} for graph in (one, other)]
    return [
        (key, [graph.get(key) for graph in graphs])
        for key in sorted({*graphs[0], *graphs[1]})
        if graphs[0].get(key) != graphs[1].get(key)
    ]


def test_what_is_taken_away_again_does_not_show(tmp_path: Path) -> None:
    """A document that came and went leaves the graph as it is without it; themes and links are derived anew where they rested on it."""
    paths = recordings(tmp_path / "media", 4)
    without = graph_of(tmp_path / "without", [paths[1:]])
    (tmp_path / "gone").mkdir()
    with opened(tmp_path / "gone") as graph:
        list(graph.ingest(paths))
        (first,) = [d["_key"] for d in graph.documents() if d["uri"] == str(paths[0])]
        graph.delete(first)
        graph.derive()
        assert differences(without, list(graph.records())) == []
