"""Object detectors as ONNX files, run by onnxruntime. The layout is told from the file's own inputs and outputs:

- NanoDet: class scores and box distributions per cell, as one output or as a pair per stride. Decoded as in Li et al. 2020
  (Generalized Focal Loss): the distance to each side is the mean of a distribution over whole steps.
- triple: boxes, scores, labels (RT-DETR's exports, which also take the picture's size; torchvision's).
- rows: left, top, right, bottom, score, class (YOLO exported end to end, suppression included).

Class names come from `<file>.names` beside it (one a line), else from the file's own metadata, else they are COCO's 80.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vgraph.errors import ModelError, UserError
from vgraph.models.boxes import kept
from vgraph.models.loading import clean, require, translated
from vgraph.types import Box, Detection, Frame

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_STRIDES: Final = (8, 16, 32, 64)
_BGR_MEAN: Final = (103.53, 116.28, 123.675)  # ImageNet's, as NanoDet was trained
_BGR_STD: Final = (57.375, 57.12, 58.395)
_GREY: Final = 114
_ANY_SIZE: Final = 640


@dataclass(frozen=True, slots=True)
class Found:
    """Boxes (left, top, right, bottom) in the frame's pixels, with their scores and class numbers."""

    corners: NDArray[np.float32]
    scores: NDArray[np.float32]
    classes: NDArray[np.int64]


class OnnxDetector:
    """Finds objects with a detector from a file; `overlap` is the most that two boxes of one class may share (NanoDet only)."""

    stateless = True
    """It sees each picture for itself."""

    def __init__(
        self,
        path: str | Path,
        *,
        name: str | None = None,
        threshold: float = 0.4,
        overlap: float = 0.5,
        threads: int = 2,
        device: str = "cpu",
    ) -> None:
        self._path = Path(path).expanduser()
        if not self._path.is_file():
            raise UserError(f"detect: there is no ONNX file {str(path)!r}; write onnx:/path/to/model.onnx")
        self.name = f"onnx:{name or self._path.stem}"
        self._threshold, self._overlap, self._threads, self._device = threshold, overlap, threads, device

    @cached_property
    def _session(self) -> Any:
        runtime = require("onnxruntime", stage="detect", model=self.name)
        with translated("load", self.name):
            options = runtime.SessionOptions()
            options.intra_op_num_threads = self._threads
            options.log_severity_level = 3
            wanted = ["CUDAExecutionProvider"] if self._device.startswith("cuda") else []
            return runtime.InferenceSession(str(self._path), options, providers=[*wanted, "CPUExecutionProvider"])

    @property
    def configuration(self) -> str:
        """All that its answers depend on beside the model and the pictures: another file beside it gives other names."""
        beside = self._path.with_suffix(".names")
        names = blake2b(beside.read_bytes(), digest_size=8).hexdigest() if beside.is_file() else ""
        return f"{self._threshold} {self._overlap} {names}".strip()

    @cached_property
    def names(self) -> Sequence[str]:
        """The names of the classes, by their number."""
        beside = self._path.with_suffix(".names")
        if beside.is_file():
            return clean(beside.read_text(encoding="utf-8-sig", errors="replace")).splitlines()
        told = _told_names(self._session.get_modelmeta().custom_metadata_map)
        return told or files("vgraph.models").joinpath("coco.names").read_text(encoding="utf-8").splitlines()

    def detect(self, frames: Iterable[Frame]) -> Iterator[Detection]:
        for frame in frames:
            with translated("detect", self.name):
                found = self._found(frame.image)
            yield from self._detections(frame, found)

    def _found(self, image: NDArray[np.uint8]) -> Found:
        import numpy as np

        picture, height, width = self._inputs
        layout = self._layout
        sized = len(self._session.get_inputs()) > 1
        canvas, scale = letterboxed(image, height, width, stretch=sized)
        feed = {picture: nanodet_input(canvas) if layout == "nanodet" else unit_input(canvas)}
        if sized:
            feed[self._session.get_inputs()[1].name] = np.array([[image.shape[1], image.shape[0]]], np.int64)
        outputs = dict(zip(self._outputs, self._session.run(None, feed), strict=True))
        match layout:
            case "nanodet":
                raw = nanodet(list(outputs.values()), (height, width), self._threshold)
            case "triple":
                raw = triple(outputs)
            case _:
                raw = rows(next(iter(outputs.values())))
        return self._good(raw, (1.0, 1.0) if sized else scale, image.shape[:2], (height, width))

    def _good(self, found: Found, scale: tuple[float, float], size: tuple[int, ...], canvas: tuple[int, int]) -> Found:
        """Sure ones only, in the frame's pixels, cut at its edges, suppressed where the layout left that to us."""
        import numpy as np

        sure = found.scores >= self._threshold
        corners = found.corners[sure]
        if corners.size and self._layout != "nanodet" and corners.max() <= 1.5:  # shares of the picture, not pixels
            corners = corners * np.array([canvas[1], canvas[0]] * 2, np.float32)
        corners = np.clip(corners / np.array(scale * 2, np.float32), 0, np.array([size[1], size[0]] * 2, np.float32))
        scores, classes = found.scores[sure], found.classes[sure]
        best = kept(corners, scores, classes, self._overlap if self._layout == "nanodet" else 1.0)
        return Found(corners[best], scores[best], classes[best])

    def _detections(self, frame: Frame, found: Found) -> Iterator[Detection]:
        columns = (found.corners.tolist(), found.scores.tolist(), found.classes.tolist())
        for (left, top, right, bottom), score, number in zip(*columns, strict=True):
            label = self.names[number] if 0 <= number < len(self.names) else f"class {number}"
            if right > left and bottom > top:
                yield Detection(frame.offset_ms, label, Box(left, top, right - left, bottom - top), score, self.name)

    @cached_property
    def _inputs(self) -> tuple[str, int, int]:
        """The picture input's name, height and width; a free size is taken as 640."""
        first = self._session.get_inputs()[0]
        height, width = (side if isinstance(side, int) else _ANY_SIZE for side in first.shape[2:4])
        return first.name, height, width

    @cached_property
    def _outputs(self) -> list[str]:
        return [output.name for output in self._session.get_outputs()]

    @cached_property
    def _layout(self) -> str:
        _, height, width = self._inputs
        shapes = [output.shape for output in self._session.get_outputs()]
        layout = layout_of(self._outputs, shapes, (height, width))
        if layout is None:
            what = f"{self.name}: no layout known for outputs {dict(zip(self._outputs, shapes, strict=True))}"
            raise ModelError(what, stage="detect", model=self.name)
        return layout


