"""Type checks and casts (ArangoDB documentation, "Type check and cast functions in AQL")."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ..instants import parse_date
from ..values import to_array, to_bool, to_number, to_string, type_name
from .registry import Table, Value

if TYPE_CHECKING:
    from ..runtime import Runtime

TABLE: Final = Table()
_KEY: Final = re.compile(r"[A-Za-z0-9_\-.@()+,=;$!*'%:]{1,254}")
_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
IPV4: Final = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")


@TABLE.add("IS_NULL", args=(1, 1))
def is_null(rt: Runtime, value: Value) -> bool:
    return value is None


@TABLE.add("IS_BOOL", args=(1, 1))
def is_bool(rt: Runtime, value: Value) -> bool:
    return type(value) is bool


@TABLE.add("IS_NUMBER", args=(1, 1))
def is_number(rt: Runtime, value: Value) -> bool:
    return type(value) is int or type(value) is float


@TABLE.add("IS_STRING", args=(1, 1))
def is_string(rt: Runtime, value: Value) -> bool:
    return type(value) is str


@TABLE.add("IS_ARRAY", "IS_LIST", args=(1, 1))
def is_array(rt: Runtime, value: Value) -> bool:
    return type(value) is list


@TABLE.add("IS_OBJECT", "IS_DOCUMENT", args=(1, 1))
def is_object(rt: Runtime, value: Value) -> bool:
    return type(value) is dict


@TABLE.add("IS_KEY", args=(1, 1))
def is_key(rt: Runtime, value: Value) -> bool:
    return type(value) is str and _KEY.fullmatch(value) is not None


@TABLE.add("IS_IPV4", args=(1, 1))
def is_ipv4(rt: Runtime, value: Value) -> bool:
    return type(value) is str and IPV4.fullmatch(value) is not None


@TABLE.add("IS_DATESTRING", args=(1, 1))
def is_datestring(rt: Runtime, value: Value) -> bool:
    return type(value) is str and parse_date(value) is not None


@TABLE.add("TYPENAME", args=(1, 1))
def typename(rt: Runtime, value: Value) -> str:
    return type_name(value)


@TABLE.add("TO_NUMBER", args=(1, 1))
def cast_number(rt: Runtime, value: Value) -> Value:
    return to_number(value)


@TABLE.add("TO_STRING", args=(1, 1))
def cast_string(rt: Runtime, value: Value) -> str:
    return to_string(value)


@TABLE.add("TO_BOOL", args=(1, 1))
def cast_bool(rt: Runtime, value: Value) -> bool:
    return to_bool(value)


@TABLE.add("TO_ARRAY", "TO_LIST", args=(1, 1))
def cast_array(rt: Runtime, value: Value) -> list[Value]:
    return to_array(value)
