"""Python source for what runs once for every row of a result: an object of many attributes without a call for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .runtime import Closure

Member = tuple[str, Closure | tuple[int, str]]
"""A key with its value: a closure, or the register of a variable and the name of its attribute."""


def object_of(members: Sequence[Member]) -> Closure:
    """A closure that builds `{key: value, …}`; attributes of one variable share the look at what it is."""
    names: dict[str, Any] = {"nothing": nothing}
    parts = []
    registers: dict[int, None] = {}
    for number, (key, value) in enumerate(members):
        if isinstance(value, tuple):
            register, attribute = value
            registers[register] = None
            parts.append(f"{key!r}: get{register}({attribute!r})")
        else:
            names[f"value{number}"] = value
            parts.append(f"{key!r}: value{number}(row, rt)")
    lines = ["def build(row, rt):"]
    for register in registers:
        lines.append(f"    found = row[{register}]")
        lines.append(f"    get{register} = found.get if type(found) is dict else nothing")
    lines.append("    return {" + ", ".join(parts) + "}")
    exec("\n".join(lines), names)  # noqa: S102  names and attributes stand in it as literals only
    build: Closure = names["build"]
    return build


def nothing(name: str) -> None:
    """The attribute of what is no object."""
