"""Document keys and identifiers: what is allowed, and the four key generators.

Source: ArangoDB documentation, "Document keys", "User-specified keys" and "Key generators".
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from vgraph.embedded.errors import ArangoError

if TYPE_CHECKING:
    from vgraph.embedded.catalog import CollectionInfo
    from vgraph.embedded.engine import Transaction

MAX_LENGTH: Final = 254
_LETTERS: Final = r"[A-Za-z0-9_\-:.@()+,=;$!*'%]{1,254}"
_is_key = re.compile(_LETTERS, re.ASCII).fullmatch
_is_id = re.compile(f"[^/]+/{_LETTERS}", re.ASCII).fullmatch
_are_keys = re.compile(rf"{_LETTERS}(?:\n{_LETTERS})*+", re.ASCII).fullmatch
_are_ids = re.compile(rf"[^/\n]+/{_LETTERS}(?:\n[^/\n]+/{_LETTERS})*+", re.ASCII).fullmatch
GENERATORS: Final = ("padded", "uuid", "autoincrement", "traditional")
_COUNTING: Final = ("traditional", "autoincrement")
_LARGEST: Final = 2**63 - 1
_LARGEST_GIVEN: Final = 2**64 - 1  # counted as _LARGEST: no key follows it
_MAX_INCREMENT: Final = 2**16 - 1


def check_key(key: Any) -> str:
    """The key itself when it is one; 1221."""
    if type(key) is not str or _is_key(key) is None:
        raise ArangoError(1221)
    return key


def is_key(value: Any) -> bool:
    """Whether a value may be a document key."""
    return type(value) is str and _is_key(value) is not None


def is_id(value: Any) -> bool:
    """Whether a value is a document identifier: collection/key."""
    return type(value) is str and _is_id(value) is not None


def are_keys(values: Sequence[Any]) -> bool:
    """Whether all values may be document keys, asked at once."""
    return _all_match(_are_keys, values)


def are_ids(values: Sequence[Any]) -> bool:
    """Whether all values are document identifiers, asked at once."""
    return _all_match(_are_ids, values)


def _all_match(lines: Callable[[str], Any], values: Sequence[Any]) -> bool:
    if set(map(type, values)) != {str}:
        return not values
    text = "\n".join(values)
    return text.count("\n") == len(values) - 1 and lines(text) is not None


def split_id(value: str) -> tuple[str, str]:
    """Collection and key of an identifier; 1205."""
    if not is_id(value):
        raise ArangoError(1205)
    collection, _, key = value.partition("/")
    return collection, key


def normalise_options(options: Any) -> dict[str, Any]:
    """A collection's `keyOptions` with defaults; 1232."""
    options = options or {}
    if not isinstance(options, dict):
        raise ArangoError(1232)
    kind = options.get("type") or "traditional"
    if kind not in GENERATORS:
        raise ArangoError(1232)
    result: dict[str, Any] = {"allowUserKeys": bool(options.get("allowUserKeys", True)), "type": kind}
    if kind == "autoincrement":
        result["offset"] = _whole(options.get("offset", 0), lowest=0)
        result["increment"] = _whole(options.get("increment", 1), lowest=1, highest=_MAX_INCREMENT)
    return result


def _whole(value: Any, *, lowest: int, highest: int = _LARGEST) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise ArangoError(1232)
    return value


def generate(txn: Transaction, info: CollectionInfo) -> str:
    """The next key of the collection's generator."""
    options = info.properties["keyOptions"]
    kind = options["type"]
    if kind == "traditional":
        key = max(txn.next_tick(), txn.last_key(info.id) + 1)
        if key > _LARGEST:
            raise ArangoError(1225)
        txn.remember_key(info.id, key)
        return str(key)
    if kind == "autoincrement":
        key = _next_step(txn.last_key(info.id), options["offset"], options["increment"])
        txn.remember_key(info.id, key)
        return str(key)
    if kind == "padded":
        return f"{txn.next_tick():016x}"
    return str(uuid.uuid4())


def _next_step(last: int, offset: int, increment: int) -> int:
    """The smallest offset + n * increment above `last`."""
    if last < offset:
        return offset
    key = last + increment - (last - offset) % increment
    if key > _LARGEST:
        raise ArangoError(1225)
    return key


def accept(txn: Transaction, info: CollectionInfo, key: Any) -> str:
    """A key given by the user: checked, and remembered by generators that count; 1221 (also of letters in a collection
    of counted keys), 1222."""
    check_key(key)
    options = info.properties["keyOptions"]
    if not options["allowUserKeys"]:
        raise ArangoError(1222)
    if options["type"] in _COUNTING:
        if key[0] in "0123456789" and key.isdigit():
            txn.remember_key(info.id, _counted(int(key)))
        elif options["type"] == "autoincrement":
            raise ArangoError(1221)
    return str(key)


def accept_all(txn: Transaction, info: CollectionInfo, names: Sequence[Any]) -> bool:
    """Accept keys given by the user all at once; False, and nothing is remembered, when one of them cannot be."""
    options = info.properties["keyOptions"]
    if not options["allowUserKeys"] or not are_keys(names):
        return False
    if options["type"] in _COUNTING:
        numbers = [int(key) for key in names if key[0] in "0123456789" and key.isdigit()]
        if options["type"] == "autoincrement" and len(numbers) < len(names):
            return False
        highest = max(map(_counted, numbers), default=0)
        if highest:
            txn.remember_key(info.id, highest)
    return True


def _counted(number: int) -> int:
    """What a generator remembers of a numeric key given by the user: nothing of one beyond 64 bits."""
    return min(number, _LARGEST) if number <= _LARGEST_GIVEN else 0
