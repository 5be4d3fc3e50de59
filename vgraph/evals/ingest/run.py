"""Run the topics: write the world, bring it into a graph, measure, once for each variant."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from vgraph.app import VGraph
from vgraph.evals.ingest.topic import Overrides, Scores, Topic, Variant
from vgraph.evals.world import World
from vgraph.settings import Settings
from vgraph.types import Progress


@dataclass(frozen=True, slots=True)
class Measured:
    """A row: what was measured of a topic in one variant."""

    topic: str
    title: str
    variant: str
    scores: Scores


def evaluate(
    topics: Sequence[Topic],
    settings: Settings,
    folder: Path,
    *,
    minutes: float | None,
    report: Callable[[Progress], None],
) -> Iterator[Measured]:
    """Measure topics one after another, a row as soon as it is there. Everything goes under `folder`; worlds written before are kept."""
    for topic in topics:
        world = topic.world(minutes)
        place = folder / "worlds" / _name(topic, minutes)
        graphs = folder / "graphs" / topic.name
        shutil.rmtree(graphs, ignore_errors=True)
        rows = _anew if topic.stage == "ingest" else _again
        yield from rows(topic, world, place, graphs, settings, report)


def _anew(
    topic: Topic, world: World, place: Path, graphs: Path, settings: Settings, report: Callable[[Progress], None]
) -> Iterator[Measured]:
    """Every variant in a graph of its own."""
    for number, variant in enumerate(topic.variants):
        with VGraph.open(_settings(settings, topic, variant, graphs / str(number))) as graph:
            _bring_in(topic, world, place, graph, report)
            yield _measured(topic, variant, world, graph)


def _again(
    topic: Topic, world: World, place: Path, graphs: Path, settings: Settings, report: Callable[[Progress], None]
) -> Iterator[Measured]:
    """One graph, whose entities are resolved again for each variant: other options resolve everything anew."""
    with VGraph.open(_settings(settings, topic, Variant("all"), graphs / "0")) as graph:
        _bring_in(topic, world, place, graph, report)
    for variant in topic.variants:
        with VGraph.open(_settings(settings, topic, variant, graphs / "0")) as graph:
            graph.identities(report=report).resolve()
            yield _measured(topic, variant, world, graph)


def _bring_in(topic: Topic, world: World, place: Path, graph: VGraph, report: Callable[[Progress], None]) -> None:
    if topic.ingest:
        topic.ingest(world, place, graph)
    else:
        files = world.write(place, progress=lambda _text, share: report(_rendered(share)))
        for _ in graph.ingest([video.video for video in files.videos], report=report):
            pass
    if topic.prepare:
        topic.prepare(world, graph)


def _rendered(share: float) -> Progress:
    return Progress("world", "render", round(share * 100), 100, "%")


def _measured(topic: Topic, variant: Variant, world: World, graph: VGraph) -> Measured:
    return Measured(topic.name, topic.title, variant.name, topic.measure(world, graph))


def _name(topic: Topic, minutes: float | None) -> str:
    """A folder of its own for each world, shared by the topics that are measured on it."""
    facts = repr((topic.seed, minutes or topic.minutes, topic.cameras, asdict(topic.noise), asdict(topic.picture)))
    return blake2b(facts.encode(), digest_size=6).hexdigest()


def _settings(settings: Settings, topic: Topic, variant: Variant, folder: Path) -> Settings:
    """The caller's settings, with those of the topic and the variant over them, and a graph of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    own: Overrides = {
        "database": {"url": f"embedded:{folder / 'graph.sqlite'}", "name": "vgraph"},
        "media": {"assets": folder / "assets", "roots": ()},
    }
    sections: dict[str, Any] = {}
    for overrides in (topic.settings, variant.settings, own):
        for section, values in overrides.items():
            known = sections.get(section, getattr(settings, section))
            sections[section] = known.model_copy(update=dict(values))
    return settings.model_copy(update=sections)
