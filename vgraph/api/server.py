"""FastAPI over one open graph: `/health /documents /cameras /search /ask /relations /subgraph /frames`.

It is described by `/docs` and `/openapi.json`.

Whatever goes wrong is answered as {error, kind} in JSON with the status that says whose fault it is.
"""

from __future__ import annotations

import hmac
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from http import HTTPStatus
from typing import Annotated, Any, Final, Literal, cast

import uvicorn
from fastapi import Depends, FastAPI, Header, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException as StarletteHTTPException

from vgraph import __version__
from vgraph.api.gate import Gate, Limit, is_loopback
from vgraph.api.page import add_page
from vgraph.app import Agent, FinalAnswer, How, RelationQuery, Step, VGraph, step_record, to_json
from vgraph.errors import MediaError, ModelError, NotFoundError, StoreError, Unavailable, UserError, VGraphError
from vgraph.settings import Settings
from vgraph.types import Filters

STATUS: Final[tuple[tuple[type[VGraphError], int], ...]] = (
    (NotFoundError, 404),
    (UserError, 422),
    (MediaError, 422),
    (ModelError, 502),
    (Unavailable, 503),
    (StoreError, 500),
    (VGraphError, 500),
)
EVENTS: Final = "text/event-stream"
UNFORESEEN: Final = "an error nobody foresaw; the server's log tells more"
MAX_BODY: Final = 1 << 20
"""Bytes; a question with a thousand cameras fits many times."""


Words = Annotated[list[str] | None, Field(max_length=1000)]


class Query(BaseModel):
    """A question and what may be looked at. Times are ISO 8601; naive ones are in the cameras' zone."""

    model_config = ConfigDict(extra="forbid", strict=True)

    question: str = Field(min_length=1, max_length=10_000, examples=["Who handed over the parcel at the dock?"])
    cameras: list[str] | None = Field(None, max_length=1000, description="Labels or keys; null is all.")
    documents: list[str] | None = Field(None, max_length=1000, description="Keys; null is all.")
    start: str | None = Field(None, description="Only what was recorded from this time on.")
    end: str | None = Field(None, description="Only what was recorded before this time.")
    not_after: str | None = Field(None, description="Nothing recorded after this time may influence the result.")
    as_of: str | None = Field(None, description="Only what the graph had learnt by this time.")
    places: Words = Field(None, description="Places of cameras.")
    tags: Words = Field(None, description="Tags of documents.")
    entities: Words = Field(None, description="Names or keys: only where one of them occurs.")
    entity_types: Words = Field(None, description="Only where an entity of one of these types occurs.")
    relation_types: Words = Field(None, description="Only where a relation of one of these types is stated.")
    modalities: Words = Field(None, description="caption, speech, ocr, detection, fused.")
    speakers: Words = Field(None, description="Only where one of them speaks.")
    time_of_day: str | None = Field(None, description="In the cameras' zones, such as 22:00-06:00.")
    weekdays: Annotated[list[str | int] | None, Field(max_length=7)] = Field(
        None, description="In the cameras' zones: names, or 1 (Monday) to 7."
    )
    k: int | None = Field(None, ge=1, le=200, description="How many chunks to find; null is the server's own number.")


FILTERS: Final = set(Query.model_fields) - {"question", "k"}
HowFar = Annotated[int | None, Field(ge=0, le=4)]
Most = Annotated[int | None, Field(ge=1, le=5000)]


class Search(Query):
    """A question, what may be looked at, and how: null is what the server's settings (`retrieve.*`) say."""

    profile: Literal["chunks", "entities", "clips", "summaries", "rank", "relations", "graph", "auto"] | None = None
    hops: HowFar = Field(None, description="How far relations are followed.")
    neighbours: Annotated[int | None, Field(ge=0, le=100)] = Field(None, description="Chunks before and after a hit.")
    fusion: Literal["rrf", "weighted"] | None = None
    rerank: Annotated[int | None, Field(ge=0, le=1000)] = Field(None, description="Candidates a reranker reads.")
    mmr: Annotated[float | None, Field(ge=0, le=1)] = Field(None, description="Weight of relevance against novelty.")
    intent: Literal["none", "frames", "captions"] | None = Field(None, description="What the server's rater looks at.")
    intent_threshold: Annotated[float | None, Field(ge=1, le=5)] = None
    token_budget: Annotated[int | None, Field(ge=200, le=1_000_000)] = Field(None, description="Most tokens of `text`.")
    order: Literal["time", "score"] | None = Field(None, description="Order of the lines in `text`.")
    pack: Literal["text", "json", "messages"] | None = Field(None, description="Form of `text`.")


class Surroundings(Query):
    """A question, what may be looked at, and how large a subgraph is wanted."""

    hops: HowFar = None
    edges: Annotated[list[str] | None, Field(max_length=20)] = Field(None, description="Kinds of edges to follow.")
    nodes: Most = None


