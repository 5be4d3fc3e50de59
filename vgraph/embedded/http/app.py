"""The HTTP API of one engine: `App.handle(request)` is everything between a driver's request and its answer.

Shapes and status codes follow ArangoDB's documentation, "HTTP interface", and answers recorded from a 3.12.10 server.
"""

from __future__ import annotations

import base64
import hashlib
import logging
from typing import Final

from vgraph.embedded import access_tokens, users
from vgraph.embedded.engine import Engine
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.expiry import Sweeper
from vgraph.embedded.garbage import held_back
from vgraph.embedded.http import (
    absent,
    admin,
    analyzers,
    caches,
    collections,
    cursors,
    databases,
    deployment,
    documents,
    edges,
    gharial,
    imports,
    indexes,
    jobs,
    logs,
    queries,
    transactions,
    user_routes,
    views,
)
from vgraph.embedded.http.access import Access, refused
from vgraph.embedded.http.context import Context
from vgraph.embedded.http.router import Routes
from vgraph.embedded.http.wire import SYSTEM, Answer, Request, failure

logger: Final = logging.getLogger(__name__)

ROUTES: Final = Routes()
for _family in (
    documents.routes,
    cursors.routes,
    collections.routes,
    indexes.routes,
    imports.routes,
    gharial.routes,
    edges.routes,
    transactions.routes,
    databases.routes,
    views.routes,
    analyzers.routes,
    queries.routes,
    caches.routes,
    jobs.routes,
    user_routes.routes,
    admin.routes,
    deployment.routes,
    logs.routes,
    absent.routes,
):
    ROUTES.include(_family)


class App:
    """Answers requests for one engine; thread-safe.

    authenticate: refuse requests without a user's password or token (401). Off by default: who can open the file can read it anyway.
    """

    def __init__(self, engine: Engine, *, authenticate: bool = False) -> None:
        self.engine = engine
        self.authenticate = authenticate
        self.cursors = cursors.Cursors()
        self.transactions = transactions.StreamTransactions(engine)
        self.jobs = jobs.Jobs()
        self.queries = queries.RunningQueries()
        self.results = caches.Results()
        self.plans = caches.Plans()
        self.log = logs.Log()
        self._sweeper = Sweeper(engine)
        self._known_credentials: dict[bytes, str] = {}

    def handle(self, request: Request) -> Answer:
        """Answer a request; whatever goes wrong becomes an error answer."""
        try:
            self._sweeper.pass_by()
            self.log.called(request)
            context = Context(self, request, self._user(request))
            self._check_access(context)
            mode = request.headers.get("x-arango-async")
            if mode is not None and mode != "false":
                return self.jobs.start(context, keep=mode == "store")
            answer = self.answer(context)
            if answer.status >= 400 and self._finds_out(request):
                self._check_database(request)
        except ArangoError as error:
            answer = failure(error)
        if request.method == "HEAD":
            answer.body = b""
        return answer

    def answer(self, context: Context) -> Answer:
        """Answer in this thread."""
        try:
            with held_back():
                return ROUTES.answer(context, context.request)
        except ArangoError as error:
            return failure(error)
        except Exception as error:  # a fault of the engine must reach the driver as an answer
            logger.exception("%s %s failed", context.request.method, context.request.path)
            return failure(ArangoError(4, f"internal error: {type(error).__name__}: {error}"))

    def close(self) -> None:
        """Abort what is open and forget everything kept between requests."""
        self.jobs.close()
        self.cursors.close()
        self.transactions.close()

    # -- authentication -------------------------------------------------------------------------------------------

    def _user(self, request: Request) -> str:
        """The user a request comes from; 401 when that has to be proved and is not."""
        name = self._proved_user(request) if self.authenticate else _claimed_user(request)
        if name is None:
            if request.path == "/_open/auth":
                return users.ROOT
            raise refused()
        return name

    def _check_access(self, context: Context) -> None:
        """The database has to be there (1228), and with authentication be open to the user (11)."""
        request = context.request
        if request.path.startswith("/_open/auth") or self._finds_out(request):
            return
        if self.authenticate:
            with self.engine.reading() as txn:
                context.access = Access(txn, context.user)
                context.access.check_request(request)
        self._check_database(request)

    def _finds_out(self, request: Request) -> bool:
        """Whether answering begins a transaction in the database, so that nobody needs to look before whether it is there."""
        if self.authenticate or "x-arango-async" in request.headers:
            return False
        return request.database == SYSTEM or request.path == "/_api/cursor"

    def _check_database(self, request: Request) -> None:
        with self.engine.reading() as txn:
            if request.database not in txn.catalog.databases:
                raise ArangoError(1228)

    def _proved_user(self, request: Request) -> str | None:
        scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return users.token_user(self.engine.secret, credentials)
        name, password = request.auth or _basic(scheme, credentials)
        digest = hashlib.sha256(f"{name}\x00{password}".encode()).digest()
        with self.engine.reading() as txn:
            stamp = txn.sql("SELECT password FROM users WHERE name = ? AND active", (name,)).fetchone()
            if stamp is not None and self._known_credentials.get(digest) == stamp[0]:
                return name
            owner = access_tokens.owner(txn, name, password)
            if owner is not None or not users.check_password(txn, name, password):
                return owner
        self._known_credentials[digest] = stamp[0]
        return name


def _claimed_user(request: Request) -> str:
    if request.auth:
        return request.auth[0]
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    return _basic(scheme, credentials)[0] or users.ROOT


def _basic(scheme: str, credentials: str) -> tuple[str, str]:
    if scheme.lower() != "basic":
        return "", ""
    try:
        name, _, password = base64.b64decode(credentials).decode().partition(":")
    except ValueError:
        return "", ""
    return name, password
