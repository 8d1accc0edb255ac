r"""r(w) = L w + ρ(x, Φ w),  J(w) = L + Σⱼ diag(∂ρ/∂Jⱼ) Φⱼ: the assembled least-squares system.

One object serves linear and nonlinear problems: a linear solve is one Gauss-Newton step from zero,
and a linear system is one whose Jacobian does not depend on w. Rows are assembled in slices small
enough for the cache, straight into the Fortran-ordered matrix that LAPACK takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array
from pibls.assembly.known import ONES, Known
from pibls.assembly.points import PointSet
from pibls.assembly.system_base import Asked
from pibls.linalg.matrix import Matrix, norms
from pibls.memory import check_memory
from pibls.problem import Jet, Region
from pibls.problem.forms.lowering import LoweredProblem, Residual
from pibls.spaces import Whole
from pibls.spaces.single_domain import LEAST_SLICE, SLICE_ENTRIES

HELD_BYTES = 24
"""For each entry of a matrix that is held: solvers need two to three times as much as the matrix."""


@dataclass(frozen=True)
class Block:
    """The rows of one residual: its name, its points, and what does not depend on w."""

    residual: Residual
    points: PointSet
    rows: slice
    data: Array
    jets: tuple[Array, ...]
    """Φ (n, M) of each nonlinear jet."""

    @property
    def name(self) -> str:
        return self.residual.name

    def values(self, w: Array, space: Whole) -> Array:
        """The nonlinear jets of the function with coefficients w, (k, n)."""
        out = np.empty((len(self.jets), len(self.points)))
        for row, jet, phi in zip(out, self.residual.nonlinear, self.jets, strict=True):
            row[:] = phi @ w[space.slices[jet.unknown]]
        return out

    def strength(self, w: Array, space: Whole, sizes: Array, half: Array) -> Array:
        """How much a change of the unknowns by their sizes over a cell changes each row."""
        r, X = self.residual, self.points.sites[0]
        a = r.coefficients(X, self.points.normals, self.data)
        if r.nonlinear:
            a = np.concatenate([a, self.partials(self.values(w, space))])
        out = np.zeros(len(self.points))
        for jet, c in zip((*r.linear, *r.nonlinear), a, strict=True):
            natural = sizes[jet.unknown] / np.prod(half ** np.array(jet.alpha))
            out = np.maximum(out, np.nan_to_num(np.abs(c)) * natural)
        return out

    def rest(self, jets: Array) -> Array:
        """ρ of each row."""
        return self.points.summed(
            self.residual.rest(self.points.sites[0], self.points.normals, self.data, jets)
        )

    def terms(self, w: Array, space: Whole) -> Array:
        """Σ|terms| of each row."""
        r, X, normals = self.residual, self.points.sites[0], self.points.normals
        jets = space.values(self.points.sites, (*r.linear, *r.nonlinear), w)
        linear, nonlinear = np.abs(jets[: len(r.linear)]), jets[len(r.linear) :]
        sizes = (np.abs(r.coefficients(X, normals, self.data)) * linear).sum(axis=0)
        sizes += (np.abs(self.partials(nonlinear)) * np.abs(nonlinear)).sum(axis=0)
        return self.points.summed(sizes)

    def partials(self, jets: Array) -> Array:
        return self.residual.partials(self.points.sites[0], self.points.normals, self.data, jets)


@dataclass(frozen=True)
class System(Asked[Array]):
    """r(w) and J(w) over all points; w holds the coefficients of the unknowns one after another."""

    space: Whole
    linear: Array
    blocks: tuple[Block, ...]
    is_linear: bool
    constant: Array = field(repr=False)
    """ρ where it does not depend on w."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.linear.shape[0], self.linear.shape[1]

    @property
    def nonlinear_values(self) -> int:
        """How many numbers v holds."""
        return sum(len(b.jets) * len(b.points) for b in self.blocks)

    def row_sizes(self, J: Matrix) -> Array:
        """‖J_i D‖ of each row, with D = 1/‖J_k‖ for the columns of unknown k.

        Without it, an equation in which one unknown has the factor 1e10 weighs its other terms, as large as
        they are with their own unknown, by 1e-10.
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
    def held(self) -> System:
        return self

    def residual(self, w: Array) -> Array:
        """r(w), (rows,)."""
        r = self.linear @ w
        r += self.constant
        for block in self.blocks:
            if block.jets:
                r[block.rows] += block.rest(block.values(w, self.space))
        return np.asarray(r)

    def terms(self, w: Array) -> Array:
        """Σ|terms| of each row, (rows,)."""
        out = np.zeros(self.shape[0])
        for block in self.blocks:
            out[block.rows] += block.terms(w, self.space)
        return out

    @property
    def bent(self) -> Iterator[tuple[PointSet, Residual]]:
        return ((b.points, b.residual) for b in self.blocks if b.jets)

    def values(self, w: Array) -> Array:
        parts = [b.values(w, self.space).ravel() for b in self.blocks if b.jets]
        return np.concatenate(parts) if parts else np.empty(0)

    def linear_part(self) -> tuple[Array, Array]:
        """L and b of L w + ρ(x, 0) = L w - b."""
        return self.linear, -self.residual(np.zeros(self.shape[1]))

    def _linearised(self, v: Array) -> tuple[Array, Array]:
        """J and b of the system linearised about v: L w + Σ ρ_j (Φ_j w - v_j) + ρ(v) = J w - b.

        Newton's method for functions: v may come from any function, in this basis or another.
        """
        if self.is_linear:
            return self.linear, -self.constant
        J, b = self.linear.copy(order="F"), -self.constant
        start = 0
        for block in self.blocks:
            if not block.jets:
                continue
            stop = start + len(block.jets) * len(block.points)
            jets = v[start:stop].reshape(len(block.jets), -1)
            start = stop
            partials = block.partials(jets)
            b[block.rows] += block.points.summed(np.sum(partials * jets, axis=0)) - block.rest(jets)
            for c, jet, phi in zip(partials, block.residual.nonlinear, block.jets, strict=True):
                target = J[block.rows, self.space.slices[jet.unknown]]
                if block.points.weights is None:
                    target += c[:, None] * phi
                else:
                    _gather(target, phi, c, block.points.weights, 0)
        return J, b


def assemble(
    lowered: LoweredProblem,
    points: Mapping[Region, PointSet],
    space: Whole,
    known: dict[int, Known] | None = None,
) -> System:
    """The system of a problem at these points in this space.

    ``known`` keeps what the equations are at these points, for another space.
    """
    rows, total = _rows(lowered.residuals, points)  # a cell outside the domain has no rows
    check_memory(HELD_BYTES * total * space.columns)
    matrix = np.zeros((total, space.columns), order="F")
    constant = np.zeros(total)
    blocks: list[Block | None] = [None] * len(lowered.residuals)
    for region, found in points.items():
        members = [i for i, r in enumerate(lowered.residuals) if r.region == region]
        here = [Known.of(lowered.residuals[i], found, known).checked for i in members]
        store = _assemble_region(here, [rows[i] for i in members], found, space, matrix, constant)
        for i, k, jets in zip(members, here, store, strict=True):
            blocks[i] = Block(k.residual, found, rows[i], k.data, jets)
    done = tuple(b for b in blocks if b is not None)
    return System(space, matrix, done, lowered.is_linear, constant)


def _rows(residuals: tuple[Residual, ...], points: Mapping[Region, PointSet]) -> tuple[list[slice], int]:
    """Where the rows of each residual stand, and how many there are; the terms of a sum share theirs."""
    rows: list[slice] = []
    shared: dict[str, slice] = {}
    total = 0
    for r in residuals:
        if r.region.is_sum and r.name in shared:
            rows.append(shared[r.name])
            continue
        rows.append(slice(total, total + points[r.region].rows))
        total = rows[-1].stop
        if r.region.is_sum:
            shared[r.name] = rows[-1]
    return rows, total


def _assemble_region(
    known: list[Known], rows: list[slice], points: PointSet, space: Whole, matrix: Array, constant: Array
) -> list[tuple[Array, ...]]:
    """Write the rows of these residuals; the tables of their nonlinear jets."""
    n, owners = len(points), space.owners
    for k, row in zip(known, rows, strict=True):
        if k.rest is not None:
            constant[row] += points.summed(k.rest)
    kept: dict[Jet, Array] = {
        _owned(j, owners): np.empty((n, space.bases[j.unknown].size), order="F")
        for k in known
        for j in k.residual.nonlinear
    }
    step = max(SLICE_ENTRIES // space.nodes, LEAST_SLICE)
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        seen: set[tuple[int, int]] = set()  # blocks that hold something already
        for site, sites in enumerate(points.sites):
            wanted = [(owners[t.unknown], t.operator) for k in known for t in k.terms if t.site == site]
            wanted += [(jet.unknown, ((jet.alpha, 1.0),)) for jet in kept if jet.site == site]
            targets = {
                (owners[t.unknown], t.operator): matrix[row][part][:, space.slices[t.unknown]]
                for row, k in zip(rows, known, strict=True)
                for t in k.alone
                if t.site == site and wanted.count((owners[t.unknown], t.operator)) == 1
            }
            tables = space.operated(sites[part], wanted, targets)
            for row, k in zip(rows, known, strict=True):
                for t in k.terms:
                    if t.site != site:
                        continue
                    phi, columns = tables[owners[t.unknown], t.operator], space.slices[t.unknown]
                    if points.weights is not None:
                        _gather(matrix[row, columns], phi, t.factor[part], points.weights, start)
                        continue
                    if phi is targets.get((owners[t.unknown], t.operator)):
                        continue  # it was written there at once
                    target = matrix[row][part][:, columns]
                    factor = 1.0 if t.factor is ONES else t.factor[part, None]
                    if (t.unknown, row.start) in seen:
                        target += phi if t.factor is ONES else factor * phi
                    else:
                        np.multiply(phi, factor, out=target)
                    seen.add((t.unknown, row.start))
            for jet, storage in kept.items():
                if jet.site == site:
                    storage[part] = tables[jet.unknown, ((jet.alpha, 1.0),)]
    return [tuple(kept[_owned(j, owners)] for j in k.residual.nonlinear) for k in known]


def _owned(jet: Jet, owners: tuple[int, ...]) -> Jet:
    """The same jet of the first unknown that shares its basis."""
    return Jet(owners[jet.unknown], jet.alpha, jet.site)


def _gather(target: Array, phi: Array, c: Array, weights: Array, start: int) -> None:
    """target[i] += Σ w c phi over the points of row i, for phi of the points from ``start`` on."""
    q = weights.shape[1]
    if not q:
        return  # a cell without a share in the integral
    w = weights.ravel()[start : start + len(phi)] * c
    first, last = start // q, (start + len(phi) - 1) // q
    for i in range(first, last + 1):
        mine = slice(max(i * q - start, 0), (i + 1) * q - start)
        target[i] += w[mine] @ phi[mine]
