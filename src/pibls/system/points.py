"""𝒳 = {𝒳_f, 𝒳_bc, 𝒳_ic}: the points at which residuals are taken, for training or held out.

Rules fill the unit cube (`quasi`); faces, slices and the interior say where the cube goes. Points of
a region are drawn once, whatever the number of residuals that hold there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.basis.quasi import CLOSED_RULES, RULES, rule
from pibls.domain import Boundary, Domain, Face, box_of, faces_of, lengths_of, time_of
from pibls.domain.face import join
from pibls.errors import ProblemError
from pibls.problem import Inside, Pair, Part, Region, Slice, Spot
from pibls.problem.lowering import LoweredProblem

_PROBES = 1024
_WHOLE = Part()
_ROUNDS = 12


@dataclass(frozen=True)
class Points:
    """How many points, by which rule.

    Parameters
    ----------
    interior, boundary, initial
        Number of points inside, on the whole spatial boundary, and at the start. On a boundary that
        is two end points (1D), they are repeated, which weighs them.
    rule
        "sobol", "halton", "uniform", "grid", "chebyshev" or "lhs". The tensor rules "grid" and
        "chebyshev" use the largest grid with at most that many points.
    boundary_rule
        Another rule for boundary and start; the same by default.

    >>> Points(400, 80).rule
    'sobol'
    """

    interior: int
    boundary: int
    initial: int = 0
    rule: str = "sobol"
    boundary_rule: str | None = None

    def __post_init__(self) -> None:
        for name, least in (("interior", 1), ("boundary", 0), ("initial", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise ProblemError(
                    f"Points({name})",
                    expected=f"a whole number of at least {least}",
                    got=repr(value),
                    remedy="Say how many points to use.",
                )
        rule(self.rule, "Points(rule)")
        if self.boundary_rule is not None:
            rule(self.boundary_rule, "Points(boundary_rule)")


@dataclass(frozen=True)
class PointSet:
    """The points of one region: one array (n, d) per site, and normals (n, d) (zero inside)."""

    sites: tuple[Array, ...]
    normals: Array

    def __len__(self) -> int:
        return len(self.normals)


def place(
    lowered: LoweredProblem, domain: Domain, points: Points, rng: np.random.Generator
) -> dict[Region, PointSet]:
    """Points for every region of a problem."""
    out: dict[Region, PointSet] = {}
    for residual in lowered.residuals:
        if residual.region not in out:
            out[residual.region] = _place_region(residual.region, residual.name, domain, points, rng)
    return out


def _place_region(
    region: Region, name: str, domain: Domain, points: Points, rng: np.random.Generator
) -> PointSet:
    d = len(domain.coordinates)
    if isinstance(region, Inside):
        X = _fill(domain, points.interior, points.rule, rng)
        return PointSet((X,), np.zeros_like(X))
    if isinstance(region, Slice):
        n = _slice_count(region, name, domain, points)
        X = _fill_slice(region, domain, n, points.boundary_rule or points.rule, rng)
        return PointSet((X,), np.zeros_like(X))
    if isinstance(region, Spot):
        return _place_spot(region, domain, points)
    if points.boundary < 1:
        raise _too_few("boundary", name, points.boundary)
    part = Part(owners=None) if isinstance(region, Pair) else region
    boundary = _cover(part, region, domain, points, rng)
    if isinstance(region, Pair):
        opposite = boundary.points.copy()
        opposite[:, region.axis] = region.high
        return PointSet((boundary.points, opposite), boundary.normals)
    return PointSet((boundary.points,), boundary.normals.reshape(-1, d))


def _too_few(which: str, name: str, got: int) -> ProblemError:
    return ProblemError(
        f"points.{which}",
        expected=f"at least 1, for the condition {name}",
        got=got,
        remedy=f"Write Points(…, {which}=100).",
    )


def _fill(domain: Domain, n: int, name: str, rng: np.random.Generator) -> Array:
    """n points inside: the rule over the bounding box, and of those the ones that are inside."""
    box = box_of(domain)
    low, high = box.T
    wanted = n
    for _ in range(_ROUNDS):
        U = RULES[name](wanted, len(box), rng)
        X = low * (1.0 - U) + high * U
        inside = X[np.asarray(domain.contains(X), dtype=bool)]
        if len(inside) == len(X):
            return np.asarray(X)
        if len(inside) >= n:
            return np.asarray(inside[:n] if name not in ("grid", "chebyshev") else inside)
        wanted = max(2 * wanted, int(1.1 * n * wanted / max(len(inside), 1)) if len(inside) else 0)
        wanted = min(wanted, 64 * n + 4096)
    # Hardly anything of the box is inside: let the shape draw its own points.
    return np.asarray(domain.interior(n, rng), dtype=float)


def _slice_count(region: Slice, name: str, domain: Domain, points: Points) -> int:
    in_time = time_of(domain) is not None and region.axis == len(domain.coordinates) - 1
    if in_time or len(domain.coordinates) == 1:
        if points.initial < 1 and in_time:
            raise _too_few("initial", name, points.initial)
        return max(points.initial, 1)
    return max(points.boundary // (2 * len(domain.coordinates)), 1)


def _fill_slice(region: Slice, domain: Domain, n: int, name: str, rng: np.random.Generator) -> Array:
    low, high = np.delete(box_of(domain), region.axis, axis=0).T
    wanted = n
    for _ in range(_ROUNDS):
        U = CLOSED_RULES[name](wanted, len(low), rng)
        X = np.insert(low * (1.0 - U) + high * U, region.axis, region.level, axis=1)
        keep = np.asarray(domain.contains(X), dtype=bool)
        if region.relation is not None:
            keep &= region.relation(X)
        if keep.all():
            return np.asarray(X)
        if keep.sum() >= n:
            return np.asarray(X[keep][:n])
        wanted = 2 * wanted + 8
    if keep.any():
        return np.asarray(X[keep])
    raise ProblemError(
        "on",
        expected="a relation that holds somewhere in the domain",
        got=getattr(region.relation, "expression", f"level {region.level:g}"),
        remedy="No point of the domain satisfies it: check the numbers.",
    )


def _place_spot(region: Spot, domain: Domain, points: Points) -> PointSet:
    box = box_of(domain)
    free = [i for i, p in enumerate(region.point) if p is None]
    n = max(points.boundary // (2 * len(box)), 2) if free else 1
    X = np.empty((n, len(box)))
    for i, p in enumerate(region.point):
        X[:, i] = np.linspace(box[i, 0], box[i, 1], n) if p is None else p
    normal = np.zeros(len(box)) if region.normal is None else np.array(region.normal)
    return PointSet((X,), np.tile(normal, (n, 1)))


def _cover(
    part: Part, region: Part | Pair, domain: Domain, points: Points, rng: np.random.Generator
) -> Boundary:
    """Boundary points of a region, shared among the faces by size."""
    faces = faces_of(domain)
    lengths = lengths_of(domain)
    sizes = np.array([f.measure(lengths) for f in faces])
    shares = np.array([_share(f, region) for f in faces])
    if isinstance(region, Pair):
        # Points on the lower face stand for pairs: each carries its opposite along.
        shares *= np.array([_is_lower(f, region) for f in faces])
    counts = _apportion(points.boundary * sizes * shares / sizes.sum())
    name = points.boundary_rule or points.rule
    parts = [
        _cover_face(face, part, int(n), share, name, rng)
        for face, n, share in zip(faces, counts, shares, strict=True)
        if n
    ]
    return join(parts, len(lengths))


def _share(face: Face, region: Part | Pair) -> float:
    """The part of a face that belongs to a region."""
    if region == _WHOLE:
        return 1.0
    rng = np.random.default_rng(0)
    return float(np.mean(region.mask(face.at(rng.random((_PROBES, face.dimension)), rng))))


def _is_lower(face: Face, region: Pair) -> bool:
    rng = np.random.default_rng(0)
    normal = face.at(np.full((1, face.dimension), 0.5), rng).normals[0]
    return bool(normal[region.axis] < -0.5)


def _apportion(quotas: Array) -> Array:
    """Whole numbers with the same total (largest remainders first), at least 1 where anything is due."""
    total = round(float(quotas.sum()))
    counts = np.floor(quotas + 1e-9)
    order = np.argsort(counts - quotas, kind="stable")
    for i in order[: max(int(total - counts.sum()), 0)]:
        counts[i] += 1
    return np.where(quotas > 0, np.maximum(counts, 1), 0)


def _cover_face(
    face: Face, part: Part, n: int, share: float, name: str, rng: np.random.Generator
) -> Boundary:
    wanted = n if share >= 1.0 else int(n / share) + 1
    for _ in range(_ROUNDS):
        found = face.at(CLOSED_RULES[name](wanted, face.dimension, rng), rng)
        if share >= 1.0 and name not in ("grid", "chebyshev"):
            return found
        mask = part.mask(found)
        if mask.sum() >= min(n, max(0.8 * n, 1)):
            return found.select(mask)
        wanted = int(1.5 * wanted) + 4
    return found.select(mask)
