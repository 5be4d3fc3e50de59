"""Views: what SEARCH finds and how it scores, against documents looked at one by one."""

import math
import random
import re
import threading
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgraph.embedded import analyzer_store, aql, ddl, segmented, view_store
from vgraph.embedded.arrays import Growing, RowMap, member, narrow, pack, ranges, unpack
from vgraph.embedded.engine import Engine
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.search import inverted, store
from vgraph.embedded.search.analyzers import BUILTIN
from vgraph.embedded.search.inverted import TermPostings
from vgraph.embedded.search.scoring import BM25, FieldStats, scored, top_terms

LINK = {
    "includeAllFields": True,
    "storeValues": "id",
    "fields": {"text": {"analyzers": ["text_en", "identity"]}, "body": {"analyzers": ["text_en"]}},
}


class Database:
    """An engine with one collection `c` and a view `v` over it."""

    def __init__(self, path, link=LINK):
        self.engine = Engine.open(path)
        with self.engine.writing() as txn:
            ddl.create_collection(txn, "c")
            view_store.create_view(txn, "v", "arangosearch", {"links": {"c": link}})

    def insert(self, *documents):
        with self.engine.writing() as txn:
            collection = txn.collection("c", write=True)
            for document in documents:
                collection.insert(document)

    def remove(self, *keys):
        with self.engine.writing() as txn:
            for key in keys:
                txn.collection("c", write=True).remove(key)

    def query(self, text, **binds):
        return [row for batch in aql.execute(self.engine, "_system", text, binds, {}) for row in batch]

    def keys(self, condition, **binds):
        return sorted(self.query(f"FOR d IN v SEARCH {condition} RETURN d._key", **binds))


@pytest.fixture
def database(tmp_path):
    opened = Database(tmp_path / "a.db")
    yield opened
    opened.engine.close()


FOX = (
    {"_key": "a", "text": "The quick brown fox jumps over the lazy dog", "n": 1, "tags": ["x", "y"], "ok": True},
    {"_key": "b", "text": "A brown dog", "n": 2.5, "tags": ["y"], "ok": False, "nil": None},
    {"_key": "c", "text": "Quick quick slow", "n": -3, "tags": [], "deep": {"er": [{"w": "u"}, {"w": "v"}]}},
    {"_key": "d", "n": "1", "text": ["fox one", "two dogs"], "tags": ["x", 7]},
)


