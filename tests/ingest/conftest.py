"""A video with sound."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from vgraph.media.encode import Mp4Writer


@pytest.fixture
def spoken(tmp_path: Path) -> Path:
    """Six seconds with a sound track."""
    path, random = tmp_path / "spoken.mp4", np.random.default_rng(7)
    with Mp4Writer(path, 64, 48, 5, audio_rate=16_000) as writer:
        for number in range(30):
            writer.write(np.full((48, 64, 3), 40 * (number // 5), np.uint8))
            writer.write_audio(random.normal(0, 0.2, 3_200).astype(np.float32))
    return path


@pytest.fixture
def spacy_folder() -> Path:
    """spaCy's English pipeline; the test is skipped where it was not fetched."""
    folder = Path(os.environ.get("VGRAPH_FIXTURES", Path(__file__).parents[2] / ".fixtures"), "spacy-en")
    if not folder.exists():
        pytest.skip(f"{folder} is not there: run `make fixtures`")
    return folder
