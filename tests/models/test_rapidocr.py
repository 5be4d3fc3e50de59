"""Text read off rendered pictures with RapidOCR's real models."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from vgraph.errors import MissingDependency
from vgraph.models import Reader
from vgraph.models.loading import installed
from vgraph.models.rapidocr import RapidReader
from vgraph.types import Frame

needs_ocr = pytest.mark.skipif(
    not (installed("rapidocr") and installed("onnxruntime")), reason="rapidocr is not installed"
)


@pytest.fixture(scope="module")
def reader() -> RapidReader:
    return RapidReader()


def picture(*lines: tuple[str, int, int]) -> Frame:
    image = Image.new("RGB", (640, 360), (40, 60, 80))
    draw = ImageDraw.Draw(image)
    for text, x, y in lines:
        draw.text((x, y), text, fill=(255, 255, 255), font=ImageFont.load_default(32))
    return Frame(5000, np.asarray(image))


def test_it_is_a_reader(reader):
    assert isinstance(reader, Reader)


@pytest.mark.skipif(installed("rapidocr"), reason="rapidocr is installed")
def test_without_the_package_the_extra_is_named(reader):
    with pytest.raises(MissingDependency, match=r"pip install 'vgraph\[ocr\]'"):
        reader.read(picture())


@needs_ocr
def test_a_label_and_a_clock_are_read_where_they_stand(reader):
    found = {read.text: read for read in reader.read(picture(("GATE 7", 60, 40), ("2026-03-02 08:15:42", 250, 300)))}
    assert set(found) == {"GATE 7", "2026-03-02 08:15:42"}
    gate = found["GATE 7"]
    assert (gate.offset_ms, gate.origin) == (5000, "rapidocr:PP-OCR")
    assert abs(gate.box.x - 60) < 12
    assert abs(gate.box.y - 46) < 14
    assert gate.confidence > 0.8


@needs_ocr
def test_an_empty_picture_reads_nothing(reader):
    assert reader.read(picture()) == ()


@needs_ocr
def test_a_picture_in_bgr_order_memory_or_tiny_does_no_harm(reader):
    assert reader.read(Frame(0, np.zeros((8, 8, 3), np.uint8))) == ()
