"""What the commands share: exit codes, options, printing, the graph of the settings."""

from __future__ import annotations

import functools
import inspect
import json as jsonlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from vgraph.errors import VGraphError

if TYPE_CHECKING:
    from vgraph.app import VGraph
    from vgraph.settings import Settings

INTERRUPTED = 130
NOBODY_READS = 141
RESUMABLE = "interrupted; what was finished is kept, and the same command goes on from there"


class Guarded(TyperGroup):
    """A group whose commands end with an exit code and one line on stderr, whatever they raise on purpose."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except VGraphError as error:
            raise told(ctx, error, error.exit_code) from None
        except BrokenPipeError:
            _drop_stdout()
            raise typer.Exit(NOBODY_READS) from None
        except OSError as error:
            raise told(ctx, error, 1) from None
        except KeyboardInterrupt:
            sys.stderr.write(f"{ctx.meta.get('interrupted', 'interrupted')}\n")
            raise typer.Exit(INTERRUPTED) from None


def told(ctx: typer.Context, error: Exception, exit_code: int) -> typer.Exit:
    """Write the error to stderr, as JSON where the command's results are JSON; the exit to raise."""
    if ctx.meta.get("json"):
        line = jsonlib.dumps({"error": str(error), "kind": type(error).__name__, "exit_code": exit_code})
    else:
        line = f"error: {error}"
    sys.stderr.write(line.encode(errors="backslashreplace").decode() + "\n")  # names may hold bytes that are no text
    return typer.Exit(exit_code)


