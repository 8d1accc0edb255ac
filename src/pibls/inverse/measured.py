r"""g[u](xᵢ), or ∫ g[u](x, tᵢ) dx: a measured expression, compiled, at the points that it needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.geometry import space_of, time_of
from pibls.inverse.slopes import Varied
from pibls.problem import Jet, Problem
from pibls.problem.forms.integral import integral, totals
from pibls.problem.regions.total import rule_for

_POINTS = {1: 64, 2: 28, 3: 16}  # of a rule along each axis: what is measured is less exact than that

Values = Callable[[Array, tuple[Jet, ...]], Array]
Slopes = Callable[[Array, tuple[Jet, ...]], Array]


@dataclass(frozen=True)
class SummedExpression:
    """A compiled expression at points, summed over each run of them with the weights of a rule."""

    X: Array
    normals: Array
    varied: Varied
    weights: Array | None = None
    """(points of the rule,); None where each point is a value."""

    def summed(self, values: Array) -> Array:
        """(…, points) ↦ (…, values)."""
        if self.weights is None:
            return values
        out = values.reshape(*values.shape[:-1], -1, len(self.weights)) @ self.weights
        return np.asarray(out)


@dataclass(frozen=True)
class Measured:
    """A sum of such parts."""

    parts: tuple[SummedExpression, ...]

    def value(self, parameters: Sequence[float], values: Values) -> Array:
        """g, (n,)."""
        found = [
            p.summed(p.varied.at(p.X, p.normals, parameters, values(p.X, p.varied.jets))[0])
            for p in self.parts
        ]
        return np.asarray(np.sum(found, axis=0))

    def slope(
        self, parameters: Sequence[float], values: Values, slopes: Slopes | None, wanted: Sequence[int]
    ) -> Array:
        """Σ ∂g/∂J ∂J/∂θ + ∂g/∂θ, (n, parameters)."""
        total: Any = 0.0
        for p in self.parts:
            _, by_jet, explicit = p.varied.at(p.X, p.normals, parameters, values(p.X, p.varied.jets))
            out = explicit.copy()
            if p.varied.jets and slopes is not None:
                out[list(wanted)] += np.einsum("jn,kjn->kn", by_jet, slopes(p.X, p.varied.jets))
            total = total + p.summed(out).T
        return np.asarray(total)


def measured(problem: Problem, expression: Any, X: Array, symbols: Sequence[Any]) -> Measured:
    """An expression that may hold any parameter of the problem and of the fit, at its points.

    Of one with integrals the points are times, (n, 1), or nothing, (n, 0).
    """
    extra = [s for s in symbols if s not in problem.parameters]
    known = [*problem.parameters, *extra]
    language = replace(problem.language(), parameters=tuple(known))
    moving = [known.index(s) for s in symbols]
    if not expression.has(integral):
        form = language.form(expression, "Data(expression)")
        return Measured((SummedExpression(X, np.zeros_like(X), Varied.of(form, moving)),))
    space, time = space_of(problem.domain), time_of(problem.domain)
    places = [problem.coordinates.index(c) for c in space.coordinates]
    parts = []
    for form, total in totals(expression, None, problem.domain, language, "Data(expression)"):
        rule = rule_for(total.extent, space, _POINTS.get(len(places), 10))
        n, q = len(X), len(rule.weights)
        at, normals = np.zeros((2, n * q, len(problem.coordinates)))
        at[:, places] = np.tile(rule.points, (n, 1))
        normals[:, places] = np.tile(rule.normals, (n, 1))
        if time is not None:
            at[:, problem.coordinates.index(time)] = np.repeat(X[:, 0], q)
        parts.append(SummedExpression(at, normals, Varied.of(form, moving), rule.weights))
    return Measured(tuple(parts))
