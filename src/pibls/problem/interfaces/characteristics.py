r"""Characteristics x - λt = c, det P(1, -λ) = 0, along which kinks and jumps of a linear evolution propagate.

P is the constant principal part of the equations on an interval, Σ a ∂^α u over the highest derivatives.
Singularities of the initial data, of the data at an end, and incompatibilities of both propagate along
characteristics and are reflected at the ends. Between characteristics the solution is smooth. Across one with
normal ν, derivatives up to order M-2 are continuous, and those of order M-1 satisfy P(ν) [∂ᵥ^(M-1) u] = 0:
for u_tt = c²u_xx, u is continuous; for u_t + cu_x = 0 there is no condition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from pibls.arrays import Array
from pibls.expressions import Expression
from pibls.geometry import faces_of, space_of, time_of
from pibls.geometry.protocol import is_box
from pibls.geometry.subdomains.tiling import Point, Tiling
from pibls.problem.forms.form import Form, PartialDerivative
from pibls.problem.interfaces.discontinuities import (
    SwitchContext,
    discontinuities_of,
    has_jump,
    points_on_both_sides,
)
from pibls.problem.interfaces.initial_compatibility import InitialCompatibility, Rates
from pibls.problem.interfaces.interface_conditions import highest_orders, normal_derivative
from pibls.problem.problem import Problem
from pibls.problem.statement import Statement

_NEGLIGIBLE_ORDER = 6
"""A jump of a derivative of this order or higher is neglected: it does not affect the approximation."""
_MAX_KINK_ORDER = 3
"""The domain is divided only if a derivative of at most this order jumps."""
_ROOT_TOLERANCE = 1e-7  # of the largest speed; double roots are accurate to half of the digits
_MAX_LINES = 40
_MAX_POLYGONS = 50
"""The functions of all polygons form one dense matrix."""


@dataclass(frozen=True)
class PrincipalSymbol:
    """The principal symbol P(ξ, τ) = Σ a ξ^α τ^β of the equations, in coordinates scaled to [0, 1]."""

    orders: tuple[int, ...]
    terms: tuple[tuple[int, PartialDerivative, float], ...]
    """(equation, highest derivative, coefficient) of each term."""

    def at(self, xi: Expression, tau: Expression) -> sp.Matrix:
        """Return P, one row for each equation."""
        n = len(self.orders)
        rows = [[sp.Integer(0)] * n for _ in range(n)]
        for i, derivative, a in self.terms:
            rows[i][derivative.unknown] += a * xi ** derivative.alpha[0] * tau ** derivative.alpha[1]
        return sp.Matrix(rows)

    def speeds(self) -> list[float] | None:
        """Return the speeds λ of the characteristics; None if the equations are not hyperbolic in time."""
        speed = sp.Symbol("speed")
        polynomial = sp.Poly(self.at(1, -speed).det(method="berkowitz"), speed)
        if polynomial.is_zero or polynomial.degree() != sum(self.orders):
            return None
        roots = np.roots([float(c) for c in polynomial.all_coeffs()])
        size = float(np.abs(roots).max(initial=0.0)) or 1.0
        if np.abs(roots.imag).max(initial=0.0) > _ROOT_TOLERANCE * size:
            return None
        found = list[float]()
        for root in sorted(roots.real):
            if not found or root - found[-1] > _ROOT_TOLERANCE * size:
                found.append(float(root))
        free = sum(len(self.orders) - len(self.continuity_rows(speed)) for speed in found)
        return found if free == sum(self.orders) else None

    def continuity_rows(self, speed: float) -> Array:
        """Return the rows v with v·[∂ᵥ^(M-1) u] = 0 across a characteristic of that speed."""
        P = np.array(self.at(1.0, -speed), dtype=float)
        usual = np.zeros_like(P)
        for i, derivative, a in self.terms:
            usual[i, derivative.unknown] += abs(a) * max(abs(speed), 1.0) ** derivative.alpha[1]
        units = usual.max(axis=0)
        rows = (usual / units).max(axis=1, keepdims=True)
        _, sizes, V = np.linalg.svd(P / units / rows)
        return np.asarray(V[sizes > _ROOT_TOLERANCE] * units)


@dataclass(frozen=True)
class Characteristics:
    """The space-time domain divided by the characteristics along which kinks propagate."""

    tiling: Tiling
    between: tuple[tuple[tuple[int, int], Any, tuple[Form, ...]], ...]
    """Two polygons, the edge between them, and the conditions on it."""


def characteristics_of(problem: Problem) -> Characteristics | None:
    """Return the division of a linear hyperbolic problem; None if it has no kinks or too many."""
    evolution = _HyperbolicEvolution.of(problem)
    if evolution is None:
        return None
    starts = evolution.singular_starts()
    lines = None if starts is None else evolution.traced_lines(starts)
    if not lines:
        return None
    tiling = Tiling.of(problem.domain, lines)
    if len(tiling) > _MAX_POLYGONS:
        return None
    return Characteristics(tiling, tuple(evolution.edge_conditions(tiling)))


@dataclass(frozen=True)
class _HyperbolicEvolution:
    """A linear hyperbolic initial value problem on an interval, with conditions at the ends or periodic."""

    problem: Problem
    context: SwitchContext
    principal: PrincipalSymbol
    speeds: tuple[float, ...]
    compatibility: InitialCompatibility
    initial: tuple[Statement, ...]
    ends: tuple[tuple[Statement, ...], tuple[Statement, ...]]
    """The conditions at the two ends."""
    is_periodic: bool

    @classmethod
    def of(cls, problem: Problem) -> _HyperbolicEvolution | None:
        if not _is_linear_on_interval(problem):
            return None
        inside = [s.form for s in problem.statements if s.region.is_interior]
        context = problem.switch_context()
        principal = _principal(inside, len(problem.unknowns), context)
        speeds = None if principal is None else principal.speeds()
        if principal is None or speeds is None:
            return None
        rest = [s for s in problem.statements if not s.region.is_interior]
        start = float(context.box[1, 0])
        initial = [s for s in rest if s.region.plane() == (1, start) and s.region.is_whole_slice]
        given = _initial_values(initial, context)
        if set(given) != {(k, j) for k, order in enumerate(principal.orders) for j in range(order)}:
            return None
        sides = [s for s in rest if s not in initial]
        ends = _end_statements(sides, problem, context.box[0])
        if ends is None:
            return None
        is_periodic = bool(sides) and _is_periodic(sides[0])
        compatibility = InitialCompatibility(context, inside, principal.orders, given)
        return cls(
            problem, context, principal, tuple(speeds), compatibility, tuple(initial), ends, is_periodic
        )

    def singular_starts(self) -> list[Point] | None:
        """Return the scaled points where kinks start; None if given values jump and must not."""
        out = list[Point]()
        for axis, x, some in ((0, 0.0, self.initial), (1, 0.0, self.ends[0]), (1, 1.0, self.ends[1])):
            for s in some:
                shares = self._kinks_along(s, axis)
                if shares is None:
                    return None
                out += [(x, share) if axis else (share, 0.0) for share in shares]
        corners = self._incompatible_ends(_NEGLIGIBLE_ORDER if out else _MAX_KINK_ORDER)
        if any(m < self._min_jump_order for _, m in corners):
            return None
        if corners and not out:
            corners = self._incompatible_ends(_NEGLIGIBLE_ORDER)
        return [*out, *((x, 0.0) for x, _ in corners)]

    def _kinks_along(self, s: Statement, axis: int) -> list[float] | None:
        """Return the scaled coordinates of the kinks of given values; None if these jump and must not."""
        found = discontinuities_of(s.form, self.context)
        if found.curved or any(p.axis != axis for p in found.planes) or self._has_forbidden_jump(s):
            return None
        low, size = self.context.box[axis, 0], np.ptp(self.context.box[axis])
        return [
            float((p.level - low) / size)
            for p in found.planes
            if self.compatibility.has_branch_change(s.form, axis, p.level)
        ]

    def _incompatible_ends(self, most: int) -> list[tuple[float, int]]:
        """Return the ends, 0 or 1, with incompatible initial data, and the order of the first jump."""
        if self.is_periodic:
            found = [self.compatibility.first_incompatible_periodic_derivative(most)]
        else:
            pairs = zip(self.context.box[0].tolist(), self.ends, strict=True)
            found = [
                self.compatibility.first_incompatible_derivative(x, [s.form for s in end], most)
                for x, end in pairs
            ]
        return [(float(i), m) for i, m in enumerate(found) if m is not None]

    @property
    def _min_jump_order(self) -> int:
        """Lowest order of a derivative that may jump: 1 for equations of second order."""
        return max(self.principal.orders) - 1

    def _has_forbidden_jump(self, s: Statement) -> bool:
        """Return whether given values jump although the solution must be continuous."""
        order = max(sum(j.alpha) for j in s.form.derivatives)
        if order >= self._min_jump_order:
            return False
        terms = [s.form.rest, *(a for _, a in s.form.linear)]
        pairs = [points_on_both_sides(switch, self.context) for switch in s.form.switches]
        return any(sides is not None and has_jump(terms, sides, self.context) for sides in pairs)

    def traced_lines(self, starts: Sequence[Point]) -> list[tuple[Point, Point]] | None:
        """Return the characteristics from these points to the final time, with reflections; None if too many.

        All coordinates are scaled to [0, 1].
        """
        todo, out = list(starts), dict[tuple[int, ...], tuple[Point, Point]]()
        while todo:
            there, t = todo.pop()
            for speed in self.speeds:
                end = 1.0 if speed > 0 else 0.0
                x = 1.0 - end if there == end and self.is_periodic else there
                key = tuple(round(1e8 * v) for v in (x, t, speed))
                if (x == end and speed) or key in out:
                    continue  # it leaves the domain, or was found before
                arrives = t + (end - x) / speed if speed else np.inf
                late = arrives > 1.0 - 1e-9
                out[key] = ((x, t), (x + speed * (1.0 - t), 1.0) if late else (end, arrives))
                if len(out) > _MAX_LINES:
                    return None
                todo += [] if late else [(end, arrives)]
        return list(out.values())

    def edge_conditions(self, tiling: Tiling) -> Iterator[tuple[tuple[int, int], Any, tuple[Form, ...]]]:
        """Yield each pair of polygons, its edge and the conditions on it."""
        variables, n = self.problem.symbol_table().variables, len(self.problem.unknowns)
        sizes = np.ptp(self.context.box, axis=1)
        for cut_line, pair, face in tiling.interfaces():
            speed = float(cut_line.direction[0] / cut_line.direction[1])
            nearest = self.speeds[int(np.abs(np.array(self.speeds) - speed).argmin())]
            normal = [sp.Float(1.0 / sizes[0]), sp.Float(-nearest / sizes[1])]
            out = []
            for name, terms in self._continuous_combinations(nearest):
                linear = [
                    (PartialDerivative(p * n + k, beta), sp.Float(sign * weight) * factor)
                    for k, j, weight in terms
                    for beta, factor in normal_derivative(j, 2, normal)
                    for p, sign in zip(pair, (1.0, -1.0), strict=True)
                ]
                out.append(Form(name, variables, tuple(linear), (), sp.Integer(0)))
            yield pair, face, tuple(out)

    def _continuous_combinations(self, speed: float) -> list[tuple[str, list[tuple[int, int, float]]]]:
        """Return the continuous Σ w ∂ᵥʲ u_k across a characteristic: a name and the (k, j, w) of each."""
        orders = self.principal.orders
        values = [
            (f"{self.problem.unknowns[k].func} across a characteristic", [(k, j, 1.0)])
            for k, order in enumerate(orders)
            for j in range(order - 1)
        ]
        rest = [
            (
                "non-propagating part across a characteristic",
                [(k, orders[k] - 1, w) for k, w in enumerate(row)],
            )
            for row in self.principal.continuity_rows(speed).tolist()
        ]
        return [*values, *rest]


def _is_linear_on_interval(problem: Problem) -> bool:
    """Return whether a problem is a linear evolution on an interval, without data functions or integrals."""
    domain = problem.domain
    if time_of(domain) is None or len(domain.coordinates) != 2 or not is_box(space_of(domain)):
        return False
    return problem.is_linear and not any(s.form.data or s.region.is_integral for s in problem.statements)


def _is_periodic(s: Statement) -> bool:
    return s.region.periodic_axis == 0


def _end_statements(
    sides: Sequence[Statement], problem: Problem, interval: Array
) -> tuple[tuple[Statement, ...], tuple[Statement, ...]] | None:
    """Return the conditions at the two ends, none if periodic; None if some hold elsewhere as well."""
    if any(map(_is_periodic, sides)):
        return ((), ()) if all(map(_is_periodic, sides)) else None
    left, right = (tuple(s for s in sides if _holds_at(s, problem, x)) for x in interval)
    return (left, right) if {id(s) for s in sides} == {id(s) for s in (*left, *right)} else None


def _principal(forms: Sequence[Form], unknowns: int, context: SwitchContext) -> PrincipalSymbol | None:
    """Return the principal part; None if it is not constant or not of first or second order."""
    orders = highest_orders(forms, unknowns)
    if len(forms) != unknowns or not set(orders) <= {1, 2} or any(f.switches or f.deltas for f in forms):
        return None
    sizes, terms = np.ptp(context.box, axis=1), []
    for i, form in enumerate(forms):
        for derivative, a in form.linear:
            if sum(derivative.alpha) == orders[derivative.unknown]:
                fixed = context.with_parameters(a)
                if not fixed.is_number:
                    return None
                terms.append(
                    (i, derivative, float(fixed) / float(np.prod(sizes ** np.array(derivative.alpha))))
                )
    return PrincipalSymbol(tuple(orders), tuple(terms))


def _initial_values(initial: Sequence[Statement], context: SwitchContext) -> Rates:
    """Return {(unknown, order of the time derivative): initial value} of explicit initial conditions."""
    out = {}
    for s in initial:
        if len(s.form.linear) == 1:
            derivative, fixed = s.form.linear[0][0], context.with_parameters(s.form.linear[0][1])
            if derivative.alpha[0] == 0 and fixed.is_number:
                start = {context.variables.coordinates[1]: sp.Float(float(context.box[1, 0]), 17)}
                out[derivative.unknown, derivative.alpha[1]] = (
                    -context.with_parameters(s.form.rest) / fixed
                ).xreplace(start)
    return out


def _holds_at(s: Statement, problem: Problem, x: float) -> bool:
    plane = s.region.plane()
    if plane is not None:
        return plane == (0, x)
    for face in faces_of(problem.domain):
        if face.plane() == (0, x):
            return bool(s.region.mask(face.at(np.array([[0.37]]))).any())
    return False
