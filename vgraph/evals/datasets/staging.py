"""Videos of a set of questions laid out for ingest: a link to each, beside it its camera, when it began and what is said."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from vgraph.errors import DatasetError
from vgraph.evals.datasets.form import Row, Video, clock_ms, rows
from vgraph.media.sidecars import DETECTIONS, SUBTITLES

BESIDE = (".captions.jsonl", *SUBTITLES, *DETECTIONS)
OPEN_END_MS = 3_000
"""How long a line of speech lasts whose end is not told."""


def staged(videos: Sequence[Video], folder: Path) -> list[Path]:
    """The videos under `folder`, one a camera and start; what is there already is left as it is. Raises DatasetError for subtitles."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_staged(video, folder) for video in videos]


def _staged(video: Video, folder: Path) -> Path:
    name = f"{re.sub(r'[^0-9A-Za-z._-]+', '-', video.camera)}-{_short(str(video.path.resolve()))}"
    place = folder / f"{name}{video.path.suffix.lower()}"
    _link(place, video.path)
    for ending in BESIDE:
        beside = video.path.with_name(video.path.stem + ending)
        if beside.is_file():
            _link(folder / f"{name}{ending}", beside)
    if video.subtitles is not None:
        _subtitles(video, video.subtitles, folder / name)
    start = datetime.datetime.fromtimestamp(video.start_ms / 1000, datetime.UTC).isoformat(timespec="milliseconds")
    meta = {"camera": {"label": video.camera, "tz": "UTC"}, "start": start, "title": video.camera}
    _put(folder / f"{name}.meta.json", json.dumps(meta, ensure_ascii=False))
    return place


def _short(text: str) -> str:
    return blake2b(text.encode(), digest_size=5).hexdigest()


def _link(place: Path, target: Path) -> None:
    with suppress(FileExistsError):
        place.symlink_to(target.resolve())


def _put(place: Path, text: str) -> None:
    if not place.exists():
        part = place.with_name(f".{place.name}.part")
        part.write_text(text, encoding="utf-8")
        part.replace(place)


def _subtitles(video: Video, file: Path, stem: Path) -> None:
    if file.suffix == ".json":
        cues = [_cue(row, video.subtitles_from_ms) for row in rows(file)]
        _put(stem.with_name(f"{stem.name}.srt"), "\n".join(_written(cues)))
    else:
        _link(stem.with_name(f"{stem.name}{file.suffix}"), file)


def _cue(row: Row, from_ms: int) -> tuple[int, int, str]:
    """{"start", "end", "line"} with clock times, or {"timestamp": [start, end], "text"} in seconds, the end perhaps null."""
    cue: dict[str, Any] = row.value if isinstance(row.value, dict) else {}
    try:
        if "timestamp" in cue:
            start, end = cue["timestamp"]
            low = round(float(start) * 1000)
            high = low + OPEN_END_MS if end is None else round(float(end) * 1000)
            text = str(cue["text"])
        else:
            low, high, text = clock_ms(cue["start"]), clock_ms(cue["end"]), str(cue["line"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DatasetError(
            f"{row.file}:{row.line}: not a line of subtitles ({type(error).__name__}: {error})", path=str(row.file), line=row.line
        ) from error  # fmt: skip
    return max(0, low - from_ms), max(0, high - from_ms), " ".join(text.split())


def _written(cues: Sequence[tuple[int, int, str]]) -> Iterator[str]:
    """As SubRip; lines that end before the video begins are left out."""
    for number, (low, high, text) in enumerate((cue for cue in cues if cue[1] > cue[0] and cue[2]), 1):
        yield f"{number}\n{_stamp(low)} --> {_stamp(high)}\n{text}\n"


def _stamp(ms: int) -> str:
    seconds, rest = divmod(ms, 1000)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d},{rest:03d}"
