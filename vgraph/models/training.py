"""Training a rater: a teacher's ratings distilled into a small model by LoRA (VideoStir, section "training"; Hu et al. 2021).

The student learns to give the five level tokens the probabilities that the teacher gave them: cross-entropy between the two, over the
levels only, as raters are asked. Needs the extra `train` (peft). What was trained is kept at every checkpoint; the same command goes on.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from vgraph.errors import ModelError, Stopped, UserError
from vgraph.models.loading import hushed, local, require, title, translated
from vgraph.models.rating import LEVELS
from vgraph.models.transformers_rating import ADAPTER, LevelModel
from vgraph.types import Progress

FACTS: Final = "vgraph_training.json"
CHECKPOINT: Final = "checkpoint.pt"
Report = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Example:
    """A question, a frame (its JPEG file) or a text, and how probable the teacher held each level."""

    question: str
    seen: Path | str
    levels: tuple[float, ...]

    @property
    def content(self) -> bytes | str:
        return self.seen.read_bytes() if isinstance(self.seen, Path) else self.seen


@dataclass(frozen=True, slots=True)
class LoraOptions:
    """How to train; the defaults are VideoStir's. batch: examples a step; warm_up: part of the steps in which the rate rises;
    save_every: steps between two checkpoints.
    """

    rank: int = 16
    alpha: int = 32
    dropout: float = 0.05
    rate: float = 5e-5
    decay: float = 0.05
    warm_up: float = 0.05
    batch: int = 128
    epochs: int = 1
    seed: int = 0
    save_every: int = 20


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training came to: where the adapter lies, steps in all, the loss of each, and seconds of this run."""

    folder: Path
    examples: int
    steps: int
    losses: tuple[float, ...]
    seconds: float


