r"""Conditions B u = g on whole faces of a box, and collocation points that make the system a tensor product.

Along each coordinate an unknown of order m has n functions, n - m Gauss points for its equation, and m
conditions at the ends. A face normal to one coordinate is collocated at these points along the coordinates
before it, and at m more along those after it. There are as many rows as functions; edges and corners belong
to the first face.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from pibls.analysis.evolution import max_assignment
from pibls.arrays import Array, Indices, MultiIndex
from pibls.assembly.evolutions.mode_groups import ModeGroups
from pibls.assembly.evolutions.semidiscrete import Site
from pibls.assembly.evolutions.tensor_layout import Side, TensorLayout
from pibls.geometry import Boundary, faces_of
from pibls.linalg.kronecker import apply_along
from pibls.problem.forms.compilation import Residual
from pibls.runtime.caching import cached_property
from pibls.time.box.resolution import Resolution
from pibls.time.context import EvolutionContext

_PROBE_FRACTIONS = (1e-6, 0.02, 0.13, 0.31, 0.5, 0.69, 0.87, 0.98, 1.0 - 1e-6)
"""Fractions of a face, along each coordinate and in time, at which a condition is tested."""


def whole_faces(
    r: Residual, context: EvolutionContext, space_axes: tuple[int, ...], axis: int
) -> tuple[tuple[int, int], ...]:
    """Return (coordinate of space, end) of the faces on which a condition holds at all times.

    Empty if it holds on a part of a face only.
    """
    out = []
    rng = np.random.default_rng(0)
    box = context.box
    plane = r.region.plane()
    for face in faces_of(context.domain):
        where = face.plane()
        if where is None:
            return ()
        if where[0] == axis:
            continue
        if plane is not None:
            is_held = np.array([plane == where and r.region.is_whole_slice])
        else:
            others = [i for i in range(len(box)) if i != where[0]]
            U = np.array(list(product(_PROBE_FRACTIONS, repeat=len(others))))
            middle = face.at(np.full((1, face.dimension), 0.5), rng)
            X = np.repeat(middle.points, len(U), axis=0)
            X[:, others] = box[others, 0] + (box[others, 1] - box[others, 0]) * U
            normals = np.repeat(middle.normals, len(X), axis=0)
            is_held = r.region.mask(Boundary(X, normals, middle.owners * len(X)))
        if is_held.all():
            out.append((space_axes.index(where[0]), int(where[1] != box[where[0], 0])))
        elif is_held.any():
            return ()
    return tuple(sorted(out))


@dataclass(frozen=True)
class FaceConditions:
    """Conditions on whole faces of a box: the unknown each determines, and its faces."""

    context: EvolutionContext
    space_axes: tuple[int, ...]
    axis: int
    orders: tuple[tuple[int, ...], ...]
    """Highest derivative of each unknown along each coordinate of space."""
    condition_counts: tuple[tuple[int, ...], ...]
    """Number of conditions on each unknown at the two ends of each coordinate."""
    matched_unknowns: tuple[int, ...]
    """For each equation the unknown it determines."""
    conditions: tuple[tuple[Residual, int, tuple[tuple[int, int], ...]], ...]

    @classmethod
    def of(
        cls,
        context: EvolutionContext,
        space_axes: tuple[int, ...],
        axis: int,
        orders: tuple[tuple[int, ...], ...],
        matched_unknowns: tuple[int, ...],
        periodic: tuple[bool, ...],
        conditions: tuple[Residual, ...],
    ) -> FaceConditions | None:
        """Return the face conditions of a problem; None if they do not have tensor-product form.

        That is, if a condition holds elsewhere, an end has too few or too many of them, or the coupling of
        the unknowns is not of a known kind.
        """
        found = []
        for r in conditions:
            placed = _placed_condition(r, context, space_axes, axis, orders)
            if placed is None:
                return None
            found.append(placed)
        counts = _counts_at_ends(found, context.compiled.unknowns, len(space_axes))
        condition_counts = tuple(
            tuple(int(n) for n in counts[:, i].sum(axis=1)) for i in range(len(space_axes))
        )
        made = cls(context, space_axes, axis, orders, condition_counts, matched_unknowns, tuple(found))
        if not made._balances_orders(counts, periodic) or not made._determines_system(periodic):
            return None
        return made if made._couplings_are_known(periodic) else None

    @cached_property
    def _equations(self) -> list[tuple[Residual, int]]:
        """The equations, each with the unknown it determines."""
        inside = [r for r in self.context.compiled.residuals if r.region.is_interior]
        return list(zip(inside, self.matched_unknowns, strict=True))

    @cached_property
    def _has_own_derivative(self) -> dict[tuple[int, int], bool]:
        """Whether the equation of an unknown holds its highest derivative along a coordinate alone."""
        return {
            (k, i): any(j.unknown == k and _is_top(j.alpha, a, self.orders[i][k]) for j in r.derivatives)
            for r, k in self._equations
            for i, a in enumerate(self.space_axes)
        }

    def _balances_orders(self, counts: Indices, periodic: tuple[bool, ...]) -> bool:
        """Whether each unknown has as many conditions as its order, equally many at both ends if even."""
        for (k, i), is_own in self._has_own_derivative.items():
            m, (low, high) = self.orders[i][k] if is_own else 2 * bool(counts[k, i].sum()), counts[k, i]
            if low + high != (0 if periodic[i] else m) or (m % 2 == 0 and low != high):
                return False
        return True

    def _determines_system(self, periodic: tuple[bool, ...]) -> bool:
        """Whether there are as many conditions along each coordinate as the system needs."""
        equations, unknowns = [r for r, _ in self._equations], self.context.compiled.unknowns
        return all(
            is_periodic or sum(self.condition_counts[i]) == _order_along(equations, a, unknowns)
            for i, (a, is_periodic) in enumerate(zip(self.space_axes, periodic, strict=True))
        )

    def _couplings_are_known(self, periodic: tuple[bool, ...]) -> bool:
        """Whether unknowns without their own highest derivative are coupled to others mode by mode."""
        own = [
            all(self._has_own_derivative[k, i] for i in range(len(self.space_axes)))
            for k in range(self.context.compiled.unknowns)
        ]
        if all(own):
            return True
        if not all(
            any(j.unknown == k and j.alpha[self.axis] for j in r.derivatives) for r, k in self._equations
        ):
            return False
        couplings = [
            (k, j.unknown, tuple(j.alpha[a] for a in self.space_axes))
            for r, k in self._equations
            for j in r.derivatives
        ]
        lost = ModeGroups.of(self._condition_kinds(), periodic, couplings).left_out
        return not any(sum(c[2]) and not (own[c[0]] and own[c[1]]) for c in lost)

    def _condition_kinds(self) -> list[list[frozenset[Any] | None]]:
        """Return, for each unknown and coordinate, the ends and normal derivatives of its conditions."""
        kinds: list[list[set[Any]]] = [
            [set() for _ in self.space_axes] for _ in range(self.context.compiled.unknowns)
        ]
        for r, k, sides in self.conditions:
            for i, end in sides:
                normal_orders = (j.alpha[self.space_axes[i]] for j in r.derivatives if j.unknown == k)
                kinds[k][i].add((end, tuple(normal_orders)))
        return [[frozenset(kind) or None for kind in row] for row in kinds]

    @property
    def interface_orders(self) -> tuple[int, ...]:
        """Common order of all unknowns along each coordinate; empty if they differ or an axis is periodic."""
        found = [
            {*orders, *condition_counts}
            for orders, condition_counts in zip(self.orders, self.condition_counts, strict=True)
        ]
        return tuple(max(f) for f in found) if all(len(f) == 1 and max(f) > 0 for f in found) else ()

    def frame(self, resolution: Resolution) -> TensorLayout:
        """Return the layout of the rows of equations and conditions."""
        conditions = tuple(
            (k, tuple(Side(i, end, self._counts(k, i, resolution)) for i, end in sides))
            for _, k, sides in self.conditions
        )
        return self._frame(resolution, conditions)

    def _frame(
        self, resolution: Resolution, conditions: tuple[tuple[int, tuple[Side, ...]], ...] = ()
    ) -> TensorLayout:
        half = 0.5 * np.ptp(self.context.box[list(self.space_axes)], axis=1)
        return TensorLayout(
            resolution.bases, half, self.matched_unknowns, self.orders, self.condition_counts, conditions
        )

    def collocation_points(self, number: int, resolution: Resolution) -> list[Array]:
        """Return the collocation points of an equation along each coordinate of the reference box."""
        return self._frame(resolution).equation_points(self.matched_unknowns[number])

    def _counts(self, k: int, i: int, resolution: Resolution) -> tuple[int, ...]:
        """Return the number of points along each coordinate on a face normal to coordinate i."""
        return tuple(1 if j == i else len(s) for j, s in enumerate(self._points(k, i, 0, resolution)))

    def _points(self, k: int, i: int, end: int, resolution: Resolution) -> list[Array]:
        """Return the points of a face along each coordinate of the reference box."""
        frame = self._frame(resolution)
        out = []
        for j in range(len(resolution.sizes)):
            s = frame.points(k, j)
            out.append(
                np.array([2.0 * end - 1.0])
                if j == i
                else s
                if j > i
                else s[: frame.equation_point_count(k, j)]
            )
        return out

    def face_site(self, number: int, resolution: Resolution) -> tuple[Site, Array]:
        """Return the collocation points of a condition, with the functions there, and their normals."""
        _, k, sides = self.conditions[number]
        box = self.context.box[list(self.space_axes)]
        half = 0.5 * np.ptp(box, axis=1)
        points, normals, parts = [], [], []
        for i, end in sides:
            axis_points = self._points(k, i, end, resolution)
            U = np.stack(np.meshgrid(*axis_points, indexing="ij"), -1).reshape(-1, len(axis_points))
            X = np.zeros((len(U), len(self.context.box)))
            X[:, self.space_axes] = box.mean(axis=1) + half * U
            X[:, self.space_axes[i]] = box[i, end]
            N = np.zeros_like(X)
            N[:, self.space_axes[i]] = 2.0 * end - 1.0
            points.append(X)
            normals.append(N)
            parts.append(product_sums(axis_points, resolution, half))
        X = np.concatenate(points)

        def quick(alpha: MultiIndex, u: Array) -> Array:
            return np.concatenate([part(alpha, u) for part in parts], axis=-2)

        def tables(alpha: MultiIndex) -> Array:
            return quick(alpha, np.eye(resolution.functions)[None])

        return Site(None, X[None], tables, quick), np.concatenate(normals)


def _placed_condition(
    r: Residual,
    context: EvolutionContext,
    space_axes: tuple[int, ...],
    axis: int,
    orders: tuple[tuple[int, ...], ...],
) -> tuple[Residual, int, tuple[tuple[int, int], ...]] | None:
    """Return a condition with the unknown it determines and its faces; None if its form is not supported."""
    if not r.derivatives or any(j.alpha[axis] for j in r.derivatives):
        return None
    sides = whole_faces(r, context, space_axes, axis)
    if not sides or any(
        j.alpha[space_axes[i]] >= orders[i][j.unknown] for i, _ in sides for j in r.derivatives
    ):
        return None
    return r, max(r.derivatives, key=lambda j: sum(j.alpha)).unknown, sides


def _counts_at_ends(
    conditions: list[tuple[Residual, int, tuple[tuple[int, int], ...]]], unknowns: int, axes: int
) -> Indices:
    """Return the number of conditions of each unknown at each end of each coordinate, (unknowns, axes, 2)."""
    counts = np.zeros((unknowns, axes, 2), dtype=int)
    for _, k, sides in conditions:
        for i, end in sides:
            counts[k, i, end] += 1
    return counts


def _order_along(equations: list[Residual], axis: int, unknowns: int) -> int:
    """Return the number of conditions a system needs along a coordinate: the degree of its determinant."""
    degrees = np.full((len(equations), unknowns), -1000)
    for e, r in enumerate(equations):
        for j in r.derivatives:
            degrees[e, j.unknown] = max(degrees[e, j.unknown], j.alpha[axis])
    return int(sum(row[k] for row, k in zip(degrees, max_assignment(degrees), strict=False)))


def _is_top(alpha: MultiIndex, axis: int, order: int) -> bool:
    return alpha[axis] == order == sum(alpha) and order > 0


def product_sums(
    axis_points: list[Array], resolution: Resolution, half: Array
) -> Callable[[MultiIndex, Array], Array]:
    """Return a function that evaluates ∂^α of tensor-product sums on a tensor grid, without a full table."""
    known: dict[tuple[int, int], Array] = {}

    def table(i: int, order: int) -> Array:
        if (i, order) not in known:
            known[i, order] = resolution.bases[i].evaluate(axis_points[i], order) / half[i] ** order
        return known[i, order]

    def sums(alpha: MultiIndex, u: Array) -> Array:
        lead, m = u.shape[:-2], u.shape[-1]
        out = u.reshape(-1, *resolution.sizes, m)
        for i, order in enumerate(alpha):
            out = apply_along(table(i, order), out, i + 1)
        return np.asarray(out.reshape(*lead, -1, m))

    return sums
