r"""B u = g on whole sides of a box: the points of an evolution that make its rows a product of lines.

Along each coordinate an unknown of order m has n functions, n - m points of Gauss for its equation, and m
conditions at the ends. A side across one coordinate is held at these points along the coordinates before it,
and at m more along those after it: as many rows as there are functions, corners belong to the first side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from pibls.adaptive.evolution import assigned
from pibls.adaptive.evolutions.resolution import Resolution
from pibls.adaptive.validation.context import Bench
from pibls.arrays import Array, MultiIndex
from pibls.assembly.evolutions.frame import Frame, Side
from pibls.assembly.evolutions.lines import Site
from pibls.assembly.evolutions.pairing import Pairing
from pibls.geometry import Boundary, faces_of
from pibls.linalg.kronecker import along
from pibls.problem.forms.lowering import Residual

_LOOKED = (1e-6, 0.02, 0.13, 0.31, 0.5, 0.69, 0.87, 0.98, 1.0 - 1e-6)
"""Where on a side, along each coordinate and in time, it is asked whether a condition holds."""


def whole_sides(r: Residual, bench: Bench, free: tuple[int, ...], axis: int) -> tuple[tuple[int, int], ...]:
    """(coordinate of space, end) of each side on which a condition holds at every time; none elsewhere."""
    out = []
    rng = np.random.default_rng(0)
    box = bench.box
    plane = r.region.plane()
    for face in faces_of(bench.domain):
        where = face.plane()
        if where is None:
            return ()
        if where[0] == axis:
            continue
        if plane is not None:
            held = np.array([plane == where and r.region.is_whole_slice])
        else:
            others = [i for i in range(len(box)) if i != where[0]]
            U = np.array(list(product(_LOOKED, repeat=len(others))))
            middle = face.at(np.full((1, face.dimension), 0.5), rng)
            X = np.repeat(middle.points, len(U), axis=0)
            X[:, others] = box[others, 0] + (box[others, 1] - box[others, 0]) * U
            normals = np.repeat(middle.normals, len(X), axis=0)
            held = r.region.mask(Boundary(X, normals, middle.owners * len(X)))
        if held.all():
            out.append((free.index(where[0]), int(where[1] != box[where[0], 0])))
        elif held.any():
            return ()
    return tuple(sorted(out))


@dataclass(frozen=True)
class Framed:
    """The unknown that each condition determines, and the sides on which it holds."""

    bench: Bench
    free: tuple[int, ...]
    axis: int
    orders: tuple[tuple[int, ...], ...]
    """The highest derivative along each coordinate of space, of each unknown."""
    asked: tuple[tuple[int, ...], ...]
    """How many conditions there are at its two ends, of each unknown."""
    order: tuple[int, ...]
    """For each equation the unknown that it determines."""
    conditions: tuple[tuple[Residual, int, tuple[tuple[int, int], ...]], ...]

    @classmethod
    def of(
        cls,
        bench: Bench,
        free: tuple[int, ...],
        axis: int,
        orders: tuple[tuple[int, ...], ...],
        order: tuple[int, ...],
        repeated: tuple[bool, ...],
        conditions: tuple[Residual, ...],
    ) -> Framed | None:
        """None where some condition holds elsewhere, there are too few or too many at an end, or nothing is
        known of how the unknowns move each other."""
        found = []
        unknowns = bench.lowered.unknowns
        counts = np.zeros((unknowns, len(free), 2), dtype=int)
        kinds: list[list[set[Any]]] = [[set() for _ in free] for _ in range(unknowns)]
        for r in conditions:
            if any(j.alpha[axis] for j in r.jets) or not r.jets:
                return None
            sides = whole_sides(r, bench, free, axis)
            k = max(r.jets, key=lambda j: sum(j.alpha)).unknown
            if not sides or any(j.alpha[free[i]] >= orders[i][j.unknown] for i, _ in sides for j in r.jets):
                return None
            for i, end in sides:
                counts[k, i, end] += 1
                kinds[k][i].add((end, tuple(j.alpha[free[i]] for j in r.jets if j.unknown == k)))
            found.append((r, k, sides))
        equations = [r for r in bench.lowered.residuals if r.region.is_inside]
        tops = {
            (k, i): any(j.unknown == k and _is_top(j.alpha, a, orders[i][k]) for j in r.jets)
            for r, k in zip(equations, order, strict=True)
            for i, a in enumerate(free)
        }
        for (k, i), top in tops.items():
            m, (low, high) = orders[i][k] if top else 2 * bool(counts[k, i].sum()), counts[k, i]
            if low + high != (0 if repeated[i] else m) or (m % 2 == 0 and low != high):
                return None
        asked = tuple(tuple(int(n) for n in counts[:, i].sum(axis=1)) for i in range(len(free)))
        if any(
            not yes and sum(asked[i]) != _order_along(equations, a, unknowns)
            for i, (a, yes) in enumerate(zip(free, repeated, strict=True))
        ):
            return None
        own = [all(tops[k, i] for i in range(len(free))) for k in range(unknowns)]
        if not all(own):
            # Such unknowns are only known together with others.
            couplings = [
                (k, j.unknown, tuple(j.alpha[a] for a in free))
                for r, k in zip(equations, order, strict=True)
                for j in r.jets
            ]
            moved = [
                any(j.unknown == k and j.alpha[axis] for j in r.jets)
                for r, k in zip(equations, order, strict=True)
            ]
            named = [[frozenset(kind) or None for kind in row] for row in kinds]
            lost = Pairing.of(named, repeated, couplings).left_out
            if not all(moved) or any(sum(c[2]) and not (own[c[0]] and own[c[1]]) for c in lost):
                return None
        return cls(bench, free, axis, orders, asked, order, tuple(found))

    @property
    def joints(self) -> tuple[int, ...]:
        """The order of all unknowns along each coordinate; none where they differ, or repeat themselves."""
        found = [{*orders, *asked} for orders, asked in zip(self.orders, self.asked, strict=True)]
        return tuple(max(f) for f in found) if all(len(f) == 1 and max(f) > 0 for f in found) else ()

    def frame(self, found: Resolution) -> Frame:
        """Where the rows of each condition are."""
        conditions = tuple(
            (k, tuple(Side(i, end, self._counts(k, i, found)) for i, end in sides))
            for _, k, sides in self.conditions
        )
        return self._frame(found, conditions)

    def _frame(self, found: Resolution, conditions: tuple[tuple[int, tuple[Side, ...]], ...] = ()) -> Frame:
        half = 0.5 * np.ptp(self.bench.box[list(self.free)], axis=1)
        return Frame(found.strands, half, self.order, self.orders, self.asked, conditions)

    def held(self, number: int, found: Resolution) -> list[Array]:
        """The points of the reference box along each coordinate at which an equation is held."""
        return self._frame(found).held(self.order[number])

    def _counts(self, k: int, i: int, found: Resolution) -> tuple[int, ...]:
        """Points along each coordinate of a side across coordinate i."""
        return tuple(1 if j == i else len(s) for j, s in enumerate(self._points(k, i, 0, found)))

    def _points(self, k: int, i: int, end: int, found: Resolution) -> list[Array]:
        """Points of the reference box along each coordinate."""
        frame = self._frame(found)
        out = []
        for j in range(len(found.sizes)):
            s = frame.points(k, j)
            out.append(np.array([2.0 * end - 1.0]) if j == i else s if j > i else s[: frame.count(k, j)])
        return out

    def side(self, number: int, found: Resolution) -> tuple[Site, Array]:
        """The points of a condition, with the functions there, and the normals."""
        _, k, sides = self.conditions[number]
        box = self.bench.box[list(self.free)]
        half = 0.5 * np.ptp(box, axis=1)
        points, normals, parts = [], [], []
        for i, end in sides:
            lines = self._points(k, i, end, found)
            U = np.stack(np.meshgrid(*lines, indexing="ij"), -1).reshape(-1, len(lines))
            X = np.zeros((len(U), len(self.bench.box)))
            X[:, self.free] = box.mean(axis=1) + half * U
            X[:, self.free[i]] = box[i, end]
            N = np.zeros_like(X)
            N[:, self.free[i]] = 2.0 * end - 1.0
            points.append(X)
            normals.append(N)
            parts.append(product_sums(lines, found, half))
        X = np.concatenate(points)

        def quick(alpha: MultiIndex, u: Array) -> Array:
            return np.concatenate([part(alpha, u) for part in parts], axis=-2)

        def tables(alpha: MultiIndex) -> Array:
            return quick(alpha, np.eye(found.functions)[None])

        return Site(None, X[None], tables, quick), np.concatenate(normals)


def _order_along(equations: list[Residual], axis: int, unknowns: int) -> int:
    """How many conditions a system needs along a coordinate: the degree of its determinant."""
    degrees = np.full((len(equations), unknowns), -1000)
    for e, r in enumerate(equations):
        for j in r.jets:
            degrees[e, j.unknown] = max(degrees[e, j.unknown], j.alpha[axis])
    return int(sum(row[k] for row, k in zip(degrees, assigned(degrees), strict=False)))


def _is_top(alpha: MultiIndex, axis: int, order: int) -> bool:
    return alpha[axis] == order == sum(alpha) and order > 0


def product_sums(lines: list[Array], found: Resolution, half: Array) -> Callable[[MultiIndex, Array], Array]:
    """∂^α of sums of products at the products of points along the coordinates: no table is made of them."""
    known: dict[tuple[int, int], Array] = {}

    def table(i: int, order: int) -> Array:
        if (i, order) not in known:
            known[i, order] = found.strands[i].at(lines[i], order) / half[i] ** order
        return known[i, order]

    def sums(alpha: MultiIndex, u: Array) -> Array:
        lead, m = u.shape[:-2], u.shape[-1]
        out = u.reshape(-1, *found.sizes, m)
        for i, order in enumerate(alpha):
            out = along(table(i, order), out, i + 1)
        return np.asarray(out.reshape(*lead, -1, m))

    return sums
