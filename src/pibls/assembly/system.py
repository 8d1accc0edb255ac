r"""The assembled least-squares system of a problem: residual r(w) and Jacobian J(w).

r(w) = L w + ρ(x, Φ w),  J(w) = L + Σⱼ diag(∂ρ/∂Jⱼ) Φⱼ, where L holds the linear terms, ρ the nonlinear and
the given ones, and Φⱼ the derivatives of the basis functions on which ρ depends.

One class serves linear and nonlinear problems: a linear solve is one Gauss-Newton step from zero, and a
linear system is one whose Jacobian does not depend on w. Rows are assembled in slices small enough for the
cache, directly into the Fortran-ordered matrix that LAPACK takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array
from pibls.assembly.points import PointSet
from pibls.assembly.residual_coefficients import UNIT_FACTOR, ResidualCoefficients, Term
from pibls.assembly.system_base import SystemBase
from pibls.basis.protocol import Operator
from pibls.linalg.matrix import Matrix, norms
from pibls.problem import PartialDerivative, Region
from pibls.problem.forms.compilation import CompiledProblem, Residual
from pibls.runtime.memory import check_memory
from pibls.spaces import SingleDomainSpace
from pibls.spaces.single_domain import MIN_SLICE_ROWS, SLICE_ENTRIES

BYTES_PER_ENTRY = 24
"""Memory per matrix entry: solvers need two to three times the size of the matrix."""


@dataclass(frozen=True)
class Block:
    """The rows of one residual: its points and everything that does not depend on w."""

    residual: Residual
    points: PointSet
    rows: slice
    data: Array
    tables: tuple[Array, ...]
    """Φ (n, M) of each derivative that enters nonlinearly."""

    @property
    def name(self) -> str:
        return self.residual.name

    def values(self, w: Array, space: SingleDomainSpace) -> Array:
        """Return the derivatives that enter nonlinearly, (k, n), of the function with coefficients w."""
        out = np.empty((len(self.tables), len(self.points)))
        for row, derivative, phi in zip(out, self.residual.nonlinear, self.tables, strict=True):
            row[:] = phi @ w[space.slices[derivative.unknown]]
        return out

    def row_sensitivity(self, w: Array, space: SingleDomainSpace, sizes: Array, half: Array) -> Array:
        """Return the change of each row if the unknowns vary by ``sizes`` over the half-lengths ``half``."""
        r, X = self.residual, self.points.sites[0]
        a = r.coefficients(X, self.points.normals, self.data)
        if r.nonlinear:
            a = np.concatenate([a, self.partials(self.values(w, space))])
        out = np.zeros(len(self.points))
        for derivative, c in zip((*r.linear, *r.nonlinear), a, strict=True):
            natural = sizes[derivative.unknown] / np.prod(half ** np.array(derivative.alpha))
            out = np.maximum(out, np.nan_to_num(np.abs(c)) * natural)
        return out

    def rest(self, derivatives: Array) -> Array:
        """Return ρ of each row, for the values of the nonlinear derivatives."""
        return self.points.summed(
            self.residual.rest(self.points.sites[0], self.points.normals, self.data, derivatives)
        )

    def term_magnitudes(self, w: Array, space: SingleDomainSpace) -> Array:
        """Return Σ|terms| of each row."""
        r, X, normals = self.residual, self.points.sites[0], self.points.normals
        derivatives = space.values(self.points.sites, (*r.linear, *r.nonlinear), w)
        linear, nonlinear = np.abs(derivatives[: len(r.linear)]), derivatives[len(r.linear) :]
        sizes = (np.abs(r.coefficients(X, normals, self.data)) * linear).sum(axis=0)
        sizes += (np.abs(self.partials(nonlinear)) * np.abs(nonlinear)).sum(axis=0)
        return self.points.summed(sizes)

    def partials(self, derivatives: Array) -> Array:
        return self.residual.partials(self.points.sites[0], self.points.normals, self.data, derivatives)


@dataclass(frozen=True)
class System(SystemBase[Array]):
    """r(w) and J(w) over all points, with a stored matrix; w holds the coefficients unknown by unknown."""

    space: SingleDomainSpace
    linear: Array
    blocks: tuple[Block, ...]
    is_linear: bool
    constant: Array = field(repr=False)
    """The part of ρ that does not depend on w."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.linear.shape[0], self.linear.shape[1]

    @property
    def nonlinear_values(self) -> int:
        """Length of v, the values of the derivatives that enter nonlinearly."""
        return sum(len(b.tables) * len(b.points) for b in self.blocks)

    def row_scales(self, J: Matrix) -> Array:
        """Return ‖J_i D‖ of each row, with D = 1/‖J_k‖ for the columns of unknown k.

        Without D, an equation in which one unknown has the factor 1e10 would weight the terms of the other
        unknowns by 1e-10.
        """
        if len(self.space.slices) < 2:
            return norms(J, 1)
        A, total = np.asarray(J), np.zeros(self.shape[0])
        for part in self.space.slices:
            squares = np.einsum("ij,ij->i", A[:, part], A[:, part])
            size = float(squares.max(initial=0.0))
            total += squares / size if size > 0 else 0.0
        return np.where(total > 0, np.sqrt(total), 1.0)

    @property
    def as_stored(self) -> System:
        return self

    def residual(self, w: Array) -> Array:
        """Return r(w), (rows,)."""
        r = self.linear @ w
        r += self.constant
        for block in self.blocks:
            if block.tables:
                r[block.rows] += block.rest(block.values(w, self.space))
        return np.asarray(r)

    def term_magnitudes(self, w: Array) -> Array:
        """Return Σ|terms| of each row, (rows,)."""
        out = np.zeros(self.shape[0])
        for block in self.blocks:
            out[block.rows] += block.term_magnitudes(w, self.space)
        return out

    @property
    def nonlinear_residuals(self) -> Iterator[tuple[PointSet, Residual]]:
        return ((b.points, b.residual) for b in self.blocks if b.tables)

    def values(self, w: Array) -> Array:
        parts = [b.values(w, self.space).ravel() for b in self.blocks if b.tables]
        return np.concatenate(parts) if parts else np.empty(0)

    def linear_part(self) -> tuple[Array, Array]:
        """Return L and b of L w + ρ(x, 0) = L w - b."""
        return self.linear, -self.residual(np.zeros(self.shape[1]))

    def _linearized(self, v: Array) -> tuple[Array, Array]:
        """Return J and b of the system linearized about v: L w + Σ ρ_j (Φ_j w - v_j) + ρ(v) = J w - b.

        v may come from any function, in this basis or another.
        """
        if self.is_linear:
            return self.linear, -self.constant
        J, b = self.linear.copy(order="F"), -self.constant
        start = 0
        for block in self.blocks:
            if not block.tables:
                continue
            stop = start + len(block.tables) * len(block.points)
            derivatives = v[start:stop].reshape(len(block.tables), -1)
            start = stop
            partials = block.partials(derivatives)
            b[block.rows] += block.points.summed(np.sum(partials * derivatives, axis=0)) - block.rest(
                derivatives
            )
            for c, derivative, phi in zip(partials, block.residual.nonlinear, block.tables, strict=True):
                target = J[block.rows, self.space.slices[derivative.unknown]]
                if block.points.weights is None:
                    target += c[:, None] * phi
                else:
                    _gather(target, phi, c, block.points.weights, 0)
        return J, b


