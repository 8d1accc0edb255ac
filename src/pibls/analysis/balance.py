r"""∫_Ω f = ∮ n·F: what flows through all of the boundary is what the sources inside add up to.

Where conditions give the flux of an equation ∂·F(u) = f on the whole boundary, its data must agree with
each other, whatever u is: a source in a closed box, or walls that push more in than goes out, leave no
solution. That conditions do give the flux is tried: ∫ ∂·F(φ) = ∮ n·F(φ), with n·F by the conditions, for
a few functions φ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pibls.analysis.thresholds import BALANCE
from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.geometry import Domain, box_of, time_of
from pibls.geometry.integrals.gauss import Rule
from pibls.problem import Jet
from pibls.problem.forms.lowering import LoweredProblem, Residual
from pibls.problem.regions.total import Along, Extent, InShape

Values = Callable[[Jet, Array], Array]
"""(jet, points) ↦ its values."""


class Imbalance(NamedTuple):
    """An equation whose sources are not what its conditions let through the boundary."""

    name: str
    sources: float
    through: float


@dataclass(frozen=True)
class _Term:
    """One side of the balance: a residual at the points of a rule, each with its weight."""

    residual: Residual
    rule: Rule
    weights: Array

    def total(self, values: Values | None) -> tuple[float, float]:
        """Σ wᵢ r(xᵢ) and Σ |wᵢ r(xᵢ)|, of the terms with unknowns; without values, of the data."""
        r, X, normals = self.residual, self.rule.points, self.rule.normals
        data = r.known_data(X)
        if values is None:
            found = -r.rest(X, normals, data, np.empty((0, len(X))))
        else:
            jets = np.array([values(jet, X) for jet in r.linear])
            found = (r.coefficients(X, normals, data) * jets).sum(axis=0)
        return float(self.weights @ found), float(np.abs(self.weights * found).sum())


def imbalance_of(lowered: LoweredProblem, domain: Domain) -> Imbalance | None:
    """The first equation whose data do not balance; None where all do, or nothing can be said."""
    d = lowered.dimension
    if (
        not lowered.is_linear
        or lowered.interfaces.planes
        or time_of(domain) is not None
        or d not in BALANCE.nodes
    ):
        return None
    conditions = [r for r in lowered.residuals if r.region.is_boundary and r.region.sites == 1]
    for equation in (r for r in lowered.residuals if r.region.is_inside):
        flux = [c for c in conditions if _gives_flux(c, equation)]
        if not flux or any(sum(jet.alpha) not in (1, 2) for jet in equation.linear):
            continue
        few, many = BALANCE.nodes[d]
        try:
            # Data that are rounding, sin(πx) at x = 1, change altogether where the place does by a rounding.
            rough = _sums(_terms(equation, flux, domain, few, BALANCE.aside), None)
            if not _share(rough) > BALANCE.apart:
                continue
            terms = _terms(equation, flux, domain, many)
        except ProblemError:  # there is no rule for such a boundary
            continue
        sums, waves = _sums(terms, None), (_wave(lowered, domain, key) for key in range(BALANCE.tried))
        agree = np.abs(rough - sums).max() < BALANCE.sure * abs(float(sums[:, 0].sum()))
        if (
            agree
            and _share(sums) > BALANCE.apart
            and all(_share(_sums(terms, w)) < BALANCE.same for w in waves)
        ):
            sources, *through = sums[:, 0].tolist()
            return Imbalance(equation.name, sources, 0.0 - sum(through))
    return None


def _orders(equation: Residual, unknown: int) -> set[int]:
    return {sum(jet.alpha) for jet in equation.linear if jet.unknown == unknown}


def _gives_flux(condition: Residual, equation: Residual) -> bool:
    """Whether it gives derivatives of an unknown that the equation has second ones of, or values."""
    unknowns = {jet.unknown for jet in condition.linear}
    if len(unknowns) != 1:
        return False
    highest = max(_orders(equation, *unknowns), default=0)
    return highest > 0 and {sum(jet.alpha) for jet in condition.linear} == {highest - 1}


def _terms(
    equation: Residual, flux: list[Residual], domain: Domain, n: int, aside: float = 0.0
) -> list[_Term]:
    """All of a balance, at places that are moved ``aside`` by that share of their distance to the middle."""
    middle = box_of(domain).mean(axis=1)

    def moved(extent: Extent) -> Rule:
        rule = extent.rule(domain, n)
        return replace(rule, points=rule.points + aside * (middle - rule.points))

    through = [(condition, moved(Along(condition.region))) for condition in flux]
    inside = moved(InShape(None))
    return [
        _Term(equation, inside, inside.weights),
        *(_Term(c, rule, -rule.weights * _factor(c, equation, rule)) for c, rule in through),
    ]


def _factor(condition: Residual, equation: Residual, rule: Rule) -> Array:
    """n·F over what the condition gives: n·A n / n·c for F = A∇u and c·∇u = g; n·b / c for F = b u."""
    X, normals, unknown = rule.points, rule.normals, condition.linear[0].unknown
    highest = max(_orders(equation, unknown))

    def along(r: Residual, at: Array) -> Array:
        coefficients = r.coefficients(X, at, r.known_data(X))
        mine = [i for i, j in enumerate(r.linear) if j.unknown == unknown and sum(j.alpha) >= highest - 1]
        mine = [i for i in mine if r is condition or sum(r.linear[i].alpha) == highest]
        found: Array = np.sum(
            [coefficients[i] * np.prod(normals ** np.array(r.linear[i].alpha), axis=1) for i in mine], axis=0
        )
        return found

    with np.errstate(divide="ignore", invalid="ignore"):
        factor = along(equation, np.zeros_like(X)) / along(condition, normals)
    return np.where(np.isfinite(factor), factor, 0.0)


def _sums(terms: list[_Term], values: Values | None) -> Array:
    """Of each side its sum, and that of its sizes."""
    return np.array([term.total(values) for term in terms])


def _share(sums: Array) -> float:
    """|Σ| of a balance over what it is made of."""
    total, size = sums.sum(axis=0)
    return float(abs(total) / size) if size > 0 else 0.0


def _wave(lowered: LoweredProblem, domain: Domain, key: int) -> Values:
    """cos(ω·x + p), another for each unknown; along what repeats, with whole periods."""
    box = box_of(domain)
    width = box[:, 1] - box[:, 0]
    rng = np.random.default_rng(key)
    turns = rng.uniform(0.3, 1.2, (lowered.unknowns, len(box)))
    for axis in {r.region.period for r in lowered.residuals} - {None}:
        turns[:, axis] = 1.0 + key
    phase = rng.uniform(0.0, 2.0 * np.pi, lowered.unknowns)

    def values(jet: Jet, X: Array) -> Array:
        omega = 2.0 * np.pi * turns[jet.unknown] / width
        order = sum(jet.alpha)
        found = np.cos((X - box[:, 0]) @ omega + phase[jet.unknown] + 0.5 * np.pi * order)
        return np.asarray(found * np.prod(omega ** np.array(jet.alpha)))

    return values
