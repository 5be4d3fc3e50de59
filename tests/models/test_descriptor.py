"""A picture as numbers without a model: what is like what."""

import io

import numpy as np
import pytest
from PIL import Image

from vgraph.errors import ModelError
from vgraph.models.descriptor import PictureDescriptor

from .tiny import jpeg


def picture(image: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


def yard(box=None) -> bytes:
    """A grey yard with a fence, and somebody in red where `box` is."""
    image = np.full((180, 320, 3), 120, np.uint8)
    image[::, ::16] = 70
    if box:
        x, y = box
        image[y : y + 60, x : x + 24] = (200, 30, 30)
    return picture(image)


def test_vectors_have_the_length_of_one_and_the_promised_shape():
    model = PictureDescriptor()
    rows = model.embed_images([yard(), jpeg("red")])
    assert (rows.shape, rows.dtype) == ((2, model.dimension), np.float32)
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1.0, 1.0], abs=1e-5)
    assert model.embed_images([]).shape == (0, model.dimension)


def test_the_same_view_is_likest_then_a_mover_in_it_then_another_view():
    empty, again, left, right, other = PictureDescriptor().embed_images(
        [yard(), yard(), yard((20, 80)), yard((250, 80)), jpeg("green")]
    )
    likeness = [float(empty @ row) for row in (again, left, other)]
    assert likeness == sorted(likeness, reverse=True)
    assert float(left @ right) < float(left @ left) - 0.01, "where somebody is matters"
    assert likeness[2] < 0.5


def test_bytes_that_are_no_picture_are_a_model_error():
    with pytest.raises(ModelError, match="describe a picture"):
        PictureDescriptor().embed_images([b"no"])
