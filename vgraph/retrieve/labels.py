"""Examples for training a rater: what questions find in the graph, rated by a teacher, as JSON lines that grow as they are made."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from vgraph.errors import BadReply, MediaError, NotFoundError, UserError
from vgraph.models import Rater
from vgraph.retrieve.relevance import Look, expected
from vgraph.types import EvidenceChunk, Progress

Found = Callable[[str], Sequence[EvidenceChunk]]


@dataclass(frozen=True, slots=True)
class Labelled:
    """Where examples lie, how many there are and were added, what could not be rated, and who rated."""

    path: Path
    examples: int
    added: int
    unrated: int
    rater: str


def questions_of(path: Path) -> list[str]:
    """The questions of a text file, one a line, each once. Raises UserError."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from None
    found = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not found:
        raise UserError(f"{path}: there is no question in it")
    return found


def label(
    questions: Sequence[str], path: Path, found: Found, rater: Rater, look: Look | None, *, frames: int,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Labelled:  # fmt: skip
    """Rate what each question finds: its frames, or without `look` its text. What is in the file already is not rated again.

    A line holds question, chunk, offset_ms, image (a file in a folder beside) or text, levels, score and the rater's name.
    """
    known = _known(path)
    before, unrated = len(known), 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for number, question in enumerate(questions, 1):
            for line, content in _things(question, found, look, frames, path):
                if _sign(line) in known:
                    continue
                try:
                    levels = rater.rate(question, content)
                except BadReply:
                    unrated += 1
                    continue
                known.add(_sign(line))
                if isinstance(content, bytes):
                    _keep(path.parent / line["image"], content)
                rated = line | {"levels": list(levels), "score": round(expected(levels), 4), "rater": rater.name}
                file.write(json.dumps(rated, ensure_ascii=False) + "\n")
                file.flush()
            report(Progress(path.name, "label", number, len(questions), "questions"))
    return Labelled(path, len(known), len(known) - before, unrated, rater.name)


def _things(
    question: str, found: Found, look: Look | None, frames: int, path: Path
) -> Iterator[tuple[dict[str, Any], bytes | str]]:
    """What is to be rated for a question, each as the beginning of its line and its content."""
    for chunk in found(question):
        start = {"question": question, "chunk": chunk.id}
        if look is None:
            text = "\n".join(line.text for line in chunk.lines)
            yield start | {"offset_ms": None, "text": text}, text
            continue
        try:
            pictures = look(chunk, frames)
        except (MediaError, NotFoundError):  # the recording is gone: nothing to learn from
            continue
        for at, _, jpeg in pictures:
            name = f"{path.stem}.frames/{blake2b(jpeg, digest_size=16).hexdigest()}.jpg"
            yield start | {"offset_ms": at, "image": name}, jpeg


def _known(path: Path) -> set[tuple[Any, ...]]:
    if not path.exists():
        return set()
    try:
        text = path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:  # what a run that was killed left of a line
            path.write_text(whole, encoding="utf-8")
        return {_sign(json.loads(line)) for line in whole.splitlines() if line.strip()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} holds something other than examples ({error}): name another file") from None


def _sign(line: dict[str, Any]) -> tuple[Any, ...]:
    return line["question"], line["chunk"], line["offset_ms"]


def _keep(file: Path, content: bytes) -> None:
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_name(f".{file.name}.part")
        part.write_bytes(content)
        part.replace(file)
