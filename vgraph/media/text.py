"""Text of files that people and other tools wrote: UTF-8, UTF-16 or cp1252, whole or line by line."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import AnyStr

from vgraph.errors import SidecarError

LARGEST_TEXT = 64 << 20
LONGEST_LINE = 4 << 20
SHOWN_PER_FILE = 20
"""Warnings kept of one file; the rest are counted."""

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class Warnings:
    """Warnings of one sidecar, each naming the file and the line."""

    def __init__(self, path: Path) -> None:
        self._path, self._count = path, 0
        self._texts: list[str] = []

    def skipped(self, line: int, reason: str) -> None:
        """A line (from 1) was left out."""
        self._count += 1
        if self._count <= SHOWN_PER_FILE:
            self._texts.append(f"{self._path.name}:{line}: {reason}; skipped")

    def note(self, reason: str) -> None:
        """Something about the whole file."""
        self._texts.append(f"{self._path.name}: {reason}")

    def texts(self) -> tuple[str, ...]:
        more = self._count - SHOWN_PER_FILE
        return (*self._texts, *([f"{self._path.name}: {more} more lines skipped"] if more > 0 else []))


def read_text(path: Path) -> str:
    """A whole text file, newlines as \\n. Raises SidecarError when it cannot be read, is too large, or is no text."""
    content = _content(path)
    if len(content) > LARGEST_TEXT:
        raise SidecarError(f"{path}: larger than {LARGEST_TEXT >> 20} MiB", path=str(path))
    text = _decoded(content, path)
    if "\0" in text:
        raise SidecarError(f"{path}: is not text (holds NUL characters)", path=str(path))
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_TEXT + 1)
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> SidecarError:
    return SidecarError(f"{path}: cannot be read ({error.strerror})", path=str(path))


def _decoded(content: bytes, path: Path) -> str:
    encoding = encoding_of(content[:4096])
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding != "utf-8":
            raise SidecarError(
                f"{path}: is not the {encoding} it begins as ({error.reason})", path=str(path)
            ) from error
    return _western(content)


def _western(content: bytes) -> str:
    """cp1252, and Latin-1 for the five bytes it leaves open."""
    return "".join(_WESTERN[byte] for byte in content)


_WESTERN = [bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(256)]


def encoding_of(head: bytes) -> str:
    """By byte order mark; UTF-16 without one by the NULs of its ASCII half; else UTF-8 is tried."""
    for bom, encoding in _BOMS:
        if head.startswith(bom):
            return encoding
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if max(even, odd) > len(head) // 8:
        return "utf-16-le" if odd > even else "utf-16-be"
    return "utf-8"


def read_lines(path: Path, warnings: Warnings) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, with their numbers from 1, read as they are asked for. Raises SidecarError."""
    for number, line in enumerate(_raw_lines(path), 1):
        if len(line) > LONGEST_LINE:
            warnings.skipped(number, f"longer than {LONGEST_LINE >> 20} MiB")
        elif text := line.strip():
            yield number, text


def _raw_lines(path: Path) -> Iterator[str]:
    try:
        with path.open("rb") as file:
            encoding = encoding_of(file.read(4096))
            file.seek(0)
            if encoding == "utf-8":
                yield from map(_line, _limited(file.readline))
                return
        with path.open(encoding=encoding) as text:
            yield from _limited(text.readline)
    except UnicodeDecodeError as error:
        raise SidecarError(f"{path}: is not the {encoding} it begins as ({error.reason})", path=str(path)) from error
    except OSError as error:
        raise _unreadable(path, error) from error


def _limited(readline: Callable[[int], AnyStr]) -> Iterator[AnyStr]:
    """Lines; of one that is too long only the beginning, so that a file without newlines is not held."""
    while line := readline(LONGEST_LINE + 1):
        yield line
        while len(line) > LONGEST_LINE and line[-1:] not in (b"\n", "\n"):
            line = readline(LONGEST_LINE + 1)


def _line(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return _western(line)
