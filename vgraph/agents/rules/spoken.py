"""What was said: lines of speech that hold what a question asks, with who spoke them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vgraph.agents.rules import telling
from vgraph.agents.rules.forms import NOTHING, Result
from vgraph.agents.rules.voices import Said, lines
from vgraph.retrieve.clauses import verb_lemma
from vgraph.retrieve.ground import Ground, digits
from vgraph.retrieve.pack import wall
from vgraph.retrieve.understanding import Question
from vgraph.retrieve.verbs import senses
from vgraph.retrieve.words import content_words

COVERED = 0.75
"""The share of a question's content words that a line has to hold; all of its numbers and names at any rate."""
_SPEECH = frozenset(["say", "ask", "answer", "talk"])
MOST = 4


def about_speech(question: Question) -> bool:
    """Whether a question asks for words: who said what, what somebody said."""
    wanted = question.pattern
    return (
        wanted is not None
        and bool(wanted.senses & {"say", "ask", "answer"})
        and question.form in ("who", "said", "when", "where", "yes_no")
    )


def said(question: Question, ground: Ground) -> Result:
    """The lines that a question about speech means: `who said that …`, `what did Maria say about …`."""
    speakers = [a.mention for a in question.pattern.roles.get("agent", ()) if a.mention] if question.pattern else []
    body = _without_verbs_of_speech(question.body)
    found = []
    for line in lines(ground.told(_clips(question, ground)).chunks):
        if speakers and not any(_is(line.speaker, mention.name, mention.text) for mention in speakers):
            continue
        share = _share(_less(body, [m.text for m in speakers]), line)
        if share >= COVERED:
            found.append((share, line))
    best = [line for _, line in sorted(found, key=lambda pair: (-pair[0], pair[1].source.start_ms))]
    return _result(best, speakers_first=question.form == "who")


def heard(question: Question, ground: Ground) -> Result:
    """A line of speech that tells what nobody was seen to do: `where does order 7 go`."""
    chunks = ground.told(_clips(question, ground)).chunks or (ground.evidence.chunks if ground.evidence else ())
    wanted = content_words(question.body)
    if not wanted or not (digits(question.body) or len(wanted) > 2):
        return NOTHING
    found = [(share, line) for line in lines(chunks) if (share := _share(question.body, line)) >= COVERED]
    best = [line for _, line in sorted(found, key=lambda pair: (-pair[0], pair[1].source.start_ms))]
    return _result(best[:1], speakers_first=False)


def _clips(question: Question, ground: Ground) -> Sequence[str]:
    found = tuple(c.id for c in ground.search(question.body, ground.filters).chunks) if ground.search else ()
    spanned = ground.filters.start_ms is not None and ground.filters.end_ms is not None
    return tuple(dict.fromkeys((*found, *(ground.clips_of_time() if spanned else ()))))


def _without_verbs_of_speech(text: str) -> str:
    """The question without `who said that`, so that what was said is left."""
    return " ".join(word for word in text.split() if not _speaks(re.sub(r"\W", "", word)))


def _speaks(word: str) -> bool:
    return bool(senses(verb_lemma(word), "", frozenset(), None) & _SPEECH) if word else False


def _less(text: str, names: Sequence[str]) -> str:
    for name in names:
        text = text.replace(name, " ")
    return text


def _share(asked: str, line: Said) -> float:
    """How much of what is asked a line holds; nothing where a number is missing."""
    wanted = content_words(asked)
    held = content_words(f"{line.speaker} {line.text}")
    if digits(asked.casefold()) - digits(f"{line.speaker} {line.text}".casefold()):
        return 0.0
    return len(wanted & held) / len(wanted) if wanted else 1.0


def _is(speaker: str, *names: str) -> bool:
    return bool(speaker) and any(content_words(speaker) & content_words(name) for name in names if name)


def _result(best: Sequence[Said], *, speakers_first: bool) -> Result:
    if not best:
        return NOTHING
    claims = [telling.claim(_told(line), [line.source]) for line in best[:MOST]]
    if speakers_first:
        who = telling.listed(list(dict.fromkeys(line.speaker or "somebody" for line in best[:MOST])))
        claims.insert(0, telling.claim(f"{who} said so ({_at(best[0])}).", [line.source for line in best[:MOST]]))
    return Result(tuple(claims), 0.8)


def _told(line: Said) -> str:
    return f"{line.speaker or 'somebody'} said: “{line.text}” ({_at(line)})"


def _at(line: Said) -> str:
    return f"{wall(line.source.start_ms, line.chunk.tz)}, camera {line.chunk.camera_label}"
