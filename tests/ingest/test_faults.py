"""What goes wrong on the way: killed processes, a full disk, a database or a model server that goes and comes back.

Every time the final export must be that of an undisturbed run, and no model may be asked again for what it had answered, but for what was
in flight. `VGRAPH_TEST_KILLS` sets how many kills there are (default: a handful).
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import stamina

from tests.conftest import fresh_store
from tests.ingest.scripted import Oracle
from tests.models.conftest import Response, Server
from vgraph.errors import Unavailable
from vgraph.ingest import Site, ingest
from vgraph.ingest.calls import Shared
from vgraph.media.assets import Assets
from vgraph.store import Store, connect

from .test_flow import OPTIONS, tools_of

KILLS = int(os.environ.get("VGRAPH_TEST_KILLS", "4"))
IN_FLIGHT = 2
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")

CHILD = """
    import resource, sys
    from pathlib import Path
    from tests.ingest.test_faults import site_at
    from vgraph.ingest import ingest
    from vgraph.ingest.calls import Gates, Shared
    from vgraph.store import Store, connect

    folder, video, url, limit = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    with Store.open(connect(f"embedded:{folder / 'graph.sqlite'}", "vgraph")) as store:
        site = site_at(store, folder, url)
        print("begin", flush=True)
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        ingest(video, site)
    print("done", flush=True)
