"""The site that agents are asked about."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.scripted import make_site


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_site(tmp_path_factory.mktemp("site"))
