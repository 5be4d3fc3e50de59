"""What a question denies: `didn't` asks as `did` does, `never` and `nobody` ask the opposite, and any other denial is not read."""

from __future__ import annotations

import re
from typing import Literal

Denial = Literal["", "opposite", "unread"]

_WORD = re.compile(
    r"\b(?:[a-z]+n['’]t|cannot|not|never|nobody|nothing|nowhere|no[ -]one|none|neither|nor|without|except|no(?!\.?\s*\d))\b",
    re.IGNORECASE,
)
_AUXILIARY = r"(?:is|are|was|were|did|does|do|has|have|had|could|would|should)"
_SHORT = re.compile(rf"^(\W*)({_AUXILIARY})n['’]t\b", re.IGNORECASE)
_LONG = re.compile(
    rf"^(\W*{_AUXILIARY}\b(?:(?!\b(?:and|but|or|before|after|while|when|who|that|which)\b)[^,;])*?)\bnot\b",
    re.IGNORECASE,
)
_OPEN = {
    "never": "ever",
    "nobody": "anybody",
    "no one": "anybody",
    "no-one": "anybody",
    "nothing": "anything",
    "no": "any",
}


def denied(body: str) -> tuple[str, Denial]:
    """A plain question without its denial, and how its answer stands to that of the whole."""
    found = list(_WORD.finditer(body))
    if not found:
        return body, ""
    asks = re.match(rf"\W*(?:is it so that\b|{_AUXILIARY}(?:n['’]t)?\b)", body, re.IGNORECASE)
    if len(found) > 1 or asks is None:
        return body, "unread"
    open_ = _OPEN.get(found[0].group().casefold())
    if open_ is not None:
        return f"{body[: found[0].start()]}{open_}{body[found[0].end() :]}", "opposite"
    if _SHORT.match(body):
        return _SHORT.sub(r"\1\2", body), ""
    if not body.casefold().startswith("is it so that") and _LONG.match(body):
        return " ".join(_LONG.sub(r"\1", body).split()), ""
    return body, "unread"
