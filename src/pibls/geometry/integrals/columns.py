r"""∫_Ω f = ∫ (Σ ∫ f dx) dy: a plane shape in lines, exact as far as its boundary charts are.

Between two heights at which the boundary turns, ends or has a corner, the ends of every line in Ω move
smoothly, and Gauss's rule converges fast in both directions. Where the boundary turns, they move like a
square root; a substitution makes that smooth.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from pibls.arrays import Array, Mask
from pibls.geometry.faces.face import Face, bisected
from pibls.geometry.integrals.gauss import Rule, gauss
from pibls.geometry.protocol import Domain, box_of, faces_of

LOOKED = 256  # places at which a face, or a line through a shape, is looked at, at least
_BISECTIONS = 100
_LEVEL = 1e-9  # a normal that is flatter than this belongs to a horizontal side
_TURNS = 1e-2  # … and at the end of a stretch, one that is flatter than this to a turning point
_BESIDE = 1e-12  # of a stretch: just inside its end
_LEAST = 7  # nodes of a piece


@dataclass(frozen=True)
class _Rise:
    """A stretch of a face along which y is monotone."""

    face: Face
    start: float
    stop: float
    low: float
    high: float
    turns: tuple[bool, bool]
    """Whether it turns at its lower and at its upper end."""
    bends: tuple[float, ...]
    """Heights of its corners."""
    table: tuple[Array, Array]
    """Some u, and their heights, which ascend."""

    def at_height(self, y: Array) -> Array:
        """The x of the points at these heights."""
        u, heights = self.table
        i = np.clip(np.searchsorted(heights, y), 1, len(u) - 1)
        a, b, fa, fb = u[i - 1], u[i], heights[i - 1] - y, heights[i] - y
        enough = 2e-16 * float(np.abs(heights).max())
        for step in range(_BISECTIONS):
            # By turns false position and bisection: fast where the way is broken, sure everywhere.
            with np.errstate(invalid="ignore", divide="ignore"):
                c = np.where(fa == fb, a, a - fa * (b - a) / (fb - fa))
            c = np.clip(c, np.minimum(a, b), np.maximum(a, b)) if step % 3 < 2 else 0.5 * (a + b)
            fc = _points(self.face, c)[:, 1] - y
            left = (fc < 0) == (fa < 0)
            a, fa = np.where(left, c, a), np.where(left, fc, fa)
            b, fb = np.where(left, b, c), np.where(left, fb, fc)
            if np.all(np.minimum(np.abs(fa), np.abs(fb)) <= enough) or np.all(np.abs(b - a) <= 1e-15):
                break
        return np.asarray(_points(self.face, np.where(np.abs(fa) < np.abs(fb), a, b))[:, 0])


def in_columns(domain: Domain, n: int) -> Rule:
    """A rule for a plane domain whose faces have charts, about n nodes along each side of its bounds."""
    box = box_of(domain)
    wide, tall = (float(b - a) for a, b in box)
    rises = [rise for face in faces_of(domain) for rise in _rises(face)]
    heights = _merged(np.array([h for r in rises for h in (r.low, r.high, *r.bends)]), 1e-12 * tall)
    heights = _merged(np.array([*heights, *_graded(rises, np.array(heights))]), 1e-12 * tall)
    least = _LEAST if len(heights) < 64 else 4 if len(heights) < 512 else 2
    parts = []
    for low, high in itertools.pairwise(heights):
        middle = 0.5 * (low + high)
        here = [r for r in rises if r.low <= middle <= r.high]
        slack = 1e-9 * tall
        first = any(r.turns[0] and r.low > low - slack for r in here)
        last = any(r.turns[1] and r.high < high + slack for r in here)
        count = ceil((1.5 if first or last else 1.0) * n * (high - low) / tall) + least
        y, weights = _heights(low, high, count, first, last)
        ends = np.sort(np.array([r.at_height(y) for r in here]), axis=0)
        for left, right in itertools.pairwise(ends):
            kept = _within(domain, left, right, y, 1e-13 * wide)
            if not kept.any():
                continue
            x, w = gauss(ceil(n * float((right - left)[kept].max()) / wide) + least)
            length = (right - left)[kept]
            X = left[kept][:, None] + length[:, None] * x
            points = np.stack([X, np.broadcast_to(y[kept][:, None], X.shape)], axis=-1)
            parts.append(
                Rule.inside(points.reshape(-1, 2), (weights[kept][:, None] * length[:, None] * w).ravel())
            )
    return Rule.joined(parts, 2)


def _graded(rises: list[_Rise], heights: Array) -> list[float]:
    """More heights beside a turning point that has another one close by: the square root reaches beyond."""
    out: list[float] = []
    for rise in rises:
        for turns, place, sign in zip(rise.turns, (rise.low, rise.high), (1.0, -1.0), strict=True):
            apart = sign * (heights - place)
            apart = apart[apart > 1e-12 * (rise.high - rise.low)]
            step = float(apart.min(initial=np.inf))
            while turns and 4.0 * step < 0.5 * (rise.high - rise.low):
                step *= 4.0
                out.append(place + sign * step)
    return out


def _within(domain: Domain, left: Array, right: Array, y: Array, slack: float) -> Mask:
    middle = np.column_stack([0.5 * (left + right), y])
    return np.asarray(domain.contains(middle), dtype=np.bool_) & (right - left > slack)


def _heights(low: float, high: float, n: int, first: bool, last: bool) -> tuple[Array, Array]:
    """Nodes and weights between two heights; at an end where the boundary turns, by a square."""
    s, w = gauss(n)
    if first and last:
        t, dt = np.sin(0.5 * np.pi * s) ** 2, 0.5 * np.pi * np.sin(np.pi * s)
    elif first:
        t, dt = s**2, 2.0 * s
    elif last:
        t, dt = 1.0 - (1.0 - s) ** 2, 2.0 * (1.0 - s)
    else:
        t, dt = s, np.ones(n)
    return low + (high - low) * t, (high - low) * w * dt


def _rises(face: Face) -> list[_Rise]:
    knots, corners = knots_of(face)
    many = max(LOOKED, len(knots))
    u = np.unique(np.concatenate([np.linspace(0.0, 1.0, many + 1), knots]))
    # A slim curve may turn at once behind its beginning.
    places = np.concatenate([[_BESIDE], 0.5 * (u[1:] + u[:-1]), [1.0 - _BESIDE]])
    sign = _sense(face, places)
    changes = np.flatnonzero(sign[1:] != sign[:-1])
    a, b = bisected(lambda c: _sense(face, c) == sign[changes], places[changes], places[changes + 1], 100)
    ends = np.concatenate([[0.0], 0.5 * (a + b), [1.0]])
    kinds = sign[np.concatenate([[0], changes + 1])]
    out = []
    for start, stop, kind in zip(ends[:-1], ends[1:], kinds, strict=True):
        if kind == 0 or stop - start < 1e-13:
            continue
        near = np.array([start + _BESIDE * (stop - start), stop - _BESIDE * (stop - start)])
        flat = np.abs(_normals(face, near)[:, 0]) < _TURNS
        heights = _points(face, np.array([start, stop]))[:, 1]
        bends = _points(face, corners[(corners > start) & (corners < stop)])[:, 1]
        order = np.argsort(heights)
        inner = knots[(knots > start) & (knots < stop)]
        seen = np.unique(np.concatenate([np.linspace(start, stop, 33), inner]))[:: 1 if order[0] == 0 else -1]
        table = (seen, np.maximum.accumulate(_points(face, seen)[:, 1]))
        low, high = heights[order].tolist()
        turns = (bool(flat[order[0]]), bool(flat[order[1]]))
        out.append(_Rise(face, float(start), float(stop), low, high, turns, tuple(bends.tolist()), table))
    return out


def knots_of(face: Any) -> tuple[Array, Array]:
    """The shares of a face at which its parameter is not smooth, and those at which the curve is neither."""
    curve: Any = getattr(face, "curve", None)
    knots = np.asarray(getattr(curve, "knots", ()), dtype=float)
    if not len(knots):
        return np.empty(0), np.empty(0)
    span = face.stop - face.start
    shares = np.concatenate([(knots + turn - face.start) / span for turn in (0.0, 1.0)])
    shares = np.unique(shares[(shares > 0) & (shares < 1)])
    return shares, shares if curve.broken else np.empty(0)


def _points(face: Face, u: Array) -> Array:
    return face.at(u[:, None]).points


def _normals(face: Face, u: Array) -> Array:
    return face.at(u[:, None]).normals


def _sense(face: Face, u: Array) -> Any:
    """1 where the boundary faces to the right, -1 to the left, 0 up or down."""
    n = _normals(face, u)[:, 0]
    return np.where(np.abs(n) < _LEVEL, 0, np.sign(n)).astype(int)


def _merged(values: Array, slack: float) -> list[float]:
    """In order, each once."""
    out: list[float] = []
    for value in np.sort(values).tolist():
        if not out or value - out[-1] > slack:
            out.append(value)
    return out
