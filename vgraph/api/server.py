"""FastAPI over one open graph: `/health /documents /cameras /search /ask /frames`."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import FileResponse, JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict, Field

from vgraph import __version__
from vgraph.app import VGraph, to_json
from vgraph.errors import MediaError, ModelError, NotFoundError, StoreError, Unavailable, UserError, VGraphError
from vgraph.settings import Settings

STATUS: tuple[tuple[type[VGraphError], int], ...] = (
    (NotFoundError, 404),
    (UserError, 422),
    (MediaError, 422),
    (ModelError, 502),
    (Unavailable, 503),
    (StoreError, 500),
)


class Query(BaseModel):
    """A question and what may be looked at. Times are ISO 8601; naive ones are in the cameras' zone."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(min_length=1, max_length=10_000, examples=["Who handed over the parcel at the dock?"])
    cameras: list[str] | None = Field(None, max_length=1000, description="Labels or keys; null is all.")
    documents: list[str] | None = Field(None, max_length=1000)
    start: str | None = Field(None, description="Only what was recorded from this time on.")
    end: str | None = Field(None, description="Only what was recorded before this time.")
    not_after: str | None = Field(None, description="Nothing recorded after this time may influence the result.")
    k: int | None = Field(None, ge=1, le=200)


class Problem(BaseModel):
    error: str
    kind: str


bearer = HTTPBearer(auto_error=False)
PROBLEMS: dict[int | str, dict[str, Any]] = {code: {"model": Problem} for code in (401, 404, 422, 500, 502, 503)}


def create(graph: VGraph, token: str | None = None) -> FastAPI:
    """The application. With a token every path but /health needs `Authorization: Bearer <token>`."""

    def authorised(given: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]) -> None:
        if token is not None and not (given and hmac.compare_digest(given.credentials.encode(), token.encode())):
            raise HTTPException(401, "a bearer token is needed", {"WWW-Authenticate": "Bearer"})

    api = FastAPI(title="vgraph", version=__version__, responses=PROBLEMS)
    guarded = [Depends(authorised)]
    for error, status in STATUS:
        api.add_exception_handler(error, _problem(status))

    @api.get("/health")
    def health() -> Response:
        """Alive, and the database answers."""
        facts = graph.info()
        return _json({"status": "ok", "version": __version__, "arangodb": facts["arangodb"]})

    @api.get("/documents", dependencies=guarded)
    def documents() -> Response:
        """Everything that was ingested."""
        return _json(graph.documents())

    @api.get("/cameras", dependencies=guarded)
    def cameras() -> Response:
        """The cameras and how much of each is in the graph."""
        return _json(graph.cameras())

    @api.post("/search", dependencies=guarded)
    def search(query: Query) -> Response:
        """Evidence for a question, not an answer."""
        return _json(graph.search(query.question, _filters(graph, query), k=query.k))

    @api.post("/ask", dependencies=guarded)
    def ask(query: Query) -> Response:
        """An answer whose every claim cites chunk, camera, time and clip."""
        return _json(graph.ask(query.question, _filters(graph, query), k=query.k))

    @api.get("/frames/{asset:path}", dependencies=guarded, response_class=FileResponse)
    def frame(asset: str) -> FileResponse:
        """A stored frame (JPEG), by the name citations give."""
        path = graph.assets.path(asset)
        if not path.is_file():
            raise NotFoundError(f"no frame {asset!r}")
        return FileResponse(path, media_type="image/jpeg")

    return api


def _filters(graph: VGraph, query: Query) -> Any:
    return graph.filters(
        cameras=query.cameras, documents=query.documents, start=query.start, end=query.end, not_after=query.not_after
    )


def _json(value: Any) -> Response:
    return Response(to_json(value, indent=False), media_type="application/json")


def _problem(status: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def handler(request: Request, error: Exception) -> Response:
        return JSONResponse({"error": str(error), "kind": type(error).__name__}, status)

    return handler


def run(settings: Settings, *, host: str | None = None, port: int | None = None) -> None:
    """Serve until interrupted. Raises UserError for an address that is not loopback without a token."""
    import uvicorn

    address, number = host or settings.serve.host, settings.serve.port if port is None else port
    token = settings.serve.token.get_secret_value() if settings.serve.token else None
    if token is None and not _loopback(address):
        raise UserError(f"{address} can be reached from outside: set VGRAPH_SERVE__TOKEN, or serve on 127.0.0.1")
    with VGraph.open(settings) as graph:
        uvicorn.run(create(graph, token), host=address, port=number, log_level="warning")


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
