r"""|e_k| ≤ tol·s_k: what the error of each unknown is measured against.

An unknown is measured against its own size. One that is zero, to within what the others allow, has no size
of its own; its equation says how large it would be if its strongest term balanced the largest one. Where
nothing drives it, v'' = v with v = 0 at both ends, its own equation says nothing, and the others do.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pibls.arrays import Array
from pibls.problem.lowering import LoweredProblem, Residual
from pibls.space import Space


def idle_unknowns(lowered: LoweredProblem, given: Callable[[Residual], Array | None]) -> frozenset[int]:
    """Unknowns of which zero is all that the statements about them alone ask for; ``given`` is ρ if known."""
    alone: dict[int, list[Residual]] = {}
    for r in lowered.residuals:
        mine = {j.unknown for j in r.jets}
        if len(mine) == 1:
            alone.setdefault(mine.pop(), []).append(r)
    driven = {k for k, some in alone.items() for r in some if (rho := given(r)) is None or rho.any()}
    return frozenset(k for k, some in alone.items() if any(r.region.is_inside for r in some)) - driven


def natural_sizes(
    equations: LoweredProblem,
    space: Space,
    w: Array,
    X: Array,
    half: Array,
    idle: frozenset[int] = frozenset(),
) -> Array:
    """How large each unknown would be if its strongest term balanced the largest of its equation."""
    out = np.full(equations.unknowns, np.inf)
    normals = np.zeros_like(X)
    wanted = tuple(dict.fromkeys(j for r in equations.residuals for j in (*r.linear, *r.nonlinear)))
    found = dict(zip(wanted, space.values((X,), wanted, w), strict=True))
    for r in equations.residuals:
        jets = r.jets
        if {j.unknown for j in jets} <= idle:
            continue
        data = r.known_data(X)
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
