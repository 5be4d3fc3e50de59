"""Text of several languages in one database: words are found by their stems in each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.store.test_store import DIMENSION, chunk, vector
from vgraph.errors import UserError
from vgraph.store import Store, connect
from vgraph.types import Filters, GraphDelta

TEXTS = {
    "de": ("Die Katzen laufen über die Straßen.", "Katze Straße"),
    "fr": ("Les ouvrières déchargeaient les camions.", "ouvrière camion"),
    "es": ("Los camiones cruzaron lentamente.", "camión"),
    "ru": ("Рабочие разгружали грузовики.", "грузовик"),
    "ar": ("وصلت السيارات إلى الميناء", "سيارة"),
    "zh": ("货车停在仓库门口", "仓库"),
    "en": ("Workers unloaded the lorries.", "unloading lorry"),
}
"""What is said, and a question in other forms of its words."""


def found(store: Store, text: str) -> list[str]:
    hits = store.hybrid_chunks(vector("q"), text, Filters(), k=10, leg_k=10, rrf_k=60, weights=(0.0, 1.0))
    return [hit.chunk for hit in hits]


@pytest.mark.parametrize("language", TEXTS)
def test_a_database_of_one_language_finds_its_stems(language: str, tmp_path: Path) -> None:
    said, asked = TEXTS[language]
    with Store.open(connect(f"embedded:{tmp_path / 'g.sqlite'}", "v"), language) as store:
        store.claim_embedding("text", "t", DIMENSION)
        other = chunk("d", "dock", 1, "0000")
        store.apply(GraphDelta({"chunks": (chunk("d", "dock", 0, said), other)}))
        assert found(store, asked) == ["d-0000"]


def test_a_database_of_four_languages_finds_the_stems_of_each(tmp_path: Path) -> None:
    spoken = ("en", "de", "ru", "ar")
    with Store.open(connect(f"embedded:{tmp_path / 'g.sqlite'}", "v"), *spoken) as store:
        store.claim_embedding("text", "t", DIMENSION)
        chunks = [chunk("d", "dock", n, TEXTS[language][0]) for n, language in enumerate(spoken)]
        person = {
            "type": "object",
            "description": "",
            "first_ms": 0,
            "last_ms": 1,
            "cameras": ["dock"],
            "embedding": vector("e"),
        }
        store.apply(
            GraphDelta(
                {
                    "chunks": tuple(chunks),
                    "entities": ({"_key": "e", "name": "Die Katzen", "aliases": ["Die Katzen"], **person},),
                }
            )
        )
        for number, language in enumerate(spoken):
            assert found(store, TEXTS[language][1]) == [f"d-{number:04d}"], language
        assert [row["_key"] for row in store.named_entities("Katze", None, fuzzy=False, limit=3)] == ["e"]


def test_a_language_that_is_not_among_those_of_the_database_finds_only_equal_words(tmp_path: Path) -> None:
    with Store.open(connect(f"embedded:{tmp_path / 'g.sqlite'}", "v"), "en") as store:
        store.claim_embedding("text", "t", DIMENSION)
        store.apply(GraphDelta({"chunks": (chunk("d", "dock", 0, TEXTS["ru"][0]),)}))
        assert found(store, TEXTS["ru"][1]) == [] and found(store, "грузовики") == ["d-0000"]


def test_other_languages_than_the_databases_are_refused(tmp_path: Path) -> None:
    url = f"embedded:{tmp_path / 'g.sqlite'}"
    Store.open(connect(url, "v"), "en", "de").close()
    Store.open(connect(url, "v"), "en", "de").close()
    with pytest.raises(UserError, match="besides in de"):
        Store.open(connect(url, "v"), "en")
    with pytest.raises(UserError, match="4 languages at most"):
        Store.open(connect(f"embedded:{tmp_path / 'h.sqlite'}", "v"), "en", "de", "fr", "es", "it")
