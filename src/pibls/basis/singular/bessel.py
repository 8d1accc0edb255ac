r"""Regular Bessel functions of noninteger order, Γ(p+1) (2/κ)ᵖ Z_p(κr) e^{ipθ} = zᵖ E_p(κr) with Z = J or I.

They solve Δu ± κ²u = 0 as zᵖ solves Δu = 0. The factor is E_ν = Σ (τx²/4)ᵐ/(m! (ν+1)…(ν+m)), with τ = -1 for
J and 1 for I. At high orders the series has no cancellation; downwards, the recurrence E_{ν-1} = E_ν +
τx²/(4ν(ν+1)) E_{ν+1} is stable. Derivatives are ∂ᵃ∂̄ᵇ (zᵖ E_p) = (τκ²/4)ᵇ zᵖ⁻ˢ D_s with s = a - b, D_0 = E_p,
D_{s+1} = (p - s) D_s + τx²/4 D_{s-1}.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pibls.arrays import Array

_MAX_SERIES_RATIO = 4.0  # (x²/4)/ν up to which the series loses no digit
_TERMS = 80
_INTEGER_TOLERANCE = 1e-9  # orders whose difference is an integer up to this are in one chain

_NONE = np.empty(0)

Pair = tuple[Array, Array]
"""A function of ν and its derivative with respect to ν."""


class RegularBesselFactors:
    """E_p and the factors of its derivatives, for powers p ≥ 0 at points with x²/4 = ``quarter``.

    ``slopes`` are the powers p whose derivative with respect to p is also computed.
    """

    def __init__(
        self, powers: Iterable[float], slopes: Iterable[float], quarter: Array, tau: float, most: int
    ) -> None:
        self._turned, self._most = tau * quarter, most
        self._largest = float(quarter.max(initial=0.0))
        self._known: dict[tuple[float, int], Pair] = {}
        self._slopes = set(slopes)
        chains: list[list[float]] = []
        for p in sorted(set(powers)):
            for chain in chains:
                if abs((p - chain[0]) - round(p - chain[0])) < _INTEGER_TOLERANCE:
                    chain.append(p)
                    break
            else:
                chains.append([p])
        self._found: dict[float, list[Pair]] = {}
        for chain in chains:
            self._descend(chain)

    def _descend(self, chain: list[float]) -> None:
        """Compute a chain of powers that differ by integers, by downward recurrence from a high order."""
        low, sloping = chain[0], not self._slopes.isdisjoint(chain)
        wanted = {round(p - low): p for p in chain}
        highest = max(wanted) + self._most + 1
        top = max(highest, int(self._largest / _MAX_SERIES_RATIO - low) + 1)
        above, here = self._series(low + top + 1, sloping), self._series(low + top, sloping)
        kept = {top + 1: above, top: here}
        for n in range(top, 0, -1):
            nu = low + n
            step = self._turned / (nu * (nu + 1.0))
            value, slope = step * above[0], _NONE
            value += here[0]
            if sloping:
                bend = 1.0 / nu + 1.0 / (nu + 1.0)
                slope = here[1] + step * (above[1] - bend * above[0])
            above, here = here, (value, slope)
            if n - 1 <= highest:
                kept[n - 1] = here
        for n, p in wanted.items():
            self._found[p] = [kept[n + k] for k in range(self._most + 2)]

    def _series(self, nu: float, sloping: bool) -> Pair:
        """Return E_ν (and its derivative) by Horner's rule, from the last significant term."""
        sizes = np.cumprod([self._largest / (m * (nu + m)) for m in range(1, _TERMS)])
        last = 1 + int(np.argmax(sizes < 1e-18)) if sizes[-1] < 1e-18 else _TERMS
        value, slope = np.ones_like(self._turned), _NONE
        if sloping:
            slope = np.zeros_like(value)
        for m in range(last, 0, -1):
            step = self._turned / (m * (nu + m))
            if sloping:
                slope = step * (slope - value / (nu + m))
            value *= step
            value += 1.0
        return value, slope

    def factor(self, p: float, s: int) -> Pair:
        """Return D_s and its derivative with respect to ν, up to a multiple of D_s independent of s."""
        if (p, s) not in self._known:
            sloping = p in self._slopes
            if s <= 0:
                value, by_nu = self._found[p][-s]
                scale, bend = 1.0, 0.0
                for k in range(1, 1 - s):
                    scale, bend = scale / (p + k), bend + 1.0 / (p + k)
                self._known[p, s] = scale * value, scale * (by_nu - bend * value) if sloping else _NONE
            else:
                (one, slope), (two, other) = self.factor(p, s - 1), self.factor(p, s - 2)
                n = p - s + 1
                value = n * one + self._turned * two
                self._known[p, s] = value, one + n * slope + self._turned * other if sloping else _NONE
        return self._known[p, s]
