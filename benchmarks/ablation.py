"""What do enhancement nodes, whitening and sparse refinement bring? Same number of nodes, five seeds.

Each case has the points and number of nodes of the published configuration; only the kind of node
changes. Each variant is measured at the published scale and at the scale that serves it best, which is
searched over a range that is extended while its optimum lies near an edge. Everything measured is kept in
docs/data/ablation.json; the page is made from it by benchmarks.pages.

    python benchmarks/ablation.py [TC-9 …] [--again]      # what is not there yet; interrupt and resume
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
PROBES = range(3)
"""The seeds of the search for the best scale."""
STEP = 2.0**0.5
REACH = 10
"""The search goes no further than this many steps from the published scale."""
PATIENCE = 2
"""Steps without a gain after which a side is given up."""


def method_for(case: Case) -> Any:
    """The better linear algebra for all, so that the bases differ and not the solvers.

    A nonlinear case is one descent from the linearised problem: where a basis cannot hold the solution,
    deforming the equations and starting anew take minutes and end at the same error.
    """
    if case.problem.is_linear:
        return pibls.LeastSquares(pibls.PivotedQR())
    return pibls.GaussNewton(continuation=0, rounds=0)


def measured(case: Case, basis: Any, seeds: Sequence[int]) -> list[float]:
    """The maximum error of each seed, on points that were not fitted; ∞ where there is no solution."""
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


def waves_for(case: Case, most: int) -> pibls.Waves:
    """The waves of the automatic solver, no more than the published points can determine."""
    nodes = min(most, case.published.settings["points"].interior // 2, 512)
    return pibls.Waves(nodes, scale=scale_for("waves", nodes, len(case.problem.coordinates)))


class Store:
    """The measurements of all cases in one JSON file, written after each of them."""

    def __init__(self, path: Path = DATA) -> None:
        self.path = path
        self.data: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}

    def write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_suffix(".tmp")
        beside.write_text(json.dumps(self.data, indent=1) + "\n")
        os.replace(beside, self.path)


def best_scale(case: Case, label: str, store: Store, found: dict[str, Any]) -> float:
    """The scale of a variant with the smallest median error over PROBES; all that was tried is kept."""
    basis = case.published.settings["basis"]
    tried: dict[str, list[float]] = found["tried"].setdefault(label, {})
    tried.setdefault(str(float(basis.scale)), found["errors"][label][: len(PROBES)])

    def error(i: int) -> float:
        scale = float(f"{basis.scale * STEP**i:.4g}")
        if str(scale) not in tried:
            tried[str(scale)] = measured(case, variants(basis, scale)[label], PROBES)
            store.write()
        return float(np.median(tried[str(scale)]))

    best = error(0)
    for side in (-1, 1):
        i = without = 0
        while without < PATIENCE and abs(i) < REACH:
            i += side
            without = 0 if error(i) < best else without + 1
            best = min(best, error(i))
    return min((float(s) for s in tried), key=lambda s: np.median(tried[str(s)]))


def measure(case: Case, store: Store, key: str | None = None) -> None:
    """All variants of one case that are not there yet, under its name or another key."""
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
            found["errors"][label] = measured(case, variant, SEEDS)
            store.write()
    waves = waves_for(case, basis.size)
    if "waves" not in found["errors"]:
        found["errors"]["waves"] = measured(case, waves, SEEDS)
        found["waves"] = {"nodes": waves.size, "scale": waves.scale}
        store.write()
    for label in variants(basis, basis.scale):
        if label not in found["best"]:
            scale = best_scale(case, label, store, found)
            known = found["errors"][label] if scale == basis.scale else None
            errors = known or measured(case, variants(basis, scale)[label], SEEDS)
            found["best"][label] = {"scale": scale, "errors": errors}
            store.write()


def main(arguments: Sequence[str]) -> None:
    store = Store()
    names = [a for a in arguments if not a.startswith("-")] or list(pibls.cases)
    for name in names:
        if "--again" in arguments:
            # What is there stays until the new measurement is complete, also over an interruption.
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