def read_examples(path: Path) -> list[Example]:
    """Examples of a JSONL file: {question, image (a file beside it) or text, levels (five numbers) or level (1 to 5)} a line.

    Raises UserError that names the line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from None
    found = [_example(line, path, number) for number, line in enumerate(lines, 1) if line.strip()]
    if not found:
        raise UserError(f"{path}: there is no example in it; `vgraph train label` makes them")
    return found


def _example(line: str, path: Path, number: int) -> Example:
    where = f"{path}, line {number}"
    try:
        value = json.loads(line)
    except ValueError as error:
        raise UserError(f"{where}: no JSON ({error})") from None
    if not isinstance(value, dict) or not isinstance(value.get("question"), str):
        raise UserError(f"{where}: an object with a question is needed")
    seen: Path | str
    if isinstance(value.get("image"), str):
        seen = picture = path.parent / value["image"]
        if not picture.is_file():
            raise UserError(f"{where}: there is no picture {picture}")
    elif isinstance(value.get("text"), str):
        seen = value["text"]
    else:
        raise UserError(f"{where}: an image or a text is needed")
    return Example(value["question"], seen, _levels(value, where))


def _levels(value: Mapping[str, Any], where: str) -> tuple[float, ...]:
    levels, level = value.get("levels"), value.get("level")
    if isinstance(levels, list) and len(levels) == len(LEVELS) and all(_is_weight(each) for each in levels):
        total = sum(levels)
        if total > 0:
            return tuple(each / total for each in levels)
    elif levels is None and not isinstance(level, bool) and level in range(1, len(LEVELS) + 1):
        return tuple(float(number == level) for number in range(1, len(LEVELS) + 1))
    raise UserError(f"{where}: levels (five numbers from 0 on, not all 0) or a level from 1 to 5 is needed")


def _is_weight(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")


def train(
    model: str, examples: Sequence[Example], folder: Path, options: LoraOptions, *, device: str = "cpu", threads: int = 2,
    report: Report = lambda progress: None,
) -> Trained:  # fmt: skip
    """Train an adapter of a model on examples into a folder, from its last checkpoint where there is one.

    The same examples, options and seed on the same device give the same adapter. Raises Stopped when interrupted, after a checkpoint;
    UserError for a folder that holds another training, MissingDependency without peft.
    """
    begun = time.monotonic()
    facts = {"model": model, "options": asdict(options), "examples": _digest(examples)}
    _claim(folder, facts)
    with _Training(model, examples, options, device, threads) as training:
        training.resume(folder / CHECKPOINT)
        try:
            for done in training.steps():
                report(Progress(title(model), "train", done, training.total, "steps"))
                if done % options.save_every == 0:
                    training.save(folder / CHECKPOINT)
        except KeyboardInterrupt:
            if training.whole:  # else the last checkpoint stands
                training.save(folder / CHECKPOINT)
            raise Stopped(
                f"training stopped after {training.done} of {training.total} steps; the same command goes on from the last checkpoint"
            ) from None
        training.finish(folder)
    (folder / CHECKPOINT).unlink(missing_ok=True)
    return Trained(folder, len(examples), training.total, tuple(training.losses), time.monotonic() - begun)


def _digest(examples: Sequence[Example]) -> str:
    made = blake2b(digest_size=16)
    for example in examples:
        content = example.content
        seen = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        for part in (example.question.encode("utf-8", "surrogatepass"), seen, json.dumps(example.levels).encode()):
            made.update(len(part).to_bytes(8, "big") + part)
    return made.hexdigest()


def _claim(folder: Path, facts: Mapping[str, Any]) -> None:
    """Note what is trained in a folder. Raises UserError where something else is, or was."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        known = json.loads((folder / FACTS).read_text(encoding="utf-8")) if (folder / FACTS).exists() else None
        if known is None and any(folder.iterdir()):
            raise UserError(f"{folder} holds something else: name an empty folder")
        if (folder / ADAPTER).exists():
            raise UserError(f"{folder} holds a trained adapter already: name another folder")
        if known is not None and known != facts:
            raise UserError(
                f"{folder} holds a training that was begun with another model, other examples or options: go on with those, or name "
                "another folder"
            )
        (folder / FACTS).write_text(json.dumps(facts), encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UserError(f"{folder}: cannot be used ({error})") from None


class _Training:
    """One model under training: its adapter, optimiser and schedule, and how far it has come."""

    def __init__(
        self, model: str, examples: Sequence[Example], options: LoraOptions, device: str, threads: int
    ) -> None:
        self._name, self._examples, self._options, self._device = (
            f"transformers:{title(model)}",
            examples,
            options,
            device,
        )
        self._torch = require("torch", stage="train", model=self._name)
        peft = require("peft", stage="train", model=self._name)
        self._torch.manual_seed(options.seed)
        self._levels = LevelModel(local(model), self._name, device=device, threads=threads)
        if self._levels.adapted:
            raise UserError(f"{model} is an adapter itself: train from the model that it belongs to")
        with translated("train", self._name), hushed():
            config = peft.LoraConfig(
                r=options.rank, lora_alpha=options.alpha, lora_dropout=options.dropout, target_modules="all-linear"
            )
            self._levels.model = peft.get_peft_model(self._levels.model, config)
        self._weights = [p for p in self._levels.model.parameters() if p.requires_grad]
        steps_an_epoch = -(-len(examples) // options.batch)
        self.total, self.done = steps_an_epoch * options.epochs, 0
        self.losses: list[float] = []
        self.whole = True
        """No step is half done: what is there now is what so many steps came to."""
        self._optimiser = self._torch.optim.AdamW(self._weights, lr=options.rate, weight_decay=options.decay)
        rises = max(1, round(self.total * options.warm_up))
        self._schedule = self._torch.optim.lr_scheduler.LambdaLR(
            self._optimiser, lambda step: _share(step, rises, self.total)
        )

    def __enter__(self) -> _Training:
        return self

    def __exit__(self, *_: object) -> None:
        self._levels.model.eval()

    def steps(self) -> Iterator[int]:
        """Train step by step from where it is; each step's number, from 1, when it is done."""
        self._levels.model.train()
        for batch in self._batches()[self.done :]:
            with translated("train", self._name):
                self._step(batch)
            yield self.done

    def _batches(self) -> list[list[Example]]:
        """All batches of all epochs in order: each epoch shuffled by the seed."""
        made = []
        for epoch in range(self._options.epochs):
            draw = random.Random(f"{self._options.seed} {epoch}")  # noqa: S311
            order = draw.sample(range(len(self._examples)), len(self._examples))
            size = self._options.batch
            made += [[self._examples[n] for n in order[at : at + size]] for at in range(0, len(order), size)]
        return made

    def _step(self, batch: Sequence[Example]) -> None:
        """One step of the optimiser; examples pass one by one, and their gradients add up, so that none is padded to another's length."""
        loss = 0.0
        for example in batch:
            part = self._loss(example) / len(batch)
            part.backward()
            loss += float(part.detach())
        if loss != loss:
            raise ModelError(
                f"{self._name}: the loss is no number any more; a lower rate may help", stage="train", model=self._name
            )
        self._torch.nn.utils.clip_grad_norm_(self._weights, 1.0)
        self.whole = False
        self._optimiser.step()
        self._schedule.step()
        self._optimiser.zero_grad()
        self.losses.append(loss)
        self.done += 1
        self.whole = True

    def _loss(self, example: Example) -> Any:
        """Cross-entropy between the teacher's levels and the student's, over the levels only."""
        torch = self._torch
        half = self._device.startswith("cuda") and torch.cuda.is_bf16_supported()
        with torch.autocast(self._device.split(":")[0], dtype=torch.bfloat16, enabled=half):
            logits = self._levels.level_logits(self._levels.inputs(example.question, example.content))
        wanted = torch.tensor(example.levels, device=logits.device)
        return -(wanted * torch.log_softmax(logits, 0)).sum()

    def save(self, file: Path) -> None:
        """A checkpoint, whole or not at all."""
        torch, part = self._torch, file.with_name(f".{file.name}.part")
        random_states = {"cpu": torch.get_rng_state()}
        if self._device.startswith("cuda"):
            random_states["cuda"] = torch.cuda.get_rng_state(self._device)
        state = {
            "done": self.done, "losses": self.losses, "weights": [weight.detach().cpu() for weight in self._weights],
            "optimiser": self._optimiser.state_dict(), "schedule": self._schedule.state_dict(), "random": random_states,
        }  # fmt: skip
        torch.save(state, part)
        part.replace(file)

    def resume(self, file: Path) -> None:
        """Go on from a checkpoint, where there is one."""
        if not file.exists():
            return
        torch = self._torch
        with translated("resume", self._name):
            state = torch.load(file, weights_only=True, map_location="cpu")
            with torch.no_grad():
                for weight, saved in zip(self._weights, state["weights"], strict=True):
                    weight.copy_(saved)
            self._optimiser.load_state_dict(state["optimiser"])
            self._schedule.load_state_dict(state["schedule"])
            self.done, self.losses = state["done"], list(state["losses"])
            torch.set_rng_state(state["random"]["cpu"])
            if "cuda" in state["random"]:
                torch.cuda.set_rng_state(state["random"]["cuda"], self._device)

    def finish(self, folder: Path) -> None:
        """Write the adapter, in peft's layout."""
        with translated("save", self._name), hushed():
            self._levels.model.save_pretrained(str(folder), save_embedding_layers=False)


def _share(step: int, rises: int, total: int) -> float:
    """The rate's share at a step: rising to 1 in a line, then falling to 0 along a cosine."""
    import math

    if step < rises:
        return (step + 1) / rises
    return 0.5 * (1 + math.cos(math.pi * (step - rises) / max(1, total - rises)))
