"""How text is understood: the vocabulary, which passes are made, and how much a model is asked at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vgraph.ingest.extract.vocabulary import PRESETS, Vocabulary
from vgraph.ingest.extract.wording import Wording

PROMPT_TOKENS: Final = 1_000
"""Room for the instructions, the types and the schema."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The mechanisms of EGAgent, each with its switch: `fuse` (E2), `unit_ms` (E3), `temporal` (E5), `union` (E7).

    `context_tokens` is what the model takes in and gives out together, `reply_tokens` the most it may give out.
    """

    vocabulary: Vocabulary = PRESETS["general"]
    fuse: bool = True
    union: bool = True
    temporal: bool = True
    unit_ms: int = 3_600_000
    context_tokens: int = 32_768
    reply_tokens: int = 4_096
    language: str = "en"

    @property
    def wording(self) -> Wording:
        return Wording(self.language)

    @property
    def room(self) -> int:
        """Tokens of notes that fit into one question."""
        return max(self.context_tokens - self.reply_tokens - PROMPT_TOKENS, self.context_tokens // 4)
