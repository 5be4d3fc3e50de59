"""The graph: one door to ArangoDB, on a server or embedded, through python-arango and the queries of `arango/`."""

from vgraph.store.connect import connect
from vgraph.store.store import Store

__all__ = ["Store", "connect"]
