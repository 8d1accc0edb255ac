"""Parts of the boundary without conditions, and missing initial conditions.

A part without conditions is not an error: an outflow boundary needs none. But if a problem turns out to be
underdetermined, it is the most likely cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy.core.function import AppliedUndef

from pibls.arrays import Indices
from pibls.geometry import Boundary, Domain, Face, box_of, faces_of, time_of
from pibls.problem.conditions import Initial
from pibls.problem.forms.integral import integral
from pibls.problem.statement import unique_labels

if TYPE_CHECKING:
    from pibls.problem import PartialDerivative, Problem, Region

_SAMPLES = 64


def uncovered_boundary(problem: Problem) -> tuple[str, ...]:
    """Return descriptions of the parts without any condition: "y = 1", "part of x = 0", "t = 0".

    >>> import sympy as sp, pibls
    >>> x, y = sp.symbols("x y")
    >>> u = sp.Function("u")(x, y)
    >>> square = pibls.Box({x: (0, 1), y: (0, 1)})
    >>> sides = pibls.Dirichlet(u, 0, on=sp.Or(sp.Eq(x, 0), sp.Eq(x, 1), sp.Eq(y, 0)))
    >>> uncovered_boundary(pibls.Problem(square, [u.diff(x, 2) + u.diff(y, 2)], [sides]))
    ('y = 1',)
    """
    return parts_without_condition(
        problem.domain, [s.region for s in problem.statements[len(problem.equations) :]]
    )


def parts_without_condition(domain: Domain, regions: Sequence[Region]) -> tuple[str, ...]:
    """Return descriptions of the boundary parts that none of these regions contains."""
    time = time_of(domain)
    if len(domain.coordinates) == 1 and any(r.plane() is not None for r in regions):
        return ()  # an initial value problem needs no condition at the end
    rng = np.random.default_rng(0)
    found = []
    for face in faces_of(domain):
        counts = count_conditions(face, regions, rng)[1] > 0
        if not counts.all():
            name = _name(face, domain.coordinates)
            found.append(f"part of {name}" if counts.any() else name)
    if time is not None:
        axis, start = len(domain.coordinates) - 1, float(box_of(domain)[-1, 0])
        if not any(plane[0] == axis for r in regions if (plane := r.plane()) is not None):
            found.append(f"{time} = {start:g}")
    return tuple(dict.fromkeys(found))


def count_conditions(
    face: Face, regions: Sequence[Region], rng: np.random.Generator
) -> tuple[Boundary, Indices]:
    """Return sample points of a face, and the number of these regions that contain each of them."""
    there = face.at(0.01 + 0.98 * rng.random((_SAMPLES, face.dimension)), rng)
    counts = np.zeros(len(there.points), dtype=np.intp)
    for region in regions:
        mine = np.array(region.mask(there), dtype=np.bool_)
        if region.plane() is not None and region.plane() == face.plane():
            mine |= region.holds(there.points)  # a side may also be given as a slice of the domain
        counts += mine
    return there, counts


def overridden_conditions(problem: Problem) -> tuple[str, ...]:
    """Return descriptions of conditions without ``on`` that are overridden on a part of the boundary.

    Tractions on a side are meant to replace the displacements there; a relation between three unknowns, or a
    derivative, may be meant in addition to the values.
    """
    unknowns = set(problem.unknowns)
    spoken = [c.residual(problem.coordinates).atoms(AppliedUndef) & unknowns for c in problem.conditions]
    labels = unique_labels([c.label for c in problem.conditions])
    every = [(c, said, label) for c, said, label in zip(problem.conditions, spoken, labels, strict=True)]
    return tuple(
        f"{label} does not apply on {other.on}, where {name} holds"
        for c, said, label in every
        if c.on is None and not isinstance(c, Initial) and not c.residual(problem.coordinates).has(integral)
        for other, also, name in every
        if other is not c and other.on is not None and said & also
    )


def missing_initial_conditions(
    domain: Domain, statements: Sequence[tuple[Region, Sequence[PartialDerivative]]]
) -> tuple[tuple[int, int], ...]:
    """Return (k, j) of each ∂_t^j u_k without initial condition, if the equations have ∂_t^m u_k with m > j.

    Nothing is reported if the conditions at both ends of the time interval are as many as the time
    derivatives.
    """
    if time_of(domain) is None:
        return ()
    axis = len(domain.coordinates) - 1
    orders: dict[int, int] = {}
    given: list[set[tuple[int, int]]] = []
    for region, derivatives in statements:
        plane = region.plane()
        if region.is_interior:
            for j in derivatives:
                orders[j.unknown] = max(orders.get(j.unknown, 0), j.alpha[axis])
        elif plane is not None and plane[0] == axis:
            given.append({(j.unknown, j.alpha[axis]) for j in derivatives})
    if len(given) >= sum(orders.values()):
        return ()
    known = set().union(*given)
    return tuple((k, j) for k in sorted(orders) for j in range(orders[k]) if (k, j) not in known)


def _name(face: Face, coordinates: tuple[Any, ...]) -> str:
    plane = face.plane()
    if plane is not None:
        return f"{coordinates[plane[0]]} = {plane[1]:g}"
    if not face.has_chart:
        return "the boundary"
    owner = face.at(np.full((1, face.dimension), 0.5)).owners[0]
    return f"the boundary of {owner!r}"
