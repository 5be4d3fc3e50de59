from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from vgraph.errors import MediaError
from vgraph.media.audio import audio
from vgraph.media.container import rounded
from vgraph.media.frames import frames
from vgraph.media.probe import probe


def test_importing_the_room_loads_no_media_library():
    rooms = (
        "assets audio captions container detections frames orientation paths probe segments sidecars start subtitles"
    )
    code = "".join(f"import vgraph.media.{room}\n" for room in rooms.split())
    code += "import sys\nprint(sorted({'av', 'cv2', 'scenedetect', 'pysubs2', 'PIL', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("value", "expected"), [("0", 0), ("1/2", 1), ("-1/2", 0), ("33333/1000", 33), ("9999/10", 1000)]
)
def test_times_round_to_the_nearest_ms(value, expected):
    assert rounded(Fraction(value)) == expected


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.ts", "a.avi", "a.flv"])
def test_whatever_is_damaged_only_media_errors_leave_the_room(films, name):
    whole = films(name, count=40, sound=[(0, films.tone(1300))]).read_bytes()
    path = films.folder / f"damaged-{name}"
    for seed in range(25):
        chance = np.random.default_rng(seed)
        content = np.frombuffer(whole, np.uint8).copy()
        places = chance.integers(0, len(content) if seed % 2 else 800, 1 + seed)
        content[places] = chance.integers(0, 256, len(places))
        path.write_bytes(content.tobytes())
        try:
            video = probe(path)
            offsets = [frame.offset_ms for frame in frames(video, 100, width=64)]
            heard = [piece.offset_ms for piece in audio(video, piece_ms=500)]
        except MediaError:
            continue
        assert offsets == sorted(set(offsets))
        assert heard == sorted(set(heard))
