"""A day of eight cameras, captions given, into the graph: does memory stay flat, and how fast is the whole way from file to graph?

    OMP_NUM_THREADS=1 python bench/day.py [--hours 24] [--cameras 8] [--folder FOLDER]

The synthetic world scripts the day and writes its sidecars (captions, subtitles, detections, clocks); its videos are small black
pictures, one every ten seconds, since captions are given and nothing is looked at. Everything else is what `vgraph ingest` does with
its defaults, but for a frame kept a minute: reading, fusing, extracting, embedding, storing, then linking, resolving, summarising.
Resident memory is read from /proc a hundred times a second, by stage and by recording.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vgraph.app import VGraph
from vgraph.evals.day import day_world, write_day
from vgraph.settings import Settings

PAGE = 4096


class Memory:
    """The largest resident memory since it was last asked, MiB."""

    def __init__(self) -> None:
        self._peak, self.whole = 0, 0
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            now = int(Path("/proc/self/statm").read_text().split()[1]) * PAGE >> 20
            self._peak, self.whole = max(self._peak, now), max(self.whole, now)
            time.sleep(0.01)

    def peak(self) -> int:
        found, self._peak = self._peak, 0
        return found


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--hours", type=float, default=24.0)
    asked.add_argument("--cameras", type=int, default=8)
    asked.add_argument("--folder", type=Path, help="keep the world here, and use it again")
    given = asked.parse_args()
    with kept(given.folder) as folder:
        day = written(folder / "day", given.hours, given.cameras)
        ingested(day, folder)


@contextmanager
def kept(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def written(folder: Path, hours: float, cameras: int) -> list[Path]:
    """The day's files; those that are there already are used again."""
    begun = time.perf_counter()
    files = write_day(day_world(hours=hours, cameras=cameras), folder)
    print(f"{len(files.videos)} recordings of the simulated day written in {time.perf_counter() - begun:.0f} s")
    return [file.video for file in files.videos]


def ingested(videos: list[Path], folder: Path) -> None:
    settings = Settings.load(
        database={"url": f"embedded:{folder / f'graph-{time.time_ns()}.sqlite'}"},
        media={"assets": folder / "assets", "frame_every_s": 60.0},
    )
    memory = Memory()
    with VGraph.open(settings) as graph:
        begun, chunks = time.perf_counter(), 0
        print(f"{'recording':40}{'chunks':>8}{'seconds':>9}{'peak MiB':>10}")
        for report in graph.ingest(videos):
            chunks += report.chunks
            print(
                f"{report.title[:38]:40}{report.chunks:8}{time.perf_counter() - begun:9.0f}{memory.peak():10}",
                flush=True,
            )
        seconds = time.perf_counter() - begun
        print(f"{'derived':40}{'':8}{seconds:9.0f}{memory.peak():10}")
        counts = graph.info()["counts"]
    size = sum(file.stat().st_size for file in folder.glob("graph-*.sqlite*")) >> 20
    print(
        f"{chunks} chunks, {sum(counts.values())} records in {seconds:.0f} s; peak {memory.whole} MiB; database {size} MiB"
    )


if __name__ == "__main__":
    main()
