r"""Groups S of coordinates that the data of a problem couple, for u = Σ u_S(x_S).

In many dimensions functions of all coordinates are expensive, and most data are sums of functions of a few.
Δ_i Δ_j f = f(x + e_i + e_j) - f(x + e_i) - f(x + e_j) + f(x) vanishes if i and j occur in different terms.
The groups are the maximal cliques of the graph of coupled coordinates.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from pibls.adaptive.thresholds import DEFAULT, FEATURE_FAMILY
from pibls.arrays import Array
from pibls.geometry import Domain
from pibls.problem.forms.compilation import CompiledProblem, Residual


def coupled_coordinates(compiled: CompiledProblem, domain: Domain, box: Array) -> tuple[tuple[int, ...], ...]:
    """Return the maximal groups of coordinates that sources and boundary values couple pairwise."""
    d = compiled.dimension
    rng = np.random.default_rng(0)
    X = np.asarray(domain.interior(FEATURE_FAMILY.sample_points, rng), dtype=float)
    Y = np.asarray(domain.interior(FEATURE_FAMILY.sample_points, rng), dtype=float)
    near = [{i} for i in range(d)]
    for r in compiled.residuals:
        fixed: tuple[tuple[int, float] | None, ...] = (None,)
        if not r.region.is_interior:
            # On a side all coordinates but one are free.
            fixed = tuple((i, float(e)) for i in range(d) for e in box[i])
        for side in fixed:
            for i, j in combinations(range(d), 2):
                if (
                    j not in near[i]
                    and (side is None or side[0] not in (i, j))
                    and _depends_jointly(r, X, Y, i, j, side)
                ):
                    near[i].add(j)
                    near[j].add(i)
    return _cliques(near)


def _depends_jointly(r: Residual, X: Array, Y: Array, i: int, j: int, side: tuple[int, float] | None) -> bool:
    """Whether the data of a residual have a term that depends on both coordinates."""
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
                found = r.rest(Z, normals, r.data_function_values(Z), none)
            values.append(found if a == b else -found)
            size = max(size, float(np.nan_to_num(np.abs(found)).max()))
    return float(np.nan_to_num(np.abs(np.sum(values, axis=0))).max()) > DEFAULT.rounding_residual * size


def _cliques(near: list[set[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the maximal cliques of the graph with adjacency sets ``near``."""
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