def _drop_stdout() -> None:
    """What is still buffered goes nowhere, so that the interpreter does not complain of the closed pipe when it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def as_json(ctx: typer.Context, wanted: bool) -> bool:
    """Remember that errors are to be JSON too."""
    ctx.meta["json"] = wanted
    return wanted


Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.", callback=as_json)]
Words = list[str] | None
Cameras = Annotated[Words, typer.Option("--camera", "-c", help="Only this camera (label or key); may be repeated.")]
Documents = Annotated[Words, typer.Option("--document", "-d", help="Only this document (key); may be repeated.")]
After = Annotated[str | None, typer.Option("--from", help="Only what was recorded from this time on, ISO 8601.")]
Before = Annotated[str | None, typer.Option("--to", help="Only what was recorded before this time, ISO 8601.")]
NotAfter = Annotated[
    str | None, typer.Option("--not-after", help="Nothing recorded after this time may influence the result, ISO 8601.")
]
AsOf = Annotated[str | None, typer.Option("--as-of", help="Only what the graph had learnt by this time, ISO 8601.")]
Places = Annotated[Words, typer.Option("--place", help="Only cameras at this place; may be repeated.")]
Tags = Annotated[Words, typer.Option("--tag", help="Only documents with this tag; may be repeated.")]
Entities = Annotated[
    Words, typer.Option("--entity", help="Only where this entity (name or key) occurs; may be repeated.")
]
EntityTypes = Annotated[
    Words, typer.Option("--entity-type", help="Only where an entity of this type occurs; may be repeated.")
]
RelationTypes = Annotated[
    Words, typer.Option("--relation", help="Only where a relation of this type is stated; may be repeated.")
]
Modalities = Annotated[
    Words, typer.Option("--modality", help="Only caption, speech, ocr, detection or fused; may be repeated.")
]
Speakers = Annotated[Words, typer.Option("--speaker", help="Only where this speaker speaks; may be repeated.")]
TimeOfDay = Annotated[
    str | None, typer.Option(help="Only at this time of day in the camera's zone, such as 22:00-06:00.")
]
Weekdays = Annotated[
    Words, typer.Option("--weekday", help="Only on this day (mon, 1 to 7) in the camera's zone; may be repeated.")
]
NARROWING: dict[str, Any] = {
    "cameras": Cameras, "documents": Documents, "start": After, "end": Before, "not_after": NotAfter, "as_of": AsOf, "places": Places,
    "tags": Tags, "entities": Entities, "entity_types": EntityTypes, "relation_types": RelationTypes, "modalities": Modalities,
    "speakers": Speakers, "time_of_day": TimeOfDay, "weekdays": Weekdays,
}  # fmt: skip
"""The filters of VGraph.filters as options."""
Narrowed = dict[str, Any]
"""Filters as they were given: keyword arguments of VGraph.filters."""
Count = Annotated[int | None, typer.Option("--k", min=1, help="How many chunks to find (default: VGRAPH_RETRIEVE__K).")]
Profile = Annotated[
    Literal["chunks", "entities", "clips", "summaries", "rank", "relations", "graph", "auto"] | None,
    typer.Option(help="How the question enters the graph (default: VGRAPH_RETRIEVE__PROFILE)."),
]
Hops = Annotated[
    int | None, typer.Option(min=0, max=4, help="How far relations, or the edges of a subgraph, are followed.")
]
Neighbours = Annotated[int | None, typer.Option(min=0, help="Chunks before and after a found one.")]
Fusion = Annotated[
    Literal["rrf", "weighted"] | None, typer.Option(help="Join meaning and words by rank or by weighted score.")
]
Rerank = Annotated[int | None, typer.Option(min=0, help="Candidates that the reranker reads; 0 leaves it out.")]
Mmr = Annotated[
    float | None, typer.Option(min=0, max=1, help="Chunks that differ: weight of relevance against novelty.")
]
Intent = Annotated[
    Literal["none", "frames", "captions"] | None,
    typer.Option(help="Leave out what the rater finds beside the question."),
]
Threshold = Annotated[
    float | None, typer.Option("--threshold", min=1, max=5, help="What it keeps is rated above this.")
]
Budget = Annotated[int | None, typer.Option("--budget", min=200, help="Most tokens of evidence.")]
Order = Annotated[
    Literal["time", "score"] | None, typer.Option(help="Order of the lines of evidence: by time, or the best first.")
]
Cascade = Annotated[
    Literal["window", "days"] | None, typer.Option("--form", help="The levels of a search for relations.")
]
Enough = Annotated[int | None, typer.Option(min=1, help="It stops at the first level with so many hits so far.")]
Edges = Annotated[Words, typer.Option("--edge", help="A kind of edge to follow, such as LINKS_TO; may be repeated.")]
Nodes = Annotated[int | None, typer.Option("--nodes", min=1, help="Most nodes of a subgraph.")]
TUNING: dict[str, Any] = {
    "k": Count, "profile": Profile, "hops": Hops, "neighbours": Neighbours, "fusion": Fusion, "rerank": Rerank, "mmr": Mmr,
    "intent": Intent, "intent_threshold": Threshold, "token_budget": Budget, "order": Order, "cascade": Cascade, "enough": Enough,
    "graph_edges": Edges, "graph_nodes": Nodes,
}  # fmt: skip
"""Settings of retrieval for one question (keyword arguments of VGraph.search) as options."""
Tuned = dict[str, Any]


@contextmanager
def opened(chosen: Settings | None = None) -> Iterator[VGraph]:
    from vgraph.app import VGraph

    with VGraph.open(chosen) as graph:
        yield graph


def settings() -> Settings:
    from vgraph.settings import Settings

    return Settings.load()


def print_json(value: Any, *, indent: bool = True) -> None:
    from vgraph.app import to_json

    sys.stdout.write(to_json(value, indent=indent) + "\n")


def print_json_line(value: Any) -> None:
    """One of several results, out as soon as it is there."""
    print_json(value, indent=False)
    sys.stdout.flush()


def narrowed(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of NARROWING, but those named, in place of its parameter `chosen`, where they arrive as Narrowed."""
    return _widened("chosen", {name: kind for name, kind in NARROWING.items() if name not in without})


def tuned(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of TUNING, or those named, in place of its parameter `how`, where those given arrive as Tuned."""
    return _widened("how", {name: kind for name, kind in TUNING.items() if name in names or not names})


def _widened(place: str, options: dict[str, Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def widen(command: Callable[..., None]) -> Callable[..., None]:
        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command, eval_str=True).parameters.values():
            if parameter.name == place:
                kind = inspect.Parameter.KEYWORD_ONLY
                parameters += [inspect.Parameter(n, kind, default=None, annotation=o) for n, o in options.items()]
            else:
                parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

        @functools.wraps(command)
        def widened(**given: Any) -> None:
            taken = {name: given.pop(name) for name in options}
            command(**{place: {name: None if value in ([], "") else value for name, value in taken.items()}}, **given)

        widened.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        widened.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return widened

    return widen
