r"""Search for the settings of the PIELM in the paper: scale × linear solver on its eight linear cases.

The PIELM has as many tanh nodes as PIBLS has weights, and the same points. Varied are the range R of weights
and biases, with inputs mapped to [-1, 1] or not mapped, and the least-squares solver:

- ``gelsd``, with singular values below a fraction of the largest dropped (machine epsilon or larger);
- normal equations (AᵀA + λI) w = Aᵀb, by Cholesky or LU factorisation, with λ = 0 or small (the ridge of
  broad learning);
- gelsd in single precision.

    python benchmarks/pielm_range.py      # missing results only, stored in docs/data/pielm.json
"""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pibls
from benchmarks import paper_tables
from benchmarks.measure import errors, threads
from benchmarks.peers.pielm import UnmappedTanh
from pibls.arrays import Array
from pibls.cases.case import Case

DATA = Path(__file__).resolve().parents[1] / "docs/data/pielm.json"
CASES = paper_tables.TABLE_2
SCALES: tuple[float | None, ...] = (None, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0)
"""Scales R; None is the range (-1, 1) with inputs that are not mapped."""
WIDE = (20.0, 30.0, 50.0, 80.0)
"""Larger R, for gelsd only."""
SEED = 0

Solve = Callable[[Array, Array], Array]


class CachedSVD:
    """Singular value decomposition A = U Σ Vᵀ, cached for the last matrix."""

    def __init__(self) -> None:
        self.matrix: Array | None = None
        self.parts: tuple[Array, Array, Array] | None = None

    def solve(self, A: Array, b: Array, cond: float) -> Array:
        from scipy.linalg import svd

        if self.matrix is None or self.parts is None or not np.array_equal(A, self.matrix):
            self.matrix, self.parts = A.copy(), svd(A, full_matrices=False)
        U, s, V = self.parts
        keep = s > cond * s[0]
        w: Array = V[keep].T @ ((U[:, keep].T @ b) / s[keep])
        return w


def normal(A: Array, b: Array, ridge: float) -> Array:
    """Solve (AᵀA + λI) w = Aᵀb by Cholesky, or by LU where rounding makes AᵀA indefinite."""
    from scipy.linalg import LinAlgError, solve

    G, c = A.T @ A, A.T @ b
    G[np.diag_indices_from(G)] += ridge
    try:
        w: Array = solve(G, c, assume_a="pos")
    except LinAlgError:
        w = solve(G, c)
    return w


def single(A: Array, b: Array) -> Array:
    from scipy.linalg import lstsq

    w: Array = lstsq(A.astype(np.float32), b.astype(np.float32), lapack_driver="gelsd")[0].astype(float)
    return w


def solvers() -> dict[str, Solve]:
    """Return the solvers by the name shown on the page."""
    svd_solver = CachedSVD()

    def truncated(cond: float) -> Solve:
        return lambda A, b: svd_solver.solve(A, b, cond)

    def ridged(ridge: float) -> Solve:
        return lambda A, b: normal(A, b, ridge)

    return {
        "gelsd": truncated(float(np.finfo(float).eps)),
        **{f"gelsd, cond = {c:.0e}": truncated(c) for c in (1e-12, 1e-10, 1e-8, 1e-6)},
        "normal equations": ridged(0.0),
        **{f"normal equations, λ = {r:.0e}": ridged(r) for r in (1e-12, 1e-10, 1e-8, 1e-6, 1e-4)},
        "gelsd, single precision": single,
    }


@dataclass(frozen=True)
class FunctionSolver:
    """Linear solver for `pibls.LeastSquares` from a function of matrix and right-hand side."""

    function: Solve

    def factor(self, A: Any) -> FunctionSolver._Factors:
        return self._Factors(self.function, np.asarray(A))

    @dataclass
    class _Factors:
        function: Solve
        matrix: Array
        rank: int = 0

        def apply(self, b: Array) -> Array:
            return self.function(self.matrix, b)


def solve_errors(case: Case, scale: float | None, solve: Solve, seed: int) -> list[float]:
    """Return maximum and L2 error on points that were not fitted; ∞ if the solve fails."""
    nodes = case.published.settings["basis"].size
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = pibls.solve(
            case.problem,
            basis=UnmappedTanh(nodes) if scale is None else pibls.Broad(1, nodes, scale=scale),
            points=case.published.settings["points"],
            method=pibls.LeastSquares(FunctionSolver(solve)),
            seed=seed,
        )
    return [e if math.isfinite(e) else math.inf for e in errors(case, solution)]


def label(scale: float | None) -> str:
    return "as they are" if scale is None else f"{scale:g}"


def main() -> None:
    data: dict[str, Any] = json.loads(DATA.read_text()) if DATA.exists() else {}
    for name in CASES:
        for scale in (*SCALES, *WIDE):
            done = data.setdefault(name, {}).setdefault(label(scale), {})
            for solver, solve in solvers().items():
                if solver not in done and (scale not in WIDE or solver == "gelsd"):
                    done[solver] = solve_errors(pibls.cases[name], scale, solve, SEED)
            temporary = DATA.with_suffix(".tmp")
            temporary.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
            os.replace(temporary, DATA)
        print(f"{name} done", flush=True)


if __name__ == "__main__":
    with threads(1):
        main()
