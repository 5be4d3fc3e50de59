"""Analyzers: what becomes of a text, and which definitions are refused."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgraph.embedded.errors import ArangoError
from vgraph.embedded.search import BUILTIN_ANALYZERS, make_analyzer, normalise_analyzer, tokens
from vgraph.embedded.search.analyzers import BUILTIN, make
from vgraph.embedded.search.cityhash import city_hash64
from vgraph.embedded.search.words import segments, spans, words

TEXT_EN = BUILTIN["text_en"]


def terms(kind, properties, text):
    return make(kind, properties, []).terms(text)


class TestWords:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("can't stop, won't stop", ["can't", "stop", "won't", "stop"]),
            ("3.14 and 1,000;5", ["3.14", "and", "1,000;5"]),
            ("v1.2 a.b a.1", ["v1.2", "a.b", "a", "1"]),
            ("snake_case __init__ _", ["snake_case", "__init__"]),
            ("e-mail http://x.org/a?b", ["e", "mail", "http", "x.org", "a", "b"]),
            ("naïve l’été", ["naïve", "l’été"]),
            ("中文 と カタカナ語", ["中", "文", "と", "カタカナ", "語"]),
            ("e\u0301te\u0301", ["e\u0301te\u0301"]),
            ("привет мир", ["привет", "мир"]),
            ("😀 smile 🇩🇪", ["smile"]),
            ("", []),
        ],
    )
    def test_follow_uax29_without_spaces_and_punctuation(self, text, expected):
        assert words(text) == expected

    @given(st.text(max_size=60))
    def test_lie_in_order_and_segments_cover_the_text(self, text):
        found = list(spans(text))
        assert all(a < b for a, b in found)
        assert all(first[1] <= second[0] for first, second in pairwise(found))
        assert "".join(text[a:b] for a, b, _ in segments(text)) == text

    @given(st.text(alphabet="ab1_.,:;' \n-", max_size=40))
    def test_of_ascii_do_not_depend_on_the_fast_path(self, text):
        assert words(text) == words(text + " é")[:-1]


class TestText:
    def test_recorded_on_a_server(self):
        assert tokens("Lörem ipsüm, DOLOR SIT Ämet.", BUILTIN["text_de"]) == ["lor", "ipsum", "dolor", "sit", "amet"]
        assert tokens("quick brown fox", TEXT_EN) == ["quick", "brown", "fox"]
        assert tokens(["quick brown", ["fox"]], TEXT_EN) == [["quick", "brown"], [["fox"]]]

    def test_stems_after_stop_words_are_dropped(self):
        properties = {"locale": "en", "stopwords": ["the", "running"]}
        assert terms("text", properties, "The running runners run") == ["runner", "run"]

    def test_stems_are_right_when_several_threads_ask(self):
        asked = [
            f"{stem}{ending}" for stem in ("walk", "jump", "load", "park") for ending in ("ing", "ed", "s", "er", "ers")
        ]
        expected = [TEXT_EN.terms(word) for word in asked]
        for _ in range(20):
            TEXT_EN._stems.clear()
            with ThreadPoolExecutor(8) as pool:
                assert list(pool.map(TEXT_EN.terms, asked)) == expected

    def test_keeps_case_accents_and_endings_when_told(self):
        properties = {"locale": "en", "case": "none", "accent": True, "stemming": False}
        assert terms("text", properties, "Crème Brûlées") == ["Crème", "Brûlées"]

    def test_edge_ngrams_end_with_the_whole_word_when_it_does_not_fit(self):
        properties = {
            "locale": "en",
            "stemming": False,
            "stopwords": ["the"],
            "edgeNgram": {"min": 3, "max": 8, "preserveOriginal": True},
        }
        assert terms("text", properties, "The quick dogWithAVeryLongName") == [
            "qui", "quic", "quick", "dog", "dogw", "dogwi", "dogwit", "dogwith", "dogwitha", "dogwithaverylongname",
        ]  # fmt: skip

    def test_positions_count_words_and_offsets_count_bytes(self):
        assert TEXT_EN.positions("two words") == (["two", "word"], None)
        assert TEXT_EN.offsets("für zwei") == [("fur", 0, 0, 4), ("zwei", 1, 5, 9)]

    @pytest.mark.parametrize("language", ["de", "en", "es", "fi", "fr", "it", "nl", "no", "pt", "ru", "sv", "zh"])
    def test_is_built_in_for_every_language_of_the_server(self, language):
        definition = BUILTIN_ANALYZERS[f"text_{language}"]
        assert definition["features"] == ["frequency", "position", "norm"]
        assert definition["properties"] == {
            "locale": language,
            "case": "lower",
            "stopwords": [],
            "accent": False,
            "stemming": language != "zh",
        }
        assert make_analyzer(definition).terms("abc") == BUILTIN[f"text_{language}"].terms("abc")

    @given(st.text(max_size=40))
    def test_terms_do_not_depend_on_the_way_taken(self, text):
        assert TEXT_EN.terms(text) == [token[0] for token in TEXT_EN.stream(text)]


class TestOthers:
    def test_identity_keeps_the_text(self):
        assert tokens("A b", BUILTIN["identity"]) == ["A b"]

    def test_norm_and_stem(self):
        assert terms("norm", {"locale": "en", "case": "upper", "accent": False}, "Crème brûlée") == ["CREME BRULEE"]
        assert terms("norm", {"locale": "en"}, "Crème") == ["Crème"]
        assert terms("stem", {"locale": "en"}, "databases") == ["databas"]

    def test_delimiter_honours_quotes(self):
        assert terms("delimiter", {"delimiter": ","}, 'a,"b,c","d ""e""",') == ["a", "b,c", 'd "e"', ""]

    def test_multi_delimiter_takes_the_longest_separator(self):
        assert terms("multi_delimiter", {"delimiters": [",", ", ", "|"]}, "a, b|c,,d") == ["a", "b", "c", "d"]

    def test_ngrams_of_bytes_and_of_characters(self):
        base = {"min": 2, "max": 3, "preserveOriginal": False}
        assert terms("ngram", base, "quick") == ["qu", "qui", "ui", "uic", "ic", "ick", "ck"]
        assert terms("ngram", {**base, "streamType": "utf8"}, "äöü") == ["äö", "äöü", "öü"]
        assert terms("ngram", {**base, "preserveOriginal": True}, "quick")[2] == "quick"

    def test_ngram_markers_stand_at_the_ends(self):
        properties = {"min": 2, "max": 2, "preserveOriginal": False, "startMarker": "^", "endMarker": "$"}
        assert terms("ngram", properties, "abc") == ["^ab", "bc$"]
        assert terms("ngram", properties, "ab") == ["^ab", "ab$"]
        kept = {**properties, "preserveOriginal": True}
        assert terms("ngram", kept, "abc") == ["^ab", "^abc", "abc$", "bc$"]
        assert terms("ngram", kept, "ab") == ["^ab", "ab$"]

    def test_a_maximum_below_the_minimum_is_raised_to_it(self):
        properties = {"min": 3, "max": 2, "preserveOriginal": False}
        assert normalise_analyzer("a", "ngram", properties, [])["properties"]["max"] == 3

    def test_segmentation_can_keep_what_is_no_word(self):
        assert terms("segmentation", {}, "Hi, you!") == ["hi", "you"]
        assert terms("segmentation", {"break": "graphic", "case": "none"}, "Hi, you!") == ["Hi", ",", "you", "!"]
        assert "".join(terms("segmentation", {"break": "all"}, "hi, you!")) == "hi, you!"

    def test_stopwords_may_be_hexadecimal(self):
        assert terms("stopwords", {"stopwords": ["616e64"], "hex": True}, "and") == []
        assert terms("stopwords", {"stopwords": ["and"]}, "andy") == ["andy"]

    def test_pipeline_feeds_one_into_the_next(self):
        properties = {
            "pipeline": [
                {"type": "delimiter", "properties": {"delimiter": ","}},
                {"type": "norm", "properties": {"locale": "en", "case": "lower"}},
                {"type": "ngram", "properties": {"min": 2, "max": 2, "preserveOriginal": False}},
            ]
        }
        analyzer = make("pipeline", properties, ["frequency", "position"])
        assert analyzer.terms("ABC,De") == ["ab", "bc", "de"]
        assert analyzer.positions("ABC,De")[0] == ["ab", "bc", "de"]

    def test_minhash_keeps_the_least_hashes_of_inner_terms(self):
        inner = {"type": "delimiter", "properties": {"delimiter": " "}}
        every = terms("minhash", {"numHashes": 9, "analyzer": inner}, "a b c a d")
        few = terms("minhash", {"numHashes": 2, "analyzer": inner}, "a b c a d")
        assert len(every) == 4
        assert all(len(term) == 11 for term in every)
        assert set(few) < set(every)

    @pytest.mark.parametrize(
        ("size", "expected"),
        [
            (0, 0x9AE16A3B2F90404F),
            (3, 0x2AE60479E555325C),
            (6, 0x99FE8752A31C765C),
            (12, 0x208903A063284843),
            (20, 0x7241CE1F8EF74DC4),
            (40, 0xF6C8E2C2A453FFE5),
            (100, 0x733B2E45254C902D),
            (200, 0x96689325E6B2D000),
        ],
    )
    def test_its_hash_is_city_hash(self, size, expected):
        assert city_hash64(b"x" * size) == expected

    def test_tokens_of_values_that_are_no_strings(self):
        identity = BUILTIN["identity"]
        assert tokens(1, identity) == ["oL/wAAAAAAAA", "sL/wAAAAAA==", "wL/wAAA=", "0L/w"]
        assert tokens([True, False, None], identity) == [["/w=="], ["AA=="], [""]]
        assert tokens(-1, identity)[3] < tokens(0, identity)[3]


