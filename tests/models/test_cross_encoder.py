"""The cross-encoder: loading, one score a pair, and what is no reranker. A tiny random checkpoint in the real layout; no quality."""

import pytest

from vgraph.errors import MissingDependency, ModelError, UserError
from vgraph.models import Reranker
from vgraph.models.cross_encoder import CrossEncoderReranker
from vgraph.models.loading import installed

from .tiny import tiny_classifier

needs_package = pytest.mark.skipif(
    not installed("sentence_transformers"), reason="sentence-transformers is not installed"
)


@pytest.mark.skipif(installed("sentence_transformers"), reason="sentence-transformers is installed")
def test_without_the_package_the_extra_is_named():
    with pytest.raises(MissingDependency, match=r"pip install 'vgraph\[local\]'"):
        CrossEncoderReranker("owner/name").score("who?", ["a"])


def test_a_path_where_nothing_lies_is_the_callers_mistake():
    with pytest.raises(UserError, match="no such file or folder"):
        CrossEncoderReranker("./models/none")


@needs_package
def test_every_text_gets_a_score_that_depends_on_the_question_and_not_on_its_neighbours(tmp_path):
    model = CrossEncoderReranker(str(tiny_classifier(tmp_path / "reranker")), threads=1)
    assert isinstance(model, Reranker) and model.name == "sentence-transformers:reranker"
    texts = ["ana carries a crate", "", "a lone \ud800 surrogate", "van " * 500, "ana carries a crate"]
    scores = model.score("who carries the crate?", texts)
    assert len(scores) == 5 and scores[0] == pytest.approx(scores[4], abs=1e-5)
    assert model.score("who carries the crate?", texts[:1])[0] == pytest.approx(scores[0], abs=1e-5)
    assert model.score("when did the van leave?", texts[:1])[0] != pytest.approx(scores[0], abs=1e-7)
    assert model.score("who?", []) == []


@needs_package
def test_a_classifier_of_more_than_one_label_is_no_reranker(tmp_path):
    model = CrossEncoderReranker(str(tiny_classifier(tmp_path / "classes", labels=3)), threads=1)
    with pytest.raises(ModelError, match=r"is no reranker: it gave numbers of shape \(1, 3\)"):
        model.score("who?", ["a"])


@needs_package
def test_a_folder_that_is_no_model_is_a_model_error(tmp_path):
    with pytest.raises(ModelError, match="failed to load"):
        CrossEncoderReranker(str(tmp_path)).score("who?", ["a"])