"""


class At:
    """A server elsewhere, as `tools_of` wants it."""

    def __init__(self, url: str) -> None:
        self.url = url


def site_at(store: Store, folder: Path, url: str) -> Site:
    from vgraph.ingest.calls import Gates

    tools = tools_of(At(url))  # type: ignore[arg-type]
    store.claim_embedding("text", tools.embedder.name, tools.embedder.dimension)
    shared = Shared(gates=Gates(IN_FLIGHT), width=IN_FLIGHT)
    return Site(store, tools, Assets(folder / "assets"), OPTIONS, shared)


@pytest.fixture
def oracle() -> Iterator[Oracle]:
    server = Server()
    with stamina.set_testing(True, attempts=1):
        yield Oracle(server)
    server.close()


def start(folder: Path, video: Path, oracle: Oracle, limit: int = 0) -> subprocess.Popen[str]:
    """An ingest in a process of its own, about to open the video; `limit`: no file may grow beyond so many bytes."""
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-c", textwrap.dedent(CHILD), str(folder), str(video), oracle.url, str(limit)]
    root = str(Path(__file__).parents[2])
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=root)
    assert process.stdout is not None and process.stdout.readline() == "begin\n", process.communicate()[1]
    return process


def finished(process: subprocess.Popen[str]) -> bool:
    output, _ = process.communicate()
    return "done" in output


def graph_of(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    with Store.open(connect(f"embedded:{folder / 'graph.sqlite'}", "vgraph")) as store:
        return list(store.export())


def repeated(oracle: Oracle) -> int:
    """Requests that were made more than once."""
    return sum(times - 1 for times in oracle.contents.values())


@pytest.fixture
def calm(spoken: Path, oracle: Oracle, tmp_path: Path) -> tuple[list[Any], float]:
    """The export of an undisturbed run, and how long it took."""
    process = start(tmp_path / "calm", spoken, oracle)
    begun = time.perf_counter()
    assert finished(process)
    length = time.perf_counter() - begun
    oracle.asked.clear()
    oracle.contents.clear()
    return graph_of(tmp_path / "calm"), length


@pytest.mark.slow
def test_killed_anywhere_it_ends_the_same_and_asks_again_only_what_was_in_flight(
    calm: tuple[list[Any], float], spoken: Path, oracle: Oracle, tmp_path: Path
) -> None:
    export, length = calm
    moments, killed = random.Random(9), 0
    for number in range(KILLS):
        folder = tmp_path / f"killed{number}"
        oracle.contents.clear()
        process = start(folder, spoken, oracle)
        time.sleep(moments.uniform(0.1, 0.9) * length)
        process.send_signal(signal.SIGKILL)
        killed += not finished(process)
        assert finished(start(folder, spoken, oracle))
        assert graph_of(folder) == export
        assert repeated(oracle) <= IN_FLIGHT
    assert killed, "some kills must fall into the ingest for the test to mean anything"


@pytest.mark.slow
def test_killed_again_and_again_it_gets_on(
    calm: tuple[list[Any], float], spoken: Path, oracle: Oracle, tmp_path: Path
) -> None:
    export, length = calm
    folder, kills = tmp_path / "often", 0
    for number in range(KILLS):
        process = start(folder, spoken, oracle)
        time.sleep((number + 1) * length / (KILLS + 2))
        process.send_signal(signal.SIGKILL)
        kills += not finished(process)
    assert finished(start(folder, spoken, oracle))
    assert graph_of(folder) == export and repeated(oracle) <= IN_FLIGHT * max(1, kills)


@pytest.mark.slow
def test_a_disk_that_is_full_is_told_and_with_room_again_it_goes_on(
    calm: tuple[list[Any], float], spoken: Path, oracle: Oracle, tmp_path: Path
) -> None:
    export, _ = calm
    size = (tmp_path / "calm" / "graph.sqlite").stat().st_size
    folder, failures = tmp_path / "full", 0
    folder.mkdir()
    Store.open(connect(f"embedded:{folder / 'graph.sqlite'}", "vgraph")).close()
    made = (folder / "graph.sqlite").stat().st_size
    for share in (0.02, 0.3, 0.7):
        process = start(folder, spoken, oracle, limit=round(made + share * max(size - made, 4096)))
        _, told = process.communicate()
        failures += process.returncode != 0
        assert process.returncode == 0 or "StoreError" in told or "MediaError" in told or "OSError" in told, told[
            -2000:
        ]
    assert failures, "the disk must have been full for the test to mean anything"
    assert finished(start(folder, spoken, oracle))
    assert graph_of(folder) == export


def test_a_model_server_that_goes_and_comes_back(spoken: Path, oracle: Oracle, tmp_path: Path) -> None:
    def run(folder: Path, fail_from: int | None) -> list[Any]:
        folder.mkdir(exist_ok=True)
        oracle.asked.clear()
        gone = Response({"error": {"message": "going down"}}, 503)
        oracle.refuse = lambda kind, number: (
            gone if fail_from is not None and kind != "embed" and number > fail_from else None
        )
        with fresh_store(folder) as store:
            report = ingest(spoken, site_at(store, folder, oracle.url))
            if fail_from is None:
                assert report.warnings == () or not any("503" in warning for warning in report.warnings)
                return list(store.export())
            assert any("503" in warning for warning in report.warnings)
            assert store.documents()[0]["state"] == "partial" and report.chunks == 6
            oracle.refuse = lambda kind, number: None
            before = oracle.total
            failed = sum(row["failed"] for row in store.ledgers.failed_documents())
            assert ingest(spoken, site_at(store, folder, oracle.url)).outcome == "resumed"
            assert store.documents()[0]["state"] == "complete"
            assert oracle.total - before - oracle.asked["embed"] <= failed + 6
            return list(store.export())

    undisturbed = run(tmp_path / "calm", None)
    for fail_from in (2, 6, 10):
        assert run(tmp_path / f"from{fail_from}", fail_from) == undisturbed


@pytest.mark.slow
def test_a_database_that_goes_and_comes_back(spoken: Path, oracle: Oracle, tmp_path: Path) -> None:
    folder = tmp_path / "calm"
    folder.mkdir()
    with fresh_store(folder) as store:
        ingest(spoken, site_at(store, folder, oracle.url))
        undisturbed = list(store.export())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data, folder = tmp_path / "served.sqlite", tmp_path / "served"
    folder.mkdir()
    server = serve(data, port)
    with Store.open(connect(f"http://127.0.0.1:{port}", "vgraph", timeout_s=5)) as store:
        site = site_at(store, folder, oracle.url)
        oracle.contents.clear()

        def down(kind: str, number: int) -> None:
            if kind == "caption" and server.poll() is None and oracle.asked["caption"] % 3 == 0:
                server.kill()
                server.wait()

        oracle.refuse = down  # type: ignore[assignment]
        with pytest.raises(Unavailable):
            ingest(spoken, site)
        oracle.refuse = lambda kind, number: None
    again = serve(data, port)
    try:
        with Store.open(connect(f"http://127.0.0.1:{port}", "vgraph", timeout_s=30)) as store:
            report = ingest(spoken, site_at(store, folder, oracle.url))
            assert report.outcome == "resumed" and list(store.export()) == undisturbed
            assert repeated(oracle) <= IN_FLIGHT
    finally:
        again.kill()
        again.wait()


def serve(data: Path, port: int) -> subprocess.Popen[bytes]:
    """An ArangoDB in a process of its own."""
    code = "from vgraph.cli import main; main()"
    command = [sys.executable, "-c", code, "db", "serve", "--data", str(data), "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=str(Path(__file__).parents[2]))
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process
        time.sleep(0.1)
    raise AssertionError("the database did not come up")
