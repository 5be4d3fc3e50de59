"""Stand-ins do what they are told and say what they are."""

import numpy as np
import pytest

from vgraph.errors import BadReply, ModelError
from vgraph.models import ChatModel, Embedder
from vgraph.models.offline import HashEmbedder, ScriptedChat
from vgraph.types import Completion, Message

ASK = [Message("user", "one two three")]


def test_a_scripted_chat_follows_its_script_then_has_nothing_to_say():
    chat = ScriptedChat(["hello there", {"a": 1}, Completion("x"), ModelError("down")])
    assert isinstance(chat, ChatModel)
    first = chat.complete(ASK)
    assert (first.text, first.model, first.usage.input_tokens, first.usage.output_tokens) == (
        "hello there",
        "scripted",
        3,
        2,
    )
    assert chat.complete(ASK, schema={"type": "object"}).value == {"a": 1}
    assert chat.complete(ASK).text == "x"
    with pytest.raises(ModelError, match="down"):
        chat.complete(ASK)
    with pytest.raises(BadReply, match="run out"):
        chat.complete(ASK)
    assert len(chat.seen) == 5


def test_a_scripted_value_must_fit_the_schema():
    with pytest.raises(BadReply):
        ScriptedChat([{"a": "x"}]).complete(ASK, schema={"properties": {"a": {"type": "integer"}}})


def test_a_script_can_be_a_function():
    assert ScriptedChat(lambda messages: messages[-1].text.upper()).complete(ASK).text == "ONE TWO THREE"


def test_hashed_words_bring_texts_that_share_them_near():
    model = HashEmbedder(256)
    assert isinstance(model, Embedder)
    red, car, dog = model.embed(["a red car", "the red car", "dog \ud800"])
    assert red @ car > 0.5 > abs(red @ dog)
    assert np.array_equal(model.embed(["a red car"])[0], red)
    assert not model.embed([""]).any()
