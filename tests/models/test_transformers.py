"""transformers' detectors and image-text embedders, by tiny random checkpoints in the real layout."""

import numpy as np
import pytest

from vgraph.errors import MissingDependency, ModelError, UserError
from vgraph.models import Detector, ImageEmbedder
from vgraph.models.loading import installed
from vgraph.models.transformers import TransformersDetector, TransformersImages
from vgraph.types import Frame

from .tiny import jpeg, tiny_clip, tiny_detector, tiny_siglip

needs_package = pytest.mark.skipif(
    not (installed("transformers") and installed("torch")), reason="transformers is not installed"
)


@pytest.mark.skipif(installed("transformers"), reason="transformers is installed")
def test_without_the_package_the_extra_is_named():
    with pytest.raises(MissingDependency, match=r"pip install 'vgraph\[vision\]'"):
        TransformersImages("owner/name").embed_texts(["a"])


def test_a_path_where_nothing_lies_is_the_callers_mistake():
    with pytest.raises(UserError, match="no such file or folder"):
        TransformersDetector("/models/none")


@needs_package
@pytest.mark.slow
def test_a_clip_checkpoint_loads_and_embeds_both_sides(tmp_path):
    model = TransformersImages(str(tiny_clip(tmp_path / "clip")))
    assert isinstance(model, ImageEmbedder)
    pictures = model.embed_images([jpeg("red"), jpeg("blue")] * 20)
    texts = model.embed_texts(["a red thing", "x" * 1000, "\ud800"])
    assert (pictures.shape, texts.shape, model.dimension, model.name) == ((40, 16), (3, 16), 16, "transformers:clip")
    assert (pictures.dtype, texts.dtype) == (np.float32, np.float32)
    assert pictures[0] == pytest.approx(pictures[38], abs=1e-5)
    assert np.linalg.norm(texts, axis=1) == pytest.approx(np.ones(3), abs=1e-4)
    assert model.embed_images([]).shape == (0, 16)
    with pytest.raises(ModelError, match="failed to open a picture"):
        model.embed_images([b"not a picture"])


@needs_package
@pytest.mark.slow
def test_a_siglip_checkpoint_loads_and_pads_texts_to_the_length_it_was_trained_on(tmp_path):
    model = TransformersImages(str(tiny_siglip(tmp_path / "siglip")))
    pictures, texts = model.embed_images([jpeg("red"), jpeg("blue")]), model.embed_texts(["a van", "a van " * 50, ""])
    assert (pictures.shape, texts.shape, model.dimension, model.name) == ((2, 32), (3, 32), 32, "transformers:siglip")
    assert np.linalg.norm(np.concatenate([pictures, texts]), axis=1) == pytest.approx(np.ones(5), abs=1e-4)
    fed = {}
    _, whole = model._loaded
    original = whole.get_text_features
    whole.get_text_features = lambda **inputs: fed.update(inputs) or original(**inputs)
    model.embed_texts(["a", "a longer text"])
    assert fed["input_ids"].shape == (2, 16)


@needs_package
@pytest.mark.slow
def test_a_detector_checkpoint_loads_and_answers_in_the_frames_pixels(tmp_path):
    model = TransformersDetector(str(tiny_detector(tmp_path / "yolos")), threshold=0.0)
    assert isinstance(model, Detector)
    frames = [Frame(n * 200, np.full((120, 200, 3), n * 20, np.uint8)) for n in range(6)]
    found = list(model.detect(frames))
    assert {seen.offset_ms for seen in found} == {0, 200, 400, 600, 800, 1000}
    assert {seen.label for seen in found} <= {"person", "van"}
    assert all(seen.origin == "transformers:yolos" and seen.box.width <= 400 for seen in found)
    assert list(model.detect([])) == []


@needs_package
def test_a_folder_that_is_no_model_is_a_model_error(tmp_path):
    with pytest.raises(ModelError, match="failed to load"):
        list(TransformersDetector(str(tmp_path)).detect([Frame(0, np.zeros((9, 9, 3), np.uint8))]))
