"""python -m vgraph.evals.world --seed 190 --out DIR"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from vgraph.errors import VGraphError
from vgraph.evals.world import DEMO_SEED, World


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m vgraph.evals.world", description="Render a synthetic world.")
    parser.add_argument("--seed", type=int, default=DEMO_SEED)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--cameras", type=int, default=5, help="4 to 8")
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--density", type=float, default=1.0, help="1 keeps everybody busy; a whole day is best at 0.1")
    parser.add_argument("--things", type=int, default=8)
    parser.add_argument("--questions", type=int, default=16)
    parser.add_argument("--no-video", action="store_true", help="sidecars and truth alone")
    given = vars(parser.parse_args(arguments))
    folder, video = given.pop("out"), not given.pop("no_video")
    try:
        files = World.generate(**given).write(folder, progress=_tell, video=video)
    except VGraphError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    print("\n".join([f"\n{len(files.videos)} videos in {files.folder}", *files.notes]))  # noqa: T201
    return 0


def _tell(text: str, share: float) -> None:
    print(f"\r{share:4.0%} {text:24}", end="", file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    raise SystemExit(main())
