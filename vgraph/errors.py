"""The errors vgraph raises, as one tree.

VGraphError
├── UserError              bad input or a bad setting: the message names it and the accepted form
│   ├── NotFoundError      a document, camera or chunk that was named does not exist
│   ├── ModelMismatch      the database was embedded by another model: the message says how to re-embed
│   └── DatasetError       a file of a set of questions is not of its form: path, line, field
├── MediaError             a file or stream cannot be opened or decoded: path, offset, codec
│   └── SidecarError       a subtitle, caption or metadata file cannot be read: path, line
├── ModelError             a model or its endpoint failed after retries: which stage, which model
│   ├── BadReply           it answered, but unusably: malformed, truncated, refused or empty; or was asked too much
│   ├── NoLogprobs         an endpoint gives no log-probabilities, which a rater cannot do without
│   └── MissingDependency  a model needs a package that is not installed: the command that adds it
├── StoreError             the database refused: collection, ArangoDB error number
│   └── Unavailable        the database cannot be reached; nothing was written
└── Stopped                work that was ended on purpose, to be gone on with: what was finished is kept
    └── BudgetReached      the cap of tokens or money allows no further call

Each room translates its libraries' errors at its own door, so that callers meet only these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from vgraph.types import Usage


class VGraphError(Exception):
    """Base of all errors raised on purpose; `exit_code` is what the command line returns."""

    exit_code = 1


class UserError(VGraphError):
    """The caller's input or setting is wrong; the message names it and the accepted form."""

    exit_code = 2


class NotFoundError(UserError):
    """Something the caller named does not exist in the database."""

    exit_code = 4


class ModelMismatch(UserError):  # noqa: N818 - reads as the fact it states
    """The stored embeddings were made by another model."""


class DatasetError(UserError):
    """A file of a published set of questions is not of its form; `line` counts from 1, `field` names the part of the object."""

    def __init__(self, message: str, *, path: str = "", line: int | None = None, field: str = "") -> None:
        super().__init__(message)
        self.path, self.line, self.field = path, line, field


class MediaError(VGraphError):
    """A file or stream cannot be opened or decoded."""

    exit_code = 3

    def __init__(self, message: str, *, path: str = "", offset_ms: int | None = None, codec: str | None = None) -> None:
        super().__init__(message)
        self.path, self.offset_ms, self.codec = path, offset_ms, codec


class SidecarError(MediaError):
    """A file beside the video cannot be read; `line` counts from 1."""

    def __init__(self, message: str, *, path: str = "", line: int | None = None) -> None:
        super().__init__(message, path=path)
        self.line = line


class ModelError(VGraphError):
    """A model or its endpoint failed after retries; `stage` is what it was asked to do."""

    exit_code = 5

    def __init__(self, message: str, *, stage: str = "", model: str = "") -> None:
        super().__init__(message)
        self.stage, self.model = stage, model


class BadReply(ModelError):  # noqa: N818 - reads as the fact it states
    """A model answered, but not usably, and asking again did not help; `usage` is what the attempts cost, `said` its last reply.

    `too_long`: what it was asked does not fit its context.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: Literal["malformed", "truncated", "refused", "empty", "too_long"],
        stage: str = "",
        model: str = "",
        usage: Usage | None = None,
        said: str = "",
    ) -> None:
        super().__init__(message, stage=stage, model=model)
        self.kind, self.usage, self.said = kind, usage, said


class NoLogprobs(ModelError):  # noqa: N818
    """An endpoint gives no log-probabilities; asking again does not help."""


class MissingDependency(ModelError):  # noqa: N818
    """A package is not installed; `command` adds it."""

    def __init__(self, message: str, *, command: str, stage: str = "", model: str = "") -> None:
        super().__init__(f"{message}; install it with: {command}", stage=stage, model=model)
        self.command = command


class StoreError(VGraphError):
    """The database refused; `number` is ArangoDB's error number where it gave one."""

    exit_code = 6

    def __init__(self, message: str, *, collection: str = "", number: int | None = None) -> None:
        super().__init__(message)
        self.collection, self.number = collection, number


class Unavailable(StoreError):  # noqa: N818
    """The database cannot be reached."""


class Stopped(VGraphError):  # noqa: N818 - reads as the fact it states
    """Work was ended on purpose before it was done; the same command goes on from there."""

    exit_code = 130


class BudgetReached(Stopped):
    """The cap of tokens or money allows no further model call."""

    exit_code = 7
