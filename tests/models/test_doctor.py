"""The report on what is here, what is not, and what adds it."""

import pytest

from vgraph.models import choose as choosing
from vgraph.models import doctor as doctoring
from vgraph.models import loading
from vgraph.models.choose import NEEDS, Wanted
from vgraph.models.doctor import Check, doctor

from .conftest import Response


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    for module in (choosing, doctoring):
        monkeypatch.setattr(module, "installed", lambda package: not loading.EXTRAS.get(package, ""))
    monkeypatch.setattr(choosing, "cached", lambda model, weights: None)


def checks(kind: str, **wanted) -> dict[str, Check]:
    return {check.name: check for check in doctor(Wanted(**wanted)) if check.kind == kind}


def test_every_need_tells_what_would_serve_it_or_what_would_help():
    needs = checks("need")
    assert tuple(needs) == NEEDS
    assert needs["embed"].ok
    assert needs["embed"].detail.startswith("wordllama: ")
    assert not needs["transcribe"].ok
    assert needs["transcribe"].command == "pip install 'vgraph[audio]'"
    assert needs["read"].command == "pip install 'vgraph[ocr]'"
    assert "VGRAPH_MODELS__OPENAI_CHAT_MODEL" in needs["chat"].command


def test_a_package_without_weights_is_helped_by_naming_the_model(monkeypatch):
    for module in (choosing, doctoring):
        monkeypatch.setattr(module, "installed", lambda package: True)
    assert checks("need")["transcribe"].command == "export VGRAPH_MODELS__TRANSCRIBE=faster-whisper:small"


def test_a_wrong_setting_is_a_line_not_a_crash():
    needs = checks("need", embed="nonsense", read="rapidocr", chat="none")
    assert "no provider" in needs["embed"].detail
    assert (needs["read"].ok, needs["read"].command) == (False, "pip install 'vgraph[ocr]'")
    assert needs["chat"].ok


def test_every_extra_tells_its_packages_and_its_command():
    extras = checks("extra")
    assert set(extras) == {"audio", "local", "ocr", "vision", "whisperx", "graph", "train", "spacy"}
    assert extras["vision"].detail == "onnxruntime missing, transformers missing, torch missing"
    assert extras["vision"].command == "pip install 'vgraph[vision]'"


def test_the_core_tells_its_versions():
    core = checks("core")
    assert all(check.ok for check in core.values())
    assert core["openai"].detail[0].isdigit()
    assert core["cv2"].detail[0].isdigit()


def test_an_endpoint_is_asked_only_when_it_is_set(server):
    assert checks("endpoint") == {}
    server.script = [Response({"data": [{"id": "c"}]})]
    [check] = checks("endpoint", openai_base_url=server.url, openai_chat_model="c").values()
    assert (check.ok, check.detail, check.name) == (True, "answers", server.url)


def test_a_model_the_endpoint_does_not_list_is_told(server):
    server.script = [Response({"data": [{"id": "a"}]})]
    [check] = checks("endpoint", openai_base_url=server.url, openai_chat_model="c").values()
    assert (check.ok, check.detail) == (False, "answers; does not list c")


def test_an_endpoint_that_is_not_there_is_told():
    [check] = checks("endpoint", openai_base_url="http://127.0.0.1:9/v1").values()
    assert not check.ok
    assert "cannot be reached" in check.detail


def test_ffmpeg_is_not_needed_and_a_voice_is_optional():
    tools = checks("tool")
    assert tools["ffmpeg"].ok
    assert tools["espeak-ng"].ok
