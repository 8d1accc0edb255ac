r"""Incompressible flow on a torus by a Fourier method of lines.

∂_t u = P(ν Δu - (u·∇)u), Δp = -∇·((u·∇)u).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.evolutions import Peer, Reference


class Torus:
    """Periodic grid of n × n points on (0, 2π)²; fields have shape (n, n)."""

    def __init__(self, n: int) -> None:
        self.n, self.nodes = n, 2 * np.pi * np.arange(n) / n
        self.k = np.fft.fftfreq(n, 1 / n)
        self.kx, self.ky = self.k[:, None], self.k[None, :]
        square = self.kx**2 + self.ky**2
        self.square = np.where(square > 0, square, 1.0)

    def gradient(self, F: Any) -> tuple[Any, Any]:
        """Return ∂f/∂x and ∂f/∂y for the transformed field F."""
        return np.fft.ifft2(1j * self.kx * F).real, np.fft.ifft2(1j * self.ky * F).real

    def convection_and_pressure(self, u: Any, v: Any) -> tuple[Any, Any, Any]:
        """Return the transforms of (u·∇)u, (u·∇)v and of the pressure with zero mean."""
        A, B = (np.fft.fft2(u * a + v * b) for a, b in (self.gradient(np.fft.fft2(f)) for f in (u, v)))
        return A, B, 1j * (self.kx * A + self.ky * B) / self.square

    def reader(self, X: Any) -> Any:
        """Return the matrix (points, n²) that evaluates a transformed field at X."""
        a, b = (np.exp(1j * np.outer(X[:, i], self.k)) / self.n for i in (0, 1))
        return (a[:, :, None] * b[:, None, :]).reshape(len(X), -1)


def flow_peers(n: int, nu: float, start: Any, level: Callable[[Any], Any], stop: float) -> list[Peer]:
    """Return peers for pressure and velocity at the reference points; ``level`` is the pressure at (0, 0)."""
    from scipy.integrate import solve_ivp

    torus = Torus(n)

    def rates(_: float, w: Any) -> Any:
        u, v = w.reshape(2, n, n)
        A, B, P = torus.convection_and_pressure(u, v)
        square = torus.kx**2 + torus.ky**2
        forces = ((u, A, torus.kx), (v, B, torus.ky))
        return np.array(
            [np.fft.ifft2(-nu * square * np.fft.fft2(f) - F - 1j * k * P).real for f, F, k in forces]
        ).ravel()

    def peer(method: str) -> Peer:
        def run(tolerance: float, reference: Reference) -> Any:
            times = np.unique(reference.X[:, -1])
            w = np.array(start(*np.meshgrid(torus.nodes, torus.nodes, indexing="ij"))).ravel()
            found = solve_ivp(rates, (0, stop), w, method, times, rtol=tolerance, atol=tolerance)
            if not found.success:
                return None
            fields = np.moveaxis(found.y.reshape(2, n, n, -1), -1, 1)
            where = np.searchsorted(times, reference.X[:, -1])
            pressures = np.array(
                [torus.convection_and_pressure(u, v)[2] for u, v in zip(*fields, strict=True)]
            )
            weights, origin = torus.reader(reference.X[:, :2]), torus.reader(np.zeros((1, 2)))[0]
            flat = [pressures.reshape(len(times), -1)]
            flat += [np.fft.fft2(f).reshape(len(times), -1) for f in fields]
            p, u, v = ((weights * f[where]).sum(1).real for f in flat)
            at_origin = (flat[0] @ origin).real[where]
            return np.array([p - at_origin + level(reference.X[:, -1]), u, v])

        return Peer(method, run, (1e-6, 1e-8, 1e-10, 1e-12))

    return [peer(m) for m in ("DOP853", "LSODA")]
