"""A subgraph (`VGraph.subgraph`) as data of PyTorch Geometric. Needs the extra `graph`; the door to torch_geometric.

Node features are embeddings; a node that has none has zeros, and False in the mask `has_features`. Everything is in the subgraph's order,
so that numbers of nodes lead back to ids.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vgraph.errors import MissingDependency
from vgraph.types import Subgraph

if TYPE_CHECKING:
    from torch_geometric.data import Data, HeteroData

ANCHOR = "is_anchor"


def data(graph: Subgraph) -> Data:
    """All nodes in one numbering: x float[n, d], node_type int[n] into `node_types`, edge_index int[2, e], edge_type int[e] into
    `relation_types`, edge_attr float[e, 4]; is_anchor, hop, score; `question` float[1, d]; ids and texts as lists of strings.

    Raises MissingDependency without torch_geometric.
    """
    torch, geometric = _libraries()
    kinds = sorted({node.kind for node in graph.nodes})
    everything = range(len(graph.nodes))
    return geometric.Data(
        **_nodes(graph, everything, torch),
        node_type=torch.tensor([kinds.index(node.kind) for node in graph.nodes], dtype=torch.long),
        edge_index=torch.tensor(graph.edge_index, dtype=torch.long).reshape(2, -1),
        edge_type=torch.tensor(graph.edge_type, dtype=torch.long),
        edge_attr=_rows(graph.edge_attributes, len(graph.edge_attribute_names), torch),
        edge_id=list(graph.edge_ids),
        edge_text=list(graph.edge_texts),
        node_types=kinds,
        relation_types=list(graph.relation_types),
        question=_rows([graph.vector], graph.dimension, torch),
        num_nodes=len(graph.nodes),
    )


def hetero_data(graph: Subgraph) -> HeteroData:
    """Nodes by kind and edges by (kind, relation, kind), each kind numbered by itself; the question as `question` of the whole.

    Raises MissingDependency without torch_geometric.
    """
    torch, geometric = _libraries()
    made = geometric.HeteroData()
    made.question = _rows([graph.vector], graph.dimension, torch)
    made.question_text = graph.question
    places: dict[int, int] = {}
    for kind in sorted({node.kind for node in graph.nodes}):
        members = [number for number, node in enumerate(graph.nodes) if node.kind == kind]
        places |= {number: place for place, number in enumerate(members)}
        for name, value in _nodes(graph, members, torch).items():
            made[kind][name] = value
        made[kind].num_nodes = len(members)
    for triple, edges in _by_triple(graph).items():
        sources, targets = graph.edge_index
        ends = [[places[sources[edge]] for edge in edges], [places[targets[edge]] for edge in edges]]
        made[triple].edge_index = torch.tensor(ends, dtype=torch.long)
        made[triple].edge_attr = _rows(
            [graph.edge_attributes[edge] for edge in edges], len(graph.edge_attribute_names), torch
        )
        made[triple].edge_id = [graph.edge_ids[edge] for edge in edges]
        made[triple].edge_text = [graph.edge_texts[edge] for edge in edges]
    return made


def _by_triple(graph: Subgraph) -> dict[tuple[str, str, str], list[int]]:
    """Numbers of edges by (kind of source, relation, kind of target)."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for edge, (source, target, relation) in enumerate(zip(*graph.edge_index, graph.edge_type, strict=True)):
        triple = graph.nodes[source].kind, graph.relation_types[relation], graph.nodes[target].kind
        found.setdefault(triple, []).append(edge)
    return found


def _nodes(graph: Subgraph, numbers: Sequence[int], torch: Any) -> dict[str, Any]:
    nodes = [graph.nodes[number] for number in numbers]
    nothing = (0.0,) * graph.dimension
    anchors = set(graph.anchors)
    return {
        "x": _rows([node.features or nothing for node in nodes], graph.dimension, torch),
        "has_features": torch.tensor([node.features is not None for node in nodes], dtype=torch.bool),
        ANCHOR: torch.tensor([number in anchors for number in numbers], dtype=torch.bool),
        "hop": torch.tensor([node.hop for node in nodes], dtype=torch.long),
        "score": torch.tensor([node.score for node in nodes], dtype=torch.float),
        "node_id": [node.id for node in nodes],
        "text": [node.text for node in nodes],
    }


def _rows(rows: Sequence[Sequence[float]], width: int, torch: Any) -> Any:
    return torch.tensor([list(row) for row in rows], dtype=torch.float).reshape(len(rows), width)


def _libraries() -> tuple[Any, Any]:
    """torch and torch_geometric.data."""
    try:
        return importlib.import_module("torch"), importlib.import_module("torch_geometric.data")
    except ImportError as error:
        what = f"PyTorch Geometric data needs the package torch_geometric, which cannot be imported ({error})"
        raise MissingDependency(what, command="pip install 'vgraph[graph]'", stage="subgraph") from error