class TestConditions:
    @pytest.mark.parametrize(
        ("condition", "expected"),
        [
            ("d.n == 1", "a"),
            ("d.n == '1'", "d"),
            ("d.n >= 1 AND d.n < 3", "ab"),
            ("d.n > 1", "b"),
            ("2 > d.n", "ac"),
            ("d.n != 1", "bcd"),
            ("d.n IN [1, '1', -3]", "acd"),
            ("d.n NOT IN [1, '1', -3]", "b"),
            ("d.n IN 0..2", "a"),
            ("d.n IN []", ""),
            ("d.ok == true", "a"),
            ("d.ok == false", "b"),
            ("d.nil == null", "b"),
            ("d.tags == 'x'", "ad"),
            ("d.tags == 7", "d"),
            ("'y' IN d.tags", "ab"),
            ("['x', 'y'] ALL IN d.tags", "a"),
            ("['x', 'y'] ANY IN d.tags", "abd"),
            ("['x', 'y'] NONE IN d.tags", "c"),
            ("['x', 'y', 'z'] AT LEAST (2) IN d.tags", "a"),
            ("[0, 2] ANY < d.n", "ab"),
            ("d.deep.er.w == 'v'", "c"),
            ("d['deep'].er.w == 'v'", "c"),
            ("d.text == 'A brown dog'", "b"),
            ("ANALYZER(d.text == 'dog', 'text_en')", "abd"),
            ("ANALYZER(d.text == 'dog' AND d.text != 'quick', 'text_en')", "bd"),
            ("ANALYZER(d.text IN TOKENS('Slow foxes', 'text_en'), 'text_en')", "acd"),
            ("NOT (d.n == 1)", "bcd"),
            ("true", "abcd"),
            ("false OR d.n == 1", "a"),
            ("@x == null OR d.n == @x", "abcd"),
            ("IN_RANGE(d.n, 1, 2.5, true, false)", "a"),
            ("IN_RANGE(d.text, 'A', 'B', true, true)", "b"),
            ("d.text > 'B'", "acd"),
            ("STARTS_WITH(d.text, 'A br')", "b"),
            ("ANALYZER(STARTS_WITH(d.text, ['qu', 'bro'], 2), 'text_en')", "a"),
            ("ANALYZER(STARTS_WITH(d.text, ['qu', 'bro']), 'text_en')", "abc"),
            ("ANALYZER(STARTS_WITH(d.text, ['qu', 'bro'], 1, 10), 'text_en')", "abc"),
            ("d.text LIKE '%brown%'", "ab"),
            ("ANALYZER(LIKE(d.text, 'br_w%'), 'text_en')", "ab"),
            ("ANALYZER(LEVENSHTEIN_MATCH(d.text, 'qiuck', 1), 'text_en')", "ac"),
            ("ANALYZER(LEVENSHTEIN_MATCH(d.text, 'qiuck', 1, false), 'text_en')", ""),
            ("ANALYZER(LEVENSHTEIN_MATCH(d.text, 'iuck', 1, true, 64, 'q'), 'text_en')", "ac"),
            ("MIN_MATCH(d.n == 1, d.ok == true, d.tags == 'y', 2)", "a"),
            ("EXISTS(d.ok)", "ab"),
            ("EXISTS(d.n, 'numeric')", "abc"),
            ("EXISTS(d.n, 'string')", "d"),
            ("EXISTS(d.nil, 'null')", "b"),
            ("EXISTS(d.deep)", "c"),
            ("EXISTS(d.text, 'analyzer', 'text_en')", "abcd"),
            ("PHRASE(d.text, 'quick brown', 'text_en')", "a"),
            ("ANALYZER(PHRASE(d.text, 'brown quick'), 'text_en')", ""),
            ("PHRASE(d.text, 'quick', 1, 'fox', 'text_en')", "a"),
            ("PHRASE(d.text, ['quick', 1, 'fox'], 'text_en')", "a"),
            ("PHRASE(d.text, [{STARTS_WITH: 'qu'}, {TERMS: ['brown', 'slow']}], 'text_en')", "ac"),
            ("PHRASE(d.text, [{TERM: 'brown'}, {WILDCARD: 'd%'}], 'text_en')", "b"),
            ("PHRASE(d.text, [{LEVENSHTEIN_MATCH: ['browm', 1]}, 'dog'], 'text_en')", "b"),
            ("PHRASE(d.text, [{IN_RANGE: ['br', 'bs', true, true]}, 'dog'], 'text_en')", "b"),
            ("BOOST(d.n == 1, 2)", "a"),
            ("d.n == LENGTH(d._key)", "a"),
            ("d.ok", "a"),
            ("d._key == 'c'", "c"),
        ],
    )
    def test_find_the_documents_they_describe(self, database, condition, expected):
        database.insert(*FOX)
        binds = {"x": None} if "@x" in condition else {}
        assert database.keys(condition, **binds) == list(expected)

    @pytest.mark.parametrize(
        ("condition", "number"),
        [
            ("ANALYZER(d.text == 'x', 'nowhere')", 10),
            ("PHRASE(d.text, 1, 'text_en')", 10),
            ("LEVENSHTEIN_MATCH(d.text, 'x', 5)", 10),
            ("LEVENSHTEIN_MATCH(d.text, 'x', 4)", 10),
            ("d.n == [1]", 10),
            ("EXISTS(d.n, 'colour')", 10),
            ("BOOST(d.n == 1, 'x')", 10),
            ("STARTS_WITH('a', d.text)", 10),
        ],
    )
    def test_that_make_no_sense_are_refused(self, database, condition, number):
        with pytest.raises(ArangoError) as error:
            database.keys(condition)
        assert error.value.num == number

    def test_of_outer_loops_are_bound_for_each_row(self, database):
        database.insert(*FOX)
        found = database.query("FOR x IN [1, 2.5] FOR d IN v SEARCH d.n == x RETURN [x, d._key]")
        assert found == [[1, "a"], [2.5, "b"]]

    def test_ngram_match_counts_grams_in_order(self, tmp_path):
        opened = Database(tmp_path / "b.db")
        from vgraph.embedded import analyzer_store

        properties = {"min": 2, "max": 2, "preserveOriginal": False, "streamType": "utf8"}
        with opened.engine.writing() as txn:
            analyzer_store.create(
                txn,
                {
                    "name": "bigram",
                    "type": "ngram",
                    "properties": properties,
                    "features": ["frequency", "norm", "position"],
                },
            )
        with opened.engine.writing() as txn:
            view_store.change_view(
                txn, "v", {"links": {"c": {"fields": {"t": {"analyzers": ["bigram"]}}}}}, partial=True
            )
        opened.insert({"_key": "a", "t": "quick fox"}, {"_key": "b", "t": "quirky fox"}, {"_key": "c", "t": "slow dog"})
        assert opened.keys("NGRAM_MATCH(d.t, 'quick foxx', 'bigram')") == ["a"]
        assert opened.keys("NGRAM_MATCH(d.t, 'quick foxx', 0.5, 'bigram')") == ["a", "b"]
        opened.engine.close()

    def test_minhash_match_compares_signatures(self, tmp_path):
        from vgraph.embedded import analyzer_store

        inner = {"type": "delimiter", "properties": {"delimiter": " "}}
        opened = Database(tmp_path / "b.db")
        with opened.engine.writing() as txn:
            properties = {"numHashes": 50, "analyzer": inner}
            analyzer_store.create(txn, {"name": "mh", "type": "minhash", "properties": properties, "features": []})
        with opened.engine.writing() as txn:
            view_store.change_view(txn, "v", {"links": {"c": {"fields": {"t": {"analyzers": ["mh"]}}}}}, partial=True)
        opened.insert({"_key": "a", "t": "a b c d"}, {"_key": "b", "t": "a b x y"}, {"_key": "c", "t": "x y z"})
        assert opened.keys("MINHASH_MATCH(d.t, 'a b c e', 0.75, 'mh')") == ["a"]
        assert opened.keys("ANALYZER(MINHASH_MATCH(d.t, 'a b c e', 0.5), 'mh')") == ["a", "b"]
        opened.engine.close()

    def test_like_with_wildcard_and_geo_with_geojson_analyzers(self, tmp_path):
        from vgraph.embedded import analyzer_store

        opened = Database(tmp_path / "b.db")
        with opened.engine.writing() as txn:
            for name, kind, properties in (("wild", "wildcard", {"ngramSize": 3}), ("geo", "geojson", {})):
                analyzer_store.create(
                    txn, {"name": name, "type": kind, "properties": properties, "features": ["frequency", "position"]}
                )
        fields = {"t": {"analyzers": ["wild"]}, "at": {"analyzers": ["geo"]}}
        with opened.engine.writing() as txn:
            view_store.change_view(txn, "v", {"links": {"c": {"fields": fields, "storeValues": "id"}}}, partial=True)
        opened.insert(
            {"_key": "a", "t": "north gate"},
            {"_key": "b", "at": {"type": "Point", "coordinates": [6.9, 50.9]}},
            {"_key": "c", "at": [13.4, 52.5]},
        )
        assert opened.keys("ANALYZER(d.t LIKE '%th_ga%', 'wild')") == ["a"]
        assert opened.keys("ANALYZER(GEO_DISTANCE(d.at, [6.8, 50.9]) < 10000, 'geo')") == ["b"]
        assert opened.keys("EXISTS(d.at, 'analyzer', 'geo')") == ["b", "c"]
        opened.engine.close()


