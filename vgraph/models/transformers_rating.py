"""A language or vision-language model of transformers as rater: the logits of the five level tokens, from a folder or a hub id.

A folder that `vgraph train intent` wrote holds a LoRA adapter; the model that it was trained on is loaded with it.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from vgraph.errors import ModelError, UserError
from vgraph.models.loading import clean, hushed, local, require, title, translated
from vgraph.models.rating import LEVELS, asked

ADAPTER: Final = "adapter_config.json"
"""What tells the folder of an adapter from that of a model."""


class LevelModel:
    """A model that can be asked for the level of a frame or a text, and its processor (of a text model: its tokenizer).

    `sees`: it takes pictures. `adapted`: its weights are those of a base model and an adapter.
    """

    def __init__(self, source: str, name: str, *, device: str = "cpu", threads: int = 2) -> None:
        self.name, self._device = name, device
        package = require("transformers", stage="intent", model=name)
        torch = require("torch", stage="intent", model=name)
        adapter = source if (Path(source) / ADAPTER).is_file() else None
        with translated("load", name):
            torch.set_num_threads(threads)
            package.utils.logging.disable_progress_bar()
            base = source if adapter is None else local(_base_of(adapter, name))
            self.sees = _sees(package, base)
            kind = package.AutoModelForImageTextToText if self.sees else package.AutoModelForCausalLM
            self.model = kind.from_pretrained(base)
            self.processor = (package.AutoProcessor if self.sees else package.AutoTokenizer).from_pretrained(base)
            pictures: Any = getattr(self.processor, "image_processor", None)
            if getattr(pictures, "do_image_splitting", False):
                pictures.do_image_splitting = False  # a frame is one tile, as where it captions
            if adapter is not None:
                peft = require("peft", stage="intent", model=name)
                with hushed():
                    self.model = peft.PeftModel.from_pretrained(self.model, adapter)
            self.model.to(device).eval()
        self.adapted = adapter is not None

    @cached_property
    def level_tokens(self) -> tuple[tuple[int, ...], ...]:
        """The tokens of each level: the digit, and the digit after a space where that is one token of its own."""
        tokenizer = getattr(self.processor, "tokenizer", self.processor)
        found = tuple(_tokens(tokenizer, level) for level in LEVELS)
        if not all(found):
            what = f"{self.name} has no tokens of its own for the digits 1 to 5, and cannot be a rater"
            raise ModelError(what, stage="intent", model=self.name)
        return found

    def inputs(self, question: str, seen: bytes | str) -> Any:
        """What the model is given, up to where the level would stand."""
        text = seen if isinstance(seen, str) else None
        if text is None and not self.sees:
            raise UserError(
                f"{self.name} sees no pictures: rate captions (VGRAPH_RETRIEVE__INTENT=captions), or name a vision model"
            )
        words = clean(asked(question, text))
        shown = self._prompted(words, picture=text is None)
        if text is None:
            assert isinstance(seen, bytes)
            return self.processor(text=shown, images=[_opened(seen)], return_tensors="pt").to(self._device)
        return self.processor(text=shown, return_tensors="pt").to(self._device)

    def _prompted(self, words: str, *, picture: bool) -> str:
        """The request in the model's own form of a conversation; one without a form gets the words as they are."""
        if not getattr(self.processor, "chat_template", None):
            return f"{words}\n"
        parts: list[Mapping[str, str]] = [{"type": "image"}] if picture else []
        content: Any = [*parts, {"type": "text", "text": words}] if self.sees else words
        made: str = self.processor.apply_chat_template(
            [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=False
        )
        return made

    def level_logits(self, inputs: Any) -> Any:
        """float[5]: the log of how much each level weighs as the next token, tokens of one level added up. With gradient."""
        import torch

        logits = self.model(**inputs).logits[0, -1].float()
        return torch.stack([torch.logsumexp(logits[list(tokens)], 0) for tokens in self.level_tokens])


class TransformersRater:
    """Softmax over the logits of the five level tokens, exactly (VideoStir, section "intent"); nothing is generated."""

    at_once = 1

    def __init__(self, model: str, *, name: str | None = None, device: str = "cpu", threads: int = 2) -> None:
        self.name = f"transformers:{name or title(model)}"
        self._source, self._device, self._threads = local(model), device, threads

    @cached_property
    def _model(self) -> LevelModel:
        return LevelModel(self._source, self.name, device=self._device, threads=self._threads)

    def rate(self, question: str, seen: bytes | str) -> tuple[float, ...]:
        """Probabilities of the levels 1 to 5 for a frame (JPEG) or a text. Raises UserError for a frame where the model sees none."""
        import torch

        model = self._model
        with translated("rate", self.name), torch.inference_mode():
            levels = torch.softmax(model.level_logits(model.inputs(question, seen)), 0).tolist()
        return tuple(float(level) for level in levels)


def _sees(package: Any, source: str) -> bool:
    """Whether a model takes pictures, by its configuration alone."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

    return package.AutoConfig.from_pretrained(source).model_type in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES


def _base_of(adapter: str, name: str) -> str:
    import json

    facts = json.loads((Path(adapter) / ADAPTER).read_text(encoding="utf-8"))
    base = facts.get("base_model_name_or_path")
    if not isinstance(base, str) or not base:
        raise ModelError(f"{name}: {ADAPTER} does not name the model it was trained on", stage="intent", model=name)
    return base


def _tokens(tokenizer: Any, level: str) -> tuple[int, ...]:
    """Tokens that are this digit and nothing else, by themselves."""
    ways = (tokenizer.encode(text, add_special_tokens=False) for text in (level, f" {level}"))
    unknown = tokenizer.unk_token_id
    return tuple(sorted({way[0] for way in ways if len(way) == 1 and way[0] != unknown}))


def _opened(jpeg: bytes) -> Any:
    from PIL import Image

    return Image.open(io.BytesIO(jpeg)).convert("RGB")