class TestDefinitions:
    def test_are_shown_with_defaults(self):
        assert normalise_analyzer("testAnalyzer", "identity", None, None) == {
            "type": "identity",
            "properties": {},
            "features": [],
        }
        assert normalise_analyzer("n", "norm", {"locale": "en_us.utf-8"}, ["norm", "frequency"]) == {
            "type": "norm",
            "properties": {"locale": "en_US", "case": "none", "accent": True},
            "features": ["frequency", "norm"],
        }

    @pytest.mark.parametrize(
        ("name", "kind", "properties", "features"),
        [
            ("1st", "identity", {}, []),
            ("a b", "identity", {}, []),
            ("a" * 255, "identity", {}, []),
            ("a", "unknown", {}, []),
            ("a", "text", {}, []),
            ("a", "text", {"locale": "en", "case": "title"}, []),
            ("a", "text", {"locale": 1}, []),
            ("a", "delimiter", {}, []),
            ("a", "ngram", {"min": 2, "max": 3}, []),
            ("a", "pipeline", {"pipeline": []}, []),
            ("a", "stopwords", {"stopwords": ["xyz"], "hex": True}, []),
            ("a", "identity", {}, ["position"]),
            ("a", "identity", {}, ["frequency", "offset"]),
            ("a", "identity", {}, ["wings"]),
        ],
    )
    def test_that_are_wrong_are_error_10(self, name, kind, properties, features):
        with pytest.raises(ArangoError) as error:
            normalise_analyzer(name, kind, properties, features)
        assert error.value.num == 10

    @pytest.mark.parametrize("kind", ["classification", "nearest_neighbors"])
    def test_that_rest_on_a_model_need_its_file(self, kind, tmp_path):
        for properties in ({}, {"model_location": str(tmp_path / "no.bin")}, {"model_location": "x", "top_k": -1}):
            with pytest.raises(ArangoError) as error:
                normalise_analyzer("a", kind, properties, [])
            assert error.value.num == 10
        present = tmp_path / "model.bin"
        present.write_bytes(b"")
        with pytest.raises(ArangoError) as error:
            normalise_analyzer("a", kind, {"model_location": str(present)}, [])
        assert error.value.num == 9

    def test_of_queries_that_read_data_are_error_10(self):
        for query in (
            "FOR d IN c RETURN d",
            "RETURN DOCUMENT('c/1')",
            "RETURN @other",
            "RETURN TOKENS(@param, 'text_en')",
            "FOR v IN 1..1 OUTBOUND 'c/1' e RETURN v",
            "INSERT {} INTO c",
            "RETURN own::f(@param)",
            "RETURN",
        ):
            with pytest.raises(ArangoError) as error:
                normalise_analyzer("a", "aql", {"queryString": query}, [])
            assert error.value.num == 10