class TestFields:
    def test_only_what_a_link_names_is_indexed(self, tmp_path):
        link = {"fields": {"a": {"fields": {"b": {}}}, "c": {"includeAllFields": True}}}
        opened = Database(tmp_path / "b.db", link)
        opened.insert(
            {"_key": "1", "a": {"b": "x", "z": "x"}, "c": {"q": {"r": "x"}}, "e": "x"}, {"_key": "2", "e": "x"}
        )
        assert opened.keys("d.a.b == 'x'") == ["1"]
        assert opened.keys("d.c.q.r == 'x'") == ["1"]
        assert opened.keys("d.a.z == 'x' OR d.e == 'x'") == []
        assert opened.keys("true") == ["1"]  # a document that brings nothing is not in the view
        opened.engine.close()

    def test_list_positions_tell_elements_apart(self, tmp_path):
        opened = Database(tmp_path / "b.db", {"includeAllFields": True, "trackListPositions": True})
        opened.insert({"_key": "1", "a": ["x", "y"]})
        assert opened.keys("d.a[1] == 'y'") == ["1"]
        assert opened.keys("d.a[0] == 'y'") == []
        opened.engine.close()

    def test_exists_needs_stored_values(self, tmp_path):
        opened = Database(tmp_path / "b.db", {"includeAllFields": True})
        opened.insert({"_key": "1", "a": 1})
        assert opened.keys("EXISTS(d.a)") == []
        opened.engine.close()

    def test_search_alias_views_take_the_analyzer_of_their_index(self, tmp_path):
        opened = Database(tmp_path / "b.db")
        with opened.engine.writing() as txn:
            ddl.create_index(
                txn,
                "c",
                {
                    "type": "inverted",
                    "name": "inv",
                    "fields": ["n", {"name": "text", "analyzer": "text_en"}, "tags[*]", "list[*].w"],
                },
            )
            view_store.create_view(txn, "alias", "search-alias", {"indexes": [{"collection": "c", "index": "inv"}]})
        opened.insert(*FOX, {"_key": "e", "list": [{"w": 1}, {"w": 2}]})
        find = "FOR d IN alias SEARCH {} SORT d._key RETURN d._key"
        assert opened.query(find.format("d.text == 'dog'")) == ["a", "b"]
        assert opened.query(find.format("d.tags == 'x' AND d.n == 1")) == ["a"]
        assert opened.query(find.format("d.list[*].w == 2")) == ["e"]
        assert opened.query(find.format("EXISTS(d.n)")) == ["a", "b", "c", "d"]
        opened.engine.close()


# --------------------------------------------------------------------------------------------------- scoring


def bm25(documents, words, k=1.2, b=0.75):
    """Scores by the formula, from the texts alone."""
    texts = {key: Counter(BUILTIN["text_en"].terms(text)) for key, text in documents.items()}
    lengths = {key: sum(counts.values()) for key, counts in texts.items() if counts}
    total, average = len(lengths), sum(lengths.values()) / max(len(lengths), 1)
    scores = {}
    for key, counts in texts.items():
        score = 0.0
        for word in dict.fromkeys(words):
            frequency = sum(word in other for other in texts.values())
            if counts[word]:
                idf = math.log(1 + (total - frequency + 0.5) / (frequency + 0.5))
                norm = k * (1 - b + b * lengths[key] / average)
                score += idf * (k + 1) * counts[word] / (norm + counts[word])
        if any(counts[word] for word in words):
            scores[key] = score
    return scores


class TestScoring:
    def test_bm25_by_hand(self, database):
        database.insert(
            *({"_key": str(n), "body": text} for n, text in enumerate(["red red blue", "red", "green blue"]))
        )
        query = "FOR d IN v SEARCH ANALYZER(d.body == 'red', 'text_en') SORT BM25(d) DESC RETURN [d._key, BM25(d)]"
        # N = 3, n = 2, average length 2: idf = ln(1 + 1.5 / 2.5) = 0.470004
        expected = [["1", 0.470004 * 2.2 / (1.2 * 0.625 + 1)], ["0", 0.470004 * 2.2 * 2 / (1.2 * 1.375 + 2)]]
        found = database.query(query)
        assert [row[0] for row in found] == [row[0] for row in expected]
        assert [row[1] for row in found] == pytest.approx([row[1] for row in expected], rel=1e-5)

    def test_parameters_change_the_formula(self, database):
        texts = {"a": "red red blue", "b": "red", "c": "green blue green"}
        database.insert(*({"_key": key, "body": text} for key, text in texts.items()))
        for k, b in ((1.2, 0.75), (2.0, 0.0), (0.0, 0.5), (10.0, 1.0)):
            found = database.query(
                "FOR d IN v SEARCH ANALYZER(d.body == 'red', 'text_en') RETURN [d._key, BM25(d, @k, @b)]", k=k, b=b
            )
            assert dict(found) == pytest.approx(bm25(texts, ["red"], k, b), rel=1e-5)

    def test_tfidf_with_and_without_norm(self, database):
        database.insert({"_key": "a", "body": "red red blue"}, {"_key": "b", "body": "green"})
        idf = math.log(1 + 3 / 2)
        query = "FOR d IN v SEARCH ANALYZER(d.body == 'red', 'text_en') RETURN [TFIDF(d), TFIDF(d, true)]"
        [found] = database.query(query)
        assert found == pytest.approx([math.sqrt(2) * idf, math.sqrt(2) * idf / math.sqrt(3)], rel=1e-5)

    def test_scores_are_single_precision(self, database):
        database.insert({"_key": "a", "body": "red"}, {"_key": "b", "body": "blue"})
        [score] = database.query("FOR d IN v SEARCH ANALYZER(d.body == 'red', 'text_en') RETURN BM25(d)")
        assert score == float(np.float32(score))

    def test_boost_multiplies_and_numbers_add_nothing(self, database):
        database.insert({"_key": "a", "body": "red", "n": 1}, {"_key": "b", "body": "blue", "n": 1})
        plain, boosted, with_number, only_number = (
            database.query(f"FOR d IN v SEARCH {condition} RETURN BM25(d)")
            for condition in (
                "ANALYZER(d.body == 'red', 'text_en')",
                "BOOST(ANALYZER(d.body == 'red', 'text_en'), 2.5)",
                "ANALYZER(d.body == 'red', 'text_en') AND d.n == 1",
                "d.n == 1",
            )
        )
        assert boosted == pytest.approx([2.5 * plain[0]])
        assert with_number == plain
        assert only_number == [0, 0]

    def test_phrases_score_by_their_own_frequency_and_the_sum_of_idfs(self, database):
        database.insert(
            {"_key": "a", "body": "red car red car"}, {"_key": "b", "body": "car red"}, {"_key": "c", "body": "x"}
        )
        [score] = database.query("FOR d IN v SEARCH PHRASE(d.body, 'red car', 'text_en') RETURN BM25(d)")
        idf = 2 * math.log(1 + 1.5 / 2.5)
        assert score == pytest.approx(idf * 2.2 * 2 / (1.2 * (0.25 + 0.75 * 4 / (7 / 3)) + 2), rel=1e-5)

    def test_statistics_span_all_collections_of_a_view(self, database):
        with database.engine.writing() as txn:
            ddl.create_collection(txn, "c2")
            view_store.change_view(txn, "v", {"links": {"c2": LINK}}, partial=True)
            txn.collection("c2", write=True).insert({"_key": "z", "body": "red green"})
        database.insert({"_key": "a", "body": "red"}, {"_key": "b", "body": "blue blue"})
        found = dict(
            database.query(
                "FOR d IN v SEARCH ANALYZER(d.body == 'red', 'text_en') SORT BM25(d) DESC LIMIT 9 RETURN [d._key, BM25(d)]"
            )
        )
        assert found == pytest.approx(bm25({"a": "red", "b": "blue blue", "z": "red green"}, ["red"]), rel=1e-5)


