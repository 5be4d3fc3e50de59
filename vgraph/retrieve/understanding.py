"""What a question asks, by rules: its form, the clause with what fills which role, the event it is asked around, the choices it gives.

Questions come in many dresses (`Tell me who …`, `What was the time when …`, `The person that … was who?`); they are first brought to
the plain one (`who …`, `when …`). What no rule reads keeps its words, and the evidence has to cover them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from vgraph.retrieve.clauses import Argument, Clause, Mention, question_clause
from vgraph.retrieve.denial import Denial, denied
from vgraph.retrieve.english import patterns
from vgraph.retrieve.matching import Pattern, pattern
from vgraph.retrieve.naming import Names
from vgraph.retrieve.times import without_times

Form = Literal[
    "who", "what", "when", "where", "how_long", "how_many", "how_often", "which_first", "before_or_after", "sequence", "yes_no",
    "present", "happenings", "why", "said",
]  # fmt: skip
"""`present`: who was there; `happenings`: what went on; `which_first`: which of two came first; `said`: what somebody said."""
Direction = Literal["before", "after", "during"]

_RULES = patterns()
_PLAIN = tuple((re.compile(rule, re.IGNORECASE), plain) for rule, plain in _RULES.plainer)
_FORM = tuple((form, re.compile(rule, re.IGNORECASE)) for form, rule in _RULES.forms)
_LEAD_IN, _HAPPENINGS, _DOES, _AROUND, _OR, _FIRST_OF = (
    re.compile(_RULES.single[name], re.IGNORECASE)
    for name in ("lead_in", "happenings", "does", "around", "before_or_after", "first_of")
)
_DIRECTIONS: dict[str, Direction] = {
    "before": "before", "until": "before", "prior to": "before", "by the time": "before", "after": "after", "since": "after",
    "as soon as": "after", "once": "after", "following": "after",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class AroundClause:
    """The event a question is asked around. `near`: only what is next to it is asked for."""

    how: Direction
    text: str
    pattern: Pattern
    near: bool


@dataclass(frozen=True, slots=True)
class Question:
    """A question as the rules read it. `body` is the plain form; `pattern` what an event must be; `others` the second of two events.

    `extreme` asks for the first or the last; `things` are what a sequence is to be told of.
    """

    text: str
    body: str
    form: Form
    mentions: tuple[Mention, ...]
    pattern: Pattern | None
    others: Pattern | None = None
    around: AroundClause | None = None
    extreme: Literal["first", "last"] | None = None
    things: tuple[Mention, ...] = ()
    camera_asked: bool = False
    denial: Denial = ""
    """What of it is denied: the answer to the rest is turned round (`opposite`), or there is none (`unread`)."""

    @property
    def joint(self) -> bool:
        """Whether those it names are meant at one time: `together`, `with`."""
        told = re.search(r"\b(?:together|at the same time|at once|simultaneously)\b", self.body, re.IGNORECASE)
        return bool(told) or (self.pattern is not None and "with" in self.pattern.roles)

    @property
    def named(self) -> tuple[Mention, ...]:
        return self.mentions


def plainly_asked(text: str) -> str:
    """A question without its lead-in, in the plain words for what it asks: `Tell me the time at which …` asks `when …`."""
    body = " ".join(text.split())
    for _ in range(3):
        shorter = _LEAD_IN.sub("", body, count=1)
        if shorter == body or not re.search(r"\w", shorter):
            break
        body = shorter
    for form, plain in _PLAIN:
        body = form.sub(plain, body, count=1)
    return " ".join(body.split())


def read(text: str, names: Names) -> Question:
    """A question read by rules, with the entities it names."""
    body, denial = denied(plainly_asked(without_times(text)))
    return replace(_read(text, body, names), denial=denial)


def _read(text: str, body: str, names: Names) -> Question:
    form = form_of(body)
    body = re.sub(r"^\W*(?:is it so that|in which order)\b", "", body, flags=re.IGNORECASE).strip() or body
    camera = form == "where" and bool(re.search(r"\b(?:camera|cam|feed)s?\b", text, re.IGNORECASE))
    if form == "before_or_after" and (found := _OR.match(body)):
        return _two(text, body, form, found["a"], found["b"], names)
    if form == "which_first" and (found := _FIRST_OF.match(body)):
        return _two(text, body, form, found["a"], found["b"], names)
    main, around = _split_around(body, names)
    form = form if main == body or form in ("yes_no", "sequence") else form_of(main)
    mentions = names.mentions(main)
    clause = question_clause(main, mentions)
    form = _refined(form, main, clause)
    if around is not None and clause is not None:
        around = replace(around, pattern=_with_subject(around.pattern, clause))
    things = mentions if form == "sequence" else ()
    extreme = _extreme(main)
    return Question(text, body, form, mentions, _pattern(clause, form), None, around, extreme, things, camera)


def form_of(body: str) -> Form:
    """The form of a plain question; `what` where no rule knows better."""
    if _HAPPENINGS.search(body):
        return "happenings"
    return next((form for form, rule in _FORM if rule.search(body)), "what")


def _refined(form: Form, main: str, clause: Clause | None) -> Form:
    """`who was at the dock` asks who was present; `what did Maria do` what went on; `what did he say` for words."""
    if form == "what" and _DOES.search(main):
        return "happenings"
    if clause is None:
        return form
    if form == "what" and clause.senses & {"say", "ask", "answer"}:
        return "said"
    sees = clause.senses == {"see"} and {"agent", "theme"} <= set(clause.roles)
    if form in ("who", "how_many") and not sees and (clause.verb == "be" or clause.senses & {"stay", "see"}):
        asked = next((a for _, a in clause.arguments() if a.asked), None)
        if asked is None or asked.kind in ("", "person") or form == "how_many":
            return "present" if form == "who" else form
    return form


def _pattern(clause: Clause | None, form: Form) -> Pattern | None:
    return None if clause is None or form in ("why",) else pattern(clause)


def _two(text: str, body: str, form: Form, first: str, second: str, names: Names) -> Question:
    """Two events that are to be compared; the question's auxiliary belongs to the first."""
    mentions = (names.mentions(first), names.mentions(second))
    one = question_clause(first, mentions[0])
    other = question_clause(second, mentions[1])
    if (
        other is not None
        and one is not None
        and not any(a.mention for _, a in other.arguments())
        and other.verb == "be"
    ):
        other = None
    extreme = _extreme(body) if form == "which_first" else None
    both = (*mentions[0], *mentions[1])
    return Question(text, body, form, both, _pattern(one, form), _pattern(other, form), extreme=extreme)


