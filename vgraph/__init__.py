"""vgraph: long, multi-camera video as a knowledge graph in ArangoDB, and answers that cite camera, time and clip.

>>> from vgraph import VGraph                                                       # doctest: +SKIP
>>> with VGraph.open() as graph:                                                    # doctest: +SKIP
...     reports = list(graph.ingest(["dock.mp4"], camera="dock"))
...     print(graph.ask("Who handed over the parcel at the dock?").text)

Importing this package loads no heavy library: names below are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Settings", "VGraph", "__version__"]

if TYPE_CHECKING:
    from vgraph.app import VGraph
    from vgraph.settings import Settings


def __getattr__(name: str) -> Any:
    if name == "VGraph":
        from vgraph.app import VGraph

        return VGraph
    if name == "Settings":
        from vgraph.settings import Settings

        return Settings
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
