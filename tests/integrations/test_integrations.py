"""vgraph behind other tools' interfaces."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import MakeVideo
from tests.ingest.test_pipeline import beside
from vgraph import Settings, VGraph


@pytest.fixture
def graph(tmp_path: Path, make_video: MakeVideo, monkeypatch: pytest.MonkeyPatch) -> Iterator[VGraph]:
    monkeypatch.chdir(tmp_path)
    video = make_video(seconds=8)
    beside(video)
    settings = Settings.load(models={"detect": "none", "read": "none", "transcribe": "none", "embed": "wordllama"})
    with VGraph.open(settings) as opened:
        list(opened.ingest([video]))
        yield opened


def test_the_whole_graph_in_networkx_has_every_vertex_and_edge(graph: VGraph) -> None:
    from vgraph.integrations.networkx import whole_graph

    made, counts = whole_graph(graph), graph.info()["counts"]
    edges = sum(count for name, count in counts.items() if name.isupper())
    assert made.number_of_edges() == edges
    assert made.number_of_nodes() == sum(counts.values()) - edges
    assert all("collection" in attributes for _, attributes in made.nodes(data=True)), "no edge dangles"


def test_the_evidence_of_a_question_in_networkx(graph: VGraph) -> None:
    from vgraph.integrations.networkx import evidence_graph

    made = evidence_graph(graph.search("Who hands over crate 25?"))
    relations = [data["relation"] for _, _, data in made.edges(data=True) if data["collection"] == "LINKS_TO"]
    assert relations == ["hands over"]


def test_a_llama_index_retriever_gives_chunks_with_camera_and_clip(graph: VGraph) -> None:
    pytest.importorskip("llama_index.core", reason="needs the extra llama-index")
    from vgraph.integrations.llama_index import VGraphRetriever

    nodes = VGraphRetriever(graph, k=2).retrieve("Who hands over crate 25?")
    assert "crate 25" in nodes[0].node.get_content()
    assert nodes[0].node.metadata["camera"] == "dock" and nodes[0].node.metadata["uri"].endswith("clip.mp4")


def test_a_llama_index_query_engine_answers_with_the_chunks_it_cites(graph: VGraph) -> None:
    pytest.importorskip("llama_index.core", reason="needs the extra llama-index")
    from vgraph.integrations.llama_index import VGraphQueryEngine

    answer = VGraphQueryEngine(graph=graph, agent="auto").query("Who hands over crate 25?")
    assert answer.metadata is not None and answer.metadata["status"] == "answered"
    assert answer.source_nodes[0].node.metadata["camera"] == "dock"
    assert graph.read_run(answer.metadata["run"])["run"]["agent"] == "auto"


def test_an_mcp_server_asks_and_refuses_to_write(graph: VGraph) -> None:
    pytest.importorskip("mcp", reason="needs the extra mcp")
    from vgraph.integrations.mcp import server

    made = server(graph)

    def call(tool: str, **arguments: Any) -> str:
        return str(asyncio.run(made.call_tool(tool, arguments)))

    assert "crate 25" in call("ask", question="Who hands over crate 25?")
    assert "crate 25" in call("ask", question="Who hands over crate 25?", agent="plan", choices=["Ana", "Bob"])
    assert "dock" in call("cameras")
    before = graph.info()["counts"]
    with pytest.raises(Exception, match="would change"):
        call("aql", query="FOR c IN chunks REMOVE c IN chunks")
    assert graph.info()["counts"] == before
