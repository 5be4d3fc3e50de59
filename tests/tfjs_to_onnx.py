"""A TensorFlow.js graph model as an ONNX file: the operators NanoDet uses, no more. Needs the package onnx.

TensorFlow's pictures have their channels last, ONNX's first; each spatial operator is wrapped in transpositions, which onnxruntime
removes again where two meet.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CHANNELS_FIRST, CHANNELS_LAST = [0, 3, 1, 2], [0, 2, 3, 1]
OPSET, IR = 18, 9


def convert(model: Path, target: Path) -> None:
    """Write the model described by `model` (its weights beside it) to `target`."""
    description = json.loads(model.read_text())
    graph = Graph(weights(model.parent, description["weightsManifest"]))
    for node in description["modelTopology"]["node"]:
        graph.add(node)
    outputs = [
        helper.make_tensor_value_info(base_name(name), TensorProto.FLOAT, dimensions(told["tensorShape"]))
        for name, told in description["signature"]["outputs"].items()
    ]
    made = helper.make_model(
        helper.make_graph(graph.nodes, "converted", graph.inputs, outputs, list(graph.initialisers.values())),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR,
    )
    onnx.checker.check_model(made)
    onnx.save(made, str(target))


def weights(folder: Path, manifest: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """All weights by name, with quantised ones restored."""
    found: dict[str, np.ndarray] = {}
    for group in manifest:
        data = b"".join((folder / path).read_bytes() for path in group["paths"])
        at = 0
        for told in group["weights"]:
            quantised = told.get("quantization")
            stored = np.dtype(quantised["dtype"] if quantised else told["dtype"])
            count = int(np.prod(told["shape"], dtype=np.int64))
            values = np.frombuffer(data, stored, count, at) if count else np.zeros(0, stored)
            at += values.nbytes
            if quantised and stored != np.float16:
                values = values * quantised["scale"] + quantised["min"]
            found[told["name"]] = values.astype(told["dtype"]).reshape(told["shape"])
    return found


def base_name(name: str) -> str:
    """An output's name as its node's: `node:0` is the node itself, other outputs keep their number."""
    return name.lstrip("^").removesuffix(":0")


def dimensions(shape: dict[str, Any]) -> list[int]:
    return [int(dimension["size"]) for dimension in shape["dim"]]


class Graph:
    """The ONNX graph as it grows. What depends on constants only is worked out at once, never written."""

    def __init__(self, values: dict[str, np.ndarray]) -> None:
        self.values = values
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.initialisers: dict[str, Any] = {}
        self._names = _numbered()

    def add(self, node: dict[str, Any]) -> None:
        """Translate one TensorFlow node."""
        name, kind = node["name"], node["op"]
        inputs = [base_name(source) for source in node.get("input", ())]
        if kind == "Const":
            return
        if kind == "Placeholder":
            shape = dimensions(node["attr"]["shape"]["shape"])
            self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        elif kind in FOLDED and all(source in self.values for source in inputs):
            self.values[name] = FOLDED[kind](*(self.values[source] for source in inputs))
        elif kind in TRANSLATED:
            TRANSLATED[kind](self, name, inputs, node.get("attr", {}))
        else:
            raise NotImplementedError(f"operator {kind} of {name}")

    def emit(self, kind: str, inputs: list[str], name: str | list[str] | None = None, **attributes: Any) -> str:
        """Write an ONNX node; the name of its (first) output."""
        names = [name or next(self._names)] if not isinstance(name, list) else name
        self.nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names[0]

    def constant(self, values: Any, dtype: Any) -> str:
        name = next(self._names)
        self.initialisers[name] = numpy_helper.from_array(np.ascontiguousarray(values, dtype), name)
        return name

    def tensor(self, source: str) -> str:
        """A source that may be a constant, as a name ONNX knows."""
        if source in self.values and source not in self.initialisers:
            self.initialisers[source] = numpy_helper.from_array(np.ascontiguousarray(self.values[source]), source)
        return source

    def spatial(self, name: str, kind: str, source: str, *more: str, **attributes: Any) -> None:
        """An operator on pictures, between two transpositions."""
        turned = self.emit("Transpose", [self.tensor(source)], perm=CHANNELS_FIRST)
        done = self.emit(kind, [turned, *more], **attributes)
        self.emit("Transpose", [done], name, perm=CHANNELS_LAST)


def _numbered() -> Iterator[str]:
    number = 0
    while True:
        yield f"made_{number}"
        number += 1


def sides(attributes: dict[str, Any], name: str) -> list[int]:
    """The two spatial numbers of a list of four, channels last."""
    told = attributes.get(name, {}).get("list", {}).get("i") or [1, 1, 1, 1]
    return [int(number) for number in told[1:3]]


def padding(attributes: dict[str, Any]) -> str:
    word = base64.b64decode(attributes["padding"]["s"]).decode()
    return {"SAME": "SAME_UPPER", "VALID": "VALID"}[word]


def dense(indices: np.ndarray, shape: np.ndarray, values: np.ndarray, default: np.ndarray) -> np.ndarray:
    made = np.full(shape.tolist(), default.item(), values.dtype)
    if indices.size:
        made[tuple(indices.reshape(-1, made.ndim).T)] = values
    return made


def convolution(graph: Graph, name: str, inputs: list[str], attributes: dict[str, Any]) -> None:
    kernel = graph.constant(graph.values[inputs[1]].transpose(3, 2, 0, 1), np.float32)
    graph.spatial(
        name,
        "Conv",
        inputs[0],
        kernel,
        auto_pad=padding(attributes),
        strides=sides(attributes, "strides"),
        dilations=sides(attributes, "dilations"),
    )


def pooling(graph: Graph, name: str, inputs: list[str], attributes: dict[str, Any]) -> None:
    graph.spatial(
        name,
        "MaxPool",
        inputs[0],
        auto_pad=padding(attributes),
        kernel_shape=sides(attributes, "ksize"),
        strides=sides(attributes, "strides"),
    )


def resizing(graph: Graph, name: str, inputs: list[str], attributes: dict[str, Any]) -> None:
    """Bilinear, to a fixed size; batch and channels are those of the picture."""
    aligned = attributes.get("align_corners", {}).get("b", False)
    half = attributes.get("half_pixel_centers", {}).get("b", False)
    picture = graph.emit("Transpose", [graph.tensor(inputs[0])], perm=CHANNELS_FIRST)
    shape = graph.emit("Shape", [picture], start=0, end=2)
    size = graph.emit("Concat", [shape, graph.constant(graph.values[inputs[1]], np.int64)], axis=0)
    mode = "align_corners" if aligned else "half_pixel" if half else "asymmetric"
    resized = graph.emit("Resize", [picture, "", "", size], mode="linear", coordinate_transformation_mode=mode)
    graph.emit("Transpose", [resized], name, perm=CHANNELS_LAST)


def padded(graph: Graph, name: str, inputs: list[str], attributes: dict[str, Any]) -> None:
    widths = graph.constant(graph.values[inputs[1]].T.reshape(-1), np.int64)
    value = graph.values[inputs[2]] if len(inputs) > 2 else 0.0
    graph.emit("Pad", [graph.tensor(inputs[0]), widths, graph.constant(np.reshape(value, ()), np.float32)], name)


def split(graph: Graph, name: str, inputs: list[str], attributes: dict[str, Any]) -> None:
    lengths = graph.values[inputs[1]]
    names = [name, *(f"{name}:{number}" for number in range(1, len(lengths)))]
    axis = int(graph.values[inputs[2]])
    graph.emit("Split", [graph.tensor(inputs[0]), graph.constant(lengths, np.int64)], names, axis=axis)


def concatenation(graph: Graph, name: str, inputs: list[str], attributes: dict[str, Any]) -> None:
    axis = int(graph.values[inputs[-1]])
    graph.emit("Concat", [graph.tensor(source) for source in inputs[:-1]], name, axis=axis)


def reshaped(graph: Graph, name: str, inputs: list[str], attributes: dict[str, Any]) -> None:
    graph.emit("Reshape", [graph.tensor(inputs[0]), graph.constant(graph.values[inputs[1]], np.int64)], name)


def transposed(graph: Graph, name: str, inputs: list[str], attributes: dict[str, Any]) -> None:
    order = [int(axis) for axis in graph.values[inputs[1]]]
    graph.emit("Transpose", [graph.tensor(inputs[0])], name, perm=order)


def leaky(graph: Graph, name: str, inputs: list[str], attributes: dict[str, Any]) -> None:
    graph.emit("LeakyRelu", [graph.tensor(inputs[0])], name, alpha=float(attributes["alpha"]["f"]))


def plain(kind: str) -> Callable[[Graph, str, list[str], dict[str, Any]], None]:
    """An operator that both sides define alike."""
    return lambda graph, name, inputs, _: graph.emit(kind, [graph.tensor(source) for source in inputs], name) and None


FOLDED: dict[str, Callable[..., np.ndarray]] = {
    "SparseToDense": dense,
    "Identity": lambda value: value,
    "Add": np.add,
    "AddV2": np.add,
    "ConcatV2": lambda *parts: np.concatenate(parts[:-1], int(parts[-1])),
    "Reshape": lambda value, shape: value.reshape(shape.tolist()),
    "Transpose": lambda value, order: value.transpose(order.tolist()),
}

TRANSLATED: dict[str, Callable[[Graph, str, list[str], dict[str, Any]], None]] = {
    "Conv2D": convolution,
    "MaxPool": pooling,
    "ResizeBilinear": resizing,
    "Pad": padded,
    "PadV2": padded,
    "SplitV": split,
    "ConcatV2": concatenation,
    "Reshape": reshaped,
    "Transpose": transposed,
    "LeakyRelu": leaky,
    "Add": plain("Add"),
    "AddV2": plain("Add"),
    "Sigmoid": plain("Sigmoid"),
    "Identity": plain("Identity"),
}
