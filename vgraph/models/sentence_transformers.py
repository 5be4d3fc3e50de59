"""sentence-transformers: text embedders, and image-text embedders of the CLIP kind, from a folder or a hub id."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

from vgraph.models.loading import clean, local, require, title, translated

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_TEXT: Final = "BAAI/bge-small-en-v1.5"
DEFAULT_IMAGE: Final = "sentence-transformers/clip-ViT-B-32"
_BATCH: Final = 32


class Loaded:
    """A model of the package that is loaded when it is first needed. `loads`: by which of its classes; `stage`: what it is needed for."""

    loads: ClassVar[str] = "SentenceTransformer"
    stage: ClassVar[str] = "embed"

    def __init__(self, model: str, *, name: str | None = None, device: str = "cpu", threads: int = 2) -> None:
        self.name = f"sentence-transformers:{name or title(model)}"
        self._source, self._device, self._threads = local(model), device, threads

    @cached_property
    def _model(self) -> Any:
        package = require("sentence_transformers", stage=self.stage, model=self.name)
        with translated("load", self.name):
            require("torch").set_num_threads(self._threads)
            require("transformers").utils.logging.disable_progress_bar()
            return getattr(package, self.loads)(self._source, device=self._device)


class _Embedding(Loaded):
    def _encoded(self, encode: Any, inputs: Sequence[Any]) -> NDArray[np.float32]:
        import numpy as np

        with translated("embed", self.name):
            made = encode(
                list(inputs),
                batch_size=_BATCH,
                show_progress_bar=False,
                convert_to_numpy=True,
                normalize_embeddings=True,
            )
        return np.asarray(made, np.float32).reshape(len(inputs), -1)


class SentenceTransformerEmbedder(_Embedding):
    """Text embeddings; questions get the model's own query prompt where it has one."""

    @cached_property
    def dimension(self) -> int:
        return int(self._encoded(self._model.encode, ["dimension"]).shape[1])

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        import numpy as np

        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        encode = self._model.encode_query if query else self._model.encode_document
        return self._encoded(encode, [clean(text) for text in texts])


class SentenceTransformerImages(_Embedding):
    """Pictures and texts in one space."""

    @cached_property
    def dimension(self) -> int:
        return int(self._encoded(self._model.encode, ["dimension"]).shape[1])

    def embed_images(self, images: Sequence[bytes]) -> NDArray[np.float32]:
        import numpy as np

        if not images:
            return np.zeros((0, self.dimension), np.float32)
        return self._encoded(self._model.encode, pictures(images, self.name))

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return self._encoded(self._model.encode, [clean(text) for text in texts])


def pictures(images: Sequence[bytes], model: str) -> list[Any]:
    """JPEG bytes as RGB pictures."""
    from PIL import Image

    with translated("open a picture", model):
        return [Image.open(io.BytesIO(image)).convert("RGB") for image in images]