class TestQueries:
    def test_each_result_is_a_term_at_its_position(self):
        split = {"queryString": "FOR part IN SPLIT(@param, '-') RETURN part"}
        assert make("aql", split, []).positions("a-b-c") == (["a", "b", "c"], None)
        assert make("aql", {**split, "collapsePositions": True}, []).positions("a-b") == (["a", "b"], [0, 0])

    def test_null_is_an_empty_term_or_none(self):
        query = "RETURN @param == 'x' ? null : UPPER(@param)"
        assert terms("aql", {"queryString": query}, "x") == [""]
        assert terms("aql", {"queryString": query, "keepNull": False}, "x") == []
        assert terms("aql", {"queryString": query}, "y") == ["Y"]

    def test_what_fails_gives_no_terms(self):
        assert terms("aql", {"queryString": "RETURN ASSERT(@param != 'x', 'no') ? @param : 0"}, "x") == []

    def test_results_become_what_the_return_type_says(self):
        number = make("aql", {"queryString": "RETURN @param", "returnType": "number"}, [])
        assert tokens("12.5", number) == [12.5] and tokens(["7", "x"], number) == [[7], [0]]
        truth = make("aql", {"queryString": "RETURN LENGTH(@param)", "returnType": "bool"}, [])
        assert tokens(["", "x"], truth) == [[False], [True]]

    def test_plans_follow_the_text(self):
        one = make("aql", {"queryString": "FOR i IN 1..LENGTH(@param) FILTER @param != '' RETURN i"}, [])
        assert one.terms("abc") == ["1", "2", "3"] and one.terms("a") == ["1"] and one.terms("") == []


