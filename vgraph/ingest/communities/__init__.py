"""Communities of the graph: summaries of windows of time, and themes of entities that have to do with each other."""

from vgraph.ingest.communities.records import Writers, community_text
from vgraph.ingest.communities.themes import ThemeOptions, find_themes
from vgraph.ingest.communities.windows import WindowOptions, summarise_windows

__all__ = ["ThemeOptions", "WindowOptions", "Writers", "community_text", "find_themes", "summarise_windows"]
