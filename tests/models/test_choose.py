"""Which model does what, and why; what is wrong is said with the accepted form or the command that helps."""

import dataclasses
import sys

import pytest

from vgraph.errors import MissingDependency, UserError
from vgraph.models import choose as choosing
from vgraph.models import loading
from vgraph.models.captions import VisionCaptioner
from vgraph.models.choose import NEEDS, Models, Wanted, choose
from vgraph.models.motion import MotionDetector
from vgraph.models.offline import HashEmbedder
from vgraph.models.onnx import OnnxDetector
from vgraph.models.openai import OpenAIChat, OpenAIEmbedder
from vgraph.models.openai_speech import OpenAITranscriber
from vgraph.models.wordllama import WordLlamaEmbedder
from vgraph.settings import ModelSettings
from vgraph.types import Segment

from .test_openai import said

ENDPOINT = {
    "openai_base_url": "http://127.0.0.1:9/v1",
    "openai_chat_model": "c",
    "openai_vision_model": "v",
    "openai_embed_model": "e",
    "openai_transcribe_model": "t",
}


@pytest.fixture
def bare(monkeypatch):
    """A machine with the core only and nothing in the hub's cache."""
    monkeypatch.setattr(choosing, "installed", lambda package: not loading.EXTRAS.get(package, ""))
    monkeypatch.setattr(choosing, "cached", lambda model, weights: None)


@pytest.fixture
def full(monkeypatch):
    """A machine with every extra and every default's weights in the hub's cache."""
    monkeypatch.setattr(choosing, "installed", lambda package: True)
    monkeypatch.setattr(choosing, "cached", lambda model, weights: sys.prefix)


def specs(models: Models) -> dict[str, str]:
    return {pick.need: pick.spec for pick in models.picked}


def reason(models: Models, need: str) -> str:
    return next(pick.reason for pick in models.picked if pick.need == need)


def test_wanted_has_the_fields_of_the_settings_section():
    assert {field.name for field in dataclasses.fields(Wanted)} == set(ModelSettings.model_fields)
    defaults = ModelSettings()
    assert all(getattr(Wanted(), name) == getattr(defaults, name) for name in ModelSettings.model_fields)


def test_a_bare_machine_embeds_by_wordllama_finds_motion_and_says_what_is_missing(bare):
    models = choose(Wanted())
    assert specs(models) == {
        "caption": "none",
        "transcribe": "none",
        "diarize": "none",
        "embed": "wordllama",
        "image_embed": "none",
        "detect": "motion",
        "read": "none",
        "chat": "none",
        "entities": "none",
        "rerank": "none",
        "intent": "none",
    }
    assert isinstance(models.embed, WordLlamaEmbedder)
    assert isinstance(models.detect, MotionDetector)
    assert models.chat is models.caption is models.read is None
    assert "pip install 'vgraph[audio]'" in reason(models, "transcribe")
    assert "pip install 'vgraph[local]'" in reason(models, "embed")
    assert "VGRAPH_MODELS__OPENAI_CHAT_MODEL" in reason(models, "chat")
    assert models.usage == {}


def test_a_configured_endpoint_comes_first(bare):
    models = choose(Wanted(**ENDPOINT))
    assert {need: spec for need, spec in specs(models).items() if spec.startswith("openai")} == {
        "caption": "openai:v",
        "transcribe": "openai:t",
        "embed": "openai:e",
        "chat": "openai:c",
    }
    assert isinstance(models.chat, OpenAIChat)
    assert isinstance(models.caption, VisionCaptioner)
    assert isinstance(models.embed, OpenAIEmbedder)
    assert isinstance(models.transcribe, OpenAITranscriber)


def test_an_endpoint_serves_only_what_a_model_is_named_for(bare):
    models = choose(Wanted(openai_base_url="http://127.0.0.1:9/v1", openai_chat_model="c"))
    assert (specs(models)["chat"], specs(models)["caption"], specs(models)["embed"]) == (
        "openai:c",
        "none",
        "wordllama",
    )


def test_installed_models_with_weights_here_come_before_the_offline_ones(full):
    models = choose(Wanted())
    assert specs(models) == {
        "caption": "transformers:HuggingFaceTB/SmolVLM-500M-Instruct",
        "transcribe": "faster-whisper:small",
        "diarize": "whisperx:pyannote/speaker-diarization-community-1",
        "embed": "sentence-transformers:BAAI/bge-small-en-v1.5",
        "image_embed": "transformers:google/siglip2-base-patch16-224",
        "detect": "transformers:PekingU/rtdetr_v2_r18vd",
        "read": "rapidocr",
        "chat": "none",
        "entities": "spacy:en_core_web_sm",
        "rerank": "none",
        "intent": "none",
    }
    assert models.embed is not None
    assert models.embed.name == "sentence-transformers:BAAI/bge-small-en-v1.5"


def test_auto_never_downloads(monkeypatch):
    monkeypatch.setattr(choosing, "installed", lambda package: True)
    monkeypatch.setattr(choosing, "cached", lambda model, weights: None)
    models = choose(Wanted())
    assert (specs(models)["embed"], specs(models)["detect"], specs(models)["transcribe"]) == (
        "wordllama",
        "motion",
        "none",
    )
    assert "no weights on this disk (name them: faster-whisper:small)" in reason(models, "transcribe")


