"""A chat model that knows the truth of a synthetic world, to measure what agents find: it answers only when it has been shown.

It plays every worker of the agents. What to look for it takes from the words of the question alone, as any model must. Of the truth it uses
when and where what is asked about happened, to tell which lines of a result bear on it, whether memory is enough, and whether it may
answer: only when every true moment stands among the lines it was shown, whatever it knows. So its answers say how much of what a perfect
reader needs was found, and nothing of how well a real model reads. It is a stand-in: nothing chooses it but `vgraph eval qa --oracle`.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from vgraph.evals.metrics import Moment, Span
from vgraph.evals.questions import LETTERS, Question
from vgraph.types import Completion, Message, ToolSpec, Usage

Places = Callable[[str], Span | None]
"""From the key of a clip to the camera (label) and time it shows; None for what is no clip."""

MOST_SUBTASKS = 5
PIECES = 4
"""A question about many moments is looked into piece by piece of its time."""
_DATA = re.compile(r"<data (\w+)>\n(.*?)\n</data \1>", re.DOTALL)
_LINE = re.compile(r"^\s*(?:-\s*)?\[([^\]\s]+)\]\s(.*)$", re.MULTILINE)
_WINDOW = re.compile(r"(?P<before>.*?) between (?P<a>\d{1,2}:\d{2}) and (?P<b>\d{1,2}:\d{2})(?P<after>.*)", re.DOTALL)
_NAMED = re.compile(r"\b(?:[A-Z][a-z]+ [A-Z][a-z]+|(?:crate|parcel|case|folder|toolbox|box|order) \d+)\b")
_WALL = re.compile(r"(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2})")


@dataclass(frozen=True, slots=True)
class Call:
    tool: str
    arguments: Mapping[str, Any]

    @property
    def value(self) -> dict[str, Any]:
        return {"tool": self.tool, "arguments": dict(self.arguments)}


class Oracle:
    """A ChatModel over questions whose truth is known; `tz` is the zone of the times that lines show."""

    name = "oracle"

    def __init__(self, questions: Sequence[Question], places: Places, tz: str) -> None:
        self._questions = sorted(questions, key=lambda question: -len(question.text))
        self._places, self._zone = places, ZoneInfo(tz)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[ToolSpec] = (),
        max_tokens: int = 1024,
        temperature: float = 0.0,
    ) -> Completion:
        asked = next(message.text for message in messages if message.role == "user")
        blocks = [found[1] for found in _DATA.findall(asked)]
        value = self._reply(frozenset((schema or {}).get("properties", ())), asked, blocks)
        return Completion("", value, model=self.name, usage=Usage(len(asked.split()), len(str(value).split())))

    def _reply(self, form: frozenset[str], asked: str, blocks: Sequence[str]) -> dict[str, Any]:
        """Who is asked is told by the form of the reply."""
        question = self._question(asked)
        task = blocks[1] if len(blocks) > 1 else question.text
        if "claims" in form:
            return self._answer(question, asked, form)
        if "verdict" in form:
            return {"verdict": "supports", "reason": "it was shown", "correction": ""}
        if "enough" in form:
            missing = [number for number, moment in enumerate(question.moments, 1) if not self._shown(moment, asked)]
            return {
                "enough": bool(question.moments) and not missing,
                "missing": f"moments {missing}" if missing else "",
            }
        if "relevant" in form:
            return self._relevance(question, asked, form)
        if "kind" in form:
            return self._decision(question, task, blocks)
        if "routes" in form:
            return {"routes": [], "reason": "as it was planned"}
        if "subtasks" in form:
            return self._subtasks(question, asked)
        if form >= {"tool", "arguments"}:
            return self._other(blocks)
        return {"question": blocks[-1]} if "question" in form else {}

    def _question(self, asked: str) -> Question:
        found = next((question for question in self._questions if question.text in asked), None)
        return found or Question("", "", _DATA.findall(asked)[-1][1] if _DATA.search(asked) else asked)

    # --- what was shown -------------------------------------------------------------------------------------------------

    def _lines(self, text: str) -> Iterator[tuple[str, Span]]:
        """The lines of a text that show a stretch of a camera's time: clips by their ids, rows by what they say."""
        for identifier, line in _LINE.findall(text):
            span = self._places(identifier) or self._told(line)
            if span is not None:
                yield identifier, span

    def _told(self, line: str) -> Span | None:
        """The camera and the times that a row states."""
        camera = re.search(r"\bcamera (\w+)", line)
        times = [
            round(datetime.datetime.fromisoformat(f"{day} {clock}").replace(tzinfo=self._zone).timestamp() * 1000)
            for day, clock in _WALL.findall(line)
        ]
        return Span(camera[1], min(times), max(times) + 1000) if camera and times else None

    def _shown(self, moment: Moment, text: str) -> list[str]:
        """The ids of lines that show a moment, in the order of the text."""
        return list(dict.fromkeys(i for i, span in self._lines(text) if any(_meets(span, true) for true in moment)))

    def _relevance(self, question: Question, asked: str, form: frozenset[str]) -> dict[str, Any]:
        ids = list(dict.fromkeys(i for moment in question.moments for i in self._shown(moment, asked)))
        if "summary" not in form:
            return {"relevant": ids}
        return {"relevant": bool(ids), "summary": question.text if ids else "", "evidence": ids}

    def _answer(self, question: Question, asked: str, form: frozenset[str]) -> dict[str, Any]:
        shown = [self._shown(moment, asked) for moment in question.moments]
        whole = bool(shown) and all(shown)
        evidence = list(dict.fromkeys(ids[0] for ids in shown if ids))
        claims = [{"text": f"{question.answer}.", "evidence": evidence}] if whole else []
        choice = LETTERS[question.right] if whole and question.right is not None else None
        return {"claims": claims, **({"choice": choice, "confidence": float(whole)} if "choice" in form else {})}

    # --- what to look for: by the words of the question alone -----------------------------------------------------------

    def _subtasks(self, question: Question, asked: str) -> dict[str, Any]:
        if "Tools:" in asked:  # the planner
            planned = [(task, call) for task in parts(question.text) for call in calls(task)[:1]]
            planned += [(task, call) for task in parts(question.text) for call in calls(task)[1:]]
            return {"subtasks": [{"task": task, **call.value} for task, call in planned[:MOST_SUBTASKS]]}
        return {
            "subtasks": [*parts(question.text)[: MOST_SUBTASKS - 1], f"{CONCLUDE}{question.text}"],
            "reason": "part by part",
        }

    def _decision(self, question: Question, task: str, blocks: Sequence[str]) -> dict[str, Any]:
        made: dict[str, Any] = {"kind": "tool", "text": "", "tool": "", "arguments": {}}
        if task.startswith(CONCLUDE):
            return made | {"kind": "answer", "text": "what was found stands in memory"}
        if task == question.text and len(parts(task)) > 1:
            return made | {"kind": "divide", "text": "it asks about several moments"}
        return made | calls(task)[0].value

    def _other(self, blocks: Sequence[str]) -> dict[str, Any]:
        """The next call for a task that was not tried yet."""
        task, tried = blocks[0], blocks[1]
        for call in calls(task):
            if f"{call.tool} {dict(call.arguments)}:" not in tried:
                return call.value | {"reason": "in another way"}
        return {"tool": "", "arguments": {}, "reason": "everything was tried"}


