"""Who does what to whom, read off a sentence by rules: the verb, and what stands in which role. For questions and for captions alike.

Nothing is known of words beyond lists (english.toml) and where the names of entities stand; that carries plain English of the kind people
ask and observers write, not literature. Roles are `agent`, `theme` and, for the rest, the preposition that leads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from vgraph.retrieve.english import named, words
from vgraph.retrieve.verbs import LIGHT, MIRRORED, NOUNS, PARTICLES, VERBS, senses, takes_particle

_TOKEN = re.compile(r"\d+(?:[:.,]\d+)*|[^\W_]+(?:[-'’][^\W_]+)*|[,;]")
WH = words("wh")
DO = words("do")
BE = words("be")
HAVE = words("have")
MODAL = words("modal")
DETERMINER = words("determiner")
PRONOUN = words("pronoun")
ANYBODY = words("anybody")
NOT = words("not")
ADVERB = words("adverb")
PREPOSITIONS = words("prepositions")
_PAIRS = {
    ("out", "of"): "out_of", ("up", "to"): "up_to", ("next", "to"): "beside", ("close", "to"): "near", ("along", "with"): "with",
    ("together", "with"): "with", ("away", "from"): "from", ("over", "to"): "to", ("on", "to"): "onto", ("in", "to"): "into",
    ("down", "to"): "to", ("back", "to"): "to", ("inside", "of"): "inside", ("off", "of"): "off",
}  # fmt: skip
KINDS = named("kinds")
"""Nouns that name a kind rather than one of it."""

Kind = Literal["wh", "do", "be", "have", "modal", "prep", "part", "and", "comma", "verb", "noun", "not"]


@dataclass(frozen=True, slots=True)
class Mention:
    """A place in a text, [start, end) in characters, that names one or some entities; `keys` are those it may mean."""

    start: int
    end: int
    text: str
    keys: frozenset[str]
    type: str = ""
    name: str = ""
    several: bool = False
    """Any of them is meant: `a crate`, `the vans`."""


@dataclass(frozen=True, slots=True)
class Argument:
    """What fills a role: entities that are named, words nobody bears as a name, anybody, or what is asked for."""

    mention: Mention | None = None
    words: tuple[str, ...] = ()
    asked: bool = False
    kind: str = ""
    alternative: bool = False
    """An `or` joins it to another in its role: any of them will do."""

    @property
    def open(self) -> bool:
        """Anything may stand here."""
        return self.mention is None and not self.words

    @property
    def text(self) -> str:
        return self.mention.text if self.mention else " ".join(self.words)


Roles = Mapping[str, tuple[Argument, ...]]


@dataclass(frozen=True, slots=True)
class Clause:
    """A verb with what stands around it. `lead` are verbs before the one that counts: `went up to and talked`."""

    verb: str
    particle: str = ""
    lead: tuple[str, ...] = ()
    roles: Roles = field(default_factory=dict)
    passive: bool = False
    negated: bool = False

    @property
    def senses(self) -> frozenset[str]:
        themes = self.roles.get("theme", ())
        theme = _kind(themes[0]) if themes else None
        leads = frozenset(
            (role, _kind(found[0])) for role, found in self.roles.items() if found and role not in ("agent", "theme")
        )
        return senses(self.verb, self.particle, leads, theme)

    def arguments(self) -> Iterable[tuple[str, Argument]]:
        return ((role, argument) for role, found in self.roles.items() for argument in found)


def _kind(argument: Argument) -> str:
    known = argument.mention.type if argument.mention else argument.kind
    return _KIND_OF.get(known, known)


_KIND_OF = {
    "car": "vehicle",
    "truck": "vehicle",
    "place": "location",
    "room": "location",
    "zone": "location",
    "organisation": "person",
}


@dataclass(slots=True)
class _Item:
    kind: Kind
    text: str
    argument: Argument | None = None
    participle: bool = False


# --- words ----------------------------------------------------------------------------------------------------------------


_IRREGULAR = named("irregular")


@lru_cache(maxsize=16_384)
def verb_lemma(word: str) -> str:
    """The base form of a verb: `picked` is `pick`; what is no known verb comes back as the dictionary has it."""
    word = word.casefold()
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word in VERBS or word in LIGHT:
        return word
    return next((stem for stem in _stems(word) if stem in VERBS or stem in LIGHT), _dictionary(word))


def _stems(word: str) -> Iterable[str]:
    for ending in ("s", "es", "ed", "d", "ing"):
        if word.endswith(ending) and len(word) - len(ending) >= 2:
            stem = word[: -len(ending)]
            yield from (stem, stem + "e")
            if len(stem) > 2 and stem[-1] == stem[-2]:
                yield stem[:-1]
            if stem.endswith("i"):
                yield stem[:-1] + "y"


def _dictionary(word: str) -> str:
    from simplemma import lemmatize

    return str(lemmatize(word, lang="en")).casefold()


def is_verb(word: str) -> bool:
    lemma = verb_lemma(word)
    return lemma in VERBS or lemma in LIGHT


# --- reading --------------------------------------------------------------------------------------------------------------


def clauses(text: str, mentions: Sequence[Mention] = ()) -> tuple[Clause, ...]:
    """The clauses of a statement: `Maria lifts crate 7, walks to the van and puts it down` are three with one subject."""
    found: list[Clause] = []
    for items in _split(_items(text, mentions)):
        clause = _clause(items, asking=False)
        if clause is not None:
            found.append(_carried(clause, found))
    return tuple(found)


def question_clause(text: str, mentions: Sequence[Mention] = ()) -> Clause | None:
    """The clause of a question or of a clause within one; None without a verb."""
    return _clause(_items(text, mentions), asking=True)


def _carried(clause: Clause, before: Sequence[Clause]) -> Clause:
    """With the subject of the clause before where it has none of its own, and with what `it` stands for."""
    roles = dict(clause.roles)
    subject = next((c.roles["agent"] for c in reversed(before) if c.roles.get("agent")), None)
    thing = next((c.roles["theme"] for c in reversed(before) if any(a.mention for a in c.roles.get("theme", ()))), None)
    if subject and all(_stands_in(argument) for argument in roles.get("agent", ())):
        roles["agent"] = subject
    if thing and any(argument.words == ("it",) for argument in roles.get("theme", ())):
        roles["theme"] = thing
    return replace(clause, roles=roles)


def _stands_in(argument: Argument) -> bool:
    return argument.mention is None and argument.words in (("he",), ("she",), ("they",))


def _split(items: Sequence[_Item]) -> Iterable[list[_Item]]:
    """Where a comma or an `and` leads on to another verb, another clause begins."""
    current: list[_Item] = []
    for place, item in enumerate(items):
        if (
            item.kind in ("and", "comma")
            and _verb_follows(items[place + 1 :])
            and any(i.kind in ("verb", "be") for i in current)
        ):
            yield current
            current = []
        else:
            current.append(item)
    yield current


def _verb_follows(items: Sequence[_Item]) -> bool:
    """A verb comes before the next comma, with at most its subject before it."""
    kinds = [item.kind for item in items[:6]]
    while kinds and kinds[0] in ("noun", "and", "be", "have", "modal", "not"):
        if kinds[0] == "be":
            return True
        kinds.pop(0)
    return bool(kinds) and kinds[0] == "verb"


def _items(text: str, mentions: Sequence[Mention]) -> list[_Item]:
    return _with_alternatives(_Reader(_tokens(text, mentions)).read())


def _with_alternatives(items: list[_Item]) -> list[_Item]:
    """`A, B or C`: what an `or` joins is marked as one of several of which any will do."""
    for place, item in enumerate(items):
        if item.kind == "and" and item.text == "or":
            for other in _joined_by(items, place):
                assert other.argument is not None
                other.argument = replace(other.argument, alternative=True)
    return items


def _joined_by(items: Sequence[_Item], place: int) -> list[_Item]:
    """The nouns next to an `or`, and those before it that commas join to them; none unless it joins nouns."""
    after = next((item for item in items[place + 1 : place + 3] if item.kind != "prep"), None)
    before = []
    at = place - 1
    while at >= 0 and items[at].kind in ("noun", "comma"):
        if items[at].kind == "noun":
            before.append(items[at])
        elif at == 0 or items[at - 1].kind != "noun":
            break
        at -= 1
    return [*before, after] if before and after is not None and after.kind == "noun" else []


Token = str | Mention


def _tokens(text: str, mentions: Sequence[Mention]) -> list[Token]:
    text = text.replace("n't", " not").replace("n’t", " not")
    found: list[tuple[int, Token]] = [(mention.start, mention) for mention in mentions]
    taken = [(mention.start, mention.end) for mention in mentions]
    found.extend(
        (match.start(), match.group())
        for match in _TOKEN.finditer(text)
        if not any(start < match.end() and match.start() < end for start, end in taken)
    )
    return [token for _, token in sorted(found, key=lambda pair: pair[0])]


class _Reader:
    """Sorts the words of a sentence into kinds, one after another."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens, self._at = tokens, 0
        self._items: list[_Item] = []
        self._supported = False  # `did`: the verb comes in its base form

    def read(self) -> list[_Item]:
        while self._at < len(self._tokens):
            self._next()
        return self._items

    def _peek(self, ahead: int = 0) -> str:
        place = self._at + ahead
        token = self._tokens[place] if place < len(self._tokens) else ""
        return token.casefold() if isinstance(token, str) else "\0"

    def _put(
        self, kind: Kind, text: str, argument: Argument | None = None, *, participle: bool = False, width: int = 1
    ) -> None:
        self._items.append(_Item(kind, text, argument, participle))
        self._at += width

    def _next(self) -> None:
        token = self._tokens[self._at]
        if isinstance(token, Mention):
            self._put("noun", token.text, Argument(token))
            return
        word, after = token.casefold(), self._peek(1)
        if (pair := _PAIRS.get((word, after))) is not None:
            self._put("prep", pair, width=2)
        elif word in WH:
            self._wh(word)
        elif word in DO:
            self._supported = True
            self._put("do", word)
        elif word in BE and not (word in ("got", "gets") and not is_verb(after)):
            self._put("be", word)
        elif word in HAVE and self._auxiliary(1):
            self._put("have", word)
        elif word in MODAL:
            self._supported = True
            self._put("modal", word)
        elif word in NOT:
            self._put("not", word)
        elif word in ("and", "or", "nor", "but"):
            self._put("and", word)
        elif word in ",;":
            self._put("comma", word)
        elif word == "to" and self._after_to(after):
            self._supported = True
            self._at += 1
        elif word in PREPOSITIONS or word in PARTICLES:
            self._preposition(word)
        elif word in ADVERB:
            self._at += 1
        else:
            self._content(word)

    def _auxiliary(self, ahead: int) -> bool:
        """Whether a verb is near: `has he left`, and not `has a crate`."""
        words = [self._peek(ahead + n) for n in range(4)]
        return any(word in BE or (word and word not in WH and is_verb(word)) for word in words)

    def _after_to(self, word: str) -> bool:
        """`to` before a verb in its base form is no preposition: `was seen to lift`."""
        return word in VERBS and verb_lemma(word) == word and word not in NOUNS and word not in KINDS

    def _wh(self, word: str) -> None:
        if word in ("when", "where", "why"):
            self._at += 1
            return
        kind = "person" if word in ("who", "whom", "whose") else ""
        if word == "how":
            self._how()
            return
        self._at += 1
        noun = self._noun_after_wh() if word in ("which", "what", "whose") else Argument()
        self._items.append(_Item("wh", word, replace(noun, asked=True, kind=noun.kind or kind)))

    def _how(self) -> None:
        """`how many crates` asks for crates; `how long` for nothing that stands in a role."""
        self._at += 1
        if self._peek() in ("many", "much"):
            self._at += 1
            if self._peek() in ("time", "times"):
                self._at += 1
                return
            self._items.append(_Item("wh", "how many", replace(self._noun_after_wh(), asked=True)))
        elif self._peek() in ("long", "often", "far"):
            self._at += 1

    def _noun_after_wh(self) -> Argument:
        """The noun of `which van`, `how many different people`: none where a verb follows at once."""
        if self._at < len(self._tokens) and isinstance(self._tokens[self._at], Mention):
            mention = self._tokens[self._at]
            assert isinstance(mention, Mention)
            self._at += 1
            return Argument(mention)
        words: list[str] = []
        while self._peek() and self._peek() not in _CLOSED and self._peek() != "\0":
            word = self._peek()
            if words and is_verb(word) and (verb_lemma(word) != word or word not in NOUNS):
                break
            if not words and is_verb(word) and word not in NOUNS and word not in KINDS and verb_lemma(word) != word:
                break
            words.append(word)
            self._at += 1
        return _noun(words)

    def _preposition(self, word: str) -> None:
        """A particle where the verb before takes it and no noun needs it as a preposition."""
        verb = next((item for item in reversed(self._items) if item.kind == "verb"), None)
        takes = verb is not None and word in PARTICLES and takes_particle(verb_lemma(verb.text), word)
        close = bool(self._items) and (self._items[-1] is verb or self._ended(1))
        exclusive = word in ("up", "down", "over", "off", "out", "away", "back", "together")
        already = any(item.kind == "part" for item in self._items[self._items.index(verb) :]) if verb else False
        if takes and not already and (exclusive or self._ended(1)) and (close or exclusive):
            self._put("part", word)
        elif word in PREPOSITIONS:
            self._put("prep", word)
        else:
            self._at += 1

    def _ended(self, ahead: int) -> bool:
        """No noun follows."""
        word = self._peek(ahead)
        return not word or word in PREPOSITIONS or word in ADVERB or word in (",", ";", "and", "or")

    def _content(self, word: str) -> None:
        if word in ANYBODY:
            self._put("noun", word, Argument(kind=KINDS.get(word, "person")))
        elif word in PRONOUN:
            self._put("noun", word, Argument(words=(word,)))
        elif word in DETERMINER:
            self._at += 1
            self._noun(determined=True)
        elif self._verb_here(word):
            self._put(
                "verb", word, participle=not word.endswith("ing") and (verb_lemma(word) != word or word in _UNCHANGED)
            )
        else:
            self._noun(determined=False)

    def _verb_here(self, word: str) -> bool:
        if self._peek(1)[:1].isdigit():  # `order 4107`
            return False
        if is_verb(word):
            return True
        lemma = verb_lemma(word)
        subject = bool(self._items) and self._items[-1].kind == "noun"
        if self._items and self._items[-1].kind == "wh" and self._items[-1].text == "who":
            return True  # `who feeds`: nothing else follows
        waiting = not any(item.kind == "verb" for item in self._items)
        if self._supported:
            return subject and waiting
        inflected = lemma != word or word.endswith(("s", "ed", "ing"))
        helped = bool(self._items) and self._items[-1].kind in ("be", "have")
        return (waiting and inflected and (subject or helped) and self._peek(1) != "\0") or (
            helped and waiting and word.endswith("ing")
        )

    def _noun(self, *, determined: bool) -> None:
        """Words up to where something else begins; after an article the first word is never a verb."""
        words: list[str] = []
        while (word := self._peek()) and word != "\0" and word not in _CLOSED:
            if (words or not determined) and self._breaks(word, words):
                break
            words.append(word)
            self._at += 1
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        if isinstance(token, Mention) and not (words and words[-1] in KINDS):
            self._put("noun", token.text, Argument(token))  # `the yellow` before a name it does not bear
        elif words:
            self._items.append(_Item("noun", " ".join(words), _noun(words)))
        elif not determined:
            self._at += 1

    def _breaks(self, word: str, words: Sequence[str]) -> bool:
        if not is_verb(word) or not words:
            return False
        if self._supported and not any(item.kind == "verb" for item in self._items):
            return verb_lemma(word) == word
        helped = any(item.kind in ("be", "have") for item in self._items)
        return verb_lemma(word) != word or (word in _UNCHANGED and helped)


