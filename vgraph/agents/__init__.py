"""From a question and its evidence to an answer that can be checked: `run(asked, kit)` yields the steps."""

from vgraph.agents.answer import answer
from vgraph.agents.loop import run
from vgraph.agents.steps import Asked
from vgraph.agents.working import Kit, Options

__all__ = ["Asked", "Kit", "Options", "answer", "run"]
