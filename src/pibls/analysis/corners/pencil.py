r"""D(α) c = 0: the powers r^α that equations and conditions allow at a corner.

Close to a corner only the highest derivatives count, with the coefficients that they have there. In each
sector the solutions of the degree α are known (`symbol`); the conditions on the sides, and those between
sectors of different materials, are as many linear equations for their coefficients, D(α). Where that matrix
is singular there is a solution without data: r^α φ(θ), with α real or complex. At whole numbers, which the
data bring, there are logarithms where it is singular, and powers that are no polynomials.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pibls.analysis.corners.symbol import Complexes, Symbol, falling
from pibls.analysis.thresholds import PENCIL, SINGULAR
from pibls.arrays import MultiIndex
from pibls.basis.singular.powers import expanded
from pibls.caching import cached_property
from pibls.deadline import go_on


@dataclass(frozen=True)
class Sector:
    """θ from ``start`` to ``stop``, in which one law holds."""

    start: float
    stop: float
    symbol: Symbol

    @property
    def middle(self) -> float:
        return 0.5 * (self.start + self.stop)

    @cached_property
    def turns(self) -> tuple[complex, ...]:
        """For each root e^{-iψ}, that turns x + μy on the middle of the sector onto the positive axis."""
        t = self.middle
        return tuple(cmath.exp(-1j * cmath.phase(math.cos(t) + mu * math.sin(t))) for mu in self.symbol.roots)


@dataclass(frozen=True)
class Tie:
    """Σ c ∂^α u_k = 0 at an angle: terms (sector, unknown, α, c) of one degree."""

    angle: float
    terms: tuple[tuple[int, int, MultiIndex, float], ...]


@dataclass(frozen=True)
class CornerPower:
    """Re Σ c ζ^p ζ̄^q logˡ ζ over terms (sector, unknown, root, p, q, l, c)."""

    degree: complex
    terms: tuple[tuple[int, int, int, complex, int, int, complex], ...]


def with_bessel(powers: Sequence[CornerPower], most: float) -> list[CornerPower]:
    """u and r^(2j) u: what a term c·u brings along, the same in all sectors, where the highest part is Δu."""
    out = list(powers)
    for power in powers:
        for j in range(1, int(0.5 * (most - power.degree.real)) + 1):
            terms = ((s, k, root, p + j, q + j, log, c) for s, k, root, p, q, log, c in power.terms)
            out.append(CornerPower(power.degree + 2 * j, tuple(terms)))
    return sorted(out, key=lambda p: p.degree.real)


@dataclass(frozen=True)
class Pencil:
    """D(α) of a corner."""

    sectors: tuple[Sector, ...]
    ties: tuple[Tie, ...]
    _memory: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def columns(self) -> int:
        return sum(2 * len(s.symbol.members) for s in self.sectors)

    @property
    def least(self) -> int:
        return max(s.symbol.least for s in self.sectors)

    @property
    def is_square(self) -> bool:
        return len(self.ties) == self.columns

    def matrix(self, alpha: Complexes) -> Complexes:
        """D(α), (n, ties, columns), for n values of α."""
        alpha = np.atleast_1d(np.asarray(alpha, dtype=complex))
        out = np.zeros((len(alpha), len(self.ties), self.columns), dtype=complex)
        start = 0
        for number, sector in enumerate(self.sectors):
            m = len(sector.symbol.members)
            # A solution of the conjugate family at α is the conjugate of one of the family at ᾱ.
            for part, conjugate in (
                (slice(start, start + m), False),
                (slice(start + m, start + 2 * m), True),
            ):
                at = alpha.conj() if conjugate else alpha
                c = sector.symbol.coefficients(at, sector.turns)
                for row, tie in enumerate(self.ties):
                    value = _applied(sector, number, tie, at, c)
                    out[:, row, part] = value.conj() if conjugate else value
            start += 2 * m
        return out

    @cached_property
    def _scale(self) -> Any:
        """Rows of about one size."""
        D = np.abs(self.matrix(np.array([0.7, 1.6, 2.3]))).max(axis=(0, 2))
        return np.where(D > 0, D, 1.0)

    def _slope(self, alpha: Complexes) -> Complexes:
        """tr(D⁻¹ D') = (log det D)'."""
        h = 1e-6
        both = self.matrix(np.concatenate([alpha, alpha + h])) / self._scale[:, None]
        D, ahead = both[: len(alpha)], both[len(alpha) :]
        with np.errstate(all="ignore"):
            at_root = ~np.isfinite(np.linalg.slogdet(D)[1])  # exactly: whole exponents are met so
            D[at_root] = np.eye(D.shape[1])
            solved = np.linalg.solve(D, (ahead - D) / h)
        return np.where(at_root, np.inf, np.trace(solved, axis1=1, axis2=2))

    def exponents(self, most: float) -> list[tuple[complex, int]]:
        """α with Re α < most, Im α ≥ 0, of finite energy, and how often each is a root."""
        angle = self.sectors[-1].stop - self.sectors[0].start
        step = 0.3 * min(math.pi / angle, 1.0)
        real = np.arange(self.least + 0.3 * step, most + step, step)
        strip = np.array(PENCIL.strip)[:, None] * min(2.0, math.pi / angle)
        alpha = (real[None, :] + 1j * (strip + 1e-3)).ravel()
        found: list[complex] = []
        # A double root comes closer by a half at each step: two steps for each digit of what is arrived.
        for _ in range(2 * math.ceil(-math.log2(1e-3 * PENCIL.circle))):
            go_on(__name__)
            with np.errstate(all="ignore"):
                move = 1.0 / self._slope(alpha)
            move = np.where(np.isfinite(move), move, 0.0)
            far = np.abs(move) > 2.0 * step
            move = np.where(far, 2.0 * step * move / np.maximum(np.abs(move), 1e-300), move)
            alpha = alpha - move
            # What has left the strip, or has arrived, need not go on; what comes to the same place neither.
            gone = (alpha.real < self.least - 0.5) | (alpha.real > most + 1.0) | (np.abs(alpha.imag) > 12.0)
            done = np.abs(move) < 1e-3 * PENCIL.circle
            found += [complex(a.real, abs(a.imag)) for a in alpha[done & ~gone]]
            alpha = alpha[~gone & ~done]
            alpha = alpha.real + 1j * np.abs(alpha.imag)
            _, first = np.unique(np.round(alpha, 4), return_index=True)
            alpha = alpha[first]
            if not len(alpha):
                break
        found += [complex(a) for a in alpha]  # those of a double root come closer slowly
        distinct: list[complex] = []
        for a in sorted(found, key=lambda a: (a.real, a.imag)):
            near = self.least + PENCIL.least < a.real < most
            if near and all(abs(a - b) > 0.5 * PENCIL.circle for b in distinct[-12:]):
                distinct.append(a)
        return self._counted(np.array(distinct))

    def _counted(self, alpha: Complexes) -> list[tuple[complex, int]]:
        """How many roots there are close to each α, and their centre."""
        if not len(alpha):
            return []
        # The mean over a circle is right but for what its points divide: roots elsewhere are ten radii away.
        around = PENCIL.circle * np.exp(2j * np.pi * (np.arange(12) + 0.5) / 12)
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
            centre = self._polished(centre) if times == 1 else centre
            if all(abs(centre - b) > 0.5 * PENCIL.circle for b, _ in out):
                out.append((centre, times))
        return out

    def _polished(self, alpha: complex) -> complex:
        for _ in range(2):
            move = 1.0 / complex(self._slope(np.array([alpha]))[0])
            if not np.isfinite(move) or abs(move) > PENCIL.circle:
                break
            alpha = alpha - (move if alpha.imag else move.real)
        return alpha

    def has(self, exponents: Sequence[tuple[complex, int]]) -> bool:
        """Whether these are exponents of it, all of them."""
        if not exponents:
            return False
        D = self.matrix(np.array([a for a, _ in exponents])) / self._scale[:, None]
        D = D / np.maximum(np.linalg.norm(D, axis=1, keepdims=True), 1e-8)
        sizes = np.linalg.svd(D, compute_uv=False)
        return bool(np.all(sizes[:, -1] < PENCIL.null * sizes[:, 0]))

    def powers(self, most: float, exponents: Sequence[tuple[complex, int]]) -> list[CornerPower]:
        """All functions of a degree below ``most``, real ones, with these exponents."""
        out: list[CornerPower] = []
        for alpha, count in exponents:
            if abs(alpha - round(alpha.real)) > SINGULAR.whole:
                out += self._at(alpha, count)
        for k in range(self.least, int(most) + 1):
            out += self._at_whole(k)
        return sorted(out, key=lambda p: p.degree.real)

    def _null(self, alpha: complex) -> tuple[Complexes, Complexes]:
        """Vectors c with D(α) c = 0, as columns, and D."""
        go_on(__name__)
        D = self.matrix(alpha)[0] / self._scale[:, None]
        size = np.maximum(np.linalg.norm(D, axis=0), 1e-8)
        _, sizes, V = np.linalg.svd(D / size)
        rank = int(np.sum(sizes > PENCIL.null * sizes[0]))
        return V[rank:].conj().T / size[:, None], D

    def _at(self, alpha: complex, count: int) -> list[CornerPower]:
        null, D = self._null(alpha)
        out: list[CornerPower] = []
        for c in null.T:
            out += self._real(alpha, c, None)
        if count > null.shape[1]:
            # A chain: r^α (log r φ + χ).
            slope = _derivative(self.matrix, alpha) / self._scale[:, None]
            for c in null.T:
                extra = np.linalg.lstsq(D, -slope @ c, rcond=PENCIL.null)[0]
                out += self._real(alpha, extra, c)
        return out

    def _at_whole(self, k: int) -> list[CornerPower]:
        """What is no polynomial at a whole degree: with it any smooth data can be met."""
        alpha = complex(k)
        out: list[CornerPower] = []
        for column in range(self.columns):
            go_on(__name__)
            c = np.zeros(self.columns, dtype=complex)
            c[column] = 1.0
            found = self._real(alpha, c, None, both=True)
            out += [p for p in found if any(t[3].real < -0.5 for t in p.terms)]
        null = self._bounded if k == self.least else self._null(alpha)[0]
        zero = np.zeros(self.columns, dtype=complex)
        for c in null.T:
            out += self._real(alpha, zero, c, both=True)
        return out

    @property
    def _bounded(self) -> Complexes:
        """b for which ∂_α U b is bounded at the least degree, and meets what is given of derivatives.

        log r at a point inside is a source there; θ between two values that differ is no such thing.
        """
        alpha, angles = complex(self.least), 7
        D = self.matrix(alpha)[0] / self._scale[:, None]
        slope = _derivative(self.matrix, alpha) / self._scale[:, None]
        high = [i for i, tie in enumerate(self.ties) if self._order(tie) > self.least]
        values = []
        for number, sector in enumerate(self.sectors):
            for k in range(len(sector.symbol.degrees)):
                for t in np.linspace(sector.start, sector.stop, angles):
                    values.append(Tie(float(t), ((number, k, (0, 0), 1.0),)))
        E = Pencil(self.sectors, tuple(values)).matrix(alpha)[0]
        _, sizes, V = np.linalg.svd(np.vstack([D, E, slope[high]]))
        rank = int(np.sum(sizes > 1e-3 * PENCIL.null**0.5 * sizes[0]))
        return V[rank:].conj().T

    def _order(self, tie: Tie) -> int:
        sector, k, beta, _ = tie.terms[0]
        return sum(beta) - self.sectors[sector].symbol.degrees[k]

    def _real(
        self, alpha: complex, c: Complexes, log: Complexes | None, *, both: bool = False
    ) -> list[CornerPower]:
        """Re and Im of U(α) c, or of U(α) c + ∂_α U(α) log; of a real power the larger of the two."""
        parts = [self._terms(alpha, c, log, phase) for phase in (1.0 + 0j, -1j)]
        if not both and abs(alpha.imag) < 1e-12:
            sizes = [sum(abs(t[-1]) for t in terms) for terms in parts]
            parts = [parts[int(np.argmax(sizes))]]
        return [CornerPower(alpha, terms) for terms in parts if terms]

    def _terms(self, alpha: complex, c: Complexes, log: Complexes | None, phase: complex) -> Any:
        """Σ over the members, with what belongs to the conjugate family conjugated: Re w = Re w̄."""
        out: dict[tuple[int, int, int, complex, int, int], complex] = {}
        start = 0
        for number, sector in enumerate(self.sectors):
            symbol, m = sector.symbol, len(sector.symbol.members)
            for conjugate in (False, True):
                at = alpha.conjugate() if conjugate else alpha
                table, slope = _with_slope(symbol, at, sector.turns)
                for j, member in enumerate(symbol.members):
                    column = start + m * conjugate + j
                    plain = phase * c[column]
                    logged = 0j if log is None else phase * log[column]
                    if conjugate:
                        plain, logged = plain.conjugate(), logged.conjugate()
                    for i, d in enumerate(symbol.degrees):
                        for q in range(table.shape[2]):
                            p = at + d - q
                            key = (number, i, member.root, p, q)
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


def _with_slope(symbol: Symbol, alpha: complex, turns: Sequence[complex]) -> tuple[Complexes, Complexes]:
    """The coefficients at α, (member, unknown, q), and their derivatives by α."""
    return symbol.coefficients(np.array([alpha]), turns)[0], _derivative(
        lambda a: symbol.coefficients(a, turns), alpha
    )


def _derivative(f: Callable[[Complexes], Complexes], alpha: complex) -> Complexes:
    """f'(α) from five points, h⁴ being rounding over h."""
    h = float(np.finfo(float).eps) ** 0.2
    c = f(alpha + h * np.array([-2.0, -1.0, 1.0, 2.0]))
    return np.asarray((c[0] - 8.0 * c[1] + 8.0 * c[2] - c[3]) / (12.0 * h))


def _applied(sector: Sector, number: int, tie: Tie, alpha: Complexes, c: Complexes) -> Complexes:
    """What a tie is of each member, (n, members), on the unit circle."""
    symbol = sector.symbol
    out = np.zeros((len(alpha), len(symbol.members)), dtype=complex)
    angle = tie.angle
    if abs(angle - sector.middle) > math.pi + 1e-6:  # around a point inside, the last sector meets the first
        angle -= 2.0 * math.pi * round((angle - sector.middle) / (2.0 * math.pi))
    for root, mu in enumerate(symbol.roots):
        turn = sector.turns[root]
        zeta = turn * (math.cos(angle) + mu * math.sin(angle))
        # Half a turn in θ is half a turn in ζ, so that no angle beside the cut is taken for the other one.
        half = abs(angle - sector.middle) > math.pi - 1e-9
        log = math.log(abs(zeta)) + 1j * (
            math.copysign(math.pi, angle - sector.middle) if half else cmath.phase(zeta)
        )
        mine = [j for j, member in enumerate(symbol.members) if member.root == root]
        for where, k, beta, factor in tie.terms:
            if where != number:
                continue
            for n, share in enumerate(expanded(beta, turn, turn * mu)):
                if not share:
                    continue
                order = sum(beta)
                for q in range(c.shape[3]):
                    if n > q:
                        continue
                    p = alpha + symbol.degrees[k] - q
                    value = factor * share * falling(p, order - n) * math.perm(q, n)
                    value = value * np.exp((p - (order - n)) * log + (q - n) * log.conjugate())
                    for j in mine:
                        out[:, j] += value * c[:, j, k, q]
    return out
