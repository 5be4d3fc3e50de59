"""From a question to evidence: `retrieve(...)` finds, expands, stitches and packs."""

from vgraph.retrieve.search import Profile, retrieve

__all__ = ["Profile", "retrieve"]
