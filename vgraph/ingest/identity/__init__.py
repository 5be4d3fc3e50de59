"""Who is who: entities that are one are found, told why, and joined only above a high bar; whatever was done can be undone."""

from __future__ import annotations

from vgraph.ingest.identity.identification import Decided, Identification
from vgraph.ingest.identity.options import IdentityOptions
from vgraph.ingest.identity.resolve import ResolveReport, resolve

__all__ = ["Decided", "Identification", "IdentityOptions", "ResolveReport", "resolve"]
