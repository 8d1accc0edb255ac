r"""r(w) = L w + ρ(x, Φ w),  J(w) = L + Σⱼ diag(∂ρ/∂Jⱼ) Φⱼ: the assembled least-squares system.

One object serves linear and nonlinear problems: a linear solve is one Gauss-Newton step from zero,
and a linear system is one whose Jacobian does not depend on w. Rows are assembled in slices small
enough for the cache, straight into the Fortran-ordered matrix that LAPACK takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis import Basis
from pibls.errors import ProblemError
from pibls.problem import Jet, Region
from pibls.problem.lowering import LoweredProblem, Residual
from pibls.space import DecomposedBasis
from pibls.system.points import PointSet

_SLICE_ENTRIES = 1 << 16  # entries of a jet per slice: half a megabyte, so that all of them stay in the cache


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

    def values(self, w: Array, size: int) -> Array:
        """The nonlinear jets of the function with coefficients w, (k, n)."""
        out = np.empty((len(self.jets), len(self.points)))
        for row, jet, phi in zip(out, self.residual.nonlinear, self.jets, strict=True):
            row[:] = phi @ w[jet.unknown * size : (jet.unknown + 1) * size]
        return out

    def rest(self, jets: Array) -> Array:
        return self.residual.rest(self.points.sites[0], self.points.normals, self.data, jets)

    def partials(self, jets: Array) -> Array:
        return self.residual.partials(self.points.sites[0], self.points.normals, self.data, jets)


@dataclass(frozen=True)
class System:
    """r(w) and J(w) over all points; w holds the coefficients of the unknowns one after another."""

    basis: Basis
    unknowns: int
    linear: Array
    blocks: tuple[Block, ...]
    is_linear: bool
    constant: Array = field(repr=False)
    """ρ where it does not depend on w."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.linear.shape[0], self.linear.shape[1]

    def residual(self, w: Array) -> Array:
        """r(w), (rows,)."""
        r = self.linear @ w
        r += self.constant
        for block in self.blocks:
            if block.jets:
                r[block.rows] += block.rest(block.values(w, self.basis.size))
        return np.asarray(r)

    def jacobian(self, w: Array) -> Array:
        """J(w), (rows, columns). Of a linear system it is the stored matrix: do not write into it."""
        return self.linearise(self.values(w))[0]

    def values(self, w: Array) -> Array:
        """v: the nonlinear jets at the points, where the solution enters nonlinearly."""
        parts = [b.values(w, self.basis.size).ravel() for b in self.blocks if b.jets]
        return np.concatenate(parts) if parts else np.empty(0)

    def values_of(self, basis: Basis, w: Array) -> Array:
        """v of the function with coefficients w in any basis."""
        parts = [
            jet_values(basis, b.points.sites, b.residual.nonlinear, w).ravel() for b in self.blocks if b.jets
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def level(self, u: float) -> Array:
        """v of the constant function u."""
        parts = [
            np.full(len(b.points), u if not any(jet.alpha) else 0.0)
            for b in self.blocks
            for jet in b.residual.nonlinear
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def linearise(self, v: Array) -> tuple[Array, Array]:
        """J and b of the system linearised about v: L w + Σ ρ_j (Φ_j w - v_j) + ρ(v) = J w - b.

        Newton's method for functions: v may come from any function, in this basis or another.
        """
        if self.is_linear:
            return self.linear, -self.constant
        J, b = self.linear.copy(order="F"), -self.constant
        size, start = self.basis.size, 0
        for block in self.blocks:
            if not block.jets:
                continue
            stop = start + len(block.jets) * len(block.points)
            jets = v[start:stop].reshape(len(block.jets), -1)
            start = stop
            partials = block.partials(jets)
            b[block.rows] += np.sum(partials * jets, axis=0) - block.rest(jets)
            for c, jet, phi in zip(partials, block.residual.nonlinear, block.jets, strict=True):
                J[block.rows, jet.unknown * size : (jet.unknown + 1) * size] += c[:, None] * phi
        return J, b


def assemble(lowered: LoweredProblem, points: Mapping[Region, PointSet], basis: Basis) -> System:
    """The system of a problem at these points in this basis."""
    size = basis.size
    counts = [len(points[r.region]) for r in lowered.residuals]
    ends = np.cumsum(counts)
    rows = [slice(int(e - c), int(e)) for c, e in zip(counts, ends, strict=True)]
    matrix = np.zeros((int(ends[-1]), size * lowered.unknowns), order="F")
    constant = np.zeros(int(ends[-1]))
    blocks: list[Block | None] = [None] * len(lowered.residuals)
    for region, found in points.items():
        members = [i for i, r in enumerate(lowered.residuals) if r.region == region]
        store = _assemble_region([lowered.residuals[i] for i in members], [rows[i] for i in members], found,
                                 basis, matrix, constant)  # fmt: skip
        for i, (data, jets) in zip(members, store, strict=True):
            blocks[i] = Block(lowered.residuals[i], found, rows[i], data, jets)
    done = tuple(b for b in blocks if b is not None)
    return System(basis, lowered.unknowns, matrix, done, lowered.is_linear, constant)


def _assemble_region(
    residuals: list[Residual],
    rows: list[slice],
    points: PointSet,
    basis: Basis,
    matrix: Array,
    constant: Array,
) -> list[tuple[Array, tuple[Array, ...]]]:
    X, n, size = points.sites[0], len(points), basis.size
    data = [r.known_data(X) for r in residuals]
    coefficients = [r.coefficients(X, points.normals, v) for r, v in zip(residuals, data, strict=True)]
    for residual, row, values, a in zip(residuals, rows, data, coefficients, strict=True):
        _check_finite(a, residual, X, "a coefficient")
        _check_finite(values, residual, X, "a Python function")
        if not residual.nonlinear:
            constant[row] = residual.rest(X, points.normals, values, np.empty((0, n)))
            _check_finite(constant[None, row], residual, X, "the source or value")
    kept: dict[Jet, Array] = {
        Jet(0, j.alpha, j.site): np.empty((n, size), order="F") for r in residuals for j in r.nonlinear
    }
    step = max(_SLICE_ENTRIES // size, 16)
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        seen: set[tuple[int, int]] = set()  # blocks that hold something already
        for site, sites in enumerate(points.sites):
            jets = _jets_at(basis, sites[part], residuals, site)
            for residual, row, a in zip(residuals, rows, coefficients, strict=True):
                target = matrix[row][part]
                for c, jet in zip(a, residual.linear, strict=True):
                    if jet.site == site:
                        columns = slice(jet.unknown * size, (jet.unknown + 1) * size)
                        _add(
                            target[:, columns],
                            jets[jet.alpha],
                            c[part],
                            first=(jet.unknown, row.start) not in seen,
                        )
                        seen.add((jet.unknown, row.start))
            for jet, storage in kept.items():
                if jet.site == site:
                    storage[part] = jets[jet.alpha]
    return [
        (v, tuple(kept[Jet(0, j.alpha, j.site)] for j in r.nonlinear))
        for r, v in zip(residuals, data, strict=True)
    ]


def _jets_at(basis: Basis, X: Array, residuals: list[Residual], site: int) -> dict[MultiIndex, Array]:
    """Every jet that some residual needs at this site, each computed once."""
    alphas = sorted({j.alpha for r in residuals for j in (*r.linear, *r.nonlinear) if j.site == site})
    return dict(zip(alphas, basis.jets(X, alphas), strict=True)) if alphas else {}


def _add(target: Array, phi: Array, c: Array, first: bool) -> None:
    """target += diag(c) phi, with as few passes as possible."""
    factor = c[0] if np.all(c == c[0]) else c[:, None]
    if first:
        np.multiply(phi, factor, out=target)
    else:
        target += phi if np.isscalar(factor) and factor == 1.0 else factor * phi


def _check_finite(values: Array, residual: Residual, X: Array, what: str) -> None:
    bad = ~np.isfinite(values)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        place = ", ".join(f"{c:.6g}" for c in X[column])
        raise ProblemError(
            residual.name,
            expected="finite values at every point",
            got=f"{values[row, column]} for {what} at the point ({place})",
            remedy="Look for a division by zero, the root or logarithm of a negative number, or bad data.",
        )


@dataclass(frozen=True)
class Judged:
    """A residual at points, and the size of the terms that it is the sum of."""

    values: Array
    size: float


def residuals_at(
    lowered: LoweredProblem, points: Mapping[Region, PointSet], basis: Basis, w: Array
) -> tuple[dict[str, Judged], Array]:
    """r(w) by name at other points, and the unknowns there (unknowns, n); no matrix is formed.

    A term a ∂^α u is as large as ∂^α u gets anywhere: on a side where u = 0 is prescribed, u itself
    would be no measure for its own error.
    """
    zero = (0,) * lowered.dimension
    jets: dict[Region, dict[Jet, Array]] = {}
    for region, found in points.items():
        wanted = {j: None for r in lowered.residuals if r.region == region for j in (*r.linear, *r.nonlinear)}
        wanted |= {Jet(k, zero, s): None for s in range(len(found.sites)) for k in range(lowered.unknowns)}
        keys = tuple(wanted)
        jets[region] = dict(zip(keys, jet_values(basis, found.sites, keys, w), strict=True))
    unknowns = np.array(
        [
            np.concatenate([jets[r][Jet(k, zero, s)] for r in points for s in range(len(points[r].sites))])
            for k in range(lowered.unknowns)
        ]
    )
    sizes = _sizes(jets, points, unknowns)
    out = {}
    for residual in lowered.residuals:
        where, found_jets = points[residual.region], jets[residual.region]
        data = residual.known_data(where.sites[0])
        a = residual.coefficients(where.sites[0], where.normals, data)
        nonlinear = np.array([found_jets[j] for j in residual.nonlinear]).reshape(-1, len(where))
        rest = residual.rest(where.sites[0], where.normals, data, nonlinear)
        terms = [float(np.abs(rest).max(initial=0.0))]
        if not residual.linear:
            # Where every derivative stands in a nonlinear term, the rest is all there is, and at a
            # solution it is zero: its terms are as large as its slopes say.
            slopes = residual.partials(where.sites[0], where.normals, data, nonlinear)
            parts = np.abs(slopes * nonlinear)
            terms.append(float(parts[np.isfinite(parts)].max(initial=0.0)))
        values = rest
        for c, jet in zip(a, residual.linear, strict=True):
            values = values + c * found_jets[jet]
            terms.append(float(np.abs(c).max(initial=0.0)) * sizes(jet))
        out[residual.name] = Judged(values, max(terms))
    return out, unknowns


def _sizes(
    jets: Mapping[Region, Mapping[Jet, Array]], points: Mapping[Region, PointSet], unknowns: Array
) -> Callable[[Jet], float]:
    """How large ∂^α u gets anywhere; at least as for a function that varies over the whole domain."""
    X = np.concatenate([site for found in points.values() for site in found.sites])
    half = 0.5 * np.ptp(X, axis=0)
    half[half == 0] = 1.0
    natural = np.abs(unknowns).max(axis=1, initial=0.0)
    largest: dict[tuple[int, MultiIndex], float] = {}
    for found in jets.values():
        for jet, v in found.items():
            key = (jet.unknown, jet.alpha)
            largest[key] = max(largest.get(key, 0.0), float(np.abs(v).max(initial=0.0)))

    def size(jet: Jet) -> float:
        scale = float(natural[jet.unknown] / np.prod(half ** np.array(jet.alpha)))
        return max(largest[jet.unknown, jet.alpha], scale)

    return size


def jet_values(basis: Basis, sites: tuple[Array, ...], jets: tuple[Jet, ...], w: Array) -> Array:
    """∂^α u at the sites for each jet, (number of jets, n)."""
    n, size = len(sites[0]), basis.size
    out = np.empty((len(jets), n))
    step = max(_SLICE_ENTRIES // size, 16)
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        for site, X in enumerate(sites):
            alphas = sorted({j.alpha for j in jets if j.site == site})
            if not alphas:
                continue
            if isinstance(basis, DecomposedBasis):
                for i, j in enumerate(jets):
                    if j.site == site:
                        mine = w[j.unknown * size : (j.unknown + 1) * size]
                        out[i, part] = basis.apply(X[part], [j.alpha], mine)[0]
                continue
            phi = dict(zip(alphas, basis.jets(X[part], alphas), strict=True))
            for i, j in enumerate(jets):
                if j.site == site:
                    out[i, part] = phi[j.alpha] @ w[j.unknown * size : (j.unknown + 1) * size]
    return out
