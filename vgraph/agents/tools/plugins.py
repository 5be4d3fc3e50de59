"""Tools of other packages: entry points of the group `vgraph.tools`, off unless they are named in the settings.

An entry point leads to a function of a Scope and typed arguments that returns Found, as those beside this file are. Whoever names one
trusts it: it runs in this process, and that it only reads is its own promise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any, Final

from vgraph.agents.tools.registry import Function, Tool, tool
from vgraph.agents.tools.scope import Found, Scope
from vgraph.errors import UserError, VGraphError

GROUP: Final = "vgraph.tools"
COST: Final = 5


def _guarded(name: str, function: Function) -> Function:
    """The function, whose errors are told to whoever called it: those of other packages are no fault of the run."""

    def called(scope: Scope, **arguments: Any) -> Found:
        try:
            found = function(scope, **arguments)
        except VGraphError:
            raise
        except Exception as error:
            raise UserError(f"{name}: {type(error).__name__}: {error}") from error
        if not isinstance(found, Found):
            raise UserError(f"{name}: it gave {type(found).__name__}, not Found")
        return found

    return called


def plugged(names: Sequence[str]) -> tuple[Tool, ...]:
    """The named tools. Raises UserError for a name that no installed package offers, or one that cannot be loaded."""
    if not names:
        return ()
    offered = {point.name: point for point in entry_points(group=GROUP)}
    made = []
    for name in names:
        if name not in offered:
            raise UserError(
                f"VGRAPH_AGENT__TOOLS: no package offers the tool {name!r}; offered: {', '.join(offered) or 'none'}"
            )
        try:
            function = offered[name].load()
            made.append(replace(tool(function, cost=COST), function=_guarded(name, function)))
        except Exception as error:  # whatever another package's import raises
            raise UserError(f"VGRAPH_AGENT__TOOLS: the tool {name!r} cannot be loaded: {error}") from error
    return tuple(made)
