"""From a question and its evidence to an answer that can be checked."""

from vgraph.agents.answer import answer

__all__ = ["answer"]
