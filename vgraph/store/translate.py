"""python-arango's errors become vgraph's, here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from arango.exceptions import ArangoClientError, ArangoServerError
from requests.exceptions import RequestException

from vgraph.embedded.errors import ArangoError
from vgraph.errors import StoreError, Unavailable

_HINTS = {
    11: "check VGRAPH_DATABASE__USERNAME and VGRAPH_DATABASE__PASSWORD",
    1228: "the database does not exist",
    32: "the query needed more memory than allowed: narrow it or raise the limit",
    1500: "the query ran longer than allowed, or was stopped",
}


@contextmanager
def translated(what: str, collection: str = "") -> Iterator[None]:
    """Raise StoreError (with ArangoDB's error number) or Unavailable for anything the driver raises inside."""
    try:
        yield
    except ArangoServerError as error:
        raise _from_server(what, collection, error) from error
    except ArangoError as error:
        raise StoreError(f"{what}: {error.message}", collection=collection, number=error.num) from error
    except (RequestException, ConnectionError, OSError) as error:
        raise Unavailable(f"{what}: the database cannot be reached ({type(error).__name__}: {error})") from error
    except ArangoClientError as error:
        raise StoreError(f"{what}: {error}", collection=collection) from error


def _from_server(what: str, collection: str, error: ArangoServerError) -> StoreError:
    hint = _HINTS.get(error.error_code or -1)
    text = f"{what}: {error.error_message or error} (ArangoDB error {error.error_code})"
    return StoreError(text + (f"; {hint}" if hint else ""), collection=collection, number=error.error_code)
