"""Chat, embeddings and transcription against a real HTTP server that speaks OpenAI's API, well or badly."""

import base64
import json
import math

import numpy as np
import pytest

from vgraph.errors import BadReply, ModelError
from vgraph.models import ChatModel, Embedder
from vgraph.models.endpoint import Endpoint, EndpointError
from vgraph.models.openai import OpenAIChat, OpenAIEmbedder
from vgraph.types import Message, ToolCall, ToolSpec, Usage

from .conftest import Request, Response, Server

SCHEMA = {
    "type": "object",
    "properties": {"people": {"type": "array", "items": {"type": "string"}}},
    "required": ["people"],
    "additionalProperties": False,
}
ASK = [Message("user", "Who is there?")]
FIND = ToolSpec(
    "find",
    "Look something up.",
    {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)


def said(content=None, *, finish="stop", tokens=(10, 5), **message) -> Response:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
    return Response({"id": "c", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage})


def refusing(message: str, status: int = 400) -> Response:
    return Response({"error": {"message": message}}, status)


def chat(server: Server, **more) -> OpenAIChat:
    return OpenAIChat(Endpoint(**{"base_url": server.url, "timeout_s": 5.0, "retries": 1, **more}), "m")


def test_the_adapters_fit_their_protocols(server):
    endpoint = Endpoint(base_url=server.url)
    assert isinstance(OpenAIChat(endpoint, "m"), ChatModel)
    server.script = [Response({"data": [{"index": 0, "embedding": [1.0, 0.0]}]})]
    assert isinstance(OpenAIEmbedder(endpoint, "m"), Embedder)


# --- chat ---------------------------------------------------------------------------------------------------------------


def test_text_comes_back_with_its_usage_and_model(server):
    server.script = [said("Two people.")]
    reply = chat(server).complete(ASK, max_tokens=50)
    assert (reply.text, reply.usage, reply.model, reply.truncated) == ("Two people.", Usage(10, 5), "openai:m", False)
    sent = server.requests[0].json
    assert sent["model"] == "m"
    assert sent["messages"] == [{"role": "user", "content": "Who is there?"}]
    assert (sent["max_tokens"], sent["temperature"]) == (50, 0.0)
    assert "response_format" not in sent
    assert "tools" not in sent


def test_pictures_ride_along_as_data_addresses(server):
    server.script = [said("A dog.")]
    chat(server).complete([Message("user", "What is it?", images=(b"\xff\xd8one", b"\xff\xd8two"))])
    text, one, two = server.requests[0].json["messages"][0]["content"]
    assert text == {"type": "text", "text": "What is it?"}
    prefix, _, data = one["image_url"]["url"].partition(",")
    assert prefix == "data:image/jpeg;base64"
    assert base64.b64decode(data) == b"\xff\xd8one"
    assert two["type"] == "image_url"


def test_a_schema_is_sent_and_the_value_is_checked(server):
    server.script = [said('{"people": ["Ann"]}')]
    assert chat(server).complete(ASK, schema=SCHEMA).value == {"people": ["Ann"]}
    form = server.requests[0].json["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["schema"] == SCHEMA
    assert form["json_schema"]["strict"] is True


def test_damaged_json_is_repaired_without_asking_again(server):
    server.script = [said("```json\n{'people': ['Ann',]}\n```")]
    assert chat(server).complete(ASK, schema=SCHEMA).value == {"people": ["Ann"]}
    assert len(server.requests) == 1


def test_a_wrong_schema_is_asked_again_with_the_fault_named(server):
    server.script = [said('{"people": "Ann"}'), said('{"people": ["Ann"]}')]
    reply = chat(server).complete(ASK, schema=SCHEMA)
    assert reply.value == {"people": ["Ann"]}
    assert reply.usage == Usage(20, 10)
    again = server.requests[1].json["messages"]
    assert [message["role"] for message in again] == ["user", "assistant", "user"]
    assert again[1]["content"] == '{"people": "Ann"}'
    assert "$.people: 'Ann' is not of type 'array'" in again[2]["content"]


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (said("There are no people here."), "malformed"),
        (said('{"persons": []}'), "malformed"),
        (said(""), "empty"),
        (said(None), "empty"),
        (said("  \n"), "empty"),
        (said("<think>hmm</think>"), "empty"),
        (said('{"people": ["An', finish="length"), "truncated"),
        (said(None, finish="length"), "truncated"),
    ],
)
def test_a_reply_that_stays_unusable_is_typed_and_its_cost_counted(server, reply, kind):
    server.script = [reply]
    with pytest.raises(BadReply, match=f"openai:m gave an unusable reply \\({kind}\\)") as caught:
        chat(server).complete(ASK, schema=SCHEMA)
    assert (caught.value.kind, caught.value.usage) == (kind, Usage(20, 10))
    assert (caught.value.stage, caught.value.model) == ("chat", "openai:m")
    assert len(server.requests) == 2


