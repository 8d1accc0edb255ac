r"""∫_Ω f ≈ Σ wᵢ f(xᵢ), ∫_∂Ω f ≈ Σ wᵢ f(xᵢ): rules for any shape, and for parts of its boundary.

Boxes, balls, bodies with a base or a profile and plane shapes with charts are integrated to as many
digits as the integrand allows. Other bodies, and shapes of which only `contains` is known, are integrated in
lines whose ends are found by bisection; the rule over the lines is of low order there, and two rules of
different size tell how far off it is.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import ceil
from typing import Any, cast

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.geometry.ball import Ball, Sphere
from pibls.geometry.box import Box
from pibls.geometry.extrusion import Extrusion
from pibls.geometry.faces.arc import Arc
from pibls.geometry.faces.extruded import Extruded
from pibls.geometry.faces.face import Face, Keep, bisected, stretches
from pibls.geometry.faces.flat import FlatFace
from pibls.geometry.faces.patch import Patch
from pibls.geometry.integrals.columns import LOOKED, in_columns, knots_of
from pibls.geometry.integrals.cut import Cut
from pibls.geometry.integrals.gauss import Rule, gauss, in_ball, in_round_ball, on_box
from pibls.geometry.mapped import Mapped
from pibls.geometry.protocol import Domain, box_of, faces_of, within
from pibls.geometry.revolution import Revolution
from pibls.geometry.shape import FullyKnown

_BISECTIONS = 50
_FEW_TURNS, _ZOOMS = 64, 4
_SETTLED = 1e-13


def settled(make: Callable[[int], Rule], n: int, most: int) -> Rule:
    """The rule of about n nodes, or of more where a smooth function needs more to be integrated there.

    Where it never settles, rules of other n differ in size: what is left then shows between them.
    """
    now = make(n)
    most = max(int(most * (0.7 + 0.3 * ((0.618 * n) % 1.0))), n) if most > n else n
    while n < most:
        n = min(int(1.6 * n) + 1, most)
        last, now = now, make(n)
        if not len(now.weights) or _agree(last, now):
            return now
    return now


def _agree(a: Rule, b: Rule) -> bool:
    """Whether two rules give the same for a few smooth functions."""
    low, high = b.points.min(axis=0), b.points.max(axis=0)
    half = np.where(high > low, 0.5 * (high - low), 1.0)
    sums = []
    for rule in (a, b):
        S = (rule.points - 0.5 * (low + high)) / half
        waves = np.column_stack([np.ones(len(S)), np.cos(4.0 * S + 0.3), np.cos(3.0 * S.sum(axis=1))])
        sums.append(rule.weights @ waves)
    size = float(np.abs(b.weights).sum())
    return bool(np.all(np.abs(sums[0] - sums[1]) <= _SETTLED * size))


def rule_inside(domain: Any, n: int) -> Rule:
    """A rule over a domain in space, with about n nodes along each side of its bounds."""
    if isinstance(domain, Cut) and not domain.is_crossed:
        plain = domain.plain()
        return Rule.joined([], len(domain.coordinates)) if plain is None else rule_inside(plain, n)
    if isinstance(domain, Box):
        return on_box(box_of(domain), n)
    if isinstance(domain, Ball) and len(domain.coordinates) > 2:
        rule = in_round_ball if len(domain.coordinates) == 3 else in_ball
        return rule(np.array(domain.center), domain.radius, n)
    if isinstance(domain, Extrusion):
        x, w = gauss(n)
        height = domain.high - domain.low
        return rule_inside(domain.base, n).across(domain.low + height * x, height * w)
    if isinstance(domain, Revolution):
        return _turned(rule_inside(domain.profile, n), n)
    d = len(domain.coordinates)
    if d == 2 and all(face.has_chart and face.dimension == 1 for face in faces_of(domain)):
        return in_columns(domain, n)
    if isinstance(domain, Mapped):
        found = rule_inside(domain.shape, n)
        size = abs(float(np.linalg.det(domain.affine.matrix)))
        return Rule.inside(domain.affine.points(found.points), size * found.weights)
    return _in_lines(domain, n)


def rule_common(shape: Any, domain: Any, n: int) -> Rule:
    """A rule over the part of a shape that lies in the domain."""
    if isinstance(domain, Cut):
        return rule_inside(Cut(cast("Domain", _Common(shape, domain.domain)), domain.box), n)
    found = rule_inside(shape, n)
    inside = within(domain, found.points)
    if bool(np.all(inside)):
        return found
    if len(domain.coordinates) == 2 and all(f.has_chart for f in (*faces_of(shape), *faces_of(domain))):
        return in_columns(cast("Domain", _Common(shape, domain)), n)
    from pibls.geometry.csg import Intersection

    return rule_inside(Intersection((shape, domain)), n)


class _Common(FullyKnown):
    """What two plane domains have in common, with all faces of both: they may touch, or share a face."""

    def __init__(self, one: Domain, other: Domain) -> None:
        self._both = (one, other)
        self.coordinates = tuple(other.coordinates)
        self.faces = (*faces_of(one), *faces_of(other))
        boxes = np.array([box_of(one), box_of(other)])
        self.bounds = np.stack([boxes[..., 0].max(axis=0), boxes[..., 1].min(axis=0)], axis=1)

    def contains(self, X: Array) -> Any:
        return np.logical_and(*(np.asarray(d.contains(X), dtype=bool) for d in self._both))


def rule_boundary(domain: Domain, n: int, keep: Keep | None = None) -> Rule:
    """A rule over the boundary, or the part of it where ``keep`` holds."""
    return rule_faces(faces_of(domain), n, box_of(domain), keep)


def rule_faces(
    faces: tuple[Face, ...], n: int, box: Array, keep: Keep | None = None, halvings: int = 0
) -> Rule:
    """A rule over some faces, about n nodes along a side of the box, or the part where ``keep`` holds.

    ``halvings`` of curves towards their ends and corners: a power of the distance is smooth in each part.
    """
    reach = float(np.linalg.norm(box[:, 1] - box[:, 0]))
    return Rule.joined([_on_face(face, n, reach, keep, halvings) for face in faces], len(box))


def rule_slice(domain: Domain, axis: int, level: float, n: int, keep: Any = None) -> Rule:
    """A rule over the part of the plane x_axis = level that lies in the domain (and where ``keep`` holds)."""
    box = box_of(domain)
    free = [i for i in range(len(box)) if i != axis]

    def lifted(Y: Array) -> Array:
        X = np.full((len(Y), len(box)), level)
        X[:, free] = Y
        return X

    def contains(Y: Array) -> Any:
        X = lifted(Y)
        inside = np.asarray(domain.contains(X), dtype=bool)
        return inside if keep is None else inside & np.asarray(keep(X), dtype=bool)

    found = _lines(contains, box[free], n)
    normals = np.zeros((len(found.points), len(box)))
    normals[:, axis] = 1.0
    return Rule(lifted(found.points), found.weights, normals)


def _turned(profile: Rule, n: int) -> Rule:
    """A profile in (r, z) around its axis: equal steps are best for what repeats."""
    turns = 2 * n
    angle = 2.0 * np.pi * (np.arange(turns) + 0.5) / turns
    r, z = np.repeat(profile.points[:, 0], turns), np.repeat(profile.points[:, 1], turns)
    a = np.tile(angle, len(profile.weights))
    weights = np.repeat(profile.weights * profile.points[:, 0], turns) * (2.0 * np.pi / turns)
    return Rule.inside(np.column_stack([r * np.cos(a), r * np.sin(a), z]), weights)


def _in_lines(domain: Domain, n: int) -> Rule:
    return _lines(lambda X: np.asarray(domain.contains(X), dtype=bool), box_of(domain), n)


def _lines(contains: Any, box: Array, n: int) -> Rule:
    """Lines along the first coordinate, their ends by bisection; short panels across them."""
    d = len(box)
    if d == 0:
        inside = contains(np.empty((1, 0)))
        return Rule.inside(np.empty((1, 0))[inside], np.ones(1)[inside])
    low, high = box[0]
    panels = max(n // 2, 4) if d > 1 else 1
    across = _panels(box[1:], panels) if d != 2 else _between_turns(contains, box, n)
    m = len(across.weights)
    # A line that is shorter than their distance is not seen: that must not be the same in two rules.
    u = np.linspace(low, high, (LOOKED if d != 2 else 8 * (LOOKED + n)) + 1)
    middles = 0.5 * (u[1:] + u[:-1])

    def asked(rows: Any, x: Array) -> Any:
        return contains(np.column_stack([x, across.points[rows]]))

    rows, columns = np.repeat(np.arange(m), len(middles)), np.tile(middles, m)
    inside = asked(rows, columns).reshape(m, -1)
    frame = np.zeros((m, len(middles) + 2), dtype=bool)
    frame[:, 1:-1] = inside
    places = np.concatenate([[low - 1e-9 * (high - low)], middles, [high + 1e-9 * (high - low)]])
    line, spot = np.nonzero(frame[:, 1:] != frame[:, :-1])
    first = frame[line, spot]
    ends, _ = bisected(lambda c: asked(line, c) == first, places[spot], places[spot + 1])
    left, right, line = ends[0::2], ends[1::2], line[0::2]
    x, w = gauss(n)
    length = right - left
    X = left[:, None] + length[:, None] * x
    rest = np.repeat(across.points[line], len(x), axis=0)
    weights = (across.weights[line] * length)[:, None] * w
    return Rule.inside(np.column_stack([X.ravel(), rest]), weights.ravel())


def _between_turns(contains: Any, box: Array, n: int) -> Rule:
    """Heights of a plane shape, Gauss's rule between those at which lines appear, part, join or vanish.

    There the ends of a line move like a square root, which a substitution makes smooth.
    """
    (left, right), (low, high) = box
    looked = LOOKED + 2 * n
    x = left + (right - left) * (np.arange(looked) + 0.5) / looked

    def asked(x: Array, y: Array) -> Any:
        """(heights, places): which points lie inside."""
        return contains(np.column_stack([np.tile(x, len(y)), np.repeat(y, len(x))])).reshape(len(y), -1)

    y = low + (high - low) * (np.arange(-1, looked + 1) + 0.5) / looked
    masks = asked(x, y[1:-1])
    none = np.zeros((1, looked), dtype=bool)
    masks = np.concatenate([none, masks, none])  # beyond its bounds there is nothing
    count = np.count_nonzero(np.diff(np.pad(masks, ((0, 0), (1, 1))).astype(int), axis=1), axis=1)
    spots = np.flatnonzero(count[1:] != count[:-1])
    turns = [_turn(asked, x, masks[i : i + 2], y[i : i + 2]) for i in spots[:_FEW_TURNS]]
    cuts = np.unique(np.concatenate([[low], np.clip(turns, low, high), [high]]))
    parts = []
    for start, stop in pairwise(cuts.tolist()):
        s, w = gauss(max(ceil(n * (stop - start) / (high - low)), 1) + 12)
        t, dt = np.sin(0.5 * np.pi * s) ** 2, 0.5 * np.pi * np.sin(np.pi * s)
        parts.append(Rule.inside((start + (stop - start) * t)[:, None], (stop - start) * w * dt))
    return Rule.joined(parts, 1)


def _turn(asked: Any, x: Array, masks: Any, ends: Array) -> float:
    """The height between two lines at which one begins, ends or is parted: ever closer to the place."""
    more = int(
        np.count_nonzero(np.diff(masks[1].astype(int))) > np.count_nonzero(np.diff(masks[0].astype(int)))
    )
    here, there = float(ends[more]), float(ends[1 - more])
    changed = np.flatnonzero(masks[0] != masks[1])
    state, places = bool(masks[more][changed[len(changed) // 2]]), x
    for _ in range(_ZOOMS):
        # What is only on one side shrinks to a point: look where it was last seen.
        a, b, seen = here, there, places[changed]
        for _ in range(_BISECTIONS):
            c = 0.5 * (a + b)
            mask = asked(places[changed], np.array([c]))[0] == state
            if mask.any():
                a, seen = c, places[changed][mask]
            else:
                b = c
        step = float(places[1] - places[0])
        here = a
        places = np.linspace(seen[0] - step, seen[-1] + step, LOOKED + 1)
        changed = np.arange(len(places))
    return 0.5 * (a + b)


def _panels(box: Array, count: int) -> Rule:
    """The tensor rule of ``count`` panels with three nodes each along every side."""
    x, w = gauss(3)
    s = ((np.arange(count)[:, None] + x) / count).ravel()
    weights = np.tile(w / count, count)
    out = Rule.inside(np.empty((1, 0)), np.ones(1))
    for a, b in box:
        out = out.across(a + (b - a) * s, (b - a) * weights)
    return out


def _on_face(face: Any, n: int, reach: float, keep: Keep | None, halvings: int) -> Rule:
    if not face.has_chart:
        raise _without_chart(face)
    if face.dimension == 0:
        found = face.at(np.empty((1, 0)))
        kept = np.ones(1, dtype=bool) if keep is None else np.asarray(keep(found), dtype=bool)
        return Rule(found.points[kept], np.ones(1)[kept], found.normals[kept])
    if face.dimension == 1:
        parts = [(0.0, 1.0)] if keep is None else stretches(face, np.linspace(0.0, 1.0, 257), keep)
        rules = [_along(face, ends, n, reach, halvings) for ends in parts]
        return Rule.joined(rules, 2)
    if keep is not None:
        held = np.asarray(keep(face.at(np.random.default_rng(0).random((1024, face.dimension)))), dtype=bool)
        if not held.any():
            return Rule.joined([], face.dimension + 1)
        if not held.all():
            raise ProblemError(
                "integral(over)",
                expected="whole sides of a body",
                got="a relation that holds on a part of one",
                remedy="Name whole sides: over=sympy.Eq(z, 0), or over=shape.boundary.",
            )
    return _on_surface(face, n)


def _along(face: Face, ends: tuple[float, float], n: int, reach: float, halvings: int = 0) -> Rule:
    """Gauss's rule on each smooth piece of a curve."""
    if isinstance(face, FlatFace):
        parts = []
        for a, b in pairwise(_halved(list(ends), halvings)):
            u, w = gauss(ceil(n * (b - a) / (ends[1] - ends[0])) + 8)
            found = face.at((a + (b - a) * u)[:, None])
            parts.append(Rule(found.points, (b - a) * face.measure(np.ones(2)) * w, found.normals))
        return Rule.joined(parts, 2)
    assert isinstance(face, Arc)
    start, stop = ends
    knots = knots_of(face)[0]
    beginning = (1.0 - face.start) / (face.stop - face.start) if face.curve.closed else 0.0
    knots = np.concatenate([knots, knots + 1.0, [beginning, beginning + 1.0]])
    cuts = [start, *np.unique(knots[(knots > start) & (knots < stop)]).tolist(), stop]
    cuts = _halved(cuts, halvings)
    if len(cuts) < 5:
        cuts = sorted({*cuts, *np.linspace(start, stop, 5).tolist()})
    parts = []
    for a, b in pairwise(cuts):
        if b - a < 1e-13:
            continue
        size = face.curve.length * (face.stop - face.start) * (b - a)
        count = ceil(n * size / reach) + (10 if len(cuts) < 64 else 6)
        u, w = gauss(count)
        X, speed, normals = face.run(a, b, u)
        parts.append(Rule(X, w * speed, normals))
    return Rule.joined(parts, 2)


