"""Analyzers: how a string becomes the terms of an index.

Types, properties and defaults as in "Transforming data with Analyzers" (ArangoDB documentation). Those that rest on
more than the text have modules of their own: queries, a language's order, places, trained models.
"""

from __future__ import annotations

import base64
import re
import struct
import threading
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

import snowballstemmer

from vgraph.embedded.errors import unsupported

from . import words
from .analyzer_base import (
    Analyzer,
    Token,
    bad,
    choice_property,
    flag_property,
    locale_property,
    strings_property,
    text_property,
    whole_property,
)
from .aql_analyzer import Aql
from .cityhash import city_hash64
from .collation import Collation
from .geo_analyzers import GeoJson, GeoPoint, GeoS2
from .learned import Classification, NearestNeighbors

Value = Any

FEATURES = ("frequency", "position", "offset", "norm")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")
_STEMMER_CACHE = 400_000


# ---------------------------------------------------------------------------------------------- normalisation


_CASE: dict[str, Callable[[str], str]] = {"lower": str.lower, "upper": str.upper, "none": lambda text: text}
_CASES = ("lower", "upper", "none")


def strip_accents(text: str) -> str:
    """Without non-spacing marks (NFD, drop Mn, NFC)."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join(char for char in decomposed if unicodedata.category(char) != "Mn"))


_SNOWBALL = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
    "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch", "no": "norwegian",
    "nb": "norwegian", "nn": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian",
    "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip


class _Stems(dict[str, str]):
    """Stem by word, remembered: a Snowball stemmer in Python costs as much as everything else together."""

    def __init__(self, language: str) -> None:
        super().__init__()
        known = snowballstemmer.algorithms()
        # Snowball 3 renamed the Dutch stemmer that ArangoDB's version has
        name = "dutch_porter" if language == "dutch" and "dutch_porter" in known else language
        self._lock = threading.Lock()
        self._stem = snowballstemmer.stemmer(name).stemWord

    def __missing__(self, word: str) -> str:
        if word.isascii() and word.isdigit():  # no language changes it
            return word
        if len(self) >= _STEMMER_CACHE:
            self.clear()
        with self._lock:  # a stemmer keeps the word it is at in itself
            stem: str = self._stem(word)
        self[word] = stem
        return stem


_STEMS: dict[str, _Stems] = {}


def _stems(locale: str) -> _Stems | None:
    """The stems of a locale's language; None where Snowball has none (such words stay as they are)."""
    language = _SNOWBALL.get(locale.split("_")[0])
    if language is None or language not in snowballstemmer.algorithms():
        return None
    if language not in _STEMS:
        _STEMS[language] = _Stems(language)
    return _STEMS[language]


# ------------------------------------------------------------------------------------------------------- types


class Identity(Analyzer):
    type = "identity"

    def stream(self, text: str) -> Iterator[Token]:
        yield text, 1, 0, len(text)

    def terms(self, text: str) -> list[str]:
        return [text]

    def positions(self, text: str) -> tuple[list[str], list[int] | None]:
        return [text], None


