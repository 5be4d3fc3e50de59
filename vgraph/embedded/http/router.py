"""Which function answers which method and path. Each family of endpoints fills one `Routes`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vgraph.embedded.errors import ArangoError
from vgraph.embedded.http.wire import Answer, Request

if TYPE_CHECKING:
    from vgraph.embedded.http.context import Context

Handler = Callable[..., Answer]


class Routes:
    """Patterns like `/_api/index/{collection}/{index}`; a part in braces becomes a keyword argument of the function."""

    def __init__(self) -> None:
        self._by_shape: dict[tuple[str, int], list[tuple[list[str], Handler]]] = {}
        self._fixed: dict[tuple[str, str], Handler] = {}
        self._paths: list[list[str]] = []

    def on(self, methods: str, pattern: str) -> Callable[[Handler], Handler]:
        """Register a function for one or more methods (`"PUT PATCH"`)."""

        def register(handler: Handler) -> Handler:
            parts = pattern.strip("/").split("/")
            self._paths.append(parts)
            for method in methods.split():
                if "{" not in pattern:
                    self._fixed[method, pattern] = handler
                self._by_shape.setdefault((method, len(parts)), []).append((parts, handler))
            return handler

        return register

    def include(self, other: Routes) -> None:
        """Take over the routes of a family."""
        self._fixed.update(other._fixed)
        self._paths += other._paths
        for shape, entries in other._by_shape.items():
            self._by_shape.setdefault(shape, []).extend(entries)

    def answer(self, context: Context, request: Request) -> Answer:
        """Find the function and call it; 404 and 405. HEAD is answered like GET where there is nothing of its own."""
        found = self._find(request.method, request)
        if found is None and request.method == "HEAD":
            found = self._find("GET", request)
        if found is not None:
            handler, values = found
            return handler(context, **values)
        parts = request.parts
        if any(len(pattern) == len(parts) and _match(pattern, parts) is not None for pattern in self._paths):
            raise ArangoError(405)
        raise ArangoError(404, f"unknown path '{request.path}'")

    def _find(self, method: str, request: Request) -> tuple[Handler, dict[str, Any]] | None:
        handler = self._fixed.get((method, request.path))
        if handler is not None:
            return handler, {}
        parts = request.parts
        for pattern, candidate in self._by_shape.get((method, len(parts)), ()):
            values = _match(pattern, parts)
            if values is not None:
                return candidate, values
        return None


def _match(pattern: list[str], parts: list[str]) -> dict[str, Any] | None:
    values: dict[str, Any] = {}
    for expected, part in zip(pattern, parts, strict=True):
        if expected[:1] == "{":
            values[expected[1:-1]] = part
        elif expected != part:
            return None
    return values
