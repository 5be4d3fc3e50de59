"""How an AQL function is declared.

A module of functions makes one `Table` and declares into it; `functions/__init__.py` joins the tables.

    TABLE = Table()

    @TABLE.add("DATE_NOW", args=(0, 0), deterministic=False)
    def date_now(rt: Runtime) -> Value:
        return rt.now_ms

An implementation takes the run's `Runtime` and the evaluated arguments. It never changes an argument, returns plain
JSON values, and answers a wrong argument the server's way: `wrong_type` (warning 1542) and null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

from ...errors import ERRORS
from ..operators import ELEMENT

if TYPE_CHECKING:
    from ..runtime import Runtime

Value: TypeAlias = Any
Implementation: TypeAlias = Callable[..., Value]
_F = TypeVar("_F", bound=Implementation)
_V = TypeVar("_V", str, list[Any], dict[str, Any])
CHUNK: Final = 1 << 16


class Function(NamedTuple):
    """`max_args` None: any number. `collections`: argument positions where a collection may stand (its name is given).

    `deterministic` functions of constants are folded when a query is prepared; `cacheable` says whether a query that
    uses the function may come from the results cache.
    """

    name: str
    min_args: int
    max_args: int | None
    deterministic: bool
    cacheable: bool
    collections: frozenset[int]
    impl: Implementation


class Table(dict[str, Function]):
    """Functions by name in capitals."""

    def add(
        self,
        *names: str,
        args: tuple[int, int | None],
        deterministic: bool = True,
        cacheable: bool | None = None,
        collections: tuple[int, ...] = (),
    ) -> Callable[[_F], _F]:
        """Declare the function below under one or more names (aliases). `cacheable` defaults to `deterministic`."""

        def declare(impl: _F) -> _F:
            for name in names:
                self[name] = Function(
                    name,
                    args[0],
                    args[1],
                    deterministic,
                    deterministic if cacheable is None else cacheable,
                    frozenset(collections),
                    impl,
                )
            return impl

        return declare


def ticking(rt: Runtime, items: list[Value]) -> Iterable[Value]:
    """The items; of a long array with a look at the clock now and then."""
    return items if len(items) <= CHUNK else _in_chunks(rt, items)


def _in_chunks(rt: Runtime, items: list[Value]) -> Iterator[Value]:
    for start in range(0, len(items), CHUNK):
        rt.check()
        yield from items[start : start + CHUNK]


def bounded(rt: Runtime, found: _V) -> _V:
    """A string, or an array as it is counted, no larger than a query may make."""
    if len(found) > CHUNK:
        rt.afford(len(found) if isinstance(found, str) else len(found) * ELEMENT)
    return found


def wrong_type(rt: Runtime, name: str) -> None:
    """Warn that a function got an argument of a wrong type; its result is then null."""
    rt.warnings.add(1542, f"invalid argument type in call to function '{name}()'")


def warn(rt: Runtime, num: int, name: str) -> None:
    """Warn with the number's own text about a call of a function."""
    rt.warnings.add(num, f"{ERRORS[num].text} in call to function '{name}()'" if num == 1542 else ERRORS[num].text)
