"""Vectors as the Protocols promise them: float32, of length 1, or all zero where there was nothing to embed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def normalised(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Each row divided by its length; zero rows stay zero."""
    import numpy as np

    rows = np.asarray(vectors, np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    made: NDArray[np.float32] = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return made
