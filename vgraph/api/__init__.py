"""The HTTP API: a thin face over `VGraph`. `/docs` describes it (OpenAPI)."""

from vgraph.api.server import create, run

__all__ = ["create", "run"]