WORDS = ["red", "blue", "green", "car", "van", "gate", "north"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 30), TEXTS),
        st.tuples(st.just("many"), st.integers(3, 9), TEXTS),
        st.tuples(st.just("remove"), st.integers(0, 30), st.just("")),
        st.tuples(st.just("reopen"), st.just(0), st.just("")),
        st.tuples(st.just("search"), st.just(0), st.just("")),
    ),
    min_size=1,
    max_size=60,
)


class TestPostings:
    """Log, segments and memory agree with the documents whatever happens, with segments of a few documents."""

    @pytest.fixture(autouse=True)
    def small_segments(self, monkeypatch):
        monkeypatch.setattr(store, "SEAL", 5)
        monkeypatch.setattr(segmented, "FANOUT", 2)
        monkeypatch.setattr(segmented, "LEAST", 5)
        monkeypatch.setattr(store, "BUILD", 7)
        monkeypatch.setattr(store, "DIRECT", 4)
        monkeypatch.setattr(inverted, "_WIDE", 1)

    @staticmethod
    def numbers(text):
        """What the documents have beside their text; some have several, some none."""
        size = len(text)
        return {} if size % 5 == 4 else {"n": size % 7, "several": [size % 7, 3] if "van" in text else size % 7}

    def check_ranges(self, database, texts, query, expected):
        condition = "ANALYZER(d.body IN TOKENS(@q, 'text_en'), 'text_en')"
        for name, low in (("n", 1), ("n", 4), ("several", 1), ("several", 4), ("none", 1)):
            wanted = []
            for key in expected:
                values = self.numbers(texts[key]).get(name, [])
                if any(value >= low for value in (values if isinstance(values, list) else [values])):
                    wanted.append(key)
            found = database.query(
                f"FOR d IN v SEARCH {condition} AND d.@name >= @low AND d.@name < 100 SORT BM25(d) DESC LIMIT 1000 RETURN d._key",
                q=query, name=name, low=low,
            )  # fmt: skip
            assert sorted(found) == sorted(wanted)

    def check(self, database, texts, query):
        words = BUILTIN["text_en"].terms(query)
        expected = bm25(texts, words)
        condition = "ANALYZER(d.body IN TOKENS(@q, 'text_en'), 'text_en')"
        found = database.query(f"FOR d IN v SEARCH {condition} RETURN [d._key, BM25(d)]", q=query)
        assert dict(found) == pytest.approx(expected, rel=1e-4)
        top = database.query(f"FOR d IN v SEARCH {condition} SORT BM25(d) DESC LIMIT 3 RETURN BM25(d)", q=query)
        assert top == pytest.approx(sorted(expected.values(), reverse=True)[:3], rel=1e-4)
        self.check_ranges(database, texts, query, expected)
        phrase = sorted(key for key, text in texts.items() if re.search(rf"\b{query}\b", text))
        assert database.keys("PHRASE(d.body, @q, 'text_en')", q=query) == phrase

    @settings(deadline=None, max_examples=40)
    @given(actions=ACTIONS, query=st.sampled_from(["red", "blue car", "green van"]))
    def test_follow_every_change(self, tmp_path_factory, actions, query):
        path = tmp_path_factory.mktemp("search") / "a.db"
        database = Database(path)
        rng = random.Random(len(actions))
        texts = {}
        for action, number, text in actions:
            key = str(number)
            if action == "put":
                with database.engine.writing() as txn:
                    document = {"_key": key, "body": text, **self.numbers(text)}
                    txn.collection("c", write=True).insert(document, overwrite_mode="replace")
                texts[key] = text
            elif action == "many":
                made = {f"m{len(texts)}-{n}-{rng.random()}": f"{text} {rng.choice(WORDS)}" for n in range(number)}
                with database.engine.writing() as txn:
                    documents = [{"_key": key, "body": body, **self.numbers(body)} for key, body in made.items()]
                    txn.collection("c", write=True).insert_many(documents)
                texts |= made
            elif action == "remove" and key in texts:
                database.remove(key)
                del texts[key]
            elif action == "reopen":
                database.engine.close()
                database.engine = Engine.open(path)
            elif action == "search":
                self.check(database, texts, query)
        self.check(database, texts, query)
        other = Database.__new__(Database)
        other.engine = Engine.open(path)
        self.check(other, texts, query)
        other.engine.close()
        database.engine.close()

    def test_an_aborted_transaction_leaves_nothing(self, database):
        database.insert({"_key": "a", "body": "red"})
        txn = database.engine.begin(write=["c"])
        for number in range(12):
            txn.collection("c", write=True).insert({"_key": f"x{number}", "body": "red"})
        txn.abort()
        database.insert({"_key": "b", "body": "red"})
        assert database.keys("ANALYZER(d.body == 'red', 'text_en')") == ["a", "b"]

    def test_a_transaction_does_not_find_what_it_has_not_committed(self, database):
        for key in "abcdefgh":
            database.insert({"_key": key, "body": "red car"})
        for count in (2, 20):  # in the log, and sealed by the transaction itself
            txn = database.engine.begin(write=["c"])
            for number in range(count):
                txn.collection("c", write=True).insert({"_key": f"{count}-{number}", "body": "red car"})
            for condition in ("ANALYZER(d.body == 'red', 'text_en')", "PHRASE(d.body, 'red car', 'text_en')"):
                text = f"FOR d IN v SEARCH {condition} RETURN d._key"
                found = [row for batch in aql.execute(txn, "_system", text, {}, {}) for row in batch]
                assert sorted(found) == [*"abcdefgh"]
            txn.abort()

    def test_another_engine_on_the_file_is_followed(self, database, tmp_path):
        other = Engine.open(tmp_path / "a.db")
        for number in range(40):
            with other.writing() as txn:
                txn.collection("c", write=True).insert({"_key": str(number), "body": "red" if number % 2 else "blue"})
            assert len(database.keys("ANALYZER(d.body == 'red', 'text_en')")) == (number + 1) // 2
        other.close()

    @pytest.mark.parametrize("many", [1, 3, 6])
    def test_slots_and_what_is_remembered_outlive_sealing_and_merging(self, database, many):
        condition = "ANALYZER(d.body == 'red', 'text_en')"
        [(_, index)] = self.member(database)
        known = None
        for number in range(60):
            documents = [{"_key": f"{number}-{n}", "body": "red car"} for n in range(many)]
            with database.engine.writing() as txn:
                txn.collection("c", write=True).insert_many(documents)
            assert len(database.keys(condition)) == many * (number + 1)
            field = index.store.postings.text("body", "text_en")
            known = known or (field, field.postings("red"))
            assert field is known[0]
            assert field.postings("red") is known[1]
        with database.engine.reading() as txn:
            assert len(index.store.log.listed(txn)) < 40

    def test_most_documents_dead_make_one_segment_of_the_living(self, database):
        for number in range(200):
            with database.engine.writing() as txn:
                document = {"_key": str(number % 10), "body": "red car"}
                txn.collection("c", write=True).insert(document, overwrite_mode="replace")
        assert len(database.keys("ANALYZER(d.body == 'red', 'text_en')")) == 10
        [(_, index)] = self.member(database)
        with database.engine.reading() as txn:
            assert sum(segment.documents for segment in index.store.log.listed(txn)) <= 2 * 10 + 6 * 5

    def member(self, database):
        with database.engine.reading() as txn:
            return txn.view("v").members(txn)

    def test_a_truncated_collection_is_empty_to_those_who_hold_it(self, database):
        condition = "ANALYZER(d.body == 'red', 'text_en')"
        for _ in range(2):
            for number in range(12):
                database.insert({"_key": str(number), "body": "red car"})
            assert len(database.keys(condition)) == 12
            with database.engine.writing() as txn:
                txn.collection("c", write=True).truncate()
            assert database.keys(condition) == []
        database.insert({"_key": "a", "body": "red"})
        assert database.keys(condition) == ["a"]

    def test_a_snapshot_older_than_a_merge_is_served(self, database):
        for number in range(6):
            database.insert({"_key": str(number), "body": "red car"})
        reader = database.engine.begin(read_only=True)
        for number in range(6, 30):
            database.insert({"_key": str(number), "body": "red car"})
        assert len(database.keys("PHRASE(d.body, 'red car', 'text_en')")) == 30
        text = "FOR d IN v SEARCH PHRASE(d.body, 'red car', 'text_en') RETURN d._key"
        found = [row for batch in aql.execute(reader, "_system", text, {}, {}) for row in batch]
        reader.abort()
        assert len(found) == 6

    def test_truncation_is_seen_by_others(self, database, tmp_path):
        for number in range(12):
            database.insert({"_key": str(number), "body": "red"})
        other = Database.__new__(Database)
        other.engine = Engine.open(tmp_path / "a.db")
        assert len(other.keys("ANALYZER(d.body == 'red', 'text_en')")) == 12
        with database.engine.writing() as txn:
            txn.collection("c", write=True).truncate()
        database.insert({"_key": "new", "body": "red"})
        for opened in (database, other):
            assert opened.keys("ANALYZER(d.body == 'red', 'text_en')") == ["new"]
        other.engine.close()

    def test_a_view_made_later_finds_what_was_there(self, database):
        for number in range(20):
            database.insert({"_key": str(number), "body": "red", "n": number})
        with database.engine.writing() as txn:
            view_store.create_view(txn, "w", "arangosearch", {"links": {"c": LINK}})
        assert database.query("FOR d IN w SEARCH d.n >= 15 SORT d.n RETURN d.n") == [15, 16, 17, 18, 19]


