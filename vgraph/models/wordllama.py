"""WordLlama: static word vectors whose weights lie in the wheel, the embedder that always works offline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vgraph.models.loading import clean, require, translated
from vgraph.models.vectors import normalised

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BATCH_TEXTS: Final = 64
_BATCH_CHARACTERS: Final = 200_000


class WordLlamaEmbedder:
    """256 dimensions, tens of thousands of sentences a second. Texts without a word become zero vectors."""

    name = "wordllama:l2_supercat_256"
    dimension = 256

    @cached_property
    def _model(self) -> Any:
        package = require("wordllama", stage="embed", model=self.name)
        # without its own folder as cache_dir the loader overlooks its tokenizer and tries to download it
        with translated("load", self.name):
            return package.WordLlama.load(cache_dir=Path(package.__file__).parent, disable_download=True)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        import numpy as np

        vectors = np.zeros((len(texts), self.dimension), np.float32)
        cleaned = [clean(text) for text in texts]
        with translated("embed", self.name):
            for batch in _batches(cleaned):
                vectors[batch] = self._model.embed([cleaned[index] for index in batch])
        return normalised(vectors)


def _batches(texts: Sequence[str]) -> Iterator[list[int]]:
    """Indexes of texts of like length: a batch is padded to its longest text, which for mixed lengths costs gigabytes."""
    batch: list[int] = []
    for index in sorted(range(len(texts)), key=lambda index: len(texts[index])):
        if batch and (len(batch) == _BATCH_TEXTS or len(texts[index]) * (len(batch) + 1) > _BATCH_CHARACTERS):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
