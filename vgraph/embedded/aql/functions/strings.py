"""String functions (ArangoDB documentation, "String functions in AQL"). Offsets count characters."""

from __future__ import annotations

import re
import secrets
import string
import uuid
from importlib import import_module
from typing import TYPE_CHECKING, Final

from ...errors import ArangoError
from ..operators import concatenate
from ..values import to_integer, to_string, truthy
from . import patterns
from .registry import CHUNK, Table, Value, bounded, wrong_type
from .types import IPV4

if TYPE_CHECKING:
    from ..runtime import Runtime

TABLE: Final = Table()
_MOST_CELLS: Final = 500_000_000  # of an edit distance's table, some seconds
MAX_REPEAT: Final = 16 * 1024 * 1024
_BLANKS: Final = "\r\n\t "
_ALPHANUMERIC: Final = string.ascii_letters + string.digits


@TABLE.add("CONCAT", args=(1, None))
def concat(rt: Runtime, *values: Value) -> str:
    if len(values) == 1 and type(values[0]) is list:
        return bounded(rt, concatenate(values[0]))
    return bounded(rt, concatenate(values))


@TABLE.add("CONCAT_SEPARATOR", args=(2, None))
def concat_separator(rt: Runtime, separator: Value, *values: Value) -> str:
    items = values[0] if len(values) == 1 and type(values[0]) is list else values
    return bounded(rt, to_string(separator).join([to_string(item) for item in items if item is not None]))


@TABLE.add("CHAR_LENGTH", args=(1, 1))
def char_length(rt: Runtime, value: Value) -> int:
    return len(to_string(value))


@TABLE.add("LOWER", args=(1, 1))
def lower(rt: Runtime, value: Value) -> str:
    return to_string(value).lower()


@TABLE.add("UPPER", args=(1, 1))
def upper(rt: Runtime, value: Value) -> str:
    return to_string(value).upper()


@TABLE.add("SUBSTRING", args=(2, 3))
def substring(rt: Runtime, value: Value, offset: Value, *length: Value) -> str:
    text = to_string(value)
    start = to_integer(offset)
    if start < 0:
        start = max(len(text) + start, 0)
    if not length:
        return text[start:]
    count = to_integer(length[0])
    return text[start : start + count] if count > 0 else ""


@TABLE.add("SUBSTRING_BYTES", args=(2, 5))
def substring_bytes(
    rt: Runtime, value: Value, offset: Value, length: Value = None, left: Value = None, right: Value = None
) -> Value:
    """Cut by bytes of UTF-8, then widened by `left` and `right` characters; null inside a character."""
    data = to_string(value).encode()
    start = to_integer(offset)
    if start < 0:
        start = max(len(data) + start, 0)
    start = min(start, len(data))
    end = len(data) if length is None else min(len(data), start + max(0, to_integer(length)))
    before = to_integer(left) if left is not None else 0
    after = to_integer(right) if right is not None else before
    try:
        head, middle, tail = data[:start].decode(), data[start:end].decode(), data[end:].decode()
    except UnicodeDecodeError:
        return wrong_type(rt, "SUBSTRING_BYTES")
    return (head[-before:] if before > 0 else "") + middle + (tail[:after] if after > 0 else "")


@TABLE.add("LEFT", args=(2, 2))
def left(rt: Runtime, value: Value, count: Value) -> str:
    return to_string(value)[: max(0, to_integer(count))]


@TABLE.add("RIGHT", args=(2, 2))
def right(rt: Runtime, value: Value, count: Value) -> str:
    size = max(0, to_integer(count))
    return to_string(value)[-size:] if size else ""


@TABLE.add("TRIM", args=(1, 2))
def trim(rt: Runtime, value: Value, kind: Value = None) -> str:
    text = to_string(value)
    if type(kind) is str:
        return text.strip(kind) if kind else text
    side = to_integer(kind)
    if side == 1:
        return text.lstrip(_BLANKS)
    return text.rstrip(_BLANKS) if side == 2 else text.strip(_BLANKS)


@TABLE.add("LTRIM", args=(1, 2))
def ltrim(rt: Runtime, value: Value, chars: Value = None) -> str:
    return to_string(value).lstrip(_BLANKS if chars is None else to_string(chars))


@TABLE.add("RTRIM", args=(1, 2))
def rtrim(rt: Runtime, value: Value, chars: Value = None) -> str:
    return to_string(value).rstrip(_BLANKS if chars is None else to_string(chars))


@TABLE.add("CONTAINS", args=(2, 3))
def contains(rt: Runtime, text: Value, search: Value, return_index: Value = False) -> bool | int:
    needle = to_string(search)
    found = to_string(text).find(needle) if needle else -1  # an empty text is nowhere
    return found if truthy(return_index) else found >= 0