class TestTopTerms:
    """Pruning changes nothing: the same documents, scores and order as adding everything up."""

    @settings(deadline=None, max_examples=60)
    @given(
        seed=st.integers(0, 10_000),
        shares=st.lists(st.sampled_from([0.002, 0.02, 0.3, 0.9]), min_size=1, max_size=5),
        k=st.sampled_from([1, 5, 20, 500]),
        masked=st.booleans(),
        extra=st.booleans(),
    )
    def test_equals_the_plain_sum(self, seed, shares, k, masked, extra):
        rng = np.random.default_rng(seed)
        size = 3000
        terms = []
        stats = FieldStats(size, 10 * size, True, True)
        before = FieldStats(size, int(rng.uniform(9.992, 10.008) * size), True, True)
        for share in shares:
            ords = np.flatnonzero(rng.random(size) < share)
            tfs, lengths = rng.integers(1, 5, len(ords)), rng.integers(5, 15, len(ords))
            postings = TermPostings(ords, tfs.astype(np.float32), lengths.astype(np.float32))
            weight = float(np.float32(-math.log(share) + 0.1))
            scored(BM25(), before, postings, weight)  # what was remembered then serves now
            terms.append(scored(BM25(), stats, postings, weight))
        mask = rng.random(size) < 0.4 if masked else None
        more = None
        if masked and extra:
            more = np.where(mask, rng.choice(np.array([0, 0.5, 2], np.float32), size), 0).astype(np.float32)
        total = np.zeros(size, np.float32)
        found = np.zeros(size, bool)
        for term in terms:
            ords = term.postings.ords
            total[ords] += term.at(np.arange(len(ords)))
            found[ords] = True
        if mask is not None:
            found &= mask
        if more is not None:
            total += more
        every = np.flatnonzero(found)
        expected = every[np.argsort(-total[every], kind="stable")][:k]
        sums = np.zeros(size, np.float32)
        ords, scores = top_terms(terms, k, sums, mask, more)
        assert not sums.any()
        assert scores.tolist() == total[expected].tolist()
        assert ords.tolist() == expected.tolist()


