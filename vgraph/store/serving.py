"""Serves an embedded database over HTTP, so that any ArangoDB driver can connect."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from vgraph.embedded.errors import ArangoError
from vgraph.errors import UserError
from vgraph.store.translate import translated

_CALLERS_FAULT = {2, 10}  # a port that cannot be had, an address that needs a password


def serve(
    data: Path,
    *,
    host: str,
    port: int,
    password: str | None,
    jwt_secret_file: Path | None,
    listening: Callable[[str], None],
) -> None:
    """Serve a file until SIGINT or SIGTERM; `listening` is told the URL.

    Raises UserError for an address it cannot or will not serve on, StoreError for a file that is not a database.
    """
    from vgraph.embedded.serve import serve as run

    secret = None if jwt_secret_file is None else _secret(jwt_secret_file)
    with translated(f"serve {data}"):
        try:
            run(data, host=host, port=port, password=password, jwt_secret=secret, listening=listening)
        except ArangoError as error:
            if error.num in _CALLERS_FAULT:
                raise UserError(error.message) from error
            raise


def _secret(file: Path) -> str:
    try:
        secret = file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: cannot be read ({error})") from error
    if not secret:
        raise UserError(f"{file}: holds no secret")
    return secret