class Text(Analyzer):
    """UAX#29 words -> NFC -> case -> accents -> stop words -> Snowball -> edge n-grams."""

    type = "text"

    def configure(self, given: dict[str, Any]) -> dict[str, Any]:
        locale = locale_property(given)
        self._case = _CASE[choice_property(given, "case", "lower", _CASES)]
        self._accent = flag_property(given, "accent", False)
        stemming = flag_property(given, "stemming", True)
        self._stems = _stems(locale) if stemming else None
        stopwords = strings_property(given, "stopwords") if "stopwords" in given else []
        self._stop = frozenset(stopwords)
        shown = {
            "locale": locale,
            "case": given.get("case", "lower"),
            "stopwords": sorted(self._stop),
            "accent": self._accent,
            "stemming": stemming,
        }
        self._edge = self._edge_ngram(given["edgeNgram"]) if "edgeNgram" in given else None
        if self._edge:
            shown["edgeNgram"] = dict(given["edgeNgram"])
        if "stopwordsPath" in given:
            raise unsupported("analyzer property 'stopwordsPath'")
        return shown

    @staticmethod
    def _edge_ngram(given: Any) -> tuple[int, int, bool]:
        if not isinstance(given, dict):
            raise bad("analyzer property 'edgeNgram' must be an object")
        low = whole_property(given, "min") if "min" in given else 0
        high = whole_property(given, "max") if "max" in given else 0
        if "max" in given and low > high:
            raise bad("analyzer property 'edgeNgram': min must not exceed max")
        return max(low, 1), high or 1 << 30, flag_property(given, "preserveOriginal", False)

    def _words(self, text: str) -> list[str]:
        """Every word normalised, stop words included."""
        if text.isascii():
            return words.words(self._case(text))
        found = [self._case(unicodedata.normalize("NFC", word)) for word in words.words(text)]
        return found if self._accent else [strip_accents(word) for word in found]

    def terms(self, text: str) -> list[str]:
        if self._edge:
            return super().terms(text)
        found = self._words(text)
        if self._stop:
            found = [word for word in found if word not in self._stop]
        return found if self._stems is None else list(map(self._stems.__getitem__, found))

    def positions(self, text: str) -> tuple[list[str], list[int] | None]:
        return super().positions(text) if self._edge else (self.terms(text), None)

    def stream(self, text: str) -> Iterator[Token]:
        for start, end in words.spans(text):
            word = self._case(unicodedata.normalize("NFC", text[start:end]))
            if not self._accent:
                word = strip_accents(word)
            if word in self._stop:
                continue
            term = word if self._stems is None else self._stems[word]
            if self._edge is None:
                yield term, 1, start, end
            else:
                yield from self._edges(term, start, end)

    def _edges(self, term: str, start: int, end: int) -> Iterator[Token]:
        assert self._edge is not None
        low, high, original = self._edge
        step = 1
        for size in range(low, min(high, len(term)) + 1):
            yield term[:size], step, start, start + size
            step = 0
        if original and not low <= len(term) <= high:
            yield term, step, start, end


class Norm(Analyzer):
    type = "norm"

    def configure(self, given: dict[str, Any]) -> dict[str, Any]:
        locale = locale_property(given)
        case = choice_property(given, "case", "none", _CASES)
        self._case = _CASE[case]
        self._accent = flag_property(given, "accent", True)
        return {"locale": locale, "case": case, "accent": self._accent}

    def stream(self, text: str) -> Iterator[Token]:
        term = self._case(unicodedata.normalize("NFC", text))
        yield term if self._accent else strip_accents(term), 1, 0, len(text)


class Stem(Analyzer):
    type = "stem"

    def configure(self, given: dict[str, Any]) -> dict[str, Any]:
        locale = locale_property(given)
        self._stems = _stems(locale)
        return {"locale": locale}

    def stream(self, text: str) -> Iterator[Token]:
        yield text if self._stems is None else self._stems[text], 1, 0, len(text)


class Delimiter(Analyzer):
    """Splits at one separator; a field in double quotes keeps separators, two quotes stand for one (as in CSV)."""

    type = "delimiter"

    def configure(self, given: dict[str, Any]) -> dict[str, Any]:
        self._separator = text_property(given, "delimiter")
        return {"delimiter": self._separator}

    def stream(self, text: str) -> Iterator[Token]:
        if not self._separator:
            yield from ((char, 1, at, at + 1) for at, char in enumerate(text))
            return
        start = 0
        while True:
            end = self._field_end(text, start)
            yield self._unquoted(text[start:end]), 1, start, end
            if end >= len(text):
                return
            start = end + len(self._separator)

    def _field_end(self, text: str, start: int) -> int:
        quoted = False
        at = start
        while at < len(text):
            if text[at] == '"':
                quoted = not quoted
            elif not quoted and text.startswith(self._separator, at):
                return at
            at += 1
        if quoted:  # an unbalanced quote is an ordinary character
            plain = text.find(self._separator, start)
            return len(text) if plain < 0 else plain
        return at

    @staticmethod
    def _unquoted(field: str) -> str:
        if len(field) >= 2 and field[0] == field[-1] == '"':
            return field[1:-1].replace('""', '"')
        return field


