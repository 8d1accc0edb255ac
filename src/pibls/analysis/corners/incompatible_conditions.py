"""Conditions of neighbouring sides that contradict each other, or the equation, at their common corner.

If u = g on one side, then u and its tangential derivative are known up to the corner, and a condition on the
next side that involves only these can be checked there. With values on both sides the equation itself can be
checked: -Δu = 1 with u = 0 on the boundary is violated at the corners of a square. Incompatible conditions
make the solution singular at the corner, and convergence slow for any smooth basis.

Only corners between axis-parallel sides, and between sides and the initial time, are checked; in three
dimensions an edge is checked at its midpoint only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from pibls.analysis.thresholds import COMPATIBILITY, SEGMENTS
from pibls.arrays import Array
from pibls.geometry import Boundary, Face, box_of, faces_of, lengths_of, time_of
from pibls.problem.conditions import Dirichlet, Initial, dn, residual_of
from pibls.problem.forms.known import as_expression, with_function_values
from pibls.problem.problem import condition_regions
from pibls.problem.regions.selection import Region
from pibls.runtime.deadline import OutOfTimeError, check_deadline

if TYPE_CHECKING:
    from pibls.problem.problem import Problem

_Places = list[dict[Any, float]]
"""Coordinates of a corner, and of points elsewhere."""


@dataclass(frozen=True)
class _Side:
    """The side x_axis = level with the outward normal in the direction ``sign``, or the initial time."""

    axis: int
    level: float
    sign: int
    face: Face | None = None
    """None for the initial time."""

    @property
    def is_start(self) -> bool:
        return self.face is None

    def reaches(self, point: Array, tolerance: Array) -> bool:
        """Whether the side contains a point; a side of a cut box may be shorter than the box."""
        return self.face is None or bool(self.face.touches(point[None, :], tolerance)[0])


def incompatible_conditions(problem: Problem, min_difference: float = 0.0) -> tuple[str, ...]:
    """Return descriptions of the corners with incompatible conditions; conditions are counted from 1.

    Values that differ by less than ``min_difference`` are compatible.

    >>> import sympy as sp, pibls
    >>> x, t = sp.symbols("x t")
    >>> u = sp.Function("u")(x, t)
    >>> rod = pibls.Interval(x, 0, 1).during(t, 0, 1)
    >>> conditions = [pibls.Dirichlet(u, 0), pibls.Initial(u, sp.cos(sp.pi * x / 2))]
    >>> incompatible_conditions(pibls.Problem(rod, [u.diff(t) - u.diff(x, 2)], conditions))
    ('conditions 1 and 2 disagree at x = 0, t = 0',)
    """
    found: dict[str, None] = {}
    with suppress(OutOfTimeError):  # the hint is optional
        for words in _incompatible(problem, min_difference):
            found[words] = None
    return tuple(found)


def _incompatible(problem: Problem, min_difference: float) -> Iterator[str]:
    regions = condition_regions(problem)
    for a, b in permutations(_sides(problem), 2):
        check_deadline(__name__)
        if a.axis == b.axis:
            continue
        place = ", ".join(
            f"{problem.coordinates[s.axis]} = {s.level:g}" for s in sorted((a, b), key=lambda s: s.axis)
        )
        corner = _corner(problem, a, b)
        if not all(side.reaches(corner, 1e-9 * lengths_of(problem.domain)) for side in (a, b)):
            continue
        middle = box_of(problem.domain).mean(axis=1)
        here = [
            dict(zip(problem.coordinates, corner + share * (middle - corner), strict=True))
            | dict(problem.parameters)
            for share in (0.0, *COMPATIBILITY.sample_shares)
        ]
        for i in _conditions_on(regions, problem, a, b):
            for j in _conditions_on(regions, problem, b, a):
                first, second = sorted((i, j))
                if i != j and _disagree(problem, i, a, j, b, here, min_difference):
                    yield f"conditions {first + 1} and {second + 1} disagree at {place}"
                elif a.axis < b.axis and _violates_equation(problem, i, a, j, b, here):
                    which = f"conditions {first + 1} and {second + 1}" if i != j else f"condition {i + 1}"
                    yield f"the equations are incompatible with {which} at {place}"


def _sides(problem: Problem) -> list[_Side]:
    out = []
    for face in faces_of(problem.domain):
        plane = face.plane()
        if plane is not None:
            middle = face.at(np.full((1, face.dimension), 0.5))
            out.append(_Side(*plane, 1 if middle.normals[0, plane[0]] > 0 else -1, face))
    if time_of(problem.domain) is not None:
        last = len(problem.coordinates) - 1
        out.append(_Side(last, float(box_of(problem.domain)[last, 0]), -1))
    return out


def _corner(problem: Problem, a: _Side, b: _Side) -> Array:
    """Return the point where two sides meet; for an edge its midpoint."""
    point: Array = box_of(problem.domain).mean(axis=1)
    point[a.axis], point[b.axis] = a.level, b.level
    return point


def _conditions_on(regions: tuple[Region, ...], problem: Problem, on: _Side, beside: _Side) -> Iterator[int]:
    """Yield the conditions that hold on one side, next to another side."""
    point = _corner(problem, on, beside)
    low, high = box_of(problem.domain)[beside.axis]
    point[beside.axis] -= beside.sign * SEGMENTS.corner_offset * (high - low)
    normal = np.zeros((1, len(point)))
    normal[0, on.axis] = on.sign
    boundary = Boundary(point[None, :], normal, (None,))
    for i, region in enumerate(regions):
        if on.is_start:
            holds = region.plane() == (on.axis, on.level)
        else:
            holds = region.sites == 1 and bool(region.mask(boundary)[0])
        if holds:
            yield i


def _given(problem: Problem, i: int, side: _Side) -> tuple[Any, Any] | None:
    """Return (u, g) if condition i is u = g on a side, else None."""
    condition = problem.conditions[i]
    if not isinstance(condition, (Dirichlet, Initial)):
        return None
    u = condition.expression if isinstance(condition, Initial) else condition.u
    if u not in problem.unknowns:
        return None
    g = as_expression(condition.value, problem.coordinates, "value")
    return u, g.subs(problem.coordinates[side.axis], side.level)


def _disagree(
    problem: Problem, i: int, a: _Side, j: int, b: _Side, here: _Places, min_difference: float
) -> bool:
    """Whether condition j on the side b contradicts u = g, condition i on the side a."""
    given = _given(problem, i, a)
    if given is None:
        return False
    u, g = given
    residual = problem.conditions[j].residual(problem.coordinates)
    other = any(residual.has(w) for w in problem.unknowns if w != u)
    across = any(problem.coordinates[a.axis] in d.variables for d in residual.atoms(sp.Derivative))
    if other or across or not residual.has(u):
        return False
    normal = residual.replace(dn, lambda e: b.sign * e.diff(problem.coordinates[b.axis]))
    min_difference = 0.0 if _given(problem, j, b) is None else min_difference
    return _is_nonzero(problem, normal.subs(u, g), (g, normal.subs(u, sp.S.Zero)), here, min_difference)


def _violates_equation(problem: Problem, i: int, a: _Side, j: int, b: _Side, here: _Places) -> bool:
    """Whether the equation of a single unknown contradicts its values on both sides."""
    one, two = _given(problem, i, a), _given(problem, j, b)
    if one is None or two is None or len(problem.unknowns) > 1:
        return False
    x, y = problem.coordinates[a.axis], problem.coordinates[b.axis]
    u, along_y, along_x = one[0], one[1], two[1]  # on the side x = const, u is known along y
    residual = residual_of(problem.equations[0], "equations")
    table = {}
    for d in residual.atoms(sp.Derivative):
        if d.expr != u or {x, y} <= set(d.variables):
            return False  # a mixed derivative is known on neither side
        table[d] = (along_x if x in d.variables else along_y).diff(*d.variables)
    terms = [term.xreplace(table).subs(u, along_y) for term in sp.Add.make_args(residual)]
    return _is_nonzero(problem, sp.Add(*terms), tuple(terms), here)


def _is_nonzero(
    problem: Problem, e: Any, terms: tuple[Any, ...], here: _Places, min_difference: float = 0.0
) -> bool:
    """Whether e is nonzero at a corner, relative to ``terms`` there and to the usual size elsewhere."""
    parts = [part.doit() for part in (e, *terms)]
    if any(part.has(sp.Derivative) for part in parts):
        return False  # the derivative of a Python function is not known

    def at(part: Any, place: Any) -> Any:
        return with_function_values(part, place, problem.coordinates, problem.domain)

    try:
        value, *sizes = (abs(float(at(part, here[0]))) for part in parts)
        # Values of 1e-17 are rounding, also relative to terms of 1e-17 (modes of a vibrating bar).
        usual = max(abs(complex(at(part, place))) for part in parts for place in here[1:])
    except (TypeError, ValueError):
        return False  # it has no value there
    usual = usual if math.isfinite(usual) else 0.0
    return value > max(
        COMPATIBILITY.relative_tol * max(sizes), COMPATIBILITY.rounding_tol * usual, min_difference
    )
