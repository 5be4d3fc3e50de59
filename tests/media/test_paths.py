from __future__ import annotations

from pathlib import Path

import pytest

from vgraph.errors import UserError
from vgraph.media.paths import checked_path


@pytest.mark.parametrize(
    "address", ["http://x/y.mp4", "https://x", "rtsp://cam/1", "file:///etc/passwd", "s3://b/k", "HTTP://X/y"]
)
def test_addresses_are_refused_with_the_way_round(address, tmp_path):
    for roots in ((), (tmp_path,)):
        for given in (address, Path(address)):
            with pytest.raises(UserError, match="vgraph watch"):
                checked_path(given, roots)


@pytest.mark.parametrize("path", ["", "  ", "a\0b.mp4"])
def test_what_is_no_path(path):
    with pytest.raises(UserError, match="not a path"):
        checked_path(path)


def test_without_roots_any_path_is_taken_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert checked_path("a b/🎥 'x'.mp4") == tmp_path / "a b/🎥 'x'.mp4"
    assert checked_path("c:d.mp4") == tmp_path / "c:d.mp4"


def test_inside_a_root(tmp_path):
    (tmp_path / "videos").mkdir()
    assert checked_path(tmp_path / "videos/a.mp4", [tmp_path / "videos"]) == tmp_path / "videos/a.mp4"


@pytest.mark.parametrize("way", ["../secret.mp4", "videos/../../secret.mp4", "/etc/passwd", "../videos2/a.mp4"])
def test_outside_the_roots(tmp_path, way):
    root = tmp_path / "videos"
    root.mkdir()
    with pytest.raises(UserError, match="outside"):
        checked_path(root / way, [root])


def test_links_are_judged_by_what_they_lead_to(tmp_path):
    root = tmp_path / "videos"
    root.mkdir()
    (tmp_path / "secret.mp4").touch()
    (root / "out.mp4").symlink_to(tmp_path / "secret.mp4")
    (root / "real.mp4").touch()
    (root / "in.mp4").symlink_to(root / "real.mp4")
    (tmp_path / "alias").symlink_to(root)
    with pytest.raises(UserError, match="outside"):
        checked_path(root / "out.mp4", [root])
    assert checked_path(root / "in.mp4", [root]) == root / "real.mp4"
    assert checked_path(tmp_path / "alias/real.mp4", [root]) == root / "real.mp4"
    assert checked_path(root / "real.mp4", [tmp_path / "alias"]) == root / "real.mp4"


def test_a_loop_of_links(tmp_path):
    loop: Path = tmp_path / "a"
    loop.symlink_to(loop)
    with pytest.raises(UserError):
        checked_path(loop / "x.mp4", [tmp_path])
