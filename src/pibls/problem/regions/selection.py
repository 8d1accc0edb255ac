"""Selection of the region that the argument ``on`` of a condition names in a given domain.

The kinds of regions are a part of the boundary (`BoundaryPart`), the two faces of a periodic coordinate
(`PeriodicFaces`), a slice of the domain at a fixed coordinate such as the initial time (`Slice`), a point
(`SinglePoint`), scattered points (`ScatteredPoints`), a curve or surface inside the domain (`InnerSurface`),
and the domain itself (`Interior`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp
from sympy.logic.boolalg import Boolean

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Logical, Number
from pibls.geometry import (
    Boundary,
    Domain,
    box_of,
    faces_of,
    is_domain,
    leaves_of,
    lengths_of,
    space_of,
    time_of,
    within,
)
from pibls.geometry.checks.arguments import real_number
from pibls.geometry.faces.face import join_boundaries
from pibls.geometry.faces.level_set import LevelSet
from pibls.problem.arguments import Place
from pibls.problem.conditions import Initial, Periodic
from pibls.problem.regions import (
    BoundaryPart,
    InnerSurface,
    Interior,
    PeriodicFaces,
    Region,
    ScatteredPoints,
    SinglePoint,
    Slice,
    is_same_shape,
)
from pibls.problem.regions.relation import Relation, check_relation, fixed_coordinates

if TYPE_CHECKING:
    from pibls.problem.conditions import BaseCondition

__all__ = [
    "BoundaryPart",
    "Interior",
    "PeriodicFaces",
    "Region",
    "ScatteredPoints",
    "SinglePoint",
    "Slice",
    "boundary_probes",
    "region_of",
    "within",
]

_PROBES = 4096
_MIN_PROBES_PER_FACE = 16


def region_of(condition: BaseCondition, domain: Domain) -> Region:
    """Return the region of a condition; for ``on=None`` the whole boundary."""
    if isinstance(condition, Initial):
        return _initial_slice(condition, domain)
    if isinstance(condition, Periodic):
        return _periodic_faces(condition, domain)
    on = condition.on
    if on is None:
        return BoundaryPart()
    if isinstance(on, Mapping):
        return _single_point(on, domain, condition.label)
    if isinstance(on, (Boolean, bool, np.bool_)):
        return _relation_region(
            on if isinstance(on, Boolean) else sp.sympify(bool(on)), domain, condition.label
        )
    if is_domain(on):
        return _shape_boundary(on, domain, condition.label)
    raise ProblemError(
        f"{condition.label}: on",
        expected="None, a SymPy relation, a shape of the domain, or a point {x: 0, y: 0}",
        got=repr(on),
        remedy="For the left side write on=sympy.Eq(x, 0); for several parts on=sympy.Or(…, …), or a "
        "condition for each.",
    )


def boundary_or_inner_region(on: Place, domain: Domain, label: str) -> Region:
    """Return the part of the boundary, or the curve or surface inside, that a relation or a shape names."""
    found: Region | None = None
    if isinstance(on, Boolean):
        found = _relation_region(on, domain, label)
    elif is_domain(on):
        found = _shape_boundary(on, domain, label)
    if found is None or not (found.is_boundary or found.plane() is not None or found.is_inner_surface):
        raise ProblemError(
            label,
            expected="None, a shape, shape.boundary, or a SymPy relation such as sympy.Eq(x, 0)",
            got=repr(on),
            remedy="A shape means its interior; shape.boundary means its boundary.",
        )
    return found


def _initial_slice(condition: Initial, domain: Domain) -> Region:
    box = box_of(domain)
    if time_of(domain) is None and len(domain.coordinates) > 1:
        raise ProblemError(
            condition.label,
            expected="a domain with time",
            got=repr(domain),
            remedy="Add time with domain.during(t, t0, t1), or use Dirichlet for a side of a box.",
            in_file="Add a section [time] with t = [0, 1], or use dirichlet for a side of a box.",
        )
    axis = len(domain.coordinates) - 1
    return Slice(axis, float(box[axis, 0]))


def _periodic_faces(condition: Periodic, domain: Domain) -> Region:
    if condition.x not in domain.coordinates or condition.x == time_of(domain):
        raise ProblemError(
            f"{condition.label}: x",
            expected=f"a space coordinate of the domain {space_of(domain).coordinates}",
            got=repr(condition.x),
            remedy="Name the coordinate in which the solution is periodic.",
        )
    axis = domain.coordinates.index(condition.x)
    planes = [f.plane() for f in faces_of(domain)]
    if None in planes or sum(p is not None and p[0] == axis for p in planes) != 2:
        raise ProblemError(
            f"{condition.label}: domain",
            expected=f"an Interval or Box, with two opposite {condition.x}-faces",
            got=repr(domain),
            remedy="Periodic conditions need a box in that coordinate.",
        )
    low, high = box_of(domain)[axis]
    return PeriodicFaces(axis, float(low), float(high))


def _shape_boundary(shape: Domain, domain: Domain, label: str) -> Region:
    if is_same_shape(shape, domain) or is_same_shape(shape, space_of(domain)):
        return BoundaryPart()
    leaves = leaves_of(shape)
    part = BoundaryPart(owners=leaves)
    if not part.mask(boundary_probes(domain)).any():
        raise ProblemError(
            f"{label}: on",
            expected="a shape that contributes to the boundary of the domain",
            got=repr(shape),
            remedy="Use one of the shapes from which the domain was built.",
        )
    return part


def _relation_region(relation: Logical, domain: Domain, label: str) -> Region:
    coordinates, box = tuple(domain.coordinates), box_of(domain)
    check_relation(relation, coordinates, f"{label}: on")
    fixed = dict(fixed_coordinates(relation, coordinates))
    for axis, level in fixed.items():
        slack = 1e-9 * (box[axis, 1] - box[axis, 0])
        if not box[axis, 0] - slack <= level <= box[axis, 1] + slack:
            x = coordinates[axis]
            raise ProblemError(
                f"{label}: on",
                expected=f"a place in the domain, {box[axis, 0]:g} <= {x} <= {box[axis, 1]:g}",
                got=relation,
                remedy=f"Move the condition to a value of {x} inside the domain.",
            )
    rule = Relation(relation, coordinates, _box_bounds(domain))
    if isinstance(relation, sp.Or):
        _check_alternatives(relation, domain, label)
    in_time = [axis for axis in fixed if coordinates[axis] == time_of(domain)]
    if not in_time and BoundaryPart(rule).mask(boundary_probes(domain, BoundaryPart(rule))).any():
        return BoundaryPart(rule)
    equalities = relation.args if isinstance(relation, sp.And) else (relation,)
    place = {coordinates[axis]: level for axis, level in fixed.items()}
    if len(fixed) == len(equalities) and place.keys() >= {*space_of(domain).coordinates}:
        return _single_point(place, domain, label)
    if len(fixed) > 1:
        raise ProblemError(
            f"{label}: on",
            expected="a part of the boundary, a slice x = level, or a point",
            got=relation,
            remedy="For an edge, name the sides that meet there.",
        )
    for axis, level in fixed.items():
        X = np.random.default_rng(0).uniform(box[:, 0], box[:, 1], (8 * _PROBES, len(box)))
        X[:, axis] = level
        if np.any(rule(X) & within(domain, X)):
            return Slice(axis, level, rule)
    surface = _inner_surface(relation, rule, domain, label)
    if surface is not None:
        return surface
    raise ProblemError(
        f"{label}: on",
        expected="a relation that holds on some part of the boundary",
        got=f"{relation}, which holds at no boundary point of {domain!r}",
        remedy="Check signs and bounds. Write sympy.Eq(x, 0), since x == 0 is False in Python. For a symbol "
        "declared positive Eq(x, 0) is false: write on={x: 0}.",
        in_file="Check signs and bounds.",
    )


def _inner_surface(relation: Logical, rule: Relation, domain: Domain, label: str) -> Region | None:
    """Return a curve or surface inside: one equality between expressions, and further relations."""
    atoms = relation.args if isinstance(relation, sp.And) else (relation,)
    equalities = [a for a in atoms if isinstance(a, sp.Equality)]
    coordinates, box = tuple(domain.coordinates), box_of(domain)
    if len(equalities) != 1 or len(coordinates) not in (2, 3):
        return None
    level = LevelSet(equalities[0].lhs - equalities[0].rhs, coordinates, f"{label}: on")
    faces = level.faces(box, relation)
    surface = InnerSurface(rule, faces)
    return surface if len(surface.isolated_points(domain) if faces else ()) else None


def _check_alternatives(relation: Logical, domain: Domain, label: str) -> None:
    """Raise a ProblemError if an alternative of Or is a slice or a point, and not a part of the boundary."""
    for part in relation.args:
        if (
            fixed_coordinates(part, tuple(domain.coordinates))
            and not _relation_region(part, domain, label).is_boundary
        ):
            raise ProblemError(
                f"{label}: on",
                expected="parts of the boundary joined by sympy.Or",
                got=f"{part}, which is not on the boundary",
                remedy="Write one condition for each of the places.",
            )


def boundary_probes(domain: Domain, region: Region | None = None) -> Boundary:
    """Return a fixed set of many boundary points, none of them at a corner, equally many on each face.

    With a ``region`` there is also one between any two parameters at which it may begin or end.
    """
    faces, rng = faces_of(domain), np.random.default_rng(0)
    each = max(_PROBES // max(len(faces), 1), _MIN_PROBES_PER_FACE)
    found = [f.at(rng.random((each, f.dimension)), rng) for f in faces]
    cuts = [np.empty(0) if region is None else region.breakpoints(f) for f in faces]
    found += [
        f.at(0.5 * (c[1:, None] + c[:-1, None])) for f, c in zip(faces, cuts, strict=True) if len(c) > 1
    ]
    return join_boundaries(found, len(domain.coordinates))


def _single_point(on: Mapping[Coordinate, Number], domain: Domain, label: str) -> Region:
    time = time_of(domain)
    strange = [c for c in on if c not in domain.coordinates]
    missing = [c for c in domain.coordinates if c not in on and c != time]
    if strange or missing:
        raise ProblemError(
            f"{label}: on",
            expected=f"a value for each coordinate {tuple(domain.coordinates)}",
            got=dict(on),
            remedy="A whole side is written as a relation, such as sympy.Eq(x, 0).",
            in_file='A whole side is written as a relation: on = "x = 0".',
        )
    point = tuple(
        None if c not in on else real_number(on[c], f"{label}: on[{c}]") for c in domain.coordinates
    )
    middle = np.mean(box_of(domain), axis=1)
    X = np.array([[m if p is None else p for p, m in zip(point, middle, strict=True)]])
    if not within(domain, X)[0]:
        raise ProblemError(
            f"{label}: on",
            expected=f"a point in {domain!r}",
            got=dict(on),
            remedy="Move the point into the domain or onto its boundary.",
        )
    if len(space_of(domain).coordinates) == 1 and point[1:] in ((), (None,)):
        # The end of an interval is a side, which conditions with on=None then exclude.
        x = domain.coordinates[0]
        side = BoundaryPart(
            Relation(sp.Eq(x, point[0], evaluate=False), tuple(domain.coordinates), _box_bounds(domain))
        )
        if side.mask(boundary_probes(domain)).any():
            return side
    return SinglePoint(point, _normal_at(domain, X))


def _box_bounds(domain: Domain) -> tuple[tuple[float, float], ...]:
    return tuple((float(a), float(b)) for a, b in box_of(domain))


def _normal_at(domain: Domain, X: Array) -> tuple[float, ...] | None:
    tolerance = 1e-9 * lengths_of(domain)
    on = [f for f in faces_of(domain) if f.touches(X, tolerance)[0]]
    normals = on[0].normals(X) if len(on) == 1 else None
    return None if normals is None else tuple(map(float, normals[0]))
