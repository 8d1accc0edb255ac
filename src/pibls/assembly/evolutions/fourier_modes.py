r"""Real and complex Fourier modes along periodic coordinates, in which ∂_x is diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Complex, Indices
from pibls.runtime.caching import cached_property


@dataclass(frozen=True)
class FourierModes:
    """1, cos πξ, sin πξ, … along each coordinate, as 1, e^{iπξ}, e^{-iπξ}, …"""

    sizes: tuple[int, ...]
    half_periods: Array
    """Half of each period."""

    @cached_property
    def numbers(self) -> list[Indices]:
        """0, 1, -1, 2, -2, … along each coordinate."""
        out = []
        for n in self.sizes:
            k = np.zeros(n, dtype=np.intp)
            k[1::2], k[2::2] = np.arange(1, n // 2 + 1), -np.arange(1, n // 2 + 1)
            out.append(k)
        return out

    def symbol(self, alpha: Sequence[int]) -> Complex:
        """Return (iκ)^α, one entry for each product of modes."""
        out = np.ones(1, dtype=complex)
        for k, half, order in zip(self.numbers, self.half_periods, alpha, strict=True):
            out = (out[:, None] * (1j * np.pi * k / half) ** order).ravel()
        return out

    def from_values(self, values: Complex) -> Complex:
        """Map values at equidistant points (…, points, m) to coefficients of e^{iκx}."""
        shape = values.shape
        out = values.reshape(*shape[:-2], *self.sizes, shape[-1])
        for i, (n, k) in enumerate(zip(self.sizes, self.numbers, strict=True)):
            axis = len(shape) - 2 + i
            turned = np.exp(1j * np.pi * k * (1.0 - 1.0 / n)) / n
            out = np.take(np.fft.fft(out, axis=axis), k % n, axis=axis)
            out = out * turned.reshape(-1, *(1,) * (out.ndim - 1 - axis))
        return out.reshape(shape)

    def to_real(self, c: Complex) -> Complex:
        """Map coefficients of e^{iκx} (…, modes, m) to those of cosines and sines."""
        shape = c.shape
        out = c.reshape(*shape[:-2], *self.sizes, shape[-1]).copy()
        for i in range(len(self.sizes)):
            along = np.moveaxis(out, len(shape) - 2 + i, 0)
            up, down = along[1::2].copy(), along[2::2].copy()
            along[1::2], along[2::2] = up + down, 1j * (up - down)
        return out.reshape(shape)