@TABLE.add("FIND_FIRST", args=(2, 4))
def find_first(rt: Runtime, text: Value, search: Value, start: Value = None, end: Value = None) -> int:
    whole, needle = to_string(text), to_string(search)
    first = to_integer(start) if start is not None else 0
    last = to_integer(end) if end is not None else len(whole) - 1
    if first < 0 or (end is not None and last < 0) or first > len(whole):
        return -1
    return whole.find(needle, first, min(last + 1, len(whole)))


@TABLE.add("FIND_LAST", args=(2, 4))
def find_last(rt: Runtime, text: Value, search: Value, start: Value = None, end: Value = None) -> int:
    whole, needle = to_string(text), to_string(search)
    first = to_integer(start) if start is not None else 0
    last = to_integer(end) if end is not None else len(whole) - 1
    if first < 0 or (end is not None and last < 0):
        return -1
    return whole.rfind(needle, first, min(last + 1, len(whole)))


@TABLE.add("LIKE", args=(2, 3))
def like(rt: Runtime, text: Value, search: Value, ignore_case: Value = False) -> bool:
    return patterns.like(to_string(search), truthy(ignore_case)).fullmatch(to_string(text)) is not None


def _regex(rt: Runtime, pattern: Value, ignore_case: Value) -> patterns.Regex | None:
    """A compiled expression; an invalid one is warning 1543."""
    compiled = patterns.regex(to_string(pattern), truthy(ignore_case))
    if compiled is None:
        rt.warnings.add(1543)
    return compiled


@TABLE.add("REGEX_TEST", args=(2, 3))
def regex_test(rt: Runtime, text: Value, pattern: Value, ignore_case: Value = False) -> bool | None:
    compiled = _regex(rt, pattern, ignore_case)
    return None if compiled is None else compiled.run(rt, "search", text=to_string(text)) is not None


@TABLE.add("REGEX_MATCHES", args=(2, 3))
def regex_matches(rt: Runtime, text: Value, pattern: Value, ignore_case: Value = False) -> Value:
    """The first match and its groups; null when nothing matches."""
    compiled = _regex(rt, pattern, ignore_case)
    found = compiled.run(rt, "search", text=to_string(text)) if compiled is not None else None
    return None if found is None else [found.group(), *(group or "" for group in found.groups())]


@TABLE.add("REGEX_SPLIT", args=(2, 4))
def regex_split(rt: Runtime, text: Value, pattern: Value, ignore_case: Value = False, limit: Value = None) -> Value:
    most = -1 if limit is None else to_integer(limit)
    if limit is not None and most < 0:
        return wrong_type(rt, "REGEX_SPLIT")
    if limit is not None and most == 0:
        return []
    whole = to_string(text)
    if whole == "" and to_string(pattern) == "":
        return [""]
    compiled = _regex(rt, pattern, ignore_case)
    if compiled is None:
        return None
    parts = [part or "" for part in compiled.run(rt, "split", text=whole)]
    return parts if most < 0 else parts[:most]


@TABLE.add("REGEX_REPLACE", args=(3, 4))
def regex_replace(rt: Runtime, text: Value, pattern: Value, new: Value, ignore_case: Value = False) -> Value:
    compiled = _regex(rt, pattern, ignore_case)
    if compiled is None:
        return None
    replacement = to_string(new)
    return compiled.run(rt, "sub", lambda match: patterns.replacement(replacement, match), text=to_string(text))


@TABLE.add("SPLIT", args=(1, 3))
def split(rt: Runtime, value: Value, separator: Value = None, limit: Value = None) -> Value:
    most = -1 if limit is None else to_integer(limit)
    if limit is not None and most < 0:
        return wrong_type(rt, "SPLIT")
    if most == 0:
        return []
    text = to_string(value)
    if separator is None:
        return [text]
    separators = [to_string(item) for item in separator] if type(separator) is list else [to_string(separator)]
    if text == "" and "" not in separators:
        return [""]
    if "" in separators:
        parts = [char for char in text if char not in separators]
    else:
        parts = re.split("|".join(map(re.escape, separators)), text) if separators else [text]
    return parts if most < 0 else parts[:most]


