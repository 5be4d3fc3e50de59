"""The page at `/`: served whole, under a policy that lets it load nothing from elsewhere, and showing recordings as text only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from vgraph import Settings, VGraph
from vgraph.api import create


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder: Path = tmp_path_factory.mktemp("page")
    settings = Settings.load(database={"url": f"embedded:{folder / 'g.sqlite'}"}, media={"assets": folder / "assets"})
    with VGraph.open(settings) as graph, TestClient(create(graph, "secret")) as client:
        yield client


def test_the_page_and_its_files_need_no_token_and_hold_no_data(page: TestClient) -> None:
    html = page.get("/")
    assert html.status_code == 200 and html.headers["content-type"].startswith("text/html")
    for reference in re.findall(r'(?:src|href)="(/web/[^"]+)"', html.text):
        assert page.get(reference).status_code == 200
    assert page.get("/documents").status_code == 401


def test_nothing_may_be_loaded_from_elsewhere(page: TestClient) -> None:
    for path in ("/", "/web/page.js", "/web/page.css"):
        response = page.get(path)
        assert "default-src 'self'" in response.headers["content-security-policy"]
        assert "//" not in re.sub(r"^\s*//.*$", "", response.text, flags=re.MULTILINE)


def test_the_script_never_makes_html_of_what_it_shows(page: TestClient) -> None:
    script = page.get("/web/page.js").text
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script)


def test_only_the_pages_own_files_are_served(page: TestClient) -> None:
    assert page.get("/web/../api/server.py").status_code == 404
    assert page.get("/web/__init__.py").status_code == 404
