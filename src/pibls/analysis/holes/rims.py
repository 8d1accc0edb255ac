r"""∮ x·n ds = ±2|hole|: the closed lines of a plane boundary, and circles inside of a hole."""

from __future__ import annotations

import math

import numpy as np

from pibls.analysis.thresholds import ENDS, HOLES
from pibls.arrays import Array, Mask
from pibls.geometry import Boundary
from pibls.geometry.faces.face import Face


def dense(loop: tuple[Face, ...]) -> list[Boundary]:
    """Many points of each face of a closed line."""
    return [face.at(np.linspace(0.0, 1.0, ENDS.dense)[:, None]) for face in loop]


def area(loop: tuple[Face, ...]) -> float:
    """∮ x·n ds is twice the area inside, with the sign of the normals."""
    return sum(flux(part) for part in dense(loop))


def flux(part: Boundary) -> float:
    """∫ x·n ds over one face."""
    X, N = part.points, part.normals
    step = np.linalg.norm(np.diff(X, axis=0), axis=1)
    f = np.sum(X * N, axis=1)
    return float(np.sum(step * 0.5 * (f[1:] + f[:-1])))


def loops(faces: tuple[Face, ...]) -> list[tuple[Face, ...]]:
    """Faces that follow each other around, each a closed line."""
    out: list[tuple[Face, ...]] = [(face,) for face in faces if face.is_closed]
    rest = [face for face in faces if not face.is_closed]
    ends = [face.at(np.array([[0.0], [1.0]])).points for face in rest]
    size = float(np.max([np.ptp(f.dense(), axis=0) for f in faces]))
    left = set(range(len(rest)))
    while left:
        first = left.pop()
        chain, start, stop = [rest[first]], ends[first][0], ends[first][1]
        while np.linalg.norm(stop - start) > ENDS.same * size:
            found = [
                (i, k) for i in left for k in (0, 1) if np.linalg.norm(ends[i][k] - stop) <= ENDS.same * size
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


def centres_in(rim: Array) -> tuple[tuple[float, float, float], ...]:
    """Places in a hole with circles in it that, a little larger, hold its whole rim."""
    low, high = rim.min(axis=0), rim.max(axis=0)
    U = (np.arange(HOLES.grid) + 0.5) / HOLES.grid
    grid = np.stack(np.meshgrid(*(low[i] + (high[i] - low[i]) * U for i in (0, 1))), axis=-1).reshape(-1, 2)
    middle = 0.5 * (low + high)
    X = np.concatenate([middle[None, :], rim.mean(axis=0)[None, :], grid])
    X = X[_within(rim, X)]
    if not len(X):
        return ()
    apart = np.linalg.norm(X[:, None, :] - rim[None, :, :], axis=2)
    radius = apart.min(axis=1)
    # The middle itself, where it is as good as any.
    radius_for_choice = radius * np.where(np.arange(len(X)) == 0, 1.02, 1.0)
    served: Mask = np.zeros(len(rim), dtype=np.bool_)
    out: list[tuple[float, float, float]] = []
    while not served.all() and len(out) < HOLES.most_centres:
        if not out:
            best = int(np.argmax(radius_for_choice))
        else:
            serves = apart <= HOLES.reach * radius[:, None]
            gain = np.count_nonzero(serves & ~served, axis=1) * radius
            best = int(np.argmax(gain))
            if not gain[best] > 0:
                break
        served |= apart[best] <= HOLES.reach * radius[best]
        out.append((float(X[best, 0]), float(X[best, 1]), float(radius[best])))
    return tuple(out)


def _within(rim: Array, X: Array) -> Mask:
    """Which points a closed line of points goes around, by its winding number."""
    z = (rim[:, 0] + 1j * rim[:, 1])[None, :] - (X[:, 0] + 1j * X[:, 1])[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = np.angle(np.roll(z, -1, axis=1) / z).sum(axis=1)
    return np.asarray(np.abs(np.nan_to_num(turn)) > math.pi)
