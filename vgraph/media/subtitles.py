"""Speech from subtitles: files (.vtt, .ass, .srt) through pysubs2, and the subtitle streams of a container."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from vgraph.errors import SidecarError
from vgraph.media.container import decodable, first_picture, fraction, opened, packets, rounded
from vgraph.media.text import Warnings, read_text
from vgraph.types import Utterance

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.subtitles.stream import SubtitleStream
    from pysubs2 import SSAEvent, SSAFile

ORIGIN = "given"
LONGEST_MS = 100 * 3_600_000
"""A cue beyond 100 hours is a broken timestamp."""


@dataclass(frozen=True, slots=True)
class Cue:
    """A subtitle: its lines as written, tags and all, and the speaker where the format has a place for one."""

    start_ms: int
    end_ms: int
    lines: tuple[str, ...]
    name: str = ""


_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]*)>")
_TAG = re.compile(r"<[^>]*>")
_TURN = re.compile(r"^\s*(?:[-–—‐]\s*(?=\S)|>>+\s*)")
"""What begins the words of another speaker in one cue."""
_NAMED = re.compile(r"^[\[(]?(?P<name>[^\W\d_][\w.'’ -]{0,38}?)[\])]?\s?[:：]\s*(?=\S)")
_ROLLED_MS = 100
"""Cues that roll up follow one another at once."""


def read_subtitles(path: Path, warnings: Warnings) -> tuple[Utterance, ...]:
    """Utterances in order of time, one a cue and voice.

    Speakers are WebVTT voices (`<v Maria>`), ASS names, and names in capitals with a colon at the beginning of a line (`MARIA:`,
    `- MARIA:`, `>> MARIA:`). Captions that roll up, each cue repeating the line before, are told once. Cues whose end is not after their
    start, and lines whose times cannot be read, are told to `warnings`; cues without text are left out. Raises SidecarError when the
    file cannot be read as subtitles at all.
    """
    kind, text = path.suffix[1:].lower(), read_text(path)
    text = text if kind == "ass" else _cues_only(text, kind, warnings)
    events = _parsed(path, text, kind).events
    if not events and text.strip():
        warnings.note("holds no cues")
    lines = _event_lines(text, kind)
    cues = [cue for event, line in zip(events, lines, strict=False) if (cue := _cue(event, line, warnings))]
    return _told(cues, None)


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


def _cue(event: SSAEvent, line: int, warnings: Warnings) -> Cue | None:
    if event.is_comment or event.is_drawing:
        return None
    if not 0 <= event.start < event.end <= LONGEST_MS:
        warnings.skipped(line, f"the cue ends at {event.end} ms, which is not after its start at {event.start} ms")
        return None
    return Cue(event.start, event.end, tuple(event.plaintext.split("\n")), event.name.strip())


# --- what is said in cues -----------------------------------------------------------------------------------------------


def _told(cues: Iterable[Cue], language: str | None) -> tuple[Utterance, ...]:
    ordered = sorted(cues, key=lambda cue: (cue.start_ms, cue.end_ms))
    return tuple(utterance for cue in _unrolled(ordered) for utterance in _utterances(cue, language))


def _unrolled(cues: Sequence[Cue]) -> Iterator[Cue]:
    """Cues without the lines that repeat the end of the cue before, where captions roll up; in order of time."""
    shown: tuple[str, ...] = ()
    end_ms = -_ROLLED_MS - 1
    for cue in cues:
        lines = tuple(_plain(line) for line in cue.lines)
        kept = tuple(line for line, words in zip(cue.lines, lines, strict=True) if words)
        words = tuple(words for words in lines if words)
        again = _repeated(shown, words) if cue.start_ms - end_ms <= _ROLLED_MS else 0
        fills = (
            again == len(words) and cue.end_ms - cue.start_ms <= _ROLLED_MS
        )  # shows the line before until the next comes
        shown, end_ms = words, cue.end_ms
        if again < len(words) or not fills:
            yield replace(cue, lines=kept[again:] if again < len(words) else kept)


def _repeated(before: Sequence[str], now: Sequence[str]) -> int:
    """How many lines at the beginning are those the cue before ended with."""
    return next((count for count in range(min(len(before), len(now)), 0, -1) if before[-count:] == now[:count]), 0)


def _utterances(cue: Cue, language: str | None) -> Iterator[Utterance]:
    for speaker, text in _voices("\n".join(cue.lines)):
        if text:
            yield Utterance(cue.start_ms, cue.end_ms, text, ORIGIN, speaker or cue.name or None, language)


def _voices(text: str) -> Iterator[tuple[str | None, str]]:
    """Speaker and words of each voice in a cue."""
    before, *rest = _VOICE.split(text)
    yield from _turns(before)
    for name, words in zip(rest[::2], rest[1::2], strict=True):
        yield _plain(name) or None, _plain(words)


def _turns(text: str) -> Iterator[tuple[str | None, str]]:
    """Speaker and words of each turn: a new one begins with a dash or with a name in capitals and a colon."""
    speaker: str | None = None
    words: list[str] = []
    for line in map(_plain, text.split("\n")):
        turn = _TURN.match(line)
        rest = line[turn.end() :] if turn else line
        named = _NAMED.match(rest)
        name = named["name"].strip() if named and _is_name(named["name"]) else None
        if turn or name:
            yield speaker, " ".join(words)
            speaker, words = name, []
        words.append(rest[named.end() :] if named and name else rest)
    yield speaker, " ".join(word for word in words if word)


def _is_name(text: str) -> bool:
    """In capitals, of two letters or more: `Note:` and `10:30` are no speakers."""
    return text == text.upper() != text.lower() and sum(c.isalpha() for c in text) > 1


def _plain(text: str) -> str:
    return " ".join(html.unescape(_TAG.sub("", text)).split())


# --- in the container ---------------------------------------------------------------------------------------------------

TEXT_CODECS = {"srt", "subrip", "text", "webvtt", "mov_text", "ass", "ssa"}
ASS_CODECS = {"ass", "ssa"}
LONGEST_UNTIMED_MS = 5_000
"""A cue whose end the container does not tell lasts until the next, and no longer than this."""


def embedded_subtitles(path: Path, warnings: Warnings) -> tuple[Utterance, ...]:
    """Speech from the subtitle stream of a container: the default one, else the first that is not only for foreign parts (`forced`).

    Times are media time: 0 at the first picture. Pictures of text (DVD, Blu-ray, DVB) are not read. Nothing where there is no stream.
    Raises MediaError when the file cannot be read.
    """
    with opened(path) as container:
        stream = _chosen(container, warnings)
        if stream is None:
            return ()
        found = first_picture(path)
        origin_ms = (found[0].origin_ms or Fraction(0)) if found else Fraction(0)
        cues = list(_stream_cues(container, stream, origin_ms))
        return _told(_ended(cues), language_code(stream.language))


def _chosen(container: InputContainer, warnings: Warnings) -> SubtitleStream | None:
    from av.stream import Disposition

    streams = [s for s in container.streams.subtitles if _codec(s) in TEXT_CODECS]
    if len(streams) < len(container.streams.subtitles):
        warnings.note("holds subtitles that are pictures; they are not read")
    chosen = min(
        streams,
        key=lambda s: (not s.disposition & Disposition.default, bool(s.disposition & Disposition.forced)),
        default=None,
    )
    for other in streams:
        if other is not chosen:
            warnings.note(f"subtitle stream {other.index} ({other.language or 'no language'}) is not read")
    return chosen


def _codec(stream: SubtitleStream) -> str:
    return stream.codec_context.name if decodable(stream) else ""


def _stream_cues(container: InputContainer, stream: SubtitleStream, origin_ms: Fraction) -> Iterator[Cue]:
    codec = _codec(stream)
    for packet in packets(container, [stream]):
        base = fraction(packet.time_base)
        if packet.pts is None or base is None:
            continue
        start = rounded(packet.pts * base * 1000 - origin_ms)
        length = rounded((packet.duration or 0) * base * 1000)
        name, text = _packet_text(bytes(packet), codec)
        if text.strip() and start + length > 0:
            yield Cue(max(start, 0), start + length if length else start, tuple(text.split("\n")), name)


def _packet_text(data: bytes, codec: str) -> tuple[str, str]:
    """Speaker and text of a packet. `mov_text` begins with two bytes of length, ASS with eight fields, the fourth of them the name."""
    if codec == "mov_text":
        data = data[2 : 2 + int.from_bytes(data[:2], "big")]
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    if codec not in ASS_CODECS:
        return "", text
    fields = text.split(",", 8)
    return (fields[3].strip(), _ass_plain(fields[8])) if len(fields) == 9 else ("", "")


def _ass_plain(text: str) -> str:
    from pysubs2 import SSAEvent

    event = SSAEvent(text=text)
    return "" if event.is_drawing else event.plaintext


def _ended(cues: Sequence[Cue]) -> Iterator[Cue]:
    """Cues in order; one without an end lasts until the next one."""
    ordered = sorted(cues, key=lambda cue: (cue.start_ms, cue.end_ms))
    for index, cue in enumerate(ordered):
        if cue.end_ms > cue.start_ms:
            yield cue
            continue
        later = (other.start_ms for other in ordered[index + 1 :] if other.start_ms > cue.start_ms)
        yield replace(
            cue, end_ms=min(next(later, cue.start_ms + LONGEST_UNTIMED_MS), cue.start_ms + LONGEST_UNTIMED_MS)
        )


def language_code(code: str | None) -> str | None:
    """ISO 639-1 of a container's language (ISO 639-2, or a tag such as `de-AT`); None for `und` and for none."""
    if code is None or not code.strip() or code.casefold() == "und":
        return None
    short = code.casefold().split("-")[0]
    return LANGUAGES.get(short, short)


LANGUAGES = {
    "ara": "ar", "baq": "eu", "bel": "be", "ben": "bn", "bul": "bg", "cat": "ca", "chi": "zh", "zho": "zh", "cze": "cs", "ces": "cs",
    "dan": "da", "dut": "nl", "nld": "nl", "eng": "en", "est": "et", "fin": "fi", "fre": "fr", "fra": "fr", "ger": "de", "deu": "de",
    "gre": "el", "ell": "el", "heb": "he", "hin": "hi", "hrv": "hr", "hun": "hu", "ice": "is", "isl": "is", "ind": "id", "ita": "it",
    "jpn": "ja", "kor": "ko", "lav": "lv", "lit": "lt", "may": "ms", "msa": "ms", "nor": "no", "nob": "nb", "per": "fa", "fas": "fa",
    "pol": "pl", "por": "pt", "rum": "ro", "ron": "ro", "rus": "ru", "slo": "sk", "slk": "sk", "slv": "sl", "spa": "es", "srp": "sr",
    "swe": "sv", "tam": "ta", "tha": "th", "tur": "tr", "ukr": "uk", "urd": "ur", "vie": "vi", "wel": "cy", "cym": "cy",
}  # fmt: skip
