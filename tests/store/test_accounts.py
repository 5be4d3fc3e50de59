"""Users go along with a copy of everything: with their permissions, without their passwords."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from vgraph.embedded.serve import serving
from vgraph.errors import StoreError
from vgraph.store import connect
from vgraph.store.copy import End, Side, copy

NAME = "site"


@pytest.fixture
def source(tmp_path: Path) -> str:
    """A database with two users who may do different things."""
    url = f"embedded:{tmp_path / 'source.sqlite'}"
    with closing(connect(url, NAME)) as connection:
        for name in ("things", "secrets"):
            connection.database.create_collection(name).insert({"_key": "a"})  # type: ignore[union-attr]
    with closing(connect(url, "_system")) as connection:
        system = connection.database
        system.create_user("ann", "pass-a", active=True, extra={"mail": "a@b.c"})
        system.create_user("bob", "pass-b", active=False)
        system.update_permission("ann", "rw", NAME)
        system.update_permission("ann", "none", NAME, "secrets")
        system.update_permission("ann", "ro", NAME, "*")
        system.update_permission("bob", "ro", "*")
    return url


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    with serving(tmp_path / "served.sqlite") as url:
        yield url


def accounts(url: str) -> dict[str, Any]:
    """Users with what is set for them."""
    with closing(connect(url, "_system", create=False)) as connection:
        system = connection.database
        return {user["username"]: (user, system.permissions(user["username"])) for user in system.users()}


def test_users_and_permissions_arrive_both_ways(source: str, served: str, tmp_path: Path) -> None:
    back = f"embedded:{tmp_path / 'back.sqlite'}"
    there = copy(End(source), End(served))
    home = copy(End(served), End(back))
    assert there.users == home.users == 2
    assert accounts(source) == accounts(served) == accounts(back)
    with closing(connect(back, "_system", create=False)) as connection:
        system = connection.database
        assert system.permission("ann", NAME) == "rw" and system.permission("ann", NAME, "secrets") == "none"
        assert system.permission("ann", NAME, "things") == "ro" and system.permission("bob", NAME) == "ro"


def test_new_users_are_named_as_nobody_knows_their_passwords(source: str, served: str) -> None:
    first = copy(End(source), End(served))
    assert [note for note in first.notes if "password" in note] == [
        f"user {name} was made with a password that nobody knows: set one" for name in ("ann", "bob")
    ]
    for password in ("pass-a", ""):
        with (
            pytest.raises(StoreError),
            closing(connect(served, NAME, username="ann", password=password, create=False)) as connection,
        ):
            Side(connection.database).collections()


def test_a_second_copy_changes_what_changed_and_no_password(source: str, served: str) -> None:
    copy(End(source), End(served))
    assert (again := copy(End(source), End(served))).users == 0 and not again.notes
    with closing(connect(served, "_system", create=False)) as connection:
        connection.database.update_user("ann", password="known")
        connection.database.update_permission("ann", "rw", "_system")
    with closing(connect(source, "_system", create=False)) as connection:
        connection.database.update_user("bob", active=True, extra={"n": 1})
        connection.database.reset_permission("ann", NAME, "*")
    assert copy(End(source), End(served)).users == 2
    assert accounts(served)["bob"] == accounts(source)["bob"]
    with closing(connect(served, NAME, username="ann", password="known", create=False)) as connection:
        assert connection.database.collection("things").has("a")
    # what the target says of databases that were not copied stays
    assert accounts(served)["ann"][1]["_system"]["permission"] == "rw"


def test_a_copy_of_one_database_leaves_users_alone(source: str, served: str) -> None:
    assert copy(End(source), End(served), database=NAME).users == 0
    assert list(accounts(served)) == ["root"]


def test_a_source_that_keeps_its_users_to_itself_is_told(source: str, served: str, tmp_path: Path) -> None:
    copy(End(source), End(served))
    with closing(connect(served, "_system", create=False)) as connection:
        connection.database.update_user("ann", password="known")
        connection.database.update_permission("ann", "ro", "_system")
    target = f"embedded:{tmp_path / 'target.sqlite'}"
    copied = copy(End(served, "ann", "known"), End(target))
    assert copied.users == 0 and "users were not copied" in copied.notes[-1]
