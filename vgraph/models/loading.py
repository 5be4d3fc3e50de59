"""What every adapter needs at its door: late imports that name the missing extra, and one error for whatever a library raises."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from vgraph.errors import MissingDependency, ModelError, UserError, VGraphError

EXTRAS: Final = {
    "openai": "",
    "wordllama": "",
    "cv2": "",
    "onnxruntime": "vision",
    "transformers": "vision",
    "torch": "vision",
    "sentence_transformers": "local",
    "faster_whisper": "audio",
    "whisperx": "whisperx",
    "rapidocr": "ocr",
    "spacy": "spacy",
    "peft": "train",
    "torch_geometric": "graph",
}
"""The extra of vgraph that brings each package in; empty for the core's own."""

_LONE_SURROGATES: Final = re.compile("[\ud800-\udfff]")


def command(package: str) -> str:
    """The pip command that adds a package's extra."""
    extra = EXTRAS.get(package, "")
    return f"pip install 'vgraph[{extra}]'" if extra else f"pip install {package.replace('_', '-')}"


def installed(package: str) -> bool:
    """Whether a package can be imported, found out without importing it."""
    return importlib.util.find_spec(package) is not None


def require(package: str, *, stage: str = "", model: str = "") -> Any:
    """The package, imported now; MissingDependency with the command that adds it when it, or a part of it, is absent."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        reason = "" if not installed(package) else f" ({error})"
        what = f"{model or package} needs the package {package}, which cannot be imported{reason}"
        raise MissingDependency(what, command=command(package), stage=stage, model=model) from error


@contextmanager
def translated(stage: str, model: str) -> Iterator[None]:
    """Turns anything a model library raises into a ModelError that says which model was doing what."""
    try:
        yield
    except VGraphError:
        raise
    except Exception as error:
        reason = str(error).strip().splitlines()[0][:300] if str(error).strip() else type(error).__name__
        raise ModelError(f"{model} failed to {stage}: {reason}", stage=stage, model=model) from error


@contextmanager
def hushed() -> Iterator[None]:
    """Without what a library says of another's future: nobody here can change it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def clean(text: str) -> str:
    """Text that can be encoded: lone surrogates, which tokenizers and JSON encoders refuse, become U+FFFD."""
    return _LONE_SURROGATES.sub("�", text)


def is_path(model: str) -> bool:
    """Whether a model is named by a place on this disk rather than by its id on a hub."""
    return model.startswith((".", "/", "~", os.sep)) or Path(model).expanduser().exists()


def local(model: str) -> str:
    """A model's path with `~` expanded, or its hub id as it is; a path where nothing lies is a UserError."""
    if not is_path(model):
        return model
    path = Path(model).expanduser()
    if not path.exists():
        raise UserError(f"model {model!r}: there is no such file or folder; give a path or a hub id such as owner/name")
    return str(path)


def title(model: str) -> str:
    """What a model is called in the records: a hub id as it is, a path by its last part, so that moving it changes nothing."""
    return Path(model).expanduser().name if is_path(model) else model


def cached(model: str, weights: str) -> str | None:
    """The folder in the hub's cache on this disk that holds a model's weights; None when they were never downloaded."""
    if not installed("huggingface_hub"):
        return None
    found = require("huggingface_hub").try_to_load_from_cache(model, weights)
    return str(Path(found).parents[weights.count("/")]) if isinstance(found, str) else None