class MultiDelimiter(Analyzer):
    """Splits at any of several separators, the leftmost and then the longest; empty pieces are dropped."""

    type = "multi_delimiter"

    def configure(self, given: dict[str, Any]) -> dict[str, Any]:
        name = "delimiters" if "delimiters" in given else "delimiter"
        separators = strings_property(given, name)
        if not separators or not all(separators):
            raise bad("analyzer property 'delimiters' must be a non-empty array of non-empty strings")
        self._split = re.compile("|".join(re.escape(text) for text in sorted(separators, key=len, reverse=True)))
        return {"delimiters": separators}

    def stream(self, text: str) -> Iterator[Token]:
        start = 0
        for match in self._split.finditer(text):
            if match.start() > start:
                yield text[start : match.start()], 1, start, match.start()
            start = match.end()
        if start < len(text):
            yield text[start:], 1, start, len(text)


class Ngram(Analyzer):
    """Every run of min..max bytes (streamType binary) or code points (utf8), with markers at the ends."""

    type = "ngram"

    def configure(self, given: dict[str, Any]) -> dict[str, Any]:
        self._min = max(whole_property(given, "min"), 1)
        self._max = max(whole_property(given, "max"), self._min)
        if not isinstance(given.get("preserveOriginal"), bool):
            raise bad("analyzer property 'preserveOriginal' must be a boolean")
        self._original = given["preserveOriginal"]
        self._start = text_property(given, "startMarker", "")
        self._end = text_property(given, "endMarker", "")
        self._utf8 = choice_property(given, "streamType", "binary", ("binary", "utf8")) == "utf8"
        return {
            "min": self._min,
            "max": self._max,
            "preserveOriginal": self._original,
            "streamType": "utf8" if self._utf8 else "binary",
            "startMarker": self._start,
            "endMarker": self._end,
        }

    def stream(self, text: str) -> Iterator[Token]:
        """Binary grams of a non-ASCII text may cut a character: they stay comparable, not readable.

        What marks or preserves the whole text stands with the grams that begin the text.
        """
        units = text if self._utf8 or text.isascii() else text.encode("utf-8", "surrogatepass").decode("latin-1")
        total = len(units)
        for start in range(total):
            grams = [
                (start + size, units[start : start + size])
                for size in range(self._min, self._max + 1)
                if start + size <= total
            ]
            found = (
                self._first(units, grams)
                if start == 0
                else [(end, self._ended(gram, end == total)) for end, gram in grams]
            )
            for number, (end, term) in enumerate(found):
                yield term, 0 if number else 1, start, end

    def _ended(self, gram: str, last: bool) -> str:
        return gram + self._end if last else gram

    def _first(self, units: str, grams: list[tuple[int, str]]) -> list[tuple[int, str]]:
        total = len(units)
        whole = [self._start + units] if self._start else []
        whole += [units + self._end] if self._end else []
        pending = (whole or [units]) if self._original else []
        found: list[tuple[int, str]] = []
        for end, gram in grams:
            if end == total and pending:
                found.append((end, pending.pop(0)))
            elif self._start:
                found.append((end, self._start + gram))
                if end == total and self._end:
                    pending.append(gram + self._end)
            else:
                found.append((end, self._ended(gram, end == total)))
        return found + [(total, term) for term in pending]


class Segmentation(Analyzer):
    type = "segmentation"

    def configure(self, given: dict[str, Any]) -> dict[str, Any]:
        self._break = choice_property(given, "break", "alpha", ("all", "alpha", "graphic"))
        case = choice_property(given, "case", "lower", _CASES)
        self._case = _CASE[case]
        return {"case": case, "break": self._break}

    def stream(self, text: str) -> Iterator[Token]:
        for start, end, is_word in words.segments(text):
            piece = text[start:end]
            # a line feed counts as graphic: recorded on a server
            if is_word or self._break == "all" or (self._break == "graphic" and (piece == "\n" or not piece.isspace())):
                yield self._case(piece), 1, start, end


class Stopwords(Analyzer):
    type = "stopwords"

    def configure(self, given: dict[str, Any]) -> dict[str, Any]:
        stopwords = strings_property(given, "stopwords")
        hexadecimal = flag_property(given, "hex", False)
        try:
            plain = [bytes.fromhex(word).decode() for word in stopwords] if hexadecimal else stopwords
        except ValueError as error:
            raise bad("analyzer property 'stopwords' has a value that is not hex-encoded") from error
        self._stop = frozenset(plain)
        return {"stopwords": stopwords, "hex": hexadecimal}

    def stream(self, text: str) -> Iterator[Token]:
        if text not in self._stop:
            yield text, 1, 0, len(text)


