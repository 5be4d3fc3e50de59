"""What is asked of models, how often, and what it costs: counted by a real HTTP server."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import stamina

from tests.conftest import MakeVideo
from tests.ingest.scripted import Oracle
from tests.models.conftest import Response, Server
from vgraph.errors import BudgetReached, MediaError, Stopped, UserError
from vgraph.ingest import Asked, Options, Site, Tools, ingest
from vgraph.ingest.calls import Budget, Gates, Price, Shared
from vgraph.ingest.communities import Writers
from vgraph.ingest.estimate import estimate
from vgraph.ingest.run import Item, cameras_of, ingest_all
from vgraph.media.assets import Assets
from vgraph.models.captions import VisionCaptioner
from vgraph.models.endpoint import Endpoint
from vgraph.models.offline import HashEmbedder
from vgraph.models.openai import OpenAIChat, OpenAIEmbedder
from vgraph.models.openai_speech import OpenAITranscriber
from vgraph.store import Store
from vgraph.types import IngestReport, Message, Progress, Usage

OPTIONS = Options(
    window_ms=1_000, frame_width=64, batch_segments=2, entity_types=("person", "object"), fuse=False, union=False,
    temporal=False, unit_ms=2_000,
)  # fmt: skip
Ask = Callable[..., IngestReport]


@pytest.fixture
def oracle() -> Iterator[Oracle]:
    server = Server()
    with stamina.set_testing(True, attempts=1):
        yield Oracle(server)
    server.close()


def tools_of(oracle: Oracle, *, captioner: str = "see", transcriber: str = "hear", chat: str | None = "think") -> Tools:
    endpoint = Endpoint(base_url=oracle.url, api_key="k", timeout_s=10, retries=0)
    return Tools(
        OpenAIEmbedder(endpoint, "embed"),
        captioner=VisionCaptioner(OpenAIChat(endpoint, captioner, stage="caption")),
        transcriber=OpenAITranscriber(endpoint, transcriber),
        chat=None if chat is None else OpenAIChat(endpoint, chat),
    )


def site_of(store: Store, tools: Tools, folder: Path, **shared: Any) -> Site:
    store.claim_embedding("text", tools.embedder.name, tools.embedder.dimension)
    options = shared.pop("options", OPTIONS)
    report = shared.pop("report", lambda progress: None)
    return Site(store, tools, Assets(folder / "assets"), options, Shared(**shared), report)


def exported(store: Store) -> list[tuple[str, dict[str, Any]]]:
    return list(store.export())


def test_every_call_is_remembered_with_its_cost(store: Store, oracle: Oracle, spoken: Path, tmp_path: Path) -> None:
    prices = {"caption": Price(1.0, 2.0), "embed": Price(1.0)}
    report = ingest(spoken, site_of(store, tools_of(oracle), tmp_path, prices=prices))
    assert report.spent["caption"].calls == oracle.asked["caption"] == 6
    assert report.spent["caption"].input_tokens == 600 and report.spent["caption"].output_tokens == 120
    assert report.spent["caption"].money == pytest.approx(840 / 1e6)
    document = store.document(report.document)
    assert document is not None and document["spent"]["caption"]["input_tokens"] == 600
    assert {row["stage"] for row in store.ledgers.spent(report.document)} == {"hear", "caption", "extract", "embed"}
    calls = store.aql(
        "FOR e IN ledger FILTER e.kind == 'call' AND e.stage == 'caption' SORT e.chunk RETURN e.chunk"
    ).rows
    assert len(set(calls)) == 6 and all(call.startswith(report.document) for call in calls)


def test_the_same_video_again_asks_nothing(store: Store, oracle: Oracle, spoken: Path, tmp_path: Path) -> None:
    ingest(spoken, site_of(store, tools_of(oracle), tmp_path))
    before = oracle.total
    again = ingest(spoken, site_of(store, tools_of(oracle), tmp_path))
    assert again.outcome == "unchanged" and oracle.total - before <= 1  # the embedder's dimension


def test_a_changed_captioner_does_not_transcribe_again(
    store: Store, oracle: Oracle, spoken: Path, tmp_path: Path
) -> None:
    ingest(spoken, site_of(store, tools_of(oracle, chat=None), tmp_path))
    before = oracle.asked.copy()
    report = ingest(spoken, site_of(store, tools_of(oracle, captioner="see-better", chat=None), tmp_path))
    assert report.outcome == "ingested" and report.chunks == 6
    assert oracle.asked["hear"] == before["hear"] and oracle.asked["caption"] == 2 * before["caption"]


def test_a_changed_transcriber_does_not_caption_again(
    store: Store, oracle: Oracle, spoken: Path, tmp_path: Path
) -> None:
    ingest(spoken, site_of(store, tools_of(oracle, chat=None), tmp_path))
    before = oracle.asked.copy()
    ingest(spoken, site_of(store, tools_of(oracle, transcriber="hear-better", chat=None), tmp_path))
    assert oracle.asked["hear"] == 2 * before["hear"] and oracle.asked["caption"] == before["caption"]


def test_made_anew_it_is_what_it_would_have_been_at_once(
    store: Store, oracle: Oracle, spoken: Path, tmp_path: Path
) -> None:
    ingest(spoken, site_of(store, tools_of(oracle), tmp_path))
    ingest(spoken, site_of(store, tools_of(oracle, captioner="see-better"), tmp_path))
    changed = exported(store)
    store.removal.document(store.documents()[0]["_key"])
    ingest(spoken, site_of(store, tools_of(oracle, captioner="see-better"), tmp_path))
    assert exported(store) == changed


def test_other_entity_types_extract_again_and_nothing_else(
    store: Store, oracle: Oracle, spoken: Path, tmp_path: Path
) -> None:
    ingest(spoken, site_of(store, tools_of(oracle), tmp_path))
    before = oracle.asked.copy()
    options = replace(OPTIONS, entity_types=("person", "object", "vehicle"))
    ingest(spoken, site_of(store, tools_of(oracle), tmp_path, options=options))
    assert (oracle.asked["hear"], oracle.asked["caption"]) == (before["hear"], before["caption"])
    assert oracle.asked["extract"] == 2 * before["extract"]


def test_a_failed_call_is_told_and_the_next_run_asks_only_for_it(
    store: Store, oracle: Oracle, spoken: Path, tmp_path: Path
) -> None:
    failing = [Response({"error": {"message": "no"}}, 403)]
    oracle.refuse = lambda kind, number: failing.pop() if kind == "caption" and failing else None
    report = ingest(spoken, site_of(store, tools_of(oracle, chat=None), tmp_path))
    assert any("answered 403" in warning for warning in report.warnings) and report.spent["caption"].failed == 1
    assert [row["failed"] for row in store.ledgers.failed_documents()] == [1]
    before = oracle.asked["caption"]
    assert ingest(spoken, site_of(store, tools_of(oracle, chat=None), tmp_path)).outcome == "resumed"
    assert oracle.asked["caption"] == before + 1
    assert store.documents()[0]["state"] == "complete" and not store.ledgers.failed_documents()


def test_a_run_that_was_stopped_asks_again_only_what_was_in_flight(
    store: Store, oracle: Oracle, spoken: Path, tmp_path: Path
) -> None:
    site = site_of(store, tools_of(oracle), tmp_path, width=1, ahead=0)

    def stop(kind: str, number: int) -> None:
        if kind == "caption" and oracle.asked["caption"] == 3:
            site.shared.stop.set()

    oracle.refuse = stop  # type: ignore[assignment]
    with pytest.raises(Stopped):
        ingest(spoken, site)
    assert ingest(spoken, site_of(store, tools_of(oracle), tmp_path)).outcome == "resumed"
    assert oracle.asked["caption"] == 6 and oracle.asked["hear"] == 1


def test_the_cap_ends_a_run_before_a_call_would_pass_it_and_a_higher_one_goes_on(
    store: Store, oracle: Oracle, spoken: Path, tmp_path: Path
) -> None:
    budget = Budget(max_tokens=1_000)
    with pytest.raises(BudgetReached, match="cap of 1000 tokens"):
        ingest(spoken, site_of(store, tools_of(oracle, chat=None), tmp_path, budget=budget))
    assert budget.tokens <= 1_000 and 0 < oracle.asked["caption"] < 6
    ingest(spoken, site_of(store, tools_of(oracle, chat=None), tmp_path))
    assert oracle.asked["caption"] == 6 and store.documents()[0]["state"] == "complete"


def test_a_call_that_finds_no_room_waits_for_those_under_way() -> None:
    budget, order = Budget(max_money=1.0), []

    def second() -> None:
        with budget.spending(10, 0.6) as spent:
            order.append("second")
            spent(Usage(1, 1), 0.6)

    with budget.spending(10, 0.6) as spent:
        thread = threading.Thread(target=second)
        thread.start()
        order.append("first")
        spent(Usage(1, 1), 0.1)
    thread.join()
    assert order == ["first", "second"]
    with pytest.raises(BudgetReached, match=r"cap of 1 in money \(0\.7000 is spent"), budget.spending(10, 0.6):
        pass


def test_an_estimate_asks_nothing_and_comes_near(store: Store, oracle: Oracle, spoken: Path, tmp_path: Path) -> None:
    site = site_of(store, tools_of(oracle, chat=None), tmp_path, prices={"caption": Price(1.0, 1.0)})
    before = oracle.total
    expected = estimate(spoken, site, Asked())
    assert oracle.total == before and not store.documents()
    assert (expected.state, expected.seconds, expected.segments) == ("new", 6.0, 6)
    ingest(spoken, site)
    assert expected.stages["caption"].calls == oracle.asked["caption"]
    assert expected.stages["caption"].money > 0 and expected.disk_bytes > 10_000
    after = estimate(spoken, site, Asked())
    assert after.state == "complete" and after.total.calls == 0
    anew = estimate(spoken, replace(site, options=replace(OPTIONS, window_ms=2_000)), Asked())
    assert anew.stages["caption"].input_tokens <= 100 * 3, "by now the ledger knows what a call costs"


# --- several at once --------------------------------------------------------------------------------------------------


def shot(make_video: MakeVideo, count: int) -> list[Path]:
    """Videos with people of shared names, so that their entities are merged."""
    made = []
    for number in range(count):
        video = make_video(f"cam{number % 2}/clip{number}.mp4", 3, seed=number)
        entities = [
            {"name": name, "type": "person", "id": name.lower(), "description": f"seen in {number}"}
            for name in ("Ana", "Bob")
        ]
        told = [
            {"start": second, "end": second + 0.9, "text": f"Ana and Bob, {number}.{second}", "entities": entities}
            for second in range(3)
        ]
        video.with_suffix(".captions.jsonl").write_text("\n".join(map(json.dumps, told)), encoding="utf-8")
        made.append(video)
    return made


@pytest.mark.parametrize("at_once", [2, 4])
def test_several_at_once_make_the_graph_of_one_after_the_other(
    at_once: int, make_video: MakeVideo, tmp_path: Path
) -> None:
    from tests.conftest import fresh_store

    items = [Item(video, Asked(camera=video.parent.name)) for video in shot(make_video, 6)]
    graphs = []
    for count in (1, at_once):
        folder = tmp_path / f"at{count}"
        folder.mkdir()
        with fresh_store(folder) as store:
            done = list(ingest_all(items, site_of(store, Tools(HashEmbedder()), folder), at_once=count))
            assert len({report.document for report in done}) == 6
            graphs.append(exported(store))
    assert graphs[0] == graphs[1]


def test_the_same_file_named_twice_at_once_is_ingested_once(
    store: Store, make_video: MakeVideo, tmp_path: Path
) -> None:
    video = make_video(seconds=3)
    items = [Item(video, Asked(camera="dock"))] * 3
    done = list(ingest_all(items, site_of(store, Tools(HashEmbedder()), tmp_path), at_once=3))
    assert sorted(report.outcome for report in done) == ["ingested", "unchanged", "unchanged"]
    assert store.counts()["documents"] == 1


def test_what_cannot_be_read_is_told_and_the_others_go_on(store: Store, make_video: MakeVideo, tmp_path: Path) -> None:
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"nothing")
    told: list[tuple[Path, MediaError]] = []
    items = [Item(path) for path in (broken, make_video(seconds=2))]
    site = site_of(store, Tools(HashEmbedder()), tmp_path)
    assert len(list(ingest_all(items, site, failed=lambda path, error: told.append((path, error))))) == 1
    assert [path for path, _ in told] == [broken]


def test_an_interrupt_stops_all_of_them(store: Store, make_video: MakeVideo, tmp_path: Path) -> None:
    videos = shot(make_video, 4)

    def interrupt(progress: Progress) -> None:
        if progress.stage == "chunks":
            raise KeyboardInterrupt

    site = site_of(store, Tools(HashEmbedder()), tmp_path, report=interrupt)
    with pytest.raises(KeyboardInterrupt):
        list(ingest_all([Item(video) for video in videos], site, at_once=2))
    assert site.shared.stop.is_set() and store.counts()["documents"] < 4
    done = list(ingest_all([Item(video) for video in videos], site_of(store, Tools(HashEmbedder()), tmp_path)))
    assert len(done) == 4 and {d["state"] for d in store.documents()} == {"complete"}


def test_an_endpoint_is_not_asked_more_at_once_than_it_may(
    store: Store, oracle: Oracle, make_video: MakeVideo, tmp_path: Path
) -> None:
    lock, now, most = threading.Lock(), [0], [0]
    answer = oracle.answer

    def slow(request: Any) -> Response:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.05)
        with lock:
            now[0] -= 1
        return answer(request)

    oracle.server.script = [slow]
    items = [Item(make_video(f"{n}.mp4", 4, seed=n)) for n in range(3)]
    site = site_of(store, tools_of(oracle, chat=None), tmp_path, gates=Gates(2), width=4)
    list(ingest_all(items, site, at_once=3))
    assert most[0] == 2


def test_cameras_are_found_in_paths() -> None:
    paths = [Path("/nas/2026/dock_01/a.mp4"), Path("/nas/2026/gate_02/b.mp4")]
    assert cameras_of(paths, r"2026/([a-z]+)_") == ["dock", "gate"]
    assert cameras_of(paths, r"(?P<x>2026)/(?P<camera>[^/]+)") == ["dock_01", "gate_02"]
    assert cameras_of(paths, r"dock|gate") == ["dock", "gate"]
    with pytest.raises(UserError, match="finds no camera in /nas/2026/gate_02"):
        cameras_of(paths, "dock")
    with pytest.raises(UserError, match="not a regular expression"):
        cameras_of(paths, "(")


def test_summaries_of_the_graph_count_under_the_cap_of_the_run(store: Store, oracle: Oracle) -> None:
    tools, shared = tools_of(oracle), Shared(Budget(max_tokens=500))
    writers = Writers(tools.embedder, tools.chat, 2, shared).remembering(store, None)
    assert writers.chat is not None
    schema = {
        "type": "object",
        "properties": {"title": {"type": "string"}},
        "required": ["title"],
        "additionalProperties": False,
    }
    for number in (1, 2, 2, 1):
        writers.chat.complete([Message("user", f"Summarise {number}.")], schema=schema)
    assert shared.budget.tokens == 240
    with pytest.raises(BudgetReached):
        writers.chat.complete([Message("user", "Summarise 3.")], schema=schema)
    assert oracle.asked["extract"] == 2
    (row,) = store.ledgers.spent()
    assert (row["document"], row["stage"], row["calls"], row["input_tokens"]) == (None, "summarise", 2, 200)
