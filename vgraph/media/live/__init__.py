"""Recordings that are still growing: streams, files and folders, taken down in pieces that are videos of their own."""

from vgraph.media.live.pieces import Piece, Recording, pieces
from vgraph.media.live.source import Limits, Source, source_of

__all__ = ["Limits", "Piece", "Recording", "Source", "pieces", "source_of"]
