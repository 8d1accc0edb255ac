"""Level sets {f = 0} as curves in the plane or surfaces in space, by marching simplices and Newton's method.

Sign changes of f are located on a grid, the zeros on its edges by bisection. Points between the zeros are
projected onto the level set along the gradient.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import permutations

import numpy as np
import sympy as sp

from pibls.arrays import Array, Mask, PointFunction
from pibls.errors import ProblemError, ShapeWarning
from pibls.expressions import Coordinate, Expression
from pibls.geometry.faces.arc import Arc
from pibls.geometry.faces.face import Face, bisect
from pibls.geometry.faces.hidden_zeros import UniformGrid, find_hidden_zero
from pibls.geometry.faces.patch import Patch
from pibls.geometry.faces.polyline import Polyline
from pibls.geometry.solid import TriangleSurface
from pibls.runtime.caching import cached_property
from pibls.runtime.deadline import check_deadline
from pibls.runtime.pickling import DropsCaches

_GRID_SIZES = {2: (240, 480, 960, 1920), 3: (44, 88)}  # cells of the grid along each side
_COMPONENT_GRID_SIZE = {2: 64, 3: 24}  # … and of the grid around a component smaller than a cell
_MAX_COMPONENTS = 64
_MARGIN = 0.03  # of the box: how far the grid extends beyond it
_NEWTON_STEPS = 8


class LevelSet(DropsCaches):
    """An expression f and ∇f as functions of points, and {f = 0} as faces of {f < 0}."""

    def __init__(self, expression: Expression, coordinates: tuple[Coordinate, ...], argument: str) -> None:
        self.expression, self.coordinates, self.argument = expression, coordinates, argument
        self.min_gradient = 0.0  # a smaller gradient counts as zero

    @cached_property
    def _f(self) -> PointFunction:
        f: PointFunction = sp.lambdify(self.coordinates, self.expression, modules=["numpy", "scipy"])
        return f

    @cached_property
    def _gradient(self) -> list[PointFunction]:
        real = [
            sp.Dummy(x.name, real=True) for x in self.coordinates
        ]  # otherwise SymPy does not differentiate |x|
        f = self.expression.xreplace(dict(zip(self.coordinates, real, strict=True)))
        return [sp.lambdify(real, sp.diff(f, x), modules=["numpy", "scipy"]) for x in real]

    def value(self, X: Array) -> Array:
        """Return f at points X (n, d); infinity where it is undefined, which is outside."""
        return np.nan_to_num(_evaluated(self._f, X), nan=np.inf)

    def gradient(self, X: Array) -> Array:
        """Return ∇f at points X, (n, d)."""
        return np.column_stack([_evaluated(g, X) for g in self._gradient])

    def normals(self, X: Array) -> Array:
        """Return ∇f/|∇f| at points X, (n, d)."""
        g = self.gradient(X)
        size = np.linalg.norm(g, axis=1, keepdims=True)
        if not np.all(size > self.min_gradient):
            where = X[np.argmin(np.nan_to_num(size[:, 0]))]
            place = ", ".join(f"{c} = {v:.3g}" for c, v in zip(self.coordinates, where, strict=True))
            raise ProblemError(
                self.argument,
                expected="an expression whose gradient is not zero where the expression is zero",
                got=f"{self.expression}, with zero gradient at {place}",
                remedy="Use an expression with a simple zero: x**2 + y**2 - 1, not its square.",
            )
        return np.asarray(g / size)

    def project(self, X: Array, reach: float) -> Array:
        """Return points projected onto f = 0 along the gradient, by steps of at most ``reach``."""
        moved = X.copy()
        for _ in range(_NEWTON_STEPS):
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
        """Return the level set in an enlarged box, on finer grids if a coarse one misses components."""
        d = len(box)
        margin = _MARGIN * (box[:, 1] - box[:, 0])
        enlarged = np.stack([box[:, 0] - margin, box[:, 1] + margin], axis=1)
        for side in _GRID_SIZES[d]:
            check_deadline()
            grid = UniformGrid(enlarged, side)
            values = self.value(grid.nodes)
            typical = np.median(np.abs(values[np.isfinite(values)])) if np.isfinite(values).any() else 0.0
            self.min_gradient = 1e-7 * float(typical) / float((box[:, 1] - box[:, 0]).max())
            found = self._marching_faces(grid, values <= 0, owner)
            for _ in range(_MAX_COMPONENTS):
                check_deadline()
                hidden = find_hidden_zero(self.value, self.gradient, grid, values, _face_points(found, d))
                if hidden is None:
                    return found
                more = self._small_component(*hidden, grid.max_step, owner)
                if not more:
                    break
                found += more
        warnings.warn(
            f"{self.argument}: {self.expression} changes sign twice within {grid.max_step:.2g}; parts of the "
            "boundary were not found. Give tighter bounds, or build the shape from Disk, Polygon, Spline.",
            ShapeWarning,
            stacklevel=2,
        )
        return found

    def _small_component(self, center: Array, size: float, reach: float, owner: object) -> tuple[Face, ...]:
        """Return the faces of a component smaller than ``reach`` around a zero; none if it is larger."""
        half = 1e-3 * size
        while half < 2.0 * reach:
            grid = UniformGrid(
                np.stack([center - half, center + half], axis=1), _COMPONENT_GRID_SIZE[len(center)]
            )
            sign = self.value(grid.nodes) <= 0
            edge = sign[grid.on_boundary]
            if edge.all() or not edge.any():
                return self._marching_faces(grid, sign, owner)
            half *= 2.0
        return ()

    def _marching_faces(self, grid: UniformGrid, sign: Mask, owner: object) -> tuple[Face, ...]:
        if len(grid.box) == 2:
            return tuple(
                Arc(LevelCurve(owner, chain, closed, self, grid.max_step))
                for chain, closed in self._chains(grid, sign)
            )
        triangles = self._triangles(grid, sign)
        return (Patch(LevelSurface(owner, triangles, self, grid.max_step)),) if len(triangles) else ()

    def _zeros(self, nodes: Array, keys: Array) -> Array:
        """Return the zeros of f on edges, encoded as a · n + b with inner node a and outer node b."""
        a, b = nodes[keys // len(nodes)], nodes[keys % len(nodes)]
        return bisect(lambda c: (self.value(c) <= 0)[:, None], a, b)[0]

    def _chains(self, grid: UniformGrid, sign: Mask) -> list[tuple[Array, bool]]:
        nodes, cut = grid.nodes, _crossed_simplices(_simplices(2), grid.side, sign)
        n = len(nodes)
        # The corner of each triangle whose sign differs from the two others.
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
        return [(_thinned(points[c]), closed) for c, closed in _linked_chains(links) if len(c) > 2]

    def _triangles(self, grid: UniformGrid, sign: Mask) -> Array:
        nodes, cut = grid.nodes, _crossed_simplices(_simplices(3), grid.side, sign)
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
    """A polyline through zeros, projected onto the level set."""

    is_nonsmooth_at_knots = False

    def __init__(self, owner: object, points: Array, closed: bool, level: LevelSet, reach: float) -> None:
        middle = len(points) // 2
        g = level.gradient(points[middle : middle + 1])[0]
        along = points[min(middle + 1, len(points) - 1)] - points[middle - 1]
        if along[0] * -g[1] + along[1] * g[0] < 0:  # orient so that {f < 0} is on the left
            points = points[::-1]
        super().__init__(owner, points, closed=closed)
        self._level, self._reach = level, reach
        self.segments = int(min(max(256, 2 * len(points)), 8192))

    def position(self, u: Array) -> Array:
        return self._level.project(super().position(u), self._reach)

    def tangent(self, u: Array) -> Array:
        n = self._level.normals(self.position(u))
        return np.column_stack([-n[:, 1], n[:, 0]])


class LevelSurface(TriangleSurface):
    """Triangles between zeros, projected onto the level set."""

    def __init__(self, owner: object, triangles: Array, level: LevelSet, reach: float) -> None:
        super().__init__(owner, triangles)
        self._level, self._reach = level, reach

    def position(self, U: Array) -> Array:
        return self._level.project(super().position(U), self._reach)

    def normal(self, U: Array) -> Array:
        return self._level.normals(self.position(U))

    def normal_at(self, X: Array) -> Array | None:
        return self._level.normals(X)

    def dense_points(self) -> Array:
        """Return the corners, edge midpoints and centroids of the triangles."""
        T = self._corners
        return np.concatenate(
            [*T.swapaxes(0, 1), *(0.5 * (T + np.roll(T, 1, axis=1))).swapaxes(0, 1), T.mean(axis=1)]
        )

    def touches(self, X: Array, tolerance: Array) -> Mask:
        near = self._level.project(X, self._reach)
        is_close = np.all(np.abs(near - X) <= tolerance, axis=1)
        return np.asarray(is_close & (np.abs(self._level.value(near)) < np.inf))


def _face_points(faces: tuple[Face, ...], d: int) -> Array:
    """Return points of the faces, spaced by less than half a cell of the grid."""
    dense = [
        face.surface.dense_points()
        if isinstance(face, Patch) and isinstance(face.surface, LevelSurface)
        else face.dense_points()
        for face in faces
    ]
    return np.concatenate([np.empty((0, d)), *dense])


def _evaluated(function: Callable[..., Array], X: Array) -> Array:
    with np.errstate(all="ignore"):
        value = np.asarray(function(*X.T))
    value = np.where(np.imag(value) == 0, np.real(value), np.nan) if np.iscomplexobj(value) else value
    return np.broadcast_to(np.asarray(value, dtype=float), (len(X),))


def _simplices(d: int) -> Array:
    """Return the division of a cube into d! simplices, as corner offsets (d!, d + 1, d)."""
    out = []
    for order in permutations(range(d)):
        corner, path = np.zeros(d, dtype=int), [np.zeros(d, dtype=int)]
        for axis in order:
            corner = corner.copy()
            corner[axis] = 1
            path.append(corner)
        out.append(path)
    return np.array(out)


def _crossed_simplices(simplices: Array, side: int, sign: Mask) -> Array:
    """Return the node indices of the simplices of the grid in which the sign changes."""
    d = simplices.shape[2]
    strides = (side + 1) ** np.arange(d - 1, -1, -1)
    first = np.stack(np.meshgrid(*(np.arange(side),) * d, indexing="ij"), axis=-1).reshape(-1, d) @ strides
    found = []
    for offsets in simplices @ strides:
        numbers = first[:, None] + offsets
        inner = sign[numbers].sum(axis=1)
        found.append(numbers[(inner > 0) & (inner <= d)])
    return np.concatenate(found)


def _linked_chains(links: list[list[int]]) -> list[tuple[list[int], bool]]:
    """Return (chain of linked points, is closed); a closed chain ends with its first point."""
    visited = [False] * len(links)
    out = []
    for start in sorted(range(len(links)), key=lambda i: len(links[i])):  # open ends first
        if visited[start]:
            continue
        chain, current = [start], start
        visited[start] = True
        while True:
            unvisited = [i for i in links[current] if not visited[i]]
            if not unvisited:
                break
            current = unvisited[0]
            visited[current] = True
            chain.append(current)
        closed = len(chain) > 2 and start in links[current]
        out.append(([*chain, start] if closed else chain, closed))
    return out


def _thinned(points: Array) -> Array:
    """Return the points without those that nearly coincide with their neighbour."""
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    keep = np.concatenate([[True], steps > 0.05 * steps.mean()])
    keep[-1] = True
    kept = points[keep]
    if len(kept) > 2 and np.linalg.norm(kept[-1] - kept[-2]) <= 0.05 * steps.mean():
        kept = np.concatenate([kept[:-2], kept[-1:]])
    return np.asarray(kept)
