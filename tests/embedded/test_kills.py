"""Killed at random moments of mixed writes, the database holds every operation that was acknowledged, and each whole.

VGRAPH_KILLS says how often (200 before a release).
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.embedded.mixed_writes import Model, held, make
from vgraph.embedded.engine import Engine

KILLS = int(os.environ.get("VGRAPH_KILLS", "6"))
ROOT = Path(__file__).parents[2]
PER_FILE = 10


def killed(path: Path, seed: int, first: int, seconds: float, *, begun: bool = True) -> int:
    """Let the writer run (once it has `begun`), kill it; the number after the last operation it acknowledged."""
    command = [sys.executable, "-m", "tests.embedded.mixed_writes", str(path), str(seed), str(first)]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert writer.stdout is not None
    said = writer.stdout.readline() if begun else ""  # starting takes most of the time
    time.sleep(seconds)
    writer.send_signal(signal.SIGKILL)
    rest, _ = writer.communicate()
    assert writer.returncode == -signal.SIGKILL  # and not its own fault
    lines = (said + rest).split("\n")[:-1]  # what has no newline was not said in full
    return int(lines[-1]) + 1 if lines else first


@pytest.mark.parametrize("seed", range(-(-KILLS // PER_FILE)))
def test_kill_9_amid_mixed_writes(tmp_path: Path, seed: int):
    path, rng, model = tmp_path / "mixed.db", random.Random(seed), Model(seed)
    make(path)
    done = 0
    for _ in range(min(PER_FILE, KILLS - seed * PER_FILE)):
        acknowledged = killed(path, seed, done, rng.random() ** 2 * 0.3, begun=rng.random() < 0.9)
        for number in range(done, acknowledged):
            model.step(number)
        engine = Engine.open(path)
        found = held(engine)
        engine.close()
        done = acknowledged
        if found != model.state():  # the operation it was at had been written, but not yet said
            model.step(done)
            assert found == model.state()
            done += 1
    assert done > 0


def test_readers_see_whole_operations_while_a_writer_is_killed(tmp_path: Path):
    path = tmp_path / "read.db"
    make(path)
    engine = Engine.open(path)
    states = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            states.append(held(engine))

    reader = threading.Thread(target=read)
    reader.start()
    acknowledged = killed(path, 99, 0, 0.5)
    stop.set()
    reader.join()
    states.append(held(engine))
    engine.close()
    model = Model(99)
    possible = [model.state()]
    for number in range(acknowledged + 1):
        model.step(number)
        possible.append(model.state())
    places = [possible.index(state) for state in states]
    assert places == sorted(places)
    assert states[-1] in possible[acknowledged:]  # an operation that changes nothing leaves equal states
