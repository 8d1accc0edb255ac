r"""Balance of sources and boundary fluxes, ∫_Ω f = ∮ n·F, for equations ∇·F(u) = f.

If the conditions prescribe the flux on the whole boundary, the data must satisfy the balance, or there is no
solution: for example a source in a closed box, or more inflow than outflow. Whether the conditions prescribe
the flux is tested numerically: ∫ ∇·F(φ) = ∮ n·F(φ), with n·F from the conditions, for a few functions φ.
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
from pibls.geometry.integrals.gauss import QuadratureRule
from pibls.problem import PartialDerivative
from pibls.problem.forms.compilation import CompiledProblem, Residual
from pibls.problem.regions.integral_region import IntegrationDomain, ShapeInterior, SurfacePart

Values = Callable[[PartialDerivative, Array], Array]
"""Maps (derivative, points) to its values."""


class FluxImbalance(NamedTuple):
    """An equation whose sources differ from the prescribed flux through the boundary."""

    name: str
    sources: float
    boundary_flux: float


@dataclass(frozen=True)
class _Term:
    """One integral of the balance: a residual at the points of a quadrature rule, with weights."""

    residual: Residual
    rule: QuadratureRule
    weights: Array

    def total(self, values: Values | None) -> tuple[float, float]:
        """Return Σ wᵢ r(xᵢ) and Σ |wᵢ r(xᵢ)| of the linear terms, or of the data if ``values`` is None."""
        r, X, normals = self.residual, self.rule.points, self.rule.normals
        data = r.data_function_values(X)
        if values is None:
            found = -r.rest(X, normals, data, np.empty((0, len(X))))
        else:
            derivatives = np.array([values(derivative, X) for derivative in r.linear])
            found = (r.coefficients(X, normals, data) * derivatives).sum(axis=0)
        return float(self.weights @ found), float(np.abs(self.weights * found).sum())


def flux_imbalance(compiled: CompiledProblem, domain: Domain) -> FluxImbalance | None:
    """Return the first equation whose data violate the balance; None if there is none, or it is not known."""
    d = compiled.dimension
    if (
        not compiled.is_linear
        or compiled.interfaces.planes
        or time_of(domain) is not None
        or d not in BALANCE.nodes
    ):
        return None
    conditions = [r for r in compiled.residuals if r.region.is_boundary and r.region.sites == 1]
    for equation in compiled.equations:
        flux = [c for c in conditions if _prescribes_flux(c, equation)]
        if not flux or any(sum(derivative.alpha) not in (1, 2) for derivative in equation.linear):
            continue
        found = _imbalance_of(equation, flux, compiled, domain)
        if found is not None:
            return found
    return None


def _imbalance_of(
    equation: Residual, flux: list[Residual], compiled: CompiledProblem, domain: Domain
) -> FluxImbalance | None:
    """Return the imbalance of an equation with its conditions on the flux, if it is significant."""
    coarse, fine = BALANCE.nodes[compiled.dimension]
    try:
        # Shifted points: data that are pure rounding, such as sin(πx) at x = 1, change completely.
        shifted = _sums(_terms(equation, flux, domain, coarse, BALANCE.point_shift), None)
        if not _relative_imbalance(shifted) > BALANCE.min_relative_imbalance:
            return None
        terms = _terms(equation, flux, domain, fine)
    except ProblemError:  # there is no quadrature rule for this boundary
        return None
    sums = _sums(terms, None)
    if not np.abs(shifted - sums).max() < BALANCE.max_rule_difference * abs(float(sums[:, 0].sum())):
        return None
    if not _relative_imbalance(sums) > BALANCE.min_relative_imbalance:
        return None
    test_functions = (_test_function(compiled, domain, key) for key in range(BALANCE.test_functions))
    if not all(_relative_imbalance(_sums(terms, w)) < BALANCE.flux_tol for w in test_functions):
        return None
    sources, *boundary_integrals = sums[:, 0].tolist()
    return FluxImbalance(equation.name, sources, 0.0 - sum(boundary_integrals))


def _orders(equation: Residual, unknown: int) -> set[int]:
    return {sum(derivative.alpha) for derivative in equation.linear if derivative.unknown == unknown}


def _prescribes_flux(condition: Residual, equation: Residual) -> bool:
    """Whether a condition prescribes derivatives of one unknown of one order below the equation's highest."""
    unknowns = {derivative.unknown for derivative in condition.linear}
    if len(unknowns) != 1:
        return False
    highest = max(_orders(equation, *unknowns), default=0)
    return highest > 0 and {sum(derivative.alpha) for derivative in condition.linear} == {highest - 1}


def _terms(
    equation: Residual, flux: list[Residual], domain: Domain, n: int, shift: float = 0.0
) -> list[_Term]:
    """Return all integrals of a balance, with points shifted towards the centre by the fraction ``shift``."""
    middle = box_of(domain).mean(axis=1)

    def moved(extent: IntegrationDomain) -> QuadratureRule:
        rule = extent.rule(domain, n)
        return replace(rule, points=rule.points + shift * (middle - rule.points))

    boundary_integrals = [(condition, moved(SurfacePart(condition.region))) for condition in flux]
    inside = moved(ShapeInterior(None))
    return [
        _Term(equation, inside, inside.weights),
        *(_Term(c, rule, -rule.weights * _factor(c, equation, rule)) for c, rule in boundary_integrals),
    ]


def _factor(condition: Residual, equation: Residual, rule: QuadratureRule) -> Array:
    """Return n·F over the condition: n·A n / n·c for F = A∇u and c·∇u = g; n·b / c for F = b u."""
    X, normals, unknown = rule.points, rule.normals, condition.linear[0].unknown
    highest = max(_orders(equation, unknown))

    def along(r: Residual, at: Array) -> Array:
        coefficients = r.coefficients(X, at, r.data_function_values(X))
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
    """Return the sum and the sum of absolute values of each integral."""
    return np.array([term.total(values) for term in terms])


def _relative_imbalance(sums: Array) -> float:
    """Return |Σ| of a balance relative to the sum of absolute values."""
    total, size = sums.sum(axis=0)
    return float(abs(total) / size) if size > 0 else 0.0


def _test_function(compiled: CompiledProblem, domain: Domain, key: int) -> Values:
    """Return test functions cos(ω·x + p), one per unknown; periodic along periodic coordinates."""
    box = box_of(domain)
    width = box[:, 1] - box[:, 0]
    rng = np.random.default_rng(key)
    turns = rng.uniform(0.3, 1.2, (compiled.unknowns, len(box)))
    for axis in {r.region.periodic_axis for r in compiled.residuals} - {None}:
        turns[:, axis] = 1.0 + key
    phase = rng.uniform(0.0, 2.0 * np.pi, compiled.unknowns)

    def values(derivative: PartialDerivative, X: Array) -> Array:
        omega = 2.0 * np.pi * turns[derivative.unknown] / width
        order = sum(derivative.alpha)
        found = np.cos((X - box[:, 0]) @ omega + phase[derivative.unknown] + 0.5 * np.pi * order)
        return np.asarray(found * np.prod(omega ** np.array(derivative.alpha)))

    return values
