r"""Observation operators g[u](xᵢ) and ∫ g[u](x, tᵢ) dx: measured expressions, compiled at their points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.expressions import Expression, Parameter
from pibls.geometry import space_of, time_of
from pibls.inverse.parameter_derivatives import DifferentiatedExpression
from pibls.problem import PartialDerivative, Problem
from pibls.problem.forms.integral import integral, integral_terms
from pibls.problem.regions.integral_region import cached_rule

_QUADRATURE_POINTS = {1: 64, 2: 28, 3: 16}  # along each axis, by dimension; more accurate than data are

Values = Callable[[Array, tuple[PartialDerivative, ...]], Array]
Derivatives = Callable[[Array, tuple[PartialDerivative, ...]], Array]


@dataclass(frozen=True)
class SummedExpression:
    """A compiled expression at points, summed over consecutive points with quadrature weights."""

    X: Array
    normals: Array
    expression: DifferentiatedExpression
    weights: Array | None = None
    """(quadrature points,); None if each point gives one value."""

    def apply_weights(self, values: Array) -> Array:
        """Sum over the quadrature points, (…, points) ↦ (…, values)."""
        if self.weights is None:
            return values
        out = values.reshape(*values.shape[:-1], -1, len(self.weights)) @ self.weights
        return np.asarray(out)


@dataclass(frozen=True)
class Observation:
    """An observation operator: a sum of `SummedExpression`."""

    parts: tuple[SummedExpression, ...]

    def value(self, parameters: Sequence[float], values: Values) -> Array:
        """Return g, (n,)."""
        found = [
            p.apply_weights(
                p.expression.at(p.X, p.normals, parameters, values(p.X, p.expression.derivatives))[0]
            )
            for p in self.parts
        ]
        return np.asarray(np.sum(found, axis=0))

    def jacobian(
        self,
        parameters: Sequence[float],
        values: Values,
        derivatives: Derivatives | None,
        columns: Sequence[int],
    ) -> Array:
        """Return Σ ∂g/∂J ∂J/∂θ + ∂g/∂θ, (n, parameters)."""
        total: Any = 0.0
        for p in self.parts:
            _, by_derivative, explicit = p.expression.at(
                p.X, p.normals, parameters, values(p.X, p.expression.derivatives)
            )
            out = explicit.copy()
            if p.expression.derivatives and derivatives is not None:
                out[list(columns)] += np.einsum(
                    "jn,kjn->kn", by_derivative, derivatives(p.X, p.expression.derivatives)
                )
            total = total + p.apply_weights(out).T
        return np.asarray(total)


def compile_observation(
    problem: Problem, expression: Expression, X: Array, symbols: Sequence[Parameter]
) -> Observation:
    """Compile an expression of the unknowns and of the parameters of problem and fit, at its points.

    If it contains integrals, the points are times, (n, 1), or empty, (n, 0).
    """
    extra = [s for s in symbols if s not in problem.parameters]
    known = [*problem.parameters, *extra]
    language = replace(problem.symbol_table(), parameters=tuple(known))
    parameter_indices = [known.index(s) for s in symbols]
    if not expression.has(integral):
        form = language.form(expression, "Data(expression)")
        return Observation(
            (SummedExpression(X, np.zeros_like(X), DifferentiatedExpression.of(form, parameter_indices)),)
        )
    space, time = space_of(problem.domain), time_of(problem.domain)
    places = [problem.coordinates.index(c) for c in space.coordinates]
    parts = []
    for form, total in integral_terms(expression, None, problem.domain, language, "Data(expression)"):
        rule = cached_rule(total.integration_domain, space, _QUADRATURE_POINTS.get(len(places), 10))
        n, q = len(X), len(rule.weights)
        at, normals = np.zeros((2, n * q, len(problem.coordinates)))
        at[:, places] = np.tile(rule.points, (n, 1))
        normals[:, places] = np.tile(rule.normals, (n, 1))
        if time is not None:
            at[:, problem.coordinates.index(time)] = np.repeat(X[:, 0], q)
        parts.append(
            SummedExpression(at, normals, DifferentiatedExpression.of(form, parameter_indices), rule.weights)
        )
    return Observation(tuple(parts))
