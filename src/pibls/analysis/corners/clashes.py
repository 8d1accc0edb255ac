"""B[g_A] = 0 where A and B meet: do the conditions of neighbouring sides agree at their corner?

If u = g on one side, then u and its derivative along that side are known up to the corner, and a condition on
the next side that speaks of these can be checked there. With values on both sides the equation itself can be
checked: -Δu = 1 with u = 0 all around does not hold in the corners of a square. Where something disagrees,
the solution has a singularity in the corner, and converges slowly however wide the basis.
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

from pibls.analysis.thresholds import CLASHES, ENDS
from pibls.arrays import Array
from pibls.deadline import OutOfTimeError, go_on
from pibls.geometry import Boundary, Face, box_of, faces_of, lengths_of, time_of
from pibls.problem.conditions import Dirichlet, Initial, dn, residual_of
from pibls.problem.forms.known import as_expression, valued
from pibls.problem.problem import condition_regions
from pibls.problem.regions.on import Region

if TYPE_CHECKING:
    from pibls.problem.problem import Problem

_Here = list[dict[Any, float]]
"""A corner, and places elsewhere."""


@dataclass(frozen=True)
class _Side:
    """x_axis = level, with the outward normal in the direction ``sign``; the start of time is one too."""

    axis: int
    level: float
    sign: int
    face: Face | None = None
    """None of the start of time."""

    @property
    def is_start(self) -> bool:
        return self.face is None

    def reaches(self, point: Array, tolerance: Array) -> bool:
        """Whether the side goes as far as a point: that of a cut box may end before."""
        return self.face is None or bool(self.face.touches(point[None, :], tolerance)[0])


def clashes(problem: Problem, least: float = 0.0) -> tuple[str, ...]:
    """The corners where two conditions disagree, in words; conditions are counted from 1.

    Values that differ by less than ``least`` agree.

    >>> import sympy as sp, pibls
    >>> x, t = sp.symbols("x t")
    >>> u = sp.Function("u")(x, t)
    >>> rod = pibls.Interval(x, 0, 1).during(t, 0, 1)
    >>> conditions = [pibls.Dirichlet(u, 0), pibls.Initial(u, sp.cos(sp.pi * x / 2))]
    >>> clashes(pibls.Problem(rod, [u.diff(t) - u.diff(x, 2)], conditions))
    ('conditions 1 and 2 disagree at x = 0, t = 0',)
    """
    found: dict[str, None] = {}
    with suppress(OutOfTimeError):  # a hint is not worth more time than there is
        for words in _clashes(problem, least):
            found[words] = None
    return tuple(found)


def _clashes(problem: Problem, least: float) -> Iterator[str]:
    regions = condition_regions(problem)
    for a, b in permutations(_sides(problem), 2):
        go_on(__name__)
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
            for share in (0.0, *CLASHES.elsewhere)
        ]
        for i in _holding(regions, problem, a, b):
            for j in _holding(regions, problem, b, a):
                first, second = sorted((i, j))
                if i != j and _disagree(problem, i, a, j, b, here, least):
                    yield f"conditions {first + 1} and {second + 1} disagree at {place}"
                elif a.axis < b.axis and _unfit(problem, i, a, j, b, here):
                    which = f"conditions {first + 1} and {second + 1}" if i != j else f"condition {i + 1}"
                    yield f"the equations do not fit {which} at {place}"


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
    """Where two sides meet: of an edge, its middle."""
    point: Array = box_of(problem.domain).mean(axis=1)
    point[a.axis], point[b.axis] = a.level, b.level
    return point


def _holding(regions: tuple[Region, ...], problem: Problem, on: _Side, beside: _Side) -> Iterator[int]:
    """The conditions on one side, right beside another."""
    point = _corner(problem, on, beside)
    low, high = box_of(problem.domain)[beside.axis]
    point[beside.axis] -= beside.sign * ENDS.beside * (high - low)
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
    """(u, g) where condition i says u = g on a side."""
    condition = problem.conditions[i]
    u = condition.expression if isinstance(condition, Initial) else getattr(condition, "u", None)
    if not isinstance(condition, (Dirichlet, Initial)) or u not in problem.unknowns:
        return None
    g = as_expression(condition.value, problem.coordinates, "value")
    return u, g.subs(problem.coordinates[side.axis], side.level)


def _disagree(problem: Problem, i: int, a: _Side, j: int, b: _Side, here: _Here, least: float) -> bool:
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
    least = 0.0 if _given(problem, j, b) is None else least
    return _is_nonzero(problem, normal.subs(u, g), (g, normal.subs(u, sp.S.Zero)), here, least)


def _unfit(problem: Problem, i: int, a: _Side, j: int, b: _Side, here: _Here) -> bool:
    """Whether the equation of a single unknown contradicts its values on both sides."""
    one, two = _given(problem, i, a), _given(problem, j, b)
    if one is None or two is None or len(problem.unknowns) > 1:
        return False
    x, y = problem.coordinates[a.axis], problem.coordinates[b.axis]
    u, along_y, along_x = one[0], one[1], two[1]  # on the side x = …, u is known along y
    residual = residual_of(problem.equations[0], "equations")
    table = {}
    for d in residual.atoms(sp.Derivative):
        if d.expr != u or {x, y} <= set(d.variables):
            return False  # a mixed derivative is known on neither side
        table[d] = (along_x if x in d.variables else along_y).diff(*d.variables)
    terms = [term.xreplace(table).subs(u, along_y) for term in sp.Add.make_args(residual)]
    return _is_nonzero(problem, sp.Add(*terms), tuple(terms), here)


def _is_nonzero(problem: Problem, e: Any, terms: tuple[Any, ...], here: _Here, least: float = 0.0) -> bool:
    """Whether an expression is far from zero in a corner, next to these there and to itself elsewhere."""
    parts = [part.doit() for part in (e, *terms)]
    if any(part.has(sp.Derivative) for part in parts):
        return False  # of a Python function

    def at(part: Any, place: Any) -> Any:
        return valued(part, place, problem.coordinates, problem.domain)

    try:
        value, *sizes = (abs(float(at(part, here[0]))) for part in parts)
        # A slope of 1e-17 beside a value of 1e-17 is zero twice: that of a bar's tones is.
        usual = max(abs(complex(at(part, place))) for part in parts for place in here[1:])
    except (TypeError, ValueError):
        return False  # it has no value there
    usual = usual if math.isfinite(usual) else 0.0
    return value > max(CLASHES.tolerance * max(sizes), CLASHES.rounding * usual, least)
