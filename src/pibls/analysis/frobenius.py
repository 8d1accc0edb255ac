r"""Frobenius exponents at the singular end points of an ordinary differential equation.

With s the distance from the end, u⁽ᵐ⁾ + Σ b_j s^(j - m) u⁽ʲ⁾ = f has a regular singular point there if all
b_j stay finite. The solution is a sum of powers s^α, s^(α+1), …, where α solves the indicial equation α(α -
1)…(α - m + 1) + Σ b_j(0) α(α - 1)…(α - j + 1) = 0. A source like s^(γ - m) adds s^γ, and a term s^δ of b_j
adds s^(α + δ). Integer powers are left to the smooth basis; if two of them are roots, the larger one comes
with log s. Unbounded solutions are excluded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import sympy as sp

from pibls.analysis.singular_points import Strength
from pibls.analysis.thresholds import SINGULAR_ENDS
from pibls.arrays import Array
from pibls.basis.singular.corner_functions import Singular, Tip
from pibls.geometry import box_of
from pibls.problem import Form, Initial, Problem

_PRECISION_DIGITS = 300
_NEAR, _NEARER, _NEAREST = (sp.Rational(1, 10**n) for n in (60, 80, 120))
_INTEGER_TOL = 1e-9  # powers closer to an integer are integers
_TYPICAL = sp.Rational(7, 10)  # typical value of the unknown solution and its derivatives


@dataclass(frozen=True)
class SingularEnd:
    """A singular end point of an interval, with its exponents as (power, whether with a logarithm)."""

    point: tuple[float]
    inward: int
    length: float
    powers: tuple[tuple[float, bool], ...]

    @property
    def min_exponent(self) -> float:
        """The least non-integer power."""
        return min((p for p, log in self.powers if not log), default=np.inf)

    @property
    def strength(self) -> Strength:
        return max(Strength.of_power(self.min_exponent), Strength.MODERATE)

    @property
    def reason(self) -> str:
        return "singular end point"

    @property
    def functions(self) -> Singular:
        tip = Tip(self.point, 0.0 if self.inward > 0 else np.pi, self.length)
        return Singular(tip, tuple((p, 0, int(log), 0.0) for p, log in self.powers))

    def points_towards(self, levels: int, shift: float) -> Array:
        """Return points (n, 1) whose distance to the end decreases geometrically."""
        r = 0.25 * self.length * 0.5 ** (np.arange(levels) + shift)
        return np.asarray((self.point[0] + self.inward * r)[:, None])


def _boundary_value_form(problem: Problem) -> Form | None:
    """Return the only equation of a boundary value problem on an interval, without data functions."""
    forms = [s.form for s in problem.statements if s.region.is_interior]
    if len(problem.domain.coordinates) != 1 or len(forms) != 1 or forms[0].data:
        return None
    if len(problem.unknowns) != 1 or any(isinstance(c, Initial) for c in problem.conditions):
        return None
    return forms[0]


def singular_ends(problem: Problem) -> tuple[SingularEnd, ...]:
    """Return the end points of an interval at which a scalar equation is singular."""
    form = _boundary_value_form(problem)
    if form is None or any(sum(j.alpha) == _order(form) for j, _ in form.nonlinear):
        return ()
    ((a, b),) = box_of(problem.domain).tolist()
    given = dict(zip(form.variables.parameters, map(sp.Float, problem.parameters.values()), strict=True))
    given |= {symbol: _TYPICAL for _, symbol in form.nonlinear}
    x = form.variables.coordinates[0]
    out = []
    for point, inward in ((a, 1), (b, -1)):

        def value(
            e: Any, s: Any, digits: int = _PRECISION_DIGITS, point: float = point, inward: int = inward
        ) -> Any:
            return sp.N(e.xreplace(given | {x: sp.Rational(point) + inward * s}), digits)

        def vanishes(e: Any, value: Callable[..., Any] = value) -> bool:
            # A quotient of two poles has no value at the end itself.
            there = value(e, 0, 15)
            return bool(abs(value(e, _NEAREST, 15) if there is sp.nan else there) < _INTEGER_TOL)

        if _may_be_singular(form, vanishes):
            powers = tuple(_powers(form, value, inward))
            out += [SingularEnd((point,), inward, b - a, powers)] if powers else []
    return tuple(out)


def _order(form: Form) -> int:
    return max((sum(j.alpha) for j in form.derivatives), default=0)


def _may_be_singular(form: Form, vanishes: Callable[[Any], bool]) -> bool:
    """Whether the leading coefficient, the argument of a root, or a denominator vanishes at the end."""
    x, most = form.variables.coordinates[0], _order(form)
    if any(sum(j.alpha) == most and a.has(x) and vanishes(a) for j, a in form.linear):
        return True
    parts = (p for e in (form.rest, *(a for _, a in form.linearization)) for p in e.atoms(sp.Pow))
    vanishing_candidates = (p.base for p in parts if p.base.has(x) and not (p.exp.is_Integer and p.exp > 0))
    return any(vanishes(base) for base in vanishing_candidates)


def _powers(form: Form, value: Callable[[Any, Any], Any], inward: int) -> Iterator[tuple[float, bool]]:
    """Yield the powers of an end, lowest first; none if it is not known to be a regular singular point."""
    m, slopes = _order(form), _slopes(form)
    nonlinear_orders = {sum(j.alpha) for j, _ in form.nonlinear}

    def against(e: Any, j: int) -> Callable[[Any], Any]:
        """Return e s^(m - j) divided by the leading coefficient: the factor of α(α - 1)…(α - j + 1)."""
        return lambda s: value(e, s) * inward ** (m - j) * s ** (m - j) / value(slopes[m], s)

    roots, steps, analytic = [0] * m, {1.0}, True
    for j in (j for j in slopes if j < m):
        b = against(slopes[j], j)
        power = _power(b)
        if power is None or power < -_INTEGER_TOL or (power < _INTEGER_TOL and j in nonlinear_orders):
            return
        if power < _INTEGER_TOL:
            roots[j] = b(_NEAREST)
            power, analytic = _power(b, roots[j]), False
        if power is not None and np.isfinite(power):
            analytic &= power > m - j - _INTEGER_TOL
            steps.add(power)
    source = _power(against(form.rest, 0))
    if source is None or source < _INTEGER_TOL:
        return
    alphas = [a for a in _indicial(roots) if a > -_INTEGER_TOL]
    logs = [] if analytic else _logarithmic_powers(alphas)
    yield from _shifted_powers([a for a in (*alphas, source) if np.isfinite(a)], logs, steps)


def _slopes(form: Form) -> dict[int, Any]:
    """Return the sum of the coefficients of the linearization by the order of the derivative."""
    out: dict[int, Any] = {}
    for derivative, a in form.linearization:
        out[sum(derivative.alpha)] = out.get(sum(derivative.alpha), 0) + a
    return out


def _logarithmic_powers(alphas: list[float]) -> list[float]:
    """Return the highest integer power, which has a logarithm if there is another one."""
    whole = sorted({round(a) for a in alphas if _is_integer(a)})
    return [] if len(whole) < 2 else [float(whole[-1])]


def _shifted_powers(
    starts: list[float], logs: list[float], steps: set[float]
) -> Iterator[tuple[float, bool]]:
    """Yield the lowest powers start + Σ n_i δ_i."""
    for first, log in ((starts, False), (logs, True)):
        found = new = {round(p, 12) for p in first}
        top = SINGULAR_ENDS.max_functions + max(first, default=0.0)
        while new:
            new = {round(p + d, 12) for p in new for d in steps if p + d <= top} - found
            found = found | new
        wanted = (p for p in sorted(found) if log or not _is_integer(p))
        yield from islice(((p, log) for p in wanted), SINGULAR_ENDS.max_functions)


def _indicial(factors: list[Any]) -> list[float]:
    """Return the real roots of α(α - 1)…(α - m + 1) + Σ b_j α(α - 1)…(α - j + 1)."""
    a = sp.Symbol("a")
    terms = (b * sp.ff(a, j) for j, b in enumerate([*factors, sp.Integer(1)]))
    polynomial = sp.Poly(sp.expand(sp.expand_func(sp.Add(*terms))), a)
    roots = (complex(r) for r in polynomial.nroots(n=30, maxsteps=200))
    return [r.real for r in roots if abs(r.imag) < _INTEGER_TOL]


def _power(f: Callable[[Any], Any], limit: Any = 0) -> float | None:
    """Return p of f(s) - limit ~ c s^p as s → 0, infinite for zero; None if there is none, as for log s."""
    found = []
    for s in (_NEAR, _NEARER):
        one, two = f(s) - limit, f(s / 10) - limit
        if one == 0 and two == 0:
            return np.inf
        ratio = one / two if two != 0 else sp.nan
        if not (ratio.is_real and ratio.is_finite and ratio > 0):
            return None
        found.append(float(sp.log(ratio, 10)))
    return found[1] if abs(found[0] - found[1]) < _INTEGER_TOL else None


def _is_integer(p: float) -> bool:
    return abs(p - round(p)) < _INTEGER_TOL
