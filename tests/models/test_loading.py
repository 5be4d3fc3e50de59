"""Late imports, named extras, translated errors: importing the models loads none of them."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from vgraph.errors import MissingDependency, ModelError, UserError
from vgraph.models.loading import EXTRAS, clean, command, local, require, title, translated

HEAVY = {
    "av",
    "cv2",
    "faster_whisper",
    "huggingface_hub",
    "json_repair",
    "jsonschema",
    "numpy",
    "onnxruntime",
    "openai",
    "PIL",
    "rapidocr",
    "sentence_transformers",
    "spacy",
    "stamina",
    "torch",
    "transformers",
    "wordllama",
}


def test_importing_and_choosing_loads_no_model_library():
    script = (
        "import sys, vgraph.models.choose as c, vgraph.models.doctor, vgraph.models.tracking, vgraph.models.given;"
        "c.choose(c.Wanted(openai_base_url='http://127.0.0.1:9/v1', openai_chat_model='m', caption='none', transcribe='none',"
        " image_embed='none', detect='motion', embed='wordllama'));"
        f"print(*sorted({HEAVY!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_each_extra_named_in_a_command_is_one_of_the_package_and_brings_what_is_promised():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for package, extra in EXTRAS.items():
        wanted = {"cv2": "opencv-python-headless"}.get(package, package.replace("_", "-"))
        brought = extras[extra] if extra else project["dependencies"]
        assert any(line.startswith(wanted) for line in brought), (package, extra)


def test_a_missing_package_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "faster_whisper", None)
    with pytest.raises(MissingDependency, match=r"pip install 'vgraph\[audio\]'") as caught:
        require("faster_whisper", stage="transcribe", model="faster-whisper:small")
    assert (caught.value.stage, caught.value.model) == ("transcribe", "faster-whisper:small")
    assert command("openai") == "pip install openai"


@pytest.mark.parametrize("error", [ValueError("bad\nshape"), RuntimeError(), MemoryError("no room"), KeyError("x")])
def test_whatever_a_library_raises_becomes_a_model_error(error):
    with pytest.raises(ModelError, match="m failed to embed: ") as caught, translated("embed", "m"):
        raise error
    assert caught.value.__cause__ is error
    assert "\n" not in str(caught.value)


def test_our_own_errors_and_interrupts_pass():
    for error in (UserError("x"), KeyboardInterrupt()):
        with pytest.raises(type(error)), translated("embed", "m"):
            raise error


def test_text_that_cannot_be_encoded_is_cleaned_and_other_text_is_untouched():
    assert clean("a\ud800b 😀 شمس") == "a�b 😀 شمس"


def test_models_on_disk_are_told_from_hub_ids(tmp_path, monkeypatch):
    (tmp_path / "owner" / "name").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert local("owner/other") == "owner/other"
    assert title("owner/other") == "owner/other"
    assert title("owner/name") == "name"
    with pytest.raises(UserError, match="no such file"):
        local("~/surely/not/there")
