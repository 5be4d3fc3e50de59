"""Questions about a script with their answers, worked out by brute force from what the recordings show.

A question is asked only when exactly one answer is right within its time; in long worlds each one names ten minutes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from vgraph.evals.world.phrases import FORMS, clause, clock, named
from vgraph.evals.world.scene import Scene
from vgraph.evals.world.script import Action, Interval, Line
from vgraph.evals.world.site import ZONES

KINDS = ("who", "when", "where", "how_long", "how_many", "before_after", "together", "sequence", "yes_no")
WINDOW_MS, SHORT_MS = 600_000, 900_000
HANDFUL = 8
ABSENT = ("ladder", "bicycle", "snow plough", "piano", "fire hose", "wheelchair", "lawn mower", "canoe")
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")

Moment = dict[str, Interval]
"""One thing that happened, as each recording that shows it shows it: any of them proves it."""


@dataclass(frozen=True, slots=True)
class Question:
    """`accepted`: any of these is right. `all_of`, `in_order`: these names must all stand in the answer (in this order).

    `value_ms` with `tolerance_ms`: a time (UTC) or a length. `camera` and `asked` are the part of the world asked about.
    """

    kind: str
    text: str
    status: str
    answer: str
    asked: Interval
    accepted: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()
    in_order: tuple[str, ...] = ()
    value_ms: int | None = None
    tolerance_ms: int | None = None
    moments: tuple[Moment, ...] = ()
    camera: str | None = None
    modality: str = "visual"


@dataclass(slots=True)
class _Window:
    """What is known of a stretch of time: everything that happened, and what of it a recording shows."""

    scene: Scene
    span: Interval
    phrase: str
    actions: list[Action] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    shown: list[tuple[Action, Moment]] = field(default_factory=list)

    def alone(self, action: Action, *parts: str) -> bool:
        """No other action here has the same verb and the same parts."""
        same = [a for a in self.actions if a.verb == action.verb]
        return sum(all(getattr(a, part) == getattr(action, part) for part in parts) for a in same) == 1

    def of(self, *verbs: str) -> Iterator[tuple[Action, Moment]]:
        return ((action, moment) for action, moment in self.shown if action.verb in verbs)

    def name(self, id_: str) -> str:
        return named(self.scene.script)(id_)


def asked_of(scene: Scene, count: int) -> tuple[Question, ...]:
    """So many questions: all kinds in turn, spread over the cameras; a fifth, and at least four, cannot be answered."""
    rng = random.Random(f"vgraph world {scene.script.seed} questions")  # noqa: S311
    windows = _windows(scene)
    barred = max(4, count // 5)
    answerable = _spread(_candidates(windows, rng), max(0, count - barred))
    return (*answerable, *_unanswerable(scene, windows, barred, rng))


def _windows(scene: Scene) -> list[_Window]:
    script = scene.script
    if script.end_ms - script.start_ms <= SHORT_MS:
        windows = [_Window(scene, (script.start_ms, script.end_ms), "")]
    else:
        starts = range(script.start_ms, script.end_ms - WINDOW_MS + 1, WINDOW_MS)
        windows = [_Window(scene, (s, s + WINDOW_MS), _phrase(scene, s)) for s in starts]
    for window in windows:
        _fill(window)
    return windows


def _phrase(scene: Scene, start: int) -> str:
    tz = scene.script.tz
    day = clock(start, tz, " on %-d %B %Y") if scene.script.end_ms - scene.script.start_ms > 86_400_000 else ""
    return f"{day} between {clock(start, tz, '%H:%M')} and {clock(start + WINDOW_MS, tz, '%H:%M')}"


def _fill(window: _Window) -> None:
    low, high = window.span
    script = window.scene.script
    window.actions = [a for a in script.actions if low <= a.start_ms < high]
    window.lines = [line for line in script.lines if low <= line.start_ms < high]
    shown = ((action, window.scene.witnesses(action)) for action in window.actions if action.end_ms <= high)
    window.shown = [(action, moment) for action, moment in shown if moment]


def _candidates(windows: Sequence[_Window], rng: random.Random) -> dict[str, list[Question]]:
    found = {
        kind: [question for window in windows for make in makers for question in make(window)]
        for kind, makers in _MAKERS.items()
    }
    several = [question for question in found["how_many"] if question.answer != "1"]
    found["how_many"] = several or found["how_many"]
    for questions in found.values():
        rng.shuffle(questions)
    return found


def _spread(found: dict[str, list[Question]], count: int) -> list[Question]:
    """Kinds in turn; within a kind the question whose recordings and moments were asked of least."""
    chosen: list[Question] = []
    used: Counter[str] = Counter()
    while len(chosen) < count and any(found.values()):
        for kind in KINDS:
            if found[kind] and len(chosen) < count:
                best = min(found[kind], key=lambda q: max(used[mark] for mark in _marks(q)))
                found[kind].remove(best)
                used.update(_marks(best))
                chosen.append(best)
    return chosen


def _marks(question: Question) -> set[str]:
    spans = [(stem, span) for moment in question.moments for stem, span in moment.items()]
    return {"", *(stem for stem, _ in spans), *(f"{stem} {span}" for stem, span in spans)} - {""} or {""}


# --- kinds -----------------------------------------------------------------------------------------------------------------


def _person(window: _Window, id_: str) -> tuple[str, ...]:
    name = window.scene.script.name(id_)
    return (name, *name.split())


def _place(zone: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((ZONES[zone].name, ZONES[zone].name.split()[-1])))


def _who(w: _Window) -> Iterator[Question]:
    asked = {
        "hands over": ("Who handed {object} to {other}{when}?", ("object", "other")),
        "loads": ("Who loaded {object} into {other}{when}?", ("object", "other")),
        "unloads": ("Who unloaded {object} from {other}{when}?", ("object", "other")),
        "picks up": ("Who picked up {object} {zone}{when}?", ("object", "zone")),
        "puts down": ("Who put down {object} {zone}{when}?", ("object", "zone")),
    }
    for action, moment in w.of(*asked):
        text, parts = asked[action.verb]
        if w.alone(action, *parts):
            yield _asked(w, "who", text, action, moment, accepted=_person(w, action.subject))


def _who_said(w: _Window) -> Iterator[Question]:
    for line in w.lines:
        moment = w.scene.hearers(line)
        if line.order and moment:
            text = f"Who said that order {line.order} goes to {line.city}{w.phrase}?"
            accepted = _person(w, line.speaker)
            yield Question("who", text, "answered", accepted[0], w.span, accepted, moments=(moment,), modality="speech")


def _where_order(w: _Window) -> Iterator[Question]:
    for line in w.lines:
        moment = w.scene.hearers(line)
        if line.order and line.city and moment:
            text = f"Where does order {line.order} go?"
            city = line.city
            yield Question("where", text, "answered", city, w.span, (city,), moments=(moment,), modality="speech")


def _when(w: _Window) -> Iterator[Question]:
    for action, moment in w.of("hands over", "loads", "unloads", "picks up", "arrives at", "leaves"):
        if w.alone(action, "subject", "object", "other"):
            text = f"When did {clause(action, FORMS[action.verb][0], w.name)}{w.phrase}?"
            answer = clock(action.start_ms, w.scene.script.tz)
            yield Question(
                "when",
                text,
                "answered",
                answer,
                w.span,
                value_ms=action.start_ms,
                tolerance_ms=15_000,
                moments=(moment,),
            )


def _where(w: _Window) -> Iterator[Question]:
    asked = {
        "hands over": ("Where did {subject} hand {object} to {other}{when}?", ("subject", "object", "other")),
        "puts down": ("Where did {subject} put down {object}{when}?", ("subject", "object")),
        "picks up": ("Where did {subject} pick up {object}{when}?", ("subject", "object")),
    }
    for action, moment in w.of(*asked):
        text, parts = asked[action.verb]
        if w.alone(action, *parts):
            yield _asked(w, "where", text, action, moment, accepted=_place(action.zone))


def _asked(w: _Window, kind: str, text: str, action: Action, moment: Moment, *, accepted: tuple[str, ...]) -> Question:
    parts = {"subject": w.name(action.subject), "object": w.name(action.object), "zone": ZONES[action.zone].where}
    other = w.name(action.other) if action.other else ""
    full = text.format(**parts, other=other, when=w.phrase)
    return Question(kind, full, "answered", accepted[0], w.span, accepted, moments=(moment,))


def _how_long_talk(w: _Window) -> Iterator[Question]:
    talks = [a for a in w.actions if a.verb == "talks to"]
    for action, moment in w.of("talks to"):
        pair = {action.subject, action.object}
        if sum({a.subject, a.object} == pair for a in talks) == 1:
            text = f"How long did {w.name(action.subject)} and {w.name(action.object)} talk{w.phrase}?"
            yield _length(w, text, action.end_ms - action.start_ms, (moment,))


def _how_long_stay(w: _Window) -> Iterator[Question]:
    for action, moment in w.of("arrives at"):
        left = [(a, m) for a, m in w.of("leaves") if a.subject == action.subject and a.start_ms > action.end_ms]
        if w.alone(action, "subject") and len(left) == 1:
            text = f"How long did {w.name(action.subject)} stay at {w.name(action.object)}{w.phrase}?"
            yield _length(w, text, left[0][0].start_ms - action.end_ms, (moment, left[0][1]))


def _length(w: _Window, text: str, ms: int, moments: tuple[Moment, ...]) -> Question:
    answer, tolerance = f"{round(ms / 1000)} seconds", max(4_000, ms // 4)
    return Question("how_long", text, "answered", answer, w.span, value_ms=ms, tolerance_ms=tolerance, moments=moments)


def _how_many(w: _Window) -> Iterator[Question]:
    asked = {
        ("picks up", "subject"): "How many objects did {name} pick up{when}?",
        ("talks to", "subject"): "How many people did {name} go up to and talk to{when}?",
        ("arrives at", "object"): "How many vehicles arrived at {name}{when}?",
    }
    for (verb, part), text in asked.items():
        for id_ in sorted({getattr(action, part) for action in w.actions if action.verb == verb}):
            every = [a for a in w.actions if a.verb == verb and getattr(a, part) == id_]
            shown = [(a, m) for a, m in w.of(verb) if getattr(a, part) == id_]
            if len(every) == len(shown) and len(shown) < len(NUMBERS):
                count = len({a.object if part == "subject" else a.subject for a, _ in shown})
                full = text.format(name=w.name(id_), when=w.phrase)
                moments = tuple(m for _, m in shown)
                accepted = (str(count), NUMBERS[count])
                yield Question("how_many", full, "answered", str(count), w.span, accepted, moments=moments)


def _clear(w: _Window) -> list[tuple[Action, Moment]]:
    """At most a handful of shown actions that happen once and are worth telling, spread over the window."""
    told = w.of("hands over", "loads", "picks up", "puts down", "arrives at", "leaves")
    clear = [(action, moment) for action, moment in told if w.alone(action, "subject", "object")]
    return clear[:: -(-len(clear) // HANDFUL) or 1]


def _before_after(w: _Window) -> Iterator[Question]:
    for (a, first), (b, second) in combinations(_clear(w), 2):
        if b.start_ms - a.end_ms < 5_000 or a.subject == b.subject:
            continue
        for x, y, answer in ((a, b, "before"), (b, a, "after")):
            text = f"Did {clause(x, FORMS[x.verb][0], w.name)} before or after {clause(y, FORMS[y.verb][1], w.name)}"
            yield Question(
                "before_after", f"{text}{w.phrase}?", "answered", answer, w.span, (answer,), moments=(first, second)
            )


def _together_talk(w: _Window) -> Iterator[Question]:
    talks = [a for a in w.actions if a.verb == "talks to"]
    for action, moment in w.of("talks to"):
        for one, two in ((action.subject, action.object), (action.object, action.subject)):
            if sum(one in (a.subject, a.object) and a.zone == action.zone for a in talks) == 1:
                text = f"With whom did {w.name(one)} talk {ZONES[action.zone].where}{w.phrase}?"
                accepted = _person(w, two)
                yield Question("together", text, "answered", accepted[0], w.span, accepted, moments=(moment,))


def _together_arrival(w: _Window) -> Iterator[Question]:
    people = [person.id for person in w.scene.script.people]
    for action, moment in w.of("arrives at"):
        stem, span = next(iter(moment.items()))
        there = [id_ for id_ in people if sum(b - a for a, b in w.scene.seen(id_, stem, *span)) * 2 > span[1] - span[0]]
        if 1 <= len(there) <= 4 and w.alone(action, "subject", "object"):
            names = tuple(w.scene.script.name(id_) for id_ in there)
            text = f"Which people were there when {clause(action, 'arrived at', w.name)}{w.phrase}?"
            yield Question("together", text, "answered", " and ".join(names), w.span, all_of=names, moments=(moment,))


def _sequence(w: _Window) -> Iterator[Question]:
    picked = [(a, m) for a, m in w.of("picks up") if w.alone(a, "object")]
    for trio in combinations(picked, 3):
        names = tuple(w.name(action.object) for action, _ in trio)
        listed = sorted(names)
        text = f"In which order were {listed[0]}, {listed[1]} and {listed[2]} picked up{w.phrase}?"
        moments = tuple(moment for _, moment in trio)
        yield Question("sequence", text, "answered", ", ".join(names), w.span, in_order=names, moments=moments)


def _yes_no(w: _Window) -> Iterator[Question]:
    people = [person.id for person in w.scene.script.people]
    for index, (action, moment) in enumerate(w.of("hands over", "loads", "unloads", "picks up", "puts down")):
        doers = {a.subject for a in w.actions if (a.verb, a.object) == (action.verb, action.object)}
        others = [id_ for id_ in people if id_ not in doers and id_ != action.other]
        doer, answer = (action.subject, "yes") if index % 2 == 0 else (others[index % len(others)], "no")

        def name(id_: str, doer: str = doer, subject: str = action.subject) -> str:
            return w.name(doer if id_ == subject else id_)

        text = f"Did {clause(action, FORMS[action.verb][0], name)}{w.phrase}?"
        yield Question("yes_no", text, "answered", answer, w.span, (answer,), moments=(moment,))


_MAKERS = {
    "who": (_who, _who_said),
    "when": (_when,),
    "where": (_where, _where_order),
    "how_long": (_how_long_talk, _how_long_stay),
    "how_many": (_how_many,),
    "before_after": (_before_after,),
    "together": (_together_talk, _together_arrival),
    "sequence": (_sequence,),
    "yes_no": (_yes_no,),
}


# --- what cannot be answered -------------------------------------------------------------------------------------------------


def _unanswerable(scene: Scene, windows: Sequence[_Window], count: int, rng: random.Random) -> list[Question]:
    makers = (_absent, _unrecorded_time, _never, _unrecorded_camera)
    found: list[Question] = []
    texts: set[str] = set()
    for turn in range(count * 20):
        question = makers[len(found) % len(makers)](scene, rng.choice(windows), rng, turn)
        if question is not None and question.text not in texts:
            found.append(question)
            texts.add(question.text)
        if len(found) == count:
            break
    return found


def _absent(scene: Scene, w: _Window, rng: random.Random, turn: int) -> Question | None:
    """Something that is not in this world at all."""
    text = rng.choice(
        ("Who picked up the {}{}?", "When did somebody carry the {} away{}?", "Where was the {} put down{}?")
    )
    full = text.format(rng.choice(ABSENT), w.phrase)
    return Question(text.split()[0].lower(), full, "not_found", "", w.span)


def _never(scene: Scene, w: _Window, rng: random.Random, turn: int) -> Question | None:
    """Someone and something that are there, but the one never did that with the other."""
    script = w.scene.script
    person, thing = rng.choice(script.people).id, rng.choice(script.things).id
    other = rng.choice([p.id for p in script.people if p.id != person])
    handled = [a for a in w.actions if a.object == thing]
    if any(a.subject == person or a.other == other for a in handled):
        return None
    text = f"When did {w.name(person)} hand over {w.name(thing)} to {w.name(other)}{w.phrase}?"
    return Question("when", text, "not_found", "", w.span)


def _unrecorded_time(scene: Scene, w: _Window, rng: random.Random, turn: int) -> Question | None:
    """A time at which no camera recorded: hours before the first or after the last recording."""
    script, hours = scene.script, rng.randint(2, 30)
    at = script.start_ms - hours * 1_800_000 if rng.random() < 0.5 else script.end_ms + hours * 1_800_000
    at -= at % 60_000
    camera = rng.choice(script.cameras)
    when = clock(at, script.tz, "%H:%M on %-d %B %Y")
    return Question(
        "who", f"Who was {ZONES[camera.zone].where} at {when}?", "not_recorded", "", (at, at + 60_000), camera=camera.id
    )


def _unrecorded_camera(scene: Scene, w: _Window, rng: random.Random, turn: int) -> Question | None:
    """A time at which the one camera of a place did not record, though others did."""
    camera = rng.choice([c for c in scene.script.cameras if c.id in ("store", "office")])
    gaps = [
        gap for gap in _gaps(scene.script.start_ms, scene.script.end_ms, camera.coverage) if gap[1] - gap[0] >= 6_000
    ]
    start, end = rng.choice(gaps)
    at = (start + rng.randrange(1, 10) * (end - start) // 10) // 1000 * 1000
    when = clock(at, scene.script.tz, "%H:%M:%S on %-d %B %Y")
    text = rng.choice(("What happened {} at {}?", "Who was {} at {}?"))
    kind = "who" if text.startswith("Who") else "what"
    return Question(
        kind, text.format(ZONES[camera.zone].where, when), "not_recorded", "", (at, at + 1_000), camera=camera.id
    )


def _gaps(start_ms: int, end_ms: int, coverage: Sequence[Interval]) -> list[Interval]:
    edges = [start_ms, *(edge for span in coverage for edge in span), end_ms]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]
