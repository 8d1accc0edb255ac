"""Where a condition holds: ``on`` worked out against a domain.

The kinds are in `regions`, one class each: a part of the boundary (`Part`), the two faces of a periodic
coordinate (`Pair`), a slice of the domain at a fixed coordinate (`Slice`; the start of time is one), a point
(`Spot`), scattered points (`Scattered`), and the domain itself (`Inside`, for the equations).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy as sp
from sympy.logic.boolalg import Boolean

from pibls.arrays import Array
from pibls.errors import ProblemError
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
from pibls.geometry.faces.face import join
from pibls.geometry.faces.level import Level
from pibls.problem.conditions import Initial, Periodic
from pibls.problem.regions import Inside, Pair, Part, Region, Rim, Scattered, Slice, Spot, same
from pibls.problem.regions.relation import Relation, check_relation, pinned

__all__ = ["Inside", "Pair", "Part", "Region", "Scattered", "Slice", "Spot", "probe", "region_of", "within"]

_PROBES = 4096
_LEAST_PROBES = 16  # on each face


def region_of(condition: Any, domain: Domain) -> Region:
    """Where a condition holds, before others take their share of ``on=None``."""
    if isinstance(condition, Initial):
        return _start(condition, domain)
    if isinstance(condition, Periodic):
        return _pair(condition, domain)
    on = condition.on
    if on is None:
        return Part()
    if isinstance(on, Mapping):
        return _spot(on, domain, condition.label)
    if isinstance(on, (Boolean, bool, np.bool_)):
        return _related(on if isinstance(on, Boolean) else sp.sympify(bool(on)), domain, condition.label)
    if is_domain(on):
        return _owned(on, domain, condition.label)
    raise ProblemError(
        f"{condition.label}: on",
        expected="None, a SymPy relation, a shape of the domain, or a point {x: 0, y: 0}",
        got=repr(on),
        remedy="For the left side write on=sympy.Eq(x, 0); for several parts on=sympy.Or(…, …), or a "
        "condition for each.",
    )


def part_of(on: Any, domain: Domain, label: str) -> Region:
    """The part of the boundary, or the line, plane or curve inside, that a relation or a shape names."""
    found: Region | None = None
    if isinstance(on, Boolean):
        found = _related(on, domain, label)
    elif is_domain(on):
        found = _owned(on, domain, label)
    if found is None or not (found.is_boundary or found.plane() is not None or found.is_rim):
        raise ProblemError(
            label,
            expected="None, a shape, shape.boundary, or a SymPy relation such as sympy.Eq(x, 0)",
            got=repr(on),
            remedy="A shape is its inside, shape.boundary its boundary.",
        )
    return found


def _start(condition: Initial, domain: Domain) -> Region:
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


def _pair(condition: Periodic, domain: Domain) -> Region:
    if condition.x not in domain.coordinates or condition.x == time_of(domain):
        raise ProblemError(
            f"{condition.label}: x",
            expected=f"a space coordinate of the domain {space_of(domain).coordinates}",
            got=repr(condition.x),
            remedy="Name the coordinate in which the solution repeats.",
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
    return Pair(axis, float(low), float(high))


def _owned(shape: Domain, domain: Domain, label: str) -> Region:
    if same(shape, domain) or same(shape, space_of(domain)):
        return Part()
    leaves = leaves_of(shape)
    part = Part(owners=leaves)
    if not part.mask(probe(domain)).any():
        raise ProblemError(
            f"{label}: on",
            expected="a shape that contributes to the boundary of the domain",
            got=repr(shape),
            remedy="Use one of the shapes the domain was built from.",
        )
    return part


def _related(relation: Any, domain: Domain, label: str) -> Region:
    coordinates, box = tuple(domain.coordinates), box_of(domain)
    check_relation(relation, coordinates, f"{label}: on")
    fixed = dict(pinned(relation, coordinates))
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
    rule = Relation(relation, coordinates, _ends(domain))
    if isinstance(relation, sp.Or):
        _check_alternatives(relation, domain, label)
    in_time = [axis for axis in fixed if coordinates[axis] == time_of(domain)]
    if not in_time and Part(rule).mask(probe(domain, Part(rule))).any():
        return Part(rule)
    equalities = relation.args if isinstance(relation, sp.And) else (relation,)
    place = {coordinates[axis]: level for axis, level in fixed.items()}
    if len(fixed) == len(equalities) and place.keys() >= {*space_of(domain).coordinates}:
        return _spot(place, domain, label)
    if len(fixed) > 1:
        raise ProblemError(
            f"{label}: on",
            expected="a part of the boundary, a slice x = level, or a point",
            got=relation,
            remedy="Edges are covered by the sides that meet there: name the sides.",
        )
    for axis, level in fixed.items():
        X = np.random.default_rng(0).uniform(box[:, 0], box[:, 1], (8 * _PROBES, len(box)))
        X[:, axis] = level
        if np.any(rule(X) & within(domain, X)):
            return Slice(axis, level, rule)
    rim = _rim(relation, rule, domain, label)
    if rim is not None:
        return rim
    raise ProblemError(
        f"{label}: on",
        expected="a relation that holds on some part of the boundary",
        got=f"{relation}, which holds at no boundary point of {domain!r}",
        remedy="Check signs and bounds; write sympy.Eq(x, 0), since x == 0 is False in Python; "
        "a symbol declared positive makes Eq(x, 0) false, and there on={x: 0} names the end.",
        in_file="Check signs and bounds.",
    )


def _rim(relation: Any, rule: Relation, domain: Domain, label: str) -> Region | None:
    """A curve inside: one equality between expressions, and what else the relation says."""
    atoms = relation.args if isinstance(relation, sp.And) else (relation,)
    equalities = [a for a in atoms if isinstance(a, sp.Equality)]
    coordinates, box = tuple(domain.coordinates), box_of(domain)
    if len(equalities) != 1 or len(coordinates) not in (2, 3):
        return None
    level = Level(equalities[0].lhs - equalities[0].rhs, coordinates, f"{label}: on")
    faces = level.faces(box, relation)
    rim = Rim(rule, faces)
    return rim if len(rim.spots(domain) if faces else ()) else None


def _check_alternatives(relation: Any, domain: Domain, label: str) -> None:
    """Or joins parts of the boundary; a slice or a point would be lost among them."""
    for part in relation.args:
        if pinned(part, tuple(domain.coordinates)) and not _related(part, domain, label).is_boundary:
            raise ProblemError(
                f"{label}: on",
                expected="parts of the boundary joined by sympy.Or",
                got=f"{part}, which is not on the boundary",
                remedy="Write one condition for each of the places.",
            )


def probe(domain: Domain, region: Region | None = None) -> Boundary:
    """Many boundary points, none of them at a corner, always the same, as many on small faces.

    Where a ``region`` may begin and end along a face, there is one between any two such places.
    """
    faces, rng = faces_of(domain), np.random.default_rng(0)
    each = max(_PROBES // max(len(faces), 1), _LEAST_PROBES)
    found = [f.at(rng.random((each, f.dimension)), rng) for f in faces]
    cuts = [np.empty(0) if region is None else region.cuts(f) for f in faces]
    found += [
        f.at(0.5 * (c[1:, None] + c[:-1, None])) for f, c in zip(faces, cuts, strict=True) if len(c) > 1
    ]
    return join(found, len(domain.coordinates))


def _spot(on: Mapping[Any, Any], domain: Domain, label: str) -> Region:
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
        # The end of an interval is a whole side of it, which others then do not get by on=None.
        x = domain.coordinates[0]
        side = Part(Relation(sp.Eq(x, point[0], evaluate=False), tuple(domain.coordinates), _ends(domain)))
        if side.mask(probe(domain)).any():
            return side
    return Spot(point, _normal_at(domain, X))


def _ends(domain: Domain) -> tuple[tuple[float, float], ...]:
    return tuple((float(a), float(b)) for a, b in box_of(domain))


def _normal_at(domain: Domain, X: Array) -> tuple[float, ...] | None:
    tolerance = 1e-9 * lengths_of(domain)
    on = [f for f in faces_of(domain) if f.touches(X, tolerance)[0]]
    normals = on[0].normals(X) if len(on) == 1 else None
    return None if normals is None else tuple(map(float, normals[0]))