@TABLE.add("SUBSTITUTE", args=(2, 4))
def substitute(rt: Runtime, value: Value, search: Value, replace: Value = None, limit: Value = None) -> Value:
    """Replace by string, by parallel arrays or by a mapping; at most `limit` times."""
    if type(search) is dict:
        mapping = {name: to_string(new) for name, new in search.items()}
        limit = replace if limit is None else limit
    else:
        mapping = _replacements(search, replace)
    count = -1 if limit is None else to_integer(limit)
    if limit is not None and count < 0:
        return wrong_type(rt, "SUBSTITUTE")
    text = to_string(value)
    mapping.pop("", None)
    if not mapping or count == 0:
        return text
    most = min(count, len(text)) if count > 0 else 0
    rt.afford(_grown(text, mapping))
    return re.sub("|".join(map(re.escape, mapping)), lambda match: mapping[match.group()], text, count=most)


def _grown(text: str, mapping: dict[str, str]) -> int:
    """How long a text becomes at most by replacements."""
    if len(text) * max(map(len, mapping.values())) < CHUNK:
        return 0
    return len(text) + sum(max(0, text.count(old) * (len(new) - len(old))) for old, new in mapping.items())


def _replacements(search: Value, replace: Value) -> dict[str, str]:
    if type(search) is not list:
        new = (replace[0] if replace else "") if type(replace) is list else replace
        return {to_string(search): to_string(new)}
    found: dict[str, str] = {}
    for position, item in enumerate(search):
        if type(replace) is list:
            new = replace[position] if position < len(replace) else ""
        else:
            new = replace
        found.setdefault(to_string(item), to_string(new))
    return found


@TABLE.add("REPEAT", args=(2, 3))
def repeat(rt: Runtime, value: Value, count: Value, separator: Value = "") -> Value:
    text, between, times = to_string(value), to_string(separator), to_integer(count)
    if times < 0:
        return wrong_type(rt, "REPEAT")
    if (len(text) + len(between)) * times > MAX_REPEAT:
        rt.warnings.add(32)
        return None
    rt.afford((len(text) + len(between)) * times)
    return between.join([text] * times) if text or between else ""


@TABLE.add("SOUNDEX", args=(1, 1))
def soundex(rt: Runtime, value: Value) -> str:
    """The American Soundex code of the letters of a text."""
    codes = dict.fromkeys("BFPV", "1") | dict.fromkeys("CGJKQSXZ", "2") | dict.fromkeys("DT", "3")
    codes |= {"L": "4", "M": "5", "N": "5", "R": "6"}
    letters = [char for char in to_string(value).strip(_BLANKS).upper() if "A" <= char <= "Z"]
    if not letters:
        return ""
    found, last = letters[0], codes.get(letters[0], "")
    for letter in letters[1:]:
        code = codes.get(letter, "")
        if code and code != last:
            found += code
        if letter not in "HW":
            last = code
    return found[:4].ljust(4, "0")


@TABLE.add("LEVENSHTEIN_DISTANCE", args=(2, 2))
def levenshtein_distance(rt: Runtime, first: Value, second: Value) -> int:
    return damerau(to_string(first), to_string(second))


def damerau(first: str, second: str, transpositions: bool = True) -> int:
    """Edit distance with transpositions of neighbours (Lowrance and Wagner 1975), or without; 32 for very long texts."""
    if len(first) * len(second) > _MOST_CELLS:
        raise ArangoError(32, "texts too long for an edit distance")
    metrics = import_module("rapidfuzz.distance")
    distance: int = (metrics.DamerauLevenshtein if transpositions else metrics.Levenshtein).distance(first, second)
    return distance


@TABLE.add("IPV4_TO_NUMBER", args=(1, 1))
def ipv4_to_number(rt: Runtime, value: Value) -> Value:
    if type(value) is not str or IPV4.fullmatch(value) is None:
        return wrong_type(rt, "IPV4_TO_NUMBER")
    return int.from_bytes(bytes(map(int, value.split("."))), "big")


@TABLE.add("IPV4_FROM_NUMBER", args=(1, 1))
def ipv4_from_number(rt: Runtime, value: Value) -> Value:
    if type(value) not in (int, float) or not 0 <= value <= 0xFFFFFFFF or value != int(value):
        return wrong_type(rt, "IPV4_FROM_NUMBER")
    return ".".join(map(str, int(value).to_bytes(4, "big")))


@TABLE.add("RANDOM_TOKEN", args=(1, 1), deterministic=False)
def random_token(rt: Runtime, length: Value) -> str:
    size = to_integer(length)
    if not 0 <= size <= 65536:
        raise ArangoError(1542, "invalid argument type in call to function 'RANDOM_TOKEN()'")
    return "".join(secrets.choice(_ALPHANUMERIC) for _ in range(size))


@TABLE.add("UUID", args=(0, 0), deterministic=False)
def new_uuid(rt: Runtime) -> str:
    return str(uuid.uuid4())
