"""How long a text is for a language model."""

from __future__ import annotations


def tokens_in(text: str) -> int:
    """An upper estimate of a model's tokens: one for every three UTF-8 bytes, which holds for any script."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 3)
