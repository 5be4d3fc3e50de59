"""The tool that runs a query a model wrote."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from vgraph.agents.tools.scope import Found, Scope
from vgraph.agents.tools.telling import of_rows
from vgraph.retrieve.sources import AQL_ROWS


def aql(
    scope: Scope,
    query: Annotated[str, Field(min_length=1, max_length=5_000)],
    binds: Annotated[dict[str, Any] | None, Field(description="Values of the query's @names.")] = None,
) -> Found:
    """Rows of a reading AQL query, when no other tool can tell. Refused when the question is asked within filters.

    Collections: chunks {_key, document, camera, start_ms, end_ms, text}, entities {name, type, first_ms, last_ms, cameras},
    HAS_ENTITY (chunk to entity), LINKS_TO (entity to entity: relation, start_ms, end_ms, camera, chunk), utterances {speaker, text,
    start_ms}, tracks, documents, cameras. Times are ms since 1970 UTC. Return `chunk` (a _key) with each row to make it citable. Join
    edges with FILTER; traversals, DOCUMENT() and anything that writes are refused.
    """
    rows, warnings = scope.sources.aql(query, binds or {}, scope.filters)
    return of_rows(
        scope,
        [row if isinstance(row, dict) else {"value": row} for row in rows],
        scope.filters,
        *warnings,
        limit=AQL_ROWS,
    )
