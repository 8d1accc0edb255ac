"""{f = 0}: a level set as curves in the plane or a surface in space, found on a grid, made exact by Newton.

The grid finds where f changes its sign; along each of its edges the zero is found by bisection; what lies
between two zeros is put onto the level set along the gradient.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import sympy as sp

from pibls.arrays import Array, Mask
from pibls.caching import cached_property
from pibls.deadline import check_deadline
from pibls.errors import ProblemError, ShapeWarning
from pibls.geometry.faces.arc import Arc
from pibls.geometry.faces.face import Face, bisected
from pibls.geometry.faces.finer import Sieve, unseen
from pibls.geometry.faces.patch import Patch
from pibls.geometry.faces.polyline import Polyline
from pibls.geometry.mesh import Triangles
from pibls.pickling import DropsCaches

_SIDES = {2: (240, 480, 960, 1920), 3: (44, 88)}  # cells of the grid along each side
_ISLAND_SIDE = {2: 64, 3: 24}  # … and of one around what is smaller than they
_ISLANDS = 64
_MARGIN = 0.03  # how far the grid goes beyond the box
_NEWTON = 8


class Level(DropsCaches):
    """f and ∇f as functions of points; {f = 0} as faces of {f < 0}."""

    def __init__(self, expression: Any, coordinates: tuple[Any, ...], argument: str) -> None:
        self.expression, self.coordinates, self.argument = expression, coordinates, argument
        self.steep = 0.0  # what counts as a gradient

    @cached_property
    def _f(self) -> Any:
        return sp.lambdify(self.coordinates, self.expression, modules=["numpy", "scipy"])

    @cached_property
    def _gradient(self) -> list[Any]:
        real = [sp.Dummy(x.name, real=True) for x in self.coordinates]  # else |x| has no derivative
        f = self.expression.xreplace(dict(zip(self.coordinates, real, strict=True)))
        return [sp.lambdify(real, sp.diff(f, x), modules=["numpy", "scipy"]) for x in real]

    def value(self, X: Array) -> Array:
        """f at points; where it has no value, outside."""
        return np.nan_to_num(_called(self._f, X), nan=np.inf)

    def gradient(self, X: Array) -> Array:
        """∇f, (n, d)."""
        return np.column_stack([_called(g, X) for g in self._gradient])

    def normals(self, X: Array) -> Array:
        """∇f/|∇f|."""
        g = self.gradient(X)
        size = np.linalg.norm(g, axis=1, keepdims=True)
        if not np.all(size > self.steep):
            where = X[np.argmin(np.nan_to_num(size[:, 0]))]
            place = ", ".join(f"{c} = {v:.3g}" for c, v in zip(self.coordinates, where, strict=True))
            raise ProblemError(
                self.argument,
                expected="an expression with a gradient where it is zero",
                got=f"{self.expression}, without one at {place}",
                remedy="Use an expression that crosses zero with a slope: x**2 + y**2 - 1, not its square.",
            )
        return np.asarray(g / size)

    def onto(self, X: Array, reach: float) -> Array:
        """The points moved onto f = 0, along the gradient and not further than ``reach``."""
        moved = X.copy()
        for _ in range(_NEWTON):
            g = self.gradient(moved)
            size = (g**2).sum(axis=1)
            with np.errstate(all="ignore"):
                step = np.where(size > 0, self.value(moved) / size, 0.0)[:, None] * g
            step = np.nan_to_num(step, posinf=0.0, neginf=0.0)
            length = np.linalg.norm(step, axis=1, keepdims=True)
            moved -= step * np.minimum(1.0, reach / np.maximum(length, 1e-300))
            if length.max(initial=0.0) <= 1e-12 * reach:
                break
        good = np.linalg.norm(moved - X, axis=1) <= 2 * reach
        return np.asarray(np.where(good[:, None], moved, X))

    def faces(self, box: Array, owner: object) -> tuple[Face, ...]:
        """The level set in a box and a little beyond; by a finer grid where it slips through a coarse one."""
        d = len(box)
        margin = _MARGIN * (box[:, 1] - box[:, 0])
        around = np.stack([box[:, 0] - margin, box[:, 1] + margin], axis=1)
        for side in _SIDES[d]:
            check_deadline()
            grid = Sieve(around, side)
            values = self.value(grid.nodes)
            usual = np.median(np.abs(values[np.isfinite(values)])) if np.isfinite(values).any() else 0.0
            self.steep = 1e-7 * float(usual) / float((box[:, 1] - box[:, 0]).max())
            found = self._marched(grid, values <= 0, owner)
            for _ in range(_ISLANDS):
                check_deadline()
                hidden = unseen(self.value, self.gradient, grid, values, _known(found, d))
                if hidden is None:
                    return found
                more = self._island(*hidden, grid.reach, owner)
                if not more:
                    break
                found += more
        warnings.warn(
            f"{self.argument}: {self.expression} changes its sign twice within {grid.reach:.2g}: not all of "
            "it is found. Take tighter bounds, or build the shape of Disk, Polygon, Spline.",
            ShapeWarning,
            stacklevel=2,
        )
        return found

    def _island(self, near: Array, size: float, reach: float, owner: object) -> tuple[Face, ...]:
        """What is smaller than ``reach`` around a zero; nothing where it goes on beyond."""
        half = 1e-3 * size
        while half < 2.0 * reach:
            grid = Sieve(np.stack([near - half, near + half], axis=1), _ISLAND_SIDE[len(near)])
            sign = self.value(grid.nodes) <= 0
            rim = sign[grid.rim]
            if rim.all() or not rim.any():
                return self._marched(grid, sign, owner)
            half *= 2.0
        return ()

    def _marched(self, grid: Sieve, sign: Mask, owner: object) -> tuple[Face, ...]:
        if len(grid.around) == 2:
            return tuple(
                Arc(LevelCurve(owner, chain, closed, self, grid.reach))
                for chain, closed in self._chains(grid, sign)
            )
        triangles = self._triangles(grid, sign)
        return (Patch(LevelTriangles(owner, triangles, self, grid.reach)),) if len(triangles) else ()

    def _zeros(self, nodes: Array, keys: Array) -> Array:
        """Where f is zero on edges, each given as a · n + b with its inner end a and its outer end b."""
        a, b = nodes[keys // len(nodes)], nodes[keys % len(nodes)]
        return bisected(lambda c: (self.value(c) <= 0)[:, None], a, b)[0]

    def _chains(self, grid: Sieve, sign: Mask) -> list[tuple[Array, bool]]:
        nodes, cut = grid.nodes, _cut(_simplices(2), grid.side, sign)
        n = len(nodes)
        # In each triangle the one corner that differs from the two others.
        odd = np.where(sign[cut].sum(axis=1) == 1, sign[cut].argmax(axis=1), (~sign[cut]).argmax(axis=1))
        rows = np.arange(len(cut))
        apex, others = cut[rows, odd], [cut[rows, (odd + k) % 3] for k in (1, 2)]
        ends = [np.where(sign[apex], apex * n + o, o * n + apex) for o in others]
        keys, index = np.unique(np.concatenate(ends), return_inverse=True)
        points = self._zeros(nodes, keys) if len(keys) else np.empty((0, 2))
        links: list[list[int]] = [[] for _ in keys]
        for p, q in index.reshape(2, -1).T.tolist():
            links[p].append(q)
            links[q].append(p)
        return [(_thinned(points[c]), closed) for c, closed in _followed(links) if len(c) > 2]

    def _triangles(self, grid: Sieve, sign: Mask) -> Array:
        nodes, cut = grid.nodes, _cut(_simplices(3), grid.side, sign)
        n, out = len(nodes), []
        inner = sign[cut].sum(axis=1)
        for count in (1, 2, 3):
            tets = cut[inner == count]
            order = np.argsort(~sign[tets], axis=1, kind="stable")  # inner corners first
            t = np.take_along_axis(tets, order, axis=1)
            edges = {
                1: [((0, 1), (0, 2), (0, 3))],
                2: [((0, 2), (0, 3), (1, 2)), ((1, 2), (0, 3), (1, 3))],
                3: [((0, 3), (1, 3), (2, 3))],
            }[count]
            out += [np.stack([t[:, a] * n + t[:, b] for a, b in tri], axis=1) for tri in edges]
        keys = np.concatenate(out)
        if not len(keys):
            return np.empty((0, 3, 3))
        different, index = np.unique(keys, return_inverse=True)
        T = self._zeros(nodes, different)[index.reshape(-1, 3)]
        area = np.linalg.norm(np.cross(T[:, 1] - T[:, 0], T[:, 2] - T[:, 0]), axis=1)
        return np.asarray(T[area > 1e-9 * area.max()])


class LevelCurve(Polyline):
    """A chain of zeros, and between them the level set."""

    broken = False

    def __init__(self, owner: object, points: Array, closed: bool, level: Level, reach: float) -> None:
        middle = len(points) // 2
        g = level.gradient(points[middle : middle + 1])[0]
        along = points[min(middle + 1, len(points) - 1)] - points[middle - 1]
        if along[0] * -g[1] + along[1] * g[0] < 0:  # {f < 0} is to be on the left
            points = points[::-1]
        super().__init__(owner, points, closed=closed)
        self._level, self._reach = level, reach
        self.pieces = int(min(max(256, 2 * len(points)), 8192))

    def position(self, u: Array) -> Array:
        return self._level.onto(super().position(u), self._reach)

    def tangent(self, u: Array) -> Array:
        n = self._level.normals(self.position(u))
        return np.column_stack([-n[:, 1], n[:, 0]])


class LevelTriangles(Triangles):
    """Triangles of zeros, and between them the level set."""

    def __init__(self, owner: object, triangles: Array, level: Level, reach: float) -> None:
        super().__init__(owner, triangles)
        self._level, self._reach = level, reach

    def position(self, U: Array) -> Array:
        return self._level.onto(super().position(U), self._reach)

    def normal(self, U: Array) -> Array:
        return self._level.normals(self.position(U))

    def normal_at(self, X: Array) -> Array | None:
        return self._level.normals(X)

    def dense(self) -> Array:
        """Corners, middles of edges and of triangles."""
        T = self._corners
        return np.concatenate(
            [*T.swapaxes(0, 1), *(0.5 * (T + np.roll(T, 1, axis=1))).swapaxes(0, 1), T.mean(axis=1)]
        )

    def on(self, X: Array, tolerance: Array) -> Any:
        near = self._level.onto(X, self._reach)
        return np.all(np.abs(near - X) <= tolerance, axis=1) & (np.abs(self._level.value(near)) < np.inf)


def _known(faces: tuple[Face, ...], d: int) -> Array:
    """Points of faces that stand closer than half a cell of their grid."""
    dense = [
        face.surface.dense()
        if isinstance(face, Patch) and isinstance(face.surface, LevelTriangles)
        else face.dense()
        for face in faces
    ]
    return np.concatenate([np.empty((0, d)), *dense])


def _called(function: Callable[..., Any], X: Array) -> Array:
    with np.errstate(all="ignore"):
        value = np.asarray(function(*X.T))
    value = np.where(np.imag(value) == 0, np.real(value), np.nan) if np.iscomplexobj(value) else value
    return np.broadcast_to(np.asarray(value, dtype=float), (len(X),))


def _simplices(d: int) -> Array:
    """A cube in d! simplices, as offsets of corners, (d!, d + 1, d)."""
    out = []
    for order in permutations(range(d)):
        corner, path = np.zeros(d, dtype=int), [np.zeros(d, dtype=int)]
        for axis in order:
            corner = corner.copy()
            corner[axis] = 1
            path.append(corner)
        out.append(path)
    return np.array(out)


def _cut(simplices: Array, side: int, sign: Mask) -> Array:
    """The simplices of the grid, by their node numbers, in which the sign changes."""
    d = simplices.shape[2]
    strides = (side + 1) ** np.arange(d - 1, -1, -1)
    first = np.stack(np.meshgrid(*(np.arange(side),) * d, indexing="ij"), axis=-1).reshape(-1, d) @ strides
    found = []
    for offsets in simplices @ strides:
        numbers = first[:, None] + offsets
        inner = sign[numbers].sum(axis=1)
        found.append(numbers[(inner > 0) & (inner <= d)])
    return np.concatenate(found)


def _followed(links: list[list[int]]) -> list[tuple[list[int], bool]]:
    """Chains of linked points; a closed one ends where it begins."""
    seen = [False] * len(links)
    out = []
    for start in sorted(range(len(links)), key=lambda i: len(links[i])):  # open ends first
        if seen[start]:
            continue
        chain, here = [start], start
        seen[start] = True
        while True:
            further = [i for i in links[here] if not seen[i]]
            if not further:
                break
            here = further[0]
            seen[here] = True
            chain.append(here)
        closed = len(chain) > 2 and start in links[here]
        out.append(([*chain, start] if closed else chain, closed))
    return out


def _thinned(points: Array) -> Array:
    """Without points that are almost the same as their neighbour."""
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    keep = np.concatenate([[True], steps > 0.05 * steps.mean()])
    keep[-1] = True
    kept = points[keep]
    if len(kept) > 2 and np.linalg.norm(kept[-1] - kept[-2]) <= 0.05 * steps.mean():
        kept = np.concatenate([kept[:-2], kept[-1:]])
    return np.asarray(kept)
