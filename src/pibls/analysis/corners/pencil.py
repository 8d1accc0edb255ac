r"""Operator pencil D(α) of a corner: the powers r^α that equations and conditions allow.

Close to a corner only the highest derivatives matter, with their coefficients at the corner. In each sector
the solutions of degree α are known (`symbol`); the conditions on the sides and those between sectors of
different materials are linear equations D(α) c = 0 for their coefficients. Where D(α) is singular, there is a
homogeneous solution r^α φ(θ), with α real or complex. At integers, which occur in the data, a singular D(α)
gives logarithms, and there are powers that are not polynomials.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pibls.analysis.corners.symbol import Complexes, Symbol, falling_factorial
from pibls.analysis.thresholds import PENCIL, SCALAR_CORNERS
from pibls.arrays import MultiIndex
from pibls.basis.singular.powers import wirtinger_coefficients
from pibls.runtime.caching import cached_property
from pibls.runtime.deadline import check_deadline


@dataclass(frozen=True)
class Sector:
    """The sector from the angle ``start`` to ``stop``, with the symbol of its equations."""

    start: float
    stop: float
    symbol: Symbol

    @property
    def middle(self) -> float:
        return 0.5 * (self.start + self.stop)

    @cached_property
    def rotations(self) -> tuple[complex, ...]:
        """Per root μ the factor e^{-iψ} that rotates x + μy on the bisector to the positive real axis."""
        t = self.middle
        return tuple(cmath.exp(-1j * cmath.phase(math.cos(t) + mu * math.sin(t))) for mu in self.symbol.roots)


@dataclass(frozen=True)
class PencilCondition:
    """Condition Σ c ∂^α u_k = 0 on the ray at an angle: terms (sector, unknown, α, c) of one degree."""

    angle: float
    terms: tuple[tuple[int, int, MultiIndex, float], ...]


@dataclass(frozen=True)
class CornerPower:
    """Corner function Re Σ c ζ^p ζ̄^q logˡ ζ with terms (sector, unknown, root, p, q, l, c)."""

    degree: complex
    terms: tuple[tuple[int, int, int, complex, int, int, complex], ...]


def with_bessel(powers: Sequence[CornerPower], most: float) -> list[CornerPower]:
    """Add r^(2j) u to each power u: the functions for Δu + c·u with c equal in all sectors."""
    out = list(powers)
    for power in powers:
        for j in range(1, int(0.5 * (most - power.degree.real)) + 1):
            terms = ((s, k, root, p + j, q + j, log, c) for s, k, root, p, q, log, c in power.terms)
            out.append(CornerPower(power.degree + 2 * j, tuple(terms)))
    return sorted(out, key=lambda p: p.degree.real)


@dataclass(frozen=True)
class Pencil:
    """The operator pencil D(α) of a corner."""

    sectors: tuple[Sector, ...]
    conditions: tuple[PencilCondition, ...]
    _memory: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def columns(self) -> int:
        return sum(2 * len(s.symbol.families) for s in self.sectors)

    @property
    def min_degree(self) -> int:
        return max(s.symbol.min_degree for s in self.sectors)

    @property
    def is_square(self) -> bool:
        return len(self.conditions) == self.columns

    def matrix(self, alpha: Complexes) -> Complexes:
        """Return D(α), (n, conditions, columns), for n values of α."""
        alpha = np.atleast_1d(np.asarray(alpha, dtype=complex))
        out = np.zeros((len(alpha), len(self.conditions), self.columns), dtype=complex)
        start = 0
        for number, sector in enumerate(self.sectors):
            m = len(sector.symbol.families)
            # A solution of the conjugate family at α is the conjugate of a solution of the family at ᾱ.
            for part, conjugate in (
                (slice(start, start + m), False),
                (slice(start + m, start + 2 * m), True),
            ):
                at = alpha.conj() if conjugate else alpha
                c = sector.symbol.coefficients(at, sector.rotations)
                for row, condition in enumerate(self.conditions):
                    value = _apply_condition(sector, number, condition, at, c)
                    out[:, row, part] = value.conj() if conjugate else value
            start += 2 * m
        return out

    @cached_property
    def _scale(self) -> Any:
        """Row scales of D."""
        D = np.abs(self.matrix(np.array([0.7, 1.6, 2.3]))).max(axis=(0, 2))
        return np.where(D > 0, D, 1.0)

    def _slope(self, alpha: Complexes) -> Complexes:
        """Return (log det D)' = tr(D⁻¹ D')."""
        h = 1e-6
        both = self.matrix(np.concatenate([alpha, alpha + h])) / self._scale[:, None]
        D, ahead = both[: len(alpha)], both[len(alpha) :]
        with np.errstate(all="ignore"):
            at_root = ~np.isfinite(np.linalg.slogdet(D)[1])  # exact zeros occur at integer exponents
            D[at_root] = np.eye(D.shape[1])
            solved = np.linalg.solve(D, (ahead - D) / h)
        return np.where(at_root, np.inf, np.trace(solved, axis1=1, axis2=2))

    def exponents(self, most: float) -> list[tuple[complex, int]]:
        """Return α of finite energy with Re α < most and Im α ≥ 0, and their multiplicities."""
        angle = self.sectors[-1].stop - self.sectors[0].start
        step = 0.3 * min(math.pi / angle, 1.0)
        real = np.arange(self.min_degree + 0.3 * step, most + step, step)
        strip = np.array(PENCIL.imaginary_starts)[:, None] * min(2.0, math.pi / angle)
        alpha = (real[None, :] + 1j * (strip + 1e-3)).ravel()
        found: list[complex] = []
        # Newton's method halves the distance to a double root per step: two steps per bit of the tolerance.
        for _ in range(2 * math.ceil(-math.log2(1e-3 * PENCIL.root_circle_radius))):
            check_deadline(__name__)
            with np.errstate(all="ignore"):
                move = 1.0 / self._slope(alpha)
            move = np.where(np.isfinite(move), move, 0.0)
            far = np.abs(move) > 2.0 * step
            move = np.where(far, 2.0 * step * move / np.maximum(np.abs(move), 1e-300), move)
            alpha = alpha - move
            # Drop iterates that left the strip, converged, or coincide with another one.
            gone = (
                (alpha.real < self.min_degree - 0.5) | (alpha.real > most + 1.0) | (np.abs(alpha.imag) > 12.0)
            )
            done = np.abs(move) < 1e-3 * PENCIL.root_circle_radius
            found += [complex(a.real, abs(a.imag)) for a in alpha[done & ~gone]]
            alpha = alpha[~gone & ~done]
            alpha = alpha.real + 1j * np.abs(alpha.imag)
            _, first = np.unique(np.round(alpha, 4), return_index=True)
            alpha = alpha[first]
            if not len(alpha):
                break
        found += [complex(a) for a in alpha]  # slow convergence to a double root
        distinct: list[complex] = []
        for a in sorted(found, key=lambda a: (a.real, a.imag)):
            near = self.min_degree + PENCIL.min_power < a.real < most
            if near and all(abs(a - b) > 0.5 * PENCIL.root_circle_radius for b in distinct[-12:]):
                distinct.append(a)
        return self._with_multiplicities(np.array(distinct))

    def _with_multiplicities(self, alpha: Complexes) -> list[tuple[complex, int]]:
        """Return the multiplicity and the centre of the roots close to each α, by contour integrals."""
        if not len(alpha):
            return []
        # The trapezoidal rule on the circle is accurate: other roots are ten radii away.
        around = PENCIL.root_circle_radius * np.exp(2j * np.pi * (np.arange(12) + 0.5) / 12)
        slope = self._slope((alpha[:, None] + around).ravel()).reshape(len(alpha), len(around))
        out: list[tuple[complex, int]] = []
        moments = np.mean(slope * around, axis=1), np.mean(slope * around * around, axis=1)
        for a, count, moment in zip(alpha, *moments, strict=True):
            if not np.isfinite(count):
                continue
            times = round(float(count.real))
            if times <= 0 or abs(count - times) > 0.2:
                continue
            centre = complex(a + moment / times)
            if abs(centre.imag) < 1e-7:
                centre = complex(centre.real, 0.0)
            centre = self._refined(centre) if times == 1 else centre
            if all(abs(centre - b) > 0.5 * PENCIL.root_circle_radius for b, _ in out):
                out.append((centre, times))
        return out

    def _refined(self, alpha: complex) -> complex:
        for _ in range(2):
            move = 1.0 / complex(self._slope(np.array([alpha]))[0])
            if not np.isfinite(move) or abs(move) > PENCIL.root_circle_radius:
                break
            alpha = alpha - (move if alpha.imag else move.real)
        return alpha

    def has_exponents(self, exponents: Sequence[tuple[complex, int]]) -> bool:
        """Whether all of these are exponents of the pencil."""
        if not exponents:
            return False
        D = self.matrix(np.array([a for a, _ in exponents])) / self._scale[:, None]
        D = D / np.maximum(np.linalg.norm(D, axis=1, keepdims=True), 1e-8)
        sizes = np.linalg.svd(D, compute_uv=False)
        return bool(np.all(sizes[:, -1] < PENCIL.null_tol * sizes[:, 0]))

    def powers(self, most: float, exponents: Sequence[tuple[complex, int]]) -> list[CornerPower]:
        """Return all real corner functions of a degree below ``most`` with these exponents."""
        out: list[CornerPower] = []
        for alpha, count in exponents:
            if abs(alpha - round(alpha.real)) > SCALAR_CORNERS.integer_tol:
                out += self._at(alpha, count)
        for k in range(self.min_degree, int(most) + 1):
            out += self._integer_powers(k)
        return sorted(out, key=lambda p: p.degree.real)

    def _null_space(self, alpha: complex) -> tuple[Complexes, Complexes]:
        """Return the null space of D(α), as columns, and D."""
        check_deadline(__name__)
        D = self.matrix(alpha)[0] / self._scale[:, None]
        size = np.maximum(np.linalg.norm(D, axis=0), 1e-8)
        _, sizes, V = np.linalg.svd(D / size)
        rank = int(np.sum(sizes > PENCIL.null_tol * sizes[0]))
        return V[rank:].conj().T / size[:, None], D

    def _at(self, alpha: complex, count: int) -> list[CornerPower]:
        null, D = self._null_space(alpha)
        out: list[CornerPower] = []
        for c in null.T:
            out += self._real(alpha, c, None)
        if count > null.shape[1]:
            # A Jordan chain: r^α (log r φ + χ).
            slope = _derivative(self.matrix, alpha) / self._scale[:, None]
            for c in null.T:
                extra = np.linalg.lstsq(D, -slope @ c, rcond=PENCIL.null_tol)[0]
                out += self._real(alpha, extra, c)
        return out

    def _integer_powers(self, k: int) -> list[CornerPower]:
        """Return the functions of degree k that are not polynomials, which smooth data may need."""
        alpha = complex(k)
        out: list[CornerPower] = []
        for column in range(self.columns):
            check_deadline(__name__)
            c = np.zeros(self.columns, dtype=complex)
            c[column] = 1.0
            found = self._real(alpha, c, None, both=True)
            out += [p for p in found if any(t[3].real < -0.5 for t in p.terms)]
        null = self._bounded_vectors if k == self.min_degree else self._null_space(alpha)[0]
        zero = np.zeros(self.columns, dtype=complex)
        for c in null.T:
            out += self._real(alpha, zero, c, both=True)
        return out

    @property
    def _bounded_vectors(self) -> Complexes:
        """Vectors b for which ∂_α U b is bounded at the least degree and satisfies the derivative conditions.

        log r at an interior point is a point source and is excluded; θ between two different values is not.
        """
        alpha, angles = complex(self.min_degree), 7
        D = self.matrix(alpha)[0] / self._scale[:, None]
        slope = _derivative(self.matrix, alpha) / self._scale[:, None]
        high = [i for i, condition in enumerate(self.conditions) if self._order(condition) > self.min_degree]
        values = []
        for number, sector in enumerate(self.sectors):
            for k in range(len(sector.symbol.degrees)):
                for t in np.linspace(sector.start, sector.stop, angles):
                    values.append(PencilCondition(float(t), ((number, k, (0, 0), 1.0),)))
        E = Pencil(self.sectors, tuple(values)).matrix(alpha)[0]
        _, sizes, V = np.linalg.svd(np.vstack([D, E, slope[high]]))
        rank = int(np.sum(sizes > 1e-3 * PENCIL.null_tol**0.5 * sizes[0]))
        return V[rank:].conj().T

    def _order(self, condition: PencilCondition) -> int:
        sector, k, beta, _ = condition.terms[0]
        return sum(beta) - self.sectors[sector].symbol.degrees[k]

    def _real(
        self, alpha: complex, c: Complexes, log: Complexes | None, *, both: bool = False
    ) -> list[CornerPower]:
        """Return Re and Im of U(α) c, or of U(α) c + ∂_α U(α) log; for a real power only the larger one."""
        parts = [self._terms(alpha, c, log, phase) for phase in (1.0 + 0j, -1j)]
        if not both and abs(alpha.imag) < 1e-12:
            sizes = [sum(abs(t[-1]) for t in terms) for terms in parts]
            parts = [parts[int(np.argmax(sizes))]]
        return [CornerPower(alpha, terms) for terms in parts if terms]

    def _terms(self, alpha: complex, c: Complexes, log: Complexes | None, phase: complex) -> Any:
        """Return the terms of all families; those of conjugate families are conjugated, as Re w = Re w̄."""
        out: dict[tuple[int, int, int, complex, int, int], complex] = {}
        start = 0
        for number, sector in enumerate(self.sectors):
            symbol, m = sector.symbol, len(sector.symbol.families)
            for conjugate in (False, True):
                at = alpha.conjugate() if conjugate else alpha
                table, slope = _with_slope(symbol, at, sector.rotations)
                for j, family in enumerate(symbol.families):
                    column = start + m * conjugate + j
                    plain = phase * c[column]
                    logged = 0j if log is None else phase * log[column]
                    if conjugate:
                        plain, logged = plain.conjugate(), logged.conjugate()
                    for i, d in enumerate(symbol.degrees):
                        for q in range(table.shape[2]):
                            p = at + d - q
                            key = (number, i, family.root, p, q)
                            first = plain * table[j, i, q] + logged * slope[j, i, q]
                            out[*key, 0] = out.get((*key, 0), 0j) + first
                            out[*key, 1] = out.get((*key, 1), 0j) + logged * table[j, i, q]
            start += 2 * m
        size = max(map(abs, out.values()), default=0.0)
        kept = {key: v for key, v in out.items() if abs(v) > 1e-12 * size and not _is_imaginary(key, v, size)}
        return tuple((*key, v) for key, v in kept.items()) if size > 1e-9 else ()


def _is_imaginary(key: Any, c: complex, size: float) -> bool:
    """Whether Re(c ζ⁰) is zero."""
    _, _, _, p, q, log = key
    return not p and not q and not log and abs(c.real) < 1e-12 * size


def _with_slope(symbol: Symbol, alpha: complex, rotations: Sequence[complex]) -> tuple[Complexes, Complexes]:
    """Return the coefficients at α, (family, unknown, q), and their derivatives with respect to α."""
    return symbol.coefficients(np.array([alpha]), rotations)[0], _derivative(
        lambda a: symbol.coefficients(a, rotations), alpha
    )


def _derivative(f: Callable[[Complexes], Complexes], alpha: complex) -> Complexes:
    """Return f'(α) by a five-point formula, with h⁴ equal to rounding over h."""
    h = float(np.finfo(float).eps) ** 0.2
    c = f(alpha + h * np.array([-2.0, -1.0, 1.0, 2.0]))
    return np.asarray((c[0] - 8.0 * c[1] + 8.0 * c[2] - c[3]) / (12.0 * h))


