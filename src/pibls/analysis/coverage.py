"""∂Ω \\ ∪ᵢ Γᵢ: the parts of the boundary where no condition holds.

There is nothing wrong with such a part: what flows out needs no condition. But when a problem turns out to be
under-determined, that is where to look first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy.core.function import AppliedUndef

from pibls.arrays import Numbers
from pibls.geometry import Boundary, Domain, Face, box_of, faces_of, time_of
from pibls.problem.conditions import Initial
from pibls.problem.forms.integral import integral
from pibls.problem.statement import distinct

if TYPE_CHECKING:
    from pibls.problem import Jet, Problem, Region

_PROBES = 64


def uncovered(problem: Problem) -> tuple[str, ...]:
    """The places without any condition, in words: "y = 1", "part of x = 0", "t = 0".

    >>> import sympy as sp, pibls
    >>> x, y = sp.symbols("x y")
    >>> u = sp.Function("u")(x, y)
    >>> square = pibls.Box({x: (0, 1), y: (0, 1)})
    >>> sides = pibls.Dirichlet(u, 0, on=sp.Or(sp.Eq(x, 0), sp.Eq(x, 1), sp.Eq(y, 0)))
    >>> uncovered(pibls.Problem(square, [u.diff(x, 2) + u.diff(y, 2)], [sides]))
    ('y = 1',)
    """
    return bare(problem.domain, [s.region for s in problem.statements[len(problem.equations) :]])


def bare(domain: Domain, regions: Sequence[Region]) -> tuple[str, ...]:
    """The places that none of these regions holds."""
    time = time_of(domain)
    if len(domain.coordinates) == 1 and any(r.plane() is not None for r in regions):
        return ()  # an initial value problem on a line: nothing is asked at its end
    rng = np.random.default_rng(0)
    found = []
    for face in faces_of(domain):
        held = probed(face, regions, rng)[1] > 0
        if not held.all():
            name = _name(face, domain.coordinates)
            found.append(f"part of {name}" if held.any() else name)
    if time is not None:
        axis, start = len(domain.coordinates) - 1, float(box_of(domain)[-1, 0])
        if not any(plane[0] == axis for r in regions if (plane := r.plane()) is not None):
            found.append(f"{time} = {start:g}")
    return tuple(dict.fromkeys(found))


def probed(face: Face, regions: Sequence[Region], rng: np.random.Generator) -> tuple[Boundary, Numbers]:
    """Some points of a face, and how many of these regions hold each of them."""
    there = face.at(0.01 + 0.98 * rng.random((_PROBES, face.dimension)), rng)
    held = np.zeros(len(there.points), dtype=np.intp)
    for region in regions:
        mine = np.array(region.mask(there), dtype=np.bool_)
        if region.plane() is not None and region.plane() == face.plane():
            mine |= region.holds(there.points)  # a side may also be named as a slice of the domain
        held += mine
    return there, held


def displaced(problem: Problem) -> tuple[str, ...]:
    """Conditions without ``on`` that leave a part of the boundary to one that names it.

    Tractions on a side replace the displacements there; one relation between three unknowns, or a slope,
    may be meant beside their values.
    """
    unknowns = set(problem.unknowns)
    spoken = [c.residual(problem.coordinates).atoms(AppliedUndef) & unknowns for c in problem.conditions]
    labels = distinct([c.label for c in problem.conditions])
    every = [(c, said, label) for c, said, label in zip(problem.conditions, spoken, labels, strict=True)]
    return tuple(
        f"{label} leaves {other.on} to {name}"
        for c, said, label in every
        if c.on is None and not isinstance(c, Initial) and not c.residual(problem.coordinates).has(integral)
        for other, also, name in every
        if other is not c and other.on is not None and said & also
    )


def unbegun(
    domain: Domain, statements: Sequence[tuple[Region, Sequence[Jet]]]
) -> tuple[tuple[int, int], ...]:
    """(k, j) of each ∂_t^j u_k that is not given at the start, where the equations have ∂_t^m u_k with m > j.

    Where as many conditions hold at both ends of the time as there are rates, nothing is said to be missing.
    """
    if time_of(domain) is None:
        return ()
    axis = len(domain.coordinates) - 1
    orders: dict[int, int] = {}
    given: list[set[tuple[int, int]]] = []
    for region, jets in statements:
        plane = region.plane()
        if region.is_inside:
            for j in jets:
                orders[j.unknown] = max(orders.get(j.unknown, 0), j.alpha[axis])
        elif plane is not None and plane[0] == axis:
            given.append({(j.unknown, j.alpha[axis]) for j in jets})
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