_UNCHANGED = frozenset(["put", "set", "cut", "hit", "shut", "read"])
"""Verbs whose participle is their base form."""
_CLOSED = frozenset(
    {*WH, *DO, *BE, *HAVE, *MODAL, *NOT, *PREPOSITIONS, *DETERMINER, *PRONOUN, *ANYBODY, *ADVERB,
     "and", "or", ",", ";", "away", "back", "together"}
) - {"all", "both", "first", "last", "one"}  # fmt: skip


def _noun(words: Sequence[str]) -> Argument:
    kept = tuple(
        word
        for word in words
        if word not in DETERMINER
        and word not in ("different", "other", "distinct", "various", "unique", "separate", "more")
    )
    if kept and kept[-1] in KINDS:
        return Argument(words=kept[:-1], kind=KINDS[kept[-1]])
    return Argument(words=kept)


# --- roles ----------------------------------------------------------------------------------------------------------------


def _clause(items: Sequence[_Item], *, asking: bool) -> Clause | None:
    places = [place for place, item in enumerate(items) if item.kind == "verb"]
    if not places:
        return _without_verb(items)
    main = _main(items, places)
    verb = verb_lemma(items[main].text)
    before, after = list(items[:main]), list(items[main + 1 :])
    lead = tuple(verb_lemma(items[place].text) for place in places if place < main)
    if verb == "be" or (verb in _HAPPENS and any(_names_event(item) for item in items)):
        return _without_verb([item for item in items if item is not items[main]])
    passive = _passive(before, items[main])
    particle = next((item.text for item in after if item.kind == "part"), "")
    roles = _assigned(before, [item for item in after if item.kind != "part"], passive=passive)
    negated = any(item.kind == "not" for item in items)
    noun = NOUNS.get(verb) if verb in NOUNS and verb not in VERBS else None
    return _told_plainly(Clause(noun or verb, particle, lead, roles, passive, negated))


