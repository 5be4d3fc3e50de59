"""Answers without a language model: a question is read by rules, looked up in the graph, and answered from templates, each claim cited.

    question -> form, clause, event asked around      (retrieve/understanding.py)
             -> clips, events, sightings, speech      (retrieve/facts.py, events.py, presence.py)
             -> claims                                 (forms.py, spoken.py, telling.py)

What the graph does not hold is `not_found`; what no camera recorded is `not_recorded`; and what no rule can answer says so.
"""

from __future__ import annotations

from vgraph.agents.rules.answering import answer_by_rules
from vgraph.retrieve.ground import Ground

__all__ = ["Ground", "answer_by_rules"]
