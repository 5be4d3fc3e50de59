"""Local raters and their training: tiny random checkpoints in the real layout. They show that it works, not how well it rates."""

import json
import math
from pathlib import Path

import pytest

from vgraph.errors import MissingDependency, ModelError, Stopped, UserError
from vgraph.models import Rater
from vgraph.models.loading import installed
from vgraph.models.training import CHECKPOINT, Example, LoraOptions, read_examples, train
from vgraph.models.transformers_rating import LevelModel, TransformersRater
from vgraph.retrieve.relevance import expected

from .tiny import jpeg, tiny_llama, tiny_smolvlm

needs_transformers = pytest.mark.skipif(
    not (installed("transformers") and installed("torch")), reason="transformers or torch is not installed"
)
needs_peft = pytest.mark.skipif(
    not (installed("peft") and installed("transformers")), reason="peft is not installed (extra train)"
)
QUESTION = "Who carries crate 7?"
FAST = LoraOptions(rank=4, alpha=8, dropout=0.05, rate=0.02, batch=4, epochs=4, save_every=2)


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch

    torch.manual_seed(3)
    return tiny_llama(tmp_path_factory.mktemp("models") / "llama")


@pytest.fixture(scope="module")
def smolvlm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch

    torch.manual_seed(3)
    return tiny_smolvlm(tmp_path_factory.mktemp("models") / "smolvlm")


def hard(level: int) -> tuple[float, ...]:
    return tuple(float(number == level) for number in range(1, 6))


def examples() -> list[Example]:
    """What names the crate is 5, the rest 1."""
    return [
        Example(QUESTION, f"Ana carries crate 7 to gate {n}." if n % 2 else f"Rain falls, {n}.", hard(5 if n % 2 else 1)) for n in range(12)
    ]  # fmt: skip