_ALWAYS_LIGHT = frozenset(["spend", "see", "take", "watch", "observe", "notice", "spot", "seem", "happen", "go"])
_HAPPENS = frozenset(["take", "happen", "occur", "begin", "start", "end", "finish", "last", "have"])


def _names_event(item: _Item) -> bool:
    return item.argument is not None and bool(item.argument.words) and item.argument.words[-1] in NOUNS


def _main(items: Sequence[_Item], places: Sequence[int]) -> int:
    """The verb that counts: the first that is no light one, or the one joined to it by `and`."""
    heavy = [place for place in places if verb_lemma(items[place].text) not in LIGHT or _alone(items, place)]
    if not heavy:
        return places[-1]
    first = heavy[0]
    for later in heavy[1:]:
        between = items[first + 1 : later]
        if all(item.kind in ("prep", "part", "and") for item in between):
            first = later
    return first


def _alone(items: Sequence[_Item], place: int) -> bool:
    """A light verb with nothing heavier after it, or with an object of its own, says what it says."""
    after = items[place + 1 :]
    if not any(item.kind == "verb" for item in after):
        return True
    leads = next((item for item in after if item.kind not in ("be", "not")), None)
    return (
        leads is not None
        and leads.kind not in ("verb",)
        and verb_lemma(items[place].text)
        not in ("spend", "see", "take", "watch", "observe", "notice", "spot", "seem", "happen", "go")
    )


