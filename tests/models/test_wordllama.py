"""The embedder that always works: real weights, offline."""

import subprocess
import sys

import numpy as np
import pytest

from vgraph.models import Embedder
from vgraph.models.wordllama import WordLlamaEmbedder


@pytest.fixture(scope="module")
def model() -> WordLlamaEmbedder:
    return WordLlamaEmbedder()


def test_it_is_an_embedder_and_names_its_weights(model):
    assert isinstance(model, Embedder)
    assert (model.name, model.dimension) == ("wordllama:l2_supercat_256", 256)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("A lady gives a parcel to somebody.", "A woman hands a package to the man in the van."),
        ("When did the car leave?", "The vehicle drives away from the parking lot."),
        ("What did they say about money?", "We have to pay the invoice before the bank closes."),
        ("Was anybody hurt?", "The man falls off the ladder and is injured."),
    ],
)
def test_a_paraphrase_ranks_first(model, question, answer):
    others = [
        "A woman hands a package to the man in the van.",
        "The vehicle drives away from the parking lot.",
        "We have to pay the invoice before the bank closes.",
        "The man falls off the ladder and is injured.",
        "Two children play football on the grass.",
        "It is raining and the yard is empty.",
    ]
    nearest = others[int(np.argmax(model.embed(others) @ model.embed([question], query=True)[0]))]
    assert nearest == answer


def test_vectors_are_float32_and_of_length_one(model):
    vectors = model.embed(["a dog", "ein Hund", "犬", "x" * 100_000])
    assert (vectors.dtype, vectors.shape) == (np.float32, (4, 256))
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1, 1], abs=1e-5)


def test_empty_texts_are_zero_vectors_and_no_texts_no_rows(model):
    assert not model.embed([""]).any()
    assert model.embed([]).shape == (0, 256)


def test_lone_surrogates_do_not_break_it(model):
    assert model.embed(["a \ud800 dog"]).any()


def test_a_text_has_the_same_vector_in_any_batch(model):
    texts = ["a dog", "a man walks " * 3000, *(f"number {n}" for n in range(200))]
    together = model.embed(texts)
    for index in (0, 1, 77):
        assert together[index] == pytest.approx(model.embed([texts[index]])[0], abs=1e-5)


def test_long_and_short_texts_together_need_little_memory():
    script = (
        "import resource; from vgraph.models.wordllama import WordLlamaEmbedder;"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024;"
        "model = WordLlamaEmbedder(); model.embed(['a']); before = peak();"
        "model.embed(['word ' * 20_000, *['b'] * 500]); print(peak() - before)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 200  # MiB; padded to the longest it would be 1,300
