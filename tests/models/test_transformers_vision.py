"""A local vision model as captioner, by a tiny random checkpoint in SmolVLM's layout: its words are noise, its form is right."""

import pytest

from vgraph.errors import BadReply, ModelError
from vgraph.models import Captioner
from vgraph.models.captions import DIMENSIONS, composed
from vgraph.models.loading import installed
from vgraph.models.transformers_vision import TransformersCaptioner
from vgraph.types import Mark, Segment

from .tiny import jpeg, tiny_smolvlm

pytestmark = [
    pytest.mark.skipif(not (installed("transformers") and installed("torch")), reason="transformers is not installed"),
    pytest.mark.slow,
]

SEGMENT = Segment(0, 30_000, 60_000, "window")
FRAMES = [(30_000 + 1000 * n, jpeg(colour)) for n, colour in enumerate(["red", "blue", "green", "white"])]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tiny_smolvlm(tmp_path_factory.mktemp("models") / "smolvlm"))


def test_a_checkpoint_of_smolvlms_layout_is_asked_for_every_dimension(folder):
    model = TransformersCaptioner(folder, max_frames=2)
    assert isinstance(model, Captioner)
    asked = []
    answer = model._answer
    model._answer = lambda question, pictures: asked.append((question, len(pictures))) or answer(question, pictures)
    [made] = model.caption(SEGMENT, FRAMES, "", (Mark(3, "t", "forklift"),))
    assert (made.offset_ms, made.end_offset_ms, made.origin) == (30_000, 60_000, "transformers:smolvlm")
    assert made.text == composed(made.dimensions)
    assert {name for name, _ in made.dimensions} <= set(DIMENSIONS)
    assert [count for _, count in asked] == [2] * 6
    assert all(
        what in question and "#3: forklift" in question
        for what, (question, _) in zip(DIMENSIONS.values(), asked, strict=True)
    )


def test_the_same_pictures_give_the_same_words(folder):
    first, second = (TransformersCaptioner(folder, dimensions=("summary",)).caption(SEGMENT, FRAMES, "") for _ in "12")
    assert first == second


def test_an_answer_is_text_without_the_prompt_and_the_special_tokens(folder):
    model = TransformersCaptioner(folder)
    said = model._answer("What is this?", _opened(FRAMES[:1]))
    assert "What is this" not in said and "<end_of_utterance>" not in said and "<image>" not in said


def _opened(frames):
    from vgraph.models.transformers_vision import _opened as opened

    return [opened(content) for _, content in frames]


def test_answers_that_say_nothing_are_left_out_and_all_of_them_are_an_empty_reply(folder):
    model = TransformersCaptioner(folder)
    answers = iter(["unknown", "A yard.", "None.", "", "Unknown", "A van stands there."])
    model._answer = lambda question, pictures: next(answers)
    [made] = model.caption(SEGMENT, FRAMES, "")
    assert made.dimensions == (("location", "A yard."), ("summary", "A van stands there."))
    assert made.text == "A van stands there. Location: A yard."
    model._answer = lambda question, pictures: "unknown"
    with pytest.raises(BadReply):
        model.caption(SEGMENT, FRAMES, "")


def test_no_frames_no_caption_and_no_picture_a_model_error(folder):
    assert TransformersCaptioner(folder).caption(SEGMENT, [], "") == ()
    with pytest.raises(ModelError, match="failed to caption"):
        TransformersCaptioner(folder).caption(SEGMENT, [(0, b"no picture")], "")
    with pytest.raises(ModelError, match="failed to load"):
        TransformersCaptioner(str(__file__)).caption(SEGMENT, FRAMES, "")
