"""A client of the HTTP API, for Python programs that do not open the database themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Final
from urllib.parse import quote

import httpx

from vgraph.errors import MediaError, ModelError, NotFoundError, StoreError, Unavailable, UserError, VGraphError

Filter = Sequence[str] | Sequence[str | int] | str | int | None

KINDS: Final[dict[int, type[VGraphError]]] = {404: NotFoundError, 500: StoreError, 502: ModelError, 503: Unavailable}
"""The error a status stands for; the others below 500 are the caller's own (UserError)."""
NAMED: Final = {
    kind.__name__: kind for kind in (MediaError, ModelError, NotFoundError, StoreError, Unavailable, UserError)
}


class Client:
    """Talks to `vgraph serve`. Answers are plain JSON values in the shapes of `vgraph.types`. Threads may share one.

    Raises what the graph itself would raise: UserError, NotFoundError, ModelError, StoreError; Unavailable when nobody answers.

    >>> with Client("http://127.0.0.1:8000") as client:                             # doctest: +SKIP
    ...     print(client.ask("Who handed over the parcel?")["text"])
    """

    def __init__(self, url: str, token: str | None = None, *, timeout_s: float = 120.0) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout_s)
        except (httpx.InvalidURL, UnicodeError) as error:
            raise UserError(f"{url!r} is not the address of a server: use http://host:8000 ({error})") from None

    def health(self) -> dict[str, Any]:
        return dict(self._json("GET", "/health"))

    def documents(self) -> list[dict[str, Any]]:
        return list(self._json("GET", "/documents"))

    def cameras(self) -> list[dict[str, Any]]:
        return list(self._json("GET", "/cameras"))

    def search(self, question: str, **filters: Filter) -> dict[str, Any]:
        """Evidence; filters are those of VGraph.filters (`cameras documents start end not_after places tags entities entity_types
        relation_types modalities speakers time_of_day weekdays as_of`), and `k`; further `profile hops neighbours fusion rerank mmr
        intent intent_threshold token_budget order pack`.
        """
        return dict(self._json("POST", "/search", {"question": question, **filters}))

    def ask(self, question: str, **filters: Filter) -> dict[str, Any]:
        """An answer with its claims, citations and evidence; filters as in `search`, and `agent`, `choices`, `follow` (a run)."""
        return dict(self._json("POST", "/ask", {"question": question, **filters}))

    def relations(self, **asked: Filter) -> dict[str, Any]:
        """Who has to do with whom, each hit with its level: `source relations target source_types target_types either_way`, the span asked
        about (`asked_start asked_end`), what may be looked at (`cameras documents start end not_after as_of`), `form` and `enough`.
        """
        return dict(self._json("POST", "/relations", asked))

    def subgraph(self, question: str, **filters: Filter) -> dict[str, Any]:
        """The part of the graph around a question: filters and `k` as in `search`, and `hops edges nodes`."""
        return dict(self._json("POST", "/subgraph", {"question": question, **filters}))

    def run(self, question: str, **filters: Filter) -> Iterator[tuple[str, dict[str, Any]]]:
        """The steps of an answer as they are made: ("step", step) each, last ("answer", answer). Filters as in `ask`."""
        body = {"question": question, **filters}
        try:
            with self._http.stream("POST", "/ask", json=body, headers={"Accept": "text/event-stream"}) as response:
                if not response.is_success:
                    response.read()
                    raise _refusal(response)
                yield from _events(response.iter_lines())
        except httpx.HTTPError as error:
            raise Unavailable(f"POST /ask: no answer from {self._http.base_url} ({error})") from error

    def runs(self, limit: int = 20) -> list[dict[str, Any]]:
        """The latest questions that were asked."""
        return list(self._json("GET", f"/runs?limit={limit}"))

    def read_run(self, key: str) -> dict[str, Any]:
        """A run whole: {run, cited}."""
        return dict(self._json("GET", f"/runs/{quote(key, safe='')}"))

    def frame(self, asset: str) -> bytes:
        """The JPEG of a citation's `frame`."""
        return self._call("GET", f"/frames/{quote(asset)}").content

    def _json(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        response = self._call(method, path, body)
        try:
            return response.json()
        except ValueError:
            raise Unavailable(f"{method} {response.url}: something answers, but it is not vgraph") from None

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        try:
            response = self._http.request(method, path, json=body)
        except httpx.UnsupportedProtocol as error:
            raise UserError(
                f"{str(self._http.base_url)!r} is not the address of a server: use http://host:8000"
            ) from error
        except httpx.HTTPError as error:
            raise Unavailable(f"{method} {path}: no answer from {self._http.base_url} ({error})") from error
        if response.is_success:
            return response
        raise _refusal(response)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _events(lines: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Server-sent events by name. Raises what the event `error` tells of."""
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            value = json.loads(line.removeprefix("data: "))
            if name == "error":
                raise NAMED.get(value["kind"], VGraphError)(value["error"])
            yield name, value


def _refusal(response: httpx.Response) -> VGraphError:
    """The server's own words, as the error it met; `kind` in its answer is more exact than the status where both say something."""
    text, kind = _problem(response)
    message = f"{response.request.method} {response.request.url.path}: {text} (HTTP {response.status_code})"
    if kind == MediaError.__name__:
        return MediaError(message)
    others: type[VGraphError] = UserError if response.status_code < 500 else VGraphError
    return KINDS.get(response.status_code, others)(message)


def _problem(response: httpx.Response) -> tuple[str, str]:
    """`error` and `kind` of the answer; of one that is not ours, its text."""
    try:
        body = response.json()
        return str(body["error"]), str(body["kind"])
    except (ValueError, KeyError, TypeError):
        return response.text[:200], ""
