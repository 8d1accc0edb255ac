"""γ(u), start ≤ u ≤ stop: a curve, or a part of it, as a face of a plane shape."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pibls.arrays import Array, Mask, Rng
from pibls.geometry.faces.curve import Curve
from pibls.geometry.faces.face import Boundary, Face, Keep, owned_by, stretches
from pibls.geometry.maps import Affine

_FINE = 8  # pieces of a curve in a box are that much shorter than the box
_LEVELS = 12
_IN_BOX = 12  # bisections: the end of a piece in a box, to 1e-5 of the box
_MEASURED = 64


@dataclass(frozen=True)
class Arc:
    """A part of a curve; with ``flip``, of a shape that is taken away, the normals point to its inside.

    Of a closed curve ``stop`` may be beyond 1: the part then runs through its beginning.
    """

    curve: Curve
    start: float = 0.0
    stop: float = 1.0
    flip: bool = False

    dimension = 1
    has_chart = True

    @property
    def is_closed(self) -> bool:
        return self.curve.closed and self.stop - self.start >= 1.0

    @property
    def is_thin(self) -> bool:
        return self.curve.thin

    def at(self, U: Array, rng: Rng | None = None) -> Boundary:
        u = self._u(U[:, 0])
        return Boundary(self.curve.position(u), self._normals(u), (self.curve.owner,) * len(u))

    def _u(self, share: Array) -> Array:
        return self.curve.inside(self.start * (1.0 - share) + self.stop * share)

    def _normals(self, u: Array) -> Array:
        t = self.curve.tangent(u)
        outward = np.column_stack([t[:, 1], -t[:, 0]]) / np.linalg.norm(t, axis=1, keepdims=True)
        return np.asarray(-outward if self.flip else outward)

    def run(self, start: float, stop: float, nodes: Array) -> tuple[Array, Array, Array]:
        """Points, speeds and normals at Gauss nodes of the part from one share to another."""
        a, b = (self.start + (self.stop - self.start) * share for share in (start, stop))
        turn = np.floor(0.5 * (a + b)) if self.curve.closed else 0.0
        X, along = self.curve.run(max(a - turn, 0.0), min(b - turn, 1.0), nodes)
        speed = np.linalg.norm(along, axis=1)
        outward = np.column_stack([along[:, 1], -along[:, 0]]) / speed[:, None]
        return X, speed, np.asarray(-outward if self.flip else outward)

    def measure(self, lengths: Array) -> float:
        n = max(_MEASURED, int(self.curve.pieces * (self.stop - self.start)))
        X = self.curve.position(self._u(np.linspace(0.0, 1.0, n + 1))) / lengths
        return float(np.linalg.norm(np.diff(X, axis=0), axis=1).sum())

    def touches(self, X: Array, tolerance: Array) -> Mask:
        table = self.curve.table
        low, high = table.low.min(axis=0) - tolerance, table.high.max(axis=0) + tolerance
        maybe = np.flatnonzero(np.all((low <= X) & (high >= X), axis=1))
        out = np.zeros(len(X), dtype=np.bool_)
        out[maybe] = self._touches(X[maybe], tolerance)
        return out

    def _touches(self, X: Array, tolerance: Array) -> Mask:
        u = self.curve.locate(X)
        near = np.all(np.abs(self.curve.position(u) - X) <= tolerance, axis=1)
        slack = float(tolerance.max()) / self.curve.length
        # Of a closed curve, u and u + 1 are the same place.
        return np.asarray(
            near
            & (
                ((self.start - slack <= u) & (u <= self.stop + slack))
                | (self.curve.closed & (u + 1.0 <= self.stop + slack))
                | (self.curve.closed & (u - 1.0 >= self.start - slack))
            ),
            dtype=np.bool_,
        )

    def normals(self, X: Array) -> Array | None:
        return self._normals(self.curve.locate(X))

    def plane(self) -> tuple[int, float] | None:
        return None

    def flipped(self) -> Arc:
        """The same with normals to the other side."""
        return replace(self, flip=not self.flip)

    def part(self, start: float, stop: float) -> Arc:
        """The part from one share of it to another; of a closed one, ``stop`` may be beyond 1."""
        span = self.stop - self.start
        return replace(self, start=self.start + span * start, stop=self.start + span * stop)

    def _nodes(self, low: Array, high: Array) -> Array:
        """Shares of the arc, increasing from 0 to 1, that are dense where it meets a box."""
        table, span = self.curve.table, self.stop - self.start
        meets = np.all((table.low <= high) & (table.high >= low), axis=1)
        edges = np.concatenate([table.u[:-1][meets], table.u[1:][meets]])
        shares = np.concatenate([(edges + turn - self.start) / span for turn in (0.0, 1.0)])
        return np.unique(np.concatenate([[0.0, 1.0], shares[(shares > 0) & (shares < 1)]]))

    def clipped(self, box: Array) -> tuple[Face, ...]:
        table, around = self.curve.table, self.curve.around
        if any(low > b or high < a for (low, high), (a, b) in zip(around, box.tolist(), strict=True)):
            return ()
        if not np.any(np.all((table.low <= box[:, 1]) & (table.high >= box[:, 0]), axis=1)):
            return ()

        def in_box(boundary: Boundary) -> Mask:
            return owned_by(box, boundary.points, boundary.normals)

        shares = self._nodes(box[:, 0], box[:, 1])
        fine = (box[:, 1] - box[:, 0]) / _FINE
        for _ in range(_LEVELS):
            X = self.curve.position(self._u(shares))
            a, b = X[:-1], X[1:]
            long = np.any(np.abs(b - a) > fine, axis=1)
            margin = 0.5 * np.linalg.norm(b - a, axis=1)[:, None]
            near = np.all(
                (np.minimum(a, b) - margin <= box[:, 1]) & (np.maximum(a, b) + margin >= box[:, 0]), axis=1
            )
            split = np.flatnonzero(long & near)
            if not len(split):
                break
            step = (shares[split + 1] - shares[split])[:, None] * (np.arange(1, 4) / 4.0)
            shares = np.unique(np.concatenate([shares, (shares[split][:, None] + step).ravel()]))
        return tuple(self.part(*ends) for ends in stretches(self, shares, in_box, _IN_BOX))

    def dense(self) -> Array:
        n = max(int(self.curve.pieces * (self.stop - self.start)), 16)
        return self.curve.position(self._u(np.linspace(0.0, 1.0, n + 1)))

    def trimmed(self, keep: Keep, near: Array) -> tuple[Face, ...]:
        n = max(int(self.curve.pieces * (self.stop - self.start)), 16)
        found = self.curve.locate(near)
        shares = (np.concatenate([found, found + 1.0]) - self.start) / (self.stop - self.start)
        shares = np.concatenate([np.linspace(0.0, 1.0, n + 1), shares[(shares > 0) & (shares < 1)]])
        return tuple(self.part(*ends) for ends in stretches(self, np.unique(shares), keep))

    def mapped(self, affine: Affine, owner: object) -> Face:
        return Arc(_Image(self.curve, affine, owner), self.start, self.stop, self.flip)


class _Image(Curve):
    """M γ(u) + b."""

    def __init__(self, curve: Curve, affine: Affine, owner: object) -> None:
        self._curve, self._affine, self.owner = curve, affine, owner
        self.closed, self.pieces = curve.closed, curve.pieces
        self.knots, self.broken, self.thin = curve.knots, curve.broken, curve.thin

    def position(self, u: Array) -> Array:
        return self._affine.points(self._curve.position(u))

    def tangent(self, u: Array) -> Array:
        return np.asarray(self._curve.tangent(u) @ self._affine.matrix.T)

    def run(self, start: float, stop: float, nodes: Array) -> tuple[Array, Array]:
        X, along = self._curve.run(start, stop, nodes)
        return self._affine.points(X), np.asarray(along @ self._affine.matrix.T)