def assemble(
    compiled: CompiledProblem,
    points: Mapping[Region, PointSet],
    space: SingleDomainSpace,
    cache: dict[int, ResidualCoefficients] | None = None,
) -> System:
    """Assemble the system of a problem at given points in a space.

    ``cache`` keeps the coefficients of the residuals at these points, so that another space can reuse them.
    """
    rows, total = _rows(compiled.residuals, points)  # a cell outside the domain has no rows
    check_memory(BYTES_PER_ENTRY * total * space.columns)
    matrix = np.zeros((total, space.columns), order="F")
    constant = np.zeros(total)
    blocks: list[Block | None] = [None] * len(compiled.residuals)
    for region, found in points.items():
        members = [i for i, r in enumerate(compiled.residuals) if r.region == region]
        here = [ResidualCoefficients.of(compiled.residuals[i], found, cache).checked for i in members]
        store = _assemble_region(here, [rows[i] for i in members], found, space, matrix, constant)
        for i, k, derivatives in zip(members, here, store, strict=True):
            blocks[i] = Block(k.residual, found, rows[i], k.data, derivatives)
    done = tuple(b for b in blocks if b is not None)
    return System(space, matrix, done, compiled.is_linear, constant)


def _rows(residuals: tuple[Residual, ...], points: Mapping[Region, PointSet]) -> tuple[list[slice], int]:
    """Return the rows of each residual and their total number; the terms of a sum share their rows."""
    rows: list[slice] = []
    shared: dict[str, slice] = {}
    total = 0
    for r in residuals:
        if r.region.is_integral and r.name in shared:
            rows.append(shared[r.name])
            continue
        rows.append(slice(total, total + points[r.region].rows))
        total = rows[-1].stop
        if r.region.is_integral:
            shared[r.name] = rows[-1]
    return rows, total


