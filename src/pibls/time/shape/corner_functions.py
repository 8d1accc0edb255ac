r"""Corner functions r^α sin αθ, r^(α+2) sin αθ, … for evolutions on domains with re-entrant corners.

They solve Δu + c u = 0 and satisfy the homogeneous conditions on the sides exactly. Other terms of the
equation add weaker singularities. Powers that do not satisfy the conditions are not used: some of them would
grow in time (Allen-Cahn equation in an L-shaped domain: by e³⁸ in a unit of time).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pibls.analysis.corners.scalar_corners import singular_functions, strongest_corners
from pibls.arrays import Array
from pibls.basis import Basis, Singular
from pibls.geometry import Domain, box_of
from pibls.problem import PartialDerivative
from pibls.problem.forms.compilation import CompiledProblem, Residual
from pibls.time.thresholds import GALERKIN


def corner_functions(still: CompiledProblem, space: Domain) -> tuple[tuple[Basis, Array], ...]:
    """Return the functions of each corner with a sufficiently small first power, and their powers."""
    out = []
    rng = np.random.default_rng(0)
    still = replace(still, residuals=tuple(map(_leading, still.residuals)))
    for corner in strongest_corners(still, space):
        powers = [corner.first_power(k) for k in range(still.unknowns)]
        if min((p for p in powers if p is not None), default=np.inf) > GALERKIN.max_first_corner_power:
            continue
        for spec in singular_functions(corner, still, space, full_operator=False):
            terms = tuple(t for t in spec.terms if t[0] + t[1] <= GALERKIN.max_corner_power)
            if terms:
                made = Singular(spec.tip, terms).draw(box_of(space), rng)
                out.append((made, np.array([p + q for p, q, _, _ in terms])))
    return tuple(out)


def _leading(r: Residual) -> Residual:
    """Keep the second derivatives and u in an equation, and the highest derivatives in a condition."""
    highest = max((sum(j.alpha) for j in r.linear), default=0)
    least = 2 if r.region.is_interior else highest
    chosen = [i for i, j in enumerate(r.linear) if sum(j.alpha) >= least]
    if not chosen or any(sum(j.alpha) >= least for j in r.nonlinear):
        return r
    own = r.linear[chosen[0]]
    plain = (PartialDerivative(own.unknown, (0,) * len(own.alpha), own.site),) if r.region.is_interior else ()

    def coefficients(compiled: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            values = compiled(*arguments)
            return [*(values[i] for i in chosen), *(1.0 for _ in plain)]

        return called

    linear = (*(r.linear[i] for i in chosen), *plain)
    return replace(r, linear=linear, nonlinear=(), coefficient_function=coefficients(r.coefficient_function))
