r"""Closed loops of a plane boundary, and inscribed circles of holes."""

from __future__ import annotations

import math

import numpy as np

from pibls.analysis.thresholds import HOLES, SEGMENTS
from pibls.arrays import Array, Mask
from pibls.geometry import Boundary
from pibls.geometry.faces.face import Face


def dense_points(loop: tuple[Face, ...]) -> list[Boundary]:
    """Return densely sampled points of each face of a closed loop."""
    return [face.at(np.linspace(0.0, 1.0, SEGMENTS.dense_samples)[:, None]) for face in loop]


def signed_double_area(loop: tuple[Face, ...]) -> float:
    """Return ∮ x·n ds: twice the enclosed area, negative for the boundary of a hole."""
    return sum(normal_moment(part) for part in dense_points(loop))


def normal_moment(part: Boundary) -> float:
    """Return ∫ x·n ds over one face."""
    X, N = part.points, part.normals
    step = np.linalg.norm(np.diff(X, axis=0), axis=1)
    f = np.sum(X * N, axis=1)
    return float(np.sum(step * 0.5 * (f[1:] + f[:-1])))


def loops(faces: tuple[Face, ...]) -> list[tuple[Face, ...]]:
    """Return the faces grouped into closed loops."""
    out: list[tuple[Face, ...]] = [(face,) for face in faces if face.is_closed]
    rest = [face for face in faces if not face.is_closed]
    ends = [face.at(np.array([[0.0], [1.0]])).points for face in rest]
    size = float(np.max([np.ptp(f.dense_points(), axis=0) for f in faces]))
    left = set(range(len(rest)))
    while left:
        first = left.pop()
        chain, start, stop = [rest[first]], ends[first][0], ends[first][1]
        while np.linalg.norm(stop - start) > SEGMENTS.same_point_tol * size:
            found = [
                (i, k)
                for i in left
                for k in (0, 1)
                if np.linalg.norm(ends[i][k] - stop) <= SEGMENTS.same_point_tol * size
            ]
            if not found:
                break
            i, k = found[0]
            left.discard(i)
            chain.append(rest[i])
            stop = ends[i][1 - k]
        else:
            out.append(tuple(chain))
    return out


def inscribed_circles(boundary: Array) -> tuple[tuple[float, float, float], ...]:
    """Return (x, y, radius) of inscribed circles of a hole that, slightly enlarged, cover its boundary."""
    low, high = boundary.min(axis=0), boundary.max(axis=0)
    U = (np.arange(HOLES.grid_points) + 0.5) / HOLES.grid_points
    grid = np.stack(np.meshgrid(*(low[i] + (high[i] - low[i]) * U for i in (0, 1))), axis=-1).reshape(-1, 2)
    middle = 0.5 * (low + high)
    X = np.concatenate([middle[None, :], boundary.mean(axis=0)[None, :], grid])
    X = X[_within(boundary, X)]
    if not len(X):
        return ()
    distances = np.linalg.norm(X[:, None, :] - boundary[None, :, :], axis=2)
    radius = distances.min(axis=1)
    # Prefer the centre of the bounding box.
    radius_for_choice = radius * np.where(np.arange(len(X)) == 0, 1.02, 1.0)
    served: Mask = np.zeros(len(boundary), dtype=np.bool_)
    out: list[tuple[float, float, float]] = []
    while not served.all() and len(out) < HOLES.max_centres:
        if not out:
            best = int(np.argmax(radius_for_choice))
        else:
            serves = distances <= HOLES.circle_reach * radius[:, None]
            gain = np.count_nonzero(serves & ~served, axis=1) * radius
            best = int(np.argmax(gain))
            if not gain[best] > 0:
                break
        served |= distances[best] <= HOLES.circle_reach * radius[best]
        out.append((float(X[best, 0]), float(X[best, 1]), float(radius[best])))
    return tuple(out)


def _within(boundary: Array, X: Array) -> Mask:
    """Return which points lie inside a closed polygon, by the winding number."""
    z = (boundary[:, 0] + 1j * boundary[:, 1])[None, :] - (X[:, 0] + 1j * X[:, 1])[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = np.angle(np.roll(z, -1, axis=1) / z).sum(axis=1)
    return np.asarray(np.abs(np.nan_to_num(turn)) > math.pi)
