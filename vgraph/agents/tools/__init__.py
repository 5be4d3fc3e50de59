"""What an agent may do: look, in many ways, and nothing else. No tool writes, runs code, or opens an address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vgraph.agents.tools import footage, graph, intervals, query, searching
from vgraph.agents.tools.plugins import plugged
from vgraph.agents.tools.registry import Tool, Toolbox, tool
from vgraph.agents.tools.scope import Found, Scope

__all__ = ["BUILT_IN", "Found", "Scope", "Tool", "Toolbox", "tool", "toolbox"]

BUILT_IN: Final[tuple[Tool, ...]] = (
    tool(graph.entity_graph_search, cost=1, family="graph"),
    tool(graph.entity),
    tool(graph.neighbours),
    tool(graph.count_and_measure),
    tool(intervals.timeline),
    tool(intervals.journeys),
    tool(intervals.absences),
    tool(intervals.present_while),
    tool(intervals.said_while),
    tool(intervals.co_presence),
    tool(intervals.seen_then),
    tool(intervals.dwell),
    tool(intervals.first_last_seen),
    tool(intervals.counts_per_interval),
    tool(intervals.busiest),
    tool(intervals.interactions),
    tool(intervals.difference),
    tool(intervals.interval_relations),
    tool(searching.clip_search, cost=2),
    tool(searching.summaries, cost=2),
    tool(searching.read_clip),
    tool(searching.visual_search, cost=3, family="visual"),
    tool(searching.transcript_search, cost=4, family="audio"),
    tool(query.aql, cost=2),
    tool(footage.rewind, cost=8),
)


def toolbox(scope: Scope, others: Sequence[str] = ()) -> Toolbox:
    """The built-in tools and those of other packages that are named."""
    return Toolbox((*BUILT_IN, *plugged(others)), scope)
