"""Full-text search: analyzers, postings, scoring, views, and the conditions that SEARCH understands.

Who calls what:

* the catalog keeps the definitions: `normalise_analyzer`, `normalise_view`; `ViewLink` and `InvertedIndex` are indexes
  of a collection with insert and remove hooks, `View` finds those that serve it;
* the planner calls `compile_search` once for a plan, the executor `CompiledSearch.bind` once for each run (or row) and
  `View.search` with what came back;
* TOKENS calls `tokens`.
"""

from __future__ import annotations

from .alias_members import check_together
from .analyzer_base import Analyzer
from .analyzers import BUILTIN_ANALYZERS, make_analyzer, normalise_analyzer, tokens
from .compile import CompiledSearch, compile_search
from .conditions import Condition
from .definitions import normalise_link, normalise_view
from .inverted_definitions import complete_features
from .scoring import BM25, TFIDF, BoostScore, Scorer
from .views import InvertedIndex, SearchResult, Top, View, ViewLink, find_analyzer

__all__ = [
    "BM25",
    "BUILTIN_ANALYZERS",
    "TFIDF",
    "Analyzer",
    "BoostScore",
    "CompiledSearch",
    "Condition",
    "InvertedIndex",
    "Scorer",
    "SearchResult",
    "Top",
    "View",
    "ViewLink",
    "check_together",
    "compile_search",
    "complete_features",
    "find_analyzer",
    "make_analyzer",
    "normalise_analyzer",
    "normalise_link",
    "normalise_view",
    "tokens",
]