def _passive(before: Sequence[_Item], verb: _Item) -> bool:
    helped = [item for item in before if item.kind in ("be", "have", "do", "modal", "verb")]
    return bool(helped) and helped[-1].kind == "be" and verb.participle and not verb.text.endswith("ing")


def _assigned(before: list[_Item], after: list[_Item], *, passive: bool) -> Roles:
    """Roles by place: the subject before the verb, the object after it, the rest by their prepositions."""
    roles: dict[str, list[Argument]] = {}
    loose, led = _sorted(before)
    asked = [argument for argument in loose if argument.asked]
    subjects = [argument for argument in loose if not argument.asked]
    objects, led_after, stranded = _objects(after)
    for preposition, argument in (*led, *led_after):
        roles.setdefault(preposition, []).append(argument)
    if asked and subjects:  # `what did Maria lift`, `whom was it given to`
        if stranded:
            roles.setdefault(stranded, []).extend(asked)
        else:
            objects = [*asked, *objects]
    elif asked:
        subjects = asked
    _placed(roles, subjects, objects, passive=passive)
    return _filled(roles)


def _filled(roles: Mapping[str, Sequence[Argument]]) -> Roles:
    """Roles in which something stands."""
    return {role: tuple(found) for role, found in roles.items() if found}


def _placed(
    roles: dict[str, list[Argument]], subjects: list[Argument], objects: list[Argument], *, passive: bool
) -> None:
    if passive:
        agents = roles.pop("by", [])
        if agents:
            roles["agent"] = agents
        if objects:  # `Jonas was given the crate`
            roles.setdefault("to", []).extend(subjects)
            roles["theme"] = objects
        elif subjects:
            roles["theme"] = subjects
        return
    if subjects:
        roles["agent"] = subjects
    if len(objects) > 1 and _is_person(objects[0]) and not _is_person(objects[-1]):  # `gave Jonas the crate`
        roles.setdefault("to", []).append(objects[0])
        objects = objects[1:]
    if objects:
        roles["theme"] = objects


