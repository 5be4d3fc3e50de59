"""What every room's tests share: a store of their own, on the embedded engine or, with VGRAPH_TEST_ARANGO_URL, on a server."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from vgraph.media.encode import Mp4Writer
from vgraph.store import Store, connect

settings.register_profile("vgraph", deadline=None)  # a busy machine is no fault of the code
settings.load_profile("vgraph")

SERVER = os.environ.get("VGRAPH_TEST_ARANGO_URL")
PASSWORD = os.environ.get("VGRAPH_TEST_ARANGO_PASSWORD", "")


@contextmanager
def fresh_store(folder: Path) -> Iterator[Store]:
    """An empty graph: a file in `folder`, or on the server a database of its own that is dropped afterwards."""
    if SERVER is None:
        with Store.open(connect(f"embedded:{folder / 'graph.sqlite'}", "vgraph")) as opened:
            yield opened
        return
    name = f"vgraph_test_{uuid.uuid4().hex[:12]}"
    try:
        with Store.open(connect(SERVER, name, password=PASSWORD)) as opened:
            yield opened
    finally:
        system = connect(SERVER, "_system", password=PASSWORD)
        system.database.delete_database(name, ignore_missing=True)
        system.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with fresh_store(tmp_path) as opened:
        yield opened


MakeVideo = Callable[..., Path]


COMMAND = (sys.executable, "-c", "from vgraph.cli import main; main()")
"""The command line in a process of its own, whether or not its script is installed."""


def write_video(path: Path, *, seconds: float = 4.0, fps: int = 5, seed: int = 0, **options: object) -> Path:
    """Write a small real H.264 video whose pictures change every second."""
    path.parent.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    with Mp4Writer(path, 64, 48, fps, **options) as writer:  # type: ignore[arg-type]
        for number in range(round(seconds * fps)):
            if number % fps == 0:
                colour = random.integers(0, 255, 3, dtype=np.uint8)
            picture = np.full((48, 64, 3), colour, np.uint8)
            writer.write(picture)
    return path


@pytest.fixture
def make_video(tmp_path: Path) -> MakeVideo:
    """`write_video` into the test's own folder."""

    def make(name: str = "clip.mp4", seconds: float = 4.0, fps: int = 5, seed: int = 0, **options: object) -> Path:
        return write_video(tmp_path / name, seconds=seconds, fps=fps, seed=seed, **options)

    return make