@needs_transformers
def test_levels_are_the_softmax_of_the_logits_of_their_tokens(llama: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    rater = TransformersRater(str(llama), threads=1)
    assert isinstance(rater, Rater) and rater.name == "transformers:llama"
    levels = rater.rate(QUESTION, "Ana carries crate 7.")
    assert sum(levels) == pytest.approx(1) and all(level > 0 for level in levels)
    model = LevelModel(str(llama), "x", threads=1)
    tokenizer, plain = AutoTokenizer.from_pretrained(llama), AutoModelForCausalLM.from_pretrained(llama)
    with torch.inference_mode():
        logits = plain(**model.inputs(QUESTION, "Ana carries crate 7.")).logits[0, -1]
    weights = [math.exp(float(logits[tokenizer.convert_tokens_to_ids(digit)])) for digit in "12345"]
    assert levels == pytest.approx([weight / sum(weights) for weight in weights], rel=1e-4)
    assert rater.rate(QUESTION, "Ana carries crate 7.") == levels
    assert rater.rate(QUESTION, "Rain.") != levels


@needs_transformers
def test_a_vision_model_rates_frames_and_texts(smolvlm: Path) -> None:
    rater = TransformersRater(str(smolvlm), threads=1)
    red, blue, text = (
        rater.rate(QUESTION, jpeg("red")),
        rater.rate(QUESTION, jpeg("blue")),
        rater.rate(QUESTION, "Rain."),
    )
    assert len({red, blue, text}) == 3
    assert all(1 < expected(levels) < 5 for levels in (red, blue, text))


@needs_transformers
def test_a_language_model_is_shown_no_frame(llama: Path) -> None:
    with pytest.raises(UserError, match="sees no pictures"):
        TransformersRater(str(llama), threads=1).rate(QUESTION, jpeg("red"))


@needs_transformers
def test_a_model_without_tokens_for_the_digits_is_no_rater(tmp_path: Path) -> None:
    letters = tiny_llama(tmp_path / "letters", "abcdefghijklmnopqrstuvwxyz")
    with pytest.raises(ModelError, match="no tokens of its own for the digits"):
        TransformersRater(str(letters), threads=1).rate("who", "ana")


@needs_peft
def test_training_lowers_the_loss_and_the_adapter_rates_otherwise_than_its_model(llama: Path, tmp_path: Path) -> None:
    steps: list[int] = []
    made = train(str(llama), examples(), tmp_path / "adapter", FAST, threads=1, report=lambda p: steps.append(p.done))
    assert steps == list(range(1, 13)) and made.steps == len(made.losses) == 12
    assert made.losses[-1] < 0.7 * made.losses[0]
    assert {file.name for file in made.folder.iterdir()} >= {"adapter_config.json", "adapter_model.safetensors"}
    assert not (made.folder / CHECKPOINT).exists()
    before, after = TransformersRater(str(llama), threads=1), TransformersRater(str(made.folder), threads=1)
    crate, rain = "Ana carries crate 7 to gate 1.", "Rain falls, 2."
    apart = [expected(rater.rate(QUESTION, crate)) - expected(rater.rate(QUESTION, rain)) for rater in (before, after)]
    assert apart[1] > 3 > apart[0]


@needs_peft
def test_interrupted_it_goes_on_to_the_same_adapter_as_in_one_go(llama: Path, tmp_path: Path) -> None:
    whole = train(str(llama), examples(), tmp_path / "whole", FAST, threads=1)

    def stop(progress: object) -> None:
        if progress.done == 5:  # type: ignore[attr-defined]
            raise KeyboardInterrupt

    with pytest.raises(Stopped, match="after 5 of 12 steps"):
        train(str(llama), examples(), tmp_path / "parts", FAST, threads=1, report=stop)
    assert (tmp_path / "parts" / CHECKPOINT).exists()
    resumed: list[int] = []
    parts = train(str(llama), examples(), tmp_path / "parts", FAST, threads=1, report=lambda p: resumed.append(p.done))
    assert resumed == list(range(6, 13))
    assert parts.losses == pytest.approx(whole.losses, rel=1e-5)
    rated = [
        TransformersRater(str(folder), threads=1).rate(QUESTION, "Ana.") for folder in (whole.folder, parts.folder)
    ]
    assert rated[0] == pytest.approx(rated[1], rel=1e-4)


@needs_peft
def test_a_killed_run_goes_on_from_its_last_checkpoint(llama: Path, tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    def kill(progress: object) -> None:
        if progress.done == 5:  # type: ignore[attr-defined]
            raise Killed

    with pytest.raises(Killed):
        train(str(llama), examples(), tmp_path / "a", FAST, threads=1, report=kill)
    resumed: list[int] = []
    train(str(llama), examples(), tmp_path / "a", FAST, threads=1, report=lambda p: resumed.append(p.done))
    assert resumed[0] == 5


@needs_peft
def test_frames_train_a_vision_model(smolvlm: Path, tmp_path: Path) -> None:
    pictures = []
    for colour, level in (("red", 5), ("blue", 1)):
        file = tmp_path / f"{colour}.jpg"
        file.write_bytes(jpeg(colour))
        pictures.append(Example(QUESTION, file, hard(level)))
    options = LoraOptions(rank=4, alpha=8, dropout=0.0, rate=0.02, batch=2, epochs=8)
    made = train(str(smolvlm), pictures, tmp_path / "adapter", options, threads=1)
    assert made.losses[-1] < made.losses[0]
    rater = TransformersRater(str(made.folder), threads=1)
    assert expected(rater.rate(QUESTION, jpeg("red"))) > expected(rater.rate(QUESTION, jpeg("blue")))


@needs_peft
def test_a_folder_keeps_to_one_training(llama: Path, tmp_path: Path) -> None:
    folder = tmp_path / "adapter"
    options = LoraOptions(rank=2, batch=12)
    train(str(llama), examples(), folder, options, threads=1)
    with pytest.raises(UserError, match="a trained adapter already"):
        train(str(llama), examples(), folder, options, threads=1)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="holds something else"):
        train(str(llama), examples(), tmp_path / "other", options, threads=1)
    (folder / "adapter_config.json").unlink()
    with pytest.raises(UserError, match="another model, other examples or options"):
        train(str(llama), examples()[1:], folder, options, threads=1)


@pytest.mark.skipif(installed("peft"), reason="peft is installed")
@needs_transformers
def test_without_peft_the_extra_is_named(llama: Path, tmp_path: Path) -> None:
    with pytest.raises(MissingDependency, match=r"pip install 'vgraph\[train\]'"):
        train(str(llama), examples(), tmp_path / "adapter", FAST)


# --- examples -----------------------------------------------------------------------------------------------------------


def test_examples_are_read_with_levels_or_a_level_and_pictures_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"jpeg")
    rows = [
        {"question": "q", "text": "t", "level": 4, "more": 1},
        {"question": "q", "image": "a.jpg", "levels": [0, 0, 1, 1, 2]},
    ]
    file = tmp_path / "labels.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows) + "\n\n")
    assert read_examples(file) == [
        Example("q", "t", (0, 0, 0, 1, 0)), Example("q", tmp_path / "a.jpg", (0, 0, 0.25, 0.25, 0.5)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "line 1: no JSON"),
        ("[]", "an object with a question"),
        ('{"question": 1}', "an object with a question"),
        ('{"question": "q", "level": 1}', "an image or a text"),
        ('{"question": "q", "image": "gone.jpg", "level": 1}', "there is no picture"),
        ('{"question": "q", "text": "t"}', "a level from 1 to 5"),
        ('{"question": "q", "text": "t", "level": 6}', "a level from 1 to 5"),
        ('{"question": "q", "text": "t", "level": true}', "a level from 1 to 5"),
        ('{"question": "q", "text": "t", "levels": [1, 2]}', "five numbers"),
        ('{"question": "q", "text": "t", "levels": [0, 0, 0, 0, 0]}', "five numbers"),
        ('{"question": "q", "text": "t", "levels": [1, 1, 1, 1, -1]}', "five numbers"),
        ("", "there is no example in it"),
    ],
)
def test_a_wrong_example_is_told_by_its_line(tmp_path: Path, line: str, fault: str) -> None:
    file = tmp_path / "labels.jsonl"
    file.write_text(line)
    with pytest.raises(UserError, match=fault):
        read_examples(file)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_examples(tmp_path / "none.jsonl")