def _extreme(text: str) -> Literal["first", "last"] | None:
    if re.search(r"\b(?:last|latest|final|finally|most recently|most recent|later)\b", text, re.IGNORECASE):
        return "last"
    if re.search(r"\b(?:first|earliest|initially|earlier|sooner)\b", text, re.IGNORECASE):
        return "first"
    return None


def _split_around(body: str, names: Names) -> tuple[str, AroundClause | None]:
    """The question without the event it is asked around, and that event."""
    for found in _AROUND.finditer(body):
        how = " ".join(found["how"].casefold().split())
        before = body[: found.start()].strip(" ¿¡\"',")
        if how in ("when", "since", "until", "as") and (not before or _asks_time(before)):
            continue
        what, after = _event_text(found["what"])
        mentions = names.mentions(what)
        clause = question_clause(what, mentions)
        if clause is None or not _tells_event(clause, what):
            continue
        direction: Direction = _DIRECTIONS.get(how, "during")
        main = f"{before} {after}".strip(" ,") if before else after
        if not before:  # `After the van left, who came in?`
            main = after
        if main and re.search(r"\w", main):
            return main, AroundClause(direction, what.strip(), pattern(clause), bool(found["near"]))
    return body, None


def _with_subject(wanted: Pattern, clause: Clause) -> Pattern:
    """`What did Maria do after she came`: she is Maria."""
    agents = [a for a in clause.roles.get("agent", ()) if a.mention is not None] or [
        a for _, a in clause.arguments() if a.mention is not None and a.mention.type == "person"
    ]
    things = [
        a for _, a in clause.arguments() if a.mention is not None and a.mention.type not in ("person", "location")
    ]
    meant = {**dict.fromkeys(("he", "she", "they", "him", "her", "them"), agents), "it": things}

    def filled(argument: Argument) -> Argument:
        stands_for = meant.get(argument.words[0]) if len(argument.words) == 1 else None
        return stands_for[0] if stands_for else argument

    roles = {role: tuple(filled(argument) for argument in found) for role, found in wanted.roles.items()}
    return replace(wanted, roles=roles)


def _asks_time(before: str) -> bool:
    """`tell me when`: nothing was asked before the word."""
    return not re.search(r"\w", before)


def _event_text(text: str) -> tuple[str, str]:
    """The event's words, and what goes on behind a comma: `after the van left, who came in`."""
    head, comma, tail = text.partition(",")
    if comma and re.match(
        r"\s*(?:who|what|when|where|which|how|did|was|were|is|are|does|do|with|to)\b", tail, re.IGNORECASE
    ):
        return head, tail.strip()
    return text, ""


def _tells_event(clause: Clause, text: str) -> bool:
    """A clause of its own: with a verb that is there, and somebody or something that does it or that it is done to."""
    filled = [a for _, a in clause.arguments() if a.mention is not None or a.words or a.kind]
    if clause.verb == "be":
        return bool(filled) and bool(re.search(r"\b(?:is|are|was|were|been|being)\b", text, re.IGNORECASE))
    return bool(filled) and not re.fullmatch(r"\W*\d.*", text)


def wordless(text: str) -> bool:
    """Whether a question has no word at all: `???`."""
    return not re.search(r"[^\W_]", text)
