"""From a video to the graph: `ingest(...)` in pipeline.py tells the story, each step beside it can be called alone."""

from vgraph.ingest.opening import Asked, Site
from vgraph.ingest.options import Options, Tools
from vgraph.ingest.pipeline import ingest

__all__ = ["Asked", "Options", "Site", "Tools", "ingest"]
