"""A real chat model of 135 million parameters behind a local OpenAI-compatible server: what it writes is nonsense, and nothing breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.models.conftest import Request, Response, Server
from vgraph.errors import BadReply
from vgraph.ingest.chunks import Signals, compose
from vgraph.ingest.extract import Plan, Vocabulary, extract_unit
from vgraph.models.endpoint import Endpoint
from vgraph.models.openai import OpenAIChat
from vgraph.types import Caption, Message, Segment

MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
MOST_TOKENS = 32
"""A reply of so many takes a few seconds on one core."""


class SmolLM2:
    """The model as a server answers with it. Like many servers it knows nothing of JSON schemas, and says so."""

    def __init__(self, folder: Path) -> None:
        torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
        for package in ("gguf", "accelerate"):
            pytest.importorskip(package, reason=f"transformers reads GGUF with it: pip install {package}")
        torch.set_num_threads(1)
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=MODEL)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file=MODEL, dtype=torch.float32)
        self.model.generation_config.pad_token_id = self.tokenizer.eos_token_id

    def __call__(self, request: Request) -> Response:
        body = request.json
        if "response_format" in body:
            return Response({"error": {"message": "response_format is not supported"}}, 400)
        asked = self.tokenizer.apply_chat_template(
            body["messages"], add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        length = asked["input_ids"].shape[1]
        made = self.model.generate(**asked, max_new_tokens=min(body["max_tokens"], MOST_TOKENS), do_sample=False)
        new = made[0][length:]
        text = self.tokenizer.decode(new, skip_special_tokens=True)
        finish = "length" if len(new) >= MOST_TOKENS else "stop"
        choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
        return Response(
            {"choices": [choice], "usage": {"prompt_tokens": length, "completion_tokens": len(new)}},
        )


@pytest.fixture(scope="module")
def smollm2() -> Iterator[Callable[[Path], SmolLM2]]:
    made: dict[Path, SmolLM2] = {}

    def load(folder: Path) -> SmolLM2:
        if folder not in made:
            made[folder] = SmolLM2(folder)
        return made[folder]

    yield load


@pytest.fixture
def chat(
    server: Server, weights: Callable[[str], Path], smollm2: Callable[[Path], SmolLM2], monkeypatch: Any
) -> OpenAIChat:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    server.script = [smollm2(weights(f"smollm2/{MODEL}").parent)]
    return OpenAIChat(Endpoint(base_url=server.url, timeout_s=300.0, retries=0), "smollm2")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of torch and transformers while they load
def test_it_answers_and_its_tokens_are_counted(chat: OpenAIChat) -> None:
    reply = chat.complete([Message("user", "What is the capital of France?")], max_tokens=24)
    assert "Paris" in reply.text
    assert reply.usage.input_tokens > 10 and 0 < reply.usage.output_tokens <= 24


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_what_it_makes_of_a_schema_is_valid_or_a_bad_reply(chat: OpenAIChat, server: Server) -> None:
    schema = {
        "type": "object",
        "properties": {"colour": {"type": "string"}},
        "required": ["colour"],
        "additionalProperties": False,
    }
    try:
        value = chat.complete([Message("user", "What colour is the sky?")], schema=schema, max_tokens=60).value
    except BadReply as error:
        assert error.kind in ("malformed", "truncated")
    else:
        assert isinstance(value["colour"], str)
    assert "response_format" in server.requests[0].json and "response_format" not in server.requests[-1].json


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_its_nonsense_leaves_a_whole_chunk_that_says_nothing_but_what_was_sensed(chat: OpenAIChat) -> None:
    caption = Caption(0, 30_000, "Ana gives a parcel to Bob.", "given")
    signals = Signals(Segment(0, 0, 30_000, "window"), (caption,))
    plan = Plan(Vocabulary(("person", "object", "location")), fuse=False, union=False, reply_tokens=MOST_TOKENS)
    (found,) = extract_unit([(signals, compose(signals))], {}, chat, plan, "dock")
    told = "ana gives a parcel to bob"
    assert all(m.name.casefold().removeprefix("the ").removeprefix("a ") in told for m in found.entities)
    assert found.warnings or found.method == "model:openai:smollm2"
