from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from vgraph.errors import MediaError, NotFoundError, UserError
from vgraph.media.assets import Assets
from vgraph.types import Frame, StoredFrame


@pytest.fixture
def assets(tmp_path):
    return Assets(tmp_path / "assets")


def frame(offset_ms=12_000, shape=(180, 320, 3), value=200):
    return Frame(offset_ms, np.full(shape, value, np.uint8))


def test_a_frame_becomes_a_jpeg_of_the_width_asked_for(assets):
    stored = assets.save("doc1", frame(), width=160, quality=80)
    assert stored == StoredFrame(12_000, "doc1/0000/0000012000.jpg", 160, 90)
    picture = Image.open(io.BytesIO(assets.bytes(stored.asset)))
    assert (picture.format, picture.size) == ("JPEG", (160, 90))
    assert np.asarray(picture).mean() == pytest.approx(200, abs=3)


def test_a_small_frame_is_not_enlarged(assets):
    stored = assets.save("doc1", frame(), width=4000, quality=80)
    assert (stored.width, stored.height) == (320, 180)


def test_saving_twice_changes_nothing_and_leaves_nothing_behind(assets):
    first = assets.save("doc1", frame(), width=160, quality=80)
    content = assets.bytes(first.asset)
    assert assets.save("doc1", frame(), width=160, quality=80) == first
    assert assets.bytes(first.asset) == content
    assert [p.name for p in assets.folder.rglob("*") if p.is_file()] == ["0000012000.jpg"]


def test_another_quality_replaces_the_file(assets):
    noise = Frame(0, np.random.default_rng(1).integers(0, 255, (90, 160, 3), np.uint8))
    large = len(assets.bytes(assets.save("d", noise, width=160, quality=90).asset))
    assert len(assets.bytes(assets.save("d", noise, width=160, quality=20).asset)) < large


def test_days_of_frames_are_spread_over_folders_by_the_hour(assets):
    stored = assets.save("d", frame(26 * 3_600_000 + 5), width=160, quality=80)
    assert stored.asset == "d/0026/0093600005.jpg"
    assert assets.path(stored.asset).is_file()


def test_a_picture_with_marks_comes_and_goes_with_its_own(assets):
    kept = [assets.save("doc", frame(ms)).asset for ms in (1000, 2000)]
    for asset in kept:
        assets.save_drawn(asset, b"marks")
    assert (assets.folder / "doc/0000/0000001000.drawn.jpg").read_bytes() == b"marks"
    assert list(assets.names()) == kept
    assets.forget(kept[:1])
    assert sorted(file.name for file in assets.folder.rglob("*.jpg")) == ["0000002000.drawn.jpg", "0000002000.jpg"]
    (assets.folder / kept[1]).unlink()
    assert list(assets.names()) == ["doc/0000/0000002000.drawn.jpg"]
    with pytest.raises(UserError):
        assets.save_drawn("../x", b"")


def test_delete_removes_one_document_and_only_that(assets):
    for key in ("a", "b"):
        assets.save(key, frame(), width=160, quality=80)
    assets.delete("a")
    assets.delete("a")
    assert sorted(p.name for p in assets.folder.iterdir()) == ["b"]


@pytest.mark.parametrize("key", ["", ".", "..", "../x", "a/b", "a\\b", "/etc", "a\0", "a:b", "x" * 200, "ä"])
def test_keys_that_could_lead_elsewhere_are_refused(assets, key):
    with pytest.raises(UserError):
        assets.save(key, frame(), width=160, quality=80)
    with pytest.raises(UserError):
        assets.delete(key)


@pytest.mark.parametrize(
    "asset",
    [
        "",
        "..",
        "../../etc/passwd",
        "/etc/passwd",
        "a/../b.jpg",
        "a/0000/../../../x.jpg",
        "a/0000/0000000000.png",
        "a/0000/0000000000.jpg\n",
    ],
)
def test_asset_names_that_save_does_not_give_are_refused(assets, asset):
    for use in (assets.path, assets.bytes):
        with pytest.raises(UserError):
            use(asset)


def test_links_inside_the_folder_are_not_followed_out(assets, tmp_path):
    outside = tmp_path / "outside"
    (outside / "0000").mkdir(parents=True)
    (outside / "0000" / "0000000000.jpg").write_bytes(b"secret")
    assets.folder.mkdir()
    (assets.folder / "d").symlink_to(outside)
    with pytest.raises(UserError, match="leads out"):
        assets.bytes("d/0000/0000000000.jpg")
    with pytest.raises(UserError, match="leads out"):
        assets.save("d", frame(0), width=160, quality=80)
    assets.delete("d")
    assert (outside / "0000" / "0000000000.jpg").exists()


def test_a_missing_asset_is_not_found(assets):
    with pytest.raises(NotFoundError, match="no asset"):
        assets.bytes("d/0000/0000000000.jpg")


def test_a_folder_that_cannot_be_written_is_a_media_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(MediaError, match="cannot be written"):
        Assets(tmp_path / "file").save("d", frame(), width=160, quality=80)


def test_a_frame_before_the_start_is_refused(assets):
    with pytest.raises(UserError, match="begins at 0"):
        assets.save("d", frame(-1), width=160, quality=80)