def _halved(cuts: list[float], times: int) -> list[float]:
    """More cuts, each half as far from its neighbour among these as the one before."""
    shares = [0.5**k for k in range(1, times + 1)]
    more = {c for a, b in pairwise(cuts) for s in shares for c in (a + s * (b - a), b - s * (b - a))}
    return sorted({*cuts, *more})


def _on_surface(face: Any, n: int) -> Rule:
    d = face.dimension + 1
    if isinstance(face, FlatFace):
        flat = on_box(np.array([side for i, side in enumerate(face.bounds) if i != face.axis]), n)
        X = np.insert(flat.points, face.axis, face.level, axis=1)
        return Rule(X, flat.weights, face.normals(X))
    if isinstance(face, Extruded) and face.face.dimension == 1:
        x, w = gauss(n)
        height = face.stop - face.start
        wall = _along(face.face, (0.0, 1.0), n, face.face.measure(np.ones(d - 1)))
        return wall.across(face.start + height * x, height * w)
    if isinstance(face, Patch) and isinstance(face.surface, Sphere) and d == 3:
        return _on_sphere(face, n)
    raise _without_chart(face)


def _on_sphere(face: Patch, n: int) -> Rule:
    """Equal parts of the parameters are equal areas: steps in longitude, Gauss's rule in height."""
    turns = 2 * n
    height, w = gauss(n)
    U = np.column_stack([np.tile((np.arange(turns) + 0.5) / turns, n), np.repeat(height, turns)])
    found = face.at(U)
    sphere = face.surface
    assert isinstance(sphere, Sphere)
    area = 4.0 * np.pi * sphere.radius**2
    return Rule(found.points, area * np.repeat(w, turns) / turns, found.normals)


def _without_chart(face: Any) -> ProblemError:
    return ProblemError(
        "integral(over)",
        expected="a boundary of curves, of whole flat sides, whole spheres or the walls of an extrusion",
        got="a part of a curved surface, or a shape that only says what it contains",
        remedy="Integrate over the inside instead: by the divergence theorem, ∫ div F is the flux of F.",
    )
