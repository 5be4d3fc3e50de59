"""sentence-transformers: cross-encoders, which read a question and a text together, from a folder or a hub id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from vgraph.errors import ModelError
from vgraph.models.loading import clean, translated
from vgraph.models.sentence_transformers import Loaded

DEFAULT_RERANKER: Final = "cross-encoder/ms-marco-MiniLM-L6-v2"
_BATCH: Final = 32


class CrossEncoderReranker(Loaded):
    """A model of one output a pair (a sequence classifier with one label): the higher, the more a text answers the question."""

    loads: ClassVar[str] = "CrossEncoder"
    stage: ClassVar[str] = "rerank"

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """A score each, comparable within one question. Texts beyond the model's length are read as far as it goes."""
        import numpy as np

        if not texts:
            return []
        pairs = [(clean(question), clean(text)) for text in texts]
        with translated("rerank", self.name):
            made = self._model.predict(pairs, batch_size=_BATCH, show_progress_bar=False, convert_to_numpy=True)
        scores = np.asarray(made, np.float64)
        if scores.shape != (len(texts),) or not np.isfinite(scores).all():
            what = f"{self.name} is no reranker: it gave numbers of shape {scores.shape} for {len(texts)} pairs, not one each"
            raise ModelError(what, stage="rerank", model=self.name)
        return [float(score) for score in scores]
