"""Points on the faces of a domain, shared among them by size."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from pibls.arrays import Array, Mask
from pibls.basis.quasi import CLOSED_RULES
from pibls.domain import Boundary, Domain, Face, faces_of, lengths_of, parts_in, time_of
from pibls.domain.faces.face import Same, join
from pibls.problem.regions.points import TENSOR, Points

PROBES = 1024
_ROUNDS = 12

Masking = Callable[[Boundary], Mask]


def _any(face: Face) -> bool:
    return True


def cover(
    domain: Domain,
    points: Points,
    rng: np.random.Generator,
    box: Array | None,
    owns: Masking | None,
    admits: Callable[[Face], bool] = _any,
    probes: int = PROBES,
) -> Boundary:
    """Boundary points that a region owns (None: all), of the faces it admits.

    How much of a face that is, is found out at so many ``probes``.
    """
    d = len(domain.coordinates)
    name = points.boundary_rule or points.rule
    if box is None:
        faces, lengths = faces_of(domain), lengths_of(domain)
        if name in TENSOR and admits is _any and all(f.has_chart for f in faces):
            return _ruled(Same(faces), tuple(lengths.tolist()), owns, points.boundary, name, probes)
        sizes = _sizes(Same(faces), tuple(lengths.tolist()))
        total = sizes.sum()
        shares = _shares(Same(faces), owns, probes)
    else:
        lengths = box[:, 1] - box[:, 0]
        faces = parts_in(domain, box)
        sizes = np.array([f.measure(lengths) for f in faces])
        total = 2.0 * (d - (time_of(domain) is not None))  # the sides of a box in its own units
        shares = np.array([_share(f, owns, probes) for f in faces])
    shares = shares * np.array([admits(f) for f in faces])
    counts = _apportion(points.boundary * sizes * shares / total)
    parts = [
        _cover_face(face, owns, int(n), share, name, rng)
        for face, n, share in zip(faces, counts, shares, strict=True)
        if n
    ]
    return join(parts, d)


@lru_cache(maxsize=64)
def _ruled(
    same: Same, lengths: tuple[float, ...], owns: Masking | None, n: int, name: str, probes: int
) -> Boundary:
    """Where nothing is drawn at random the points are the same at every attempt, and in every solve."""
    sizes, shares = _sizes(same, lengths), _shares(same, owns, probes)
    counts = _apportion(n * sizes * shares / sizes.sum())
    rng = np.random.default_rng(0)
    pairs = zip(same.faces, counts, shares, strict=True)
    return join([_cover_face(f, owns, int(m), s, name, rng) for f, m, s in pairs if m], len(lengths))


@lru_cache(maxsize=8)
def _sizes(same: Same, lengths: tuple[float, ...]) -> Array:
    """The sizes of the faces of a domain: with many conditions they are asked for as many times."""
    return np.array([face.measure(np.array(lengths)) for face in same.faces])


@lru_cache(maxsize=256)
def _shares(same: Same, owns: Masking | None, probes: int) -> Array:
    """The parts of all faces: those of 40 holes with a condition each are asked for at every attempt."""
    return np.array([_share(face, owns, probes) for face in same.faces])


def _share(face: Face, owns: Masking | None, probes: int) -> float:
    """The part of a face that belongs to a region."""
    if owns is None:
        return 1.0
    rng = np.random.default_rng(0)
    return float(np.mean(owns(face.at(rng.random((probes, face.dimension)), rng))))


def _apportion(quotas: Array) -> Array:
    """Whole numbers with the same total (largest remainders first), at least 1 where anything is due."""
    total = round(float(quotas.sum()))
    counts = np.floor(quotas + 1e-9)
    order = np.argsort(counts - quotas, kind="stable")
    for i in order[: max(int(total - counts.sum()), 0)]:
        counts[i] += 1
    return np.where(quotas > 0, np.maximum(counts, 1), 0)


def _evened(U: Array) -> Array:
    """The first parameter evenly spaced: a closed curve has no ends to cluster at, nor to count twice."""
    levels, index = np.unique(U[:, 0], return_inverse=True)
    return np.column_stack([(index.reshape(-1) + 0.5) / len(levels), U[:, 1:]])


def _cover_face(
    face: Face, owns: Masking | None, n: int, share: float, name: str, rng: np.random.Generator
) -> Boundary:
    wanted = n if share >= 1.0 else int(n / share) + 1
    for _ in range(_ROUNDS):
        U = CLOSED_RULES[name](wanted, face.dimension, rng)
        found = face.at(_evened(U) if face.is_closed and name in TENSOR else U, rng)
        if owns is None or (share >= 1.0 and name not in TENSOR):
            return found
        kept = owns(found)
        if kept.sum() >= min(n, max(0.8 * n, 1)):
            return found.select(kept)
        wanted = int(1.5 * wanted) + 4
    return found.select(kept)