class Asked(BaseModel):
    """Who has to do with whom and how; at least one of source, relations and target. Times are ISO 8601."""

    model_config = ConfigDict(extra="forbid", strict=True)

    source: str | None = Field(None, max_length=1000)
    relations: Words = None
    target: str | None = Field(None, max_length=1000)
    source_types: Words = None
    target_types: Words = None
    either_way: bool = False
    asked_start: str | None = Field(None, description="The span asked about, which looser levels widen.")
    asked_end: str | None = None
    cameras: list[str] | None = Field(None, max_length=1000)
    documents: list[str] | None = Field(None, max_length=1000)
    start: str | None = Field(None, description="Nothing earlier is looked at.")
    end: str | None = Field(None, description="Nothing later is looked at.")
    not_after: str | None = None
    as_of: str | None = None
    form: Literal["window", "days"] | None = None
    enough: Most = None


class Question(Query):
    """A question to be answered, as /search takes it, and how to go about it."""

    agent: Agent | None = Field(None, description="direct, plan, divide or auto; null is the server's own.")
    choices: list[str] | None = Field(None, max_length=26, description="The options of a multiple-choice question.")
    follow: str | None = Field(None, max_length=254, description="The run that the question goes on from.")


class Problem(BaseModel):
    """What went wrong, and the kind of error (see `vgraph.errors`)."""

    error: str
    kind: str


bearer = HTTPBearer(auto_error=False)
PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {
    code: {"model": Problem} for code in (400, 401, 403, 404, 413, 421, 422, 500, 502, 503)
}


def create(graph: VGraph, token: str | None = None, *, local: bool = False) -> FastAPI:
    """The application. With a token every path but /health, /docs and /openapi.json needs `Authorization: Bearer <token>`.

    `local`: only requests to a loopback name, and from no page of another origin, are answered (see `gate`).
    """

    def authorised(given: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]) -> None:
        if token is not None and not (given and hmac.compare_digest(given.credentials.encode(), token.encode())):
            raise HTTPException(401, "a bearer token is needed", {"WWW-Authenticate": "Bearer"})

    api = FastAPI(title="vgraph", version=__version__, responses=PROBLEMS, redoc_url=None)
    guarded = [Depends(authorised)]
    _explain_errors(api)
    add_page(api)
    api.add_middleware(Limit, most=MAX_BODY)
    if local:
        api.add_middleware(Gate)

    @api.get("/health")
    def health() -> Response:
        """Alive, and the database answers."""
        return _json({"status": "ok", "version": __version__, "arangodb": graph.info()["arangodb"]})

    @api.get("/documents", dependencies=guarded)
    def documents() -> Response:
        """Everything that was ingested."""
        return _json(graph.documents())

    @api.get("/cameras", dependencies=guarded)
    def cameras() -> Response:
        """The cameras and how much of each is in the graph."""
        return _json(graph.cameras())

    @api.post("/search", dependencies=guarded)
    def search(query: Search) -> Response:
        """Evidence for a question, not an answer."""
        return _json(graph.search(query.question, _filters(graph, query), **_how(query)))

    @api.post("/relations", dependencies=guarded)
    def relations(asked: Asked) -> Response:
        """Who has to do with whom, strict levels first; evidence by meaning and words where no level finds any."""
        bounds = graph.filters(
            **asked.model_dump(include={"cameras", "documents", "start", "end", "not_after", "as_of"})
        )
        span = graph.filters(cameras=asked.cameras, start=asked.asked_start, end=asked.asked_end)
        query = RelationQuery(
            asked.source, asked.target, _tuple(asked.relations), _tuple(asked.source_types), _tuple(asked.target_types),
            asked.either_way,
        )  # fmt: skip
        when = (span.start_ms, span.end_ms)
        return _json(graph.relations(query, bounds, when=when, form=asked.form, enough=asked.enough))

    @api.post("/subgraph", dependencies=guarded)
    def subgraph(query: Surroundings) -> Response:
        """The part of the graph around a question as graph neural networks take it."""
        found = graph.subgraph(
            query.question, _filters(graph, query), k=query.k, hops=query.hops, graph_edges=_tuple(query.edges),
            graph_nodes=query.nodes,
        )  # fmt: skip
        return _json(found)

    @api.post("/ask", dependencies=guarded)
    def ask(question: Question, accept: Annotated[str, Header()] = "") -> Response:
        """An answer whose every claim cites chunk, camera, time and clip.

        With `Accept: text/event-stream` its steps come as server-sent events as they are made: `step`, last `answer`, or `error`.
        """
        filters, chosen = _filters(graph, question), tuple(question.choices or ())
        how: dict[str, Any] = {"agent": question.agent, "choices": chosen, "follow": question.follow, "k": question.k}
        if EVENTS in accept:
            return StreamingResponse(_events(graph.run(question.question, filters, **how)), media_type=EVENTS)
        return _json(graph.ask(question.question, filters, **how))

    @api.get("/runs", dependencies=guarded)
    def runs(limit: Annotated[int, Field(ge=1, le=1000)] = 20) -> Response:
        """The latest questions that were asked."""
        return _json(graph.runs(limit))

    @api.get("/runs/{run}", dependencies=guarded)
    def read_run(run: str) -> Response:
        """A run whole: its steps, claims and cost, and which of the clips it cites are still there."""
        return _json(graph.read_run(run))

    @api.get("/frames/{asset:path}", dependencies=guarded, response_class=FileResponse)
    def frame(asset: str) -> FileResponse:
        """A stored frame (JPEG), by the name citations give."""
        path = graph.assets.path(asset)
        if not path.is_file():
            raise NotFoundError(f"no frame {asset!r}")
        return FileResponse(path, media_type="image/jpeg")

    return api


