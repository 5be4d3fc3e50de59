"""How each form of question is answered from events and sightings. A form gives claims, best first, or nothing where the graph holds none.

The first claim is the answer; what follows shows what it was made of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from vgraph.agents.rules import telling
from vgraph.agents.rules.voices import conversation
from vgraph.retrieve.clauses import Argument
from vgraph.retrieve.events import Event, Filler, Source, anonymous
from vgraph.retrieve.ground import Ground, asks_sight, asks_state
from vgraph.retrieve.matching import Match, Pattern, all_or_any, answers, happened_at, of_kind
from vgraph.retrieve.presence import Meeting, Sighting, Stay, is_at, meetings, people, stays
from vgraph.retrieve.understanding import Form, Question
from vgraph.retrieve.verbs import MUTUAL
from vgraph.types import Claim

MOST_TOLD = 8
NOT_TOGETHER = "Not found: nothing that was recorded shows them there at one time."
MOMENT_MS = 60_000
"""A time that is asked about and no longer than this is read whole."""


@dataclass(frozen=True, slots=True)
class Result:
    """Claims, best first; `counted` says of what a figure was made; `sure` how sure the answer is, 0 to 1."""

    claims: tuple[Claim, ...]
    sure: float = 0.9
    counted: str = ""
    why: str = ""
    """Where there are no claims: why not."""


NOTHING = Result(())


@dataclass(frozen=True, slots=True)
class Asking:
    """A question with the ground it is asked on, and the event around which it is asked, if there is one."""

    question: Question
    ground: Ground
    event: Event | None = None

    @property
    def wanted(self) -> Pattern:
        assert self.question.pattern is not None
        return self.question.pattern

    def found(self) -> list[Match]:
        """The events meant, without the one that is asked around; by `first`, `last`, `just after` the only one."""
        found = [m for m in self.ground.find(self.wanted) if self.event is None or not _is_event(m.event, self.event)]
        around = self.question.around
        if found and (self.question.extreme == "last" or (around is not None and around.how == "before" and self._one)):
            return found[-1:]
        if found and (self.question.extreme == "first" or (around is not None and around.how == "after" and self._one)):
            return found[:1]
        return found

    @property
    def _one(self) -> bool:
        """Around an event what is nearest to it is meant, unless all is to be counted."""
        return self.question.form in ("who", "what", "when", "where", "how_long")


def _is_event(one: Event, other: Event) -> bool:
    return (
        bool(set(one.verbs) & set(other.verbs)) and one.start_ms < other.end_ms + 1 and other.start_ms < one.end_ms + 1
    )


# --- who, what ------------------------------------------------------------------------------------------------------------


def who(asking: Asking) -> Result:
    """Who or what fills the slot that is asked for, in order of time."""
    asked = asking.wanted.asked
    if asked is None:
        return happenings(asking)
    found: dict[str, list[tuple[Filler, Match]]] = {}
    for match in asking.found():
        for filler in answers(asked, match.event):
            if not _named_already(filler, asking.wanted):
                found.setdefault(telling.bare(filler), []).append((filler, match))
    if not found:
        return NOTHING
    ranked = dict(sorted(found.items(), key=lambda item: anonymous(item[0], item[1][0][0].type)))
    names = [telling.name(best_filler(pairs)) for pairs in ranked.values()][:MOST_TOLD]
    sources = [source for pairs in ranked.values() for _, match in pairs[:1] for source in match.event.sources]
    first = next(iter(ranked.values()))[0][1]
    head = telling.claim(f"{_capital(telling.listed(names))}. {telling.tell(first.event)}", sources)
    others = [telling.claim(telling.tell(m.event), m.event.sources) for pairs in ranked.values() for _, m in pairs[:3]]
    sure = max(m.score for pairs in ranked.values() for _, m in pairs) * (0.9 if len(ranked) == 1 else 0.7)
    return Result(_distinct((head, *others[1:])), sure)


def best_filler(pairs: Sequence[tuple[Filler, Match]]) -> Filler:
    return min((filler for filler, _ in pairs), key=lambda filler: bool(filler.guess))


def _named_already(filler: Filler, wanted: Pattern) -> bool:
    """With whom Maria talked: not with Maria."""
    return any(a.mention and filler.keys & a.mention.keys for a in wanted.mentions) and bool(wanted.senses & MUTUAL)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _distinct(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    return tuple({claim.text: claim for claim in claims if claim.citations}.values())[:MOST_TOLD]


# --- when, where, how long ------------------------------------------------------------------------------------------------


def when(asking: Asking) -> Result:
    """The time of each event that is meant, the first one in the answer."""
    if asks_state(asking.wanted):
        return _when_there(asking)
    found = asking.found()
    if not found:
        return NOTHING
    times = telling.listed([telling.moment(match.event) for match in found[:MOST_TOLD]])
    more = f" ({len(found)} times)" if len(found) > 1 else ""
    head = telling.claim(f"{_capital(times)}{more}: {telling.quote(found[0].event)}", _sources(found))
    return Result(_distinct((head, *_told(found[1:]))), _sure(found))


def _when_there(asking: Asking) -> Result:
    seen = _sightings(asking)
    if asking.question.joint and len(named := _named_together(asking)) > 1:
        return _when_together(_parties(seen, named))
    found = stays(seen)
    if not found:
        return NOTHING
    if asking.question.extreme == "last":
        found = found[-1:]
    elif asking.question.extreme == "first":
        found = found[:1]
    tz = seen[0].source.chunk.tz
    parts = [f"{telling.span(s.start_ms, s.end_ms, tz)} at the {s.place}" for s in found[:MOST_TOLD]]
    sources = [sighting.source for stay in found for sighting in (stay.sightings[0], stay.sightings[-1])]
    return Result((telling.claim(f"{_capital(telling.bare(found[0].who))}: {'; '.join(parts)}.", sources),), 0.7)


def _when_together(parties: Sequence[Sequence[Sighting]]) -> Result:
    found = meetings(parties)
    if not found:
        return Result((), why=NOT_TOGETHER)
    parts = _told_meetings(found, parties[0][0].source.chunk.tz)
    return Result((telling.claim(f"{_capital(parts)}.", _first_seen(found)),), 0.7)


def _told_meetings(found: Sequence[Meeting], tz: str) -> str:
    return "; ".join(f"{telling.span(m.start_ms, m.end_ms, tz)} at the {m.stays[0].place}" for m in found[:MOST_TOLD])


def where(asking: Asking) -> Result:
    """Where the events meant took place: as it is told, or else where the camera looks; or where somebody was."""
    if asks_state(asking.wanted):
        return _where_was(asking)
    found = asking.found()
    if not found:
        return NOTHING
    places = [_place(match.event, asking) for match in found]
    distinct = list(dict.fromkeys(places))[:MOST_TOLD]
    told = telling.moment(found[0].event) if asking.question.camera_asked else telling.placed(found[0].event)
    head = telling.claim(f"{_capital(telling.listed(distinct))}. {_capital(told)}", _sources(found))
    return Result(_distinct((head, *_told(found[1:]))), _sure(found) * (1 if len(distinct) == 1 else 0.8))


def _place(event: Event, asking: Asking) -> str:
    """A place that is told, else where those who take part are told to stand, else where the camera looks."""
    if asking.question.camera_asked:
        return telling.seen_by(event)
    told = [filler.text for filler in event.roles.get("place", ()) if filler.type == "location" or filler.text]
    if told:
        return f"the {told[0]}"
    stood = asking.ground.stood(event)
    if stood:
        return f"the {stood.place}"
    return "the " + asking.ground.places.get(event.sources[0].chunk.camera, event.sources[0].chunk.camera_label)


def _where_was(asking: Asking) -> Result:
    now = _put_in(asking)
    if now is not None:
        text = f"{_capital(now[0])}. {telling.placed(now[1])}"
        return Result((telling.claim(text, now[1].sources),), 0.7)
    seen = _sightings(asking)
    if not seen:
        return NOTHING
    found = _elsewhere(stays(seen), asking)
    if not found:
        return NOTHING
    if asking.question.extreme == "first":
        found = found[:1]
    elif asking.question.extreme == "last" or asking.ground.filters.start_ms is None:
        found = sorted(found, key=lambda s: s.end_ms)[-1:]
    tz = seen[0].source.chunk.tz
    parts = list(dict.fromkeys(f"the {s.place} ({telling.span(s.start_ms, s.end_ms, tz)})" for s in found))[:MOST_TOLD]
    sources = [sighting.source for stay in found for sighting in (stay.sightings[0], stay.sightings[-1])]
    return Result((telling.claim(f"{_capital(telling.bare(found[0].who))}: {telling.listed(parts)}.", sources),), 0.7)


def _put_in(asking: Asking) -> tuple[str, Event] | None:
    """Into what a thing was put, where that is the last that is told of it and no other time is asked about."""
    timed = asking.ground.filters.start_ms is not None or asking.question.extreme == "first" or asking.event is not None
    if timed or any(a.mention and a.mention.type == "person" for a in asking.wanted.mentions):
        return None
    last = _last_told(asking)
    put = [filler for filler in last.roles.get("into", ()) if last.senses & _PUT_IN] if last else []
    return (f"in the {put[0].text}", last) if put and last else None


def _elsewhere(found: list[Stay], asking: Asking) -> list[Stay]:
    """Before somebody came to a place, and after they left it, they were somewhere else."""
    around = asking.question.around
    if around is None or around.how == "during" or not (_comes_or_goes(around.pattern) and asking.event):
        return found
    there = {key for filler in asking.event.roles.get("place", ()) for key in filler.keys}
    there |= {key for place in around.pattern.places if place.mention for key in place.mention.keys}
    there |= set() if there else {f"cameras/{camera}" for camera in asking.event.cameras}
    return [stay for stay in found if not any(sighting.places & there for sighting in stay.sightings)]


def _comes_or_goes(wanted: Pattern) -> bool:
    return asks_state(wanted) or bool(wanted.senses & {"arrive", "leave", "approach"})


def how_long(asking: Asking) -> Result:
    """The length of the events meant, or of the stays of somebody at a place."""
    if asks_state(asking.wanted):
        return _how_long_there(asking)
    found = asking.found()
    if not found:
        return NOTHING
    exact = [match for match in found if match.event.exact] or found
    lengths = [_length(match.event, asking.ground) for match in exact]
    total = sum(length for length, _ in lengths)
    about = "" if all(known for _, known in lengths) else "About "
    each = f" in all, {len(exact)} times" if len(exact) > 1 else ""
    head = telling.claim(f"{about}{telling.length(total)}{each}. {telling.tell(exact[0].event)}", _sources(exact))
    return Result(_distinct((head, *_told(exact[1:]))), _sure(exact), f"{len(exact)} stretches")


def _length(event: Event, ground: Ground) -> tuple[int, bool]:
    """How long an event lasted, and whether that is known: where its own times are, or what those who talk are heard to say in it."""
    if event.exact:
        return event.end_ms - event.start_ms, True
    if event.senses & MUTUAL:
        heard_ = conversation(event, ground)
        if heard_ is not None:
            return heard_[1] - heard_[0], True
    return event.end_ms - event.start_ms, False


def _how_long_there(asking: Asking) -> Result:
    """From its arrival to its departure, where both are told; else by sightings. Of several: while all were there."""
    named = _named_together(asking)
    if len(named) > 1:
        return _how_long_together(asking, named)
    between = _between(asking)
    if between is not None:
        came, left = between
        text = f"{telling.length(left.start_ms - came.end_ms)}: from {telling.tell(came)} To {telling.tell(left)}"
        return Result((telling.claim(text, [*came.sources, *left.sources]),), 0.85, "from the arrival to the departure")
    found = stays(_sightings(asking))
    if not found:
        return NOTHING
    tz = found[0].sightings[0].source.chunk.tz
    total = sum(stay.length_ms for stay in found)
    parts = "; ".join(f"{telling.span(s.start_ms, s.end_ms, tz)} at the {s.place}" for s in found[:MOST_TOLD])
    sources = [sighting.source for stay in found for sighting in (stay.sightings[0], stay.sightings[-1])]
    text = f"{telling.length(total)}, as far as it was seen: {parts}."
    return Result((telling.claim(text, sources),), 0.6, f"{len(found)} stays")


def _how_long_together(asking: Asking, named: Sequence[Argument]) -> Result:
    parties = _parties(_sightings(asking), named)
    found = meetings(parties)
    if not found:
        return Result((), why=NOT_TOGETHER)
    total = sum(meeting.end_ms - meeting.start_ms for meeting in found)
    parts = _told_meetings(found, parties[0][0].source.chunk.tz)
    text = f"{telling.length(total)}, as far as they were seen together: {parts}."
    return Result((telling.claim(text, _first_seen(found)),), 0.6, f"{len(found)} stretches with all of them")


def _named_together(asking: Asking) -> tuple[Argument, ...]:
    """Those named who are all meant: not those that an `or` joins."""
    return tuple(a for a in asking.wanted.mentions if not a.alternative)


def _parties(seen: Sequence[Sighting], named: Sequence[Argument]) -> list[list[Sighting]]:
    """The sightings of each."""
    return [[s for s in seen if a.mention and s.who.keys & a.mention.keys] for a in named]


def _first_seen(found: Sequence[Meeting]) -> list[Source]:
    """A sighting of each at the time of their meetings."""
    return [
        min(stay.sightings, key=lambda s: abs(s.start_ms - meeting.start_ms)).source
        for meeting in found
        for stay in meeting.stays
    ]


def _between(asking: Asking) -> tuple[Event, Event] | None:
    """The arrival and the departure of whoever stayed."""
    wanted = asking.wanted
    subject = tuple(a for a in (*wanted.roles.get("agent", ()), *wanted.roles.get("theme", ())) if a.mention)
    if not subject:
        return None
    came = asking.ground.find(Pattern("arrive", frozenset(["arrive"]), {"agent": subject}, wanted.places, None))
    left = asking.ground.find(Pattern("leave", frozenset(["leave"]), {"agent": subject}, wanted.places, None))
    for arrival in came:
        later = [match.event for match in left if match.event.start_ms >= arrival.event.end_ms]
        back = [match.event for match in came if match.event.start_ms > arrival.event.end_ms]
        if later and not any(arrival.event.end_ms < again.start_ms < later[0].start_ms for again in back):
            return arrival.event, later[0]
    return None


# --- how many -------------------------------------------------------------------------------------------------------------


def how_many(asking: Asking) -> Result:
    """How many different people or things fill the slot asked for."""
    asked = asking.wanted.asked
    if asked is None:
        return how_often(asking)
    if asked.argument.kind == "person" and asked.argument.words:
        return Result((), why=f"Not found: rules cannot tell which people are {asked.argument.text}.")
    if asks_state(asking.wanted):
        return _how_many_there(asking, asked.argument)
    directed = bool({"go", "walk", "come", "step", "approach"} & set(asking.wanted.lead))
    found: dict[str, list[tuple[Filler, Match]]] = {}
    for match in asking.found():
        if directed and not _began(match.event, asking.wanted):
            continue
        for filler in answers(asked, match.event):
            if not _named_already(filler, asking.wanted):
                found.setdefault(telling.bare(filler), []).append((filler, match))
    if not found:
        return NOTHING
    names = [telling.name(best_filler(pairs)) for pairs in found.values()]
    sources = [source for pairs in found.values() for source in _best(pairs[0][1].event)]
    head = telling.claim(f"{len(found)}: {telling.listed(names)}.", sources)
    head = Claim(head.text, telling.citations(sources, most=max(12, len(names))))
    others = [telling.claim(telling.tell(m.event), m.event.sources) for pairs in found.values() for _, m in pairs[:1]]
    return Result(_distinct((head, *others)), 0.7, f"different ones in {sum(map(len, found.values()))} events")


def _best(event: Event) -> list[Source]:
    return sorted(event.sources, key=lambda source: not source.exact)[:1]


def _began(event: Event, wanted: Pattern) -> bool:
    """Whether who is named was the one to go up to the other."""
    agents = event.roles.get("agent", ())
    return any(
        a.mention and filler.keys & a.mention.keys for filler in agents[:1] for a in wanted.roles.get("agent", ())
    )


def _how_many_there(asking: Asking, asked: Argument) -> Result:
    anybody = asked.open and asked.kind in ("", "person")
    found = people(_sightings(asking)) if anybody else _by_name(asking, asked)
    named = {who: seen for who, seen in found.items() if not anonymous(who, "person")} or found
    if not named:
        return NOTHING
    sources = [seen[0].source for seen in named.values()]
    text = f"{len(named)}: {telling.listed(list(named))}."
    return Result((Claim(text, telling.citations(sources, most=max(12, len(named)))),), 0.6, "different ones seen")


def _by_name(asking: Asking, asked: Argument) -> dict[str, list[Sighting]]:
    found: dict[str, list[Sighting]] = {}
    for sighting in _sightings(asking):
        if of_kind(sighting.who, asked):
            found.setdefault(telling.bare(sighting.who), []).append(sighting)
    return found


def how_often(asking: Asking) -> Result:
    found = asking.found()
    if not found:
        return NOTHING
    times = "Once" if len(found) == 1 else "Twice" if len(found) == 2 else f"{len(found)} times"
    sources = [source for match in found for source in _best(match.event)]
    head = Claim(f"{times} ({len(found)}).", telling.citations(sources, most=max(12, len(found))))
    return Result(_distinct((head, *_told(found))), 0.7, f"{len(found)} events")


# --- order ----------------------------------------------------------------------------------------------------------------


def before_or_after(asking: Asking) -> Result:
    """Which of two events came first."""
    pair = _pair(asking)
    if pair is None:
        return NOTHING
    one, other = pair
    word = "Before" if one.start_ms < other.start_ms else "After"
    text = f"{word}: {telling.tell(one)} The other: {telling.tell(other)}"
    return Result((telling.claim(text, [*_best(one), *_best(other)]),), 0.85)


def which_first(asking: Asking) -> Result:
    pair = _pair(asking)
    if pair is None:
        return NOTHING
    ordered = sorted(pair, key=lambda event: event.start_ms, reverse=asking.question.extreme == "last")
    text = f"{'Last' if asking.question.extreme == 'last' else 'First'}: {telling.tell(ordered[0])}"
    claims = (telling.claim(text, _best(ordered[0])), telling.claim(telling.tell(ordered[1]), _best(ordered[1])))
    return Result(claims, 0.85)


def _pair(asking: Asking) -> tuple[Event, Event] | None:
    other = asking.question.others
    if other is None:
        return None
    found = [asking.ground.find(wanted) for wanted in (asking.wanted, other)]
    if not all(found):
        return None
    return found[0][0].event, found[1][0].event


def sequence(asking: Asking) -> Result:
    """The things asked about in the order in which it happened to them, or all that somebody did in order of time."""
    things = [m for m in asking.question.things if m.type != "location"]
    if len(things) < 2:
        return happenings(asking)
    role = next(
        (role for role, found in asking.wanted.roles.items() if sum(a.mention is not None for a in found) > 1), "theme"
    )
    found: list[tuple[Event, Filler]] = []
    for argument in asking.wanted.roles.get(role, ()):
        alone = {**asking.wanted.roles, role: (argument,)}
        matched = asking.ground.find(replace(asking.wanted, roles=alone))
        if not matched or argument.mention is None:
            return NOTHING
        found.append((matched[0].event, Filler(argument.mention.keys, argument.mention.name or argument.text)))
    found.sort(key=lambda pair: pair[0].start_ms)
    head = telling.claim(
        f"{_capital(', then '.join(filler.text for _, filler in found))}.", [s for e, _ in found for s in _best(e)]
    )
    return Result(_distinct((head, *(telling.claim(telling.tell(e), e.sources) for e, _ in found))), 0.85)


# --- yes or no ------------------------------------------------------------------------------------------------------------


def yes_no(asking: Asking) -> Result:
    """Yes or no; the other of the two where the question denies it: `never`, `nobody`."""
    result = _yes_or_no(asking)
    if asking.question.denial != "opposite":
        return result
    return replace(result, claims=tuple(replace(claim, text=_opposite(claim.text)) for claim in result.claims))


def _opposite(text: str) -> str:
    """`No, not as far as it was recorded` is yes as far as it was, to a question that denies."""
    for said, meant in (("No, not ", "Yes, not "), ("No", "Yes"), ("Yes", "No")):
        if text.startswith(said):
            return (meant + text.removeprefix(said)).replace("Yes, not as far", "Yes, as far")
    return text


def _yes_or_no(asking: Asking) -> Result:
    """Yes where the event is told; no where it is told of somebody else instead."""
    if asks_state(asking.wanted):
        return _was_there(asking)
    found = asking.found()
    if found:
        return Result((telling.claim(f"Yes: {telling.tell(found[0].event)}", found[0].event.sources),), _sure(found))
    for role in ("agent", "to", "from", "into", "theme"):
        others = [a for a in asking.wanted.roles.get(role, ()) if a.mention is not None]
        unknown = any(a in asking.wanted.unknown for a in asking.wanted.roles.get(role, ()))
        if not others or unknown or (role == "theme" and not asking.wanted.roles.get("agent")):
            continue
        instead = asking.ground.find(
            replace(asking.wanted, roles={r: f for r, f in asking.wanted.roles.items() if r != role})
        )
        if instead and role != "theme":
            text = f"No, not as far as it was recorded: {telling.tell(instead[0].event)}"
            return Result((telling.claim(text, instead[0].event.sources),), 0.7)
    return _no(asking)


def _no(asking: Asking) -> Result:
    """Nobody is told to have done it: no, if everybody and everything asked about was seen in the time asked about."""
    if asking.wanted.unknown or asks_sight(asking.wanted) or not list(asking.wanted.mentions):
        return NOTHING
    sources: list[Source] = []
    for argument in asking.wanted.mentions:
        assert argument.mention is not None
        clips = asking.ground.facts.clips_of(sorted(argument.mention.keys), asking.ground.filters)
        seen = [s for s in asking.ground.seen(clips[:20]) if s.who.keys & argument.mention.keys]
        if not seen:
            return NOTHING
        sources.append(seen[0].source)
    return Result((telling.claim("No: both were seen, but nothing that was recorded tells of it.", sources),), 0.5)


def _was_there(asking: Asking) -> Result:
    if _within_a_thing(asking.wanted):
        return _is_in(asking)
    seen = _sightings(asking)
    named = _named_together(asking)
    if len(named) > 1:
        return _were_there(asking, seen, named)
    if seen:
        first = stays(seen)[0]
        tz = seen[0].source.chunk.tz
        text = f"Yes: {telling.bare(first.who)} was at the {first.place}, {telling.span(first.start_ms, first.end_ms, tz)}."
        return Result((telling.claim(text, [first.sightings[0].source]),), 0.8)
    elsewhere = _sightings(
        replace(asking, question=replace(asking.question, pattern=replace(asking.wanted, places=())))
    )
    if (
        elsewhere
        and not asking.wanted.unknown
        and asking.wanted.places
        and any(a.mention for a in asking.wanted.mentions)
    ):
        first = stays(elsewhere)[0]
        at_ = telling.span(first.start_ms, first.end_ms, elsewhere[0].source.chunk.tz)
        text = f"No, not as far as it was recorded: {telling.bare(first.who)} was at the {first.place}, {at_}."
        return Result((telling.claim(text, [first.sightings[0].source]),), 0.6)
    return NOTHING


def _within_a_thing(wanted: Pattern) -> bool:
    """`Is the crate in the van`: where something is put tells, and not where it is seen."""
    return any(place.mention and place.mention.type not in ("location", "camera", "") for place in wanted.places)


_PUT_IN, _TAKEN_OUT = frozenset(["load", "put down", "get into"]), frozenset(["unload", "pick up", "get out", "carry"])


def _is_in(asking: Asking) -> Result:
    """By the last that is told of it; no answer where that tells neither that it was put in nor that it was taken out."""
    last = _last_told(asking)
    if last is None:
        return NOTHING
    keys = {key for place in asking.wanted.places if place.mention for key in place.mention.keys}
    led = {role for role, found in last.roles.items() if any(filler.keys & keys for filler in found)}
    if led & {"into", "to", "place", "theme"} and last.senses & _PUT_IN:
        word = "Yes, by the last that was recorded of it"
    elif "from" in led and last.senses & _TAKEN_OUT:
        word = "No, by the last that was recorded of it"
    else:
        return NOTHING
    return Result((telling.claim(f"{word}: {telling.tell(last)}", last.sources),), 0.7)


def _last_told(asking: Asking) -> Event | None:
    """The last that is told of what a state is asked of, standing about left out."""
    subjects = [a.mention.keys for a in asking.wanted.mentions if a.mention]
    told = [
        event for event in asking.ground.every(replace(asking.wanted, places=()))
        if event.senses and not asks_state(Pattern("", event.senses, {}, (), None)) and not event.negated
        and all(any(filler.keys & keys for filler in event.fillers()) for keys in subjects)
    ]  # fmt: skip
    return max(told, key=lambda event: event.end_ms, default=None) if subjects else None


def _were_there(asking: Asking, seen: Sequence[Sighting], named: Sequence[Argument]) -> Result:
    """Whether all were there, and at one time where that is asked."""
    parties = _parties(seen, named)
    missing = [a.text for a, own in zip(named, parties, strict=True) if not own]
    if missing:
        return Result((), why=f"Not found: nothing that was recorded shows {telling.listed(missing)} there.")
    met = meetings(parties)
    tz = seen[0].source.chunk.tz
    if met:
        who_ = telling.listed([telling.bare(stay.who) for stay in met[0].stays])
        text = f"Yes: {who_} were at the {met[0].stays[0].place}, {telling.span(met[0].start_ms, met[0].end_ms, tz)}."
        return Result((telling.claim(text, _first_seen(met[:1])),), 0.8)
    each = [stays(own)[0] for own in parties]
    told = [f"{telling.bare(s.who)} was at the {s.place}, {telling.span(s.start_ms, s.end_ms, tz)}" for s in each]
    word = "No, not together as far as it was recorded" if asking.question.joint else "Yes, but not at one time"
    return Result((telling.claim(f"{word}: {telling.listed(told)}.", [s.sightings[0].source for s in each]),), 0.6)


# --- presence and what went on --------------------------------------------------------------------------------------------


def present(asking: Asking) -> Result:
    """Who was there: at a place, with somebody, while something happened."""
    wanted = asking.wanted
    company = [a for a in wanted.mentions if a.mention and a.mention.type == "person"]
    seen = _sightings(replace(asking, question=replace(asking.question, pattern=replace(wanted, roles={}))))
    if company:
        theirs = [s for s in seen if any(a.mention and s.who.keys & a.mention.keys for a in company)]
        seen = [s for s in seen if any(_together(s, own) for own in theirs)]
    found = {
        who: own for who, own in people(seen).items()
        if not any(a.mention and s.who.keys & a.mention.keys for a in company for s in own)
    }  # fmt: skip
    if not found:
        return NOTHING
    named = {who: own for who, own in found.items() if not anonymous(who, "person")}
    shown = named or found
    if asking.question.extreme is not None:
        shown = _extreme(shown, asking.question.extreme)
        found = {**_extreme(found, asking.question.extreme), **shown}
    sources = [own[0].source for own in shown.values()]
    tz = sources[0].chunk.tz
    when_ = telling.span(
        min(s.start_ms for own in shown.values() for s in own), max(s.end_ms for own in shown.values() for s in own), tz
    )
    text = f"{_capital(telling.listed(list(shown)))} ({when_})."
    unnamed = [who for who in found if who not in shown]
    if unnamed:
        text += f" Also seen, but not named: {telling.listed(unnamed)}."
    head = Claim(text, telling.citations(sources, most=max(8, len(shown))))
    return Result((head,), 0.7, f"{len(shown)} people")


def _extreme(found: Mapping[str, list[Sighting]], which: str) -> dict[str, list[Sighting]]:
    """Whoever came first, or was there last, with the first or the last stay; several where captions tell them no further apart."""
    stayed = stays([sighting for own in found.values() for sighting in own])
    edge = max(s.end_ms for s in stayed) if which == "last" else min(s.start_ms for s in stayed)
    chosen = [s for s in stayed if (s.end_ms if which == "last" else s.start_ms) == edge]
    return {telling.bare(stay.who): list(stay.sightings) for stay in chosen}


def _together(one: Sighting, other: Sighting) -> bool:
    same = bool(one.places & other.places) or one.source.chunk.camera == other.source.chunk.camera
    return same and one.start_ms < other.end_ms and other.start_ms < one.end_ms


def _sightings(asking: Asking) -> list[Sighting]:
    """Sightings of whom the question names, at the place it names, in the time it asks about."""
    wanted, ground = asking.wanted, asking.ground
    subjects = [a for found in wanted.roles.values() for a in found if a.mention is not None and not a.asked]
    if not _all_known(wanted, subjects):
        return []
    asked = wanted.asked.argument if wanted.asked and wanted.asked.argument.mention else None
    if subjects or asked:
        keys = sorted({key for a in (subjects or (asked,)) if a and a.mention for key in a.mention.keys})
        clips: Sequence[str] = (*ground.facts.clips_of(keys, ground.filters), *_clips_of_a_moment(ground))
        clips = tuple(dict.fromkeys(clips))
    elif asking.event is not None:
        clips = ground.facts.clips_between(replace(ground.filters, cameras=asking.event.cameras))
    else:
        clips = ground.clips_of_time(wanted)
    seen = ground.seen(clips)
    if asking.event is not None and asking.question.around is not None and asking.question.around.how == "during":
        seen = _at_the_time(seen, asking.event)
    low, high = ground.filters.start_ms, ground.filters.end_ms
    seen = [s for s in seen if (low is None or s.end_ms > low) and (high is None or s.start_ms < high)]
    if asking.event is not None and asking.question.around is not None and asking.question.around.how == "before":
        told = {(source.chunk.document, source.line.offset_ms, source.line.text) for source in asking.event.sources}
        seen = [s for s in seen if (s.source.chunk.document, s.source.line.offset_ms, s.source.line.text) not in told]
    seen = [s for s in seen if all_or_any(wanted.places, lambda place, s=s: is_at(place, s))]  # type: ignore[misc]
    if subjects:
        seen = [s for s in seen if any(a.mention and s.who.keys & a.mention.keys for a in subjects)]
    kinds = [a for found in wanted.roles.values() for a in found if a.open and a.kind and not a.asked]
    return [s for s in seen if all(of_kind(s.who, a) for a in kinds)]


def _all_known(wanted: Pattern, subjects: Sequence[Argument]) -> bool:
    """Whether everybody is known by name, or at least one of those that an `or` joins."""
    others = all(a.alternative for a in wanted.unknown) and not any(a.words and not a.mention for a in wanted.places)
    return not wanted.unknown or (others and any(a.alternative for a in subjects))


def _clips_of_a_moment(ground: Ground) -> tuple[str, ...]:
    """All that was recorded in a short time that is asked about, so that where somebody was rests on what who was there rests on."""
    low, high = ground.filters.start_ms, ground.filters.end_ms
    short = low is not None and high is not None and high - low <= MOMENT_MS
    return ground.facts.clips_between(ground.filters) if short else ()


def _at_the_time(seen: Sequence[Sighting], event: Event) -> list[Sighting]:
    """Who was there when something happened: what tells of the middle of it counts, and not who came a moment later."""
    middle = (event.start_ms + event.end_ms) // 2
    later = {
        key for s in seen if s.source.exact and s.start_ms >= event.end_ms for key in s.who.keys
    } - {key for s in seen if s.source.exact and s.start_ms < event.end_ms for key in s.who.keys}  # fmt: skip
    near = [s for s in seen if s.start_ms <= middle < s.end_ms]
    return [s for s in near if s.source.exact or not s.who.keys & later]


def happenings(asking: Asking) -> Result:
    """What is told of a time, a place, or somebody: actions in order of time, standing about left out where there is more."""
    wanted = asking.question.pattern
    subjects = list(wanted.mentions) if wanted else []
    told = [e for e in asking.ground.every(wanted) if asking.event is None or not _is_event(e, asking.event)]
    if subjects:
        told = [
            e for e in told if all(any(f.keys & a.mention.keys for f in e.fillers()) for a in subjects if a.mention)
        ]
    places = wanted.places if wanted else ()
    told = [e for e in told if all_or_any(places, lambda place, e=e: _at(place, e))]  # type: ignore[misc]
    low, high = asking.ground.filters.start_ms, asking.ground.filters.end_ms
    told = [e for e in told if (low is None or e.start_ms >= low - 1_000) and (high is None or e.start_ms < high)]
    doings = [e for e in told if e.senses and not e.senses <= {"stay", "see"}] or told
    if asking.event is not None:
        doings = _next_to(doings, asking)
    if asking.question.extreme == "last":
        doings = doings[-1:]
    elif asking.question.extreme == "first":
        doings = doings[:1]
    claims = _distinct([telling.claim(telling.tell(e), e.sources) for e in doings])
    return Result(claims, 0.6)


def _at(place: Argument, event: Event) -> bool:
    return happened_at(place, event)


def _next_to(told: list[Event], asking: Asking) -> list[Event]:
    """What is nearest to the event that is asked around, in order of time."""
    around = asking.question.around
    assert asking.event is not None
    if around is None or around.how == "during":
        return told[:MOST_TOLD]
    same = [e for e in told if set(e.cameras) & set(asking.event.cameras)] or told
    return same[:3] if around.how == "after" else same[-3:]


def _sources(found: Sequence[Match]) -> list[Source]:
    return [source for match in found for source in match.event.sources]


def _told(found: Sequence[Match]) -> list[Claim]:
    return [telling.claim(telling.tell(match.event), match.event.sources) for match in found]


def _sure(found: Sequence[Match]) -> float:
    best = max(match.score for match in found)
    return best * (0.95 if len(found) == 1 else 0.75) * (1.0 if found[0].event.exact else 0.9)


FORMS: Mapping[Form, Callable[[Asking], Result]] = {
    "who": who, "what": who, "when": when, "where": where, "how_long": how_long, "how_many": how_many, "how_often": how_often,
    "before_or_after": before_or_after, "which_first": which_first, "sequence": sequence, "yes_no": yes_no, "present": present,
    "happenings": happenings,
}  # fmt: skip
