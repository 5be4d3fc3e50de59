"""Whether a name or a quotation stands in a text: words compared case folded and as stems of the corpus's language.

Scripts that are written without spaces are compared sign by sign, so that a name is found inside a run of them.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from vgraph.prompts import plain

_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
)
_TOKEN: Final = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_RUN: Final = re.compile(r"[^\W_]+")
_SENTENCE_END: Final = ".!?:;…。！？\n"
_ARTICLES: Final = frozenset({"a", "an", "the"})
_LOCAL: Final = threading.local()


@dataclass(frozen=True, slots=True)
class Wording:
    """Comparing words in one language (ISO 639-1); one that no stemmer knows is compared as written."""

    language: str = "en"

    def words(self, text: str) -> tuple[str, ...]:
        folded = unicodedata.normalize("NFKC", plain(text)).casefold()
        return tuple(_stem(word, self.language) for word in _TOKEN.findall(folded))

    def padded(self, text: str) -> str:
        """The words of a text with a space around each, to be searched by `among`."""
        return f" {' '.join(self.words(text))} "

    def name(self, text: str) -> str:
        """A name as compared: its words, without an article in front."""
        words = self.words(text)
        return " ".join(words[1:] if len(words) > 1 and words[0] in _ARTICLES else words)

    def novel(self, text: str, sources: str, openers: frozenset[str] = frozenset()) -> list[str]:
        """Numbers and names of a text that stand nowhere in padded `sources`.

        A name is a word with a capital; in a script without capitals any word may be one. The first word of a sentence may also be one of
        `openers`.
        """
        return [run for run, first in _facts(plain(text)) if not self._is_told(run, first, sources, openers)]

    def _is_told(self, run: str, first: bool, sources: str, openers: frozenset[str]) -> bool:
        return among(" ".join(self.words(run)), sources) or (first and run.casefold() in openers)


def among(words: str, padded: str) -> bool:
    """Whether some words stand in a padded text, one after the other; no words stand nowhere."""
    return bool(words) and f" {words} " in padded


def _facts(text: str) -> Iterator[tuple[str, bool]]:
    """Every run of letters and digits that may be a number or a name, and whether it begins a sentence."""
    end = 0
    for match in _RUN.finditer(unicodedata.normalize("NFKC", text)):
        run, between = match.group(), match.string[end : match.start()]
        first = end == 0 or any(sign in _SENTENCE_END for sign in between)
        end = match.end()
        if _is_fact(run):
            yield run, first


def _is_fact(run: str) -> bool:
    return any(sign.isdigit() or sign.isupper() or sign.istitle() for sign in run) or _has_no_case(run)


def _has_no_case(run: str) -> bool:
    return any(unicodedata.category(sign) == "Lo" for sign in run)


@lru_cache(maxsize=65_536)
def _stem(word: str, language: str) -> str:
    stemmer = _stemmer(language)
    return str(stemmer.stemWord(word)) if stemmer and word.isalpha() else word


def _stemmer(language: str) -> Any:
    """One a thread and language: stemmers keep state while they work."""
    known: dict[str, Any] = _LOCAL.__dict__.setdefault("stemmers", {})
    if language not in known:
        known[language] = _made(language)
    return known[language]


def _made(language: str) -> Any:
    from Stemmer import Stemmer

    try:
        return Stemmer(language)
    except KeyError:  # a language without a stemmer
        return None


def joined(texts: Iterable[str], wording: Wording) -> str:
    """Several texts as one to be searched; no quotation runs from one into the next."""
    return "|".join(wording.padded(text) for text in texts)
