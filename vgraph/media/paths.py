"""Which files may be opened."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from vgraph.errors import UserError

_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:/")
"""One slash is enough: that is what a Path keeps of two."""


def checked_path(path: Path | str, roots: Iterable[Path] = ()) -> Path:
    """The absolute path of a file that may be opened.

    Without roots (the caller's own shell) any path is taken as it is. With roots, links are resolved and what they lead
    to must lie inside a root. The file need not exist. Raises UserError for a URL, an empty path, or one outside.
    """
    text = str(path)
    if _URL.match(text):
        raise UserError(
            f"{text}: this is an address: `vgraph watch` reads streams; to ingest a video give the path of its file"
        )
    if not text.strip() or "\0" in text:
        raise UserError(f"{text!r} is not a path of a file")
    allowed = tuple(roots)
    return _inside(Path(text), allowed) if allowed else Path(text).absolute()


def _inside(path: Path, roots: tuple[Path, ...]) -> Path:
    try:
        real, real_roots = path.resolve(), [root.resolve() for root in roots]
    except (OSError, RuntimeError) as error:
        raise UserError(f"{path} leads nowhere (a loop of links?)") from error
    if not any(real.is_relative_to(root) for root in real_roots):
        names = ", ".join(str(root) for root in roots)
        raise UserError(f"{path} lies outside the folders that may be read ({names})")
    return real
