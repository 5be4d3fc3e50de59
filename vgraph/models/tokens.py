"""How long a text is for a language model, without its tokenizer: an estimate that is meant to be rather too high than too low.

Tokens are weighed by what tokenizers of the kinds in use make of signs: a third of a token for an ASCII letter, blank or line break, a
little more than one for a digit or a mark (many models read numbers digit by digit), and for other scripts what those cost that a
vocabulary made of English falls back on. Checked against the tokenizers of Llama 2 (32,000 tokens) and GPT-2 (50,000, as in Whisper) on
twelve languages, identifiers, numbers and emoji: never below them, for English about a quarter above. Larger vocabularies need fewer.
"""

from __future__ import annotations

import math
from typing import Final

_LETTERS: Final = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ \n"
_LETTER, _MARK = 1 / 3, 1.2
_SCRIPTS: Final = (
    (0x0530, 0.7),  # Latin beyond ASCII, Greek, Cyrillic
    (0x0800, 1.2),  # Armenian, Hebrew, Arabic and what is near them
    (0x0900, 3.3),
    (0x0F00, 1.4),  # scripts of India, Thai, Lao
    (0x2E80, 3.3),  # Tibetan, Georgian, Ethiopic, Khmer; punctuation and signs
    (0xA000, 1.5),  # Chinese, Japanese
    (0xAC00, 3.3),
    (0xD7B0, 2.1),  # Korean
    (0xFF00, 3.3),
    (0xFFF0, 1.5),  # full width
    (0x10000, 3.3),
)
"""Code points below each of these, from the one before on, and their tokens each; from 0x10000 on (emoji) it is four, a token a byte."""


def tokens_in(text: str) -> int:
    """An upper estimate of a model's tokens; see the module for how it was made."""
    if text.isascii():
        return _ascii(text)
    plain = "".join(filter(str.isascii, text))
    return math.ceil(_ascii(plain) + sum(map(_WEIGHTS.__getitem__, filter(lambda sign: not sign.isascii(), text))))


def _ascii(text: str) -> int:
    marks = len(text.encode("ascii").translate(None, _LETTERS))
    return math.ceil((len(text) - marks) * _LETTER + marks * _MARK)


class _Weights(dict[str, float]):
    """Sign -> tokens, found out once for each."""

    def __missing__(self, sign: str) -> float:
        code = ord(sign)
        self[sign] = weight = next((weight for below, weight in _SCRIPTS if code < below), 4.0)
        return weight


_WEIGHTS: Final = _Weights()