@pytest.mark.parametrize("reply", [said(None, refusal="I can't help with that."), said("", finish="content_filter")])
def test_a_refusal_is_not_asked_again(server, reply):
    server.script = [reply]
    with pytest.raises(BadReply) as caught:
        chat(server).complete(ASK)
    assert caught.value.kind == "refused"
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
        "the request exceeds the available context size. try increasing the context size or enable context shift",
        "prompt is too long: 210000 tokens > 200000 maximum",
    ],
)
def test_a_request_beyond_the_context_is_told_apart_and_no_form_is_blamed_for_it(server, message):
    server.script = [refusing(message)]
    model = chat(server)
    with pytest.raises(BadReply, match=message[:20]) as caught:
        model.complete(ASK, schema=SCHEMA)
    assert caught.value.kind == "too_long"
    assert len(server.requests) == 1
    server.script = [said('{"people": []}')]
    model.complete(ASK, schema=SCHEMA)
    assert server.requests[-1].json["response_format"]["type"] == "json_schema"


def test_the_last_unusable_reply_is_kept(server):
    server.script = [said('{"people": "Ann"}')]
    with pytest.raises(BadReply) as caught:
        chat(server).complete(ASK, schema=SCHEMA)
    assert caught.value.said == '{"people": "Ann"}'


def test_tool_calls_that_were_not_offered_are_no_answer(server):
    call = {"id": "1", "type": "function", "function": {"name": "delete_everything", "arguments": "{}"}}
    server.script = [said(None, tool_calls=[call])]
    with pytest.raises(BadReply, match="there is no tool 'delete_everything'"):
        chat(server).complete(ASK, schema=SCHEMA)


def test_counts_of_tokens_beyond_all_bounds_are_none(server):
    reply = b'{"choices": [{"message": {"content": "Hi."}}], "usage": {"prompt_tokens": 1e999, "completion_tokens": 5}}'
    server.script = [Response(reply)]
    assert chat(server).complete(ASK).usage == Usage(0, 5)


def test_a_truncated_value_is_asked_again_with_twice_the_room(server):
    server.script = [said('{"people": ["An', finish="length"), said('{"people": ["Ann"]}')]
    assert chat(server).complete(ASK, schema=SCHEMA, max_tokens=100).value == {"people": ["Ann"]}
    assert [request.json["max_tokens"] for request in server.requests] == [100, 200]


def test_truncated_text_is_kept_and_said_to_be_so(server):
    server.script = [said("A man walks to the", finish="length")]
    reply = chat(server).complete(ASK)
    assert (reply.text, reply.truncated) == ("A man walks to the", True)


@pytest.mark.parametrize(
    "body",
    [
        {"choices": []},
        {"choices": None},
        {},
        {"choices": [{"message": None}]},
        {"choices": ["x"]},
        {"choices": [{"message": {"content": 7}}]},
    ],
)
def test_a_reply_of_an_odd_shape_is_empty(server, body):
    server.script = [Response(body)]
    with pytest.raises(BadReply) as caught:
        chat(server).complete(ASK)
    assert caught.value.kind == "empty"


