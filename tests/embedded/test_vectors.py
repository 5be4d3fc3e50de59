"""Vector indexes: the nearest documents, against all of them compared one by one."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgraph.embedded import aql, ddl, segmented
from vgraph.embedded.engine import Engine
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.vectors import VectorIndex, nearest
from vgraph.embedded.vectors import index as vector_index
from vgraph.embedded.vectors.signs import Coder, sign_distances, sign_distances_of, smallest


def define(metric="cosine", dimension=8, **more):
    return {"type": "vector", "fields": ["e"], "params": {"metric": metric, "dimension": dimension}, **more}


class Database:
    def __init__(self, path, definition=None):
        self.engine = Engine.open(path)
        self.path = path
        with self.engine.writing() as txn:
            ddl.create_collection(txn, "c")
            if definition:
                ddl.create_index(txn, "c", definition)

    def insert(self, vectors, start=0, **more):
        with self.engine.writing() as txn:
            collection = txn.collection("c", write=True)
            for number, vector in enumerate(vectors, start):
                collection.insert({"_key": str(number), "e": np.asarray(vector).tolist(), "n": number, **more})

    def index(self, txn):
        return next(index for index in txn.collection("c").indexes if isinstance(index, VectorIndex))

    def search(self, query, k, txn=None, **options):
        opened = txn or self.engine.begin(read_only=True)
        rows, scores = self.index(opened).search(opened, np.asarray(query).tolist(), k, **options)
        keys = [document["_key"] for document in opened.collection("c").fetch(rows.tolist())]
        if txn is None:
            opened.abort()
        return [int(key) for key in keys], scores


@pytest.fixture
def make(tmp_path):
    opened = []

    def maker(definition=None, name="a.db"):
        opened.append(Database(tmp_path / name, definition))
        return opened[-1]

    yield maker
    for database in opened:
        database.engine.close()


def clusters(count, dimension, seed=1, groups=40):
    """Vectors in groups, near a space of few dimensions, as embeddings are; one distribution for all seeds."""
    fixed = np.random.default_rng(dimension)
    directions = fixed.standard_normal((min(dimension, 24), dimension)) / np.sqrt(dimension)
    centres = fixed.standard_normal((groups, len(directions)))
    rng = np.random.default_rng(seed)
    inner = centres[rng.integers(0, groups, count)] + 0.7 * rng.standard_normal((count, len(directions)))
    return (inner @ directions + 0.05 * rng.standard_normal((count, dimension))).astype(np.float32)


def exact(metric, vectors, query):
    vectors, query = vectors.astype(np.float64), np.asarray(query, np.float64)
    if metric == "l2":
        return np.linalg.norm(vectors - query, axis=1)
    products = vectors @ query
    return products if metric == "innerProduct" else products / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)


def best(metric, scores, k, allowed=None):
    order = np.argsort(scores if metric == "l2" else -scores, kind="stable")
    return [int(n) for n in order if allowed is None or allowed[n]][:k]


METRICS = ("cosine", "l2", "innerProduct")


class TestExactness:
    @pytest.mark.parametrize("metric", METRICS)
    def test_a_small_collection_is_ranked_exactly(self, make, metric):
        vectors = clusters(300, 8)
        database = make(define(metric))
        database.insert(vectors)
        scores = exact(metric, vectors, vectors[7] * 2)
        found, values = database.search(vectors[7] * 2, 20)
        assert found == best(metric, scores, 20)
        assert values == pytest.approx(scores[found], rel=1e-5, abs=1e-5)

    @pytest.mark.parametrize("halved", [100, 10**9])
    def test_vectors_without_any_structure_are_looked_at_until_it_is_sure(self, make, monkeypatch, halved):
        monkeypatch.setattr(nearest, "_HALVED", halved)
        monkeypatch.setattr(vector_index, "SEAL", 1000)
        vectors = np.random.default_rng(5).standard_normal((6000, 128)).astype(np.float32)
        database = make(define("cosine", 128))
        database.insert(vectors)
        hits = 0
        for query in np.random.default_rng(6).standard_normal((10, 128)):
            hits += len(set(database.search(query, 20)[0]) & set(best("cosine", exact("cosine", vectors, query), 20)))
        assert hits / 200 >= 0.98

    def test_l2_is_a_true_distance(self, make):
        database = make(define("l2", 2))
        database.insert([[0, 0], [3, 4]])
        assert database.search([0, 0], 2)[1].tolist() == [0, 5]

    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize(("dimension", "shift"), [(4, 0), (32, 0), (96, 3), (384, 0), (384, 1)])
    @pytest.mark.parametrize("halved", [100, 10**9])
    def test_recall_with_sign_bits(self, make, metric, dimension, shift, halved, monkeypatch):
        """Also where half of the signs, as of many vectors, sort most of them out at first."""
        monkeypatch.setattr(nearest, "_HALVED", halved)
        monkeypatch.setattr(vector_index, "SEAL", 1000)
        vectors = clusters(6000, dimension) + np.float32(shift)
        database = make(define(metric, dimension))
        database.insert(vectors)
        queries = clusters(20, dimension, seed=2) + np.float32(shift)
        hits = 0
        for query in queries:
            found, _ = database.search(query, 20)
            assert len(found) == 20
            hits += len(set(found) & set(best(metric, exact(metric, vectors, query), 20)))
        assert hits / 400 >= 0.98

    @pytest.mark.parametrize("metric", METRICS)
    def test_what_half_of_the_signs_let_through_lives(self, make, metric, monkeypatch):
        monkeypatch.setattr(nearest, "_HALVED", 100)
        monkeypatch.setattr(vector_index, "SEAL", 500)
        vectors = clusters(3000, 96)
        database = make(define(metric, 96))
        database.insert(vectors)
        with database.engine.writing() as txn:
            collection = txn.collection("c", write=True)
            for number in range(0, 3000, 2):
                collection.remove(str(number))
        scores = exact(metric, vectors, vectors[8])
        assert database.search(vectors[8], 10)[0] == best(metric, scores, 10, np.arange(3000) % 2 == 1)

    def test_never_fewer_rows_than_exist(self, make):
        database = make(define())
        database.insert(clusters(50, 8))
        assert len(database.search([1] * 8, 2**62)[0]) == 50
        assert len(database.search([1] * 8, 0)[0]) == 0

    def test_zero_vectors_have_no_direction(self, make):
        database = make(define())
        database.insert([[0] * 8, [1] * 8])
        assert database.search([1] * 8, 2)[1].tolist() == pytest.approx([1, 0])


class TestFilters:
    @pytest.fixture
    def filled(self, make, monkeypatch):
        monkeypatch.setattr(vector_index, "SEAL", 1000)
        vectors = clusters(8000, 64)
        database = make(define("cosine", 64))
        database.insert(vectors)
        return database, vectors

    @pytest.mark.parametrize("share", [2, 10, 100, 1000])
    def test_candidates_come_first(self, filled, share):
        database, vectors = filled
        allowed = np.arange(8000) % share == 0
        with database.engine.reading() as txn:
            rows = np.array(txn.collection("c").rowids_of([str(n) for n in np.flatnonzero(allowed)]))
        hits = wanted = 0
        for query in clusters(10, 64, seed=3):
            found, _ = database.search(query, 20, candidates=rows)
            expected = best("cosine", exact("cosine", vectors, query), 20, allowed)
            assert len(found) == len(expected)
            assert all(allowed[n] for n in found)
            hits += len(set(found) & set(expected))
            wanted += len(expected)
        assert hits / wanted >= 0.98

    @pytest.mark.parametrize("share", [2, 10, 100, 1000])
    def test_a_predicate_is_asked_until_enough_are_found(self, filled, share):
        database, vectors = filled
        txn = database.engine.begin(read_only=True)
        hits = wanted = asked = 0

        def accept(rows):
            nonlocal asked
            asked += len(rows)
            documents = txn.collection("c").fetch(rows.tolist(), frozenset({"n"}))
            return np.array([document["n"] % share == 0 for document in documents])

        for query in clusters(10, 64, seed=3):
            found, _ = database.search(query, 20, txn, accept=accept)
            expected = best("cosine", exact("cosine", vectors, query), 20, np.arange(8000) % share == 0)
            assert len(found) == len(expected)
            assert all(n % share == 0 for n in found)
            hits += len(set(found) & set(expected))
            wanted += len(expected)
        txn.abort()
        assert hits / wanted >= 0.98
        assert share > 10 or asked <= 10 * 60 * share


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 30)),
        st.tuples(st.just("remove"), st.integers(0, 30)),
        st.tuples(st.just("other"), st.integers(0, 30)),
        st.tuples(st.just("reopen"), st.just(0)),
        st.tuples(st.just("search"), st.just(0)),
    ),
    min_size=1,
    max_size=60,
)


class TestPersistence:
    @pytest.fixture(autouse=True)
    def small_segments(self, monkeypatch):
        monkeypatch.setattr(vector_index, "SEAL", 5)
        monkeypatch.setattr(segmented, "FANOUT", 2)
        monkeypatch.setattr(segmented, "LEAST", 5)

    def check(self, engine, expected):
        with engine.reading() as txn:
            index = next(index for index in txn.collection("c").indexes if isinstance(index, VectorIndex))
            rows, scores = index.search(txn, [1.0, 0, 0], 100)
            found = {d["_key"]: s for d, s in zip(txn.collection("c").fetch(rows.tolist()), scores, strict=True)}
            assert index.count(txn) == len(expected)
        assert found == pytest.approx({k: float(np.linalg.norm(np.array(v) - [1, 0, 0])) for k, v in expected.items()})

    @settings(deadline=None, max_examples=40)
    @given(actions=ACTIONS)
    def test_every_change_is_followed(self, tmp_path_factory, actions):
        path = tmp_path_factory.mktemp("vectors") / "a.db"
        database = Database(path, define("l2", 3))
        other = Engine.open(path)
        rng = np.random.default_rng(0)
        expected = {}
        for action, number in actions:
            key = str(number)
            if action in ("put", "other"):
                vector = rng.integers(-9, 9, 3).tolist()
                with (database.engine if action == "put" else other).writing() as txn:
                    txn.collection("c", write=True).insert({"_key": key, "e": vector}, overwrite_mode="replace")
                expected[key] = vector
            elif action == "remove" and key in expected:
                with database.engine.writing() as txn:
                    txn.collection("c", write=True).remove(key)
                del expected[key]
            elif action == "reopen":
                database.engine.close()
                database.engine = Engine.open(path)
            elif action == "search":
                self.check(database.engine, expected)
        self.check(database.engine, expected)
        self.check(other, expected)
        other.close()
        database.engine.close()

    @pytest.mark.parametrize("writes", [2, 12])
    def test_a_transaction_sees_its_own_writes_and_nobody_else_does(self, make, writes):
        database = make(define("l2", 3))
        database.insert([[n, 0, 0] for n in range(8)])
        txn = database.engine.begin(write=["c"])
        collection = txn.collection("c", write=True)
        collection.remove("0")
        collection.update("1", {"e": [50, 0, 0]})
        for number in range(100, 100 + writes):
            collection.insert({"_key": str(number), "e": [-1, 0, number - 100]})
        found, scores = database.search([0, 0, 0], 100, txn)
        assert set(found) == {*range(1, 8), *range(100, 100 + writes)}
        assert found[-1] == 1
        assert scores[-1] == 50
        assert sorted(database.search([0, 0, 0], 100)[0]) == list(range(8))
        txn.abort()
        assert database.search([0, 0, 0], 100)[0] == list(range(8))

    @pytest.mark.parametrize("writes", [2, 12])
    def test_what_a_savepoint_takes_back_is_not_found(self, make, writes):
        database = make(define("l2", 3))
        database.insert([[n, 0, 0] for n in range(8)])
        txn = database.engine.begin(write=["c"])
        for keep in (False, True):
            savepoint = txn.savepoint()
            for number in range(100, 100 + writes):
                txn.collection("c", write=True).insert({"_key": str(number), "e": [0, 0, 1]})
            assert len(database.search([0, 0, 0], 100, txn)[0]) == 8 + writes
            if keep:
                txn.release(savepoint)
            else:
                txn.rollback_to(savepoint)
                assert sorted(database.search([0, 0, 0], 100, txn)[0]) == list(range(8))
        txn.commit()
        assert len(database.search([0, 0, 0], 100)[0]) == 8 + writes

    def test_a_snapshot_does_not_see_later_writes(self, make):
        database = make(define("l2", 3))
        database.insert([[n, 0, 0] for n in range(7)])
        reader = database.engine.begin(read_only=True)
        assert database.search([0, 0, 0], 1, reader)[0] == [0]
        with database.engine.writing() as txn:
            txn.collection("c", write=True).remove("0")
            txn.collection("c", write=True).update("1", {"e": [9, 9, 9]})
        database.insert([[0, 0, 0]], start=50)
        assert database.search([0, 0, 0], 100)[0] == [50, 2, 3, 4, 5, 6, 1]
        assert database.search([0, 0, 0], 100, reader)[0] == list(range(7))
        database.insert([[0, 0, 1]] * 30, start=60)
        assert database.search([0, 0, 0], 100, reader)[0] == list(range(7))
        reader.abort()

    def test_another_process_writes_and_is_seen(self, make):
        database = make(define("l2", 3))
        database.insert([[5, 0, 0]])
        assert database.search([0, 0, 0], 1)[0] == [0]
        program = (
            "import sys; from vgraph.embedded.engine import Engine\n"
            "engine = Engine.open(sys.argv[1])\n"
            "for n in range(1, 20):\n"
            "    with engine.writing() as txn:\n"
            "        txn.collection('c', write=True).insert({'_key': str(n), 'e': [5 - n / 10, 0, 0]})\n"
        )
        subprocess.run(
            [sys.executable, "-c", program, str(database.path)], check=True, env={**os.environ, "PYTHONPATH": "."}
        )
        assert database.search([0, 0, 0], 3)[0] == [19, 18, 17]

    def test_an_index_over_existing_documents(self, make):
        database = make()
        database.insert([[n, 1, 0] for n in range(30)])
        with database.engine.writing() as txn:
            ddl.create_index(txn, "c", define("l2", 3))
        assert database.search([12, 1, 0], 1)[0] == [12]
        with database.engine.writing() as txn:
            txn.collection("c", write=True).truncate()
        assert database.search([12, 1, 0], 1)[0] == []


class TestDefinitions:
    @pytest.mark.parametrize(
        "definition",
        [
            {"type": "vector", "fields": ["e"]},
            {"type": "vector", "fields": ["e", "f"], "params": {"metric": "l2", "dimension": 3}},
            {"type": "vector", "fields": ["e[*]"], "params": {"metric": "l2", "dimension": 3}},
            define("manhattan"),
            define(dimension=0),
            define(unique=True),
            define(sparse=1),
            {"type": "vector", "fields": ["e"], "params": {"metric": "l2", "dimension": 3, "nLists": 0}},
            define(storedValues=["a"] * 33),
        ],
    )
    def test_that_are_wrong_are_error_10(self, make, definition):
        database = make()
        with pytest.raises(ArangoError) as error, database.engine.writing() as txn:
            ddl.create_index(txn, "c", definition)
        assert error.value.num == 10

    def test_are_returned_with_defaults(self):
        shown = VectorIndex.normalise(define(storedValues=["n"]))
        assert shown["params"] == {"metric": "cosine", "dimension": 8, "defaultNProbe": 1, "trainingIterations": 25}
        assert shown["storedValues"] == ["n"]
        assert shown["sparse"] is False

    @pytest.mark.parametrize(
        ("document", "sparse", "number"),
        [
            ({}, False, 10),
            ({"e": None}, False, 17),
            ({"e": "x"}, False, 17),
            ({"e": [1, 2]}, False, 17),
            ({"e": [1, 2, "3"]}, False, 17),
            ({"e": [1, 2, True]}, True, 17),
            ({"e": [1, 2, 3, 4]}, True, 17),
        ],
    )
    def test_documents_without_a_proper_vector_are_refused(self, make, document, sparse, number):
        database = make(define("l2", 3, sparse=sparse))
        with pytest.raises(ArangoError) as error, database.engine.writing() as txn:
            txn.collection("c", write=True).insert(document)
        assert error.value.num == number

    def test_a_sparse_index_takes_documents_without_one(self, make):
        database = make(define("l2", 3, sparse=True))
        with database.engine.writing() as txn:
            for document in ({"_key": "0"}, {"_key": "1", "e": None}, {"_key": "2", "e": [1, 2, 3]}):
                txn.collection("c", write=True).insert(document)
        assert database.search([0, 0, 0], 9)[0] == [2]

    @pytest.mark.parametrize("query", [None, [1, 2], [1, 2, "x"], "abc"])
    def test_a_query_that_is_no_vector_is_error_1542(self, make, query):
        database = make(define("l2", 3))
        with database.engine.reading() as txn, pytest.raises(ArangoError) as error:
            database.index(txn).search(txn, query, 1)
        assert error.value.num == 1542


class TestInAql:
    def test_filtered_and_sorted(self, make):
        vectors = clusters(500, 8)
        database = make(define())
        database.insert(vectors)
        text = "FOR d IN c FILTER d.n % 7 == 0 SORT APPROX_NEAR_COSINE(d.e, @q) DESC LIMIT 5 RETURN d.n"
        found = [
            n for batch in aql.execute(database.engine, "_system", text, {"q": vectors[3].tolist()}, {}) for n in batch
        ]
        assert found == best("cosine", exact("cosine", vectors, vectors[3]), 5, np.arange(500) % 7 == 0)


class TestSigns:
    def test_distances_count_differing_signs(self):
        vectors = clusters(70, 300)
        coder = Coder("l2", 300, np.zeros(300, np.float32))
        bits, radii = coder.encode(vectors)
        query = coder.query(vectors[0])
        expected = ((vectors > 0) != (vectors[0] > 0)).sum(axis=1)
        assert sign_distances(list(bits), query.bits).tolist() == expected.tolist()
        assert sign_distances_of(list(bits), np.array([5, 60]), query.bits).tolist() == expected[[5, 60]].tolist()
        assert radii == pytest.approx(np.linalg.norm(vectors, axis=1), rel=1e-5)

    @given(st.lists(st.integers(0, 9), min_size=1), st.integers(1, 20))
    def test_smallest_keeps_ties(self, values, count):
        chosen = smallest(np.array(values, np.uint16), count)
        assert sorted(values)[:count] == sorted(np.array(values)[chosen].tolist())[:count]

    @pytest.mark.parametrize("arrangement", ["drawn", "ascending", "descending", "hidden", "equal"])
    def test_smallest_of_many_are_those_of_all(self, arrangement):
        """The threshold comes from a sample, which may not show the least keys at all."""
        keys = np.random.default_rng(1).integers(100, 60_000, 50_000).astype(np.uint16)
        if arrangement in ("ascending", "descending"):
            keys = np.sort(keys)[:: 1 if arrangement == "ascending" else -1]
        if arrangement == "hidden":
            keys[1:800:2] = np.arange(400) % 90
        if arrangement == "equal":
            keys[:] = 7
        for count in (1, 300, 2000, 49_999):
            edge = np.sort(keys)[count - 1]
            assert np.sort(smallest(keys, count)).tolist() == np.flatnonzero(keys <= edge).tolist()
            floats = keys.astype(np.float32)
            assert np.sort(smallest(floats, count)).tolist() == np.flatnonzero(floats <= edge).tolist()

    @pytest.mark.parametrize(("metric", "dimension"), [("cosine", 300), ("l2", 96), ("innerProduct", 384)])
    def test_the_finer_estimate_is_nearer_to_the_truth(self, metric, dimension):
        rng = np.random.default_rng(3)
        spread = rng.standard_normal((2010, 20)) @ rng.standard_normal((20, dimension)) + 2 * rng.standard_normal(
            dimension
        )
        vectors = spread.astype(np.float32)
        coder = Coder.learn(metric, vectors[:2000])
        bits, radii = coder.encode(vectors[:2000])
        found = {"rough": 0, "fine": 0}
        for wanted in vectors[2000:]:
            query = coder.query(wanted)
            true = set(best(metric, exact(metric, vectors[:2000], wanted), 20))
            rough = query.keys(sign_distances(list(bits), query.bits), radii, even=False)
            fine = query.fine(list(bits), np.arange(2000), radii)
            for name, estimates in (("rough", rough), ("fine", fine)):
                found[name] += len(true & set(np.argsort(estimates)[:40].tolist()))
        assert found["fine"] > found["rough"] > 100


class TestBuilding:
    """An index over documents that are there: vectors in the JSON and outside it, and documents that have none."""

    @pytest.mark.parametrize("kinds", ["outside", "inside", "both"])
    def test_finds_all(self, tmp_path, kinds, monkeypatch):
        monkeypatch.setattr(vector_index, "BUILD", 7)
        engine = Engine.open(tmp_path / "a.db")
        rng = np.random.default_rng(0)
        expected = {}
        with engine.writing() as txn:
            ddl.create_collection(txn, "c")
            collection = txn.collection("c", write=True)
            for n in range(40):
                whole = kinds == "inside" or (kinds == "both" and n % 3 == 0)
                vector = rng.integers(1, 9, 64).tolist() if whole else rng.random(64).astype(np.float32).tolist()
                vector = vector if n % 4 else rng.random(64).tolist()
                collection.insert({"_key": str(n), "e": vector})
                expected[str(n)] = float(np.linalg.norm(vector))
            collection.insert({"_key": "none"})
            collection.insert({"_key": "null", "e": None})
            ddl.create_index(txn, "c", define("l2", 64) | {"fields": ["e"], "sparse": True})
        with engine.reading() as txn:
            found = aql.execute(
                txn,
                "_system",
                "FOR d IN c LET s = APPROX_NEAR_L2(d.e, @q) SORT s LIMIT 100 RETURN [d._key, s]",
                {"q": [0] * 64},
            ).all()
        assert dict(found) == pytest.approx(expected, rel=1e-5)
        engine.close()

    @pytest.mark.parametrize("odd", [[0.5] * 65, [0.5] * 128, [1] * 32, "text", [0.5] * 63 + ["x"]])
    @pytest.mark.parametrize("before", [0, 1])
    def test_refuses_what_is_no_vector(self, tmp_path, odd, before):
        engine = Engine.open(tmp_path / "a.db")
        with engine.writing() as txn:
            ddl.create_collection(txn, "c")
            for n in range(before):
                txn.collection("c", write=True).insert({"_key": str(n), "e": [0.5] * 64})
            txn.collection("c", write=True).insert({"_key": "odd", "e": odd})
            with pytest.raises(ArangoError) as error:
                ddl.create_index(txn, "c", define("l2", 64) | {"fields": ["e"], "sparse": True})
            assert error.value.num == 17
        engine.close()
