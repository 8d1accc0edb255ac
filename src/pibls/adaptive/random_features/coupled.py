r"""u = Σ u_S(x_S): which coordinates the data of a problem couple.

In many dimensions a function of all coordinates is expensive, and most data are sums of functions of a few.
Δ_i Δ_j f = f(x + e_i + e_j) - f(x + e_i) - f(x + e_j) + f(x) vanishes where i and j stand in different terms.
The groups of coordinates that are coupled, each with each, are the subsets S to begin with.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from pibls.adaptive.thresholds import DEFAULT, FAMILY
from pibls.arrays import Array
from pibls.geometry import Domain
from pibls.problem.forms.lowering import LoweredProblem, Residual


def coupled(lowered: LoweredProblem, domain: Domain, box: Array) -> tuple[tuple[int, ...], ...]:
    """The largest groups of coordinates that sources and boundary values couple, each with each."""
    d = lowered.dimension
    rng = np.random.default_rng(0)
    X = np.asarray(domain.interior(FAMILY.places, rng), dtype=float)
    Y = np.asarray(domain.interior(FAMILY.places, rng), dtype=float)
    near = [{i} for i in range(d)]
    for r in lowered.residuals:
        fixed: tuple[tuple[int, float] | None, ...] = (None,)
        if not r.region.is_inside:
            # On a side all coordinates but one are free; a condition gives its data there.
            fixed = tuple((i, float(e)) for i in range(d) for e in box[i])
        for side in fixed:
            for i, j in combinations(range(d), 2):
                if (
                    j not in near[i]
                    and (side is None or side[0] not in (i, j))
                    and _mixed(r, X, Y, i, j, side)
                ):
                    near[i].add(j)
                    near[j].add(i)
    return _cliques(near)


def _mixed(r: Residual, X: Array, Y: Array, i: int, j: int, side: tuple[int, float] | None) -> bool:
    """Whether the data of a residual have a part that depends on two coordinates together."""
    values, size = [], 0.0
    for a in (False, True):
        for b in (False, True):
            Z = X.copy()
            Z[:, i] = Y[:, i] if a else Z[:, i]
            Z[:, j] = Y[:, j] if b else Z[:, j]
            if side is not None:
                Z[:, side[0]] = side[1]
            normals, none = np.zeros_like(Z), np.zeros((len(r.nonlinear), len(Z)))
            with np.errstate(all="ignore"):
                found = r.rest(Z, normals, r.known_data(Z), none)
            values.append(found if a == b else -found)
            size = max(size, float(np.nan_to_num(np.abs(found)).max()))
    return float(np.nan_to_num(np.abs(np.sum(values, axis=0))).max()) > DEFAULT.small * size


def _cliques(near: list[set[int]]) -> tuple[tuple[int, ...], ...]:
    """The maximal sets of coordinates that are all near each other."""
    found: set[tuple[int, ...]] = set()

    def grow(chosen: tuple[int, ...], left: list[int]) -> None:
        more = [k for k in left if all(k in near[c] for c in chosen)]
        if not more and not any(
            all(k in near[c] for c in chosen) for k in range(len(near)) if k not in chosen
        ):
            found.add(chosen)
        for n, k in enumerate(more):
            grow((*chosen, k), more[n + 1 :])

    for k in range(len(near)):
        grow((k,), list(range(k + 1, len(near))))
    return tuple(sorted(found))
