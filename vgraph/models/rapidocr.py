"""RapidOCR: text read off frames; its models lie in the package."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final

from vgraph.models.loading import clean, require, translated
from vgraph.types import Box, Frame, TextRead

_LEAST_CONFIDENCE: Final = 0.5


class RapidReader:
    """Lines of text with their boxes, top to bottom as the detector orders them."""

    name = "rapidocr:PP-OCR"

    def __init__(self, *, threads: int = 2, least_confidence: float = _LEAST_CONFIDENCE) -> None:
        self._threads, self._least = threads, least_confidence
        self.configuration = f"{least_confidence}"
        self._lock = threading.Lock()  # the engine keeps state between its steps

    @cached_property
    def _engine(self) -> Any:
        package = require("rapidocr", stage="read", model=self.name)
        require("onnxruntime", stage="read", model=self.name)
        with translated("load", self.name):
            logging.getLogger("RapidOCR").setLevel(logging.ERROR)
            return package.RapidOCR(
                params={
                    "Global.log_level": "error",
                    "EngineConfig.onnxruntime.intra_op_num_threads": self._threads,
                }
            )

    def read(self, frame: Frame) -> tuple[TextRead, ...]:
        with self._lock, translated("read", self.name):
            result = self._engine(frame.image[:, :, ::-1])  # it expects BGR
            return tuple(self._lines(frame.offset_ms, result))

    def _lines(self, offset_ms: int, result: Any) -> Iterator[TextRead]:
        if result.boxes is None or not result.txts:
            return
        for corners, text, score in zip(result.boxes, result.txts, result.scores, strict=True):
            if text.strip() and score >= self._least:
                left, top = map(float, corners.min(axis=0))
                right, bottom = map(float, corners.max(axis=0))
                box = Box(left, top, right - left, bottom - top)
                yield TextRead(offset_ms, clean(text).strip(), box, float(score), self.name)
