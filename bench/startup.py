"""How long it takes to begin: `import vgraph`, `vgraph --help` and a first command, beside a bare interpreter in the same run.

    python bench/startup.py [--rounds 20]

Goal: `import vgraph` and `vgraph --help` under 0.3 s each, the interpreter included.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

MAIN = "from vgraph.cli import main; main()"
PROGRAMS: dict[str, tuple[str, ...]] = {
    "python": ("pass",),
    "import vgraph": ("import vgraph",),
    "vgraph --help": (MAIN, "--help"),
    "vgraph documents": (MAIN, "documents"),
    "vgraph doctor": (MAIN, "doctor"),
}


def seconds(code: str, *arguments: str, folder: str) -> float:
    """One run of a program in a process of its own."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", code, *arguments], cwd=folder, capture_output=True, check=True)
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    for name in [name for name in os.environ if name.startswith("VGRAPH_")]:
        del os.environ[name]
    with tempfile.TemporaryDirectory() as folder:
        for program in PROGRAMS.values():
            seconds(*program, folder=folder)  # compiled files, the database
        bare = statistics.median(seconds(*PROGRAMS["python"], folder=folder) for _ in range(rounds))
        for name, program in PROGRAMS.items():
            taken = [seconds(*program, folder=folder) for _ in range(rounds)]
            typical = statistics.median(taken)
            print(
                f"{name:18} {typical * 1000:7.0f} ms   best {min(taken) * 1000:7.0f} ms   {typical / bare:5.1f} x python"
            )


if __name__ == "__main__":
    main()
