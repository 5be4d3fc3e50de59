"""Checksums, encodings and JSON (ArangoDB documentation, "String functions in AQL" and "Miscellaneous functions")."""

from __future__ import annotations

import base64
import hashlib
import struct
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import orjson

from ..values import number, to_integer, to_json, to_string
from .registry import Table, Value, wrong_type

if TYPE_CHECKING:
    from ..runtime import Runtime

TABLE: Final = Table()
_MASK: Final = 2**64 - 1
_P1, _P2, _P3, _P4, _P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
HASH_SEED: Final = 0xDEADBEEF
_ARRAY: Final = 0xBA5BEDF00D
_OBJECT: Final = 0xF00BA44BA5
_CONSTANTS: Final[dict[bool | None, bytes]] = {None: b"\x18", False: b"\x19", True: b"\x1a"}


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return tuple(table)


_CRC: Final = _crc_table()


@TABLE.add("MD5", args=(1, 1))
def md5(rt: Runtime, value: Value) -> str:
    return hashlib.md5(to_string(value).encode(), usedforsecurity=False).hexdigest()


@TABLE.add("SHA1", args=(1, 1))
def sha1(rt: Runtime, value: Value) -> str:
    return hashlib.sha1(to_string(value).encode(), usedforsecurity=False).hexdigest()


@TABLE.add("SHA256", args=(1, 1))
def sha256(rt: Runtime, value: Value) -> str:
    return hashlib.sha256(to_string(value).encode()).hexdigest()


@TABLE.add("SHA512", args=(1, 1))
def sha512(rt: Runtime, value: Value) -> str:
    return hashlib.sha512(to_string(value).encode()).hexdigest()


@TABLE.add("CRC32", args=(1, 1))
def crc32(rt: Runtime, value: Value) -> str:
    """CRC-32C in capital hexadecimal digits without leading zeros."""
    crc = 0xFFFFFFFF
    for byte in to_string(value).encode():
        crc = _CRC[(crc ^ byte) & 0xFF] ^ crc >> 8
    return f"{crc ^ 0xFFFFFFFF:X}"


@TABLE.add("FNV64", args=(1, 1))
def fnv64(rt: Runtime, value: Value) -> str:
    """FNV-1a in capital hexadecimal digits without leading zeros."""
    found = 0xCBF29CE484222325
    for byte in to_string(value).encode():
        found = (found ^ byte) * 0x100000001B3 & _MASK
    return f"{found:X}"


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & _MASK


def _round(state: int, lane: int) -> int:
    return _rotate((state + lane * _P2) & _MASK, 31) * _P1 & _MASK


def xxh64(data: bytes, seed: int = 0) -> int:
    """The XXH64 hash (xxHash specification, 0.1.1)."""
    position, size = 0, len(data)
    if size >= 32:
        lanes = [(seed + _P1 + _P2) & _MASK, (seed + _P2) & _MASK, seed, (seed - _P1) & _MASK]
        while position + 32 <= size:
            words = struct.unpack_from("<4Q", data, position)
            lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
            position += 32
        found = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            found = ((found ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        found = (seed + _P5) & _MASK
    return _xxh64_tail(data[position:], (found + size) & _MASK)


def _xxh64_tail(rest: bytes, found: int) -> int:
    position = 0
    while position + 8 <= len(rest):
        found = (_rotate(found ^ _round(0, struct.unpack_from("<Q", rest, position)[0]), 27) * _P1 + _P4) & _MASK
        position += 8
    if position + 4 <= len(rest):
        found ^= struct.unpack_from("<I", rest, position)[0] * _P1 & _MASK
        found = (_rotate(found, 23) * _P2 + _P3) & _MASK
        position += 4
    for byte in rest[position:]:
        found = _rotate(found ^ byte * _P5 & _MASK, 11) * _P1 & _MASK
    found = (found ^ found >> 33) * _P2 & _MASK
    found = (found ^ found >> 29) * _P3 & _MASK
    return found ^ found >> 32


def value_hash(value: Value, seed: int = HASH_SEED) -> int:
    """The server's 64-bit hash of a value: XXH64 of its VelocyPack bytes, numbers as doubles.

    Attributes hash alike in any order, the elements of an array do not.
    """
    if type(value) is str:
        return xxh64(string_bytes(value), seed)
    if type(value) is list:
        found = xxh64(struct.pack("<Q", len(value) ^ _ARRAY), seed)
        for item in value:
            found ^= value_hash(item, found)
        return found
    if type(value) is dict:
        start = found = xxh64(struct.pack("<Q", len(value) ^ _OBJECT), seed)
        for name, item in value.items():
            key = value_hash(name, start)
            found ^= key ^ value_hash(item, key)
        return found
    if value is None or type(value) is bool:
        return xxh64(_CONSTANTS[value], seed)
    return xxh64(struct.pack("<d", float(value)), seed)


def string_bytes(text: str) -> bytes:
    """A string as VelocyPack: its length in the head byte up to 126 bytes, else 0xbf and eight bytes of length."""
    data = text.encode()
    return bytes([0x40 + len(data)]) + data if len(data) <= 126 else b"\xbf" + struct.pack("<Q", len(data)) + data


@TABLE.add("HASH", args=(1, 1))
def hash_value(rt: Runtime, value: Value) -> int:
    """A whole number below 2^51 that depends on type and value."""
    return value_hash(value) & 0x0007FFFFFFFFFFFF


@TABLE.add("TO_BASE64", args=(1, 1))
def to_base64(rt: Runtime, value: Value) -> str:
    return base64.b64encode(to_string(value).encode()).decode()


@TABLE.add("TO_HEX", args=(1, 1))
def to_hex(rt: Runtime, value: Value) -> str:
    return to_string(value).encode().hex()


@TABLE.add("TO_CHAR", args=(1, 1))
def to_char(rt: Runtime, code: Value) -> Value:
    if type(code) not in (int, float):
        return wrong_type(rt, "TO_CHAR")
    point = to_integer(code)
    if not 0 <= point <= 0x10FFFF or 0xD800 <= point <= 0xDFFF:
        return wrong_type(rt, "TO_CHAR")
    return chr(point)


@TABLE.add("ENCODE_URI_COMPONENT", args=(1, 1))
def encode_uri_component(rt: Runtime, value: Value) -> str:
    return quote(to_string(value), safe="-_.!~*'()")


@TABLE.add("JSON_STRINGIFY", args=(1, 1))
def json_stringify(rt: Runtime, value: Value) -> str:
    return to_json(value)


@TABLE.add("JSON_PARSE", args=(1, 1))
def json_parse(rt: Runtime, text: Value) -> Value:
    if type(text) is not str:
        return wrong_type(rt, "JSON_PARSE")
    try:
        return _normal(orjson.loads(text))
    except orjson.JSONDecodeError:
        return wrong_type(rt, "JSON_PARSE")


def _normal(value: Value) -> Value:
    """Whole doubles as integers, all through a value."""
    if type(value) is float:
        return number(value)
    if type(value) is list:
        return [_normal(item) for item in value]
    if type(value) is dict:
        return {name: _normal(item) for name, item in value.items()}
    return value
