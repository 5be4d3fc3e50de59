"""Document revisions: a hybrid logical clock (milliseconds << 20 | counter) written in ArangoDB's 64-letter alphabet.

Source: ArangoDB documentation, "Document revisions", and Kulkarni et al., "Logical Physical Clocks" (2014). The text of
a revision is opaque to clients; `decode` gives numbers that order revisions by age.
"""

from typing import Final

ALPHABET: Final = "-_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_PAIRS: Final = [a + b for a in ALPHABET for b in ALPHABET]
_VALUES: Final = {letter: value for value, letter in enumerate(ALPHABET)}


def encode(stamp: int) -> str:
    """The text of a clock reading; readings of our century have eleven letters."""
    pairs = _PAIRS
    text = (
        ALPHABET[stamp >> 60]
        + pairs[stamp >> 48 & 4095]
        + pairs[stamp >> 36 & 4095]
        + pairs[stamp >> 24 & 4095]
        + pairs[stamp >> 12 & 4095]
        + pairs[stamp & 4095]
    )
    return text if text[0] != "-" else text.lstrip("-")


def encode_run(first: int, count: int) -> list[str]:
    """The texts of readings that follow each other: those of 4096 differ in their last two letters only."""
    texts: list[str] = []
    end = first + count
    while first < end:
        stop = min(end, (first | 4095) + 1)
        head = encode(first)[:-2]
        texts += [head + pair for pair in _PAIRS[first & 4095 : (stop - 1 & 4095) + 1]]
        first = stop
    return texts


def decode(text: str) -> int | None:
    """The clock reading of a revision, or None when the text is not one."""
    if not text or len(text) > 11:
        return None
    stamp = 0
    for letter in text:
        value = _VALUES.get(letter)
        if value is None:
            return None
        stamp = stamp << 6 | value
    return stamp if stamp < 1 << 64 else None
