"""Decoding against FFmpeg: a picture a second out of H.264, as a ratio to `ffmpeg -f null` on the same file in the same run.

    python bench/decode.py [VIDEO] [--minutes 3] [--rounds 3]

Without a video one of noise and motion is made (720p, 30 pictures a second, a key frame every 8 s). Goal: at least 0.9 x
FFmpeg for a picture a second; at least 6 x where key frames allow skipping (a picture every 10 s, key frames every 2 s).
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np

from vgraph.media.frames import frames
from vgraph.media.probe import probe


def made(path: Path, seconds: int, key_frame_s: int) -> Path:
    """A camera-like film: a still, noisy scene in which blocks move."""
    noise = np.random.default_rng(1)
    scene = noise.integers(40, 200, (720, 1280, 3), np.uint8)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=30, options={"preset": "veryfast", "crf": "26"})
        stream.width, stream.height, stream.pix_fmt = 1280, 720, "yuv420p"
        stream.codec_context.gop_size = 30 * key_frame_s
        for number in range(30 * seconds):
            picture = scene.copy()
            for block in range(6):
                x, y = (number * (3 + block) + 150 * block) % 1180, 100 * block + number % 40
                picture[y : y + 100, x : x + 100] = 40 * block
            picture[::7, number % 7 :: 7] ^= 7
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, "rgb24")))
        container.mux(stream.encode())
    return path


def seconds(work: Callable[[], object], rounds: int) -> float:
    """The least of several runs."""

    def once() -> float:
        began = time.perf_counter()
        work()
        return time.perf_counter() - began

    return min(once() for _ in range(rounds))


def ffmpeg(path: Path) -> Callable[[], object]:
    command = ["ffmpeg", "-nostdin", "-v", "error", "-i", str(path), "-map", "0:v:0", "-f", "null", "-"]
    return lambda: subprocess.run(command, check=True)


def measured(path: Path, every_ms: int, rounds: int) -> dict[str, float]:
    video = probe(path)
    mine = seconds(lambda: sum(1 for _ in frames(video, every_ms, width=384)), rounds)
    figures = {"every_ms": every_ms, "real_time": round(video.duration_ms / 1000 / mine, 1), "seconds": round(mine, 2)}
    if shutil.which("ffmpeg"):
        theirs = seconds(ffmpeg(path), rounds)
        figures |= {"ffmpeg_seconds": round(theirs, 2), "ratio_to_ffmpeg": round(theirs / mine, 2)}
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("video", nargs="?", type=Path)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        length = round(given.minutes * 60)
        full = given.video or made(Path(folder) / "full.mp4", length, 8)
        keyed = given.video or made(Path(folder) / "keyed.mp4", length, 2)
        print(json.dumps({"a picture a second": measured(full, 1_000, given.rounds)}))
        print(json.dumps({"a picture every 10 s": measured(keyed, 10_000, given.rounds)}))
        print(json.dumps({"probe": round(seconds(lambda: probe(full), given.rounds), 3), "bytes": full.stat().st_size}))
    if not shutil.which("ffmpeg"):
        print("ffmpeg is not installed: no ratio")


if __name__ == "__main__":
    main()
