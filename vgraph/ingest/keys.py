"""Keys from content: the same input gives the same key on every machine, in every process."""

from __future__ import annotations

import re
import unicodedata
from hashlib import blake2b

from vgraph.types import Mention

_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


def content_key(*parts: str | int) -> str:
    """24 hex digits of BLAKE2b over the parts, each preceded by its length so that ("ab", "c") differs from ("a", "bc")."""
    digest = blake2b(digest_size=12)
    for part in parts:
        data = str(part).encode("utf-8", "surrogatepass")
        digest.update(f"{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()


def normal_name(name: str) -> str:
    """A name as compared: NFKC, case folded, white space collapsed."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def camera_key(label: str) -> str:
    """The label itself where it is a plain word (`dock-1`), else a readable stem with a hash."""
    plain = normal_name(label).replace(" ", "-")
    if _PLAIN.fullmatch(plain):
        return plain
    stem = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:32] or "camera"
    return f"{stem}-{content_key('camera', normal_name(label))[:8]}"


def document_key(content_hash: str, camera: str) -> str:
    return content_key("document", content_hash, camera)


def chunk_key(document: str, offset_ms: int) -> str:
    """Sorts by time within its document."""
    return f"{document}-{offset_ms:010d}"


def entity_key(mention: Mention) -> str:
    """By stable identity where the source knows one, else by type and name."""
    identity = f"id={mention.id}" if mention.id is not None else f"name={normal_name(mention.name)}"
    return content_key("entity", mention.type, identity)


def edge_key(source: str, kind: str, target: str, start_ms: int | str = "") -> str:
    return content_key(source, kind, target, start_ms)
