r"""Principal symbol A(∂) of a system with constant coefficients, and its homogeneous solutions in the plane.

Each unknown and each equation has a weight such that A_ij is homogeneous of degree s_i + t_j
(Douglis-Nirenberg): for Stokes flow 2 for the velocities and 1 for the pressure. With the roots μ of det A(1,
μ) in the upper half plane, half as many as the degree of the determinant, all solutions of one degree are
combinations of

    u_i = ∂_μᵏ [adj A(1, μ)_ij (x + μy)^(α + d_i)],  k below the multiplicity of μ,

and their conjugates: z̄ z^(α - 1) in addition to z^α for a double root, as in the biharmonic equation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from pibls.analysis.thresholds import SYMBOL
from pibls.arrays import MultiIndex

Row = Mapping[tuple[int, MultiIndex], float]
"""Coefficients c of Σ c ∂^α u_k, by (k, α)."""

_GENERIC = 0.8137 + 0.271j  # a generic degree, at which no families are accidentally dependent

Complexes = Any
"""An array of complex numbers."""


@dataclass(frozen=True)
class SolutionFamily:
    """Solutions ∂_μᵏ [a(μ) (x + μy)^(α + d)], with the derivatives of a by μ, (k + 1, unknowns)."""

    root: int
    parameter_derivatives: Complexes


@dataclass(frozen=True)
class Symbol:
    """The homogeneous solutions of a system of equations, by degree."""

    degrees: tuple[int, ...]
    """d_i: u_i has the degree α + d_i; 0 for the first unknown of the highest weight."""
    roots: tuple[complex, ...]
    families: tuple[SolutionFamily, ...]
    orders: tuple[int, ...] = ()
    """Per equation: ∂^β u_k belongs to its principal part if |β| - d_k equals this order."""

    @property
    def min_degree(self) -> int:
        """The least integer degree of a solution of (nearly) finite energy."""
        return max((max(self.orders, default=2) + 1) // 2 - 1, 0)

    @property
    def depth(self) -> int:
        """One more than the highest power of z̄."""
        return max(len(m.parameter_derivatives) for m in self.families)

    def coefficients(self, alpha: Complexes, rotations: Sequence[complex]) -> Complexes:
        """Return c (α, family, unknown, q) of ζ^(α + d - q) ζ̄^q, ζ = turn·(x + μy), up to turn^-α."""
        alpha = np.atleast_1d(np.asarray(alpha, dtype=complex))
        n, top = len(self.degrees), max(self.degrees)
        out = np.zeros((len(alpha), len(self.families), n, self.depth), dtype=complex)
        for j, family in enumerate(self.families):
            mu, turn, k = (
                self.roots[family.root],
                rotations[family.root],
                len(family.parameter_derivatives) - 1,
            )
            for i, d in enumerate(self.degrees):
                lowered = falling_factorial(alpha + top, top - d)
                for m in range(k + 1):
                    # y^m = ((ζ - ζ̄)/(μ - μ̄))^m
                    factor = (
                        math.comb(k, m)
                        * family.parameter_derivatives[k - m, i]
                        * lowered
                        * falling_factorial(alpha + d, m)
                    )
                    for q in range(m + 1):
                        share = (-1) ** q * math.comb(m, q) / (mu - mu.conjugate()) ** m
                        out[:, j, i, q] += factor * share * turn ** (q - d) * turn.conjugate() ** (-q)
        return out


def symbol_of(rows: Sequence[Row], unknowns: int) -> Symbol | None:
    """Return the symbol of as many equations as unknowns; None if they are not elliptic."""
    if len(rows) != unknowns or not 0 < unknowns <= SYMBOL.max_unknowns:
        return None
    weights = _weights(_orders(rows, unknowns))
    if weights is None:
        return None
    s, t = weights
    A = _principal_values(rows, s, t)
    sizes = np.abs(A).max(axis=(0, 2), keepdims=True)
    if not np.isfinite(A).all() or not sizes.all():
        return None
    A = A / sizes
    upper = _upper_roots(A, sum(s) + sum(t))
    if upper is None:
        return None
    minors = np.fft.fft(_adjoint(A), axis=0) / SYMBOL.nodes  # coefficients of powers of μ
    clusters = _clusters(upper)
    families: list[SolutionFamily] = []
    for number, (root, times) in enumerate(clusters):
        found = _families(minors, root, times, number, tuple(t))
        if len(found) != times:
            return None
        families += found
    degrees = tuple(int(w - max(t)) for w in t)
    orders_of = tuple(int(w + max(t)) for w in s)
    return Symbol(degrees, tuple(root for root, _ in clusters), tuple(families), orders_of)


def _orders(rows: Sequence[Row], unknowns: int) -> Any:
    """Return the highest order of the derivatives of each unknown in each equation, -∞ if there are none."""
    out = np.full((unknowns, unknowns), -np.inf)
    for i, row in enumerate(rows):
        for (j, alpha), c in row.items():
            if c:
                out[i, j] = max(out[i, j], sum(alpha))
    return out


def _principal_values(rows: Sequence[Row], s: Sequence[int], t: Sequence[int]) -> Complexes:
    """Return A(1, μ) at the nodes μ on the unit circle, (nodes, equations, unknowns)."""
    mu = np.exp(2j * np.pi * np.arange(SYMBOL.nodes) / SYMBOL.nodes)
    A = np.zeros((SYMBOL.nodes, len(rows), len(rows)), dtype=complex)
    for i, row in enumerate(rows):
        for (j, alpha), c in row.items():
            if sum(alpha) == s[i] + t[j]:
                A[:, i, j] += c * mu ** alpha[1]
    return A


def _upper_roots(A: Complexes, degree: int) -> list[complex] | None:
    """Return the roots of det A(1, μ) in the upper half plane; None if it is not elliptic."""
    det = (np.fft.fft(np.linalg.det(A)) / SYMBOL.nodes)[: degree + 1].real
    if degree < 2 or degree % 2 or abs(det[-1]) < 1e-9 * np.abs(det).max() or abs(det[0]) == 0:
        return None
    upper = [complex(z) for z in np.roots(det[::-1]) if z.imag > 0]
    if len(upper) != degree // 2 or min(z.imag / abs(z) for z in upper) < SYMBOL.min_imaginary_ratio:
        return None
    return upper


def _weights(orders: Any) -> tuple[list[int], list[int]] | None:
    """Return weights s, t with s_i + t_j ≥ the order of A_ij and least sum; among these the most equal t."""
    n, highest = len(orders), np.max(orders)
    best: tuple[float, int, list[int], list[int]] | None = None
    if not 0 <= highest <= SYMBOL.max_weight:
        return None
    for t in product(range(int(highest) + 1), repeat=n):
        s = (orders - np.array(t)).max(axis=1)
        if not np.isfinite(s).all():
            return None
        key = float(s.sum() + sum(t)), max(t) - min(t)
        if max(t) == highest and (best is None or key < best[:2]):
            best = (*key, [int(v) for v in s], list(t))
    return None if best is None else best[2:]


def _adjoint(A: Complexes) -> Complexes:
    """Return the adjugate of each matrix, also of singular ones."""
    n = A.shape[1]
    out = np.ones_like(A)
    for i, j in product(range(n), repeat=2):
        minor = np.delete(np.delete(A, i, axis=1), j, axis=2)
        out[:, j, i] = (-1) ** (i + j) * np.linalg.det(minor)
    return out


def _clusters(roots: list[complex]) -> list[tuple[complex, int]]:
    """Return roots with multiplicities; the mean of a cluster is accurate to rounding."""
    out: list[list[complex]] = []
    for z in sorted(roots, key=lambda z: (round(z.real, 6), z.imag)):
        for group in out:
            if abs(z - np.mean(group)) < SYMBOL.same_root_tol * max(abs(z), 1.0):
                group.append(z)
                break
        else:
            out.append([z])
    found = []
    for group in out:
        root = complex(np.mean(group))
        neat = complex(round(root.real, 12), round(root.imag, 12))
        found.append((neat, len(group)))
    return found


def _families(
    minors: Any, root: complex, times: int, number: int, t: tuple[int, ...]
) -> list[SolutionFamily]:
    """Return as many independent families as the multiplicity of the root."""
    n = minors.shape[1]
    powers = np.arange(len(minors))
    size = np.abs(minors).max()
    parameter_derivatives = np.zeros((times, n, n), dtype=complex)
    for k in range(times):
        fall = np.array([math.perm(int(p), k) if p >= k else 0 for p in powers], dtype=float)
        shifted = np.where(powers >= k, root ** np.maximum(powers - k, 0), 0.0)
        parameter_derivatives[k] = np.tensordot(fall * shifted, minors, axes=(0, 0)) / size
    parameter_derivatives[np.abs(parameter_derivatives) < 1e-10] = 0.0
    degrees = tuple(int(w - max(t)) for w in t)
    out: list[SolutionFamily] = []
    span = np.empty((0, n * times), dtype=complex)
    for k in range(times):
        for j in range(n):
            family = SolutionFamily(number, parameter_derivatives[: k + 1, :, j])
            one = Symbol(degrees, (root,), (SolutionFamily(0, family.parameter_derivatives),))
            c = np.zeros((n, times), dtype=complex)
            c[:, : k + 1] = one.coefficients(_GENERIC, (1.0 + 0j,))[0, 0]
            vector = c.ravel()
            rest = vector - span.T @ (span.conj() @ vector)
            if np.linalg.norm(rest) > 1e-6 * max(float(np.linalg.norm(vector)), 1e-300) and vector.any():
                span = np.vstack([span, rest / np.linalg.norm(rest)])
                out.append(family)
                if len(out) == times:
                    return out
    return out


def falling_factorial(p: Complexes, k: int) -> Complexes:
    """Return p (p - 1) … (p - k + 1)."""
    out = np.ones_like(p)
    for i in range(k):
        out = out * (p - i)
    return out
