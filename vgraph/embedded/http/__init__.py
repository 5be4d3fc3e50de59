"""ArangoDB's HTTP API without a socket: `App(engine).handle(Request.make("GET", "/_api/version"))`."""

from vgraph.embedded.http.app import App
from vgraph.embedded.http.wire import Answer, Request

__all__ = ["Answer", "App", "Request"]
