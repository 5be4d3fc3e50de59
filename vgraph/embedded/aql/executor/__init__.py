"""Runs plans: `compile_plan` makes a `Program` of steps and closures, `Program.run` gives results batch by batch."""

from .rows import BATCH, Profile, Run, Stats
from .run import Program, compile_plan

__all__ = ["BATCH", "Profile", "Program", "Run", "Stats", "compile_plan"]
