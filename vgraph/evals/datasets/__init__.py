"""Published sets of questions about long videos, read from local copies in the form they were published in.

Nothing is downloaded. Each adapter gives the same: questions (evals/questions.py) and the videos they are about, which `staged` lays out
so that they can be ingested. A file that is not of the form raises DatasetError, which names the file, the line and the field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from vgraph.errors import UserError
from vgraph.evals.datasets import egolife, egoschema, longvideobench, lvbench, mlvu, videomme
from vgraph.evals.datasets.form import Dataset, Video
from vgraph.evals.datasets.staging import staged

__all__ = ["DATASETS", "Dataset", "Video", "read_dataset", "staged"]

DATASETS: Mapping[str, Callable[[Path], Dataset]] = {
    "egolife": egolife.read,
    "egoschema": egoschema.read,
    "longvideobench": longvideobench.read,
    "mlvu": mlvu.read,
    "videomme": videomme.read,
    "lvbench": lvbench.read,
}


def read_dataset(name: str, root: Path) -> Dataset:
    """Questions and videos of a local copy. Raises UserError for an unknown name or a folder without it, DatasetError for its files."""
    if name not in DATASETS:
        raise UserError(f"no set of questions is called {name!r}; there are: {', '.join(DATASETS)}")
    if not root.is_dir():
        raise UserError(f"{root}: there is no such folder; give the one that holds the local copy of {name}")
    return DATASETS[name](root)
