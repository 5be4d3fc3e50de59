"""ONNX detectors: layouts told apart and decoded; real NanoDet weights on real people."""

from types import SimpleNamespace

import numpy as np
import pytest

from vgraph.errors import MissingDependency, ModelError, UserError
from vgraph.models import Detector
from vgraph.models.loading import installed
from vgraph.models.onnx import OnnxDetector, layout_of, letterboxed, nanodet
from vgraph.types import Box, Frame

needs_runtime = pytest.mark.skipif(not installed("onnxruntime"), reason="onnxruntime is not installed")

SIZE = (64, 64)  # strides 8, 16, 32 give 64 + 16 + 4 cells
CELLS = (64, 16, 4)


class Session:
    """An inference session whose outputs are given: the real library's surface, none of its weights."""

    def __init__(self, outputs: dict[str, np.ndarray], *, inputs=("images",), metadata=None) -> None:
        self._outputs, self._inputs, self._metadata = outputs, inputs, metadata or {}
        self.fed: dict[str, np.ndarray] = {}

    def get_inputs(self):
        shapes = {name: [1, 3, *SIZE] if number == 0 else [1, 2] for number, name in enumerate(self._inputs)}
        return [SimpleNamespace(name=name, shape=shape) for name, shape in shapes.items()]

    def get_outputs(self):
        return [SimpleNamespace(name=name, shape=list(value.shape)) for name, value in self._outputs.items()]

    def get_modelmeta(self):
        return SimpleNamespace(custom_metadata_map=self._metadata)

    def run(self, _, feed):
        self.fed = feed
        return list(self._outputs.values())


@pytest.fixture
def detector(tmp_path):
    def make(outputs: dict[str, np.ndarray], *, names: str | None = None, **more) -> OnnxDetector:
        path = tmp_path / "model.onnx"
        path.write_bytes(b"")
        if names is not None:
            path.with_suffix(".names").write_text(names)
        made = OnnxDetector(path)
        made.__dict__["_session"] = Session(outputs, **more)
        return made

    return make


def frame(width: int = 128, height: int = 64) -> Frame:
    return Frame(1000, np.zeros((height, width, 3), np.uint8))


def distribution(*steps: float, width: int = 8) -> np.ndarray:
    """Logits whose distributions stand at whole steps: left, top, right, bottom."""
    logits = np.full((4, width), -20.0, np.float32)
    for side, step in enumerate(steps):
        logits[side, int(step)] = 20.0
    return logits.reshape(-1)


def nanodet_parts(classes: int = 80, width: int = 8):
    scores = [np.zeros((1, cells, classes), np.float32) for cells in CELLS]
    reach = [np.zeros((1, cells, 4 * width), np.float32) for cells in CELLS]
    # the cell in row 1, column 2 of stride 16: centre (40, 24); one step left and up, one and a half boxes right and down
    scores[1][0, 1 * 4 + 2, 16] = 0.9
    reach[1][0, 1 * 4 + 2] = distribution(1, 1, 1, 2, width=width)
    return scores, reach


@pytest.mark.parametrize("form", ["six outputs", "one output"])
def test_nanodet_is_decoded_to_the_frames_pixels(detector, form):
    scores, reach = nanodet_parts()
    if form == "six outputs":
        outputs = {f"o{n}": part for n, part in enumerate([*reach[::-1], *scores])}
    else:
        outputs = {"output": np.concatenate([np.concatenate(scores, 1), np.concatenate(reach, 1)], axis=2)}
    [dog] = detector(outputs).detect([frame()])
    assert (dog.label, dog.offset_ms, dog.origin, dog.track) == ("dog", 1000, "onnx:model", None)
    assert dog.confidence == pytest.approx(0.9)
    # the canvas is half the frame's size: (24, 8)-(56, 56) there
    assert [dog.box.x, dog.box.y, dog.box.width, dog.box.height] == pytest.approx([48, 16, 64, 48], abs=0.1)


def test_overlapping_boxes_of_one_class_are_one_and_of_two_are_two(detector):
    scores, reach = nanodet_parts()
    scores[1][0, 5, 16], reach[1][0, 5] = 0.7, distribution(0, 1, 2, 2)  # the cell before it, much the same box
    outputs = {f"o{n}": part for n, part in enumerate([*scores, *reach])}
    assert [found.confidence for found in detector(outputs).detect([frame()])] == pytest.approx([0.9])
    scores[1][0, 5, 16], scores[1][0, 5, 0] = 0, 0.7
    assert {found.label for found in detector(outputs).detect([frame()])} == {"dog", "person"}


def test_rows_of_an_end_to_end_export(detector):
    rows = np.zeros((1, 300, 6), np.float32)
    rows[0, 0] = [10, 10, 30, 20, 0.8, 2]
    rows[0, 1] = [0, 0, 64, 32, 0.3, 2]
    made = detector({"output0": rows}, metadata={"names": "{0: 'cat', 1: 'cow', 2: 'forklift'}"})
    [only] = made.detect([frame()])
    assert (only.label, only.box) == ("forklift", Box(20, 20, 40, 20))


def test_a_triple_that_takes_the_pictures_size_answers_in_its_pixels(detector):
    outputs = {
        "labels": np.array([[1, 0]]),
        "boxes": np.array([[[5, 6, 105, 46], [0, 0, 9, 9]]], np.float32),
        "scores": np.array([[0.9, 0.1]], np.float32),
    }
    made = detector(outputs, inputs=("images", "orig_target_sizes"), names="van\nbike\n")
    [only] = made.detect([frame()])
    assert (only.label, only.box) == ("bike", Box(5, 6, 100, 40))
    assert made._session.fed["orig_target_sizes"].tolist() == [[128, 64]]


