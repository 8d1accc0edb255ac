"""Ablation of the broad basis: enhancement nodes, whitening and sparse refinement, at equal width.

Each case has the points and number of nodes of the published configuration; only the kind of node
changes. Each variant is measured over five seeds at the published scale and at its own best scale, which is
searched over a range that is extended while its optimum lies near an end. The results are stored in
docs/data/ablation.json; benchmarks.pages generates the page from it.

    python benchmarks/ablation.py [TC-9 …] [--again]      # missing results only; resumes
"""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pibls
from benchmarks.measure import errors, threads
from pibls.basis.scale import scale_for
from pibls.cases.case import Case

DATA = Path(__file__).resolve().parents[1] / "docs/data/ablation.json"
SEEDS = range(5)
SEARCH_SEEDS = range(3)
"""Seeds of the search for the best scale."""
STEP = 2.0**0.5
"""Ratio of neighbouring scales of the search."""
MAX_STEPS = 10
"""Largest number of steps between the published scale and the scales of the search."""
MAX_STEPS_WITHOUT_GAIN = 2
"""Number of steps without a smaller error after which the search in one direction ends."""


def method_for(case: Case) -> Any:
    """Return the solver used for all variants, so that only the bases differ.

    A nonlinear case is solved by one descent from the linearized problem. Where a basis cannot approximate
    the solution, continuation and restarts take minutes and end at the same error.
    """
    if case.problem.is_linear:
        return pibls.LeastSquares(pibls.PivotedQR())
    return pibls.GaussNewton(continuation=0, rounds=0)


def max_errors(case: Case, basis: Any, seeds: Sequence[int]) -> list[float]:
    """Return the maximum error of each seed on points that were not fitted; ∞ if the solve fails."""
    found = []
    for seed in seeds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solution = pibls.solve(
                case.problem,
                basis=basis,
                points=case.published.settings["points"],
                method=method_for(case),
                seed=seed,
            )
        error = errors(case, solution)[0]
        found.append(error if math.isfinite(error) else math.inf)
    return found


def variants(published: pibls.Broad, scale: float) -> dict[str, pibls.Broad]:
    """Return bases with the same number of nodes in different arrangements."""
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


def random_features_for(case: Case, most: int) -> pibls.Waves:
    """Return the random Fourier features of the automatic solver, at most half as many as interior points."""
    nodes = min(most, case.published.settings["points"].interior // 2, 512)
    return pibls.Waves(nodes, scale=scale_for("waves", nodes, len(case.problem.coordinates)))


class Store:
    """Results of all cases in one JSON file, written after each measurement."""

    def __init__(self, path: Path = DATA) -> None:
        self.path = path
        self.data: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}

    def write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text(json.dumps(self.data, indent=1) + "\n")
        os.replace(temporary, self.path)


def best_scale(case: Case, label: str, store: Store, found: dict[str, Any]) -> float:
    """Return the scale with the smallest median error over SEARCH_SEEDS; all scales tried are stored."""
    basis = case.published.settings["basis"]
    tried: dict[str, list[float]] = found["tried"].setdefault(label, {})
    tried.setdefault(str(float(basis.scale)), found["errors"][label][: len(SEARCH_SEEDS)])

    def error(i: int) -> float:
        scale = float(f"{basis.scale * STEP**i:.4g}")
        if str(scale) not in tried:
            tried[str(scale)] = max_errors(case, variants(basis, scale)[label], SEARCH_SEEDS)
            store.write()
        return float(np.median(tried[str(scale)]))

    best = error(0)
    for direction in (-1, 1):
        i = steps_without_gain = 0
        while steps_without_gain < MAX_STEPS_WITHOUT_GAIN and abs(i) < MAX_STEPS:
            i += direction
            steps_without_gain = 0 if error(i) < best else steps_without_gain + 1
            best = min(best, error(i))
    return min((float(s) for s in tried), key=lambda s: np.median(tried[str(s)]))


def measure(case: Case, store: Store, key: str | None = None) -> None:
    """Measure the variants of one case that are not stored yet, under its name or another key."""
    basis = case.published.settings["basis"]
    found = store.data.setdefault(
        key or case.name,
        {
            "nodes": basis.size,
            "scale": basis.scale,
            "whiten": basis.whiten,
            "errors": {},
            "tried": {},
            "best": {},
        },
    )
    for label, variant in variants(basis, basis.scale).items():
        if label not in found["errors"]:
            found["errors"][label] = max_errors(case, variant, SEEDS)
            store.write()
    features = random_features_for(case, basis.size)
    if "waves" not in found["errors"]:
        found["errors"]["waves"] = max_errors(case, features, SEEDS)
        found["waves"] = {"nodes": features.size, "scale": features.scale}
        store.write()
    for label in variants(basis, basis.scale):
        if label not in found["best"]:
            scale = best_scale(case, label, store, found)
            known = found["errors"][label] if scale == basis.scale else None
            errors = known or max_errors(case, variants(basis, scale)[label], SEEDS)
            found["best"][label] = {"scale": scale, "errors": errors}
            store.write()


def main(arguments: Sequence[str]) -> None:
    store = Store()
    names = [a for a in arguments if not a.startswith("-")] or list(pibls.cases)
    for name in names:
        if "--again" in arguments:
            # Stored results are kept until the new measurement is complete, also if it is interrupted.
            measure(pibls.cases[name], store, key=f"{name}, new")
            store.data[name] = store.data.pop(f"{name}, new")
            store.write()
        else:
            measure(pibls.cases[name], store)
        medians = {k: float(np.median(v)) for k, v in store.data[name]["errors"].items()}
        print(name, {k: f"{v:.1e}" for k, v in medians.items()}, flush=True)


if __name__ == "__main__":
    with threads(1):
        main(sys.argv[1:])
