"""Motion found where something moves, and nowhere else."""

import numpy as np

from vgraph.models import Detector
from vgraph.models.motion import MotionDetector
from vgraph.types import Frame


def picture(x: int | None = None, light: int = 0) -> np.ndarray:
    image = np.random.default_rng(0).integers(60, 90, (240, 320, 3), dtype=np.uint8) + np.uint8(light)
    if x is not None:
        image[100:180, x : x + 40] = (200, 30, 30)
    return image


def film(*images) -> list[Frame]:
    return [Frame(n * 200, image) for n, image in enumerate(images)]


def test_it_is_a_detector():
    assert isinstance(MotionDetector(), Detector)


def test_a_thing_that_moves_is_boxed_where_it_is():
    still = [picture()] * 10
    found = list(MotionDetector().detect(film(*still, *(picture(x) for x in range(20, 240, 10)))))
    assert {detection.label for detection in found} == {"motion"}
    assert len(found) >= 18
    for detection in found:
        x = 20 + (detection.offset_ms // 200 - 10) * 10
        assert abs(detection.box.x - x) <= 25
        assert abs(detection.box.y - 100) <= 8
        assert 0.5 <= detection.confidence <= 1


def test_boxes_are_in_the_frames_own_pixels():
    large = [np.kron(picture(x), np.ones((3, 3, 1), np.uint8)) for x in [*[None] * 10, *range(20, 120, 10)]]
    found = list(MotionDetector().detect(film(*large)))
    assert found
    assert all(280 <= detection.box.y <= 320 for detection in found)


def test_a_still_picture_does_not_move():
    assert list(MotionDetector().detect(film(*[picture()] * 30))) == []


def test_a_lamp_switched_on_is_no_motion():
    lit = [*[picture()] * 15, *[picture(light=90)] * 3]
    assert list(MotionDetector().detect(film(*lit))) == []


def test_a_flash_of_one_frame_is_dropped():
    assert list(MotionDetector().detect(film(*[picture()] * 15, picture(100), *[picture()] * 5))) == []


def test_frames_are_taken_one_by_one():
    taken = []

    def frames():
        for frame in film(*[picture()] * 10, *(picture(x) for x in range(20, 240, 10))):
            taken.append(frame.offset_ms)
            yield frame

    next(MotionDetector().detect(frames()))
    assert len(taken) < 20
    assert list(MotionDetector().detect([])) == []