def test_shares_of_the_picture_are_taken_as_such(detector):
    outputs = {
        "boxes": np.array([[0.25, 0.0, 0.5, 0.25]], np.float32),
        "scores": np.array([0.9], np.float32),
        "labels": np.array([0]),
    }
    [only] = detector(outputs).detect([frame()])
    assert only.box == Box(32, 0, 32, 32)


def test_boxes_are_cut_at_the_frames_edges_and_empty_ones_dropped(detector):
    rows = np.zeros((1, 300, 6), np.float32)
    rows[0, 0] = [-20, -20, 30, 20, 0.8, 0]
    rows[0, 1] = [10, 40, 30, 60, 0.8, 0]  # in the canvas's margin, below the picture
    [only] = detector({"output0": rows}).detect([frame()])
    assert only.box == Box(0, 0, 60, 40)


def test_a_class_without_a_name_is_called_by_its_number(detector):
    rows = np.zeros((1, 300, 6), np.float32)
    rows[0, 0] = [0, 0, 9, 9, 0.8, 7]
    [only] = detector({"output0": rows}, names="a\nb").detect([frame()])
    assert only.label == "class 7"


@pytest.mark.parametrize(
    "metadata", [{}, {"names": "not python"}, {"names": "[1]"}, {"names": "{'a': 1}"}, {"names": "__import__('os')"}]
)
def test_without_names_they_are_those_of_coco(detector, metadata):
    names = detector({"output0": np.zeros((1, 300, 6), np.float32)}, metadata=metadata).names
    assert (len(names), names[0], names[-1]) == (80, "person", "toothbrush")


def test_an_unknown_layout_says_what_it_saw(detector):
    made = detector({"logits": np.zeros((1, 1000), np.float32)})
    with pytest.raises(ModelError, match=r"no layout known for outputs \{'logits': \[1, 1000\]\}"):
        list(made.detect([frame()]))


@pytest.mark.parametrize(
    ("names", "shapes", "layout"),
    [
        (["a", "b"], [["batch", "anchors", 80], [1, None, 4]], None),
        (["output"], [[1, 84, 6]], "rows"),
        (["output"], [[1, 84, 112]], "nanodet"),
        (["output"], [[1, 86, 112]], None),
        (["pred_boxes", "scores", "labels"], [[None], [None], [None]], "triple"),
        ([], [], None),
    ],
)
def test_layouts_are_told_apart(names, shapes, layout):
    assert layout_of(names, shapes, SIZE) == layout


def test_nothing_sure_is_nothing_found():
    scores, reach = nanodet_parts()
    assert nanodet([*scores, *reach], SIZE, threshold=0.95).corners.shape == (0, 4)


def test_a_picture_keeps_its_shape_on_the_canvas():
    canvas, scale = letterboxed(np.full((50, 100, 3), 255, np.uint8), 64, 64, stretch=False)
    assert scale == (0.64, 0.64)
    assert (canvas[:32] == 255).all()
    assert (canvas[32:] == 114).all()


def test_a_file_that_is_not_there_is_the_callers_mistake(tmp_path):
    with pytest.raises(UserError, match="no ONNX file"):
        OnnxDetector(tmp_path / "none.onnx")


@pytest.mark.skipif(installed("onnxruntime"), reason="onnxruntime is installed")
def test_without_the_runtime_the_extra_is_named(tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"")
    with pytest.raises(MissingDependency, match=r"pip install 'vgraph\[vision\]'"):
        list(OnnxDetector(tmp_path / "m.onnx").detect([frame()]))


@needs_runtime
def test_a_file_that_is_no_model_is_a_model_error(tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"nonsense")
    with pytest.raises(ModelError, match="onnx:m failed to load"):
        list(OnnxDetector(tmp_path / "m.onnx").detect([frame()]))


@needs_runtime
def test_real_weights_find_the_people_in_the_street(weights, street):
    detector = OnnxDetector(weights("nanodet/nanodet.onnx"))
    assert isinstance(detector, Detector)
    frames = street(every=10, count=5)
    found = list(detector.detect(frames))
    first = sorted(
        (seen.box for seen in found if seen.offset_ms == 0 and seen.label == "person"), key=lambda box: box.x
    )
    # the three people on the first picture, measured by eye: left, top, width, height
    for box, eye in zip(first, [(252, 220, 31, 88), (500, 156, 30, 75), (640, 242, 45, 82)], strict=True):
        assert [box.x, box.y, box.width, box.height] == pytest.approx(eye, abs=8)
    assert {seen.label for seen in found if seen.box.x > 640 and seen.box.y < 60} <= {"car", "truck"}
    for later in frames[1:]:
        assert sum(seen.offset_ms == later.offset_ms and seen.label == "person" for seen in found) >= 4


@needs_runtime
@pytest.mark.slow
def test_real_people_become_tracks(weights, street):
    from vgraph.models.tracking import track

    found = OnnxDetector(weights("nanodet/nanodet.onnx")).detect(street(every=2, count=50))
    people = [each for each in track(found) if each.label == "person" and each.end_offset_ms - each.offset_ms >= 3000]
    assert 5 <= len(people) <= 12
    assert all(each.confidence > 0.4 for each in people)
