"""The `collation` analyzer: strings become keys whose order is a language's.

A key compares letters first, then accents, then case (lower before upper), as the Unicode Collation Algorithm does at
its three levels: white space, punctuation, symbols, digits and letters in that order, and what a language orders
otherwise by `_TAILORED` (after the CLDR root and its tailorings). Scripts follow each other as in Unicode. It is no ICU:
keys are not ICU's bytes, and languages with other tailorings order as English does.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from .analyzer_base import Analyzer, Token, text_property

_LEVEL: Final = "\x01"
_PRIVATE: Final = 0xE000
"""A letter ordered after another is that one with one of these behind it, above whatever may follow a letter."""

_NORDIC = "z æ ä / z ø ö ő / z å aa"
_TAILORED: Final = {
    "sv": "z å / z ä æ / z ö ø",
    "fi": "z å / z ä æ / z ö ø",
    "da": _NORDIC,
    "nb": _NORDIC,
    "nn": _NORDIC,
    "no": _NORDIC,
    "is": "a á / d ð / e é / i í / o ó / u ú / y ý / z þ / z æ ä / z ö ø / z å",
    "fo": "a á / d ð / i í / o ó / u ú / y ý / z æ ä / z ø ö / z å aa",
    "es": "n ñ",
    "gl": "n ñ",
    "es@traditional": "c ch / l ll / n ñ",
    "de@phonebook": "ae ä / oe ö / ue ü",
    "pl": "a ą / c ć / e ę / l ł / n ń / o ó / s ś / z ź / z ż",
    "cs": "c č / h ch / r ř / s š / z ž",
    "sk": "a ä / c č / h ch / o ô / s š / z ž",
    "hr": "c č / c ć / d dž / d đ / l lj / n nj / s š / z ž",
    "bs": "c č / c ć / d dž / d đ / l lj / n nj / s š / z ž",
    "sl": "c č / c ć / d đ / s š / z ž",
    "hu": "c cs / d dz / d dzs / g gy / l ly / n ny / o ö ő / s sz / t ty / u ü ű / z zs",
    "tr": "c ç / g ğ / h ı / o ö / s ş / u ü",
    "az": "c ç / e ə / g ğ / h ı / o ö / s ş / u ü",
    "ro": "a ă / a â / i î / s ș ş / t ț ţ",
    "lt": "c č / s š / z ž",
    "lv": "c č / g ģ / k ķ / l ļ / n ņ / s š / z ž",
    "et": "s š / s z / s ž / w õ / w ä / w ö / w ü",
    "sq": "c ç / d dh / e ë / g gj / l ll / n nj / r rr / s sh / t th / x xh / z zh",
    "cy": "c ch / d dd / f ff / g ng / l ll / p ph / r rh / t th",
}
"""By language (with an alternative collation): letter, then what comes after it as a letter of its own, as one letter
with variants; a pair before it says what it is written out as."""

_CLASSES: Final = {"Z": "1", "C": "1", "P": "2", "S": "3", "N": "5", "L": "6", "M": "6"}


class Collation(Analyzer):
    type = "collation"

    def configure(self, given: dict[str, Any]) -> dict[str, Any]:
        locale = text_property(given, "locale")
        found = re.match(r"(?P<language>[a-z]*)(?:.*[@;]collation=(?P<kind>[a-z]+))?", locale.lower())
        assert found is not None  # an empty language is one, too
        language, kind = found.group("language", "kind")
        self._language = f"{language}@{kind}" if f"{language}@{kind}" in _TAILORED else language
        return {"locale": locale}

    def stream(self, text: str) -> Iterator[Token]:
        yield sort_key(text, self._language), 1, 0, len(text)


@lru_cache(maxsize=64)
def _tailoring(language: str) -> tuple[re.Pattern[str], dict[str, tuple[str, str]]]:
    """(what to look for in lower case, primary key and variant of each)."""
    letters: dict[str, tuple[str, str]] = {}
    after: dict[str, int] = {}
    for rule in _TAILORED.get(language, "").split(" / "):
        base, *variants = rule.split() or [""]
        if len(base) == 2:  # written out
            letters.update({one: ("".join(_primary(char) for char in base), "\x02") for one in variants})
            continue
        place = after[base] = after.get(base, -1) + 1
        for number, one in enumerate(variants):
            letters[one] = (_primary(base) + chr(_PRIVATE + place), chr(0x20 + number) if number else "")
    longest_first = sorted(letters, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) + "|." if letters else ".", re.DOTALL), letters


def _primary(char: str) -> str:
    return _CLASSES[unicodedata.category(char)[0]] + char


def sort_key(text: str, language: str) -> str:
    """A string that compares by code points as the text does in a language ("sv", "de@phonebook", …)."""
    pattern, letters = _tailoring(language)
    primary: list[str] = []
    secondary: list[str] = []
    tertiary: list[str] = []
    composed = unicodedata.normalize("NFC", text)
    lowered = [char.lower() if len(char.lower()) == 1 else char for char in composed]
    for match in pattern.finditer("".join(lowered)):
        found = match.group()
        written = composed[match.start() : match.end()]
        known = letters.get(found)
        if known is not None:
            weights, accents = known
        else:
            plain = unicodedata.normalize("NFD", found)
            weights = "".join(_primary(char) for char in plain.casefold() if not unicodedata.combining(char))
            accents = "".join(char for char in plain if unicodedata.combining(char))
        primary.append(weights)
        secondary.append(accents + "\x02")
        tertiary.append("\x02" if written == found else "\x03")
    return _LEVEL.join(("".join(primary), "".join(secondary), "".join(tertiary)))