class TestThreads:
    def test_search_while_others_write(self, database):
        failures = []
        done = threading.Event()

        def read():
            try:
                while not done.is_set():
                    found = database.query(
                        "FOR d IN v SEARCH ANALYZER(d.body == 'red', 'text_en') SORT BM25(d) DESC LIMIT 5 RETURN d.body"
                    )
                    assert all("red" in body for body in found)
            except BaseException as error:  # noqa: BLE001
                failures.append(error)

        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        for number in range(150):
            database.insert({"_key": str(number), "body": "red car" if number % 3 else "blue car"})
            if number % 5 == 4:
                database.remove(str(number - 2))
        done.set()
        for reader in readers:
            reader.join()
        assert failures == []
        assert len(database.keys("ANALYZER(d.body == 'car', 'text_en')")) == 120


class TestOffsets:
    @pytest.mark.parametrize("seal", [1, 100])
    def test_are_bytes_of_what_matched(self, tmp_path, seal, monkeypatch):
        monkeypatch.setattr(store, "SEAL", seal)
        from vgraph.embedded import analyzer_store

        opened = Database(tmp_path / "b.db", {"includeAllFields": True})
        features = ["frequency", "norm", "position", "offset"]
        with opened.engine.writing() as txn:
            properties = {"locale": "en", "stopwords": []}
            analyzer_store.create(txn, {"name": "off", "type": "text", "properties": properties, "features": features})
        with opened.engine.writing() as txn:
            view_store.change_view(txn, "v", {"links": {"c": {"fields": {"t": {"analyzers": ["off"]}}}}}, partial=True)
        opened.insert({"_key": "a", "t": "für the quick fox, quick"})
        opened.engine.close()
        opened.engine = Engine.open(tmp_path / "b.db")
        [found] = opened.query(
            "FOR d IN v SEARCH ANALYZER(d.t == 'quick' OR PHRASE(d.t, 'the quick'), 'off') RETURN OFFSET_INFO(d, ['t'])"
        )
        assert found == [{"name": ["t"], "offsets": [[9, 5], [20, 5], [5, 9]]}]
        opened.engine.close()


class TestArrays:
    @given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5))))
    def test_ranges_are_concatenated(self, pairs):
        starts, lengths = (np.array([pair[at] for pair in pairs], np.int64) for at in (0, 1))
        assert ranges(starts, lengths).tolist() == [n for start, length in pairs for n in range(start, start + length)]

    @given(st.lists(st.integers(0, 2**33), min_size=1))
    def test_packing_keeps_values(self, values):
        array = np.array(values, np.int64)
        assert unpack(pack(array)).tolist() == values
        small = np.array([value % 70_000 for value in values], np.int64)
        assert unpack(pack(narrow(small))).tolist() == small.tolist()

    def test_row_maps_take_huge_row_ids(self):
        rows = RowMap()
        rows.set_many(np.array([5, 2**40]), np.array([0, 1], np.int32))
        rows.set(7, 2)
        assert rows.get_many(np.array([7, 5, 2**40, 9, 10**7])).tolist() == [2, 0, 1, -1, -1]

    def test_growing_forgets_what_is_cut_off(self):
        values = Growing(np.int64)
        values.extend(np.arange(100))
        values.resize(3)
        values.resize(5)
        assert values.view.tolist() == [0, 1, 2, 0, 0]
        assert member(np.array([1, 4, 9]), np.array([4, 9])).tolist() == [False, True, True]


class TestPlaces:
    def views(self, database):
        with database.engine.writing() as txn:
            for name, given in (
                ("pair", {}),
                ("named", {"latitude": ["lat"], "longitude": ["lng"]}),
            ):
                analyzer_store.create(txn, {"name": name, "type": "geopoint", "properties": given})
            fields = {"pair": {"analyzers": ["pair"]}, "deep": {"fields": {"at": {"analyzers": ["named"]}}}}
            view_store.create_view(txn, "geo", "arangosearch", {"links": {"c": {"fields": fields}}})
            index = {"type": "inverted", "name": "inv", "fields": [{"name": "pair", "analyzer": "pair"}]}
            ddl.create_index(txn, "c", index)
            view_store.create_view(txn, "alias", "search-alias", {"indexes": [{"collection": "c", "index": "inv"}]})
        database.insert(
            {"_key": "a", "pair": [50.93, 6.93], "deep": {"at": {"lat": 50.93, "lng": 6.93}}},
            {"_key": "b", "pair": [6.93, 50.93], "deep": {"at": {"lat": "50.93", "lng": 6.93}}},
            {"_key": "c", "pair": [50.93], "deep": {"at": [50.93, 6.93]}},
            {"_key": "d"},
        )

    def test_coordinates_are_latitude_first(self, database):
        self.views(database)
        near = "LET p = GEO_POINT(6.93, 50.94) FOR d IN {} SEARCH {} RETURN d._key"
        by_pair = "GEO_DISTANCE(d.pair, p) < 2000"
        assert database.query(near.format("geo", f"ANALYZER({by_pair}, 'pair')")) == ["a"]
        assert database.query(near.format("alias", by_pair)) == ["a"]
        assert database.query(near.format("geo", "ANALYZER(GEO_DISTANCE(d.deep.at, p) < 2000, 'named')")) == ["a"]
        assert database.query(near.format("geo", "ANALYZER(GEO_DISTANCE(d.pair, p) > 2000, 'pair')")) == ["b"]
        area = "GEO_POLYGON([[6, 50], [7, 50], [7, 51], [6, 51], [6, 50]])"
        assert database.query(near.format("geo", f"ANALYZER(GEO_CONTAINS({area}, d.pair), 'pair')")) == ["a"]


