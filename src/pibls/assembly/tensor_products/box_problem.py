r"""Steady problems on a box with one equation per unknown and conditions on whole sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from pibls.arrays import Array
from pibls.geometry import Boundary, Domain, faces_of
from pibls.problem.forms.compilation import CompiledProblem, Residual

_SAMPLE_POSITIONS = (0.0, 1e-6, 0.02, 0.13, 0.31, 0.5, 0.69, 0.87, 0.98, 1.0 - 1e-6, 1.0)
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
        inside = tuple(r for r in compiled.residuals if r.region.is_interior)
        d, many = compiled.dimension, compiled.unknowns
        if len(inside) != many or d not in (2, 3) or (many > 1 and d > 2) or not _is_box(domain, box):
            return None
        if compiled.interfaces.flux_planes or compiled.interfaces.sources:
            return None
        kinds = _classified(inside, many, d)
        if kinds is None:
            return None
        orders, light, weak = kinds
        heavy = light.count(False)
        counts, sides, single = [0] * d, [], []
        for r in compiled.residuals:
            if r.region.is_interior:
                continue
            if r.region.periodic_axis is not None:
                counts[r.region.periodic_axis] += 1
                continue
            if (
                r.region.is_divisible(domain)
                if r.region.is_integral
                else len(r.region.isolated_points(domain))
            ):
                single.append(r)
                continue
            found = _sides_of(r, domain, box)
            if not found or any(
                j.alpha[s.axis] >= (1 if light[j.unknown] else orders[s.axis])
                for s in found
                for j in r.derivatives
            ):
                return None
            sides += found
        repeated = tuple(c > 0 for c in counts)
        wanted = [heavy * m for m in orders]
        if any(c and c != w + light.count(True) for c, w in zip(counts, wanted, strict=True)):
            return None
        for axis, w in enumerate(wanted):
            mine = [sum(s.axis == axis and s.end == e for s in sides) for e in (0, 1)]
            if sum(mine) != (0 if repeated[axis] else w) or (w % 2 == 0 and mine[0] != mine[1]):
                return None
        is_held = any(light[j.unknown] for s in sides for j in s.residual.derivatives)
        once = sum(not r.region.continues_condition for r in single)
        if (
            once > 1
            or (once and d > 2)
            or any(r.nonlinear for r in single)
            or (any(light) and not (is_held or once))
        ):
            return None
        ordered = sorted(sides, key=lambda s: (s.axis, s.end))
        return cls(
            inside, tuple(ordered), orders, repeated, box, light, weak, tuple(single), domain
        )  # fmt: skip

    @property
    def is_linear(self) -> bool:
        return not any(r.nonlinear for r in (*self.equations, *(s.residual for s in self.sides)))

    @property
    def has_single_equation(self) -> bool:
        """Whether there is one equation and no scalar condition, as separable operators require."""
        return len(self.equations) == 1 and not self.scalar_conditions


def _classified(
    equations: Sequence[Residual], many: int, d: int
) -> tuple[tuple[int, ...], tuple[bool, ...], tuple[bool, ...]] | None:
    """Return the highest derivatives, and which unknowns are pressures and which equations their constraints.

    A pressure has first derivatives where the other unknowns have second ones. Its constraint has only first
    derivatives of the other unknowns: ∇·u = 0.
    """
    derivatives = [j for e in equations for j in e.derivatives]
    each = [
        tuple(max((j.alpha[i] for j in derivatives if j.unknown == k), default=0) for i in range(d))
        for k in range(many)
    ]
    orders = tuple(max(m[i] for m in each) for i in range(d))
    light = tuple(m != orders for m in each)
    if min(orders) < 1:
        return None
    weak = tuple(
        any(light) and all(sum(j.alpha) <= 1 and not light[j.unknown] for j in e.derivatives)
        for e in equations
    )
    if any(light) and (
        any(o != 2 for o in orders)
        or any(m != (1,) * d for m, is_light in zip(each, light, strict=True) if is_light)
        or weak.count(True) != light.count(True)
    ):
        return None
    return orders, light, weak


def _is_box(domain: Domain, box: Array) -> bool:
    planes = [face.plane() for face in faces_of(domain)]
    wanted = {(i, float(level)) for i, ends in enumerate(box) for level in ends}
    if any(p is None for p in planes) or {(p[0], float(p[1])) for p in planes if p} != wanted:
        return False
    rng = np.random.default_rng(0)
    X = box[:, 0] + (box[:, 1] - box[:, 0]) * rng.random((2000, len(box)))
    return len(planes) == 2 * len(box) and bool(np.asarray(domain.contains(X), dtype=bool).all())


def _sides_of(r: Residual, domain: Domain, box: Array) -> list[BoxCondition]:
    """Return the sides on which a condition holds; none if it holds on a part of a side, or elsewhere."""
    out = []
    plane = r.region.plane()
    if plane is not None:
        ends = [e for e in (0, 1) if plane[1] == box[plane[0], e]]
        return [BoxCondition(r, plane[0], e) for e in ends] if ends and r.region.is_whole_slice else []
    if not r.region.is_boundary:
        return []
    for face in faces_of(domain):
        where = face.plane()
        assert where is not None
        axis = where[0]
        end = 0 if where[1] == box[axis, 0] else 1
        # The edges of a side belong to its neighbours as well.
        U = np.array(list(product(_SAMPLE_POSITIONS[1:-1], repeat=len(box) - 1)))
        middle = face.at(np.full((1, face.dimension), 0.5))
        X = np.repeat(middle.points, len(U), axis=0)
        free = [i for i in range(len(box)) if i != axis]
        X[:, free] = box[free, 0] + (box[free, 1] - box[free, 0]) * U
        is_held = r.region.mask(
            Boundary(X, np.repeat(middle.normals, len(X), axis=0), middle.owners * len(X))
        )
        if is_held.all():
            out.append(BoxCondition(r, axis, end))
        elif is_held.any():
            return []
    return out
