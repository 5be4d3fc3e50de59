"""What the adapters share: rows with their lines, checked; videos found by name; choices and times as they are written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from vgraph.errors import DatasetError, MissingDependency
from vgraph.evals.questions import LETTERS, Question
from vgraph.media.lines import explained

NOMINAL_START_MS = 946_684_800_000
"""2000-01-01T00:00Z: when videos are said to begin of which nobody says when, so that media time is the time of that day."""

VIDEO_ENDINGS = frozenset([".mp4", ".mkv", ".webm", ".mov", ".avi"])


@dataclass(frozen=True, slots=True)
class Video:
    """A file of a set of questions. `subtitles` lie elsewhere than beside it, and begin at `subtitles_from_ms` of their own time."""

    path: Path
    camera: str
    start_ms: int = NOMINAL_START_MS
    subtitles: Path | None = None
    subtitles_from_ms: int = 0


@dataclass(frozen=True, slots=True)
class Dataset:
    """`notes` say what was left out and why."""

    name: str
    questions: tuple[Question, ...]
    videos: tuple[Video, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """An object of a file and the line it begins in, from 1 (of a table: its row)."""

    file: Path
    line: int
    value: Any

    def wrong(self, field: str, what: str) -> DatasetError:
        return DatasetError(
            f"{self.file}:{self.line}: {field}: {what}", path=str(self.file), line=self.line, field=field
        )


Model = TypeVar("Model", bound=BaseModel)


def checked(row: Row, model: type[Model]) -> Model:
    """The row as a model, or DatasetError with the first field that is wrong."""
    try:
        return model.model_validate(row.value)
    except ValidationError as error:
        field = ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"])
        raise DatasetError(
            f"{row.file}:{row.line}: {explained(error)}", path=str(row.file), line=row.line, field=field
        ) from error


# --- files -----------------------------------------------------------------------------------------------------------------


def rows(file: Path) -> Iterator[Row]:
    """Objects of a `.json` array, a `.jsonl` file or a `.parquet` table (which needs pyarrow)."""
    if file.suffix == ".parquet":
        yield from _table(file)
    elif file.suffix == ".jsonl":
        yield from _lines(file)
    else:
        yield from _array(file)


def mapping(file: Path) -> Mapping[str, Any]:
    """The object a JSON file holds."""
    try:
        value = json.loads(_text(file))
    except json.JSONDecodeError as error:
        raise _not_json(file, error.lineno, error) from error
    if not isinstance(value, dict):
        raise DatasetError(f"{file}:1: an object was expected", path=str(file), line=1)
    return value


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{file}: cannot be read as UTF-8 text ({error})", path=str(file)) from error


def _lines(file: Path) -> Iterator[Row]:
    for number, line in enumerate(_text(file).split("\n"), 1):
        if line.strip():
            try:
                yield Row(file, number, json.loads(line))
            except json.JSONDecodeError as error:
                raise _not_json(file, number, error) from error


def _array(file: Path) -> Iterator[Row]:
    """One object after the other, so that each is known by its line."""
    text, decoder, line, at = _text(file), json.JSONDecoder(), 1, 0
    place = _blank(text, 0)
    if text[place : place + 1] != "[":
        raise DatasetError(f"{file}:1: an array of objects was expected", path=str(file), line=1)
    place = _blank(text, place + 1)
    while text[place : place + 1] != "]":
        line, at = line + text.count("\n", at, place), place
        try:
            value, place = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            raise _not_json(file, error.lineno, error) from error
        yield Row(file, line, value)
        place = _blank(text, place)
        if text[place : place + 1] not in (",", "]"):
            raise DatasetError(f"{file}:{line}: not JSON (a comma or ] was expected)", path=str(file), line=line)
        place = _blank(text, place + (text[place] == ","))


def _blank(text: str, place: int) -> int:
    found = re.compile(r"\s*").match(text, place)
    return found.end() if found else place


def _not_json(file: Path, line: int, error: json.JSONDecodeError) -> DatasetError:
    return DatasetError(f"{file}:{line}: not JSON ({error.msg})", path=str(file), line=line)


def _table(file: Path) -> Iterator[Row]:
    if find_spec("pyarrow") is None:
        raise MissingDependency(
            f"{file}: reading a parquet table needs pyarrow", command="pip install pyarrow", stage="eval"
        )
    tables = import_module("pyarrow.parquet")
    try:
        values = tables.read_table(file).to_pylist()
    except (OSError, ValueError) as error:  # pyarrow's errors are both
        raise DatasetError(f"{file}: not a parquet table ({error})", path=str(file)) from error
    for number, value in enumerate(values, 1):
        yield Row(file, number, value)


def first_file(root: Path, name: str, patterns: Sequence[str]) -> Path:
    """The first file under `root` that one of the patterns finds, in their order."""
    found = next((file for pattern in patterns for file in sorted(root.glob(pattern)) if file.is_file()), None)
    if found is None:
        raise DatasetError(f"{root}: no questions of {name} here (looked for {', '.join(patterns)})", path=str(root))
    return found


# --- videos ----------------------------------------------------------------------------------------------------------------


class Videos:
    """The videos under a folder, found by the name a question gives them."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._stems: dict[str, list[Path]] = {}
        for file in sorted(root.rglob("*")):
            if file.suffix.lower() in VIDEO_ENDINGS and file.is_file():
                self._stems.setdefault(file.stem, []).append(file)

    def find(self, name: str, folder: str = "") -> Path | None:
        """By a path's end or a bare name, rather in `folder` than elsewhere; None when it is not there."""
        wanted = Path(name)
        found = self._stems.get(wanted.stem if wanted.suffix.lower() in VIDEO_ENDINGS else wanted.name, [])
        parts = (*Path(folder).parts, *wanted.parent.parts)
        inside = [file for file in found if file.relative_to(self._root).parent.parts[-len(parts) :] == parts]
        return next(iter([*inside, *found] if parts else found), None)


