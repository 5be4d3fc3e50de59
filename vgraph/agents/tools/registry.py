"""Tools: typed functions whose docstring is their description and whose signature is their schema; and the box a run takes them from."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_type_hints

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from vgraph.agents.steps import Observation, ToolCall
from vgraph.agents.tools.scope import Found, Scope
from vgraph.errors import MediaError, ModelError, StoreError, UserError
from vgraph.types import Filters, ToolSpec

Function = Callable[..., Found]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function of a Scope and arguments. `cost` orders tools that may serve the same: 1 a query of the graph, 9 a model reading speech.

    `family` is the sense it searches by (graph, visual, audio); empty: none. `arguments` validates what a model gives.
    """

    name: str
    description: str
    function: Function
    arguments: type[BaseModel]
    cost: int = 1
    family: str = ""

    @property
    def usage(self) -> str:
        """How it is called, in one line a model reads, then what it does: `timeline(entities: [text], start?: text)`."""
        schema = self.arguments.model_json_schema()
        needed = schema.get("required", ())
        parts = [f"{name}{'' if name in needed else '?'}: {_kind(part)}" for name, part in schema["properties"].items()]
        return f"{self.name}({', '.join(parts)})"

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, self.description, self.arguments.model_json_schema())

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the function takes them. Raises UserError that says what is wrong with each."""
        try:
            orjson.dumps(given)
        except TypeError as error:
            raise UserError(f"the arguments of {self.name} cannot be used: {error}") from None
        try:
            valid = self.arguments.model_validate(dict(given))
        except ValidationError as error:
            raise UserError(f"the arguments of {self.name}: {_explained(error)}") from None
        return {name: getattr(valid, name) for name in self.arguments.model_fields}


def tool(function: Function, *, cost: int = 1, family: str = "") -> Tool:
    """A tool of a function whose first parameter is the Scope; the others become its schema."""
    hints = get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    fields: dict[str, Any] = {
        p.name: (hints[p.name], ... if p.default is inspect.Parameter.empty else p.default) for p in parameters
    }
    form = create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)
    return Tool(function.__name__, inspect.cleandoc(function.__doc__ or ""), function, form, cost, family)


class Toolbox:
    """The tools of a run and where they look.

    >>> toolbox.call("timeline", {"entities": ["Ana"]}, Filters(not_after=...))    # doctest: +SKIP
    """

    def __init__(
        self, tools: Sequence[Tool], scope: Scope, watch: Callable[[ToolCall | Observation], None] = lambda step: None
    ) -> None:
        self._tools = {each.name: each for each in tools}
        self.scope, self._watch = scope, watch

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(each.spec for each in self._tools.values())

    def tool(self, name: str) -> Tool:
        """A tool by name. Raises UserError that says which there are."""
        if name not in self._tools:
            raise UserError(f"there is no tool {name!r}; the tools are {', '.join(self._tools)}")
        return self._tools[name]

    def inside(self, scope: Scope) -> Toolbox:
        """The same tools, looking elsewhere."""
        return Toolbox(tuple(self._tools.values()), scope, self._watch)

    def watched(self, watch: Callable[[ToolCall | Observation], None]) -> Toolbox:
        """The same tools, whose calls and results are told to `watch`."""
        return Toolbox(tuple(self._tools.values()), self.scope, watch)

    def call(self, name: str, arguments: Mapping[str, Any], filters: Filters) -> Observation:
        """What a tool finds within the filters; whatever is wrong with the call is told in the observation's `error`, never raised.

        The arguments can only narrow the filters.
        """
        self._watch(ToolCall(name, dict(arguments)))
        observation = self._observed(name, arguments, filters)
        self._watch(observation)
        return observation

    def _observed(self, name: str, arguments: Mapping[str, Any], filters: Filters) -> Observation:
        try:
            chosen = self.tool(name)
            given = chosen.checked(arguments)
            found = chosen.function(replace(self.scope, filters=filters), **given)
        except (UserError, ModelError, MediaError, StoreError) as error:
            return Observation(name, dict(arguments), error=str(error))
        except RecursionError:
            return Observation(name, dict(arguments), error="the arguments or the result are nested too deeply")
        return Observation(name, dict(arguments), found.items, found.chunks, found.rows, found.pictures, found.notes)


def _kind(schema: Mapping[str, Any]) -> str:
    """A JSON schema in a word or two."""
    if "enum" in schema:
        return " | ".join(str(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_kind(part) for part in schema["anyOf"] if part.get("type") != "null")
    match schema.get("type"):
        case "array":
            most = f" at most {schema['maxItems']}" if "maxItems" in schema else ""
            return f"[{_kind(schema['items'])}]{most}"
        case "string":
            return "text"
        case "integer" | "number" as number:
            ends = [
                f"{word} {schema[name]:g}" for word, name in (("from", "minimum"), ("to", "maximum")) if name in schema
            ]
            return " ".join([number, *ends])
        case other:
            return str(other or "any")


def _explained(error: ValidationError) -> str:
    """One phrase a fault, with the place it is at."""
    return "; ".join(
        f"{'.'.join(str(part) for part in item['loc']) or 'all'}: {item['msg'].removeprefix('Value error, ')}"
        for item in error.errors()
    )
