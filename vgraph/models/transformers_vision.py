"""A vision-language model of transformers as captioner: SmolVLM and its kind, from a folder or a hub id.

Small models do not keep to a JSON schema. So each dimension is asked by itself, and the answers are put together: the form is always
right, whatever is said in it. Entities and relations come from extraction.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final

from vgraph.errors import BadReply
from vgraph.models.captions import DIMENSIONS, composed, legend, said, spread
from vgraph.models.loading import clean, translated
from vgraph.models.transformers import Loaded
from vgraph.prompts import prompt
from vgraph.types import Caption, Mark, Segment

DEFAULT_CAPTIONER: Final = "HuggingFaceTB/SmolVLM-500M-Instruct"
LONGEST_ANSWER: Final = 80
"""Tokens."""


class TransformersCaptioner(Loaded):
    """Any model of AutoModelForImageTextToText whose processor has a chat template. Greedy decoding: the same pictures, the same words."""

    def __init__(
        self, model: str, *, max_frames: int = 8, dimensions: Sequence[str] = tuple(DIMENSIONS), **loading: Any
    ) -> None:
        super().__init__(model, **loading)
        self._max_frames, self._dimensions = max_frames, tuple(dimensions) or ("summary",)

    @property
    def configuration(self) -> str:
        """All that its answers depend on beside the model and what it is shown."""
        asked = "\n".join(self._question(name, 0, ()) for name in self._dimensions)
        return f"{blake2b(asked.encode(), digest_size=8).hexdigest()} {self._max_frames}"

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        processor, model = self._load("caption", "AutoProcessor", "AutoModelForImageTextToText")
        splits: Any = getattr(processor, "image_processor", None)
        if getattr(splits, "do_image_splitting", False):
            splits.do_image_splitting = False  # a picture of this width is one tile: 17 would cost 17 times the tokens
        return processor, model

    def caption(
        self, segment: Segment, frames: Sequence[tuple[int, bytes]], transcript: str, marks: Sequence[Mark] = ()
    ) -> tuple[Caption, ...]:
        shown = spread(frames, self._max_frames)
        if not shown:
            return ()
        with translated("caption", self.name):
            pictures = [_opened(jpeg) for _, jpeg in shown]
            answers = [
                (name, self._answer(self._question(name, len(shown), marks), pictures)) for name in self._dimensions
            ]
        told = tuple((name, text) for name, answer in answers if (text := said(answer)))
        if not told:
            raise BadReply(f"{self.name} described nothing", kind="empty", stage="caption", model=self.name)
        return (Caption(segment.offset_ms, segment.end_offset_ms, composed(told), self.name, dimensions=told),)

    def _question(self, dimension: str, count: int, marks: Sequence[Mark]) -> str:
        return prompt("caption_dimension", frame_count=count, question=DIMENSIONS[dimension], marks=legend(marks))

    def _answer(self, question: str, pictures: Sequence[Any]) -> str:
        import torch

        processor, model = self._loaded
        content: list[dict[str, str]] = [
            *({"type": "image"} for _ in pictures),
            {"type": "text", "text": clean(question)},
        ]
        asked = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
        inputs = processor(text=asked, images=list(pictures), return_tensors="pt").to(self._device)
        with torch.inference_mode():
            made = model.generate(**inputs, max_new_tokens=LONGEST_ANSWER, do_sample=False)
        [answer] = processor.batch_decode(made[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        return clean(answer).strip()


def _opened(jpeg: bytes) -> Any:
    from PIL import Image

    return Image.open(io.BytesIO(jpeg)).convert("RGB")
