"""Pictures kept as JPEG files in one folder, for the graph to point to."""

from __future__ import annotations

import io
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from vgraph.errors import MediaError, NotFoundError, UserError
from vgraph.types import Frame, StoredFrame

if TYPE_CHECKING:
    from PIL.Image import Image

_KEY = re.compile(r"[A-Za-z0-9_-]{1,128}")
_ASSET = re.compile(r"[A-Za-z0-9_-]{1,128}/\d{4,}/\d{10,}\.jpg")
DRAWN = ".drawn.jpg"
"""Ending of a picture with marks."""
HOUR_MS = 3_600_000
INCOMING = "incoming"


class Assets:
    """`<folder>/<document key>/<hour>/<offset ms>.jpg`. The same frame saved twice is the same file.

    A file appears whole under its name (written aside, then renamed), also when two processes save it at once. Names
    that could lead out of the folder are refused by form, and links inside it are not followed out of it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    def save(self, document_key: str, frame: Frame, *, width: int = 512, quality: int = 80) -> StoredFrame:
        """Keep a frame, shrunk to `width` pixels where it is wider, as a JPEG of `quality` (1-95).

        Raises UserError for a document key of other than letters, digits, _ and -, MediaError when writing fails.
        """
        asset = _name(document_key, frame.offset_ms)
        content, across, down = encoded(frame, width=width, quality=quality)
        try:
            self._write(asset, content)
        except OSError as error:
            raise MediaError(
                f"{self.folder / asset}: the frame cannot be written ({error.strerror})", path=str(self.folder / asset)
            ) from error
        return StoredFrame(frame.offset_ms, asset, across, down)

    def _write(self, asset: str, content: bytes) -> None:
        target = self._inside(asset)
        target.parent.mkdir(parents=True, exist_ok=True)
        aside = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}")
        try:
            aside.write_bytes(content)
            aside.replace(target)
        finally:
            aside.unlink(missing_ok=True)

    def save_drawn(self, asset: str, content: bytes) -> None:
        """Keep a picture with marks drawn onto it beside the one it was made from, as `<offset ms>.drawn.jpg`. Raises as `save` does."""
        _ = self.path(asset)
        name = asset.replace(".jpg", DRAWN)
        try:
            self._write(name, content)
        except OSError as error:
            what = f"{self.folder / name}: the picture cannot be written ({error.strerror})"
            raise MediaError(what, path=str(self.folder / name)) from error

    def path(self, asset: str) -> Path:
        """Where an asset lies, whether or not it is there. Raises UserError for a name that `save` does not give."""
        if not _ASSET.fullmatch(asset):
            raise UserError(f"{asset!r} is not the name of an asset: <document>/<hour>/<offset ms>.jpg")
        return self._inside(asset)

    def _inside(self, asset: str) -> Path:
        target, folder = (self.folder / asset).resolve(), self.folder.resolve()
        if not target.is_relative_to(folder):
            raise UserError(f"{asset!r} leads out of {self.folder}")
        return target

    def bytes(self, asset: str) -> bytes:
        """The JPEG. Raises NotFoundError when it is not there, UserError as `path` does, MediaError when unreadable."""
        path = self.path(asset)
        try:
            return path.read_bytes()
        except FileNotFoundError as error:
            raise NotFoundError(f"there is no asset {asset!r} in {self.folder}") from error
        except OSError as error:
            raise MediaError(f"{path}: cannot be read ({error.strerror})", path=str(path)) from error

    def delete(self, document_key: str) -> None:
        """Remove all frames of a document; none to remove is fine. Raises UserError and MediaError as `save` does."""
        folder = self.folder / _checked_key(document_key)
        try:
            if folder.is_symlink():
                folder.unlink()
            elif folder.exists():
                shutil.rmtree(folder)
        except OSError as error:
            raise MediaError(f"{folder}: cannot be removed ({error.strerror})", path=str(folder)) from error

    def recording(self, document_key: str, base_ms: int) -> tuple[str, Path]:
        """Where a piece of a live document is kept that begins at this media time: its name as an asset, and its path."""
        name = f"{_checked_key(document_key)}/live/{base_ms:010d}.mkv"
        return name, self._inside(name)

    def incoming(self, document_key: str) -> Path:
        """The folder in which pieces of a live document wait to be read."""
        return self._inside(f"{_checked_key(document_key)}/{INCOMING}")

    def names(self) -> Iterator[str]:
        """Every asset that lies in the folder, and what a writer that was killed left beside them; not the pieces that wait to be read.

        A picture with marks belongs to the one it was made from, and is none of its own while that is there.
        """
        for file in sorted(self.folder.glob("*/*/*")):
            owned = file.name.endswith(DRAWN) and (file.parent / file.name.replace(DRAWN, ".jpg")).is_file()
            if file.is_file() and not file.is_symlink() and file.parent.name != INCOMING and not owned:
                yield file.relative_to(self.folder).as_posix()

    def forget(self, names: Iterable[str]) -> None:
        """Remove assets, as `names` names them, with what was drawn onto them, and empty folders; one that is not there is fine."""
        for name in names:
            target = self._inside(name)
            try:
                target.unlink(missing_ok=True)
                target.with_name(target.name.replace(".jpg", DRAWN)).unlink(missing_ok=True)
                for folder in (target.parent, target.parent.parent):
                    if folder != self.folder.resolve() and folder.is_dir() and not any(folder.iterdir()):
                        folder.rmdir()
            except OSError as error:
                raise MediaError(f"{target}: cannot be removed ({error.strerror})", path=str(target)) from error


def _checked_key(document_key: str) -> str:
    if not _KEY.fullmatch(document_key):
        raise UserError(f"document key {document_key!r}: letters, digits, _ and - only")
    return document_key


def _name(document_key: str, offset_ms: int) -> str:
    if offset_ms < 0:
        raise UserError(f"a frame at {offset_ms} ms: media time begins at 0")
    return f"{_checked_key(document_key)}/{offset_ms // HOUR_MS:04d}/{offset_ms:010d}.jpg"


def encoded(frame: Frame, *, width: int = 512, quality: int = 80) -> tuple[bytes, int, int]:
    """A frame as JPEG, shrunk to `width` pixels where it is wider, with its width and height then."""
    picture = _shrunk(frame, width)
    return _jpeg(picture, quality), picture.width, picture.height


def _shrunk(frame: Frame, width: int) -> Image:
    from PIL import Image

    picture = Image.fromarray(frame.image)
    if picture.width <= width:
        return picture
    return picture.resize((width, max(1, round(picture.height * width / picture.width))), Image.Resampling.BOX)


def _jpeg(picture: Image, quality: int) -> bytes:
    content = io.BytesIO()
    picture.save(content, "JPEG", quality=quality)
    return content.getvalue()
