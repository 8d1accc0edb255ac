r"""det P(1, -λ) = 0: the lines x - λt = c along which kinks and jumps of a linear evolution travel.

P is the constant principal part of its equations on an interval, Σ a ∂^α u over the highest derivatives. What
is not smooth at the start, at an end that switches, or where the start does not fit an end, travels along
such lines and is thrown back by the ends. Between them the solution is smooth. Across one, with the normal ν,
all derivatives but the highest but one are continuous, and of these what is seen by the equations:
P(ν) [∂ᵥ^(M-1) u] = 0. So u_tt = c²u_xx leaves u continuous, and of u_t + cu_x = 0 nothing is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from pibls.arrays import Array
from pibls.geometry import faces_of, space_of, time_of
from pibls.geometry.protocol import has_sides
from pibls.geometry.subdomains.tiling import Point, Tiling
from pibls.problem.forms.form import Form, Jet
from pibls.problem.interfaces.continuity import normal_derivative, orders_of
from pibls.problem.interfaces.initial_data import Outset, Rates
from pibls.problem.interfaces.planes import SwitchBox, breaks_of, jumps, sides_of
from pibls.problem.problem import Problem
from pibls.problem.statement import Statement

_SMOOTH = 6
"""A jump of that derivative is none: waves and polynomials do not notice it."""
_KINKED = 3
"""A jump of at most that derivative is what an evolution is divided for."""
_REAL = 1e-7  # of the largest speed; double roots are known to half of the digits
_LINES = 40
_TILES = 50
"""Polygons at most: their functions are one dense matrix."""


@dataclass(frozen=True)
class Principal:
    """P(ξ, τ) = Σ a ξ^α τ^β of the equations, in coordinates from 0 to 1, each unknown in its own unit."""

    orders: tuple[int, ...]
    terms: tuple[tuple[int, Jet, float], ...]
    """(equation, highest derivative, coefficient)"""

    def at(self, xi: Any, tau: Any) -> Any:
        """P, one row for each equation."""
        n = len(self.orders)
        rows = [[sp.Integer(0)] * n for _ in range(n)]
        for i, jet, a in self.terms:
            rows[i][jet.unknown] += a * xi ** jet.alpha[0] * tau ** jet.alpha[1]
        return sp.Matrix(rows)

    def speeds(self) -> list[float] | None:
        """λ of each family; None where the equations are not hyperbolic in time."""
        speed = sp.Symbol("speed")
        polynomial = sp.Poly(self.at(1, -speed).det(method="berkowitz"), speed)
        if polynomial.is_zero or polynomial.degree() != sum(self.orders):
            return None
        roots = np.roots([float(c) for c in polynomial.all_coeffs()])
        size = float(np.abs(roots).max(initial=0.0)) or 1.0
        if np.abs(roots.imag).max(initial=0.0) > _REAL * size:
            return None
        found = list[float]()
        for root in sorted(roots.real):
            if not found or root - found[-1] > _REAL * size:
                found.append(float(root))
        free = sum(len(self.orders) - len(self.seen(speed)) for speed in found)
        return found if free == sum(self.orders) else None

    def seen(self, speed: float) -> Array:
        """Rows v with v·[∂ᵥ^(M-1) u] = 0 across a line of that speed."""
        P = np.array(self.at(1.0, -speed), dtype=float)
        usual = np.zeros_like(P)
        for i, jet, a in self.terms:
            usual[i, jet.unknown] += abs(a) * max(abs(speed), 1.0) ** jet.alpha[1]
        units = usual.max(axis=0)
        rows = (usual / units).max(axis=1, keepdims=True)
        _, sizes, V = np.linalg.svd(P / units / rows)
        return np.asarray(V[sizes > _REAL] * units)


@dataclass(frozen=True)
class Characteristics:
    """The evolution of a problem between the lines along which kinks travel."""

    tiling: Tiling
    between: tuple[tuple[tuple[int, int], Any, tuple[Form, ...]], ...]
    """Two polygons, the edge between them, and what holds there."""


def characteristics_of(problem: Problem) -> Characteristics | None:
    """The lines of a linear hyperbolic evolution; None where nothing kinks, or more than may."""
    followed = _Followed.of(problem)
    if followed is None:
        return None
    starts = followed.starts()
    lines = None if starts is None else followed.traced(starts)
    if not lines:
        return None
    tiling = Tiling.of(problem.domain, lines)
    if len(tiling) > _TILES:
        return None
    return Characteristics(tiling, tuple(followed.between(tiling)))


@dataclass(frozen=True)
class _Followed:
    """A linear hyperbolic evolution on an interval, or on a ring."""

    problem: Problem
    place: SwitchBox
    principal: Principal
    speeds: tuple[float, ...]
    outset: Outset
    initial: tuple[Statement, ...]
    ends: tuple[tuple[Statement, ...], tuple[Statement, ...]]
    """What holds at either end."""
    is_ring: bool

    @classmethod
    def of(cls, problem: Problem) -> _Followed | None:
        domain, statements = problem.domain, problem.statements
        if time_of(domain) is None or len(domain.coordinates) != 2 or not has_sides(space_of(domain)):
            return None
        if not problem.is_linear or any(s.form.data or s.region.is_sum for s in statements):
            return None
        inside = [s.form for s in statements if s.region.is_inside]
        n, place = len(problem.unknowns), problem.place()
        orders = orders_of(inside, n)
        if len(inside) != n or not set(orders) <= {1, 2} or any(f.switches or f.deltas for f in inside):
            return None
        principal = _principal(inside, orders, place)
        speeds = None if principal is None else principal.speeds()
        if principal is None or speeds is None:
            return None
        rest = [s for s in statements if not s.region.is_inside]
        start = float(place.box[1, 0])
        initial = [s for s in rest if s.region.plane() == (1, start) and s.region.is_whole_slice]
        given = _given(initial, place)
        if set(given) != {(k, j) for k, order in enumerate(orders) for j in range(order)}:
            return None
        sides = [s for s in rest if s not in initial]
        rings = [s.region.period == 0 for s in sides]
        if any(rings) and not all(rings):
            return None
        ends = tuple(tuple(s for s in sides if _holds_at(s, problem, x)) for x in place.box[0])
        if not all(rings) and {id(s) for s in sides} != {id(s) for end in ends for s in end}:
            return None
        is_ring = bool(rings) and all(rings)
        return cls(
            problem, place, principal, tuple(speeds), Outset(place, inside, orders, given), tuple(initial),
            ((), ()) if is_ring else (ends[0], ends[1]), is_ring,
        )  # fmt: skip

    def starts(self) -> list[Point] | None:
        """Where kinks begin, from 0 to 1; none where the solution is smooth, None where it is too rough."""
        sizes, out = np.ptp(self.place.box, axis=1), list[Point]()
        for axis, x, some in ((0, 0.0, self.initial), (1, 0.0, self.ends[0]), (1, 1.0, self.ends[1])):
            for s in some:
                found = breaks_of(s.form, self.place)
                if found.slanted or any(p.axis != axis for p in found.planes) or self._is_torn(s):
                    return None
                for level in (p.level for p in found.planes if self.outset.changes(s.form, axis, p.level)):
                    share = (level - self.place.box[axis, 0]) / sizes[axis]
                    out.append((x, float(share)) if axis else (float(share), 0.0))
        corners = self._corners(_SMOOTH if out else _KINKED)
        if any(m < self._least for _, m in corners):
            return None
        if corners and not out:
            corners = self._corners(_SMOOTH)
        return [*out, *((x, 0.0) for x, _ in corners)]

    def _corners(self, most: int) -> list[tuple[float, int]]:
        """The ends, 0 or 1, that the start does not fit, and the first derivative that jumps there."""
        if self.is_ring:
            found = [self.outset.misfit_of_ring(most)]
        else:
            pairs = zip(self.place.box[0].tolist(), self.ends, strict=True)
            found = [self.outset.misfit(x, [s.form for s in end], most) for x, end in pairs]
        return [(float(i), m) for i, m in enumerate(found) if m is not None]

    @property
    def _least(self) -> int:
        """The derivative that may jump: of equations of the second order not the solution itself."""
        return max(self.principal.orders) - 1

    def _is_torn(self, s: Statement) -> bool:
        """Whether what is given jumps, and must not."""
        order = max(sum(j.alpha) for j in s.form.jets)
        if order >= self._least:
            return False
        terms = [s.form.rest, *(a for _, a in s.form.linear)]
        pairs = [sides_of(switch, self.place) for switch in s.form.switches]
        return any(sides is not None and jumps(terms, sides, self.place) for sides in pairs)

    def traced(self, starts: Sequence[Point]) -> list[tuple[Point, Point]] | None:
        """The lines from these places until the end of time, thrown back by the ends; None if too many.

        Everything from 0 to 1.
        """
        todo, out = list(starts), dict[tuple[int, ...], tuple[Point, Point]]()
        while todo:
            there, t = todo.pop()
            for speed in self.speeds:
                end = 1.0 if speed > 0 else 0.0
                x = 1.0 - end if there == end and self.is_ring else there
                key = tuple(round(1e8 * v) for v in (x, t, speed))
                if (x == end and speed) or key in out:
                    continue  # it leaves, or it is known
                arrives = t + (end - x) / speed if speed else np.inf
                late = arrives > 1.0 - 1e-9
                out[key] = ((x, t), (x + speed * (1.0 - t), 1.0) if late else (end, arrives))
                if len(out) > _LINES:
                    return None
                todo += [] if late else [(end, arrives)]
        return list(out.values())

    def between(self, tiling: Tiling) -> Iterator[tuple[tuple[int, int], Any, tuple[Form, ...]]]:
        """What holds on each edge."""
        variables, n = self.problem.language().variables, len(self.problem.unknowns)
        names = [str(u.func) for u in self.problem.unknowns]
        sizes = np.ptp(self.place.box, axis=1)
        for chord, pair, face in tiling.interfaces():
            speed = float(chord.along[0] / chord.along[1])
            nearest = self.speeds[int(np.abs(np.array(self.speeds) - speed).argmin())]
            normal = [sp.Float(1.0 / sizes[0]), sp.Float(-nearest / sizes[1])]
            across = [
                (f"{names[k]} across a characteristic", [(k, j, 1.0)])
                for k, order in enumerate(self.principal.orders)
                for j in range(order - 1)
            ]
            across += [
                ("what does not travel", [(k, self.principal.orders[k] - 1, w) for k, w in enumerate(row)])
                for row in self.principal.seen(nearest).tolist()
            ]
            out = []
            for name, terms in across:
                linear = [
                    (Jet(p * n + k, beta), sp.Float(sign * weight) * factor)
                    for k, j, weight in terms
                    for beta, factor in normal_derivative(j, 2, normal)
                    for p, sign in zip(pair, (1.0, -1.0), strict=True)
                ]
                out.append(Form(name, variables, tuple(linear), (), sp.Integer(0)))
            yield pair, face, tuple(out)


def _principal(forms: Sequence[Form], orders: Sequence[int], place: SwitchBox) -> Principal | None:
    """The principal part; None where it is not constant."""
    sizes, terms = np.ptp(place.box, axis=1), []
    for i, form in enumerate(forms):
        for jet, a in form.linear:
            if sum(jet.alpha) == orders[jet.unknown]:
                fixed = place.fixed(a)
                if not fixed.is_number:
                    return None
                terms.append((i, jet, float(fixed) / float(np.prod(sizes ** np.array(jet.alpha)))))
    return Principal(tuple(orders), tuple(terms))


def _given(initial: Sequence[Statement], place: SwitchBox) -> Rates:
    """{(unknown, rate): value at the start}, where that is what is said."""
    out = {}
    for s in initial:
        if len(s.form.linear) == 1:
            jet, fixed = s.form.linear[0][0], place.fixed(s.form.linear[0][1])
            if jet.alpha[0] == 0 and fixed.is_number:
                start = {place.variables.coordinates[1]: sp.Float(float(place.box[1, 0]), 17)}
                out[jet.unknown, jet.alpha[1]] = (-place.fixed(s.form.rest) / fixed).xreplace(start)
    return out


def _holds_at(s: Statement, problem: Problem, x: float) -> bool:
    plane = s.region.plane()
    if plane is not None:
        return plane == (0, x)
    for face in faces_of(problem.domain):
        if face.plane() == (0, x):
            return bool(s.region.mask(face.at(np.array([[0.37]]))).any())
    return False