def layout_of(names: Sequence[str], shapes: Sequence[Sequence[Any]], size: tuple[int, int]) -> str | None:
    """`nanodet`, `triple` or `rows` by the outputs of a detector; None for none of them."""
    if len(shapes) == 3 and all(_role(name) for name in names):
        return "triple"
    if len(shapes) == 1 and len(shapes[0]) == 3 and shapes[0][2] == 6:
        return "rows"
    cells = {shape[1] for shape in shapes if len(shape) == 3 and isinstance(shape[1], int)}
    return "nanodet" if sum(cells) in _cells(size) else None


def _cells(size: tuple[int, int]) -> list[int]:
    """How many cells the first three and all four strides have together."""
    counts = [-(-size[0] // stride) * -(-size[1] // stride) for stride in _STRIDES]
    return [sum(counts[:3]), sum(counts)]


def _role(name: str) -> str | None:
    return next((role for role in ("boxes", "scores", "labels") if role in name.lower()), None)


def letterboxed(
    image: NDArray[np.uint8], height: int, width: int, *, stretch: bool
) -> tuple[NDArray[np.uint8], tuple[float, float]]:
    """The picture at the top left of a canvas, with the factors (across, down) that took it there."""
    import cv2
    import numpy as np

    across, down = width / image.shape[1], height / image.shape[0]
    if not stretch:
        across = down = min(across, down)
    inner = (max(round(image.shape[1] * across), 1), max(round(image.shape[0] * down), 1))
    canvas = np.full((height, width, 3), _GREY, np.uint8)
    canvas[: inner[1], : inner[0]] = cv2.resize(image, inner, interpolation=cv2.INTER_LINEAR)
    return canvas, (across, down)


def nanodet_input(canvas: NDArray[np.uint8]) -> NDArray[np.float32]:
    import numpy as np

    bgr = canvas[:, :, ::-1].astype(np.float32)
    scaled = (bgr - np.array(_BGR_MEAN, np.float32)) / np.array(_BGR_STD, np.float32)
    return np.ascontiguousarray(scaled.transpose(2, 0, 1)[None], np.float32)


def unit_input(canvas: NDArray[np.uint8]) -> NDArray[np.float32]:
    import numpy as np

    return np.ascontiguousarray((canvas.astype(np.float32) / 255).transpose(2, 0, 1)[None])


def nanodet(outputs: Sequence[NDArray[np.float32]], size: tuple[int, int], threshold: float) -> Found:
    """Boxes of every cell whose best class is sure enough, in the canvas's pixels, from either form of the outputs."""
    import numpy as np

    parts = [_stride(scores, distances, size, threshold) for scores, distances in _pairs(outputs, size)]
    return Found(
        np.concatenate([part.corners for part in parts]),
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.classes for part in parts]),
    )