def _is_person(argument: Argument) -> bool:
    return (argument.mention.type if argument.mention else argument.kind) == "person" or argument.words in (
        ("him",),
        ("her",),
        ("them",),
    )


def _sorted(items: Sequence[_Item]) -> tuple[list[Argument], list[tuple[str, Argument]]]:
    """Arguments that stand alone, and those led by a preposition."""
    loose: list[Argument] = []
    led: list[tuple[str, Argument]] = []
    preposition = ""
    for item in items:
        if item.kind == "prep":
            preposition = item.text
        elif item.argument is not None:
            if preposition:
                led.append((preposition, item.argument))
            else:
                loose.append(item.argument)
        if item.kind not in ("prep", "noun", "wh", "and", "comma"):
            preposition = ""
        if item.kind in ("noun", "wh") and not _joined(items, item):
            preposition = ""
    return loose, led


def _joined(items: Sequence[_Item], item: _Item) -> bool:
    """Whether an `and` or a comma follows, so that the next noun stands in the same role."""
    place = next(n for n, other in enumerate(items) if other is item)
    return place + 1 < len(items) and items[place + 1].kind in ("and", "comma")


def _objects(after: Sequence[_Item]) -> tuple[list[Argument], list[tuple[str, Argument]], str]:
    """Objects, arguments led by prepositions, and the preposition that is left with none."""
    objects, led = _sorted(after)
    stranded = ""
    for place, item in enumerate(after):
        following = after[place + 1] if place + 1 < len(after) else None
        if item.kind == "prep" and (following is None or following.kind not in ("noun", "wh")):
            stranded = item.text
    return objects, led, stranded


