"""The page at `/`: the files of `vgraph/web`, under a policy that lets them load nothing from elsewhere."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

from fastapi import FastAPI
from fastapi.responses import FileResponse

POLICY: Final = (
    "default-src 'self'; img-src 'self' blob: data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def add_page(api: FastAPI) -> None:
    """Serve the page and its two files. They hold no data; what the page shows it asks of the guarded paths."""
    folder = Path(str(files("vgraph.web")))

    @api.get("/", include_in_schema=False, response_class=FileResponse)
    def page() -> FileResponse:
        return FileResponse(folder / "index.html", headers=HEADERS)

    for name in ("page.js", "page.css"):
        _add_file(api, folder / name)


def _add_file(api: FastAPI, path: Path) -> None:
    @api.get(f"/web/{path.name}", include_in_schema=False, response_class=FileResponse)
    def file() -> FileResponse:
        return FileResponse(path, headers=HEADERS)
