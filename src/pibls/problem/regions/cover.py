"""Points on the faces of a domain, shared among them by size."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pibls.arrays import Array, Mask
from pibls.basis.quasi import CLOSED_RULES
from pibls.geometry import Boundary, Domain, Face, faces_of, lengths_of, parts_in, time_of
from pibls.geometry.faces.face import Same, join
from pibls.problem.regions.points import TENSOR, Points

PROBES = 1024
_ROUNDS = 12

Masking = Callable[[Boundary], Mask]
Cutting = Callable[[Face], Array]


class Portion(NamedTuple):
    """The part of a face that belongs to a region, and where it is along a face of one parameter."""

    share: float
    spans: tuple[tuple[float, float], ...] = ()


def _any(face: Face) -> bool:
    return True


def _uncut(face: Face) -> Array:
    return np.empty(0)


def cover(
    domain: Domain,
    points: Points,
    rng: np.random.Generator,
    box: Array | None,
    owns: Masking | None,
    admits: Callable[[Face], bool] = _any,
    probes: int = PROBES,
    cuts: Cutting = _uncut,
) -> Boundary:
    """Boundary points that a region owns (None: all), of the faces it admits.

    How much of a face that is, is known from where it may begin and end, or found out at so many ``probes``.
    """
    d = len(domain.coordinates)
    name = points.boundary_rule or points.rule
    if box is None:
        faces, lengths = faces_of(domain), lengths_of(domain)
        if name in TENSOR and admits is _any and all(f.has_chart for f in faces):
            return _ruled(Same(faces), tuple(lengths.tolist()), owns, points.boundary, name, probes, cuts)
        sizes = _sizes(Same(faces), tuple(lengths.tolist()))
        total = sizes.sum()
        parts = _parts(Same(faces), owns, probes, cuts)
    else:
        lengths = box[:, 1] - box[:, 0]
        faces = parts_in(domain, box)
        sizes = np.array([f.measure(lengths) for f in faces])
        total = 2.0 * (d - (time_of(domain) is not None))  # the sides of a box in its own units
        parts = tuple(_held(f, owns, probes, cuts) for f in faces)
    shares = np.array([part.share * admits(f) for f, part in zip(faces, parts, strict=True)])
    counts = _apportion(points.boundary * sizes * shares / total)
    return _joined(faces, owns, counts, parts, name, rng, d)


@lru_cache(maxsize=64)
def _ruled(
    same: Same,
    lengths: tuple[float, ...],
    owns: Masking | None,
    n: int,
    name: str,
    probes: int,
    cuts: Cutting,
) -> Boundary:
    """Where nothing is drawn at random the points are the same at every attempt, and in every solve."""
    sizes, parts = _sizes(same, lengths), _parts(same, owns, probes, cuts)
    counts = _apportion(n * sizes * np.array([part.share for part in parts]) / sizes.sum())
    return _joined(same.faces, owns, counts, parts, name, np.random.default_rng(0), len(lengths))


def _joined(
    faces: tuple[Face, ...],
    owns: Masking | None,
    counts: Array,
    parts: tuple[Portion, ...],
    name: str,
    rng: np.random.Generator,
    d: int,
) -> Boundary:
    each = zip(faces, counts, parts, strict=True)
    return join([_cover_face(face, owns, int(n), part, name, rng) for face, n, part in each if n], d)


@lru_cache(maxsize=8)
def _sizes(same: Same, lengths: tuple[float, ...]) -> Array:
    """The sizes of the faces of a domain: with many conditions they are asked for as many times."""
    return np.array([face.measure(np.array(lengths)) for face in same.faces])


@lru_cache(maxsize=256)
def _parts(same: Same, owns: Masking | None, probes: int, cuts: Cutting) -> tuple[Portion, ...]:
    """The parts of all faces: those of 40 holes with a condition each are asked for at every attempt."""
    return tuple(_held(face, owns, probes, cuts) for face in same.faces)


def _held(face: Face, owns: Masking | None, probes: int, cuts: Cutting) -> Portion:
    """The part of a face that belongs to a region."""
    if owns is None:
        return Portion(1.0)
    ends = np.concatenate([[0.0], cuts(face), [1.0]])
    if len(ends) == 2:
        rng = np.random.default_rng(0)
        return Portion(float(np.mean(owns(face.at(rng.random((probes, face.dimension)), rng)))))
    mine = owns(face.at(0.5 * (ends[1:, None] + ends[:-1, None])))
    pairs = zip(ends[:-1].tolist(), ends[1:].tolist(), mine, strict=True)
    spans = tuple((a, b) for a, b, held in pairs if held and b - a > 1e-12)
    return Portion(sum(b - a for a, b in spans), spans)


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
    face: Face, owns: Masking | None, n: int, part: Portion, name: str, rng: np.random.Generator
) -> Boundary:
    if owns is not None and part.spans:
        counts = _apportion(n * np.array([b - a for a, b in part.spans]) / part.share).tolist()
        rule = CLOSED_RULES[name]
        each = zip(part.spans, counts, strict=True)
        found = face.at(np.concatenate([a + (b - a) * rule(int(m), 1, rng) for (a, b), m in each]))
        return found.select(owns(found))  # what a relation leaves out, or holds twice, are its ends
    share = part.share
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
