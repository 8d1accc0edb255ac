r"""r^α sin αθ, r^(α+2) sin αθ, …: what the corners of a shape bring to an evolution on it."""

from __future__ import annotations

import numpy as np

from pibls.arrays import Array
from pibls.basis import Basis, Singular
from pibls.diagnose.singular import functions_at
from pibls.domain import Domain, box_of
from pibls.problem.lowering import LoweredProblem
from pibls.search.enrich import worst_corners
from pibls.search.thresholds import ROOMS


def corner_functions(still: LoweredProblem, space: Domain) -> tuple[tuple[Basis, Array], ...]:
    """The functions of each corner that has a power worth it, and their powers."""
    out = []
    rng = np.random.default_rng(0)
    for corner in worst_corners(still, space):
        powers = [corner.first_power(k) for k in range(still.unknowns)]
        if min((p for p in powers if p is not None), default=np.inf) > ROOMS.weakest:
            continue
        for spec in functions_at(corner, still, space):
            terms = tuple(t for t in spec.terms if t[0] + t[1] <= ROOMS.corner_power)
            if terms:
                made = Singular(spec.tip, terms).draw(box_of(space), rng)
                out.append((made, np.array([p + q for p, q, _, _ in terms])))
    return tuple(out)
