"""Speech from subtitle files (.vtt, .ass, .srt), through pysubs2."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from vgraph.errors import SidecarError
from vgraph.media.text import Warnings, read_text
from vgraph.types import Utterance

if TYPE_CHECKING:
    from pysubs2 import SSAEvent, SSAFile

ORIGIN = "given"
LONGEST_MS = 100 * 3_600_000
"""A cue beyond 100 hours is a broken timestamp."""

_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]*)>")
_TAG = re.compile(r"<[^>]*>")


def read_subtitles(path: Path, warnings: Warnings) -> tuple[Utterance, ...]:
    """Utterances in order of time, one a cue and voice. Speakers are WebVTT voices (`<v Maria>`) and ASS names.

    Cues whose end is not after their start, and lines whose times cannot be read, are told to `warnings`; cues without
    text are left out. Raises SidecarError when the file cannot be read as subtitles at all.
    """
    kind, text = path.suffix[1:].lower(), read_text(path)
    text = text if kind == "ass" else _cues_only(text, kind, warnings)
    events = _parsed(path, text, kind).events
    if not events and text.strip():
        warnings.note("holds no cues")
    lines = _event_lines(text, kind)
    spoken = [u for event, line in zip(events, lines, strict=False) for u in _utterances(event, line, warnings)]
    return tuple(sorted(spoken, key=lambda utterance: (utterance.offset_ms, utterance.end_offset_ms)))


def _parsed(path: Path, text: str, kind: str) -> SSAFile:
    from pysubs2 import SSAFile
    from pysubs2.exceptions import Pysubs2Error

    try:
        return SSAFile.from_string(text, format_=kind, **({} if kind == "ass" else {"keep_html_tags": True}))
    except (Pysubs2Error, ValueError, LookupError, AttributeError, TypeError, ArithmeticError) as error:
        raise SidecarError(f"{path}: cannot be read as .{kind} subtitles ({error})", path=str(path)) from error


def _cues_only(text: str, kind: str, warnings: Warnings) -> str:
    """Times and words only, every line in its place; pysubs2 would take the rest for words of the cue before.

    Left out are cues whose times cannot be read, and WebVTT's notes, styles and names of cues.
    """
    stamp, inside, kept = _stamp(kind), kind == "srt", []
    for number, line in enumerate(text.split("\n"), 1):
        if "-->" in line:
            inside = len(stamp.findall(line)) == 2
            if not inside:
                warnings.skipped(number, f"times cannot be read: {line.strip()[:60]!r}")
        elif kind == "vtt" and not line.strip():
            inside = False
        kept.append(line if inside else "")
    return "\n".join(kept)


def _event_lines(text: str, kind: str) -> list[int]:
    """The line (from 1) of every event that pysubs2 finds, in order."""
    lines = enumerate(text.split("\n"), 1)
    if kind == "ass":
        return [number for number, line in lines if line.startswith(("Dialogue:", "Comment:"))]
    stamp = _stamp(kind)
    return [number for number, line in lines if len(stamp.findall(line)) == 2]


def _stamp(kind: str) -> re.Pattern[str]:
    from pysubs2.formats.subrip import SubripFormat
    from pysubs2.formats.webvtt import WebVTTFormat

    return WebVTTFormat.TIMESTAMP if kind == "vtt" else SubripFormat.TIMESTAMP


def _utterances(event: SSAEvent, line: int, warnings: Warnings) -> Iterator[Utterance]:
    if event.is_comment or event.is_drawing:
        return
    if not 0 <= event.start < event.end <= LONGEST_MS:
        warnings.skipped(line, f"the cue ends at {event.end} ms, which is not after its start at {event.start} ms")
        return
    for speaker, text in _voices(event.plaintext):
        if text:
            yield Utterance(event.start, event.end, text, ORIGIN, speaker or event.name.strip() or None)


def _voices(text: str) -> Iterator[tuple[str | None, str]]:
    """Speaker and words of each voice in a cue."""
    before, *rest = _VOICE.split(text)
    yield None, _plain(before)
    for name, words in zip(rest[::2], rest[1::2], strict=True):
        yield _plain(name) or None, _plain(words)


def _plain(text: str) -> str:
    return " ".join(html.unescape(_TAG.sub("", text)).split())
