"""Table of the scale-width rule: the scale R at which N random functions have the numerical rank 0.8 N.

Prints the table of `pibls.basis.scale`, computed from the functions on [-1, 1]^d without any equation.

    python benchmarks/scale_table.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import threads
from pibls.basis.scale import KINDS, measured_scale

WIDTHS = (32, 64, 128, 256, 512, 1024)


def main() -> None:
    print("TABLE = {")
    for kind in KINDS:
        for d in range(1, 6):
            radii = [measured_scale(kind, n, d) for n in WIDTHS]
            print(f'    ("{kind}", {d}): ({", ".join(f"{r:.3g}" for r in radii)}),', flush=True)
    print("}")


if __name__ == "__main__":
    with threads(1):
        main()
