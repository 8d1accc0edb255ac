r"""s^α, s^(α+1), …: what a solution on a line is made of at an end where its equation is singular.

With s the distance from the end, u⁽ᵐ⁾ + Σ b_j s^(j - m) u⁽ʲ⁾ = f has a regular singular point there if all
b_j stay finite. Then α solves α(α - 1)…(α - m + 1) + Σ b_j(0) α(α - 1)…(α - j + 1) = 0, a source like
s^(γ - m) brings s^γ, and what b_j has besides, s^δ, brings s^(α + δ). Powers that are whole numbers are left
to waves; where two of them are roots, the larger one comes with log s. What is infinite at the end is no
solution that anyone asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import sympy as sp

from pibls.analysis.thresholds import SINGULAR_ENDS
from pibls.arrays import Array
from pibls.basis.singular.tips import Singular, Tip
from pibls.geometry import box_of
from pibls.problem import Form, Initial, Problem

_DIGITS = 300
_NEAR, _NEARER, _NEAREST = (sp.Rational(1, 10**n) for n in (60, 80, 120))
_WHOLE = 1e-9  # a power as close to a whole number is one
_TYPICAL = sp.Rational(7, 10)  # of a solution that is not known yet, and of its derivatives


@dataclass(frozen=True)
class SingularEnd:
    """An end of an interval, the way from it into the domain, and (power, whether with a logarithm)."""

    point: float
    way: int
    length: float
    powers: tuple[tuple[float, bool], ...]

    @property
    def first(self) -> float:
        """The least power that is no whole number."""
        return min((p for p, log in self.powers if not log), default=np.inf)

    @property
    def functions(self) -> Singular:
        tip = Tip((self.point,), 0.0 if self.way > 0 else np.pi, self.length)
        return Singular(tip, tuple((p, 0, int(log), 0.0) for p, log in self.powers))

    def towards(self, levels: int, shift: float) -> Array:
        """Points (n, 1) at ever smaller distances."""
        r = 0.25 * self.length * 0.5 ** (np.arange(levels) + shift)
        return np.asarray((self.point + self.way * r)[:, None])


def singular_ends(problem: Problem) -> tuple[SingularEnd, ...]:
    """The ends of an interval at which one equation for one unknown is singular."""
    forms = [s.form for s in problem.statements if s.region.is_inside]
    if len(problem.domain.coordinates) != 1 or len(forms) != 1 or forms[0].data:
        return ()
    if len(problem.unknowns) != 1 or any(isinstance(c, Initial) for c in problem.conditions):
        return ()
    form, ((a, b),) = forms[0], box_of(problem.domain).tolist()
    if any(sum(j.alpha) == _order(form) for j, _ in form.nonlinear):
        return ()
    given = dict(zip(form.variables.parameters, map(sp.Float, problem.parameters.values()), strict=True))
    given |= {symbol: _TYPICAL for _, symbol in form.nonlinear}
    x = form.variables.coordinates[0]
    out = []
    for point, way in ((a, 1), (b, -1)):

        def value(e: Any, s: Any, digits: int = _DIGITS, point: float = point, way: int = way) -> Any:
            return sp.N(e.xreplace(given | {x: sp.Rational(point) + way * s}), digits)

        def vanishes(e: Any, value: Callable[..., Any] = value) -> bool:
            # Of a quotient of two poles there is no value at the end itself.
            there = value(e, 0, 15)
            return bool(abs(value(e, _NEAREST, 15) if there is sp.nan else there) < _WHOLE)

        if _may_be_singular(form, vanishes):
            powers = tuple(_powers(form, value, way))
            out += [SingularEnd(point, way, b - a, powers)] if powers else []
    return tuple(out)


def _order(form: Form) -> int:
    return max((sum(j.alpha) for j in form.jets), default=0)


def _may_be_singular(form: Form, vanishes: Callable[[Any], bool]) -> bool:
    """Whether the factor of the highest derivative vanishes, or what a root or a pole is taken of."""
    x, most = form.variables.coordinates[0], _order(form)
    if any(sum(j.alpha) == most and a.has(x) and vanishes(a) for j, a in form.linear):
        return True
    parts = (p for e in (form.rest, *(a for _, a in form.slopes)) for p in e.atoms(sp.Pow))
    rough = (p.base for p in parts if p.base.has(x) and not (p.exp.is_Integer and p.exp > 0))
    return any(vanishes(base) for base in rough)


def _powers(form: Form, value: Callable[[Any, Any], Any], way: int) -> Iterator[tuple[float, bool]]:
    """The powers that belong to an end, lowest first; none where it is not known to be a regular one."""
    m = _order(form)
    slopes: dict[int, Any] = {}
    for jet, a in form.slopes:
        slopes[sum(jet.alpha)] = slopes.get(sum(jet.alpha), 0) + a
    bent = {sum(j.alpha) for j, _ in form.nonlinear}

    def against(e: Any, j: int) -> Callable[[Any], Any]:
        """e s^(m - j) over the highest factor: what stands before α(α - 1)…(α - j + 1)."""
        return lambda s: value(e, s) * way ** (m - j) * s ** (m - j) / value(slopes[m], s)

    roots, steps, analytic = [0] * m, {1.0}, True
    for j in (j for j in slopes if j < m):
        b = against(slopes[j], j)
        power = _power(b)
        if power is None or power < -_WHOLE or (power < _WHOLE and j in bent):
            return
        if power < _WHOLE:
            roots[j] = b(_NEAREST)
            power, analytic = _power(b, roots[j]), False
        if power is not None and np.isfinite(power):
            analytic &= power > m - j - _WHOLE
            steps.add(power)
    source = _power(against(form.rest, 0))
    if source is None or source < _WHOLE:
        return
    alphas = [a for a in _indicial(roots) if a > -_WHOLE]
    whole = sorted({round(a) for a in alphas if _is_whole(a)})
    logs = [] if analytic or len(whole) < 2 else [float(whole[-1])]
    yield from _spread([a for a in (*alphas, source) if np.isfinite(a)], logs, steps)


def _spread(starts: list[float], logs: list[float], steps: set[float]) -> Iterator[tuple[float, bool]]:
    """start + Σ n_i δ_i, the lowest of them."""
    for first, log in ((starts, False), (logs, True)):
        found = new = {round(p, 12) for p in first}
        top = SINGULAR_ENDS.most + max(first, default=0.0)
        while new:
            new = {round(p + d, 12) for p in new for d in steps if p + d <= top} - found
            found = found | new
        wanted = (p for p in sorted(found) if log or not _is_whole(p))
        yield from islice(((p, log) for p in wanted), SINGULAR_ENDS.most)


def _indicial(factors: list[Any]) -> list[float]:
    """The real roots of α(α - 1)…(α - m + 1) + Σ b_j α(α - 1)…(α - j + 1)."""
    a = sp.Symbol("a")
    terms = (b * sp.ff(a, j) for j, b in enumerate([*factors, sp.Integer(1)]))
    polynomial = sp.Poly(sp.expand(sp.expand_func(sp.Add(*terms))), a)
    roots = (complex(r) for r in polynomial.nroots(n=30, maxsteps=200))
    return [r.real for r in roots if abs(r.imag) < _WHOLE]


def _power(f: Callable[[Any], Any], limit: Any = 0) -> float | None:
    """p of f(s) - limit ~ c s^p as s → 0, infinite for zero; None where there is none, as of log s."""
    found = []
    for s in (_NEAR, _NEARER):
        one, two = f(s) - limit, f(s / 10) - limit
        if one == 0 and two == 0:
            return np.inf
        ratio = one / two if two != 0 else sp.nan
        if not (ratio.is_real and ratio.is_finite and ratio > 0):
            return None
        found.append(float(sp.log(ratio, 10)))
    return found[1] if abs(found[0] - found[1]) < _WHOLE else None


def _is_whole(p: float) -> bool:
    return abs(p - round(p)) < _WHOLE
