r"""u(x, t) = Σ c_i(t) f_i(x) in each cell: the points and functions of an evolution in space.

On a line a chain of cells with polynomials, or, where the solution repeats itself, waves with whole
wavenumbers and no cells; in the plane one piece, polynomials or waves along each coordinate.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from pibls.adaptive.evolution import Evolution, assigned
from pibls.adaptive.evolutions.continuity import ties_in
from pibls.adaptive.evolutions.data_monitor import courses_of
from pibls.adaptive.evolutions.frames import Framed, product_sums
from pibls.adaptive.evolutions.resolution import Resolution, product_of, quick_sums, shared_tables
from pibls.adaptive.evolutions.sides import ends_of, side_points
from pibls.adaptive.thresholds import BENCH
from pibls.adaptive.validation.context import Bench
from pibls.arrays import Array, MultiIndex, Numbers
from pibls.assembly.evolutions.lines import Lines, LineStatement, Site, group_of
from pibls.assembly.evolutions.modes import Modes
from pibls.basis.polynomials.product import ProductBasis
from pibls.caching import cached_property
from pibls.geometry.integrals.gauss import Rule
from pibls.problem.forms.lowering import Residual
from pibls.spaces import Cells, Lattice, Whole

_SPARE = 8  # nodes of a rule beyond the functions of a cell
_KEPT = 12  # grids whose tables are kept


@dataclass(frozen=True)
class Places:
    """Turns an evolution and a resolution into rows; where it cannot, it is not `fitting`."""

    bench: Bench
    conditions: tuple[tuple[Residual, Array, Array], ...]
    """Those at the ends: points (N, d) and normals."""
    periods: tuple[Residual, ...]
    sums: tuple[Residual, ...]
    """Integrals over space at every time."""
    orders: tuple[tuple[int, ...], ...]
    """The highest derivative of each unknown along each coordinate of space."""
    partner: tuple[int, ...]
    """For each equation the unknown that it determines."""
    _grids: dict[tuple[Resolution, tuple[int, ...]], Site] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def evolution(self) -> Evolution:
        found = self.bench.evolution
        assert found is not None
        return found

    @property
    def axis(self) -> int:
        return self.evolution.axis

    @cached_property
    def free(self) -> tuple[int, ...]:
        """The coordinates of space."""
        return tuple(i for i in range(self.bench.lowered.dimension) if i != self.axis)

    @cached_property
    def equations(self) -> tuple[Residual, ...]:
        return tuple(r for r in self.bench.lowered.residuals if r.region.is_inside)

    @cached_property
    def repeated(self) -> tuple[bool, ...]:
        """Along which coordinates every unknown repeats itself with all its derivatives."""
        unknowns = self.bench.lowered.unknowns
        out = []
        for i, axis in enumerate(self.free):
            counts = [0] * unknowns
            for r in self.periods:
                if r.region.period == axis:
                    counts[r.linear[0].unknown] += 1
            planes = any(a == axis for a, _ in self.bench.lowered.interfaces.planes)
            whole = all(counts[k] >= max(self.orders[i][k], 1) for k in range(unknowns))
            out.append(whole and not planes)
        return tuple(out)

    @cached_property
    def framed(self) -> Framed | None:
        """Where conditions hold on whole sides of a box."""
        if len(self.free) == 1 or all(self.repeated):
            return None
        conditions = tuple(r for r, _, _ in self.conditions)
        return Framed.of(
            self.bench, self.free, self.axis, self.orders, self.partner, self.repeated, conditions
        )

    @property
    def is_apart(self) -> bool:
        """Whether no matrix of all functions is needed: there may be many more of them then."""
        rings = all(self.repeated) and self._are_levels(r for r, _, _ in self.conditions)
        return len(self.free) > 1 and (rings or self.framed is not None)

    @classmethod
    def of(cls, bench: Bench) -> Places | None:
        """None where this is no evolution of that kind."""
        e, lowered = bench.evolution, bench.lowered
        if e is None or lowered.dimension not in (2, 3, 4) or not _is_box(bench):
            return None
        inside = [r for r in lowered.residuals if r.region.is_inside]
        if len(inside) != lowered.unknowns:
            return None
        free = [i for i in range(lowered.dimension) if i != e.axis]
        conditions: list[tuple[Residual, Array, Array]] = []
        periods: list[Residual] = []
        sums: list[Residual] = []
        for i, r in enumerate(lowered.residuals):
            if r.region.is_inside:
                continue
            if i in e.beginning:
                if not e.is_given_by(r):
                    return None
            elif any(j.alpha[e.axis] > e.orders[j.unknown] for j in r.jets):
                return None
            elif r.region.period is not None:
                periods.append(r)
            elif r.region.is_sum:
                if len(free) > 1:
                    return None
                sums.append(r)
            else:
                found = ends_of(r.region, bench, free)
                if found is None:
                    return None
                conditions.append((r, *found))
        orders = tuple(
            tuple(
                max(
                    (j.alpha[a] for r in inside for j in r.jets if j.unknown == k),
                    default=0,
                )
                for k in range(lowered.unknowns)
            )
            for a in free
        )
        if len(free) == 1:
            agree = sum(orders[0][r.linear[0].unknown] > 0 for r in periods)
            count = sum(len(X) for _, X, _ in conditions) + agree + len({r.name for r in sums})
            if count != sum(orders[0]):
                return None
        elif lowered.interfaces.planes:
            return None
        partners = _partners(inside, e.axis, lowered.unknowns)
        made = cls(bench, tuple(conditions), tuple(periods), tuple(sums), orders, partners)
        closed = all(made.repeated[free.index(r.region.period or 0)] for r in periods)
        if not closed and len(free) > 1:
            return None
        return made if len(free) < 3 or made.framed is not None else None

    def basis(
        self, box: Array, sizes: tuple[int, ...], moments: int, repeated: tuple[bool, ...]
    ) -> ProductBasis:
        """The functions in space and time over a box (d, 2)."""
        counts = dict(zip(self.free, sizes, strict=True)) | {self.axis: moments}
        waves_along = tuple(a for a, yes in zip(self.free, repeated, strict=True) if yes)
        half = 0.5 * (box[:, 1] - box[:, 0])
        return ProductBasis(tuple(counts[i] for i in range(len(box))), waves_along, box.mean(axis=1), half)

    def space(self, found: Resolution, low: float, high: float, moments: int) -> Whole | Cells:
        """All functions over a window."""
        tree = found.tree.stretched(self.axis, low, high)
        unknowns = self.bench.lowered.unknowns
        parts = tuple(
            Whole.shared(self.basis(box, found.sizes, moments, found.repeated), unknowns)
            for box in tree.boxes
        )
        return parts[0] if len(parts) == 1 else Cells(tree, parts)

    def lattice(self, found: Resolution, low: float, high: float, moments: int) -> Lattice:
        """The same where the one cell is divided along its coordinates."""
        d = len(self.free) + 1
        edges: list[tuple[float, ...]] = [(low, high)] * d
        sizes = [moments] * d
        for axis, strand in zip(self.free, found.strands, strict=True):
            first, last = self.bench.box[axis]
            inner = (0.5 * (first + last + (last - first) * s) for s in strand.edges[1:-1])
            edges[axis] = tuple(float(x) for x in (first, *inner, last))
            sizes[axis] = strand.degrees
        return Lattice(tuple(edges), tuple(sizes), self.bench.lowered.unknowns)

    def grid(self, found: Resolution, counts: tuple[int, ...]) -> Site:
        """Points inside every cell."""
        if (found, counts) not in self._grids:
            if len(self._grids) > _KEPT:
                self._grids.clear()
            nodes = [s.nodes(n) for s, n in zip(found.strands, counts, strict=True)]
            self._grids[found, counts] = self._grid(found, nodes)
        return self._grids[found, counts]

    def _grid(self, found: Resolution, nodes: list[Array]) -> Site:
        counts = tuple(map(len, nodes))
        U = np.stack(np.meshgrid(*nodes, indexing="ij"), -1).reshape(-1, len(nodes))
        boxes = found.tree.boxes[:, self.free, :]
        half = 0.5 * (boxes[:, :, 1] - boxes[:, :, 0])
        X = np.zeros((len(boxes), len(U), self.bench.lowered.dimension))
        X[:, :, self.free] = boxes.mean(axis=2)[:, None, :] + half[:, None, :] * U
        quick = quick_sums(found, counts, half) if len(nodes) == 1 else product_sums(nodes, found, half[0])
        return Site(None, X, shared_tables(U, found, half), quick)

    def values(self, coefficients: Array, old: Resolution, new: Resolution) -> Array:
        """Functions (…, n) in one piece at the points of another resolution, (…, points)."""
        nodes = [s.nodes(s.raw) for s in new.strands]
        plain = product_sums(nodes, old, np.ones(len(nodes)))
        return plain((0,) * len(nodes), coefficients[..., None])[..., 0]

    def spots(self, X: Array, cells: Numbers, found: Resolution) -> Site:
        """Single points, each in its cell."""
        boxes = found.tree.boxes[cells][:, self.free, :]
        half = 0.5 * (boxes[:, :, 1] - boxes[:, :, 0])
        U = (X[:, self.free] - boxes.mean(axis=2)) / half
        if len(found.tree) == 1:
            return Site(None, X[None], shared_tables(U, found, half[:1]))
        known: dict[MultiIndex, Array] = {}

        def tables(alpha: MultiIndex) -> Array:
            if alpha not in known:
                scale = np.prod(half ** -np.array(alpha, dtype=float), axis=1)
                known[alpha] = (scale[:, None] * product_of(U, found, alpha))[:, None, :]
            return known[alpha]

        return Site(cells, X[:, None, :], tables)

    def lines(self, found: Resolution) -> Lines:
        """All rows."""
        lowered = self.bench.lowered
        if self.framed is not None:
            return self._framed(self.framed, found)
        square = len(self.free) == 1 or self._is_square(found)
        groups = [self._equation(i, r, found, square) for i, r in enumerate(self.equations)]
        d = lowered.dimension
        for r, X, normals in self.conditions:
            if len(self.free) > 1:
                X, normals = self._side_points(r, found, square)
            cells = found.tree.locate(X)
            groups.append(group_of(r, (self.spots(X, cells, found),), normals, self.axis))
        for r in self.periods:
            along = self.free.index(r.region.period or 0)
            if found.repeated[along] or not self.orders[along][r.linear[0].unknown]:
                continue
            ends = found.tree.box[self.free[along]]
            X = np.zeros((1, d))
            sites = []
            for end, cell in zip(ends, (0, len(found.tree) - 1), strict=True):
                Y = X.copy()
                Y[:, self.free[along]] = end
                sites.append(self.spots(Y, np.array([cell]), found))
            groups.append(group_of(r, tuple(sites), np.zeros((1, d)), self.axis))
        groups += ties_in(self, found)
        levels = self.conditions if self._are_levels(r for r, _, _ in self.conditions) else ()
        kept = tuple(g for g in groups if g.terms) + tuple(self._sum(r, found) for r in self.sums)
        rings = (
            all(found.repeated) and len(found.tree) == 1 and len(kept) == len(self.equations) + len(levels)
        )
        modes = Modes(found.sizes, 0.5 * np.ptp(self.bench.box[list(self.free)], axis=1)) if rings else None
        return Lines(
            len(found.tree), lowered.unknowns, found.functions, kept, max(self.evolution.orders), modes
        )

    def _are_levels(self, conditions: Iterable[Residual]) -> bool:
        """Whether conditions give values of unknowns without a rate, in one point each."""
        given = []
        for r in conditions:
            if len(r.jets) != 1 or r.nonlinear or any(r.jets[0].alpha):
                return False
            if not len(r.region.spots(self.bench.domain)) or self.evolution.orders[r.jets[0].unknown]:
                return False
            given.append(r.jets[0].unknown)
        return len(given) == len(set(given))

    def _framed(self, framed: Framed, found: Resolution) -> Lines:
        groups = []
        sites: dict[tuple[int, ...], Site] = {}
        for number, r in enumerate(self.equations):
            held = framed.held(number, found)
            counts = tuple(map(len, held))  # which are held at as many points are held at the same
            site = sites.setdefault(counts, self._grid(found, held))
            groups.append(group_of(r, (site,), np.zeros_like(site.points), self.axis))
        for number, (r, _, _) in enumerate(framed.conditions):
            site, normals = framed.side(number, found)
            groups.append(group_of(r, (site,), normals, self.axis))
        extent = 1, self.bench.lowered.unknowns, found.functions
        return Lines(*extent, tuple(groups), max(self.evolution.orders), frame=framed.frame(found))

    def checks(self, found: Resolution) -> Lines:
        """The equations alone, at points where they are not held."""
        site = self.grid(found, found.checked)
        sites = [site, *self._hidden(found)]
        groups = tuple(
            group_of(r, (s,), np.zeros_like(s.points), self.axis) for s in sites for r in self.equations
        )
        return Lines(
            len(found.tree), self.bench.lowered.unknowns, found.functions, groups, max(self.evolution.orders)
        )

    def _hidden(self, found: Resolution) -> list[Site]:
        """In each cell of a line the place where what is given is furthest from what its points see of it."""
        if len(self.free) > 1 or not len(self._courses[1]):
            return []
        axis, (x, courses) = self.free[0], self._courses
        seen = np.sort(self.grid(found, found.raw).points[:, :, axis].ravel())
        off = np.zeros(len(x))
        for course in courses:
            off = np.maximum(off, np.abs(course - np.interp(x, seen, np.interp(seen, x, course))))
        X = np.zeros((len(found.tree), self.bench.lowered.dimension))
        X[:, axis] = found.tree.boxes[:, axis].mean(axis=1)
        order = np.argsort(off)  # of several places in a cell the last one stays
        Y = np.zeros((len(x), X.shape[1]))
        Y[:, axis] = x
        X[found.tree.locate(Y)[order], axis] = x[order]
        return [self.spots(X, np.arange(len(X)), found)]

    @cached_property
    def _courses(self) -> tuple[Array, Array]:
        """Many places on a line, and what equations are given there, each next to its largest value."""
        axis, (low, high) = self.free[0], self.bench.box[self.free[0]]
        x = low + (high - low) * (np.arange(BENCH.scanned) + 0.5) / BENCH.scanned
        every = np.concatenate([courses_of(r, self.bench, axis, x) for r in self.equations])
        every = np.unique(np.where(np.isfinite(every), every, 0.0), axis=0)
        size = np.abs(every).max(axis=1)
        changing = np.ptp(every, axis=1) > 1e-12 * size
        return x, every[changing] / size[changing, None]

    def _equation(self, number: int, residual: Residual, found: Resolution, square: bool) -> LineStatement:
        site = self.grid(found, self._counts(number, found) if square else found.sizes)
        return group_of(residual, (site,), np.zeros_like(site.points), self.axis)

    def _sum(self, residual: Residual, found: Resolution) -> LineStatement:
        """An integral: each cell has a rule of its own."""
        rules = [
            residual.region.rule_in(self.bench.domain, box[list(self.free)], found.functions + _SPARE)
            for box in found.tree.boxes
        ]
        counts = [len(rule.weights) for rule in rules]
        together = Rule.joined(rules, len(self.free))
        X, normals = (np.insert(A, self.axis, 0.0, axis=1) for A in (together.points, together.normals))
        site = self.spots(X, np.repeat(np.arange(len(rules)), counts), found)
        return replace(group_of(residual, (site,), normals, self.axis), weights=together.weights)

    def _side_points(self, r: Residual, found: Resolution, square: bool) -> tuple[Array, Array]:
        return side_points(r.region, self.bench, self.orders, self.free, found, square)

    def _is_square(self, found: Resolution) -> bool:
        """Whether there are as many rows as functions on a rectangle."""
        rows = sum(int(np.prod(self._counts(i, found))) for i in range(len(self.equations)))
        rows += sum(len(self._side_points(r, found, True)[0]) for r, _, _ in self.conditions)
        return bool(rows == found.functions * self.bench.lowered.unknowns)

    def _counts(self, number: int, found: Resolution) -> tuple[int, ...]:
        """Points along each coordinate of an equation, where there are as many rows as columns."""
        k = self.partner[number]
        less = [0 if yes else self.orders[i][k] for i, yes in enumerate(found.repeated)]
        return tuple(n - m for n, m in zip(found.sizes, less, strict=True))


def _is_box(bench: Bench) -> bool:
    """Whether the domain is all of its bounding box."""
    rng = np.random.default_rng(0)
    box = bench.box
    X = box[:, 0] + (box[:, 1] - box[:, 0]) * rng.random((2000, len(box)))
    return bool(np.asarray(bench.domain.contains(X), dtype=bool).all())


def _partners(inside: list[Residual], axis: int, unknowns: int) -> tuple[int, ...]:
    """For each equation an unknown: the one whose rate it has, or else the one it has most derivatives of."""
    gain = np.zeros((len(inside), unknowns))
    for e, r in enumerate(inside):
        for j in r.jets:
            gain[e, j.unknown] = max(gain[e, j.unknown], 1.0 + 100.0 * j.alpha[axis] + sum(j.alpha))
    return assigned(gain)
