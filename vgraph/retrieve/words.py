"""Content words of a text as lemmas, for matching a question with the lines of its evidence."""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache
from typing import Any

_LOCAL = threading.local()
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
STOP_WORDS = frozenset(
    """
    a about all also an and any are as at be been being by can could did do does done for from get got had has have
    having he her here him his how i if in into is it its just long many me more most much my no not of on or our
    out over she should so some than that the their them then there these they this those through to too up us was
    we were what when where which while who whom whose why will with would you your happen happened happening anyone
    anybody anything someone somebody something ever camera cameras recorded recording video footage seen see saw
    show shows tell time times
    """.split()  # noqa: SIM905
)


@lru_cache(maxsize=4096)
def content_words(text: str) -> frozenset[str]:
    """Distinct words of a text as English lemmas (`gave` and `gives` are `give`), without those that carry no content.

    Words that English does not know stay as they are, case folded.
    """
    words = (word.group().casefold().replace("’", "'") for word in _WORD.finditer(unicodedata.normalize("NFKC", text)))
    return frozenset(_lemma(word.removesuffix("'s")) for word in words if word not in STOP_WORDS)


def without_words(text: str, words: frozenset[str]) -> str:
    """The text's words in order, less those whose lemma is one of `words`."""
    found = (word.group() for word in _WORD.finditer(unicodedata.normalize("NFKC", text)))
    return " ".join(word for word in found if not content_words(word) & words)


@lru_cache(maxsize=16_384)
def _lemma(word: str) -> str:
    """The lemma's stem: the dictionary knows `gave`, the stemmer mends what it does not know (`crosses`)."""
    from simplemma import lemmatize

    return str(_stemmer().stemWord(lemmatize(word, lang="en").casefold()))


def _stemmer() -> Any:
    """One a thread: the stemmer keeps state while it works."""
    if not hasattr(_LOCAL, "stemmer"):
        from snowballstemmer import stemmer

        _LOCAL.stemmer = stemmer("english")
    return _LOCAL.stemmer
