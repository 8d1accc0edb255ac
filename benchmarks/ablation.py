"""What do enhancement nodes, whitening and sparse refinement bring? Same number of nodes, five seeds.

Each row has the points, method and number of nodes of the published configuration; only the kind of
node changes. ``best scale`` gives plain features the scale that serves them best, found over a
range that is extended while its optimum lies at an edge.

    python benchmarks/ablation.py [--write docs/ablation.md]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pibls
from benchmarks.measure import errors, table, threads
from pibls.basis.scale import scale_for
from pibls.cases.case import Case

CASES = ("TC-2", "TC-3", "TC-4", "TC-5", "TC-6", "TC-8", "TC-11")
SEEDS = range(5)


def median_error(case: Case, basis: Any, method: Any) -> float:
    points = case.published.settings["points"]
    found = [
        errors(case, pibls.solve(case.problem, basis=basis, points=points, method=method, seed=seed))[0]
        for seed in SEEDS
    ]
    return float(np.median(found))


def variants(published: pibls.Broad, scale: float) -> dict[str, pibls.Broad]:
    """The same number of nodes, put together in different ways."""
    p = published
    shape = (p.feature_groups, p.feature_nodes, p.enhancement_groups, p.enhancement_nodes)
    return {
        "features only": pibls.Broad(1, p.size, scale=scale),
        "features, sparse": pibls.Broad(max(p.size // 20, 1), 20, scale=scale, sparse=True),
        "broad": pibls.Broad(*shape, scale=scale),
        "broad, whiten": pibls.Broad(*shape, scale=scale, whiten=True),
        "broad, sparse": pibls.Broad(*shape, scale=scale, sparse=True),
        "broad, whiten, sparse": pibls.Broad(*shape, scale=scale, whiten=True, sparse=True),
    }


def best_features(case: Case, size: int, method: Any, start: float) -> tuple[float, float]:
    """The scale of plain features with the smallest median error, and that error."""
    tried: dict[float, float] = {}
    step = 2.0**0.5
    low = high = 0

    def error(i: int) -> float:
        scale = start * step**i
        if scale not in tried:
            tried[scale] = median_error(case, pibls.Broad(1, size, scale=scale), method)
        return tried[scale]

    best = error(0)
    while True:  # walk outwards on both sides until it no longer helps
        improved = False
        for side in (-1, 1):
            i = low - 1 if side < 0 else high + 1
            if abs(i) > 8:
                continue
            value = error(i)
            low, high = min(low, i), max(high, i)
            if value < best:
                best, improved = value, True
        if not improved:
            break
    scale = min(tried, key=lambda s: tried[s])
    return scale, tried[scale]


def main(arguments: list[str]) -> None:
    header: list[str] = ["case", "nodes", "R"]
    rows = []
    for name in CASES:
        case = pibls.cases[name]
        published: pibls.Broad = case.published.settings["basis"]
        # The better linear algebra for all, so that the bases differ and not the solvers.
        method = pibls.LeastSquares(pibls.PivotedQR()) if case.problem.is_linear else pibls.GaussNewton()
        found = {
            label: median_error(case, basis, method)
            for label, basis in variants(published, published.scale).items()
        }
        scale, best = best_features(case, published.size, method, published.scale)
        waves = waves_for(case, published.size)
        header[3:] = [*found, "features, best scale", "waves"]
        rows.append(
            (name, str(published.size), f"{published.scale:g}", *(f"{e:.1e}" for e in found.values()),
             f"{best:.1e} (R = {scale:.2g})",
             f"{median_error(case, waves, method):.1e} (N = {waves.size})")
        )  # fmt: skip
        print(f"{name} done", file=sys.stderr, flush=True)
    text = table(header, rows)
    print(text)
    if "--write" in arguments:
        path = Path(arguments[arguments.index("--write") + 1])
        before, _, _ = path.read_text().partition(MARK)
        path.write_text(f"{before}{MARK}\n\n{text}\n")


MARK = "<!-- the table below is written by benchmarks/ablation.py -->"


def waves_for(case: Case, most: int) -> pibls.Waves:
    """The waves of the automatic solver, no more than the published points can determine."""
    nodes = min(most, case.published.settings["points"].interior // 2, 512)
    return pibls.Waves(nodes, scale=scale_for("waves", nodes, len(case.problem.coordinates)))


if __name__ == "__main__":
    with threads(1):
        main(sys.argv[1:])
