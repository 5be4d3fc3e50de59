"""FULLTEXT(): documents by the words of an attribute that has a fulltext index.

The index type and the function are deprecated (4.x has neither) and are here for queries that still have them: the
documents are read one by one. Source: ArangoDB documentation, "Fulltext functions in AQL", "Fulltext indexes".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from ...errors import ArangoError
from .registry import Table, Value, wrong_type

if TYPE_CHECKING:
    from ..runtime import Runtime

TABLE: Final = Table()
_LONGEST: Final = 40
"""Characters of a word that are told apart."""
_PART: Final = re.compile(r"\s*(?P<how>[+|-]?)\s*(?:(?P<kind>prefix|complete):)?(?P<words>.*)", re.DOTALL)


@TABLE.add("FULLTEXT", args=(3, 4), deterministic=False, collections=(0,))
def fulltext(rt: Runtime, collection: Value, attribute: Value, query: Value, limit: Value = None) -> Value:
    """The documents of a collection whose attribute has the words asked for; 1571 without an index of it."""
    if not all(type(text) is str for text in (collection, attribute, query)):
        return wrong_type(rt, "FULLTEXT")
    source = rt.txn.collection(collection)
    index = next((i for i in source.indexes if i.type == "fulltext" and i.fields == [attribute]), None)
    if index is None:
        raise ArangoError(1571, f"no suitable fulltext index found for fulltext query on '{collection}'")
    wanted = _condition(query)
    most = int(limit) if type(limit) in (int, float) else None
    found: list[Any] = []
    for number, (_, document) in enumerate(source.scan()):
        if number % 256 == 0:
            rt.check()
        if most is not None and len(found) >= most:
            break
        if wanted(_indexed(document, attribute.split("."), index.spec["minLength"])):
            found.append(document)
    return found


def _words(text: str) -> list[str]:
    from ...search.words import words

    return [word[:_LONGEST] for word in words(unicodedata.normalize("NFC", text).lower())]


def _indexed(document: dict[str, Any], path: list[str], shortest: int) -> set[str]:
    """The words of an attribute: of a string, or of the strings that an array or object holds."""
    value: Any = document
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return {word for text in _strings(value) for word in _words(text) if len(word) >= shortest}


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def _condition(query: str) -> Callable[[set[str]], bool]:
    """What a query asks of a document's words; its parts are taken from left to right. 10 for one without words."""
    parts: list[tuple[str, bool, str]] = []
    for text in query.split(","):
        match = _PART.fullmatch(text)
        assert match is not None
        found = _words(match["words"])
        if match["how"] and not found:
            raise ArangoError(10, f"fulltext query: no word after '{match['how']}'")
        parts += [(match["how"] or "+", match["kind"] == "prefix", word) for word in found]
    if not parts:
        raise ArangoError(10, "fulltext query: no word to look for")

    def holds(words: set[str]) -> bool:
        result = False
        for place, (how, is_prefix, word) in enumerate(parts):
            here = any(known.startswith(word) for known in words) if is_prefix else word in words
            if how == "|":
                result = result or here
            elif how == "-":
                result = result and not here
            else:
                result = here if place == 0 else result and here
        return result

    return holds
