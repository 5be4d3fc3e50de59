"""What of a question no rule made use of: words that matter and that neither form, verb, names nor arguments account for.

An answer with a part of the question left out answers another question; whoever answers has to know what was left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from vgraph.retrieve.clauses import KINDS, Mention, is_verb, verb_lemma
from vgraph.retrieve.english import words
from vgraph.retrieve.matching import Pattern
from vgraph.retrieve.naming import singular
from vgraph.retrieve.understanding import Question
from vgraph.retrieve.verbs import NOUNS

QUALIFIERS = words("qualifier")
"""Adverbs and the like that narrow what is asked."""
DRESSING = words("dressing")
"""Words that only say that something was recorded or asked."""
FUNCTION = frozenset().union(
    *(
        words(name)
        for name in (
            "wh", "do", "be", "have", "modal", "determiner", "pronoun", "anybody", "not", "adverb", "prepositions", "particles",
        )
    )
)  # fmt: skip
ORDERED = frozenset(
    ["who", "what", "when", "where", "how_long", "which_first", "sequence", "before_or_after", "happenings", "present"]
)
"""Forms that answer by the first or the last of several."""
_EXTREMES = frozenset(["first", "last", "latest", "final", "earliest", "initially", "earlier", "sooner", "recent"])
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
ENGLISH = 0.5
"""Least share of words beside names that has to be known for a question to be taken for English."""


def unread(question: Question) -> tuple[str, ...]:
    """The words of a question that matter and were not used, in their order."""
    used = {word for wanted in _patterns(question) for word in _used(wanted)}
    left = [word for word in _beside_names(question) if _matters(word, question) and singular(word) not in used]
    if re.search(r"\w\W+and\s+then\b", question.body, re.IGNORECASE) and question.form != "sequence":
        left.append("and then")
    return tuple(dict.fromkeys(left))


def is_english(question: Question) -> bool:
    """Whether at least half of the words beside names are known."""
    beside = _beside_names(question)
    return not beside or sum(_known(word) for word in beside) >= ENGLISH * len(beside)


def _patterns(question: Question) -> Iterable[Pattern]:
    around = question.around.pattern if question.around else None
    return (wanted for wanted in (question.pattern, question.others, around) if wanted is not None)


def _used(wanted: Pattern) -> Iterable[str]:
    """The words that are checked against what is told."""
    arguments = [a for found in (*wanted.roles.values(), wanted.places) for a in found]
    if wanted.asked is not None:
        arguments.append(wanted.asked.argument)
    yield from (singular(word) for a in arguments for word in a.words)
    yield from wanted.verb.split()
    yield from (singular(word) for word in wanted.verb.split())


def _beside_names(question: Question) -> list[str]:
    """The words of the plain question that stand in no name."""
    text = question.body
    for mention in _named(question):
        text = re.sub(rf"\b{re.escape(mention.text)}\b", " ", text)
    return [match.group().casefold() for match in _WORD.finditer(text)]


def _named(question: Question) -> list[Mention]:
    arguments = [a for w in _patterns(question) for found in (*w.roles.values(), w.places) for a in found]
    asked = [w.asked.argument for w in _patterns(question) if w.asked is not None]
    found = [*question.mentions, *(a.mention for a in (*arguments, *asked) if a.mention is not None)]
    return sorted(found, key=lambda mention: -len(mention.text))


def _matters(word: str, question: Question) -> bool:
    if word in _EXTREMES:
        return question.form not in ORDERED
    return word in QUALIFIERS or not _known(word)


def _known(word: str) -> bool:
    parts = re.split(r"['’]", word)
    return word in FUNCTION | DRESSING or _plain(parts[0]) or (len(parts) > 1 and parts[0] in FUNCTION)


def _plain(word: str) -> bool:
    return word in KINDS or word in NOUNS or word in ("and", "or", "but", "nor") or is_verb(verb_lemma(word))