CONCLUDE = "Put together what was found: "


def _meets(span: Span, true: Span) -> bool:
    return span.camera == true.camera and span.start_ms < true.end_ms and true.start_ms < span.end_ms


def parts(question: str) -> list[str]:
    """The moments a question asks about, one by one, each with the time it names; of one about an unknown number, pieces of its time."""
    window = _WINDOW.fullmatch(question.strip())
    text, when = (
        (window["before"], f" between {window['a']} and {window['b']}") if window else (question.strip(" ?"), "")
    )
    for form, make in _FORMS:
        if found := form.fullmatch(text.strip(" ?")):
            return [f"{part}{when}" for part in make(found)]
    if window and re.match(r"How (?:many|often)", question):
        return [f"{text}{piece}" for piece in _pieces(window["a"], window["b"], PIECES)]
    return [question.strip()]


def _pieces(start: str, end: str, number: int) -> list[str]:
    low, high = (int(clock.split(":")[0]) * 60 + int(clock.split(":")[1]) for clock in (start, end))
    high += 1440 if high <= low else 0
    edges = [low + (high - low) * n // number for n in range(number + 1)]
    return [f" between {_clock(a)} and {_clock(b)}" for a, b in pairwise(edges) if a < b]


def _clock(minutes: int) -> str:
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


_FORMS: Sequence[tuple[re.Pattern[str], Callable[[re.Match[str]], list[str]]]] = (
    (re.compile(r"Did (.+) before or after (.+)"), lambda found: [found[1], found[2]]),
    (
        re.compile(r"In which order were (.+), (.+) and (.+) picked up"),
        lambda found: [f"Who picked up {name}" for name in found.groups()],
    ),
    (
        re.compile(r"How long did (.+) stay at (.+)"),
        lambda found: [f"{found[1]} arrived at {found[2]}", f"{found[1]} left {found[2]}"],
    ),
)


def calls(task: str) -> list[Call]:
    """The ways to look into a task: by meaning and words, then in the graph by who and what is named, then by halves of its time."""
    names = list(dict.fromkeys(_NAMED.findall(_FIRST.sub("", task))))[:3]
    window = _WINDOW.fullmatch(task)
    halves = _pieces(window["a"], window["b"], 2) if window else []
    made = [Call("clip_search", {"question": task[:500]})]
    if names:
        made.append(Call("entity_graph_search", dict(zip(("source", "target"), names, strict=False))))
    made += [Call("clip_search", {"question": f"{window['before']}{half}"[:500]}) for half in halves if window]
    if names:
        made.append(Call("transcript_search", {"queries": names}))
    return [*made, Call("clip_search", {"question": task[:500], "way": "rank"})]


_FIRST = re.compile(r"^(?:Did|Who|When|Where|How (?:long|many) did|With whom did|Which|In which order were)\b")
