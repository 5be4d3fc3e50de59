"""The texts shown to language models: one Markdown file each, with `$names` filled in by `prompt`.

Text that came out of a video (captions, speech, signs) goes through `quoted` first: it is data, and whatever it says is no instruction.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import cache
from importlib.resources import files
from string import Template
from typing import Final

_BRACKETS: Final = dict.fromkeys("<＜﹤‹〈⟨❮˂ᐸᚲ𐌂", "(") | dict.fromkeys(">＞﹥›〉⟩❯˃ᐳ", ")")
_KEPT: Final = frozenset("\n\t\u200c\u200d")
"""Persian, the scripts of India and emoji need the two joiners: the only invisible signs that are shown."""
_ENTITIES: Final = re.compile(r"&(?:lt|gt|#0*6[02]|#x0*3[ce]);?", re.IGNORECASE)


def prompt(name: str, **values: object) -> str:
    """The text of `<name>.md` with every `$name` filled in; a name without a value is a KeyError."""
    return _template(name).substitute(values)


def quoted(text: str) -> str:
    """Text between `<data …>` markers that it cannot end: it holds no bracket of a marker, and their code is a hash of the whole text."""
    shown = plain(text)
    code = hashlib.blake2b(shown.encode(), digest_size=4).hexdigest()
    return f"<data {code}>\n{shown}\n</data {code}>"


def plain(text: str) -> str:
    """Text as models are shown it: without angle brackets (nor what looks like one) and without signs nobody sees.

    Control characters, marks of writing direction, tags and lone surrogates say nothing to people, but may to a model.
    """
    return _ENTITIES.sub(" ", text.translate(_SHOWN))


class _Shown(dict[int, str]):
    """Code point -> what is shown for it, found out once for each."""

    def __missing__(self, code: int) -> str:
        self[code] = shown = _shown(chr(code))
        return shown


_SHOWN: Final = _Shown()


def _shown(sign: str) -> str:
    match unicodedata.category(sign):
        case "Cf" if sign not in _KEPT:
            return ""
        case "Cs":
            return "\ufffd"
        case "Cc" | "Zl" | "Zp" if sign not in _KEPT:
            return " "
        case _:
            return _BRACKETS.get(sign, sign)


@cache
def _template(name: str) -> Template:
    return Template(files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8").rstrip("\n"))
