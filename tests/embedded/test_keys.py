"""Keys, identifiers and revisions judged or made many at once are those judged or made one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgraph.embedded import ddl, keys, revisions
from vgraph.embedded.engine import Engine
from vgraph.embedded.errors import ArangoError

NAMES = st.lists(
    st.one_of(
        st.text("abXY09_-:.@()+,=;$!*'%", min_size=1, max_size=300),
        st.sampled_from(
            ["a/b", "c/d/e", "/x", "x/", "", "a b", "é", "a\n", "a\nb", "a/b\nc/d", "\n", "x" * 254, "x" * 255]
        ),
        st.sampled_from([None, 3, True, ["a"]]),
    ),
    max_size=6,
)


@given(NAMES)
def test_many_keys_and_identifiers_are_judged_as_each(names: list[Any]) -> None:
    assert keys.are_keys(names) == all(map(keys.is_key, names))
    assert keys.are_ids(names) == all(map(keys.is_id, names))


@given(st.lists(st.tuples(st.text(min_size=1), st.sampled_from(["a", "k:1", "%"]))))
def test_identifiers_of_any_collection(parts: list[tuple[str, str]]) -> None:
    names = [f"{collection}/{key}" for collection, key in parts]
    if not any("\n" in name for name in names):  # those are asked for one by one
        assert keys.are_ids(names) == all(map(keys.is_id, names))


@given(st.integers(2**60, 2**63), st.integers(0, 10_000))  # of our century
def test_a_run_of_revisions_is_each_of_them(first: int, count: int) -> None:
    assert revisions.encode_run(first, count) == [revisions.encode(stamp) for stamp in range(first, first + count)]


@pytest.mark.parametrize(
    "names",
    [
        ["a", "b"],
        ["a", "3", "12"],
        ["7x", "0012"],
        [str(2**63), "5"],
        [str(2**64), "5"],
        ["a", "b/c"],
        ["9", None],
        ["x", 5],
    ],
)
@pytest.mark.parametrize("kind", ["traditional", "padded", "autoincrement"])
@pytest.mark.parametrize("allowed", [True, False])
def test_accepting_all_is_accepting_each(tmp_path: Path, names: list[Any], kind: str, allowed: bool) -> None:
    engine = Engine.open(tmp_path / "a.db")
    with engine.writing() as txn:
        for name in ("each", "all"):
            ddl.create_collection(txn, name, body={"keyOptions": {"type": kind, "allowUserKeys": allowed}})
        fine = allowed and all(map(keys.is_key, names))
        if kind == "autoincrement":
            fine = fine and all(name.isdigit() for name in names)
        assert keys.accept_all(txn, txn.info("all"), names) == fine
        if fine:
            for name in names:
                keys.accept(txn, txn.info("each"), name)
        assert txn.last_key(txn.info("all").id) == txn.last_key(txn.info("each").id)
    engine.close()


@pytest.mark.parametrize("options", [{"increment": 65_536}, {"increment": 0}, {"offset": -1}, {"offset": 1.5}])
def test_steps_of_counted_keys_have_bounds(options: dict[str, Any]) -> None:
    with pytest.raises(ArangoError) as caught:
        keys.normalise_options({"type": "autoincrement", **options})
    assert caught.value.num == 1232


@pytest.mark.parametrize("kind", ["traditional", "autoincrement"])
def test_no_key_follows_the_largest(tmp_path: Path, kind: str) -> None:
    engine = Engine.open(tmp_path / "a.db")
    with engine.writing() as txn:
        ddl.create_collection(txn, "c", body={"keyOptions": {"type": kind}})
        info = txn.info("c")
        assert keys.accept(txn, info, str(2**64 - 1)) == str(2**64 - 1)
        with pytest.raises(ArangoError) as caught:
            keys.generate(txn, info)
    assert caught.value.num == 1225
    engine.close()


def test_counted_keys_are_numbers(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path / "a.db")
    with engine.writing() as txn:
        ddl.create_collection(txn, "c", body={"keyOptions": {"type": "autoincrement", "offset": 5, "increment": 3}})
        info = txn.info("c")
        with pytest.raises(ArangoError) as caught:
            keys.accept(txn, info, "n12")
        assert caught.value.num == 1221
        assert [keys.generate(txn, info), keys.accept(txn, info, "9"), keys.generate(txn, info)] == ["5", "9", "11"]
    engine.close()