def test_content_in_parts_is_joined(server):
    server.script = [said([{"type": "text", "text": "A "}, {"type": "text", "text": "dog."}])]
    assert chat(server).complete(ASK).text == "A dog."


def test_lone_surrogates_neither_break_the_request_nor_the_reply(server):
    server.script = [Response(rb'{"choices": [{"message": {"content": "{\"people\": [\"A\ud800\"]}"}}]}')]
    reply = chat(server).complete([Message("user", "who \udc80?")], schema=SCHEMA)
    assert reply.value == {"people": ["A�"]}
    assert server.requests[0].json["messages"][0]["content"] == "who �?"
    reply.text.encode()


# --- servers that take less ---------------------------------------------------------------------------------------------


def picky(*accepted: str, status: int = 400, message: str = "unsupported response_format"):
    """A server that takes some forms of response_format only; llama.cpp's answers 500 to the others."""

    def answer(request: Request) -> Response:
        form = request.json.get("response_format", {"type": "none"})
        kind = form["type"] + ("+schema" if form["type"] == "json_object" and "schema" in form else "")
        return said('{"people": []}') if kind in accepted else refusing(message, status)

    return answer


@pytest.mark.parametrize("accepted", ["json_object+schema", "json_object", "none"])
@pytest.mark.parametrize("status", [400, 422, 500])
def test_json_schema_falls_back_step_by_step_and_is_remembered(server, accepted, status):
    server.script = [picky(accepted, status=status)]
    model = chat(server, retries=0)
    assert model.complete(ASK, schema=SCHEMA).value == {"people": []}
    before = len(server.requests)
    assert model.complete(ASK, schema=SCHEMA).value == {"people": []}
    assert len(server.requests) == before + 1
    assert json.dumps(SCHEMA) in server.requests[-1].json["messages"][-1]["content"]


def test_a_500_without_a_word_on_the_format_is_retried_before_falling_back(server):
    server.script = [picky("json_object+schema", status=500, message="Internal Server Error")]
    assert chat(server, retries=1).complete(ASK, schema=SCHEMA).value == {"people": []}
    assert len(server.requests) == 3


def test_a_passing_500_does_not_cost_the_schema(server):
    server.script = [refusing("oops", 500), said('{"people": []}'), said('{"people": []}')]
    model = chat(server)
    model.complete(ASK, schema=SCHEMA)
    model.complete(ASK, schema=SCHEMA)
    assert server.requests[-1].json["response_format"]["type"] == "json_schema"


def test_newer_and_older_names_of_the_token_limit(server):
    message = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    )
    server.script = [refusing(message), refusing("Unsupported value: 'temperature' does not support 0"), said("yes")]
    model = chat(server)
    assert model.complete(ASK, max_tokens=9).text == "yes"
    assert model.complete(ASK, max_tokens=9).text == "yes"
    sent = server.requests[-1].json
    assert sent["max_completion_tokens"] == 9
    assert "max_tokens" not in sent
    assert "temperature" not in sent


def test_what_cannot_be_left_out_is_an_error(server):
    server.script = [refusing("model 'm' does not exist", 404)]
    with pytest.raises(EndpointError, match="is the model's name right"):
        chat(server).complete(ASK, schema=SCHEMA)
    assert len(server.requests) == 1


# --- tools --------------------------------------------------------------------------------------------------------------


def calling(name: str, arguments: str) -> Response:
    return said(tool_calls=[{"id": "t1", "type": "function", "function": {"name": name, "arguments": arguments}}])