def with_videos(name: str, asked: Iterable[tuple[Question, Video | None]]) -> Dataset:
    """The questions whose videos are there, and those videos, each once; raises DatasetError when none is."""
    pairs = list(asked)
    there = [(question, video) for question, video in pairs if video is not None]
    if pairs and not there:
        raise DatasetError(f"{name}: {len(pairs)} questions, and none of their videos is there")
    left = len(pairs) - len(there)
    notes = (f"{left} of {len(pairs)} questions were left out: their videos are not there",) if left else ()
    videos = {video.path: video for _, video in there}
    return Dataset(name, _told_apart([question for question, _ in there]), tuple(videos.values()), notes)


def _told_apart(questions: Sequence[Question]) -> tuple[Question, ...]:
    """Ids that stand more than once get a number, so that results can be kept by id."""
    seen: dict[str, int] = {}
    named = []
    for question in questions:
        seen[question.id] = seen.get(question.id, 0) + 1
        again = seen[question.id] > 1
        named.append(replace(question, id=f"{question.id}#{seen[question.id]}") if again else question)
    return tuple(named)


# --- choices and times -----------------------------------------------------------------------------------------------------

_LETTERED = re.compile(r"^\s*\(?([A-J])[.):]\s*(.*)$", re.DOTALL)


def bare_choices(choices: Sequence[str]) -> tuple[str, ...]:
    """Choices without the letters before them, where all have theirs: "A. Black." -> "Black."."""
    found = [_LETTERED.match(choice) for choice in choices]
    lettered = all(match and match[1] == LETTERS[place] for place, match in enumerate(found))
    return tuple(match[2].strip() for match in found if match) if lettered else tuple(c.strip() for c in choices)


def place_of(row: Row, answer: str | int | None, choices: Sequence[str], field: str = "answer") -> int | None:
    """Which choice an answer means: its place from 0, its letter, or its text. None stays None."""
    if answer is None or answer == "":
        return None
    text = str(answer).strip()
    if text.isdecimal() and text not in choices:
        place = int(text)
    elif text in choices:
        place = list(choices).index(text)
    else:
        place = _letter(text)
    if not 0 <= place < len(choices):
        raise row.wrong(field, f"{answer!r} is none of the {len(choices)} choices")
    return place


def _letter(text: str) -> int:
    letter = text.strip("().: ").upper()
    return LETTERS.find(letter) if len(letter) == 1 else -1


def clock_ms(text: str) -> int:
    """`SS`, `MM:SS` or `HH:MM:SS`, with fractions, as ms. Raises ValueError."""
    parts = text.strip().replace(",", ".").split(":")
    if not 1 <= len(parts) <= 3:
        raise ValueError(f"{text!r} is not a time of the form HH:MM:SS")
    *most, seconds = [float(part) for part in parts]
    whole = 0.0
    for part in most:
        whole = (whole + part) * 60
    if whole < 0 or not 0 <= seconds < 1e8:
        raise ValueError(f"{text!r} is not a time of the form HH:MM:SS")
    return round((whole + seconds) * 1000)
