r"""Quadrature rules ∫_Ω f ≈ Σ wᵢ f(xᵢ) and ∫_∂Ω f ≈ Σ wᵢ f(xᵢ) for shapes and parts of their boundary.

For boxes, balls, extrusions, bodies of revolution and plane shapes with charts the rules converge as fast as
the smoothness of the integrand allows. Other bodies, and shapes that only provide `contains`, are integrated
along lines whose ends are found by bisection. The rule across the lines is of low order; its error is
estimated by comparing two rules of different size.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import ceil

import numpy as np

from pibls.arrays import Array, Indices, Mask
from pibls.errors import ProblemError
from pibls.expressions import Coordinate
from pibls.geometry.ball import Ball, Sphere
from pibls.geometry.box import Box
from pibls.geometry.extrusion import Extrusion
from pibls.geometry.faces.arc import Arc
from pibls.geometry.faces.extruded_face import ExtrudedFace
from pibls.geometry.faces.face import BoundaryFilter, Face, bisect, face_intervals
from pibls.geometry.faces.flat_face import FlatFace
from pibls.geometry.faces.patch import Patch
from pibls.geometry.integrals.cell_domain import CellDomain
from pibls.geometry.integrals.gauss import QuadratureRule, ball_rule, ball_rule_3d, box_rule, gauss_legendre
from pibls.geometry.integrals.scan_lines import MIN_SAMPLES, face_knots, scan_line_rule
from pibls.geometry.mapped import Mapped
from pibls.geometry.protocol import Domain, box_of, faces_of, within
from pibls.geometry.revolution import Revolution
from pibls.geometry.shape import BuiltinDomain
from pibls.runtime.caching import cached_property

_BISECTIONS = 50
_MAX_TURNS, _ZOOMS = 64, 4
_RELATIVE_TOLERANCE = 1e-13


def converged_rule(make: Callable[[int], QuadratureRule], n: int, max_nodes: int) -> QuadratureRule:
    """Return a rule of about n nodes per side, with more nodes until smooth test functions are integrated.

    The limit of the refinement depends on n. If it is reached, two calls with different n thus return
    different rules, and their difference shows the remaining error.
    """
    rule = make(n)
    max_nodes = max(int(max_nodes * (0.7 + 0.3 * ((0.618 * n) % 1.0))), n) if max_nodes > n else n
    while n < max_nodes:
        n = min(int(1.6 * n) + 1, max_nodes)
        previous, rule = rule, make(n)
        if not len(rule.weights) or _agree(previous, rule):
            return rule
    return rule


def _agree(a: QuadratureRule, b: QuadratureRule) -> bool:
    """Return whether two rules agree for a few smooth functions."""
    low, high = b.points.min(axis=0), b.points.max(axis=0)
    half = np.where(high > low, 0.5 * (high - low), 1.0)
    sums = []
    for rule in (a, b):
        S = (rule.points - 0.5 * (low + high)) / half
        functions = np.column_stack([np.ones(len(S)), np.cos(4.0 * S + 0.3), np.cos(3.0 * S.sum(axis=1))])
        sums.append(rule.weights @ functions)
    size = float(np.abs(b.weights).sum())
    return bool(np.all(np.abs(sums[0] - sums[1]) <= _RELATIVE_TOLERANCE * size))


def interior_rule(domain: Domain, n: int) -> QuadratureRule:
    """Return a rule over a spatial domain with about n nodes along each side of its bounds."""
    if isinstance(domain, CellDomain) and not domain.is_crossed:
        cell_box = domain.as_box()
        return _empty_rule(domain) if cell_box is None else interior_rule(cell_box, n)
    if isinstance(domain, Box):
        return box_rule(box_of(domain), n)
    if isinstance(domain, Ball) and len(domain.coordinates) > 2:
        rule = ball_rule_3d if len(domain.coordinates) == 3 else ball_rule
        return rule(np.array(domain.center), domain.radius, n)
    if isinstance(domain, Extrusion):
        x, w = gauss_legendre(n)
        height = domain.high - domain.low
        return interior_rule(domain.base, n).product(domain.low + height * x, height * w)
    if isinstance(domain, Revolution):
        return _revolved_rule(interior_rule(domain.profile, n), n)
    if _is_bounded_by_curves(domain):
        return scan_line_rule(domain, n)
    if isinstance(domain, Mapped):
        found = interior_rule(domain.shape, n)
        size = abs(float(np.linalg.det(domain.affine.matrix)))
        return QuadratureRule.interior(domain.affine.points(found.points), size * found.weights)
    return _bisection_rule(domain, n)


def _empty_rule(domain: Domain) -> QuadratureRule:
    return QuadratureRule.concatenated([], len(domain.coordinates))


def _is_bounded_by_curves(domain: Domain) -> bool:
    """Return whether a domain is a plane shape whose whole boundary consists of curves with charts."""
    is_plane = len(domain.coordinates) == 2
    return is_plane and all(face.has_chart and face.dimension == 1 for face in faces_of(domain))


def intersection_rule(shape: Domain, domain: Domain, n: int) -> QuadratureRule:
    """Return a rule over the intersection of a shape and a domain."""
    if isinstance(domain, CellDomain):
        return interior_rule(CellDomain(_DomainIntersection(shape, domain.domain), domain.box), n)
    found = interior_rule(shape, n)
    inside = within(domain, found.points)
    if bool(np.all(inside)):
        return found
    if len(domain.coordinates) == 2 and all(f.has_chart for f in (*faces_of(shape), *faces_of(domain))):
        return scan_line_rule(_DomainIntersection(shape, domain), n)
    from pibls.geometry.csg import Intersection

    return interior_rule(Intersection((shape, domain)), n)


class _DomainIntersection(BuiltinDomain):
    """The intersection of two domains, with all faces of both; these may touch or coincide."""

    def __init__(self, one: Domain, other: Domain) -> None:
        self._both = (one, other)

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        return tuple(self._both[1].coordinates)

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        return tuple(face for domain in self._both for face in faces_of(domain))

    @cached_property
    def bounds(self) -> Array:
        boxes = np.array([box_of(domain) for domain in self._both])
        return np.stack([boxes[..., 0].max(axis=0), boxes[..., 1].min(axis=0)], axis=1)

    def contains(self, X: Array) -> Mask:
        one, other = (np.asarray(d.contains(X), dtype=np.bool_) for d in self._both)
        return one & other


def boundary_rule(domain: Domain, n: int, keep: BoundaryFilter | None = None) -> QuadratureRule:
    """Return a rule over the boundary, or the part of it where ``keep`` is true."""
    return face_rule(faces_of(domain), n, box_of(domain), keep)


def face_rule(
    faces: tuple[Face, ...], n: int, box: Array, keep: BoundaryFilter | None = None, halvings: int = 0
) -> QuadratureRule:
    """Return a rule over faces, or parts where ``keep`` is true, with about n nodes per side of ``box``.

    Curves are bisected ``halvings`` times towards their ends and corners, so that powers of the distance to
    these are integrated accurately.
    """
    diameter = float(np.linalg.norm(box[:, 1] - box[:, 0]))
    return QuadratureRule.concatenated(
        [_single_face_rule(face, n, diameter, keep, halvings) for face in faces], len(box)
    )


def slice_rule(
    domain: Domain, axis: int, level: float, n: int, keep: Callable[[Array], Mask] | None = None
) -> QuadratureRule:
    """Return a rule over the part of the plane x_axis = level in the domain, and where ``keep`` is true."""
    box = box_of(domain)
    other_axes = [i for i in range(len(box)) if i != axis]

    def lifted(Y: Array) -> Array:
        X = np.full((len(Y), len(box)), level)
        X[:, other_axes] = Y
        return X

    def contains(Y: Array) -> Mask:
        X = lifted(Y)
        inside = np.asarray(domain.contains(X), dtype=bool)
        return inside if keep is None else inside & np.asarray(keep(X), dtype=bool)

    found = _line_rule(contains, box[other_axes], n)
    normals = np.zeros((len(found.points), len(box)))
    normals[:, axis] = 1.0
    return QuadratureRule(lifted(found.points), found.weights, normals)


def _revolved_rule(profile: QuadratureRule, n: int) -> QuadratureRule:
    """Return the rule of a body of revolution from that of its profile, with equal steps in the angle."""
    steps = 2 * n
    angle = 2.0 * np.pi * (np.arange(steps) + 0.5) / steps
    r, z = np.repeat(profile.points[:, 0], steps), np.repeat(profile.points[:, 1], steps)
    a = np.tile(angle, len(profile.weights))
    weights = np.repeat(profile.weights * profile.points[:, 0], steps) * (2.0 * np.pi / steps)
    return QuadratureRule.interior(np.column_stack([r * np.cos(a), r * np.sin(a), z]), weights)


def _bisection_rule(domain: Domain, n: int) -> QuadratureRule:
    return _line_rule(lambda X: np.asarray(domain.contains(X), dtype=bool), box_of(domain), n)


def _line_rule(contains: Callable[[Array], Mask], box: Array, n: int) -> QuadratureRule:
    """Return a rule of Gauss rules on lines along the first coordinate, whose ends are found by bisection."""
    d = len(box)
    if d == 0:
        inside = contains(np.empty((1, 0)))
        return QuadratureRule.interior(np.empty((1, 0))[inside], np.ones(1)[inside])
    low, high = box[0]
    panels = max(n // 2, 4) if d > 1 else 1
    across = _panel_rule(box[1:], panels) if d != 2 else _height_rule(contains, box, n)
    m = len(across.weights)
    # Segments shorter than the spacing are missed; the spacing depends on n so that two rules differ then.
    u = np.linspace(low, high, (MIN_SAMPLES if d != 2 else 8 * (MIN_SAMPLES + n)) + 1)
    middles = 0.5 * (u[1:] + u[:-1])

    def inside_at(rows: Indices, x: Array) -> Mask:
        return contains(np.column_stack([x, across.points[rows]]))

    rows, columns = np.repeat(np.arange(m), len(middles)), np.tile(middles, m)
    inside = inside_at(rows, columns).reshape(m, -1)
    padded = np.zeros((m, len(middles) + 2), dtype=bool)
    padded[:, 1:-1] = inside
    positions = np.concatenate([[low - 1e-9 * (high - low)], middles, [high + 1e-9 * (high - low)]])
    line, column = np.nonzero(padded[:, 1:] != padded[:, :-1])
    first = padded[line, column]
    ends, _ = bisect(lambda c: inside_at(line, c) == first, positions[column], positions[column + 1])
    left, right, line = ends[0::2], ends[1::2], line[0::2]
    x, w = gauss_legendre(n)
    length = right - left
    X = left[:, None] + length[:, None] * x
    transverse = np.repeat(across.points[line], len(x), axis=0)
    weights = (across.weights[line] * length)[:, None] * w
    return QuadratureRule.interior(np.column_stack([X.ravel(), transverse]), weights.ravel())


def _height_rule(contains: Callable[[Array], Mask], box: Array, n: int) -> QuadratureRule:
    """Return a rule in y for a plane shape, of Gauss rules between heights where its topology changes.

    At these heights horizontal segments appear, split, merge or vanish, and their ends move like a square
    root; a substitution removes that singularity.
    """
    (left, right), (low, high) = box
    samples = MIN_SAMPLES + 2 * n
    x = left + (right - left) * (np.arange(samples) + 0.5) / samples

    def inside_at(x: Array, y: Array) -> Mask:
        """Return which points (x, y) of the grid lie inside, (heights, positions)."""
        return contains(np.column_stack([np.tile(x, len(y)), np.repeat(y, len(x))])).reshape(len(y), -1)

    y = low + (high - low) * (np.arange(-1, samples + 1) + 0.5) / samples
    masks = inside_at(x, y[1:-1])
    none = np.zeros((1, samples), dtype=bool)
    masks = np.concatenate([none, masks, none])  # outside the bounds nothing is inside
    count = np.count_nonzero(np.diff(np.pad(masks, ((0, 0), (1, 1))).astype(int), axis=1), axis=1)
    changes = np.flatnonzero(count[1:] != count[:-1])
    turning_heights = [
        _turning_height(inside_at, x, masks[i : i + 2], y[i : i + 2]) for i in changes[:_MAX_TURNS]
    ]
    cuts = np.unique(np.concatenate([[low], np.clip(turning_heights, low, high), [high]]))
    parts = []
    for start, stop in pairwise(cuts.tolist()):
        s, w = gauss_legendre(max(ceil(n * (stop - start) / (high - low)), 1) + 12)
        t, dt = np.sin(0.5 * np.pi * s) ** 2, 0.5 * np.pi * np.sin(np.pi * s)
        parts.append(QuadratureRule.interior((start + (stop - start) * t)[:, None], (stop - start) * w * dt))
    return QuadratureRule.concatenated(parts, 1)


def _turning_height(inside_at: Callable[[Array, Array], Mask], x: Array, masks: Mask, ends: Array) -> float:
    """Return the height between two scan lines at which the topology changes, by repeated bisection."""
    upper = int(
        np.count_nonzero(np.diff(masks[1].astype(int))) > np.count_nonzero(np.diff(masks[0].astype(int)))
    )
    present, absent = float(ends[upper]), float(ends[1 - upper])
    changed = np.flatnonzero(masks[0] != masks[1])
    state, positions = bool(masks[upper][changed[len(changed) // 2]]), x
    for _ in range(_ZOOMS):
        # The feature present on one side only shrinks to a point: zoom in where it was last found.
        a, b, seen = present, absent, positions[changed]
        for _ in range(_BISECTIONS):
            c = 0.5 * (a + b)
            mask = inside_at(positions[changed], np.array([c]))[0] == state
            if mask.any():
                a, seen = c, positions[changed][mask]
            else:
                b = c
        step = float(positions[1] - positions[0])
        present = a
        positions = np.linspace(seen[0] - step, seen[-1] + step, MIN_SAMPLES + 1)
        changed = np.arange(len(positions))
    return 0.5 * (a + b)


def _panel_rule(box: Array, count: int) -> QuadratureRule:
    """Return the tensor rule of ``count`` panels with three Gauss nodes each along every side."""
    x, w = gauss_legendre(3)
    s = ((np.arange(count)[:, None] + x) / count).ravel()
    weights = np.tile(w / count, count)
    out = QuadratureRule.interior(np.empty((1, 0)), np.ones(1))
    for a, b in box:
        out = out.product(a + (b - a) * s, (b - a) * weights)
    return out


def _single_face_rule(
    face: Face, n: int, diameter: float, keep: BoundaryFilter | None, halvings: int
) -> QuadratureRule:
    if not face.has_chart:
        raise _unsupported_face_error(face)
    if face.dimension == 0:
        found = face.at(np.empty((1, 0)))
        kept = np.ones(1, dtype=bool) if keep is None else np.asarray(keep(found), dtype=bool)
        return QuadratureRule(found.points[kept], np.ones(1)[kept], found.normals[kept])
    if face.dimension == 1:
        parts = [(0.0, 1.0)] if keep is None else face_intervals(face, np.linspace(0.0, 1.0, 257), keep)
        rules = [_curve_rule(face, ends, n, diameter, halvings) for ends in parts]
        return QuadratureRule.concatenated(rules, 2)
    if keep is not None:
        kept_samples = np.asarray(
            keep(face.at(np.random.default_rng(0).random((1024, face.dimension)))), dtype=bool
        )
        if not kept_samples.any():
            return QuadratureRule.concatenated([], face.dimension + 1)
        if not kept_samples.all():
            raise ProblemError(
                "integral(over)",
                expected="whole faces of a body",
                got="a relation that holds on a part of a face",
                remedy="Select whole faces: over=sympy.Eq(z, 0), or over=shape.boundary.",
            )
    return _surface_rule(face, n)


def _curve_rule(
    face: Face, ends: tuple[float, float], n: int, diameter: float, halvings: int = 0
) -> QuadratureRule:
    """Return a Gauss rule on each smooth segment of a curve."""
    if isinstance(face, FlatFace):
        parts = []
        for a, b in pairwise(_graded_cuts(list(ends), halvings)):
            u, w = gauss_legendre(ceil(n * (b - a) / (ends[1] - ends[0])) + 8)
            found = face.at((a + (b - a) * u)[:, None])
            parts.append(QuadratureRule(found.points, (b - a) * face.measure(np.ones(2)) * w, found.normals))
        return QuadratureRule.concatenated(parts, 2)
    assert isinstance(face, Arc)
    start, stop = ends
    knots = face_knots(face)[0]
    closing = (1.0 - face.start) / (face.stop - face.start) if face.curve.is_closed else 0.0
    knots = np.concatenate([knots, knots + 1.0, [closing, closing + 1.0]])
    cuts = [start, *np.unique(knots[(knots > start) & (knots < stop)]).tolist(), stop]
    cuts = _graded_cuts(cuts, halvings)
    if len(cuts) < 5:
        cuts = sorted({*cuts, *np.linspace(start, stop, 5).tolist()})
    parts = []
    for a, b in pairwise(cuts):
        if b - a < 1e-13:
            continue
        size = face.curve.length * (face.stop - face.start) * (b - a)
        count = ceil(n * size / diameter) + (10 if len(cuts) < 64 else 6)
        u, w = gauss_legendre(count)
        X, speed, normals = face.quadrature_points(a, b, u)
        parts.append(QuadratureRule(X, w * speed, normals))
    return QuadratureRule.concatenated(parts, 2)


def _graded_cuts(cuts: list[float], times: int) -> list[float]:
    """Return the cuts refined geometrically, with ratio 1/2, towards both ends of each interval."""
    fractions = [0.5**k for k in range(1, times + 1)]
    added = {c for a, b in pairwise(cuts) for s in fractions for c in (a + s * (b - a), b - s * (b - a))}
    return sorted({*cuts, *added})


def _surface_rule(face: Face, n: int) -> QuadratureRule:
    d = face.dimension + 1
    if isinstance(face, FlatFace):
        flat = box_rule(np.array([side for i, side in enumerate(face.bounds) if i != face.axis]), n)
        X = np.insert(flat.points, face.axis, face.level, axis=1)
        return QuadratureRule(X, flat.weights, face.normals(X))
    if isinstance(face, ExtrudedFace) and face.face.dimension == 1:
        x, w = gauss_legendre(n)
        height = face.stop - face.start
        edge = _curve_rule(face.face, (0.0, 1.0), n, face.face.measure(np.ones(d - 1)))
        return edge.product(face.start + height * x, height * w)
    if isinstance(face, Patch) and isinstance(face.surface, Sphere) and d == 3:
        return _sphere_rule(face, n)
    raise _unsupported_face_error(face)


def _sphere_rule(face: Patch, n: int) -> QuadratureRule:
    """Return a rule on a sphere: equal steps in longitude, a Gauss rule in height."""
    steps = 2 * n
    height, w = gauss_legendre(n)
    U = np.column_stack([np.tile((np.arange(steps) + 0.5) / steps, n), np.repeat(height, steps)])
    found = face.at(U)
    sphere = face.surface
    assert isinstance(sphere, Sphere)
    area = 4.0 * np.pi * sphere.radius**2
    return QuadratureRule(found.points, area * np.repeat(w, steps) / steps, found.normals)


def _unsupported_face_error(face: Face) -> ProblemError:
    return ProblemError(
        "integral(over)",
        expected="curves, whole flat faces, whole spheres or lateral faces of an extrusion",
        got="a part of a curved surface, or a shape that only provides contains(X)",
        remedy="Integrate over the interior instead: by the divergence theorem, ∫ div F is the flux of F.",
    )