def _filters(graph: VGraph, query: Query) -> Filters:
    return graph.filters(**query.model_dump(include=FILTERS))


def _how(query: Search) -> How:
    names = {"k", *(set(Search.model_fields) - set(Query.model_fields))}
    return cast("How", query.model_dump(include=names))


def _tuple(values: list[str] | None) -> tuple[str, ...] | None:
    return tuple(values) if values else None


def _events(steps: Iterator[Step]) -> Iterator[bytes]:
    """Steps as server-sent events; an error on the way is the last of them, told as it is without a stream."""
    try:
        for step in steps:
            last = isinstance(step, FinalAnswer)
            yield _event(
                "answer" if last else "step", step.answer if isinstance(step, FinalAnswer) else step_record(step)
            )
    except VGraphError as error:
        yield _event("error", {"error": str(error), "kind": type(error).__name__})
    except Exception as error:  # told as without a stream, and raised for the server's log
        yield _event("error", {"error": UNFORESEEN, "kind": type(error).__name__})
        raise


def _event(name: str, value: Any) -> bytes:
    return f"event: {name}\ndata: {to_json(value, indent=False)}\n\n".encode()


def _json(value: Any) -> Response:
    return Response(to_json(value, indent=False), media_type="application/json")


# --- errors -------------------------------------------------------------------------------------------------------------


def _explain_errors(api: FastAPI) -> None:
    """Every error as a Problem: vgraph's own, those of HTTP, and those nobody foresaw."""
    for error, status in STATUS:
        api.add_exception_handler(error, _answer(status))
    api.add_exception_handler(RequestValidationError, _invalid)
    api.add_exception_handler(StarletteHTTPException, _refused)
    api.add_exception_handler(Exception, _unforeseen)


def _answer(status: int) -> Callable[[Request, Exception], Response]:
    return lambda request, error: _problem(status, str(error), type(error).__name__)


def _invalid(request: Request, error: Exception) -> Response:
    """A body or parameter of the wrong form: every wrong field by its name, without repeating its value."""
    items = error.errors() if isinstance(error, RequestValidationError) else []
    fields = [f"{'.'.join(str(part) for part in item['loc'][1:]) or 'body'}: {item['msg']}" for item in items]
    if "json" not in request.headers.get("content-type", "json"):
        fields.append("send it with Content-Type: application/json")
    return _problem(422, "; ".join(fields), UserError.__name__)


def _refused(request: Request, error: Exception) -> Response:
    """No such path, another method, no token."""
    assert isinstance(error, StarletteHTTPException)
    kind = "".join(word.capitalize() for word in HTTPStatus(error.status_code).phrase.split())
    return _problem(error.status_code, str(error.detail), kind, error.headers)


def _unforeseen(request: Request, error: Exception) -> Response:
    """The server's log has the traceback; the caller gets the kind only."""
    return _problem(500, UNFORESEEN, type(error).__name__)


def _problem(status: int, error: str, kind: str, headers: Any = None) -> Response:
    text = error.encode(errors="backslashreplace").decode()
    return JSONResponse({"error": text, "kind": kind}, status, headers)


# --- serving ------------------------------------------------------------------------------------------------------------


def run(
    settings: Settings, *, host: str | None = None, port: int | None = None, listening: Callable[..., None]
) -> None:
    """Serve until interrupted; `listening(url, guarded=…)` is called once requests are accepted.

    Raises UserError for an address that is not loopback without a token, and for one that cannot be listened on.
    """
    address, number = host or settings.serve.host, settings.serve.port if port is None else port
    token = settings.serve.token.get_secret_value() if settings.serve.token else None
    if not token and not is_loopback(address):
        raise UserError(f"{address} can be reached from outside: set VGRAPH_SERVE__TOKEN, or serve on 127.0.0.1")
    with VGraph.open(settings) as graph, _listen(address, number) as listener:
        graph.picks  # noqa: B018 - a model that cannot be had is told now, not to the first caller
        listening(_url(listener), guarded=bool(token))
        with suppress(KeyboardInterrupt):
            _serve(create(graph, token or None, local=not token), listener)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=128)
    except (OSError, UnicodeError) as error:
        raise UserError(f"cannot listen on {host} port {port}: {error}") from None


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _serve(api: FastAPI, listener: socket.socket) -> None:
    uvicorn.Server(uvicorn.Config(api, log_level="warning", server_header=False)).run(sockets=[listener])
