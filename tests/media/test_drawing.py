"""Visual prompting: what is drawn, where, and that it can be read."""

import io

import numpy as np
import pytest
from PIL import Image

from vgraph.media.drawing import COLOURS, Drawn, at, drawn, label
from vgraph.models.loading import installed
from vgraph.types import Box, Detection, Frame, Mark, Track


def walk(*seen: tuple[int, float]) -> Track:
    return Track("7", "person", tuple(Detection(ms, "person", Box(x, 50, 20, 60), 0.9, "given", "7") for ms, x in seen))


def picture(width: int = 512, height: int = 288, grey: int = 128) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), (grey,) * 3).save(buffer, "JPEG", quality=95)
    return buffer.getvalue()


def pixels(jpeg: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB"))


def near(pixel: np.ndarray, colour: tuple[int, int, int]) -> bool:
    return bool((np.abs(pixel.astype(int) - np.array(colour)) < 40).all())


@pytest.mark.parametrize(
    ("ms", "x"),
    [
        (0, 10),
        (500, 20),
        (1_000, 30),
        (1_400, 30),
        (1_600, None),
        (2_400, None),
        (2_600, 90),
        (3_499, 90),
        (3_500, None),
    ],
)
def test_a_box_is_interpolated_and_not_guessed_across_a_gap(ms, x):
    found = at(walk((0, 10), (1_000, 30), (3_000, 90)), ms)
    assert (found and found.x) == x


def test_a_box_is_drawn_in_its_tracks_colour_scaled_to_the_picture():
    made = pixels(drawn(picture(), [Drawn(Mark(3, "7", "person"), Box(400, 300, 200, 400))], 1024))
    assert made.shape == (288, 512, 3)
    assert near(made[250, 200], COLOURS[2]) and near(made[250, 300], COLOURS[2])
    assert near(made[250, 250], (128, 128, 128)), "what is in the box stays to be seen"
    assert near(made[100, 100], (128, 128, 128))


def test_without_marks_the_picture_is_as_it_was():
    jpeg = picture()
    assert drawn(jpeg, [], 512) is jpeg


def test_the_same_marks_in_any_order_give_the_same_picture():
    marks = [Drawn(Mark(n, str(n), "person"), Box(30 * n, 60, 40, 90)) for n in range(1, 8)]
    assert drawn(picture(), marks, 512) == drawn(picture(), reversed(marks), 512)


def test_labels_of_neighbours_do_not_cover_each_other():
    marks = [Drawn(Mark(n, str(n), "person"), Box(100, 100, 40, 90)) for n in (1, 2, 3)]
    made = pixels(drawn(picture(), marks, 512))
    for mark in marks:
        filled = sum(near(pixel, COLOURS[mark.mark.number - 1]) for pixel in made[:, 100:190].reshape(-1, 3))
        assert filled > 300, "three labels, each to be seen whole"


@pytest.mark.parametrize(
    "box", [Box(-50, -50, 80, 80), Box(500, 280, 100, 100), Box(0, 0, 512, 288), Box(600, 400, 9, 9)]
)
def test_marks_at_and_beyond_the_edges_do_no_harm(box):
    assert pixels(drawn(picture(), [Drawn(Mark(99, "x", "x" * 500), box)], 512)).shape == (288, 512, 3)


def test_labels_say_who_it_is_where_that_is_known():
    assert label(Mark(12, "7", "person")) == "#12 person"
    assert label(Mark(12, "7", "person", "Maria\nLopez")) == "#12 Maria Lopez"
    drawn(picture(), [Drawn(Mark(1, "7", "person", "\u0645\u0631\u064a\u0645 🎥 \ud800"), Box(1, 1, 9, 9))], 512)


@pytest.mark.slow
@pytest.mark.skipif(not installed("rapidocr"), reason="rapidocr is not installed")
def test_marks_can_be_read_at_512_pixels():
    from vgraph.models.rapidocr import RapidReader

    marks = [
        Drawn(Mark(3, "a", "person"), Box(100, 200, 80, 200)),
        Drawn(Mark(14, "b", "truck", "Maria Lopez"), Box(500, 250, 260, 200)),
    ]
    made = pixels(drawn(picture(512, 288, 90), marks, 1024))
    texts = " ".join(read.text for read in RapidReader().read(Frame(0, made)))
    assert "person" in texts and "Maria Lopez" in texts and "14" in texts and "3" in texts
