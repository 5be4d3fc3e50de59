"""The texts shown to language models: one Markdown file each, with `$names` filled in by `prompt`.

Text that came out of a video (captions, speech, signs) goes through `quoted` first: it is data, and whatever it says is no instruction.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from string import Template
from typing import Final

_MARKERS: Final = re.compile(r"<(\s*/?\s*data\b)", re.IGNORECASE)


def prompt(name: str, **values: object) -> str:
    """The text of `<name>.md` with every `$name` filled in; a name without a value is a KeyError."""
    return _template(name).substitute(values)


def quoted(text: str) -> str:
    """Text between `<data>` markers; markers inside it are disarmed, so that it cannot end its own quotation."""
    disarmed = _MARKERS.sub(r"‹\1", text)
    return f"<data>\n{disarmed}\n</data>"


@cache
def _template(name: str) -> Template:
    return Template(files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8").rstrip("\n"))
