"""Algorithm 2 and Gauss-Newton against scipy.optimize.least_squares(method="trf").

All three use the same residual, Jacobian and points of the published configuration, in one run with one
thread; SciPy and Algorithm 2 start from the solution of the linearized problem.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pibls
from benchmarks.measure import errors, table, threads, timed
from pibls.arrays import Array
from pibls.assembly.points import place
from pibls.assembly.system import System, assemble
from pibls.cases.case import Case
from pibls.geometry import box_of
from pibls.nonlinear.protocol import linear_start
from pibls.problem import PartialDerivative
from pibls.problem.forms.compilation import compile_problem
from pibls.spaces import SingleDomainSpace

CASES = ("TC-9", "TC-10", "TC-11")


def published_system(case: Case, seed: int) -> System:
    """Return the system that `solve` assembles for the published settings and this seed."""
    compiled = compile_problem(case.problem)
    basis, points, _, _ = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(4))
    broad = case.published.settings["basis"].draw(box_of(case.problem.domain), basis)
    placed = place(compiled, case.problem.domain, case.published.settings["points"], points)
    return assemble(compiled, placed, SingleDomainSpace.shared(broad, 1))


def max_error(case: Case, system: System, w: Array) -> float:
    zero = (0,) * len(case.problem.coordinates)
    value = (PartialDerivative(0, zero),)
    return errors(case, lambda *c: system.space.values((np.column_stack(c),), value, w)[0])[0]


def scipy_trf(system: System) -> Array:
    from scipy.optimize import least_squares

    A, b = linear_start(system)
    start = pibls.SVD().factor(A).apply(b)
    tight = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15}
    result = least_squares(system.residual, start, jac=system.jacobian, method="trf", max_nfev=300, **tight)
    return np.asarray(result.x)


def main(names: list[str], seeds: range = range(3)) -> None:
    rows = []
    with threads(1):
        for name in names:
            case = pibls.cases[name]
            for seed in seeds:
                system = published_system(case, seed)
                rng = np.random.default_rng(seed)
                method = case.published.settings["method"]
                scipy_w, scipy_s = timed(lambda system=system: scipy_trf(system))  # type: ignore[misc]
                ours, ours_s = timed(lambda m=method, system=system, rng=rng: m.solve(system, rng))  # type: ignore[misc]
                gauss, gauss_s = timed(lambda system=system, rng=rng: pibls.GaussNewton().solve(system, rng))  # type: ignore[misc]
                rows.append(
                    (name, str(seed),
                     f"{max_error(case, system, scipy_w):.1e}", f"{scipy_s:.2f}",
                     f"{max_error(case, system, ours.w):.1e}", f"{ours_s:.2f}", f"{ours_s / scipy_s:.2f}",
                     f"{max_error(case, system, gauss.w):.1e}", f"{gauss_s:.2f}", f"{gauss_s / scipy_s:.3f}")
                )  # fmt: skip
                print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    header = ("case", "seed", "scipy trf", "s", "Algorithm 2", "s", "ratio", "Gauss-Newton", "s", "ratio")
    print(table(header, rows))


if __name__ == "__main__":
    main(sys.argv[1:] or list(CASES))
