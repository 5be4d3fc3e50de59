"""Title and summary of a part of the graph: by a chat model, or put together from its own sentences, which is then said."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from vgraph.errors import MissingDependency, ModelError
from vgraph.models import ChatModel
from vgraph.prompts import prompt, quoted
from vgraph.types import Message

EXTRACTIVE = "extractive"
NOTES_LIMIT = 24_000
"""Characters of notes shown to a model: about 6,000 tokens."""
TITLE_NAMES = 4
ENDING = re.compile(r"(?<=[.!?।])\s+|(?<=[。！？])")
WORD = re.compile(r"\w+", re.UNICODE)
NO_SPACES = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Scripts written without spaces: their signs are counted one by one."""
SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string", "minLength": 1}, "summary": {"type": "string", "minLength": 1}},
    "required": ["title", "summary"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Material:
    """What a summary is made of: its kind in words, its lines in order of time, and names with how often each occurs."""

    what: str
    lines: tuple[str, ...]
    names: Counter[str]


@dataclass(frozen=True, slots=True)
class Summary:
    """`method` is `model:<name>` or `extractive`; `warnings` say why a model's was not to be had."""

    title: str
    summary: str
    method: str
    warnings: tuple[str, ...] = ()


def summarised(material: Material, chat: ChatModel | None, sentences: int) -> Summary:
    """A model's title and summary where there is a model; where it fails the extractive one, with a warning."""
    if chat is None:
        return extracted(material, sentences)
    try:
        return _by_model(material, chat, sentences)
    except MissingDependency:
        raise
    except ModelError as error:
        found = extracted(material, sentences)
        return Summary(found.title, found.summary, found.method, (f"summary: {error}",))


def _by_model(material: Material, chat: ChatModel, sentences: int) -> Summary:
    notes = quoted(_within("\n".join(material.lines)))
    asked = prompt("summarise", what=material.what, sentences=sentences, notes=notes)
    value: dict[str, Any] = chat.complete([Message("user", asked)], schema=SCHEMA).value
    return Summary(_flat(value["title"]), _flat(value["summary"]), f"model:{chat.name}")


def _within(notes: str) -> str:
    """Beginning and end where there is too much."""
    if len(notes) <= NOTES_LIMIT:
        return notes
    half = NOTES_LIMIT // 2
    return f"{notes[:half]}\n[…]\n{notes[-half:]}"


def _flat(text: str) -> str:
    return " ".join(text.split())


def extracted(material: Material, sentences: int) -> Summary:
    """The commonest names as title; as summary the sentences whose words are the most frequent, in order of time."""
    names = [name for name, _ in sorted(material.names.items(), key=lambda item: (-item[1], item[0]))]
    chosen = most_telling([part for line in material.lines for part in ENDING.split(line)], sentences)
    title = ", ".join(names[:TITLE_NAMES]) or (" ".join(chosen[0].split()[:8]) if chosen else "nothing described")
    return Summary(title, " ".join(map(_sentence, chosen)), EXTRACTIVE)


def _sentence(line: str) -> str:
    return line if line.endswith((".", "!", "?", "。", "！", "？", "؟", "।")) else f"{line}."


def most_telling(lines: Sequence[str], count: int) -> list[str]:
    """SumBasic (Nenkova and Vanderwende 2005, section 3): the line of highest mean word probability, then the words told are squared down.

    Each distinct line once; those chosen come in the order in which they first stand.
    """
    distinct = list(dict.fromkeys(flat for line in lines if (flat := _flat(line))))
    words = {line: _words(line) for line in distinct}
    frequency = Counter(word for line in lines for word in _words(line))
    total = sum(frequency.values()) or 1
    weight = {word: number / total for word, number in frequency.items()}
    left = [line for line in distinct if words[line]]
    chosen: list[str] = []
    while left and len(chosen) < count:
        best = max(left, key=lambda line: sum(weight[word] for word in words[line]) / len(words[line]))
        left.remove(best)
        chosen.append(best)
        for word in set(words[best]):
            weight[word] **= 2
    return [line for line in distinct if line in chosen]


def _words(line: str) -> list[str]:
    return [part for word in WORD.findall(line.casefold()) for part in _parts(word)]


def _parts(word: str) -> Iterable[str]:
    return word if NO_SPACES.search(word) else (word,)
