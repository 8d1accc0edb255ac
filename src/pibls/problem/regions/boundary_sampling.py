"""Sampling of the boundary: points on the faces of a domain, distributed in proportion to their size."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pibls.arrays import Array, Mask
from pibls.basis.cube_points import CLOSED_RULES
from pibls.geometry import Boundary, Domain, Face, faces_in_cell, faces_of, lengths_of, time_of
from pibls.geometry.faces.face import FacesKey, join_boundaries
from pibls.problem.regions.points import TENSOR_RULES, Points

PROBES = 1024
_MAX_ROUNDS = 12  # of rejection sampling

Masking = Callable[[Boundary], Mask]
Cutting = Callable[[Face], Array]


class FacePortion(NamedTuple):
    """The fraction of a face that belongs to a region, and its intervals on a face of one parameter."""

    share: float
    spans: tuple[tuple[float, float], ...] = ()


def _every_face(face: Face) -> bool:
    return True


def _no_cuts(face: Face) -> Array:
    return np.empty(0)


def sample_boundary(
    domain: Domain,
    points: Points,
    rng: np.random.Generator,
    box: Array | None,
    owns: Masking | None,
    admits: Callable[[Face], bool] = _every_face,
    probes: int = PROBES,
    cuts: Cutting = _no_cuts,
) -> Boundary:
    """Return boundary points that ``owns`` accepts (None: all), on the faces that ``admits`` accepts.

    The fraction of a face in the region follows from the parameters ``cuts`` where the region may begin and
    end, or is estimated at ``probes`` random points.
    """
    d = len(domain.coordinates)
    name = points.boundary_rule or points.rule
    if box is None:
        faces, lengths = faces_of(domain), lengths_of(domain)
        if name in TENSOR_RULES and admits is _every_face and all(f.has_chart for f in faces):
            return _tensor_rule_points(
                FacesKey(faces), tuple(lengths.tolist()), owns, points.boundary, name, probes, cuts
            )
        sizes = _sizes(FacesKey(faces), tuple(lengths.tolist()))
        total = sizes.sum()
        parts = _portions(FacesKey(faces), owns, probes, cuts)
    else:
        lengths = box[:, 1] - box[:, 0]
        faces = faces_in_cell(domain, box)
        sizes = np.array([f.measure(lengths) for f in faces])
        total = 2.0 * (d - (time_of(domain) is not None))  # measure of the boundary of a unit box
        parts = tuple(_portion(f, owns, probes, cuts) for f in faces)
    shares = np.array([part.share * admits(f) for f, part in zip(faces, parts, strict=True)])
    counts = _apportion(points.boundary * sizes * shares / total)
    return _sample_faces(faces, owns, counts, parts, name, rng, d)


@lru_cache(maxsize=64)
def _tensor_rule_points(
    same: FacesKey,
    lengths: tuple[float, ...],
    owns: Masking | None,
    n: int,
    name: str,
    probes: int,
    cuts: Cutting,
) -> Boundary:
    """Return the points of a tensor product rule, which are not random and therefore cached."""
    sizes, parts = _sizes(same, lengths), _portions(same, owns, probes, cuts)
    counts = _apportion(n * sizes * np.array([part.share for part in parts]) / sizes.sum())
    return _sample_faces(same.faces, owns, counts, parts, name, np.random.default_rng(0), len(lengths))


def _sample_faces(
    faces: tuple[Face, ...],
    owns: Masking | None,
    counts: Array,
    parts: tuple[FacePortion, ...],
    name: str,
    rng: np.random.Generator,
    d: int,
) -> Boundary:
    each = zip(faces, counts, parts, strict=True)
    return join_boundaries(
        [_sample_face(face, owns, int(n), part, name, rng) for face, n, part in each if n], d
    )


@lru_cache(maxsize=8)
def _sizes(same: FacesKey, lengths: tuple[float, ...]) -> Array:
    """Return the sizes of the faces; cached, since they are needed once for each condition."""
    return np.array([face.measure(np.array(lengths)) for face in same.faces])


@lru_cache(maxsize=256)
def _portions(same: FacesKey, owns: Masking | None, probes: int, cuts: Cutting) -> tuple[FacePortion, ...]:
    """Return the portions of all faces; cached, since 40 holes with a condition each need them repeatedly."""
    return tuple(_portion(face, owns, probes, cuts) for face in same.faces)


def _portion(face: Face, owns: Masking | None, probes: int, cuts: Cutting) -> FacePortion:
    """Return the portion of a face that belongs to a region."""
    if owns is None:
        return FacePortion(1.0)
    ends = np.concatenate([[0.0], cuts(face), [1.0]])
    if len(ends) == 2:
        rng = np.random.default_rng(0)
        return FacePortion(float(np.mean(owns(face.at(rng.random((probes, face.dimension)), rng)))))
    mine = owns(face.at(0.5 * (ends[1:, None] + ends[:-1, None])))
    pairs = zip(ends[:-1].tolist(), ends[1:].tolist(), mine, strict=True)
    spans = tuple((a, b) for a, b, accepted in pairs if accepted and b - a > 1e-12)
    return FacePortion(sum(b - a for a, b in spans), spans)


def _apportion(quotas: Array) -> Array:
    """Round quotas to integers with the same total (largest remainders first), at least 1 if positive."""
    total = round(float(quotas.sum()))
    counts = np.floor(quotas + 1e-9)
    order = np.argsort(counts - quotas, kind="stable")
    for i in order[: max(int(total - counts.sum()), 0)]:
        counts[i] += 1
    return np.where(quotas > 0, np.maximum(counts, 1), 0)


def _evenly_spaced(U: Array) -> Array:
    """Return U with its first column evenly spaced, since a closed curve has no end points."""
    levels, index = np.unique(U[:, 0], return_inverse=True)
    return np.column_stack([(index.reshape(-1) + 0.5) / len(levels), U[:, 1:]])


def _sample_face(
    face: Face, owns: Masking | None, n: int, part: FacePortion, name: str, rng: np.random.Generator
) -> Boundary:
    if owns is not None and part.spans:
        counts = _apportion(n * np.array([b - a for a, b in part.spans]) / part.share).tolist()
        rule = CLOSED_RULES[name]
        each = zip(part.spans, counts, strict=True)
        found = face.at(np.concatenate([a + (b - a) * rule(int(m), 1, rng) for (a, b), m in each]))
        return found.select(owns(found))  # the end points may not satisfy a relation
    share = part.share
    wanted = n if share >= 1.0 else int(n / share) + 1
    for _ in range(_MAX_ROUNDS):
        U = CLOSED_RULES[name](wanted, face.dimension, rng)
        found = face.at(_evenly_spaced(U) if face.is_closed and name in TENSOR_RULES else U, rng)
        if owns is None or (share >= 1.0 and name not in TENSOR_RULES):
            return found
        kept = owns(found)
        if kept.sum() >= min(n, max(0.8 * n, 1)):
            return found.select(kept)
        wanted = int(1.5 * wanted) + 4
    return found.select(kept)
