"""Method of lines: spectral grids with differentiation matrices, and time integration by `solve_ivp`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy as sp

from benchmarks.evolutions import Peer, Reference

x, y, t = sp.symbols("x y t")
Rates = Callable[[float, Any], Any]


def sampled_reference(
    box: Sequence[tuple[float, float]], *exact: Callable[..., Any]
) -> Callable[[], Reference]:
    """Return a reference from formulas at random points of the domain and at the end time, sorted by time."""

    def build() -> Reference:
        rng = np.random.default_rng(5)
        X = np.column_stack([rng.uniform(a, b, 300) for a, b in box])
        X[-60:, -1] = box[-1][1]
        X = X[np.argsort(X[:, -1])]
        return Reference(X, np.array([f(*X.T) for f in exact]))

    return build


def formula(*expressions: Any) -> list[Callable[..., Any]]:
    """Return NumPy functions of (x, t) for SymPy expressions."""
    return [sp.lambdify((x, t), e) for e in expressions]


def method_of_lines_peers(
    rates: Rates, start: Any, grid: Any, stop: float, take: int, methods: Sequence[str]
) -> list[Peer]:
    """Return peers by the method of lines; the first ``take`` fields are interpolated to the reference."""
    from scipy.integrate import solve_ivp

    def peer(method: str) -> Peer:
        def run(tolerance: float, reference: Reference) -> Any:
            times = np.unique(reference.X[:, -1])
            found = solve_ivp(
                rates, (0, stop), start, method=method, rtol=tolerance, atol=tolerance, t_eval=times
            )
            if not found.success:
                return None
            n = len(grid.nodes)
            where = np.searchsorted(times, reference.X[:, -1])
            weights = grid.reader(reference.X[:, 0] if reference.X.shape[1] == 2 else reference.X[:, :-1])
            return np.array([(weights * found.y[k * n : (k + 1) * n, where].T).sum(1) for k in range(take)])

        return Peer(method, run, (1e-6, 1e-8, 1e-10, 1e-12))

    return [peer(m) for m in methods]


class Ring:
    """Fourier grid of n points on a periodic interval."""

    def __init__(self, n: int, low: float, high: float) -> None:
        self.nodes = low + (high - low) * np.arange(n) / n
        self.k = 2 * np.pi / (high - low) * np.fft.fftfreq(n, 1.0 / n)
        self.low, self.length = low, high - low

    def d(self, f: Any, order: int = 1) -> Any:
        return np.fft.ifft((1j * self.k) ** order * np.fft.fft(f)).real

    def reader(self, X: Any) -> Any:
        n = len(self.nodes)
        s = np.pi * (X[:, None] - self.nodes) / self.length
        with np.errstate(all="ignore"):
            w = np.sin(n * s) / (n * (np.sin(s) if n % 2 else np.tan(s)))
        return np.where(np.isfinite(w), w, 1.0)


class Chebyshev:
    """Chebyshev grid of n + 1 points, end points included, with its differentiation matrix D."""

    def __init__(self, n: int, low: float, high: float) -> None:
        s = np.cos(np.pi * np.arange(n + 1) / n)
        c = np.r_[2, np.ones(n - 1), 2] * (-1.0) ** np.arange(n + 1)
        gaps = s[:, None] - s + np.eye(n + 1)
        D = np.outer(c, 1 / c) / gaps
        self.D = (D - np.diag(D.sum(1))) * 2 / (high - low)
        self.nodes, self.c = low + 0.5 * (s + 1) * (high - low), 1 / c

    def reader(self, X: Any) -> Any:
        gaps = X[:, None] - self.nodes
        with np.errstate(all="ignore"):
            w = self.c / gaps
            w = w / w.sum(1, keepdims=True)
        return np.where(np.isfinite(w), w, 1.0)


class Plane:
    """Tensor Chebyshev grid on the unit square with zero boundary values."""

    def __init__(self, n: int) -> None:
        self.line, self.n = Chebyshev(n, 0, 1), n
        self.D2 = self.line.D @ self.line.D
        self.X = np.stack(np.meshgrid(self.line.nodes, self.line.nodes, indexing="ij"), -1).reshape(-1, 2)
        self.nodes = self.X

    def laplace(self, f: Any) -> Any:
        F = f.reshape(self.n + 1, -1)
        return (self.D2 @ F + F @ self.D2.T).ravel()

    def inside(self, f: Any) -> Any:
        F = f.reshape(self.n + 1, -1).copy()
        F[[0, -1]], F[:, [0, -1]] = 0, 0
        return F.ravel()

    def reader(self, X: Any) -> Any:
        a, b = self.line.reader(X[:, 0]), self.line.reader(X[:, 1])
        return (a[:, :, None] * b[:, None, :]).reshape(len(X), -1)


class Panels:
    """Two Chebyshev grids that meet at a point, with continuous derivative there."""

    def __init__(self, n: int, low: float, middle: float, high: float) -> None:
        self.left, self.right, self.n = Chebyshev(n, low, middle), Chebyshev(n, middle, high), n
        self.nodes = np.concatenate([self.right.nodes, self.left.nodes[1:]])

    def slopes(self, f: Any) -> tuple[Any, Any]:
        """Return the first two derivatives; the middle value makes the first derivative continuous."""
        n = self.n
        a, b = f[: n + 1].copy(), np.concatenate([[0.0], f[n + 1 :]])
        D, E = self.right.D, self.left.D
        middle = (E[0, 1:] @ b[1:] - D[n, :n] @ a[:n]) / (D[n, n] - E[0, 0])
        a[n] = b[0] = middle
        first = np.concatenate([D @ a, (E @ b)[1:]])
        second = np.concatenate([D @ (D @ a), (E @ (E @ b))[1:]])
        return first, second


class Mapped:
    """Chebyshev grid clustered at the centre of (-1, 1): x = sinh(as)/sinh(a)."""

    def __init__(self, n: int, a: float) -> None:
        inner = Chebyshev(n, -1, 1)
        self.inner, self.a = inner, a
        self.nodes = np.sinh(a * inner.nodes) / np.sinh(a)
        self.D = inner.D * (np.sinh(a) / (a * np.cosh(a * inner.nodes)))[:, None]

    def reader(self, X: Any) -> Any:
        return self.inner.reader(np.arcsinh(X * np.sinh(self.a)) / self.a)


def integrating_factor_peer(
    rate: Any,
    nonlinear: Callable[[Any], Any],
    start: Any,
    ring: Ring,
    stop: float,
    parts: Callable[[Any], Any],
) -> list[Peer]:
    """Return a peer for û' = λû + f̂(u) by the integrating factor: (e^{-λt} û)' = e^{-λt} f̂."""
    from scipy.integrate import solve_ivp

    def run(tolerance: float, reference: Reference) -> Any:
        times = np.unique(reference.X[:, -1])

        def rates(time: float, w: Any) -> Any:
            e = np.exp(rate * time)
            return np.fft.fft(nonlinear(np.fft.ifft(e * w))) / e

        found = solve_ivp(
            rates,
            (0, stop),
            np.fft.fft(start + 0j),
            method="DOP853",
            rtol=tolerance,
            atol=tolerance,
            t_eval=times,
        )
        if not found.success:
            return None
        fields = np.fft.ifft(np.exp(rate[:, None] * times) * found.y, axis=0)
        where = np.searchsorted(times, reference.X[:, -1])
        weights = ring.reader(reference.X[:, 0])
        return np.array([(weights * part[:, where].T).sum(1) for part in parts(fields)])

    return [Peer("DOP853, integrating factor", run, (1e-6, 1e-8, 1e-10, 1e-12))]


def etdrk4_reference(
    ring: Ring, rates: Sequence[Any], nonlinear: Callable[[Any], Any], starts: Any, stop: float, steps: int
) -> Reference:
    """Solve û' = λû + f̂(u) by ETDRK4 (Cox and Matthews); return values at eight times on the grid."""
    h, n = stop / steps, len(ring.nodes)
    circle = np.exp(2j * np.pi * (np.arange(64) + 0.5) / 64)
    z = [h * np.asarray(r)[:, None] + circle for r in rates]
    full_step, half_step = (np.array([np.exp(c * h * np.asarray(r)) for r in rates]) for c in (1.0, 0.5))
    q = h * np.array([((np.exp(a / 2) - 1) / a).mean(1) for a in z])
    f1 = h * np.array([((-4 - a + np.exp(a) * (4 - 3 * a + a**2)) / a**3).mean(1) for a in z])
    f2 = h * np.array([((2 + a + np.exp(a) * (a - 2)) / a**3).mean(1) for a in z])
    f3 = h * np.array([((-4 - 3 * a - a**2 + np.exp(a) * (4 - a)) / a**3).mean(1) for a in z])

    def force(w: Any) -> Any:
        return np.fft.fft(nonlinear(np.fft.ifft(w, axis=1).real), axis=1)

    w = np.fft.fft(np.array(starts), axis=1)
    kept: list[tuple[float, Any]] = []
    for i in range(1, steps + 1):
        now = force(w)
        a = half_step * w + q * now
        on_a = force(a)
        b = half_step * w + q * on_a
        on_b = force(b)
        c = half_step * a + q * (2 * on_b - now)
        w = full_step * w + f1 * now + 2 * f2 * (on_a + on_b) + f3 * force(c)
        if i % (steps // 8) == 0:
            kept.append((i * h, np.fft.ifft(w, axis=1).real))
    some = slice(None, None, max(n // 64, 1))
    X = np.concatenate(
        [np.column_stack([ring.nodes[some], np.full(len(ring.nodes[some]), s)]) for s, _ in kept]
    )
    return Reference(X, np.concatenate([f[:, some] for _, f in kept], axis=1))