def _assemble_region(
    known: list[ResidualCoefficients],
    rows: list[slice],
    points: PointSet,
    space: SingleDomainSpace,
    matrix: Array,
    constant: Array,
) -> list[tuple[Array, ...]]:
    """Write the rows of these residuals; return the tables of their nonlinear derivatives."""
    n, owners = len(points), space.basis_owners
    for k, row in zip(known, rows, strict=True):
        if k.rest is not None:
            constant[row] += points.summed(k.rest)
    kept: dict[PartialDerivative, Array] = {
        _shared_derivative(j, owners): np.empty((n, space.bases[j.unknown].size), order="F")
        for k in known
        for j in k.residual.nonlinear
    }
    region = _RegionRows(known, rows, points, space, matrix, kept)
    step = max(SLICE_ENTRIES // space.nodes, MIN_SLICE_ROWS)
    for start in range(0, n, step):
        region.write(slice(start, min(start + step, n)))
    return [tuple(kept[_shared_derivative(j, owners)] for j in k.residual.nonlinear) for k in known]


@dataclass(frozen=True)
class _RegionRows:
    """The rows of the residuals on a region, written for a slice of its points at a time."""

    known: list[ResidualCoefficients]
    rows: list[slice]
    points: PointSet
    space: SingleDomainSpace
    matrix: Array
    nonlinear_tables: dict[PartialDerivative, Array]

    def write(self, part: slice) -> None:
        """Write the rows of the points ``part``, and the tables of nonlinear derivatives there."""
        written: set[tuple[int, int]] = set()
        for site, sites in enumerate(self.points.sites):
            wanted = [self._table_key(t) for _, t in self._terms(site)]
            stored = [d for d in self.nonlinear_tables if d.site == site]
            wanted += [(d.unknown, ((d.alpha, 1.0),)) for d in stored]
            targets = self._direct_targets(site, part, wanted)
            tables = self.space.apply_operators(sites[part], wanted, targets)
            for row, t in self._terms(site):
                phi = tables[self._table_key(t)]
                if phi is not targets.get(self._table_key(t)):
                    self._add_term(row, t, phi, part, (t.unknown, row.start) in written)
                    written.add((t.unknown, row.start))
            for d in stored:
                self.nonlinear_tables[d][part] = tables[d.unknown, ((d.alpha, 1.0),)]

    def _table_key(self, t: Term) -> tuple[int, Operator]:
        return self.space.basis_owners[t.unknown], t.operator

    def _terms(self, site: int) -> list[tuple[slice, Term]]:
        """Return the linear terms at a site with the rows of their residuals."""
        pairs = zip(self.rows, self.known, strict=True)
        return [(row, t) for row, k in pairs for t in k.terms if t.site == site]

    def _direct_targets(
        self, site: int, part: slice, wanted: list[tuple[int, Operator]]
    ) -> dict[tuple[int, Operator], Array]:
        """Return the entries of the matrix into which tables that are used once can be computed."""
        return {
            self._table_key(t): self.matrix[row][part][:, self.space.slices[t.unknown]]
            for row, k in zip(self.rows, self.known, strict=True)
            for t in k.sole_terms
            if t.site == site and wanted.count(self._table_key(t)) == 1
        }

    def _add_term(self, row: slice, t: Term, phi: Array, part: slice, is_written: bool) -> None:
        """Add factor·phi to the rows of a residual, or write it if they have not been written."""
        columns = self.space.slices[t.unknown]
        if self.points.weights is not None:
            _gather(self.matrix[row, columns], phi, t.factor[part], self.points.weights, part.start)
            return
        target = self.matrix[row][part][:, columns]
        if not is_written:
            np.multiply(phi, 1.0 if t.factor is UNIT_FACTOR else t.factor[part, None], out=target)
        elif t.factor is UNIT_FACTOR:
            target += phi
        else:
            target += t.factor[part, None] * phi


def _shared_derivative(derivative: PartialDerivative, owners: tuple[int, ...]) -> PartialDerivative:
    """Return the same derivative of the first unknown that shares the basis."""
    return PartialDerivative(owners[derivative.unknown], derivative.alpha, derivative.site)


def _gather(target: Array, phi: Array, c: Array, weights: Array, start: int) -> None:
    """Add Σ w c phi over the points of row i to target[i], for phi of the points from ``start`` on."""
    q = weights.shape[1]
    if not q:
        return  # the cell does not contribute to the integral
    w = weights.ravel()[start : start + len(phi)] * c
    first, last = start // q, (start + len(phi) - 1) // q
    for i in range(first, last + 1):
        mine = slice(max(i * q - start, 0), (i + 1) * q - start)
        target[i] += w[mine] @ phi[mine]
