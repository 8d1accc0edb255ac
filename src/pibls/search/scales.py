r"""|e_k| ≤ tol·s_k: what the error of each unknown is measured against.

An unknown is measured against its own size. One that is zero, to within what the others allow, has no size
of its own; its equation says how large it would be if its strongest term balanced the largest one.
"""

from __future__ import annotations

import numpy as np

from pibls.arrays import Array
from pibls.problem.lowering import LoweredProblem
from pibls.space import Space


def natural_sizes(equations: LoweredProblem, space: Space, w: Array, X: Array, half: Array) -> Array:
    """How large each unknown would be if its strongest term balanced the largest of its equation."""
    out = np.full(equations.unknowns, np.inf)
    normals = np.zeros_like(X)
    wanted = tuple(dict.fromkeys(j for r in equations.residuals for j in (*r.linear, *r.nonlinear)))
    found = dict(zip(wanted, space.values((X,), wanted, w), strict=True))
    for r in equations.residuals:
        data = r.known_data(X)
        jets = (*r.linear, *r.nonlinear)
        values = np.array([found[j] for j in jets]).reshape(len(jets), -1)
        k = len(r.linear)
        weights = np.concatenate([r.coefficients(X, normals, data), r.partials(X, normals, data, values[k:])])
        largest = float(np.nan_to_num(np.abs(weights * values)).max(initial=0.0))
        strongest = np.zeros(equations.unknowns)
        for jet, c in zip(jets, weights, strict=True):
            size = float(np.nan_to_num(np.abs(c)).max()) / float(np.prod(half ** np.array(jet.alpha)))
            strongest[jet.unknown] = max(strongest[jet.unknown], size)
        with np.errstate(divide="ignore", invalid="ignore"):
            out = np.minimum(out, np.where(strongest > 0, largest / strongest, np.inf))
    return np.where(np.isfinite(out), out, 0.0)


def measured_against(sizes: Array, natural: Array, tol: float) -> Array:
    """The size of each unknown, or where it is as good as zero, the size that its equation gives it."""
    return np.where(sizes > 10.0 * tol * natural, sizes, np.maximum(sizes, natural))
