"""Graph algorithms of the embedded engine: pure walks over batched neighbour lookups.

What a plan node calls:

    graph    = resolve_graph(txn, name)                               -> NamedGraph (1924 when unknown)
    sources  = edge_sources(txn, graph.edge_collections, "outbound")  -> [EdgeSource] (1218 when not an edge collection)
    expander = Expander(txn, sources)                                 one per plan node and query run: it caches
    spec     = traversal_options(min, max, options, warnings)         -> TraversalSpec (error 10; unknown names warn)

    traverse(expander, [(origin, start)...], spec, rt, ...)           -> (origin, v, e, p) rows
    shortest_path(expander, start, goal, spec, rt, ...)               -> (v, e) rows
    k_shortest_paths / all_shortest_paths / k_paths(...)              -> path objects

`origin` is opaque (a plan node passes its input row): it comes back with every result and goes into every callback, so
that one walk serves many start vertices and their neighbours are looked up together, one statement per depth and edge
collection.
"""

from .expand import EdgeSource, Expander, edge_sources
from .named import EdgeDefinition, NamedGraph, resolve_graph
from .options import PathSpec, TraversalSpec, path_options, traversal_options
from .paths import all_shortest_paths, k_paths, k_shortest_paths, shortest_path
from .walk import ALL, EVERYTHING, Callbacks, Wants, traverse

__all__ = [
    "ALL",
    "EVERYTHING",
    "Callbacks",
    "EdgeDefinition",
    "EdgeSource",
    "Expander",
    "NamedGraph",
    "PathSpec",
    "TraversalSpec",
    "Wants",
    "all_shortest_paths",
    "edge_sources",
    "k_paths",
    "k_shortest_paths",
    "path_options",
    "resolve_graph",
    "shortest_path",
    "traversal_options",
    "traverse",
]