def _pairs(
    outputs: Sequence[NDArray[np.float32]], size: tuple[int, int]
) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """(scores, distributions) of each stride, finest first. The distributions are 4 x (steps + 1) wide, NanoDet's steps 7 or 10."""
    import numpy as np

    if len(outputs) > 1:
        by_cells: dict[int, list[NDArray[np.float32]]] = {}
        for output in outputs:
            by_cells.setdefault(output.shape[1], []).append(output[0])
        return [_sorted_pair(pair) for _, pair in sorted(by_cells.items(), reverse=True)]
    whole = outputs[0][0]
    counts = [-(-size[0] // stride) * -(-size[1] // stride) for stride in _STRIDES]
    ends = np.cumsum(counts if sum(counts) == len(whole) else counts[:3])
    sides = next(width for width in (32, 44) if whole.shape[1] > width and _are_scores(whole[:, :-width]))
    return [(part[:, :-sides], part[:, -sides:]) for part in np.split(whole, ends[:-1])]


def _sorted_pair(pair: Sequence[NDArray[np.float32]]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    first, second = pair
    return (first, second) if _are_scores(first) else (second, first)


def _are_scores(values: NDArray[np.float32]) -> bool:
    """Whether these are probabilities; distributions come as logits, and some of theirs lie outside [0, 1]."""
    return bool((values >= 0).all() and (values <= 1).all())


def _stride(
    scores: NDArray[np.float32], distances: NDArray[np.float32], size: tuple[int, int], threshold: float
) -> Found:
    import numpy as np

    stride = next(s for s in _STRIDES if -(-size[0] // s) * -(-size[1] // s) == len(scores))
    best = scores.max(axis=1)
    sure = np.flatnonzero(best >= threshold)
    logits = distances[sure].reshape(len(sure), 4, distances.shape[1] // 4)
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    steps = np.arange(logits.shape[-1], dtype=np.float32)
    reach = (weights / weights.sum(axis=-1, keepdims=True)) @ steps * stride
    down, across = np.divmod(sure, -(-size[1] // stride))
    centres = (np.stack([across, down], axis=1) + 0.5) * stride
    corners = np.concatenate([centres - reach[:, :2], centres + reach[:, 2:]], axis=1).astype(np.float32)
    return Found(corners, best[sure], scores[sure].argmax(axis=1))


def triple(outputs: Mapping[str, NDArray[Any]]) -> Found:
    import numpy as np

    by_role = {_role(name): values for name, values in outputs.items()}
    return Found(
        np.asarray(by_role["boxes"], np.float32).reshape(-1, 4),
        np.asarray(by_role["scores"], np.float32).reshape(-1),
        np.asarray(by_role["labels"], np.int64).reshape(-1),
    )


def rows(output: NDArray[np.float32]) -> Found:
    import numpy as np

    table = np.asarray(output, np.float32).reshape(-1, 6)
    return Found(table[:, :4], table[:, 4], table[:, 5].astype(np.int64))


def _told_names(metadata: Mapping[str, str]) -> list[str]:
    """Names out of the metadata entry `names`, a literal mapping from number to name, as YOLO's exporter writes it."""
    try:
        told = ast.literal_eval(metadata.get("names", ""))
    except (ValueError, SyntaxError):
        return []
    if not isinstance(told, dict) or not told or not all(isinstance(number, int) for number in told):
        return []
    return [clean(str(told.get(number, f"class {number}"))) for number in range(max(told) + 1)]
