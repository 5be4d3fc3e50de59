"""The door to OpenAI-compatible servers: what is retried, what is not, and what never gets out."""

import logging

import pytest

from vgraph.errors import ModelError
from vgraph.models.endpoint import Endpoint, EndpointError, usage_of, wait
from vgraph.types import Usage

from .conftest import Response, Server

KEY = "sk-secret-0123456789"
OK = Response({"data": [{"id": "m"}]})


def endpoint(server: Server, **more) -> Endpoint:
    return Endpoint(**{"base_url": server.url, "api_key": KEY, "timeout_s": 5.0, "retries": 2, **more})


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
def test_passing_faults_are_retried(server, status):
    server.script = [Response({"error": {"message": "busy"}}, status), OK]
    assert endpoint(server).models() == ["m"]
    assert len(server.requests) == 2


def test_retries_are_logged_and_never_printed(server, caplog, capsys):
    server.script = [Response({"error": "busy"}, 503), OK]
    endpoint(server).models()
    assert capsys.readouterr().out == ""
    assert "stamina.retry_scheduled" in caplog.text


@pytest.mark.parametrize("status", [400, 401, 403, 422])
def test_final_faults_are_not_retried(server, status):
    server.script = [Response({"error": {"message": "no"}}, status)]
    with pytest.raises(EndpointError, match=f"answered {status}: no") as caught:
        endpoint(server).models()
    assert caught.value.status == status
    assert len(server.requests) == 1


def test_retries_end(server):
    server.script = [Response({"error": "overloaded"}, 503)]
    with pytest.raises(EndpointError, match="503: overloaded"):
        endpoint(server).models()
    assert len(server.requests) == 3


def test_no_retries_when_none_are_wanted(server):
    server.script = [Response({"error": "overloaded"}, 503)]
    with pytest.raises(EndpointError):
        endpoint(server, retries=0).models()
    assert len(server.requests) == 1


def test_a_server_that_hangs_is_given_up_after_the_timeout(server):
    server.script = [Response(hang=True), OK]
    assert endpoint(server, timeout_s=0.2).models() == ["m"]


def test_a_server_that_always_hangs_is_a_model_error_that_says_so(server):
    server.script = [Response(hang=True)]
    with pytest.raises(ModelError, match=r"did not answer within 0\.1 s"):
        endpoint(server, timeout_s=0.1, retries=1).models()
    assert len(server.requests) == 2


def test_a_body_cut_short_is_retried(server):
    server.script = [Response({"data": []}, short=True), OK]
    assert endpoint(server, timeout_s=0.3).models() == ["m"]


@pytest.mark.parametrize("body", [b"<html>gateway</html>", b"{", b"[]", b"", b"\xff\xfe"])
def test_what_is_no_json_object_is_retried_then_told(server, body):
    server.script = [Response(body), OK]
    assert endpoint(server).models() == ["m"]
    server.script = [Response(body, headers={"content-type": "text/html"})]
    with pytest.raises(EndpointError, match="other than a JSON object"):
        endpoint(server).models()


def test_nobody_there_is_told_with_the_address():
    nobody = Endpoint(base_url="http://127.0.0.1:9/v1", retries=1, timeout_s=2)
    with pytest.raises(EndpointError, match=r"http://127\.0\.0\.1:9/v1 .*cannot be reached"):
        nobody.models()


def test_a_wrong_address_is_a_model_error():
    with pytest.raises(ModelError, match=r"be asked|be reached"):
        Endpoint(base_url="ftp://nowhere", retries=0).models()


def test_retry_after_is_obeyed_up_to_a_minute(server):
    server.script = [Response({"error": "slow down"}, 429, {"retry-after": "7"})]
    with pytest.raises(EndpointError) as caught:
        endpoint(server, retries=0).models()
    assert wait(caught.value) == 7.0
    server.script = [Response({"error": "slow down"}, 429, {"retry-after": "86400"})]
    with pytest.raises(EndpointError) as caught:
        endpoint(server, retries=0).models()
    assert wait(caught.value) == 60.0


def test_without_or_with_an_odd_retry_after_the_backoff_is_ours(server):
    for headers in ({}, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}):
        server.script = [Response({"error": "slow down"}, 429, headers)]
        with pytest.raises(EndpointError) as caught:
            endpoint(server, retries=0).models()
        assert wait(caught.value) is True
    assert wait(ValueError()) is False


def test_the_key_is_sent_and_never_shown(server, caplog, capsys):
    caplog.set_level(logging.INFO)
    server.script = [
        Response({"error": {"message": f"Incorrect API key provided: {KEY}"}}, 429),
        Response({"error": {"message": f"Incorrect API key provided: {KEY}"}}, 401),
    ]
    with pytest.raises(EndpointError) as caught:
        endpoint(server).models()
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    shown = "".join((str(caught.value), repr(caught.value), caplog.text, *capsys.readouterr()))
    assert KEY not in shown
    assert "***" in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_password_in_the_address_is_never_shown(server, caplog):
    caplog.set_level(logging.INFO)
    secret = endpoint(server, base_url=server.url.replace("//", "//user:hunter2@") + "?token=t0p")
    server.script = [Response({"error": "no"}, 400)]
    with pytest.raises(EndpointError) as caught:
        secret.models()
    assert secret.address == server.url
    for shown in (str(caught.value), caplog.text):
        assert "hunter2" not in shown
        assert "t0p" not in shown


def test_a_server_without_a_model_list_still_answers(server):
    server.script = [Response({"error": "not found"}, 404)]
    assert endpoint(server).models() == []


def test_usage_is_added_up_by_stage(server):
    made = endpoint(server)
    server.script = [Response({"usage": {"prompt_tokens": 3, "completion_tokens": 2}})]
    for _ in range(2):
        made.ask("chat", "m", lambda client: client.models.with_raw_response.list())
    made.ask("embed", "m", lambda client: client.models.with_raw_response.list())
    assert made.usage == {"chat": Usage(6, 4), "embed": Usage(3, 2)}


@pytest.mark.parametrize("usage", [None, "many", {"prompt_tokens": None}, {"prompt_tokens": "4"}, {}])
def test_odd_usage_counts_nothing(usage):
    assert usage_of({"usage": usage}) == Usage()


@pytest.mark.parametrize("endless", [Response(drip=True), Response(filler=100)])
def test_a_reply_without_an_end_is_given_up(server, endless):
    server.script = [endless, OK]
    assert endpoint(server, timeout_s=1.0).models() == ["m"]
    server.script = [endless]
    with pytest.raises(EndpointError, match="its reply"):
        endpoint(server, timeout_s=1.0, retries=0).models()


def test_the_password_of_the_address_is_not_told_in_any_form(server):
    server.script = [lambda request: Response({"error": {"message": request.headers["authorization"]}}, 401)]
    url = server.url.replace("http://", "http://user:p%40ss-w0rd@")
    with pytest.raises(EndpointError) as caught:
        endpoint(server, base_url=url).models()
    assert "***" in str(caught.value) and "dXNlcjpwQHNz" not in str(caught.value)
