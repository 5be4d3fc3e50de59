"""From a question to evidence: `retrieve(...)` finds, expands, stitches and packs."""

from vgraph.retrieve.profiles import Profile
from vgraph.retrieve.search import retrieve

__all__ = ["Profile", "retrieve"]