def test_tools_are_offered_and_calls_come_back_checked(server):
    server.script = [calling("find", '{"text": "red car"}')]
    reply = chat(server).complete(ASK, tools=[FIND])
    assert reply.calls == (ToolCall("t1", "find", {"text": "red car"}),)
    assert server.requests[0].json["tools"][0]["function"]["name"] == "find"


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (calling("look", "{}"), "no tool 'look'; the tools are find"),
        (calling("find", "{}"), "'text' is a required property"),
        (calling("find", "red car"), "not JSON"),
    ],
)
def test_a_wrong_call_is_asked_again_with_the_fault_named(server, call, fault):
    server.script = [call, calling("find", '{"text": "red car"}')]
    assert chat(server).complete(ASK, tools=[FIND]).calls[0].arguments == {"text": "red car"}
    assert fault in server.requests[1].json["messages"][-1]["content"]


def test_a_conversation_with_tool_results_is_sent_as_the_api_wants_it(server):
    server.script = [said("It is red.")]
    talk = [
        *ASK,
        Message("assistant", "", calls=(ToolCall("t1", "find", {"text": "car"}),)),
        Message("tool", "a red car", tool_call="t1"),
    ]
    chat(server).complete(talk, tools=[FIND])
    _, assistant, tool = server.requests[0].json["messages"]
    assert assistant["tool_calls"][0]["function"] == {"name": "find", "arguments": '{"text": "car"}'}
    assert tool == {"role": "tool", "content": "a red car", "tool_call_id": "t1"}


# --- embeddings ---------------------------------------------------------------------------------------------------------


def embedding(request: Request) -> Response:
    rows = [{"index": n, "embedding": [len(text), 1.0, 0.0]} for n, text in enumerate(request.json["input"])]
    return Response({"data": rows[::-1], "usage": {"prompt_tokens": len(rows)}})


def embedder(server: Server, **more) -> OpenAIEmbedder:
    return OpenAIEmbedder(Endpoint(**{"base_url": server.url, "timeout_s": 5.0, "retries": 1, **more}), "e")


def test_vectors_come_back_in_order_and_normalised(server):
    server.script = [embedding]
    model = embedder(server)
    vectors = model.embed(["a", "bbb"])
    assert (model.name, model.dimension, vectors.dtype, vectors.shape) == ("openai:e", 3, np.float32, (2, 3))
    assert vectors[1] == pytest.approx([3 / math.sqrt(10), 1 / math.sqrt(10), 0])


def test_many_texts_go_in_batches(server):
    server.script = [embedding]
    assert embedder(server).embed(["x"] * 300).shape == (300, 3)
    assert [len(request.json["input"]) for request in server.requests] == [1, 128, 128, 44]


def test_empty_texts_are_zero_and_are_not_sent(server):
    server.script = [embedding]
    vectors = embedder(server).embed(["", "a", " \n"])
    assert not vectors[0].any()
    assert vectors[1].any()
    assert server.requests[-1].json["input"] == ["a"]
    assert embedder(server).embed([]).shape == (0, 3)


def test_a_text_the_model_finds_too_long_is_shortened(server):
    def short_only(request: Request) -> Response:
        if max(map(len, request.json["input"])) > 7000:
            return refusing("This model's maximum context length is 512 tokens")
        return embedding(request)

    server.script = [short_only]
    assert embedder(server).embed(["x" * 100_000, "y"]).shape == (2, 3)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        [{"index": 0}],
        [{"index": 0, "embedding": ["a"]}],
        [{"index": 0, "embedding": []}],
        ["x"],
        [{"index": 0, "embedding": [float("nan")]}],
    ],
)
def test_what_is_no_vector_is_a_model_error(server, data):
    server.script = [Response({"data": data})]
    with pytest.raises(ModelError, match="openai:e did not answer with 1 vectors"):
        embedder(server).embed(["a"])


def test_a_changed_dimension_is_a_model_error(server):
    server.script = [embedding, Response({"data": [{"index": 0, "embedding": [1.0, 2.0]}]})]
    with pytest.raises(ModelError, match="changed its dimension from 3 to 2"):
        embedder(server).embed(["a"])
