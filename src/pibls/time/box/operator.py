r"""Collocation in space, u(x, t) = Σ c_i(t) f_i(x): functions, points and equations of an evolution on a box.

On an interval: a chain of cells with polynomials or, for periodic solutions, Fourier modes without cells.
On rectangles and boxes: one cell with products of polynomials or Fourier modes along the coordinates, each
of which may be divided into intervals (splines). `CollocationOperator.of` decides whether an evolution can
be collocated: it needs as many equations as unknowns, and as many boundary conditions as its order.
Integral conditions are possible. A second system, at points between those of the collocation, serves to
check residuals.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from pibls.analysis.evolution import Evolution, max_assignment
from pibls.arrays import Array, Indices, MultiIndex
from pibls.assembly.evolutions.fourier_modes import FourierModes
from pibls.assembly.evolutions.semidiscrete import (
    SemidiscreteStatement,
    SemidiscreteSystem,
    Site,
    semidiscrete_statement,
)
from pibls.basis.polynomials.product import ProductBasis
from pibls.geometry import fills_box
from pibls.geometry.integrals.gauss import QuadratureRule
from pibls.problem.forms.compilation import Residual
from pibls.runtime.caching import cached_property
from pibls.spaces import CellSpace, SingleDomainSpace, TensorGridSpace
from pibls.time.box.boundary_points import boundary_sites, face_points
from pibls.time.box.continuity import continuity_conditions
from pibls.time.box.face_conditions import FaceConditions, product_sums
from pibls.time.box.resolution import Resolution, fourier_sums, shared_tables, tensor_values
from pibls.time.context import EvolutionContext
from pibls.time.data_monitor import data_histories
from pibls.time.thresholds import TIME_STEPPING

_EXTRA_NODES = 8  # quadrature nodes beyond the number of functions of a cell
_MAX_CACHED_GRIDS = 12


@dataclass(frozen=True)
class CollocationOperator:
    """Builds the semidiscrete system of an evolution at a given spatial resolution."""

    context: EvolutionContext
    conditions: tuple[tuple[Residual, Array, Array], ...]
    """Boundary conditions on an interval, with points (N, d) and normals."""
    periodic_conditions: tuple[Residual, ...]
    integral_conditions: tuple[Residual, ...]
    """Conditions on integrals over space, at every time."""
    orders: tuple[tuple[int, ...], ...]
    """Highest derivative of each unknown along each coordinate of space."""
    matched_unknowns: tuple[int, ...]
    """For each equation the unknown it determines."""
    _grids: dict[tuple[Resolution, tuple[int, ...]], Site] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def evolution(self) -> Evolution:
        found = self.context.evolution
        assert found is not None
        return found

    @property
    def axis(self) -> int:
        return self.evolution.axis

    @cached_property
    def space_axes(self) -> tuple[int, ...]:
        """Indices of the coordinates of space."""
        return tuple(i for i in range(self.context.compiled.dimension) if i != self.axis)

    @cached_property
    def equations(self) -> tuple[Residual, ...]:
        return tuple(r for r in self.context.compiled.residuals if r.region.is_interior)

    @cached_property
    def periodic(self) -> tuple[bool, ...]:
        """Along which coordinates of space all unknowns are periodic with all their derivatives."""
        unknowns = self.context.compiled.unknowns
        out = []
        for i, axis in enumerate(self.space_axes):
            counts = [0] * unknowns
            for r in self.periodic_conditions:
                if r.region.periodic_axis == axis:
                    counts[r.linear[0].unknown] += 1
            planes = any(a == axis for a, _ in self.context.compiled.interfaces.planes)
            is_periodic = all(counts[k] >= max(self.orders[i][k], 1) for k in range(unknowns))
            out.append(is_periodic and not planes)
        return tuple(out)

    @cached_property
    def face_conditions(self) -> FaceConditions | None:
        """Conditions on whole faces of a box; None if some condition holds elsewhere."""
        if len(self.space_axes) == 1 or all(self.periodic):
            return None
        conditions = tuple(r for r, _, _ in self.conditions)
        return FaceConditions.of(
            self.context,
            self.space_axes,
            self.axis,
            self.orders,
            self.matched_unknowns,
            self.periodic,
            conditions,
        )

    @property
    def is_separable(self) -> bool:
        """Whether the system is solved along each coordinate, without a matrix of all functions."""
        is_fourier = all(self.periodic) and self._are_point_values(r for r, _, _ in self.conditions)
        return len(self.space_axes) > 1 and (is_fourier or self.face_conditions is not None)

    @classmethod
    def of(cls, context: EvolutionContext) -> CollocationOperator | None:
        """Return the operator of a problem; None if this method cannot discretize it."""
        e, compiled = context.evolution, context.compiled
        if e is None or compiled.dimension not in (2, 3, 4) or not fills_box(context.domain):
            return None
        inside = [r for r in compiled.residuals if r.region.is_interior]
        if len(inside) != compiled.unknowns:
            return None
        space_axes = [i for i in range(compiled.dimension) if i != e.axis]
        sorted_conditions = _sorted_conditions(context, e, space_axes)
        if sorted_conditions is None:
            return None
        orders = _spatial_orders(inside, space_axes, compiled.unknowns)
        made = cls(context, *sorted_conditions, orders, _match_unknowns(inside, e.axis, compiled.unknowns))
        return made if made._is_supported else None

    @property
    def _is_supported(self) -> bool:
        """Whether the conditions close the system, and there is a method for its dimension."""
        if len(self.space_axes) == 1:
            return self._condition_count == sum(self.orders[0])
        if self.context.compiled.interfaces.planes:
            return False
        all_periodic = all(
            self.periodic[self.space_axes.index(r.region.periodic_axis or 0)]
            for r in self.periodic_conditions
        )
        return all_periodic and (len(self.space_axes) < 3 or self.face_conditions is not None)

    @property
    def _condition_count(self) -> int:
        """Number of conditions at the ends of an interval."""
        return (
            sum(len(X) for _, X, _ in self.conditions)
            + sum(self.orders[0][r.linear[0].unknown] > 0 for r in self.periodic_conditions)
            + len({r.name for r in self.integral_conditions})
        )

    def basis(
        self, box: Array, sizes: tuple[int, ...], time_functions: int, periodic: tuple[bool, ...]
    ) -> ProductBasis:
        """Return the functions in space and time over a box (d, 2)."""
        counts = dict(zip(self.space_axes, sizes, strict=True)) | {self.axis: time_functions}
        waves_along = tuple(a for a, yes in zip(self.space_axes, periodic, strict=True) if yes)
        half = 0.5 * (box[:, 1] - box[:, 0])
        return ProductBasis(tuple(counts[i] for i in range(len(box))), waves_along, box.mean(axis=1), half)

    def space(
        self, resolution: Resolution, low: float, high: float, time_functions: int
    ) -> SingleDomainSpace | CellSpace:
        """Return the space of a window, with one or several cells."""
        tree = resolution.tree.with_extent(self.axis, low, high)
        unknowns = self.context.compiled.unknowns
        parts = tuple(
            SingleDomainSpace.shared(
                self.basis(box, resolution.sizes, time_functions, resolution.periodic), unknowns
            )
            for box in tree.boxes
        )
        return parts[0] if len(parts) == 1 else CellSpace(tree, parts)

    def tensor_grid(
        self, resolution: Resolution, low: float, high: float, time_functions: int
    ) -> TensorGridSpace:
        """Return the space of a window whose only cell is divided along its coordinates."""
        d = len(self.space_axes) + 1
        edges: list[tuple[float, ...]] = [(low, high)] * d
        sizes = [time_functions] * d
        for axis, basis in zip(self.space_axes, resolution.bases, strict=True):
            first, last = self.context.box[axis]
            inner = (0.5 * (first + last + (last - first) * s) for s in basis.edges[1:-1])
            edges[axis] = tuple(float(x) for x in (first, *inner, last))
            sizes[axis] = basis.functions_per_interval
        return TensorGridSpace(tuple(edges), tuple(sizes), self.context.compiled.unknowns)

    def grid(self, resolution: Resolution, counts: tuple[int, ...]) -> Site:
        """Return collocation points inside every cell, ``counts`` along each coordinate."""
        if (resolution, counts) not in self._grids:
            if len(self._grids) > _MAX_CACHED_GRIDS:
                self._grids.clear()
            nodes = [s.nodes(n) for s, n in zip(resolution.bases, counts, strict=True)]
            self._grids[resolution, counts] = self._grid(resolution, nodes)
        return self._grids[resolution, counts]

    def _grid(self, resolution: Resolution, nodes: list[Array]) -> Site:
        counts = tuple(map(len, nodes))
        U = np.stack(np.meshgrid(*nodes, indexing="ij"), -1).reshape(-1, len(nodes))
        boxes = resolution.tree.boxes[:, self.space_axes, :]
        half = 0.5 * (boxes[:, :, 1] - boxes[:, :, 0])
        X = np.zeros((len(boxes), len(U), self.context.compiled.dimension))
        X[:, :, self.space_axes] = boxes.mean(axis=2)[:, None, :] + half[:, None, :] * U
        quick = (
            fourier_sums(resolution, counts, half)
            if len(nodes) == 1
            else product_sums(nodes, resolution, half[0])
        )
        return Site(None, X, shared_tables(U, resolution, half), quick)

    def values(self, coefficients: Array, old: Resolution, new: Resolution) -> Array:
        """Evaluate functions (…, n) in a single cell at the nodes of another resolution, (…, points)."""
        nodes = [s.nodes(s.broken_size) for s in new.bases]
        plain = product_sums(nodes, old, np.ones(len(nodes)))
        return plain((0,) * len(nodes), coefficients[..., None])[..., 0]

    def point_site(self, X: Array, cells: Indices, resolution: Resolution) -> Site:
        """Return single points X (N, d), each evaluated in its cell."""
        boxes = resolution.tree.boxes[cells][:, self.space_axes, :]
        half = 0.5 * (boxes[:, :, 1] - boxes[:, :, 0])
        U = (X[:, self.space_axes] - boxes.mean(axis=2)) / half
        if len(resolution.tree) == 1:
            return Site(None, X[None], shared_tables(U, resolution, half[:1]))
        known: dict[MultiIndex, Array] = {}

        def tables(alpha: MultiIndex) -> Array:
            if alpha not in known:
                scale = np.prod(half ** -np.array(alpha, dtype=float), axis=1)
                known[alpha] = (scale[:, None] * tensor_values(U, resolution, alpha))[:, None, :]
            return known[alpha]

        return Site(cells, X[:, None, :], tables)

    def system(self, resolution: Resolution) -> SemidiscreteSystem:
        """Return the semidiscrete system of equations, conditions and continuity."""
        if self.face_conditions is not None:
            return self._tensor_system(self.face_conditions, resolution)
        square = len(self.space_axes) == 1 or self._is_square(resolution)
        groups = [self._equation(i, r, resolution, square) for i, r in enumerate(self.equations)]
        for r, X, normals in self.conditions:
            if len(self.space_axes) > 1:
                X, normals = self._face_points(r, resolution, square)
            site = self.point_site(X, resolution.tree.locate(X), resolution)
            groups.append(semidiscrete_statement(r, (site,), normals, self.axis))
        for r in self.periodic_conditions:
            along = self.space_axes.index(r.region.periodic_axis or 0)
            if not resolution.periodic[along] and self.orders[along][r.linear[0].unknown]:
                groups.append(self._periodic_condition(r, self.space_axes[along], resolution))
        groups += continuity_conditions(self, resolution)
        kept = tuple(g for g in groups if g.terms) + tuple(
            self._integral_condition(r, resolution) for r in self.integral_conditions
        )
        return SemidiscreteSystem(
            len(resolution.tree),
            self.context.compiled.unknowns,
            resolution.functions,
            kept,
            max(self.evolution.orders),
            self._fourier_modes(resolution, len(kept)),
        )

    def _periodic_condition(self, r: Residual, axis: int, resolution: Resolution) -> SemidiscreteStatement:
        """Return a condition that relates the first and the last cell of an interval."""
        zero = np.zeros((1, self.context.compiled.dimension))
        sites = []
        for end, cell in zip(resolution.tree.box[axis], (0, len(resolution.tree) - 1), strict=True):
            X = zero.copy()
            X[:, axis] = end
            sites.append(self.point_site(X, np.array([cell]), resolution))
        return semidiscrete_statement(r, tuple(sites), zero, self.axis)

    def _fourier_modes(self, resolution: Resolution, statements: int) -> FourierModes | None:
        """Return the Fourier modes if so many statements hold for each of them separately."""
        point_values = self.conditions if self._are_point_values(r for r, _, _ in self.conditions) else ()
        if (
            not all(resolution.periodic)
            or len(resolution.tree) > 1
            or statements != len(self.equations) + len(point_values)
        ):
            return None
        return FourierModes(resolution.sizes, 0.5 * np.ptp(self.context.box[list(self.space_axes)], axis=1))

    def _are_point_values(self, conditions: Iterable[Residual]) -> bool:
        """Whether the conditions fix values at one point of unknowns without time derivative."""
        given = []
        for r in conditions:
            if len(r.derivatives) != 1 or r.nonlinear or any(r.derivatives[0].alpha):
                return False
            if (
                not len(r.region.isolated_points(self.context.domain))
                or self.evolution.orders[r.derivatives[0].unknown]
            ):
                return False
            given.append(r.derivatives[0].unknown)
        return len(given) == len(set(given))

    def _tensor_system(self, face_conditions: FaceConditions, resolution: Resolution) -> SemidiscreteSystem:
        groups = []
        sites: dict[tuple[int, ...], Site] = {}
        for number, r in enumerate(self.equations):
            points = face_conditions.collocation_points(number, resolution)
            counts = tuple(map(len, points))  # equations with equal counts share their points
            site = sites.setdefault(counts, self._grid(resolution, points))
            groups.append(semidiscrete_statement(r, (site,), np.zeros_like(site.points), self.axis))
        for number, (r, _, _) in enumerate(face_conditions.conditions):
            site, normals = face_conditions.face_site(number, resolution)
            groups.append(semidiscrete_statement(r, (site,), normals, self.axis))
        extent = 1, self.context.compiled.unknowns, resolution.functions
        return SemidiscreteSystem(
            *extent, tuple(groups), max(self.evolution.orders), layout=face_conditions.frame(resolution)
        )

    def check_system(self, resolution: Resolution) -> SemidiscreteSystem:
        """Return the equations alone, at points other than the collocation points."""
        site = self.grid(resolution, resolution.check_sizes)
        sites = [site, *self._unseen_data_sites(resolution)]
        groups = tuple(
            semidiscrete_statement(r, (s,), np.zeros_like(s.points), self.axis)
            for s in sites
            for r in self.equations
        )
        return SemidiscreteSystem(
            len(resolution.tree),
            self.context.compiled.unknowns,
            resolution.functions,
            groups,
            max(self.evolution.orders),
        )

    def _unseen_data_sites(self, resolution: Resolution) -> list[Site]:
        """In each cell of an interval, the point where the data differ most from their interpolant."""
        if len(self.space_axes) > 1 or not len(self._data_profiles[1]):
            return []
        axis, (x, profiles) = self.space_axes[0], self._data_profiles
        seen = np.sort(self.grid(resolution, resolution.raw_sizes).points[:, :, axis].ravel())
        difference = np.zeros(len(x))
        for profile in profiles:
            difference = np.maximum(
                difference, np.abs(profile - np.interp(x, seen, np.interp(seen, x, profile)))
            )
        X = np.zeros((len(resolution.tree), self.context.compiled.dimension))
        X[:, axis] = resolution.tree.boxes[:, axis].mean(axis=1)
        order = np.argsort(difference)  # the largest difference in a cell is assigned last
        Y = np.zeros((len(x), X.shape[1]))
        Y[:, axis] = x
        X[resolution.tree.locate(Y)[order], axis] = x[order]
        return [self.point_site(X, np.arange(len(X)), resolution)]

    @cached_property
    def _data_profiles(self) -> tuple[Array, Array]:
        """Points on an interval, and the data of the equations there, scaled to maximum 1."""
        axis, (low, high) = self.space_axes[0], self.context.box[self.space_axes[0]]
        x = low + (high - low) * (np.arange(TIME_STEPPING.scan_points) + 0.5) / TIME_STEPPING.scan_points
        profiles = np.concatenate([data_histories(r, self.context, axis, x) for r in self.equations])
        profiles = np.unique(np.where(np.isfinite(profiles), profiles, 0.0), axis=0)
        size = np.abs(profiles).max(axis=1)
        changing = np.ptp(profiles, axis=1) > 1e-12 * size
        return x, profiles[changing] / size[changing, None]

    def _equation(
        self, number: int, residual: Residual, resolution: Resolution, square: bool
    ) -> SemidiscreteStatement:
        site = self.grid(resolution, self._counts(number, resolution) if square else resolution.sizes)
        return semidiscrete_statement(residual, (site,), np.zeros_like(site.points), self.axis)

    def _integral_condition(self, residual: Residual, resolution: Resolution) -> SemidiscreteStatement:
        """Return a condition on an integral, with a quadrature rule in each cell."""
        rules = [
            residual.region.cell_rule(
                self.context.domain, box[list(self.space_axes)], resolution.functions + _EXTRA_NODES
            )
            for box in resolution.tree.boxes
        ]
        counts = [len(rule.weights) for rule in rules]
        joined = QuadratureRule.concatenated(rules, len(self.space_axes))
        X, normals = (np.insert(A, self.axis, 0.0, axis=1) for A in (joined.points, joined.normals))
        site = self.point_site(X, np.repeat(np.arange(len(rules)), counts), resolution)
        return replace(semidiscrete_statement(residual, (site,), normals, self.axis), weights=joined.weights)

    def _face_points(self, r: Residual, resolution: Resolution, square: bool) -> tuple[Array, Array]:
        return face_points(r.region, self.context, self.orders, self.space_axes, resolution, square)

    def _is_square(self, resolution: Resolution) -> bool:
        """Whether the system on a rectangle has as many rows as functions."""
        rows = sum(int(np.prod(self._counts(i, resolution))) for i in range(len(self.equations)))
        rows += sum(len(self._face_points(r, resolution, True)[0]) for r, _, _ in self.conditions)
        return bool(rows == resolution.functions * self.context.compiled.unknowns)

    def _counts(self, number: int, resolution: Resolution) -> tuple[int, ...]:
        """Return the number of collocation points along each coordinate that makes the system square."""
        k = self.matched_unknowns[number]
        less = [0 if yes else self.orders[i][k] for i, yes in enumerate(resolution.periodic)]
        return tuple(n - m for n, m in zip(resolution.sizes, less, strict=True))


def _sorted_conditions(
    context: EvolutionContext, e: Evolution, space_axes: list[int]
) -> tuple[tuple[tuple[Residual, Array, Array], ...], tuple[Residual, ...], tuple[Residual, ...]] | None:
    """Return the conditions at points, the periodic and the integral ones; None if one is not supported."""
    at_points, periodic, integral = [], [], []
    for i, r in enumerate(context.compiled.residuals):
        if r.region.is_interior or (i in e.initial_conditions and e.is_given_by(r)):
            continue
        if i in e.initial_conditions or any(j.alpha[e.axis] > e.orders[j.unknown] for j in r.derivatives):
            return None
        if r.region.periodic_axis is not None:
            periodic.append(r)
        elif r.region.is_integral:
            if len(space_axes) > 1:
                return None
            integral.append(r)
        else:
            found = boundary_sites(r.region, context, space_axes)
            if found is None:
                return None
            at_points.append((r, *found))
    return tuple(at_points), tuple(periodic), tuple(integral)


def _spatial_orders(
    equations: list[Residual], space_axes: list[int], unknowns: int
) -> tuple[tuple[int, ...], ...]:
    """Return the highest derivative of each unknown along each coordinate of space."""
    return tuple(
        tuple(
            max((j.alpha[a] for r in equations for j in r.derivatives if j.unknown == k), default=0)
            for k in range(unknowns)
        )
        for a in space_axes
    )


def _match_unknowns(inside: list[Residual], axis: int, unknowns: int) -> tuple[int, ...]:
    """Match each equation to the unknown whose time derivative, or else highest derivative, it contains."""
    gain = np.zeros((len(inside), unknowns))
    for e, r in enumerate(inside):
        for j in r.derivatives:
            gain[e, j.unknown] = max(gain[e, j.unknown], 1.0 + 100.0 * j.alpha[axis] + sum(j.alpha))
    return max_assignment(gain)