def _apply_condition(
    sector: Sector, number: int, condition: PencilCondition, alpha: Complexes, c: Complexes
) -> Complexes:
    """Return a condition applied to each family on the unit circle, (n, families)."""
    symbol = sector.symbol
    out = np.zeros((len(alpha), len(symbol.families)), dtype=complex)
    angle = condition.angle
    if (
        abs(angle - sector.middle) > math.pi + 1e-6
    ):  # around an interior point the last sector meets the first
        angle -= 2.0 * math.pi * round((angle - sector.middle) / (2.0 * math.pi))
    for root, mu in enumerate(symbol.roots):
        turn = sector.rotations[root]
        zeta = turn * (math.cos(angle) + mu * math.sin(angle))
        # θ = ±π corresponds to arg ζ = ±π; rounding must not choose the other side of the branch cut.
        half = abs(angle - sector.middle) > math.pi - 1e-9
        log = math.log(abs(zeta)) + 1j * (
            math.copysign(math.pi, angle - sector.middle) if half else cmath.phase(zeta)
        )
        mine = [j for j, family in enumerate(symbol.families) if family.root == root]
        for where, k, beta, factor in condition.terms:
            if where != number:
                continue
            for n, share in enumerate(wirtinger_coefficients(beta, turn, turn * mu)):
                if not share:
                    continue
                order = sum(beta)
                for q in range(c.shape[3]):
                    if n > q:
                        continue
                    p = alpha + symbol.degrees[k] - q
                    value = factor * share * falling_factorial(p, order - n) * math.perm(q, n)
                    value = value * np.exp((p - (order - n)) * log + (q - n) * log.conjugate())
                    for j in mine:
                        out[:, j] += value * c[:, j, k, q]
    return out
