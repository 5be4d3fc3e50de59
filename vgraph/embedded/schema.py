"""JSON Schema (draft 4, as ArangoDB's document validation takes it) for values: `errors(rule, value)` says what is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
}


def is_valid(rule: Any, value: Any) -> bool:
    """Whether the value passes."""
    return next(errors(rule, value), None) is None


def errors(rule: Any, value: Any, root: Any = None) -> Iterator[str]:
    """What is wrong, one line each; nothing when the value passes."""
    root = rule if root is None else root
    if isinstance(rule, bool):
        if not rule:
            yield "no value is allowed here"
        return
    if "$ref" in rule:
        yield from errors(_resolve(root, rule["$ref"]), value, root)
        return
    yield from _any_value(rule, value, root)
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield from _number(rule, value)
    elif isinstance(value, str):
        yield from _string(rule, value)
    elif isinstance(value, list):
        yield from _array(rule, value, root)
    elif isinstance(value, dict):
        yield from _object(rule, value, root)


def _resolve(root: Any, reference: str) -> Any:
    target = root
    for part in reference.removeprefix("#").split("/"):
        if part:
            target = target[part.replace("~1", "/").replace("~0", "~")]
    return target


def _is_type(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(name, ()))


def _same(a: Any, b: Any) -> bool:
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)


def _any_value(rule: dict[str, Any], value: Any, root: Any) -> Iterator[str]:
    if "type" in rule:
        wanted = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
        if not any(_is_type(name, value) for name in wanted):
            yield f"the value must be of type {' or '.join(wanted)}"
    if "enum" in rule and not any(_same(item, value) for item in rule["enum"]):
        yield "the value is not one of the allowed ones"
    if "const" in rule and not _same(rule["const"], value):
        yield "the value is not the required one"
    for part in rule.get("allOf", ()):
        yield from errors(part, value, root)
    if "anyOf" in rule and not any(not list(errors(part, value, root)) for part in rule["anyOf"]):
        yield "the value matches none of the alternatives"
    if "oneOf" in rule and sum(not list(errors(part, value, root)) for part in rule["oneOf"]) != 1:
        yield "the value must match exactly one of the alternatives"
    if "not" in rule and not list(errors(rule["not"], value, root)):
        yield "the value matches what it must not match"


def _number(rule: dict[str, Any], value: float) -> Iterator[str]:
    low, high = rule.get("minimum"), rule.get("maximum")
    below, above = rule.get("exclusiveMinimum"), rule.get("exclusiveMaximum")
    if low is not None and (value < low or (below is True and value == low)):
        yield f"{value} is below the minimum of {low}"
    if high is not None and (value > high or (above is True and value == high)):
        yield f"{value} is above the maximum of {high}"
    if below is not None and not isinstance(below, bool) and value <= below:
        yield f"{value} is not above {below}"
    if above is not None and not isinstance(above, bool) and value >= above:
        yield f"{value} is not below {above}"
    if rule.get("multipleOf") and abs(value / rule["multipleOf"] - round(value / rule["multipleOf"])) > 1e-9:
        yield f"{value} is not a multiple of {rule['multipleOf']}"


def _string(rule: dict[str, Any], value: str) -> Iterator[str]:
    yield from _size(rule, len(value), "minLength", "maxLength")
    if "pattern" in rule and re.search(rule["pattern"], value) is None:
        yield f"the value does not match the pattern {rule['pattern']}"


def _size(rule: dict[str, Any], size: int, least: str, most: str) -> Iterator[str]:
    if least in rule and size < rule[least]:
        yield f"{least} is {rule[least]}, found {size}"
    if most in rule and size > rule[most]:
        yield f"{most} is {rule[most]}, found {size}"


def _array(rule: dict[str, Any], value: list[Any], root: Any) -> Iterator[str]:
    yield from _size(rule, len(value), "minItems", "maxItems")
    if rule.get("uniqueItems") and any(_same(a, b) for i, a in enumerate(value) for b in value[:i]):
        yield "the items are not unique"
    items = rule.get("items")
    if isinstance(items, list):
        for part, item in zip(items, value, strict=False):
            yield from errors(part, item, root)
        for item in value[len(items) :]:
            yield from errors(rule.get("additionalItems", True), item, root)
    elif items is not None:
        for item in value:
            yield from errors(items, item, root)
    if "contains" in rule and not any(not list(errors(rule["contains"], item, root)) for item in value):
        yield "no item matches what must be contained"


def _object(rule: dict[str, Any], value: dict[str, Any], root: Any) -> Iterator[str]:
    yield from _size(rule, len(value), "minProperties", "maxProperties")
    for name in rule.get("required", ()) if isinstance(rule.get("required"), list) else ():
        if name not in value:
            yield f"the attribute '{name}' is missing"
    properties, patterns = rule.get("properties", {}), rule.get("patternProperties", {})
    for name, item in value.items():
        parts = [properties[name]] if name in properties else []
        parts += [part for pattern, part in patterns.items() if re.search(pattern, name)]
        for part in parts or [rule.get("additionalProperties", True)]:
            yield from (f"{name}: {error}" for error in errors(part, item, root))
        if "propertyNames" in rule:
            yield from errors(rule["propertyNames"], name, root)
    for name, needed in rule.get("dependencies", {}).items():
        if name in value:
            if isinstance(needed, list):
                yield from (f"'{name}' needs '{other}'" for other in needed if other not in value)
            else:
                yield from errors(needed, value, root)
