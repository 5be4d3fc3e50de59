"""What a user may do, by the grants an App that authenticates enforces (ArangoDB documentation, "Managing Users").

Databases and collections are rw, ro or none. Changing users, databases and the server needs rw on _system; everyone may
read and change his own account.
"""

from __future__ import annotations

from typing import Any, Final

from vgraph.embedded import users
from vgraph.embedded.engine import Transaction
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.http.wire import SYSTEM, Request

# POST and DELETE there do not change data by themselves; what a query or transaction writes is checked by collection
_NO_CHANGE: Final = ("/_api/cursor", "/_api/explain", "/_api/query", "/_api/job", "/_api/transaction")
_PRIVATE: Final = ("/_admin/server/aql-queries",)  # tells of what others do
_HARMLESS: Final = ("/_admin/echo", "/_admin/execute", "/_admin/routing/reload")  # whatever the method
_OWN_ACCOUNT: Final = ("GET", "HEAD", "PUT", "PATCH")


class Access:
    """A user's grants at the time of a request."""

    __slots__ = ("_held", "user")

    def __init__(self, txn: Transaction, user: str) -> None:
        self.user = user
        try:
            self._held: dict[str, Any] = users.grants(txn, user)
        except ArangoError:  # a token may outlive its user
            raise refused() from None

    def check_request(self, request: Request) -> None:
        """The database has to be open to the user (401), and for changes be rw, as _system for administration (403)."""
        level = users.database_level(self._held, request.database)
        if level == "none":
            raise refused()
        if request.path in _HARMLESS:
            return
        if self._is_administration(request) and users.database_level(self._held, SYSTEM) != "rw":
            raise ArangoError(11)
        changes = request.method not in ("GET", "HEAD") and not request.path.startswith(_NO_CHANGE)
        if changes and level != "rw" and not self._is_own_account(request):
            raise ArangoError(11)

    def _is_administration(self, request: Request) -> bool:
        if request.path.startswith(("/_api/user", "/_api/token")):
            return not self._is_own_account(request)
        reads = request.method in ("GET", "HEAD") and request.path not in _PRIVATE
        return request.path.startswith("/_admin") and not reads

    def _is_own_account(self, request: Request) -> bool:
        parts = request.parts
        if parts[:3] == ["_api", "token", self.user]:
            return True
        if parts[:2] != ["_api", "user"] or parts[2:3] != [self.user]:
            return False
        return request.method in _OWN_ACCOUNT if len(parts) == 3 else request.method in ("GET", "HEAD")

    def check_collection(self, database: str, collection: str, write: bool) -> None:
        """A collection has to be readable, or for writes rw; 11."""
        if not self.may_use(database, collection, write):
            raise ArangoError(11, f"insufficient permissions for collection '{collection}'")

    def may_use(self, database: str, collection: str, write: bool = False) -> bool:
        """Whether a collection is readable, or for writes rw."""
        level = users.collection_level(self._held, database, collection)
        return level == "rw" or (level == "ro" and not write)


def refused() -> ArangoError:
    """The error for somebody who has to say who he is."""
    return ArangoError(11, "not authorized to execute this request", status=401)
