r"""Steady problems on a box with one equation per unknown and conditions on whole sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from pibls.arrays import Array
from pibls.geometry import Boundary, Domain, faces_of, fills_box
from pibls.geometry.faces.face import Face
from pibls.problem.forms.compilation import CompiledProblem, Residual

_SAMPLE_POSITIONS = (1e-6, 0.02, 0.13, 0.31, 0.5, 0.69, 0.87, 0.98, 1.0 - 1e-6)
"""Positions on a side, along each axis, at which its conditions are determined."""


@dataclass(frozen=True)
class BoxCondition:
    """A condition on the side x_axis = box[axis, end]."""

    residual: Residual
    axis: int
    end: int


@dataclass(frozen=True)
class BoxProblem:
    """A steady problem on a box, with conditions on whole sides."""

    equations: tuple[Residual, ...]
    sides: tuple[BoxCondition, ...]
    orders: tuple[int, ...]
    """The highest derivative along each axis."""
    periodic: tuple[bool, ...]
    box: Array = field(repr=False)
    is_pressure: tuple[bool, ...] = (False,)
    """Per unknown: whether it has one derivative less and no condition of its own, as a pressure has."""
    is_constraint: tuple[bool, ...] = (False,)
    """Per equation: whether it is the constraint that belongs to such an unknown, as ∇·u = 0 is."""
    scalar_conditions: tuple[Residual, ...] = ()
    """The terms of one scalar condition: at a point, or on an integral."""
    domain: Domain | None = field(default=None, repr=False)

    @classmethod
    def of(cls, compiled: CompiledProblem, domain: Domain, box: Array) -> BoxProblem | None:
        """Return the box problem, or None if the problem is not of this kind."""
        equations = tuple(r for r in compiled.residuals if r.region.is_interior)
        d, many = compiled.dimension, compiled.unknowns
        has_interfaces = compiled.interfaces.flux_planes or compiled.interfaces.sources
        if len(equations) != many or d not in _dimensions(many) or has_interfaces or not _is_box(domain, box):
            return None
        kinds = _UnknownKinds.of(equations, many, d)
        if kinds is None:
            return None
        conditions = _BoxConditions.of(compiled, domain, box)
        if conditions is None or not conditions.determine(kinds):
            return None
        return cls(
            equations,
            conditions.sides,
            kinds.orders,
            tuple(c > 0 for c in conditions.periodic_counts),
            box,
            kinds.is_pressure,
            kinds.is_constraint,
            conditions.scalar,
            domain,
        )

    @property
    def is_linear(self) -> bool:
        return not any(r.nonlinear for r in (*self.equations, *(s.residual for s in self.sides)))

    @property
    def has_single_equation(self) -> bool:
        """Whether there is one equation and no scalar condition, as separable operators require."""
        return len(self.equations) == 1 and not self.scalar_conditions


@dataclass(frozen=True)
class _UnknownKinds:
    """The highest derivatives, and which unknowns are pressures and which equations their constraints.

    A pressure has first derivatives where the other unknowns have second ones. Its constraint has only first
    derivatives of the other unknowns: ∇·u = 0.
    """

    orders: tuple[int, ...]
    is_pressure: tuple[bool, ...]
    is_constraint: tuple[bool, ...]

    @classmethod
    def of(cls, equations: Sequence[Residual], many: int, d: int) -> _UnknownKinds | None:
        """Return the kinds of the unknowns; None if there are others."""
        each = [_highest_orders(equations, k, d) for k in range(many)]
        orders = tuple(max(m[i] for m in each) for i in range(d))
        if min(orders) < 1:
            return None
        light = tuple(m != orders for m in each)
        if not any(light):
            return cls(orders, light, (False,) * len(equations))
        weak = tuple(_is_constraint(e, light) for e in equations)
        if set(orders) != {2} or not set(each) <= {orders, (1,) * d} or weak.count(True) != light.count(True):
            return None
        return cls(orders, light, weak)

    def max_condition_order(self, unknown: int, axis: int) -> int:
        """Return the highest derivative across a side that a condition may have."""
        return (1 if self.is_pressure[unknown] else self.orders[axis]) - 1

    def condition_count(self, axis: int) -> int:
        """Return the number of conditions on both sides across an axis; a pressure has none."""
        return self.is_pressure.count(False) * self.orders[axis]


@dataclass(frozen=True)
class _BoxConditions:
    """The conditions of a problem on a box, by where they hold."""

    sides: tuple[BoxCondition, ...]
    scalar: tuple[Residual, ...]
    periodic_counts: tuple[int, ...]
    """The number of periodic conditions along each axis."""

    @classmethod
    def of(cls, compiled: CompiledProblem, domain: Domain, box: Array) -> _BoxConditions | None:
        """Return the conditions; None if one of them holds elsewhere, or on a part of a side."""
        counts, sides, scalar = [0] * compiled.dimension, list[BoxCondition](), []
        for r in compiled.residuals:
            if r.region.is_interior:
                continue
            if r.region.periodic_axis is not None:
                counts[r.region.periodic_axis] += 1
            elif _is_scalar(r, domain):
                scalar.append(r)
            elif found := _sides_of(r, domain, box):
                sides += found
            else:
                return None
        ordered = sorted(sides, key=lambda s: (s.axis, s.end))
        return cls(tuple(ordered), tuple(scalar), tuple(counts))

    def determine(self, kinds: _UnknownKinds) -> bool:
        """Whether they are of lower order than the equations, and as many as the unknowns need."""
        of_lower_order = all(
            j.alpha[s.axis] <= kinds.max_condition_order(j.unknown, s.axis)
            for s in self.sides
            for j in s.residual.derivatives
        )
        axes = range(len(kinds.orders))
        return of_lower_order and all(self._fit(kinds, i) for i in axes) and self._fix_constants(kinds)

    def _fit(self, kinds: _UnknownKinds, axis: int) -> bool:
        """Whether an axis is periodic in all unknowns, or has all conditions and as many at both ends."""
        wanted, periodic = kinds.condition_count(axis), self.periodic_counts[axis]
        low, high = (sum(s.axis == axis and s.end == e for s in self.sides) for e in (0, 1))
        if periodic and periodic != wanted + kinds.is_pressure.count(True):
            return False
        return low + high == (0 if periodic else wanted) and (wanted % 2 == 1 or low == high)

    def _fix_constants(self, kinds: _UnknownKinds) -> bool:
        """Whether there is at most one scalar condition, and one if the pressure has no other."""
        once = sum(not r.region.continues_condition for r in self.scalar)
        if once > 1 or (once and len(kinds.orders) > 2) or any(r.nonlinear for r in self.scalar):
            return False
        is_held = any(kinds.is_pressure[j.unknown] for s in self.sides for j in s.residual.derivatives)
        return is_held or once == 1 or not any(kinds.is_pressure)


def _dimensions(unknowns: int) -> tuple[int, ...]:
    """Return the dimensions in which systems of so many equations are supported."""
    return (2, 3) if unknowns == 1 else (2,)


def _highest_orders(equations: Sequence[Residual], unknown: int, d: int) -> tuple[int, ...]:
    """Return the highest derivative of an unknown along each axis."""
    alphas = [j.alpha for e in equations for j in e.derivatives if j.unknown == unknown]
    return tuple(max((alpha[i] for alpha in alphas), default=0) for i in range(d))


def _is_constraint(equation: Residual, is_pressure: tuple[bool, ...]) -> bool:
    """Whether an equation has only first derivatives, and none of a pressure."""
    return all(sum(j.alpha) <= 1 and not is_pressure[j.unknown] for j in equation.derivatives)


def _is_scalar(r: Residual, domain: Domain) -> bool:
    """Whether a condition is one number: at a point, or on an integral."""
    if r.region.is_integral:
        return r.region.is_divisible(domain)
    return len(r.region.isolated_points(domain)) > 0


def _is_box(domain: Domain, box: Array) -> bool:
    planes = [face.plane() for face in faces_of(domain)]
    wanted = {(i, float(level)) for i, ends in enumerate(box) for level in ends}
    if any(p is None for p in planes) or {(p[0], float(p[1])) for p in planes if p} != wanted:
        return False
    return len(planes) == 2 * len(box) and fills_box(domain)


def _sides_of(r: Residual, domain: Domain, box: Array) -> list[BoxCondition]:
    """Return the sides on which a condition holds; none if it holds on a part of a side, or elsewhere."""
    plane = r.region.plane()
    if plane is not None:
        ends = [e for e in (0, 1) if plane[1] == box[plane[0], e]]
        return [BoxCondition(r, plane[0], e) for e in ends] if ends and r.region.is_whole_slice else []
    if not r.region.is_boundary:
        return []
    out = []
    for face in faces_of(domain):
        axis, level = _plane_of(face)
        is_held = r.region.mask(_face_samples(face, axis, box))
        if is_held.all():
            out.append(BoxCondition(r, axis, 0 if level == box[axis, 0] else 1))
        elif is_held.any():
            return []
    return out


def _plane_of(face: Face) -> tuple[int, float]:
    where = face.plane()
    assert where is not None  # the domain is a box
    return where


def _face_samples(face: Face, axis: int, box: Array) -> Boundary:
    """Return points of a side of the box without its edges, which belong to its neighbours as well."""
    U = np.array(list(product(_SAMPLE_POSITIONS, repeat=len(box) - 1)))
    middle = face.at(np.full((1, face.dimension), 0.5))
    X = np.repeat(middle.points, len(U), axis=0)
    free = [i for i in range(len(box)) if i != axis]
    X[:, free] = box[free, 0] + (box[free, 1] - box[free, 0]) * U
    return Boundary(X, np.repeat(middle.normals, len(X), axis=0), middle.owners * len(X))
