"""A client of the HTTP API, for Python programs that do not open the database themselves."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

import httpx

from vgraph.errors import NotFoundError, Unavailable, UserError, VGraphError


class Client:
    """Talks to `vgraph serve`. Answers are plain JSON values in the shapes of `vgraph.types`.

    >>> with Client("http://127.0.0.1:8000") as client:                             # doctest: +SKIP
    ...     print(client.ask("Who handed over the parcel?")["text"])
    """

    def __init__(self, url: str, token: str | None = None, *, timeout_s: float = 120.0) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout_s)

    def health(self) -> dict[str, Any]:
        return dict(self._call("GET", "/health"))

    def documents(self) -> list[dict[str, Any]]:
        return list(self._call("GET", "/documents"))

    def cameras(self) -> list[dict[str, Any]]:
        return list(self._call("GET", "/cameras"))

    def search(self, question: str, **filters: Sequence[str] | str | int | None) -> dict[str, Any]:
        """Evidence; filters are `cameras documents start end not_after k`."""
        return dict(self._call("POST", "/search", {"question": question, **filters}))

    def ask(self, question: str, **filters: Sequence[str] | str | int | None) -> dict[str, Any]:
        """An answer with its claims, citations and evidence; filters as in `search`."""
        return dict(self._call("POST", "/ask", {"question": question, **filters}))

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        try:
            response = self._http.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise Unavailable(f"{method} {path}: no answer from {self._http.base_url} ({error})") from error
        if response.is_success:
            return response.json()
        raise _refusal(response)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _refusal(response: httpx.Response) -> VGraphError:
    """The server's own words, as the kind of error its status stands for."""
    try:
        body = response.json()
        text = body.get("error") or body.get("detail") or response.text
    except ValueError:
        text = response.text
    message = f"{response.request.method} {response.request.url.path}: {text} (HTTP {response.status_code})"
    kinds: dict[int, type[VGraphError]] = {401: UserError, 404: NotFoundError, 422: UserError, 503: Unavailable}
    return kinds.get(response.status_code, VGraphError)(message)