class Pipeline(Analyzer):
    """Analyzers one after the other: each gets every term of the one before."""

    type = "pipeline"

    def configure(self, given: dict[str, Any]) -> dict[str, Any]:
        steps = given.get("pipeline")
        if not isinstance(steps, list) or not steps:
            raise bad("analyzer property 'pipeline' must be a non-empty array")
        self._steps: list[Analyzer] = []
        for step in steps:
            if not isinstance(step, dict):
                raise bad("analyzer property 'pipeline' must hold objects")
            self._steps.append(make(step.get("type"), step.get("properties") or {}, ()))
        return {"pipeline": [{"type": step.type, "properties": step.properties} for step in self._steps]}

    def stream(self, text: str) -> Iterator[Token]:
        yield from self._through(text, 0)

    def _through(self, text: str, depth: int) -> Iterator[Token]:
        last = depth == len(self._steps) - 1
        pending = 0
        for term, step, start, end in self._steps[depth].stream(text):
            pending += step
            if last:
                yield term, pending, start, end
                pending = 0
                continue
            for inner, inner_step, low, high in self._through(term, depth + 1):
                # the first inner term takes the outer step, later ones follow it
                advance = inner_step - 1 + pending if pending else inner_step
                pending = 0
                same = len(term) == end - start
                yield inner, advance, start + low if same else start, start + high if same else end


class MinHash(Analyzer):
    """The least hashes of another analyzer's terms, as a signature whose overlap estimates similarity (Broder 1997)."""

    type = "minhash"

    def configure(self, given: dict[str, Any]) -> dict[str, Any]:
        self._size = whole_property(given, "numHashes")
        if self._size < 1:
            raise bad("analyzer property 'numHashes' must be at least 1")
        inner = given.get("analyzer")
        if inner is None or inner == {}:
            self._inner: Analyzer = Identity({}, ())
            return {"numHashes": self._size, "analyzer": {}}
        if not isinstance(inner, dict):
            raise bad("analyzer property 'analyzer' must be an object")
        self._inner = make(inner.get("type"), inner.get("properties") or {}, ())
        shown = {"type": self._inner.type, "properties": self._inner.properties}
        return {"numHashes": self._size, "analyzer": shown}

    def stream(self, text: str) -> Iterator[Token]:
        found = list(self._inner.stream(text))
        hashes = list(dict.fromkeys(city_hash64(token[0].encode("utf-8", "surrogatepass")) for token in found))
        if len(hashes) > self._size:
            hashes = sorted(hashes)[: self._size]
        for number, value in enumerate(hashes):
            term = base64.b64encode(value.to_bytes(8, "little")).decode().rstrip("=")
            yield term, 0 if number else 1, found[0][2], found[-1][3]


class Wildcard(Analyzer):
    """Whole terms of another analyzer (by default the text), for LIKE. A server looks for them by n-grams, which TOKENS
    shows; here the sorted terms are searched, with the same result."""

    type = "wildcard"

    def configure(self, given: dict[str, Any]) -> dict[str, Any]:
        size = self._size = whole_property(given, "ngramSize")
        if size < 2:
            raise bad("analyzer property 'ngramSize' must be at least 2")
        inner = given.get("analyzer")
        if inner is None or inner == {}:
            self._inner: Analyzer = Identity({}, ())
            return {"ngramSize": size}
        if not isinstance(inner, dict):
            raise bad("analyzer property 'analyzer' must be an object")
        self._inner = make(inner.get("type"), inner.get("properties") or {}, ())
        return {"ngramSize": size, "analyzer": {"type": self._inner.type, "properties": self._inner.properties}}

    def stream(self, text: str) -> Iterator[Token]:
        return self._inner.stream(text)

    def grams(self, text: str) -> list[str]:
        """The n-grams of every term, which has a marker on both sides; those at its end are shorter."""
        found = []
        for term in self._inner.terms(text):
            marked = f"\ufffd{term}\ufffd"
            found += [marked[start : start + self._size] for start in range(len(marked) - 1)]
        return found


