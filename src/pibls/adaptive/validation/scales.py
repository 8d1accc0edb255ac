r"""|e_k| ≤ tol·s_k: what the error of each unknown is measured against.

An unknown is measured against its own size. One that is zero, to within what the others allow, has no size
of its own; its equation says how large it would be if its strongest term balanced the largest one. Where
nothing drives it, v'' = v with v = 0 at both ends, its own equation says nothing, and the others do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from pibls.arrays import Array
from pibls.assembly.known import Known
from pibls.assembly.points import PointSet
from pibls.problem.forms.lowering import LoweredProblem, Residual
from pibls.spaces import Space


def idle_unknowns(lowered: LoweredProblem, known: Callable[[Residual], Known]) -> frozenset[int]:
    """Unknowns of which zero is all that is asked for.

    Zero solves as many equations as they are, whatever the others may be, and nothing that is said of
    them alone contradicts.
    A term whose coefficient is zero everywhere, as a parameter may be, says nothing about its unknown.
    """
    together: dict[object, list[Known]] = {}
    for i, r in enumerate(lowered.residuals):  # the parts of a sum are one statement
        together.setdefault(r.name if r.region.is_sum else i, []).append(known(r))
    facts = list(together.values())
    about = [
        {j.unknown for k in parts for j in k.residual.nonlinear}
        | {
            j.unknown
            for k in parts
            for j, c in zip(k.residual.linear, k.coefficients, strict=True)
            if c.any()
        }
        for parts in facts
    ]

    def holds(i: int, zero: set[int]) -> bool:
        return all(holds_for(zero, k) for k in facts[i])

    def solved(zero: set[int]) -> list[set[int]]:
        return [a for i, a in enumerate(about) if facts[i][0].residual.region.is_inside and holds(i, zero)]

    found = set().union(*solved(set(range(lowered.unknowns))))
    while found:
        own = [a & found for a in solved(found)]
        contrary = [a for i, a in enumerate(about) if a <= found and not holds(i, found)]
        if contrary:
            # One of these is driven: the one without which zero still solves the most equations.
            found = found - {max(sorted(contrary[0]), key=lambda k: len(solved(found - {k})))}
        elif found == set().union(*own):
            return frozenset(found if len(own) >= len(found) else ())
        else:
            found = set().union(*own)
    return frozenset()


def holds_for(zero: Collection[int], known: Known) -> bool:
    """Whether a statement holds where these unknowns are zero, whatever the others are."""
    r, X = known.residual, known.points.sites[0]
    anything = np.linspace(0.7, 1.3, len(X))
    bent = [0.0 * anything if j.unknown in zero else anything for j in r.nonlinear]
    with np.errstate(all="ignore"):
        rest = r.rest(X, known.points.normals, known.data, np.array(bent).reshape(-1, len(X)))
    others = [c for j, c in zip(r.linear, known.coefficients, strict=True) if j.unknown not in zero]
    return not rest.any() and not np.any(others)


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
    points = PointSet((X,), np.zeros_like(X))
    wanted = tuple(dict.fromkeys(j for r in equations.residuals for j in (*r.linear, *r.nonlinear)))
    found = dict(zip(wanted, space.values((X,), wanted, w), strict=True))
    for r in equations.residuals:
        jets = r.jets
        known = Known.of(r, points)
        if idle and holds_for(idle, known):
            continue
        values = np.array([found[j] for j in jets]).reshape(len(jets), -1)
        k = len(r.linear)
        weights = np.concatenate([known.coefficients, r.partials(X, points.normals, known.data, values[k:])])
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