def test_auto_never_picks_a_stand_in(monkeypatch):
    monkeypatch.setattr(choosing, "installed", lambda package: False)
    assert choose(Wanted()).embed is None
    assert isinstance(choose(Wanted(embed="hash")).embed, HashEmbedder)


def test_what_costs_a_search_more_is_chosen_only_where_it_is_asked_for(full):
    asked = choose(Wanted(rerank="auto", intent="auto"))
    assert specs(asked)["rerank"] == "sentence-transformers:cross-encoder/ms-marco-MiniLM-L6-v2"
    assert specs(asked)["intent"] == "transformers:HuggingFaceTB/SmolVLM-500M-Instruct"
    assert choose(Wanted()).rerank is choose(Wanted()).intent is None
    rater = choose(Wanted(**ENDPOINT, intent="auto")).intent
    assert rater is not None and rater.name == "openai:v"


def test_none_switches_off(bare):
    models = choose(Wanted(**dict.fromkeys(NEEDS, "none")))
    assert all(getattr(models, need) is None for need in NEEDS)
    assert {pick.reason for pick in models.picked} == {"switched off"}


def test_a_named_provider_takes_its_model_from_the_spec_or_the_settings(bare):
    models = choose(Wanted(**{**ENDPOINT, "chat": "openai:other", "caption": "openai"}))
    assert models.chat is not None
    assert models.caption is not None
    assert (models.chat.name, models.caption.name) == ("openai:other", "openai:v")


def test_a_captioner_gets_the_types_and_the_number_of_frames(bare, server):
    server.script = [said('{"summary": "A van.", "entities": [], "relations": []}')]
    wanted = Wanted(openai_base_url=server.url, caption="openai:v")
    captioner = choose(wanted, entity_types=("forklift",), caption_frames=2, dimensions=("summary",)).caption
    assert captioner is not None
    captioner.caption(Segment(0, 0, 9000, "window"), [(n * 1000, b"jpeg") for n in range(9)], "")
    text, *pictures = server.requests[0].json["messages"][0]["content"]
    assert "forklift" in text["text"]
    assert len(pictures) == 2


def test_a_model_file_is_named_by_its_path(full, tmp_path):
    path = tmp_path / "my: detector.onnx"
    path.write_bytes(b"")
    models = choose(Wanted(detect=f"onnx:{path}"))
    assert isinstance(models.detect, OnnxDetector)
    assert models.detect.name == "onnx:my: detector"


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"embed": "word-llama"}, "VGRAPH_MODELS__EMBED: 'word-llama' is no provider; did you mean wordllama"),
        ({"detect": "yolo"}, r"Accepted: auto, none, transformers\[:MODEL\], onnx:MODEL, motion"),
        ({"chat": ""}, "Accepted"),
        ({"chat": "openai:x"}, "VGRAPH_MODELS__OPENAI_BASE_URL"),
        ({"chat": "openai", "openai_api_key": "k"}, "set VGRAPH_MODELS__OPENAI_CHAT_MODEL"),
        ({"detect": "onnx"}, "write onnx:MODEL"),
        ({"embed": "wordllama:big"}, "takes no model"),
    ],
)
def test_a_wrong_setting_is_told_with_the_accepted_form(monkeypatch, wanted, message):
    monkeypatch.setattr(choosing, "installed", lambda package: True)
    with pytest.raises(UserError, match=message):
        choose(Wanted(**wanted))


@pytest.mark.parametrize(
    ("wanted", "command"),
    [
        ({"transcribe": "faster-whisper:small"}, "pip install 'vgraph[audio]'"),
        ({"read": "rapidocr"}, "pip install 'vgraph[ocr]'"),
        ({"entities": "spacy"}, "pip install 'vgraph[spacy]'"),
        ({"embed": "sentence-transformers:a/b"}, "pip install 'vgraph[local]'"),
        ({"detect": "transformers:a/b"}, "pip install 'vgraph[vision]'"),
    ],
)
def test_a_named_provider_whose_package_is_missing_gives_the_command(bare, wanted, command):
    with pytest.raises(MissingDependency) as caught:
        choose(Wanted(**wanted))
    assert caught.value.command == command


def test_a_named_model_that_is_not_here_is_said_to_be_downloaded(monkeypatch):
    monkeypatch.setattr(choosing, "installed", lambda package: True)
    monkeypatch.setattr(choosing, "cached", lambda model, weights: None)
    models = choose(Wanted(embed="sentence-transformers:a/b"))
    assert "downloaded when first used" in reason(models, "embed")


def test_secrets_are_not_shown():
    assert "k3y" not in repr(Wanted(openai_api_key="k3y"))


def test_cached_weights_are_found_without_the_network(tmp_path, monkeypatch):
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    folder = tmp_path / "models--a--b" / "snapshots" / "0"
    (folder / "0_CLIPModel").mkdir(parents=True)
    refs = tmp_path / "models--a--b" / "refs"
    refs.mkdir()
    (refs / "main").write_text("0")
    (folder / "0_CLIPModel" / "model.safetensors").write_bytes(b"")
    assert loading.cached("a/b", "0_CLIPModel/model.safetensors") == str(folder)
    assert loading.cached("a/b", "model.safetensors") is None
