"""sentence-transformers with MiniLM's real weights, and a tiny random CLIP in the real layout."""

import numpy as np
import pytest

from vgraph.errors import MissingDependency, ModelError, UserError
from vgraph.models import Embedder, ImageEmbedder
from vgraph.models.loading import installed
from vgraph.models.sentence_transformers import SentenceTransformerEmbedder, SentenceTransformerImages

from .tiny import jpeg, tiny_clip

needs_package = pytest.mark.skipif(
    not installed("sentence_transformers"), reason="sentence-transformers is not installed"
)


@pytest.mark.skipif(installed("sentence_transformers"), reason="sentence-transformers is installed")
def test_without_the_package_the_extra_is_named():
    with pytest.raises(MissingDependency, match=r"pip install 'vgraph\[local\]'"):
        SentenceTransformerEmbedder("owner/name").embed(["a"])


def test_a_path_where_nothing_lies_is_the_callers_mistake():
    with pytest.raises(UserError, match="no such file or folder"):
        SentenceTransformerEmbedder("./models/none")


def test_names_are_hub_ids_or_the_folders_last_part(tmp_path):
    assert SentenceTransformerEmbedder("BAAI/bge-small-en-v1.5").name == "sentence-transformers:BAAI/bge-small-en-v1.5"
    (tmp_path / "minilm").mkdir()
    assert SentenceTransformerEmbedder(f"{tmp_path}/minilm/").name == "sentence-transformers:minilm"


@needs_package
def test_a_folder_that_is_no_model_is_a_model_error(tmp_path):
    with pytest.raises(ModelError, match="failed to load"):
        SentenceTransformerEmbedder(str(tmp_path)).embed(["a"])


@needs_package
@pytest.mark.slow
def test_real_weights_rank_paraphrases(weights):
    model = SentenceTransformerEmbedder(str(weights("minilm")))
    assert isinstance(model, Embedder)
    texts = [
        "A woman hands a package to the man in the van.",
        "The vehicle drives away from the parking lot.",
        "Two children play football on the grass.",
        "",
        "a lone \ud800 surrogate",
    ]
    vectors = model.embed(texts)
    assert (model.dimension, vectors.shape, vectors.dtype) == (384, (5, 384), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(5), abs=1e-4)
    for question, best in (("Who gave the parcel to the driver?", 0), ("When did the car leave?", 1)):
        assert int(np.argmax(vectors @ model.embed([question], query=True)[0])) == best
    assert model.embed([]).shape == (0, 384)


@needs_package
@pytest.mark.slow
def test_a_clip_checkpoint_loads_and_embeds_both_sides(tmp_path):
    model = SentenceTransformerImages(str(tiny_clip(tmp_path / "clip")))
    assert isinstance(model, ImageEmbedder)
    pictures = model.embed_images([jpeg("red"), jpeg("blue"), jpeg("red")])
    texts = model.embed_texts(["a red thing", "\ud800"])
    assert (pictures.shape, texts.shape, model.dimension) == ((3, 16), (2, 16), 16)
    assert pictures[0] == pytest.approx(pictures[2], abs=1e-5)
    assert np.linalg.norm(pictures, axis=1) == pytest.approx(np.ones(3), abs=1e-4)
    assert model.embed_images([]).shape == model.embed_texts([]).shape == (0, 16)


@needs_package
@pytest.mark.slow
def test_bytes_that_are_no_picture_are_a_model_error(tmp_path):
    model = SentenceTransformerImages(str(tiny_clip(tmp_path / "clip")))
    with pytest.raises(ModelError, match="failed to open a picture"):
        model.embed_images([b"not a picture"])
