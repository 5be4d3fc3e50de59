"""transformers: object detectors, and image-text embedders of the CLIP and SigLIP kind, from a folder or a hub id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from vgraph.models.loading import clean, local, require, title, translated
from vgraph.models.sentence_transformers import pictures
from vgraph.types import Box, Detection, Frame

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_DETECTOR: Final = "PekingU/rtdetr_v2_r18vd"
DEFAULT_IMAGES: Final = "google/siglip2-base-patch16-224"
_BATCH: Final = 16


class Loaded:
    """A model and its processor, loaded when first needed."""

    def __init__(self, model: str, *, name: str | None = None, device: str = "cpu", threads: int = 2) -> None:
        self.name = f"transformers:{name or title(model)}"
        self._source, self._device, self._threads = local(model), device, threads

    def _load(self, stage: str, processor: str, model: str) -> tuple[Any, Any]:
        package = require("transformers", stage=stage, model=self.name)
        torch = require("torch", stage=stage, model=self.name)
        with translated("load", self.name):
            torch.set_num_threads(self._threads)
            package.utils.logging.disable_progress_bar()
            made = getattr(package, model).from_pretrained(self._source).to(self._device).eval()
            return getattr(package, processor).from_pretrained(self._source), made


class TransformersDetector(Loaded):
    """Any model of AutoModelForObjectDetection: RT-DETR, DETR, YOLOS and their kind. Labels are the model's own."""

    stateless = True
    """It sees each picture for itself."""

    def __init__(self, model: str, *, threshold: float = 0.5, batch: int = 4, **loading: Any) -> None:
        super().__init__(model, **loading)
        self._threshold, self._batch = threshold, batch
        self.configuration = f"{threshold}"

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        return self._load("detect", "AutoImageProcessor", "AutoModelForObjectDetection")

    def detect(self, frames: Iterable[Frame]) -> Iterator[Detection]:
        waiting = iter(frames)
        while batch := list(islice(waiting, self._batch)):
            with translated("detect", self.name):
                results = self._results(batch)
            for frame, result in zip(batch, results, strict=True):
                yield from self._detections(frame, result)

    def _results(self, batch: Sequence[Frame]) -> list[Any]:
        import torch
        from PIL import Image

        processor, model = self._loaded
        inputs = processor(images=[Image.fromarray(frame.image) for frame in batch], return_tensors="pt")
        with torch.inference_mode():
            outputs = model(**inputs.to(self._device))
        sizes = torch.tensor([frame.image.shape[:2] for frame in batch])
        found: list[Any] = processor.post_process_object_detection(
            outputs, threshold=self._threshold, target_sizes=sizes
        )
        return found

    def _detections(self, frame: Frame, result: Any) -> Iterator[Detection]:
        names = self._loaded[1].config.id2label
        columns = (result["scores"].tolist(), result["labels"].tolist(), result["boxes"].tolist())
        for score, label, (left, top, right, bottom) in zip(*columns, strict=True):
            box = Box(left, top, right - left, bottom - top)
            yield Detection(frame.offset_ms, names.get(label, f"class {label}"), box, score, self.name)


class TransformersImages(Loaded):
    """Pictures and texts in one space, by a CLIP or SigLIP model."""

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        return self._load("embed pictures", "AutoProcessor", "AutoModel")

    @cached_property
    def dimension(self) -> int:
        return int(self._texts(["dimension"]).shape[1])

    def embed_images(self, images: Sequence[bytes]) -> NDArray[np.float32]:
        return self._batched(self._images, images)

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._batched(self._texts, [clean(text) for text in texts])

    def _batched(
        self, embed: Callable[[Sequence[Any]], NDArray[np.float32]], things: Sequence[Any]
    ) -> NDArray[np.float32]:
        import numpy as np

        if not things:
            return np.zeros((0, self.dimension), np.float32)
        return np.concatenate([embed(things[at : at + _BATCH]) for at in range(0, len(things), _BATCH)])

    def _images(self, images: Sequence[bytes]) -> NDArray[np.float32]:
        opened = pictures(images, self.name)
        with translated("embed pictures", self.name):
            return self._features("get_image_features", images=opened)

    def _texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        with translated("embed texts", self.name):
            config = self._loaded[1].config
            # SigLIP was trained on texts padded to full length and ranks others badly
            padding = "max_length" if "siglip" in config.model_type else True
            longest = config.get_text_config().max_position_embeddings
            return self._features(
                "get_text_features", text=list(texts), padding=padding, truncation=True, max_length=longest
            )

    def _features(self, method: str, **inputs: Any) -> NDArray[np.float32]:
        import numpy as np
        import torch

        processor, model = self._loaded
        with torch.inference_mode():
            made = getattr(model, method)(**processor(**inputs, return_tensors="pt").to(self._device))
        made = getattr(made, "pooler_output", made)  # transformers 5 wraps what 4 returned bare
        return np.asarray(torch.nn.functional.normalize(made.float(), dim=-1).cpu(), np.float32)
