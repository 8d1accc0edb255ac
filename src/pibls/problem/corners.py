"""B[g_A] = 0 where A and B meet: do the conditions of neighbouring sides agree at their corner?

If u = g on one side, then u and its derivative along that side are known up to the corner, and a condition on
the next side that speaks of these can be checked there. Where two disagree, the solution has a singularity in
the corner, and converges slowly however wide the basis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp

from pibls.arrays import Array
from pibls.domain import Boundary, box_of, faces_of, time_of
from pibls.domain.face import Extruded, FlatFace
from pibls.problem.conditions import Dirichlet, Initial, dn
from pibls.problem.known import as_expression
from pibls.problem.region import Part, Region, Slice
from pibls.problem.wording import condition_regions

if TYPE_CHECKING:
    from pibls.problem.problem import Problem

_NEAR = 1e-6  # of a side: how near to the corner the conditions are looked up
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class _Side:
    """x_axis = level, with the outward normal in the direction ``sign``; the start of time is one too."""

    axis: int
    level: float
    sign: int
    is_start: bool = False


def clashes(problem: Problem) -> tuple[str, ...]:
    """The corners where two conditions disagree, in words; conditions are counted from 1.

    >>> import sympy as sp, pibls
    >>> x, t = sp.symbols("x t")
    >>> u = sp.Function("u")(x, t)
    >>> rod = pibls.Interval(x, 0, 1).during(t, 0, 1)
    >>> conditions = [pibls.Dirichlet(u, 0), pibls.Initial(u, sp.cos(sp.pi * x / 2))]
    >>> clashes(pibls.Problem(rod, [u.diff(t) - u.diff(x, 2)], conditions))
    ('conditions 1 and 2 disagree at x = 0, t = 0',)
    """
    sides = _sides(problem)
    regions = condition_regions(problem)
    found: dict[str, None] = {}
    for a in sides:
        for b in sides:
            if a.axis == b.axis:
                continue
            corner = _corner(problem, a, b)
            for i in _holding(regions, problem, a, b):
                for j in _holding(regions, problem, b, a):
                    if i != j and _disagree(problem, i, a, j, b, corner):
                        first, second = sorted((i, j))
                        place = ", ".join(
                            f"{problem.coordinates[s.axis]} = {s.level:g}"
                            for s in sorted((a, b), key=lambda s: s.axis)
                        )
                        found[f"conditions {first + 1} and {second + 1} disagree at {place}"] = None
    return tuple(found)


def _sides(problem: Problem) -> list[_Side]:
    out = []
    for face in faces_of(problem.domain):
        flat = face.face if isinstance(face, Extruded) else face
        if isinstance(flat, FlatFace):
            level = flat.bounds[flat.axis][flat.side]
            out.append(_Side(flat.axis, level, 1 if flat.side else -1))
    if time_of(problem.domain) is not None:
        last = len(problem.coordinates) - 1
        out.append(_Side(last, float(box_of(problem.domain)[last, 0]), -1, is_start=True))
    return out


def _corner(problem: Problem, a: _Side, b: _Side) -> Array:
    """Where two sides meet: of an edge, its middle."""
    point: Array = box_of(problem.domain).mean(axis=1)
    point[a.axis], point[b.axis] = a.level, b.level
    return point


def _holding(regions: tuple[Region, ...], problem: Problem, on: _Side, beside: _Side) -> Iterator[int]:
    """The conditions on one side, right beside another."""
    point = _corner(problem, on, beside)
    low, high = box_of(problem.domain)[beside.axis]
    point[beside.axis] -= beside.sign * _NEAR * (high - low)
    normal = np.zeros((1, len(point)))
    normal[0, on.axis] = on.sign
    boundary = Boundary(point[None, :], normal, (None,))
    for i, region in enumerate(regions):
        if on.is_start:
            holds = isinstance(region, Slice) and (region.axis, region.level) == (on.axis, on.level)
        else:
            holds = isinstance(region, Part) and region.owners is None and bool(region.mask(boundary)[0])
        if holds:
            yield i


def _disagree(problem: Problem, i: int, a: _Side, j: int, b: _Side, corner: Array) -> bool:
    """Whether condition j on the side b contradicts u = g, condition i on the side a."""
    given = problem.conditions[i]
    u = given.expression if isinstance(given, Initial) else getattr(given, "u", None)
    if not isinstance(given, (Dirichlet, Initial)) or u not in problem.unknowns:
        return False
    coordinates = problem.coordinates
    residual = problem.conditions[j].residual(coordinates)
    g = as_expression(given.value, coordinates, "value").subs(coordinates[a.axis], a.level)
    other = [w for w in problem.unknowns if w != u and residual.has(w)]
    across = any(coordinates[a.axis] in d.variables for d in residual.atoms(sp.Derivative))
    if other or across or not residual.has(u):
        return False
    normal = residual.replace(dn, lambda e: b.sign * e.diff(coordinates[b.axis]))
    here = dict(zip(coordinates, corner, strict=True))
    try:
        # How far it is from zero, next to what is given on both sides.
        left, one, two = (
            abs(float(e.doit().subs(here))) for e in (normal.subs(u, g), g, normal.subs(u, sp.S.Zero))
        )
    except (TypeError, ValueError):
        return False  # it has no value there
    return left > _TOLERANCE * max(one, two)
