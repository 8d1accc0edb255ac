r"""det Σ_k A_k(iξ) λᵏ = 0, Re λ → ∞ as |ξ| → ∞: evolutions whose ripples grow the faster the finer they are.

With its coefficients frozen, a linear evolution has solutions exp(λt + iξ·x). Where Re λ grows without bound
with ξ (heat followed backwards, values and slopes of a harmonic function on one side), no data are exact
enough: whatever is wrong in them, rounding too, has parts as fine as that. And of what is given at a side
where everything leaves an equation of first order does not hear.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from pibls.adaptive.evolution import Evolution, evolution_of
from pibls.adaptive.thresholds import GROWTH, RATES
from pibls.analysis.coverage import probed
from pibls.arrays import Array
from pibls.geometry import Domain, box_of, faces_of
from pibls.problem.forms.lowering import LoweredProblem, Residual
from pibls.problem.regions.points import Points


def growth_of(lowered: LoweredProblem, domain: Domain) -> float | None:
    """The digits that ripples of a tenth of the width gain until the end.

    None where it is no evolution, or ripples that are finer do not grow ever faster, or one cannot tell.
    """
    evolution = evolution_of(lowered, domain)
    inside = [r for r in lowered.residuals if r.region.is_inside]
    if evolution is None or lowered.dimension < 2 or len(inside) != lowered.unknowns:
        return None
    if any(any(j.alpha) for r in inside for j in r.nonlinear):
        return None
    axis, box = evolution.axis, box_of(domain)
    X = np.asarray(domain.interior(RATES.samples, np.random.default_rng(0)), dtype=float)
    tables = [r.coefficients(X, np.zeros_like(X), r.known_data(X)) for r in inside]
    # Where coefficients are the same everywhere, one place is enough.
    places = np.unique(np.concatenate(tables), axis=1, return_index=True)[1]
    space = [i for i in range(len(box)) if i != axis]
    lengths = box[space, 1] - box[space, 0]
    ends = [GROWTH.fine, 10.0 * GROWTH.fine]
    gained = []
    for signs in itertools.product((0.0, 1.0), repeat=len(space)):
        if not any(signs):
            continue
        rates = np.array([[_rate(inside, tables, n, evolution, w * np.array(signs) / lengths, space)
                           for w in (*ends, 20.0 * math.pi)] for n in places])  # fmt: skip
        if not np.isfinite(rates).all():
            return None
        if np.all((rates[:, 0] > 0) & (rates[:, 1] > GROWTH.faster * rates[:, 0])):
            gained.append(float(np.median(rates[:, 2])) * abs(evolution.stop - evolution.start))
    return max(gained) / math.log(10.0) if gained else None


def _rate(
    inside: Sequence[Residual],
    tables: Sequence[Array],
    n: int,
    evolution: Evolution,
    xi: Array,
    space: Sequence[int],
) -> float:
    """The largest Re λ at a place, towards the end of the evolution; zero where that is a trifle of |λ|."""
    many, most = len(inside), max(evolution.orders)
    A = np.zeros((most + 1, many, many), dtype=complex)
    for i, (r, table) in enumerate(zip(inside, tables, strict=True)):
        for j, c in zip(r.linear, table[:, n], strict=True):
            factor = np.prod([(1j * w) ** j.alpha[k] for w, k in zip(xi, space, strict=True)])
            A[j.alpha[evolution.axis], i, j.unknown] += c * factor
    if not most or not np.isfinite(A).all() or min(evolution.orders) < most:
        return math.nan
    try:
        B = -np.linalg.solve(A[-1], np.concatenate(list(A[:-1]), axis=1))
    except np.linalg.LinAlgError:
        return math.nan
    companion = np.eye(most * many, k=many, dtype=complex)
    companion[-many:] = B
    roots = np.linalg.eigvals(companion)
    # A root that is zero (currents that balance a pressure) is rounding of the others.
    sizes = np.abs(roots)
    rates = np.where(
        np.abs(roots.real) > np.maximum(GROWTH.trifle * sizes, 1e-12 * sizes.max()), roots.real, 0.0
    )
    return float((rates if evolution.forward else -rates).max())


_NEEDED = 1e-6  # of the coefficients: what vanishes at a side asks for nothing there


def told_at_outflow(lowered: LoweredProblem, domain: Domain) -> tuple[int, ...]:
    """The values that are given where u_t + b·∇u + … = 0 carries everything out of the domain."""
    evolution = evolution_of(lowered, domain)
    inside = [r for r in lowered.residuals if r.region.is_inside]
    if evolution is None or lowered.unknowns != 1 or len(inside) != 1 or lowered.dimension < 2:
        return ()
    (equation,), axis = inside, evolution.axis
    first = all(sum(j.alpha) <= 1 for j in equation.jets)
    if not first or any(any(j.alpha) for j in equation.nonlinear):
        return ()
    out = []
    for i, r in enumerate(lowered.residuals):
        plain = len(r.linear) == 1 and not r.nonlinear and not any(r.linear[0].alpha)
        if not plain or not r.region.is_boundary or i in evolution.beginning:
            continue
        points = r.region.place(domain, Points(1, RATES.samples, 1), np.random.default_rng(0))
        X, normals = points.sites[0], points.normals
        a = equation.coefficients(X, np.zeros_like(X), equation.known_data(X))
        carried, rate = np.zeros(len(X)), np.zeros(len(X))
        for j, c in zip(equation.linear, a, strict=True):
            if j.alpha[axis]:
                rate += c
            elif any(j.alpha):
                carried += c * normals[:, j.alpha.index(1)]
        speed = carried * np.sign(rate) * (1.0 if evolution.forward else -1.0)
        if len(X) and bool((speed > 0).all()):
            out.append(i)
    return tuple(out)


def untold_where_it_is_needed(lowered: LoweredProblem, domain: Domain) -> bool:
    """Whether nothing is told of a part of the boundary where u_t + b·∇u - ∇·(a∇u) + … = 0 needs a value.

    Something flows in there (b·n < 0), or the equation is of the second order across it. Where coefficients
    vanish or are infinite, as at r = 0, nothing is needed.
    """
    evolution = evolution_of(lowered, domain)
    inside = [r for r in lowered.residuals if r.region.is_inside]
    if evolution is None or lowered.unknowns != 1 or len(inside) != 1 or lowered.dimension < 2:
        return False
    (equation,), axis = inside, evolution.axis
    order = max(sum(j.alpha) for j in equation.jets)
    told = [
        r.region
        for i, r in enumerate(lowered.residuals)
        if not r.region.is_inside and i not in evolution.beginning
    ]
    if order > 2 or any(any(j.alpha) for j in equation.nonlinear) or not all(r.is_boundary for r in told):
        return False
    rng = np.random.default_rng(0)
    looked = [probed(face, told, rng) for face in faces_of(domain)]
    if any((held > 1).any() for _, held in looked):
        return False  # two conditions at one end may stand for those of both
    for there, held in looked:
        X, normals = there.points[held == 0], there.normals[held == 0]
        if not len(X):
            continue
        with np.errstate(all="ignore"):
            a = equation.coefficients(X, np.zeros_like(X), equation.known_data(X))
        across, rate, sizes = np.zeros(len(X)), np.zeros(len(X)), np.zeros(len(X))
        for j, c in zip(equation.linear, a, strict=True):
            if j.alpha[axis]:
                rate = rate + c
            elif sum(j.alpha) == order:
                across = across + c * np.prod(normals ** np.array(j.alpha), axis=1)
            sizes = sizes + np.abs(c)
        # Of the first order what flows in, of the second whatever goes across.
        forwards = np.sign(rate) * (1.0 if evolution.forward else -1.0)
        needed = -across * forwards if order == 1 else np.abs(across)
        if bool((np.isfinite(sizes) & (needed > _NEEDED * sizes)).any()):
            return True
    return False