def _without_verb(items: Sequence[_Item]) -> Clause | None:
    """`Who was at the dock`: being somewhere; `the talk between A and B`: what a noun names. None where not even that is said."""
    loose, led = _sorted(items)
    roles: dict[str, list[Argument]] = {}
    for preposition, argument in led:
        roles.setdefault(preposition, []).append(argument)
    named = next((a for a in (*loose, *(a for _, a in led)) if a.words and a.words[-1] in NOUNS), None)
    if named is not None:
        return _of_noun(NOUNS[named.words[-1]], roles, loose, named)
    if (does := _doing(items, loose)) is not None:
        return does
    if not any(item.kind == "be" for item in items) and not (led and not any(a.words for a in loose)):
        return None
    subjects = [a for a in loose if a.asked] or loose[:1]
    others = [a for a in loose if a not in subjects]
    if subjects:
        together = [] if subjects[0].asked else [a for a in others if a.mention is not None or _after_and(items, a)]
        roles["agent"] = [*subjects, *together]
        if subjects[0].asked and others:
            roles["theme"] = others
    negated = any(item.kind == "not" for item in items)
    return Clause("be", roles=_filled(roles), negated=negated)


def _after_and(items: Sequence[_Item], argument: Argument) -> bool:
    return any(item.kind == "and" and other.argument is argument for item, other in pairwise(items))


def _doing(items: Sequence[_Item], loose: Sequence[Argument]) -> Clause | None:
    """`What did Ana do`."""
    if [item.kind for item in items if item.kind in ("do", "noun")][-2:] != ["noun", "do"]:
        return None
    roles = {"agent": [a for a in loose if not a.asked], "theme": [a for a in loose if a.asked]}
    return Clause("do", roles=_filled(roles))


def _of_noun(verb: str, roles: dict[str, list[Argument]], loose: Sequence[Argument], named: Argument) -> Clause:
    """`the arrival of the van at the dock`, `the handover of the crate by Maria to Jonas`."""
    kept = {role: [a for a in found if a is not named] for role, found in roles.items()}
    of = [
        *kept.pop("of", []),
        *kept.pop("between", []),
        *(a for a in loose if a is not named and (a.mention is not None or a.asked)),
    ]
    by = kept.pop("by", [])
    base, _, particle = verb.partition(" ")
    moves = verb in ("arrive", "leave", "stay", "talk", "meet", "fight")
    kept["agent"] = of if moves or (not by and all(_is_person(a) for a in of)) else by
    if not moves and of is not kept["agent"]:
        kept["theme"] = of
    return Clause(base, particle, roles=_filled(kept))


def _told_plainly(clause: Clause) -> Clause:
    """A mirrored verb (`receive`) is kept under the one it mirrors (`give`), its roles renamed."""
    mirrored = [MIRRORED[sense] for sense in clause.senses if sense in MIRRORED]
    if not mirrored or len(clause.senses) > 1:
        return clause
    sense, renamed = mirrored[0]
    return replace(
        clause, verb=sense, particle="", roles={renamed.get(role, role): found for role, found in clause.roles.items()}
    )
