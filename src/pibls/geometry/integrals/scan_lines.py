r"""Quadrature on plane shapes by horizontal lines: ∫_Ω f = ∫ (Σ ∫ f dx) dy.

Between two consecutive heights at which the boundary has an extremum of y, an end or a corner, the ends of
each line in Ω depend smoothly on y, and Gauss rules converge fast in both directions. At an extremum of y
they depend on it like a square root; a substitution removes that singularity.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from math import ceil

import numpy as np

from pibls.arrays import Array, Indices, Mask
from pibls.geometry.faces.arc import Arc
from pibls.geometry.faces.face import Face, bisect
from pibls.geometry.integrals.gauss import QuadratureRule, gauss_legendre
from pibls.geometry.protocol import Domain, box_of, faces_of

MIN_SAMPLES = 256  # test points on a face, or on a line through a shape, at least
_BISECTIONS = 100
_HORIZONTAL_NORMAL = 1e-9  # a smaller x-component of the normal belongs to a horizontal face
_TURNING_NORMAL = 1e-2  # … and at the end of a segment, to an extremum of y
_END_OFFSET = 1e-12  # of a segment: distance of test points from its ends
_MIN_NODES = 7  # nodes per interval, where there are few intervals


@dataclass(frozen=True)
class _MonotoneSegment:
    """A segment of a face along which y is monotone."""

    face: Face
    start: float
    stop: float
    low: float
    high: float
    turns: tuple[bool, bool]
    """Whether y has an extremum at the lower and at the upper end."""
    bends: tuple[float, ...]
    """Heights of the corners within the segment."""
    table: tuple[Array, Array]
    """Parameters u, and their heights in ascending order."""

    def at_height(self, y: Array) -> Array:
        """Return the x of the points at the heights y."""
        u, heights = self.table
        i = np.clip(np.searchsorted(heights, y), 1, len(u) - 1)
        a, b, fa, fb = u[i - 1], u[i], heights[i - 1] - y, heights[i] - y
        tolerance = 2e-16 * float(np.abs(heights).max())
        for step in range(_BISECTIONS):
            # Alternate false position and bisection: fast on polylines, and always convergent.
            with np.errstate(invalid="ignore", divide="ignore"):
                c = np.where(fa == fb, a, a - fa * (b - a) / (fb - fa))
            c = np.clip(c, np.minimum(a, b), np.maximum(a, b)) if step % 3 < 2 else 0.5 * (a + b)
            fc = _points(self.face, c)[:, 1] - y
            left = (fc < 0) == (fa < 0)
            a, fa = np.where(left, c, a), np.where(left, fc, fa)
            b, fb = np.where(left, b, c), np.where(left, fb, fc)
            if np.all(np.minimum(np.abs(fa), np.abs(fb)) <= tolerance) or np.all(np.abs(b - a) <= 1e-15):
                break
        return np.asarray(_points(self.face, np.where(np.abs(fa) < np.abs(fb), a, b))[:, 0])


def scan_line_rule(domain: Domain, n: int) -> QuadratureRule:
    """Return a rule for a plane domain whose faces have charts, with about n nodes per side of its bounds."""
    box = box_of(domain)
    width, height = (float(b - a) for a, b in box)
    segments = [segment for face in faces_of(domain) for segment in _monotone_segments(face)]
    heights = _distinct_values(
        np.array([h for r in segments for h in (r.low, r.high, *r.bends)]), 1e-12 * height
    )
    heights = _distinct_values(
        np.array([*heights, *_graded_heights(segments, np.array(heights))]), 1e-12 * height
    )
    min_nodes = _MIN_NODES if len(heights) < 64 else 4 if len(heights) < 512 else 2
    parts = []
    for low, high in itertools.pairwise(heights):
        middle = 0.5 * (low + high)
        crossing = [r for r in segments if r.low <= middle <= r.high]
        y, weights = _strip_nodes(crossing, low, high, height, n, min_nodes)
        ends = np.sort(np.array([r.at_height(y) for r in crossing]), axis=0)
        for left, right in itertools.pairwise(ends):
            kept = _within(domain, left, right, y, 1e-13 * width)
            if kept.any():
                count = ceil(n * float((right - left)[kept].max()) / width) + min_nodes
                parts.append(_between(left[kept], right[kept], y[kept], weights[kept], count))
    return QuadratureRule.concatenated(parts, 2)


def _between(left: Array, right: Array, y: Array, weights: Array, count: int) -> QuadratureRule:
    """Return the rule between two curves with ``count`` nodes on each of the lines at the heights y."""
    x, w = gauss_legendre(count)
    length = right - left
    X = left[:, None] + length[:, None] * x
    points = np.stack([X, np.broadcast_to(y[:, None], X.shape)], axis=-1)
    return QuadratureRule.interior(points.reshape(-1, 2), (weights[:, None] * length[:, None] * w).ravel())


def _strip_nodes(
    crossing: list[_MonotoneSegment], low: float, high: float, height: float, n: int, min_nodes: int
) -> tuple[Array, Array]:
    """Return nodes and weights over the height of a strip, graded where a segment turns at its end."""
    slack = 1e-9 * height
    turns_below = any(r.turns[0] and r.low > low - slack for r in crossing)
    turns_above = any(r.turns[1] and r.high < high + slack for r in crossing)
    count = ceil((1.5 if turns_below or turns_above else 1.0) * n * (high - low) / height) + min_nodes
    return _height_nodes(low, high, count, turns_below, turns_above)


def _graded_heights(segments: list[_MonotoneSegment], heights: Array) -> list[float]:
    """Return additional heights, graded towards an extremum of y with another one close by.

    The square-root behaviour extends beyond the interval next to the extremum.
    """
    out: list[float] = []
    for segment in segments:
        for turns, end, sign in zip(segment.turns, (segment.low, segment.high), (1.0, -1.0), strict=True):
            distances = sign * (heights - end)
            distances = distances[distances > 1e-12 * (segment.high - segment.low)]
            step = float(distances.min(initial=np.inf))
            while turns and 4.0 * step < 0.5 * (segment.high - segment.low):
                step *= 4.0
                out.append(end + sign * step)
    return out


def _within(domain: Domain, left: Array, right: Array, y: Array, slack: float) -> Mask:
    middle = np.column_stack([0.5 * (left + right), y])
    return np.asarray(domain.contains(middle), dtype=np.bool_) & (right - left > slack)


def _height_nodes(
    low: float, high: float, n: int, turns_below: bool, turns_above: bool
) -> tuple[Array, Array]:
    """Return nodes and weights between two heights, with a quadratic substitution at extrema of y."""
    s, w = gauss_legendre(n)
    if turns_below and turns_above:
        t, dt = np.sin(0.5 * np.pi * s) ** 2, 0.5 * np.pi * np.sin(np.pi * s)
    elif turns_below:
        t, dt = s**2, 2.0 * s
    elif turns_above:
        t, dt = 1.0 - (1.0 - s) ** 2, 2.0 * (1.0 - s)
    else:
        t, dt = s, np.ones(n)
    return low + (high - low) * t, (high - low) * w * dt


def _monotone_segments(face: Face) -> list[_MonotoneSegment]:
    knots, corners = face_knots(face)
    many = max(MIN_SAMPLES, len(knots))
    u = np.unique(np.concatenate([np.linspace(0.0, 1.0, many + 1), knots]))
    # A thin curve may have an extremum immediately after its start.
    test_parameters = np.concatenate([[_END_OFFSET], 0.5 * (u[1:] + u[:-1]), [1.0 - _END_OFFSET]])
    sign = _facing(face, test_parameters)
    changes = np.flatnonzero(sign[1:] != sign[:-1])
    a, b = bisect(
        lambda c: _facing(face, c) == sign[changes],
        test_parameters[changes],
        test_parameters[changes + 1],
        100,
    )
    ends = np.concatenate([[0.0], 0.5 * (a + b), [1.0]])
    directions = sign[np.concatenate([[0], changes + 1])]
    out = []
    for start, stop, direction in zip(ends[:-1], ends[1:], directions, strict=True):
        if direction == 0 or stop - start < 1e-13:
            continue
        end_parameters = np.array([start + _END_OFFSET * (stop - start), stop - _END_OFFSET * (stop - start)])
        is_horizontal = np.abs(_normals(face, end_parameters)[:, 0]) < _TURNING_NORMAL
        heights = _points(face, np.array([start, stop]))[:, 1]
        bends = _points(face, corners[(corners > start) & (corners < stop)])[:, 1]
        order = np.argsort(heights)
        inner = knots[(knots > start) & (knots < stop)]
        table_parameters = np.unique(np.concatenate([np.linspace(start, stop, 33), inner]))[
            :: 1 if order[0] == 0 else -1
        ]
        table = (table_parameters, np.maximum.accumulate(_points(face, table_parameters)[:, 1]))
        low, high = heights[order].tolist()
        turns = (bool(is_horizontal[order[0]]), bool(is_horizontal[order[1]]))
        out.append(
            _MonotoneSegment(face, float(start), float(stop), low, high, turns, tuple(bends.tolist()), table)
        )
    return out


def face_knots(face: Face) -> tuple[Array, Array]:
    """Return the parameters where the chart of a face is nonsmooth, and those where the face itself is."""
    if not isinstance(face, Arc):
        return np.empty(0), np.empty(0)
    knots = face.curve.knots
    span = face.stop - face.start
    parameters = np.concatenate([(knots + turn - face.start) / span for turn in (0.0, 1.0)])
    parameters = np.unique(parameters[(parameters > 0) & (parameters < 1)])
    return parameters, parameters if face.curve.is_nonsmooth_at_knots else np.empty(0)


def _points(face: Face, u: Array) -> Array:
    return face.at(u[:, None]).points


def _normals(face: Face, u: Array) -> Array:
    return face.at(u[:, None]).normals


def _facing(face: Face, u: Array) -> Indices:
    """Return 1 where the boundary faces to the right, -1 to the left, 0 up or down."""
    n = _normals(face, u)[:, 0]
    return np.where(np.abs(n) < _HORIZONTAL_NORMAL, 0, np.sign(n)).astype(int)


def _distinct_values(values: Array, slack: float) -> list[float]:
    """Return the values sorted, without those closer than ``slack`` to the one before."""
    out: list[float] = []
    for value in np.sort(values).tolist():
        if not out or value - out[-1] > slack:
            out.append(value)
    return out
