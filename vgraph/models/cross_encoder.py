"""sentence-transformers: cross-encoders, which read a question and a text together, from a folder or a hub id."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from vgraph.errors import ModelError
from vgraph.models.loading import clean, local, require, title, translated

DEFAULT_RERANKER: Final = "cross-encoder/ms-marco-MiniLM-L6-v2"
_BATCH: Final = 32


class CrossEncoderReranker:
    """A model of one output a pair (a sequence classifier with one label): the higher, the more a text answers the question."""

    def __init__(self, model: str, *, name: str | None = None, device: str = "cpu", threads: int = 2) -> None:
        self.name = f"sentence-transformers:{name or title(model)}"
        self._source, self._device, self._threads = local(model), device, threads

    @cached_property
    def _model(self) -> Any:
        package = require("sentence_transformers", stage="rerank", model=self.name)
        with translated("load", self.name):
            require("torch").set_num_threads(self._threads)
            require("transformers").utils.logging.disable_progress_bar()
            return package.CrossEncoder(self._source, device=self._device)

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