class TestKeys:
    """A filter by keys behind a search: what it names is all that is read."""

    def find(self, database, condition, **binds):
        text = f"FOR d IN v SEARCH ANALYZER(d.body == 'car', 'text_en') FILTER {condition} SORT BM25(d) DESC, d._key RETURN d._key"
        return database.query(text, **binds)

    @pytest.fixture
    def cars(self, database):
        with database.engine.writing() as txn:
            ddl.create_collection(txn, "other")
            properties = {"links": {"other": {"includeAllFields": True, "analyzers": ["text_en"]}}}
            view_store.change_view(txn, "v", properties, partial=True)
            for number in range(30):
                for name in ("c", "other"):
                    document = {"_key": f"{name}{number}", "body": "car " * (1 + number % 3), "n": number}
                    txn.collection(name, write=True).insert(document)
        return database

    def test_give_what_the_filter_gives(self, cars):
        everything = cars.query("FOR d IN v SEARCH d.n >= 0 RETURN [d._key, d._id, d.n]")
        keys = ["c3", "other4", "c5", "nobody", 7, None, "c3"]
        ids = ["c/c3", "other/other4", "c/other4", "c3", None]
        assert sorted(self.find(cars, "d._key IN @k", k=keys)) == ["c3", "c5", "other4"]
        assert sorted(self.find(cars, "d._id IN @k AND d.n > 3", k=ids)) == ["other4"]
        assert sorted(self.find(cars, "d._id IN @k AND d._key IN ['c3', 'c4']", k=ids)) == ["c3"]
        assert self.find(cars, "@k == null OR d._key IN @k", k=["c9"]) == ["c9"]
        assert len(self.find(cars, "@k == null OR d._key IN @k", k=None)) == len(everything) == 60
        assert self.find(cars, "d._key == @k", k="c8") == ["c8"]
        assert self.find(cars, "d._key IN @k", k="c8") == self.find(cars, "d._key == @k", k=None) == []
        assert sorted(self.find(cars, "d._key NOT IN @k", k=keys)) == sorted(
            {row[0] for row in everything} - {*map(str, keys)}
        )

    def test_of_an_outer_loop_are_looked_up_for_each_row(self, cars):
        text = (
            "FOR k IN ['c1', 'c2', 'zzz', 'c3'] LET found = (FOR d IN v SEARCH d.n >= 0 FILTER d._key == k RETURN d._key) "
            "RETURN found"
        )
        assert cars.query(text) == [["c1"], ["c2"], [], ["c3"]]
        joined = "FOR k IN ['c1', 'c2', 'zzz', 'c3'] FOR d IN v SEARCH d.n >= 0 FILTER d._key == k RETURN d._key"
        assert cars.query(joined) == ["c1", "c2", "c3"]

    def test_are_all_that_is_read(self, cars):
        text = "FOR d IN v SEARCH d.n >= 0 FILTER d._key IN ['c1', 'other2'] SORT BM25(d) LIMIT 5 RETURN d"
        with cars.engine.reading() as txn:
            result = aql.execute(txn, "_system", text)
            assert len(result.all()) == 2 and result.stats["scannedIndex"] == 2


def test_a_phrase_may_lead_back(database):
    with database.engine.writing() as txn:
        given = {"queryString": "FOR part IN SPLIT(@param, '-') RETURN part"}
        for name, collapsed in (("one", True), ("each", False)):
            properties = {**given, "collapsePositions": collapsed}
            body = {"name": name, "type": "aql", "properties": properties, "features": ["frequency", "position"]}
            analyzer_store.create(txn, body)
        view_store.create_view(
            txn, "w", "arangosearch", {"links": {"c": {"fields": {"t": {"analyzers": ["one", "each"]}}}}}
        )
    database.insert({"_key": "a", "t": "A-B-C-D"})

    def found(parts, analyzer):
        return database.query(f"FOR d IN w SEARCH PHRASE(d.t, {parts}, '{analyzer}') RETURN d._key")

    assert found("{TERM: 'B'}, 1, {TERM: 'D'}", "each") == ["a"] == found("{TERM: 'B'}, -1, {TERM: 'D'}", "each")
    assert found("{TERM: 'B'}, 1, {TERM: 'D'}", "one") == [] and found("{TERM: 'B'}, -1, {TERM: 'D'}", "one") == ["a"]
    assert found("{TERM: 'D'}, -2, {TERM: 'C'}", "each") == ["a"]


def test_an_analyzer_of_numbers_indexes_numbers(database):
    with database.engine.writing() as txn:
        properties = {"queryString": "RETURN LENGTH(@param)", "returnType": "number"}
        analyzer_store.create(txn, {"name": "sizes", "type": "aql", "properties": properties})
        view_store.create_view(txn, "w", "arangosearch", {"links": {"c": {"fields": {"t": {"analyzers": ["sizes"]}}}}})
    database.insert({"_key": "a", "t": "four"}, {"_key": "b", "t": ["a", "bcd"]})
    assert database.query("FOR d IN w SEARCH d.t == 4 RETURN d._key") == ["a"]
    assert database.query("FOR d IN w SEARCH d.t IN [1, 9] RETURN d._key") == ["b"]


NESTED_FIELDS = {"kind": {}, "value": {}, "parts": {"nested": {"n": {}}}, "note": {"analyzers": ["text_en"]}}