class TestCollation:
    def order(self, locale, *texts):
        key = make("collation", {"locale": locale}, [])
        return sorted(texts, key=lambda text: key.terms(text)[0])

    def test_letters_come_before_accents_before_case(self):
        assert self.order("en", "b", "B", "á", "a", "A", "ab", "Áb") == ["a", "A", "á", "ab", "Áb", "b", "B"]
        assert self.order("en", "coté", "cote", "côte") == ["cote", "coté", "côte"]

    def test_classes_of_characters(self):
        assert self.order("en", "a", "7", "-", " ", "+", "б", "α") == [" ", "-", "+", "7", "a", "α", "б"]

    @pytest.mark.parametrize(
        ("locale", "ordered"),
        [
            ("sv", ["a", "z", "zz", "å", "ä", "ö"]),
            ("en_US", ["a", "å", "b", "o", "ö", "z"]),
            ("da_DK.utf-8", ["a", "z", "æ", "ø", "å"]),
            ("es", ["n", "nz", "ñ", "o"]),
            ("cs", ["c", "cz", "č", "d", "h", "hz", "ch", "i"]),
            ("de", ["a", "ä", "az", "b"]),
            ("de@collation=phonebook", ["ad", "ä", "af"]),
            ("xx", ["a", "b"]),
            ("", ["a", "b"]),
        ],
    )
    def test_languages(self, locale, ordered):
        assert self.order(locale, *reversed(ordered)) == ordered

    @given(st.lists(st.text(max_size=6), max_size=8), st.sampled_from(["en", "sv", "cs", "de@collation=phonebook"]))
    def test_equal_keys_are_equal_texts_but_for_their_form(self, texts, locale):
        key = make("collation", {"locale": locale}, [])
        for first, second in pairwise(texts):
            if first.lower() != second.lower() and first.isascii() and second.isascii():
                assert key.terms(first) != key.terms(second)


def test_tokens_of_a_wildcard_analyzer_are_its_grams():
    lower = {"type": "norm", "properties": {"locale": "en", "case": "lower"}}
    wild = make("wildcard", {"ngramSize": 3, "analyzer": lower}, [])
    assert tokens("FooX", wild) == ["\ufffdfo", "foo", "oox", "ox\ufffd", "x\ufffd"]
    assert tokens([""], make("wildcard", {"ngramSize": 2}, [])) == [["\ufffd\ufffd"]]


def test_tokens_of_an_object_are_none():
    assert tokens({"a": 1}, TEXT_EN) is None and tokens([{}], TEXT_EN) == [None]


def test_a_line_feed_is_graphic():
    graphic = make("segmentation", {"break": "graphic"}, [])
    assert graphic.terms("a\nb c\td") == ["a", "\n", "b", "c", "d"]
