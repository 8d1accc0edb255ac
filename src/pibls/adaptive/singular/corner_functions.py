r"""r^α sin αθ, r^(α+2) sin αθ, …: what the corners of a shape bring to an evolution on it.

They are those of Δu + c u = 0 with values or fluxes at the sides, which they hold exactly. What other terms
of an equation bring besides is weaker; and of powers of every phase, which do not hold the conditions, some
would grow in time (Allen and Cahn's equation in an L: by e³⁸ in a unit of time).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pibls.adaptive.singular.enrich import worst_corners
from pibls.adaptive.thresholds import ROOMS
from pibls.analysis.corners.singular import functions_at
from pibls.arrays import Array
from pibls.basis import Basis, Singular
from pibls.geometry import Domain, box_of
from pibls.problem import Jet
from pibls.problem.forms.lowering import LoweredProblem, Residual


def corner_functions(still: LoweredProblem, space: Domain) -> tuple[tuple[Basis, Array], ...]:
    """The functions of each corner that has a power worth it, and their powers."""
    out = []
    rng = np.random.default_rng(0)
    still = replace(still, residuals=tuple(map(_leading, still.residuals)))
    for corner in worst_corners(still, space):
        powers = [corner.first_power(k) for k in range(still.unknowns)]
        if min((p for p in powers if p is not None), default=np.inf) > ROOMS.weakest:
            continue
        for spec in functions_at(corner, still, space, wholly=False):
            terms = tuple(t for t in spec.terms if t[0] + t[1] <= ROOMS.corner_power)
            if terms:
                made = Singular(spec.tip, terms).draw(box_of(space), rng)
                out.append((made, np.array([p + q for p, q, _, _ in terms])))
    return tuple(out)


def _leading(r: Residual) -> Residual:
    """Of an equation the second derivatives and u itself, of a condition the highest, if linear."""
    highest = max((sum(j.alpha) for j in r.linear), default=0)
    least = 2 if r.region.is_inside else highest
    chosen = [i for i, j in enumerate(r.linear) if sum(j.alpha) >= least]
    if not chosen or any(sum(j.alpha) >= least for j in r.nonlinear):
        return r
    own = r.linear[chosen[0]]
    plain = (Jet(own.unknown, (0,) * len(own.alpha), own.site),) if r.region.is_inside else ()

    def coefficients(compiled: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            values = compiled(*arguments)
            return [*(values[i] for i in chosen), *(1.0 for _ in plain)]

        return called

    linear = (*(r.linear[i] for i in chosen), *plain)
    return replace(r, linear=linear, nonlinear=(), _coefficients=coefficients(r._coefficients))
