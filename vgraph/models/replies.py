"""What a language model wrote, read as JSON: fences and thoughts taken off, small damage repaired, the rest said plainly."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

from vgraph.models.loading import clean

_THOUGHTS: Final = re.compile(r"^\s*<think>.*?</think>", re.DOTALL)
_FENCE: Final = re.compile(r"^\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*$", re.DOTALL)
_MESSAGE_LIMIT: Final = 300


class Malformed(Exception):  # noqa: N818 - the reason is shown to the model, and reads as a sentence
    """A reply is not JSON, or not of the schema; the text tells the model what to mend."""


def parsed(text: str, schema: Mapping[str, Any]) -> Any:
    """The JSON value of a reply, valid against a JSON Schema, or Malformed."""
    try:
        value = cleaned(_value(bare(text)))
        check(value, schema)
    except RecursionError:
        raise Malformed("the reply is nested too deeply") from None
    return value


def bare(text: str) -> str:
    """A reply without a reasoning model's thoughts and without the code fence around it."""
    text = _THOUGHTS.sub("", text)
    fenced = _FENCE.match(text)
    return (fenced.group(1) if fenced else text).strip()


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return _repaired(text)


def _repaired(text: str) -> Any:
    import json_repair

    try:
        value = json_repair.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"the reply is not JSON: {error}") from error
    if not isinstance(value, dict | list) or (not value and text not in ("{}", "[]")):
        raise Malformed("the reply is not JSON")
    return value


def cleaned(value: Any) -> Any:
    """A JSON value whose strings can all be encoded and whose numbers are finite; `1e999` is none, and becomes null."""
    match value:
        case str():
            return clean(value)
        case float():
            return value if math.isfinite(value) else None
        case list():
            return [cleaned(item) for item in value]
        case dict():
            return {clean(str(key)): cleaned(item) for key, item in value.items()}
        case _:
            return value


def check(value: Any, schema: Mapping[str, Any]) -> None:
    """Malformed, naming the place and the fault, unless the value is valid against the schema."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(schema).iter_errors(value))
    if error is not None:
        raise Malformed(f"at {error.json_path}: {error.message}"[:_MESSAGE_LIMIT])


def is_strict(schema: Any) -> bool:
    """Whether every object of a schema is closed and requires all its properties, as constrained decoding demands."""
    if isinstance(schema, list):
        return all(is_strict(item) for item in schema)
    if not isinstance(schema, Mapping):
        return True
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and (
        schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(properties)
    ):
        return False
    return all(is_strict(item) for item in schema.values())