_TYPES: dict[str, type[Analyzer]] = {
    cls.type: cls
    for cls in (
        Identity,
        Text,
        Norm,
        Stem,
        Delimiter,
        MultiDelimiter,
        Ngram,
        Segmentation,
        Stopwords,
        Pipeline,
        MinHash,
        Wildcard,
        Aql,
        Collation,
        GeoJson,
        GeoS2,
        GeoPoint,
        Classification,
        NearestNeighbors,
    )
}


# ------------------------------------------------------------------------------------------------------ making


def check_features(features: Any) -> tuple[str, ...]:
    """Features in the server's order; error 10 for an unknown one or one that lacks what it rests on."""
    if features is None:
        return ()
    if not isinstance(features, list) or not all(isinstance(item, str) for item in features):
        raise bad("analyzer features must be an array of strings")
    for feature in features:
        if feature not in FEATURES:
            raise bad(f"unknown analyzer feature '{feature}'")
    if "position" in features and "frequency" not in features:
        raise bad("missing feature 'frequency' required when 'position' feature is specified")
    if "offset" in features and "position" not in features:
        raise bad("missing feature 'position' required when 'offset' feature is specified")
    return tuple(feature for feature in FEATURES if feature in features)


def make(kind: Any, properties: dict[str, Any] | None, features: Any) -> Analyzer:
    """An analyzer of a type; error 10 for an unknown one and for bad properties."""
    if not isinstance(kind, str) or kind not in _TYPES:
        raise bad(f"unknown analyzer type '{kind}'")
    if properties is not None and not isinstance(properties, dict):
        raise bad("analyzer properties must be an object")
    return _TYPES[kind](properties or {}, check_features(list(features) if isinstance(features, tuple) else features))


def normalise_analyzer(name: Any, kind: Any, properties: Any, features: Any) -> dict[str, Any]:
    """{"type", "properties", "features"} of a new analyzer, checked; `name` without the database."""
    if not isinstance(name, str) or not _NAME.match(name) or len(name.encode()) > 254:
        raise bad(f"invalid characters in analyzer name '{name}'")
    return make(kind, properties, features).definition()


def make_analyzer(definition: dict[str, Any]) -> Analyzer:
    """The analyzer of a stored definition."""
    return make(definition["type"], definition["properties"], list(definition["features"]))


def _built_in() -> dict[str, Analyzer]:
    found: dict[str, Analyzer] = {"identity": Identity({}, ("frequency", "norm"))}
    for language in ("de", "en", "es", "fi", "fr", "it", "nl", "no", "pt", "ru", "sv", "zh"):
        given: dict[str, Any] = {"locale": language, "stopwords": [], "stemming": language != "zh"}
        found[f"text_{language}"] = Text(given, ("frequency", "position", "norm"))
    return found


BUILTIN: dict[str, Analyzer] = _built_in()
BUILTIN_ANALYZERS: dict[str, dict[str, Any]] = {name: analyzer.definition() for name, analyzer in BUILTIN.items()}


def tokens(value: Value, analyzer: Analyzer) -> Value:
    """TOKENS: the terms of a string; an array gives an array of the same shape.

    Numbers, booleans and null give the terms under which views index them, in base64; an object has none (None).
    """
    if isinstance(value, str):
        return _text_tokens(value, analyzer)
    if isinstance(value, list | range):
        return [tokens(item, analyzer) for item in value]
    if value is None:
        return [""]
    if isinstance(value, bool):
        return [base64.b64encode(b"\xff" if value else b"\0").decode()]
    if isinstance(value, int | float):
        return _number_terms(float(value))
    if analyzer.accepts(value):
        raise unsupported(f"TOKENS() of a place with an analyzer of type {analyzer.type}")
    return None


def _text_tokens(text: str, analyzer: Analyzer) -> Value:
    if isinstance(analyzer, Wildcard):
        return analyzer.grams(text)
    return analyzer.terms(text) if analyzer.returns == "string" else analyzer.values(text)


def _number_terms(value: float) -> list[str]:
    """A double in byte order, at four precisions: without its last 0, 16, 32 and 48 bits."""
    (bits,) = struct.unpack(">Q", struct.pack(">d", value))
    ordered = (~bits if bits >> 63 else bits | 1 << 63) & (1 << 64) - 1
    raw = ordered.to_bytes(8, "big")
    return [base64.b64encode(bytes([0xA0 + shift]) + raw[: 8 - shift // 8]).decode() for shift in range(0, 64, 16)]
