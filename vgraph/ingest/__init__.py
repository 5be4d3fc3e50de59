"""From a video to the graph: `ingest(...)` in pipeline.py tells the story, each step beside it can be called alone."""

from vgraph.ingest.pipeline import Options, Tools, ingest

__all__ = ["Options", "Tools", "ingest"]