class TestNested:
    ELEMENT = st.one_of(
        st.integers(0, 2),
        st.fixed_dictionaries(
            {},
            optional={
                "kind": st.sampled_from(["height", "width", None]),
                "value": st.sampled_from([1, 2, 3, "2", True]),
                "note": st.sampled_from(["two small dogs", "a dog", "the cats"]),
                "parts": st.lists(st.fixed_dictionaries({"n": st.integers(0, 2)}), max_size=2),
            },
        ),
    )
    CONDITIONS = (
        "CURRENT.kind == 'height' AND CURRENT.value > 1",
        "CURRENT.value IN [1, 3] OR CURRENT.kind == 'width'",
        "NOT (CURRENT.kind == 'height')",
        "CURRENT.value == 2 AND NOT (CURRENT.kind == 'width')",
        "CURRENT.kind == null",
        "CURRENT.parts[? FILTER CURRENT.n == 1] AND CURRENT.value >= 2",
        "CURRENT.parts[? ALL FILTER CURRENT.n > 0]",
    )

    def views(self, database, fields):
        with database.engine.writing() as txn:
            view_store.create_view(txn, "w", "arangosearch", {"links": {"c": {"fields": {"a": {"nested": fields}}}}})
            index = {
                "type": "inverted",
                "name": "inv",
                "fields": [
                    {
                        "name": "a",
                        "nested": [
                            "kind",
                            "value",
                            {"name": "parts", "nested": ["n"]},
                            {"name": "note", "analyzer": "text_en"},
                        ],
                    }
                ],
            }
            ddl.create_index(txn, "c", index)
            view_store.create_view(txn, "alias", "search-alias", {"indexes": [{"collection": "c", "index": "inv"}]})

    @settings(max_examples=25, deadline=None)
    @given(
        st.lists(st.one_of(st.integers(0, 9), st.lists(ELEMENT, max_size=3)), max_size=6),
        st.sampled_from(["", "ANY", "ALL", "NONE", "AT LEAST (2)", "1", "0..1", "2..9"]),
        st.sampled_from(CONDITIONS),
    )
    def test_as_filter_does_over_the_objects(self, tmp_path_factory, values, quantifier, condition):
        database = Database(tmp_path_factory.mktemp("nested") / "a.db")
        self.views(database, NESTED_FIELDS)
        database.insert(*({"_key": str(at), "a": value} for at, value in enumerate(values)))
        inline = f"[? {quantifier} FILTER {condition}]"
        # a missing attribute is not indexed, so null finds only what is null
        exact = inline.replace("CURRENT.kind == null", "HAS(CURRENT, 'kind') AND CURRENT.kind == null")
        exact = exact.replace("CURRENT.value > 1", "IS_NUMBER(CURRENT.value) AND CURRENT.value > 1")
        exact = exact.replace("CURRENT.value >= 2", "IS_NUMBER(CURRENT.value) AND CURRENT.value >= 2")
        exact = exact.replace("CURRENT.parts[", "IS_ARRAY(CURRENT.parts) AND CURRENT.parts[")
        objects = "FOR d IN c FILTER IS_ARRAY(d.a) LET o = d.a[* FILTER IS_OBJECT(CURRENT)]"
        expected = sorted(database.query(f"{objects} FILTER o{exact} RETURN d._key"))
        for view in ("w", "alias"):
            found = database.query(f"FOR d IN {view} SEARCH d.a{inline} RETURN d._key")
            assert sorted(found) == expected, (view, inline)
        database.engine.close()

    def test_conditions_meet_in_one_object(self, database):
        self.views(database, NESTED_FIELDS)
        database.insert(
            {"_key": "a", "a": [{"kind": "height", "value": 35}, {"kind": "width", "value": 60}]},
            {"_key": "b", "a": [{"kind": "height", "value": 45, "note": "Two small dogs"}]},
        )

        def found(condition, view="w"):
            return sorted(database.query(f"FOR d IN {view} SEARCH {condition} RETURN d._key"))

        high = "d.a[? FILTER CURRENT.kind == 'height' AND CURRENT.value > 40]"
        assert found(high) == ["b"] == found(high, "alias")
        assert found(f"NOT {high}") == ["a"]
        words = "d.a[? FILTER ANALYZER(PHRASE(CURRENT.note, 'small dog'), 'text_en')]"
        assert found(words) == ["b"]
        assert found("d.a[? FILTER PHRASE(CURRENT.note, 'small dog')]", "alias") == ["b"]
        # together they are not indexed
        assert found("d.a.kind == 'height'") == [] and found("d.a[? FILTER CURRENT.other == 1]") == []

    def test_what_is_not_indexed_as_nested_has_no_objects(self, database):
        database.insert({"_key": "a", "tags": [{"x": 1}]})
        assert database.keys("d.tags[? FILTER CURRENT.x == 1]") == []

    def test_definitions_show_what_is_nested(self, database):
        self.views(database, NESTED_FIELDS)
        with database.engine.reading() as txn:
            view = txn.view("w").properties["links"]["c"]
            [index] = [index for index in txn.collection("c").indexes if index.name == "inv"]
        assert view["fields"] == {"a": {"nested": NESTED_FIELDS}}
        assert index.definition()["fields"] == [
            {
                "nested": [
                    {"name": "kind"},
                    {"name": "value"},
                    {"nested": [{"name": "n"}], "name": "parts"},
                    {"features": ["frequency", "position", "norm"], "analyzer": "text_en", "name": "note"},
                ],
                "name": "a",
            }
        ]


class TestFeatures:
    def test_an_inverted_index_may_have_other_features_than_its_analyzer(self, database):
        with database.engine.writing() as txn:
            offset = ["frequency", "position", "offset"]
            fields = [{"name": "t", "analyzer": "text_en", "features": offset}, {"name": "u", "analyzer": "text_en"}]
            ddl.create_index(txn, "c", {"type": "inverted", "name": "inv", "fields": fields})
            view_store.create_view(txn, "w", "search-alias", {"indexes": [{"collection": "c", "index": "inv"}]})
        database.insert({"t": "The quick fox", "u": "The quick fox"})
        query = "FOR d IN w SEARCH PHRASE(d.t, 'quick fox') AND d.u == 'quick' RETURN OFFSET_INFO(d, ['t', 'u'])"
        assert database.query(query) == [[{"name": ["t"], "offsets": [[4, 9]]}, {"name": ["u"], "offsets": []}]]

    def test_stored_analyzers_keep_theirs(self, database):
        with database.engine.writing() as txn:
            body = {
                "name": "own",
                "type": "text",
                "properties": {"locale": "en"},
                "features": ["position", "frequency"],
            }
            analyzer_store.create(txn, body)
            index, _ = ddl.create_index(
                txn, "c", {"type": "inverted", "fields": ["a", {"name": "b", "analyzer": "own"}]}
            )
            with pytest.raises(ArangoError):
                ddl.create_index(txn, "c", {"type": "inverted", "fields": [{"name": "b", "analyzer": "none"}]})
        assert index.definition()["fields"] == [
            {"name": "a"},
            {"features": ["frequency", "position"], "analyzer": "own", "name": "b"},
        ]
