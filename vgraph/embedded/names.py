"""What databases, collections, views and indexes may be called.

Source: ArangoDB documentation, "Database names", "Collection names", "View names" (extended names, the default since 3.12).
"""

import unicodedata
from typing import Final

from vgraph.embedded.errors import ArangoError

_LONGEST_DATABASE: Final = 128
_LONGEST: Final = 256


def check_database(name: object) -> str:
    """A database name; 1208."""
    if isinstance(name, str) and name == "_system":
        return name
    if not isinstance(name, str) or not _is_extended(name, _LONGEST_DATABASE) or name[0] == "_" or ":" in name:
        raise ArangoError(1208)
    return name


def check_collection(name: object, *, system: bool = False) -> str:
    """A collection or view name; 1208. Only system collections start with an underscore."""
    if not isinstance(name, str) or not _is_extended(name, _LONGEST) or (name[0] == "_" and not system):
        raise ArangoError(1208)
    return name


def check_index(name: object) -> str:
    """An index name; 1208."""
    if not isinstance(name, str) or not _is_extended(name, _LONGEST) or ":" in name:
        raise ArangoError(1208)
    return name


def _is_extended(name: str, longest: int) -> bool:
    return (
        0 < len(name.encode("utf-8", "replace")) <= longest
        and not name[0].isdigit()
        and name[0] not in " ."
        and name[-1] != " "
        and "/" not in name
        and all(ord(letter) >= 32 and ord(letter) != 127 for letter in name)
        and unicodedata.is_normalized("NFC", name)
    )
