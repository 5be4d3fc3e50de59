"""spaCy: names of people, organisations, places and dates in a text, and the things its nouns name; no language model is asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final

from vgraph.models.loading import clean, is_path, local, require, title, translated
from vgraph.types import Named

DEFAULT_SPACY: Final = "en_core_web_sm"
LABELS: Final = {
    "PERSON": "person",
    "PER": "person",
    "ORG": "organisation",
    "GPE": "location",
    "LOC": "location",
    "FAC": "location",
    "EVENT": "event",
    "DATE": "date",
}
"""spaCy's labels (OntoNotes' and WikiNER's) that name something, with what that is."""
LONGEST: Final = 100_000
"""Characters looked at of a text: the parser's memory grows with its length."""
LEFT_OFF: Final = frozenset({"DET", "PRON", "NUM", "PUNCT"})
"""What a noun is introduced by and not described by."""


class SpacyFinder:
    """Named entities and noun chunks of a pipeline with a parser, by its package's name or its folder."""

    def __init__(self, model: str = DEFAULT_SPACY, *, name: str | None = None) -> None:
        self._model = local(model) if is_path(model) else model
        self.name = f"spacy:{name or title(model)}"
        self._lock = threading.Lock()

    @cached_property
    def _pipeline(self) -> Any:
        package = require("spacy", stage="entities", model=self.name)
        with translated("load", self.name):
            return package.load(self._model)

    @property
    def language(self) -> str:
        """ISO 639-1 of the texts it is made for."""
        return str(self._pipeline.lang)

    def find(self, texts: Sequence[str]) -> list[tuple[Named, ...]]:
        """What each text names, in the order of its words."""
        with self._lock, translated("find names", self.name):
            documents = self._pipeline.pipe([_within(clean(text)) for text in texts])
            return [tuple(_found(document)) for document in documents]


def _within(text: str) -> str:
    """The beginning of a text that is too long, up to the end of a word."""
    return text if len(text) <= LONGEST else text[:LONGEST].rpartition(" ")[0] or text[:LONGEST]


def _found(document: Any) -> Iterator[Named]:
    names = [span for span in document.ents if span.label_ in LABELS and _is_name(span)]
    held = {token.i for span in names for token in span}
    nouns = [chunk for chunk in _chunks(document) if not held & {token.i for token in chunk}]
    for span in sorted((*names, *nouns), key=lambda span: span.start):
        words = [token for token in span if token.pos_ not in LEFT_OFF] if span in nouns else _trimmed(span)
        if words and any(token.text.strip() for token in words):
            text = span.doc[words[0].i : words[-1].i + 1].text
            label = LABELS[span.label_] if span in names else ""
            yield Named(" ".join(text.split()), label, tuple(token.lemma_.lower() for token in words))


def _is_name(span: Any) -> bool:
    """Names are written with a capital, or in a script that has none; a number alone is no date."""
    cased = [token for token in span if token.text.lower() != token.text.upper()]
    return any(token.text != token.text.lower() for token in cased) or (not cased and span.label_ != "DATE")


def _chunks(document: Any) -> Iterator[Any]:
    """Noun chunks, where the pipeline's language has them; not those that only a pronoun stands for."""
    if not document.has_annotation("DEP"):
        return
    try:
        yield from (chunk for chunk in document.noun_chunks if chunk.root.pos_ in ("NOUN", "PROPN"))
    except NotImplementedError:
        return


def _trimmed(span: Any) -> list[Any]:
    """A name without its article and its genitive."""
    words = list(span)
    while words and words[0].pos_ == "DET":
        words.pop(0)
    while words and words[-1].text in ("'s", "’s", "'"):
        words.pop()
    return words
