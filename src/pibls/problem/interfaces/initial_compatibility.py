r"""Compatibility of initial and boundary data, ∂_t^m B[u] = 0 at (a, t₀), m = 0, 1, …, of a linear evolution.

The equations determine all time derivatives ∂_t^j u at the initial time, one after the other, from the
initial data. If they violate the boundary condition B, or one of its time derivatives, at an end, then that
derivative of the solution jumps along the characteristics that start there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
import sympy as sp

from pibls.arrays import Array
from pibls.expressions import Expression
from pibls.problem.forms.compiled_expressions import compile_expressions
from pibls.problem.forms.form import Form, PartialDerivative
from pibls.problem.interfaces.branches import branch_at
from pibls.problem.interfaces.discontinuities import SwitchContext
from pibls.runtime.caching import cached_property

_COMPATIBILITY_TOLERANCE = 1e-9  # relative to the terms
_OFFSET = 1e-6  # of the domain: distance from a corner at which branches are determined
_SIZE_SAMPLES = 7  # points at which the size of a term is determined

Rates = Mapping[tuple[int, int], Expression]
"""{(unknown, j): ∂_t^j of it at the initial time}"""


@dataclass(frozen=True)
class InitialCompatibility:
    """Initial data of linear evolution equations, which are solved for the highest time derivatives."""

    context: SwitchContext
    equations: Sequence[Form]
    orders: Sequence[int]
    given: Rates

    def first_incompatible_derivative(self, x: float, end: Sequence[Form], most: int) -> int | None:
        """Return the order of the first incompatible derivative at an end; None if none is up to ``most``."""
        rates = self._rates(x, most)
        side = sp.Integer(-1 if x == float(self.context.box[0, 0]) else 1)
        normal = dict(zip(self.context.variables.normals, (side, sp.Integer(0)), strict=True))
        found = []
        for form in end:
            order = max(sum(j.alpha) for j in form.derivatives)
            terms = [(derivative, self._branch(a, x).xreplace(normal)) for derivative, a in _terms(form)]
            for m in range(most + 1 - order):
                if not _is_zero_sum(
                    [self._values(self._rate(derivative, a, rates, m), x) for derivative, a in terms]
                ):
                    found.append(m + order)
                    break
        return min(found, default=None)

    def first_incompatible_periodic_derivative(self, most: int) -> int | None:
        """Return the order of the first derivative of the initial data that is not periodic."""
        X, found = self.context.variables.coordinates[0], []
        for (_, j), value in self.given.items():
            for m in range(most + 1 - j):
                low, high = (
                    self._values(sp.diff(self._branch(value, x), X, m), x)
                    for x in self.context.box[0].tolist()
                )
                if not _is_zero_sum([low, -high]):
                    found.append(m + j)
                    break
        return min(found, default=None)

    def has_branch_change(self, form: Form, axis: int, level: float) -> bool:
        """Return whether a statement has different branches on the two sides of x_axis = level."""
        step = _OFFSET * float(np.ptp(self.context.box[axis]))
        sides = self.context.box[:, 0] + np.zeros((2, 2))
        sides[:, axis] = level - step, level + step
        before, after = ([branch_at(a, self._value(p)) for _, a in _terms(form)] for p in sides)
        return before != after

    @cached_property
    def _inverse_leading_matrix(self) -> sp.Matrix:
        """Inverse of the matrix of coefficients of the highest time derivatives."""
        out = sp.zeros(len(self.orders))
        for i, form in enumerate(self.equations):
            for derivative, a in form.linear:
                if derivative.alpha == (0, self.orders[derivative.unknown]):
                    out[i, derivative.unknown] += self.context.with_parameters(a)
        return out.inv()

    def _rates(self, x: float, most: int) -> dict[tuple[int, int], Expression]:
        """Return the initial time derivatives near an end, as functions of x."""
        rates = {key: self._branch(value, x) for key, value in self.given.items()}
        equations = [
            [(derivative, self._branch(a, x)) for derivative, a in _terms(form)] for form in self.equations
        ]
        for m in range(most + 1 - min(self.orders)):
            left = [
                sum(self._rate(derivative, a, rates, m) for derivative, a in terms) for terms in equations
            ]
            for k, value in enumerate(-self._inverse_leading_matrix * sp.Matrix(left)):
                rates[k, self.orders[k] + m] = sp.expand(value)
        return rates

    def _rate(self, derivative: PartialDerivative | None, a: Expression, rates: Rates, m: int) -> Expression:
        """Return ∂_t^m (a ∂^α u) at the initial time; terms with unknown time derivatives are omitted."""
        X, t = self.context.variables.coordinates
        at = {t: sp.Float(float(self.context.box[1, 0]), 17)}
        if derivative is None:
            return sp.diff(a, t, m).xreplace(at)
        known = ((i, rates.get((derivative.unknown, derivative.alpha[1] + i))) for i in range(m + 1))
        return sum(
            (
                comb(m, i) * sp.diff(a, t, m - i).xreplace(at) * sp.diff(u, X, derivative.alpha[0])
                for i, u in known
                if u is not None
            ),
            sp.Integer(0),
        )

    def _values(self, e: Expression, x: float) -> Array:
        """Return an expression at the initial time, at an end and at sample points."""
        low, high = self.context.box[0].tolist()
        at = np.concatenate([[x], np.linspace(low, high, _SIZE_SAMPLES)])
        with np.errstate(all="ignore"):
            found = compile_expressions(self.context.variables.coordinates, [e])(
                at, self.context.box[1, 0] + 0.0 * at
            )[0]
        return np.asarray(np.broadcast_to(found, at.shape), dtype=float)

    def _branch(self, e: Expression, x: float) -> Expression:
        """Return an expression with the branches that apply near an end at the initial time."""
        (low, high), (start, stop) = self.context.box.tolist()
        inside = np.array([x + _OFFSET * (0.5 * (low + high) - x), start + _OFFSET * (stop - start)])
        return branch_at(self.context.with_parameters(e), self._value(inside))

    def _value(self, point: Array) -> Callable[[Expression], float | None]:
        symbols = self.context.variables.coordinates

        def value(inner: Expression) -> float | None:
            fixed = self.context.with_parameters(inner)
            if not fixed.free_symbols <= set(symbols):
                return None
            with np.errstate(all="ignore"):
                return float(np.ravel(compile_expressions(symbols, [fixed])(*point[:, None])[0])[0])

        return value


def _terms(form: Form) -> list[tuple[PartialDerivative | None, Expression]]:
    """Return the terms (derivative, coefficient) of a linear statement; None for the given term."""
    return [*form.linear, (None, form.rest)]


def _is_zero_sum(terms: Sequence[Array]) -> bool:
    """Return whether the sum of the terms vanishes at the first point, relative to their size."""
    values = np.array(terms)
    return bool(
        abs(values[:, 0].sum()) <= _COMPATIBILITY_TOLERANCE * np.nan_to_num(np.abs(values)).sum(axis=0).max()
    )
