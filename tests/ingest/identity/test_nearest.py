"""The nearest of many without comparing all with all: nearly all of them are found, the same ones every time, in near-linear work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import fresh_store
from tests.ingest.identity.graph import Graph, exported, run, same
from vgraph.ingest.identity import IdentityOptions, candidates, nearest
from vgraph.ingest.identity.nearest import LEAF, neighbours
from vgraph.models.offline import HashEmbedder
from vgraph.store import Store
from vgraph.store.identities import Identities

MOST = 8


def cloud(count: int, seed: int = 1) -> tuple[list[str], np.ndarray]:
    """Vectors about centres, as embeddings of descriptions are."""
    chance = np.random.default_rng(seed)
    centres = chance.standard_normal((count // 10, 64))
    found = centres[np.arange(count) % len(centres)] + 0.5 * chance.standard_normal((count, 64))
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return [f"e{number:05d}" for number in range(count)], found.astype(np.float32)


def exact(vectors: np.ndarray, number: int, least: float) -> set[int]:
    cosines = vectors @ vectors[number]
    cosines[number] = -2
    return {int(other) for other in np.argsort(-cosines)[:MOST] if cosines[other] >= least}


@pytest.mark.parametrize("count", [100, 3_000, 20_000])
def test_nearly_all_of_the_nearest_are_found(count: int) -> None:
    keys, vectors = cloud(count)
    found = neighbours(keys, vectors, MOST, 0.6)
    looked = range(0, count, count // 50)
    wanted = {number: exact(vectors, number, 0.6) for number in looked}
    hits = sum(len(wanted[n] & {int(key[1:]) for key in found.of(keys[n])}) for n in looked)
    total = sum(map(len, wanted.values()))
    assert total > 4 * len(wanted) and hits >= 0.95 * total, f"{hits} of {total}"


def test_few_are_compared_exactly_the_nearest_first_and_of_equals_the_first_by_key() -> None:
    keys, vectors = cloud(LEAF)
    found = neighbours(keys, vectors, MOST, -1.0)
    for number in (0, 17, LEAF - 1):
        cosines = vectors @ vectors[number]
        order = [other for other in np.lexsort((np.arange(LEAF), -cosines)) if other != number][:MOST]
        assert list(found.of(keys[number])) == [keys[other] for other in order]
    twins = neighbours(["a", "b", "c"], np.ones((3, 4), np.float32) / 2, 1, 0.9)
    assert [list(twins.of(key)) for key in "abc"] == [["b"], ["a"], ["a"]]


def test_the_same_vectors_have_the_same_nearest_also_where_all_are_equal() -> None:
    keys, vectors = cloud(2_000)
    once, again = (neighbours(keys, vectors, MOST, 0.6) for _ in range(2))
    assert np.array_equal(once.rows, again.rows)
    alike = neighbours(keys, np.full((2_000, 4), 0.5, np.float32), MOST, 0.6)
    assert all(len({*alike.of(key)} - {key}) == MOST for key in keys)


def test_nobody_is_near_below_the_least_cosine_and_nobody_unknown_has_neighbours() -> None:
    keys, vectors = cloud(500)
    found = neighbours(keys, vectors, MOST, 0.9999)
    assert not any(list(found.of(key)) for key in keys) and not list(found.of("nobody"))
    assert not list(neighbours([], np.zeros((0, 1), np.float32), MOST, 0.5).of("a"))


def test_the_work_grows_with_the_number_and_not_with_its_square(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    monkeypatch.setattr(nearest, "_compare", lambda leaf, *_: compared.append(len(leaf) ** 2))
    totals = []
    for count in (2_000, 16_000):
        compared.clear()
        neighbours(*cloud(count), MOST, 0.6)
        totals.append(sum(compared))
    assert totals[1] / totals[0] < 8 * 1.3


# --- as candidates ------------------------------------------------------------------------------------------------------

COLOURS, KINDS = ("red", "green", "blue", "black", "white", "grey"), ("jacket", "coat", "vest", "hat", "bag", "scarf")


def described(store: Store) -> None:
    """Thirty-six people who have nothing but a description, each told of by two cameras in other words."""
    graph, embedder = Graph(), HashEmbedder(64)
    for number, (colour, kind) in enumerate((colour, kind) for colour in COLOURS for kind in KINDS):
        for camera, words in (("dock", "a man in a {} {}"), ("gate", "the {} {} man")):
            name = words.format(colour, kind)
            graph.seen(name, camera, 60 * number, 60 * number + 10, description=f"{colour} {kind} of size {number}")
    store.claim_embedding("text", embedder.name, embedder.dimension)
    for entity in graph.vertices["entities"].values():
        entity["embedding"] = embedder.embed([entity["description"]])[0].tolist()
    graph.write(store)


def test_all_at_once_and_one_by_one_the_same_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are switched off, so that whoever is compared was found by meaning."""
    found = []
    for share in (8, 0):  # all are read and compared among themselves; each asks the index
        monkeypatch.setattr(candidates, "SHARE", share)
        (tmp_path / str(share)).mkdir()
        with fresh_store(tmp_path / str(share)) as store:
            described(store)
            options = IdentityOptions(propose=0.3, near_min=0.8)
            found.append((run(store, options).compared, same(store), exported(store)))
    assert found[0] == found[1] and found[0][0] >= 36


def test_few_among_many_ask_the_index(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    described(store)
    asked: list[int] = []
    near, vectors = Identities.near, Identities.vectors

    def one_by_one(self: Identities, keys: Sequence[str], kind: str, **bounds: Any) -> Any:
        asked.append(len(keys))
        return near(self, keys, kind, **bounds)

    def together(self: Identities, kind: str, *, keyed: bool) -> Any:
        asked.append(-1)
        return vectors(self, kind, keyed=keyed)

    monkeypatch.setattr(Identities, "near", one_by_one)
    monkeypatch.setattr(Identities, "vectors", together)
    run(store, IdentityOptions(near_min=0.8))
    assert asked == [-1]
    asked.clear()
    graph = Graph()
    key = graph.seen("a man in a red jacket", "dock", 5000, 5010, description="red jacket of size 0")
    graph.vertices["entities"][key]["embedding"] = HashEmbedder(64).embed(["red jacket of size 0"])[0].tolist()
    graph.write(store)
    run(store, IdentityOptions(near_min=0.8))
    assert asked == [1]


def test_without_names_whoever_is_near_by_meaning_is_found_all_the_same(store: Store) -> None:
    described(store)
    assert run(store, IdentityOptions(names=False, propose=0.3, near_min=0.8)).compared >= 36
