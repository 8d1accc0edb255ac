"""Where a condition holds: ``on`` worked out against a domain.

Five kinds, one class each: a part of the boundary (`Part`), the two faces of a periodic coordinate
(`Pair`), a slice of the domain at a fixed coordinate (`Slice`; the start of time is one), a point
(`Spot`), and the domain itself (`Inside`, for the equations). `points` draws from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import sympy as sp
from sympy.logic.boolalg import Boolean

from pibls.arrays import Array, Mask
from pibls.domain import Boundary, Domain, box_of, faces_of, lengths_of, space_of, time_of
from pibls.domain.checks import real_number
from pibls.domain.face import Cloud, Extruded, FlatFace
from pibls.errors import ProblemError
from pibls.problem.conditions import Initial, Periodic
from pibls.problem.relation import Relation, check_relation, pinned

_PROBES = 4096


@dataclass(frozen=True)
class Inside:
    """The domain itself."""


@dataclass(frozen=True)
class Part:
    """The boundary points that the relation and the owner admit and no ``taken`` part claims."""

    relation: Relation | None = None
    owners: tuple[object, ...] | None = field(default=None, hash=False)  # a user's shape may have no hash
    taken: tuple[Part | Pair, ...] = ()

    def mask(self, boundary: Boundary) -> Mask:
        keep = np.ones(len(boundary.points), dtype=np.bool_)
        if self.relation is not None:
            keep &= self.relation(boundary.points)
        if self.owners is not None:
            owned = [any(_same(o, s) for s in self.owners) for o in boundary.owners]
            keep &= np.asarray(owned, dtype=np.bool_).reshape(-1)
        for other in self.taken:
            keep &= ~other.mask(boundary)
        return keep


@dataclass(frozen=True)
class Pair:
    """x = a and x = b, point by point opposite each other."""

    axis: int
    low: float
    high: float

    def mask(self, boundary: Boundary) -> Mask:
        # By the normal, not the position: the corners belong to the neighbouring faces too.
        return np.asarray(np.abs(boundary.normals[:, self.axis]) > 0.5, dtype=np.bool_)


@dataclass(frozen=True)
class Slice:
    """The points of the domain with x_axis = level, where the relation holds."""

    axis: int
    level: float
    relation: Relation | None = None


@dataclass(frozen=True)
class Spot:
    """One point; a coordinate that is None (time) runs over its whole range."""

    point: tuple[float | None, ...]
    normal: tuple[float, ...] | None


Region: TypeAlias = Inside | Part | Pair | Slice | Spot


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
    if isinstance(on, Domain) and not isinstance(on, type):
        return _owned(on, domain, condition.label)
    raise ProblemError(
        f"{condition.label}: on",
        expected="None, a SymPy relation, a shape of the domain, or a point {x: 0, y: 0}",
        got=repr(on),
        remedy="For the left side write on=sympy.Eq(x, 0).",
    )


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
    flat = [f.face if isinstance(f, Extruded) else f for f in faces_of(domain)]
    if sum(isinstance(f, FlatFace) and f.axis == axis for f in flat) != 2 or not all(
        isinstance(f, FlatFace) for f in flat
    ):
        raise ProblemError(
            f"{condition.label}: domain",
            expected=f"an Interval or Box, with two opposite {condition.x}-faces",
            got=repr(domain),
            remedy="Periodic conditions need a box in that coordinate.",
        )
    low, high = box_of(domain)[axis]
    return Pair(axis, float(low), float(high))


def _owned(shape: Domain, domain: Domain, label: str) -> Region:
    if _same(shape, domain) or _same(shape, space_of(domain)):
        return Part()
    leaves = tuple(getattr(shape, "leaves", (shape,)))
    part = Part(owners=leaves)
    if not part.mask(probe(domain)).any():
        raise ProblemError(
            f"{label}: on",
            expected="a shape that contributes to the boundary of the domain",
            got=repr(shape),
            remedy="Use one of the shapes the domain was built from.",
        )
    return part


def _same(a: object, b: object) -> bool:
    if a is b:
        return True
    try:
        return bool(a == b)
    except ValueError:  # shapes that hold arrays have no single answer; then only the same one is equal
        return False


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
    if not in_time and Part(rule).mask(probe(domain)).any():
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
    raise ProblemError(
        f"{label}: on",
        expected="a relation that holds on some part of the boundary",
        got=f"{relation}, which holds at no boundary point of {domain!r}",
        remedy="Check signs and bounds; write sympy.Eq(x, 0), since x == 0 is False in Python; "
        "a symbol declared positive makes Eq(x, 0) false, and there on={x: 0} names the end.",
        in_file="Check signs and bounds.",
    )


def _check_alternatives(relation: Any, domain: Domain, label: str) -> None:
    """Or joins parts of the boundary; a slice or a point would be lost among them."""
    for part in relation.args:
        if pinned(part, tuple(domain.coordinates)) and not isinstance(_related(part, domain, label), Part):
            raise ProblemError(
                f"{label}: on",
                expected="parts of the boundary joined by sympy.Or",
                got=f"{part}, which is not on the boundary",
                remedy="Write one condition for each of the places.",
            )


def probe(domain: Domain) -> Boundary:
    """Many boundary points, none of them at a corner, always the same."""
    return Cloud(domain).at(np.empty((_PROBES, 0)), np.random.default_rng(0))


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
    rng = np.random.default_rng(0)
    on = [f for f in faces_of(domain) if f.touches(X, tolerance)[0]]
    if len(on) != 1:
        return None
    normal = on[0].at(np.full((1, on[0].dimension), 0.5), rng).normals[0]
    return tuple(map(float, normal)) if isinstance(_flat(on[0]), FlatFace) else None


def _flat(face: Any) -> Any:
    return face.face if isinstance(face, Extruded) else face


def within(domain: Domain, X: Array) -> Mask:
    """Which points lie in the closed domain, boundary points of a strict ``contains`` included."""
    inside = np.array(domain.contains(X), dtype=np.bool_)
    step = 1e-9 * lengths_of(domain)
    for axis in range(X.shape[1]):
        for sign in (-1.0, 1.0):
            doubtful = np.flatnonzero(~inside)
            if not len(doubtful):
                return inside
            moved = X[doubtful]
            moved[:, axis] += sign * step[axis]
            inside[doubtful] = domain.contains(moved)
    if not inside.all():
        # A corner needs a step in every coordinate at once: towards the middle of the bounds.
        doubtful = np.flatnonzero(~inside)
        middle = np.mean(box_of(domain), axis=1)
        inside[doubtful] = domain.contains(X[doubtful] + np.sign(middle - X[doubtful]) * step)
    return inside
