"""Word boundaries of Unicode Standard Annex #29, as ICU applies them to the `text` and `segmentation` analyzers.

The text is mapped to one letter per character (its Word_Break class) and a regular expression over those letters finds
the words, so that the rules read as rules. Scripts that ICU breaks by dictionary are not: Thai, Lao, Khmer and
Burmese runs stay whole, Han and Hiragana are one word per character.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_ASCII_WORDS = re.compile(
    r"[A-Za-z0-9_]+(?:(?:(?<=[A-Za-z])[:.'](?=[A-Za-z])|(?<=[0-9])[,;.'](?=[0-9]))[A-Za-z0-9_]+)*", re.ASCII
)

# A letter, H Hebrew letter, N number, K katakana, E joining punctuation, X extending mark, S apostrophe, Q dot-like,
# M letter-joining, U number-joining, D double quote, I one-character word, C script broken by dictionary,
# W space, L line break, O anything else
_ALETTER = r"(?:AX*(?:[MQS]X*(?=[AH]))?)"
_HEBREW = r"(?:HX*(?:[MQ]X*(?=[AH])|DX*(?=H)|SX*)?)"
_NUMBER = r"(?:NX*(?:[UQS]X*(?=N))?)"
_RUN = rf"(?:(?:{_ALETTER}|{_HEBREW}|{_NUMBER})+|(?:KX*)+)"
_WORD = rf"(?:EX*)*{_RUN}(?:(?:EX*)+{_RUN})*(?:EX*)*|EX*(?:EX*)+|IX*|(?:CX*)+"
_WORDS = re.compile(_WORD)
_SEGMENTS = re.compile(rf"(?P<word>{_WORD})|W+X*|L|.X*")

_PUNCTUATION = (
    dict.fromkeys("\u003a\u00b7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a", "M")
    | dict.fromkeys("\u002e\u2018\u2019\u2024\ufe52\uff07\uff0e", "Q")
    | dict.fromkeys("\u002c\u003b\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b", "U")
    | dict.fromkeys("\n\r\x0b\x0c\u0085\u2028\u2029", "L")
    | dict.fromkeys("\u0020\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a\u205f\u3000", "W")
    | {"'": "S", '"': "D", "\u202f": "E", "\u200b": "O", "\u05f3": "A", "\u200d": "X"}
)
_CATEGORIES = {"Mn": "X", "Mc": "X", "Me": "X", "Cf": "X", "Nd": "N", "Pc": "E"}
_RANGES = (
    (0x02C2, 0x02C5, "A"), (0x02D2, 0x02D7, "A"), (0x02DE, 0x02DF, "A"), (0x02E5, 0x02EB, "A"), (0x02ED, 0x02ED, "A"),
    (0x02EF, 0x02FF, "A"), (0x055A, 0x055C, "A"), (0x055E, 0x055E, "A"), (0x058A, 0x058A, "A"),
    (0x05D0, 0x05F2, "H"), (0xFB1D, 0xFB1D, "H"), (0xFB1F, 0xFB28, "H"), (0xFB2A, 0xFB4F, "H"),
    (0x0E01, 0x0E30, "C"), (0x0E32, 0x0E33, "C"), (0x0E40, 0x0E46, "C"), (0x0E81, 0x0EB0, "C"), (0x0EB2, 0x0EB3, "C"),
    (0x0EBD, 0x0EC6, "C"), (0x0EDC, 0x0EDF, "C"), (0x1000, 0x102A, "C"), (0x1050, 0x1055, "C"), (0x1780, 0x17B3, "C"),
    (0x1950, 0x1974, "C"), (0x1980, 0x19AB, "C"), (0x1A20, 0x1A54, "C"),
    (0x3031, 0x3035, "K"), (0x309B, 0x309C, "K"), (0x30A0, 0x30FA, "K"), (0x30FC, 0x30FF, "K"), (0x31F0, 0x31FF, "K"),
    (0x32D0, 0x32FE, "K"), (0x3300, 0x3357, "K"), (0xFF66, 0xFF9D, "K"), (0xFF9E, 0xFF9F, "X"),
    (0x3005, 0x3007, "I"), (0x3021, 0x3029, "I"), (0x3038, 0x303C, "I"), (0x3041, 0x309A, "I"), (0x309D, 0x309F, "I"),
    (0x3400, 0x4DBF, "I"), (0x4E00, 0x9FFF, "I"), (0xF900, 0xFAFF, "I"), (0x17000, 0x18D08, "I"),
    (0x1B000, 0x1B2FB, "I"), (0x20000, 0x3FFFD, "I"), (0x24B6, 0x24E9, "A"), (0x1F130, 0x1F149, "A"),
    (0x1F3FB, 0x1F3FF, "X"),
)  # fmt: skip


class _Classes(dict[str, str]):
    """Word_Break class by character, worked out at first sight."""

    def __missing__(self, char: str) -> str:
        self[char] = found = _classify(char)
        return found


def _classify(char: str) -> str:
    if char in _PUNCTUATION:
        return _PUNCTUATION[char]
    point = ord(char)
    category = unicodedata.category(char)
    if category in _CATEGORIES:
        return _CATEGORIES[category]
    for low, high, name in _RANGES:
        if low <= point <= high:
            return name
    return "A" if category[0] == "L" or category == "Nl" else "O"


_CLASSES = _Classes()


def spans(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of every word, in characters; spaces, punctuation and symbols are not words."""
    if text.isascii():
        for match in _ASCII_WORDS.finditer(text):
            if match.group() != "_":
                yield match.span()
        return
    for match in _WORDS.finditer("".join(map(_CLASSES.__getitem__, text))):
        yield match.span()


def words(text: str) -> list[str]:
    """The words of a text."""
    if text.isascii():
        found = _ASCII_WORDS.findall(text)
        return [word for word in found if word != "_"] if "_" in text else found
    return [text[start:end] for start, end in spans(text)]


def segments(text: str) -> Iterator[tuple[int, int, bool]]:
    """(start, end, is a word) of everything between two boundaries, white space included."""
    for match in _SEGMENTS.finditer("".join(map(_CLASSES.__getitem__, text))):
        yield match.start(), match.end(), match.group("word") is not None
