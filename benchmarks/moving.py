"""Evolutions in space: error, estimate, windows, seconds, beside a method of lines with SciPy's `solve_ivp`.

python -m benchmarks.moving run [NAME …]      each problem with seeds 0 to 4, and its peers
python -m benchmarks.moving table             what is stored, as the table of docs/guide/time.md

References are closed formulas or sums of images. The peers have a Fourier or Chebyshev grid whose size was
chosen by hand, with the exact solution known; pibls is given the problem alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp
from scipy.special import erf

import pibls
from benchmarks.evolutions import SEEDS, Evolution, Peer, Reference, best_of, ours, theirs

STORED = Path(__file__).resolve().parents[1] / "docs" / "data" / "moving.json"
x, y, t = sp.symbols("x y t")
u, v = sp.Function("u")(x, t), sp.Function("v")(x, t)
Rates = Callable[[float, Any], Any]


def sampled(box: Sequence[tuple[float, float]], *exact: Callable[..., Any]) -> Callable[[], Reference]:
    """Formulas at random points of the domain and at its end, sorted by time."""

    def made() -> Reference:
        rng = np.random.default_rng(5)
        X = np.column_stack([rng.uniform(a, b, 300) for a, b in box])
        X[-60:, -1] = box[-1][1]
        X = X[np.argsort(X[:, -1])]
        return Reference(X, np.array([f(*X.T) for f in exact]))

    return made


def formula(*expressions: Any) -> list[Callable[..., Any]]:
    return [sp.lambdify((x, t), e) for e in expressions]


def lines(rates: Rates, start: Any, grid: Any, stop: float, take: int, methods: Sequence[str]) -> list[Peer]:
    """Method of lines: the first ``take`` fields on the grid, read at the reference's points."""
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
            weights = grid.reader(reference.X[:, 0])
            return np.array([(weights * found.y[k * n : (k + 1) * n, where].T).sum(1) for k in range(take)])

        return Peer(method, run, (1e-6, 1e-8, 1e-10, 1e-12))

    return [peer(m) for m in methods]


class Ring:
    """n points round a ring, and what differentiates there."""

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
    """n + 1 points with both ends, and what differentiates there."""

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


def advection(speed: int) -> Evolution:
    ring = Ring(9, 0, 2 * np.pi)
    return Evolution(
        f"Advection round a ring, {speed}",
        lambda: pibls.Problem(
            pibls.Interval(x, 0, 2 * sp.pi).during(t, 0, 1),
            [u.diff(t) + speed * u.diff(x)],
            [pibls.Periodic(u, x), pibls.Initial(u, sp.sin(x))],
        ),
        sampled([(0, 2 * np.pi), (0, 1)], lambda a, b: np.sin(a - speed * b)),
        lambda: lines(
            lambda _, f: -speed * ring.d(f), np.sin(ring.nodes), ring, 1, 1, ["DOP853", "LSODA", "Radau"]
        ),
    )


def wave() -> Evolution:
    grid = Chebyshev(24, 0, 1)
    D2 = grid.D @ grid.D

    def rates(_: float, f: Any) -> Any:
        a, b = np.split(f, 2)
        out = np.concatenate([b, D2 @ a])
        out[[0, 24, 25, 49]] = 0
        return out

    start = np.concatenate([np.sin(2 * np.pi * grid.nodes), np.zeros(25)])
    return Evolution(
        "Wave to t = 10",
        lambda: pibls.Problem(
            pibls.Interval(x, 0, 1).during(t, 0, 10),
            [u.diff(t, 2) - u.diff(x, 2)],
            [pibls.Dirichlet(u, 0), pibls.Initial(u, sp.sin(2 * sp.pi * x)), pibls.Initial(u.diff(t), 0)],
        ),
        sampled([(0, 1), (0, 10)], *formula(sp.sin(2 * sp.pi * x) * sp.cos(2 * sp.pi * t))),
        lambda: lines(rates, start, grid, 10, 1, ["DOP853", "LSODA", "Radau"]),
        1e-8,
    )


def schroedinger() -> Evolution:
    grid = Chebyshev(20, 0, 1)
    D2 = 0.5 * grid.D @ grid.D

    def rates(_: float, f: Any) -> Any:
        a, b = np.split(f, 2)
        out = np.concatenate([-D2 @ b, D2 @ a])
        out[[0, 20, 21, 41]] = 0
        return out

    start = np.concatenate([np.sin(np.pi * grid.nodes), np.zeros(21)])
    omega = sp.pi**2 / 2
    return Evolution(
        "Schrödinger to t = 10",
        lambda: pibls.Problem(
            pibls.Interval(x, 0, 1).during(t, 0, 10),
            [u.diff(t) + v.diff(x, 2) / 2, v.diff(t) - u.diff(x, 2) / 2],
            [
                pibls.Dirichlet(u, 0),
                pibls.Dirichlet(v, 0),
                pibls.Initial(u, sp.sin(sp.pi * x)),
                pibls.Initial(v, 0),
            ],
        ),
        sampled(
            [(0, 1), (0, 10)],
            *formula(sp.sin(sp.pi * x) * sp.cos(omega * t), -sp.sin(sp.pi * x) * sp.sin(omega * t)),
        ),
        lambda: lines(rates, start, grid, 10, 2, ["DOP853", "LSODA", "Radau"]),
        1e-8,
    )


def shock() -> Evolution:
    nu = 0.01 / np.pi
    s, w = np.polynomial.hermite.hermgauss(200)

    def exact(a: Any, b: Any) -> Any:
        z = a[:, None] - np.sqrt(4 * nu * b)[:, None] * s
        log = -np.cos(np.pi * z) / (2 * np.pi * nu)
        f = w * np.exp(log - log.max(axis=1, keepdims=True))
        return -(np.sin(np.pi * z) * f).sum(1) / f.sum(1)

    ring = Ring(2048, -1, 1)
    return Evolution(
        "Burgers, nu = 0.01/pi",
        lambda: pibls.Problem(
            pibls.Interval(x, -1, 1).during(t, 0, 1),
            [u.diff(t) + u * u.diff(x) - 0.01 / sp.pi * u.diff(x, 2)],
            [pibls.Dirichlet(u, 0), pibls.Initial(u, -sp.sin(sp.pi * x))],
        ),
        sampled([(-1, 1), (0, 1)], exact),
        lambda: lines(
            lambda _, f: nu * ring.d(f, 2) - f * ring.d(f),
            -np.sin(np.pi * ring.nodes),
            ring,
            1,
            1,
            ["DOP853", "RK45"],
        ),
        1e-6,
    )


def solitons() -> Evolution:
    k1, k2 = 1, sp.Rational(3, 2)
    f1, f2 = (sp.exp(2 * k * (x - s) - 8 * k**3 * t) for k, s in ((k1, 2), (k2, -3)))
    F = 1 + f1 + f2 + ((k1 - k2) / (k1 + k2)) ** 2 * f1 * f2
    exact = formula(2 * (F * F.diff(x, 2) - F.diff(x) ** 2) / F**2)[0]
    ring = Ring(384, -25, 25)
    start = 2 * (F * F.diff(x, 2) - F.diff(x) ** 2).subs(t, 0) / F.subs(t, 0) ** 2
    return Evolution(
        "KdV, two solitons",
        lambda: pibls.Problem(
            pibls.Interval(x, -25, 25).during(t, 0, 1),
            [u.diff(t) + 6 * u * u.diff(x) + u.diff(x, 3)],
            [pibls.Periodic(u, x), pibls.Initial(u, start)],
        ),
        sampled([(-25, 25), (0, 1)], exact),
        lambda: lines(
            lambda _, f: -6 * f * ring.d(f) - ring.d(f, 3),
            exact(ring.nodes, 0 * ring.nodes),
            ring,
            1,
            1,
            ["BDF", "LSODA"],
        ),
        1e-6,
    )


def breather() -> Evolution:
    s, o = sp.Rational(4, 5), sp.Rational(3, 5)
    e = 4 * sp.atan(s / o * sp.cos(o * t) / sp.cosh(s * x))
    stop = 20 * np.pi / 0.6
    ring = Ring(256, -40, 40)

    def rates(_: float, f: Any) -> Any:
        a, b = np.split(f, 2)
        return np.concatenate([b, ring.d(a, 2) - np.sin(a)])

    first = formula(e)[0](ring.nodes, 0.0)
    return Evolution(
        "Sine-Gordon breather, ten periods",
        lambda: pibls.Problem(
            pibls.Interval(x, -40, 40).during(t, 0, sp.Float(stop)),
            [u.diff(t, 2) - u.diff(x, 2) + sp.sin(u)],
            [pibls.Periodic(u, x), pibls.Initial(u, e.subs(t, 0)), pibls.Initial(u.diff(t), 0)],
        ),
        sampled([(-40, 40), (0, stop)], *formula(e)),
        lambda: lines(rates, np.concatenate([first, 0 * first]), ring, stop, 1, ["DOP853", "LSODA"]),
        1e-6,
    )


def quenched() -> Evolution:
    def exact(a: Any, b: Any) -> Any:
        k = np.arange(-8, 9)[:, None]
        parts = [erf((a - 2 * k + s) / np.sqrt(4 * b)) for s in (-1, 0, 1)]
        return (parts[1] - 0.5 * (parts[0] + parts[2])).sum(axis=0)

    return Evolution(
        "A rod that is quenched at its ends",
        lambda: pibls.Problem(
            pibls.Interval(x, 0, 1).during(t, 0, 0.2),
            [u.diff(t) - u.diff(x, 2)],
            [pibls.Dirichlet(u, 0), pibls.Initial(u, 1)],
        ),
        sampled([(0, 1), (1e-4, 0.2)], exact),
        tol=1e-6,
    )


def payoff() -> Evolution:
    return Evolution(
        "Black-Scholes with its kink",
        lambda: pibls.Problem(
            pibls.Interval(x, 0, 400).during(t, 0, 1),
            [u.diff(t) - sp.Rational(1, 50) * x**2 * u.diff(x, 2) - x * u.diff(x) / 20 + u / 20],
            [
                pibls.Dirichlet(u, 0, on=sp.Eq(x, 0)),
                pibls.Dirichlet(u, x - 100 * sp.exp(-t / 20), on=sp.Eq(x, 400)),
                pibls.Initial(u, sp.Max(x - 100, 0)),
            ],
        ),
        lambda: Reference(np.array([[100.0, 1.0]]), np.array([[10.4505835721856]])),
        tol=1e-8,
    )


def drum() -> Evolution:
    w = sp.Function("w")(x, y, t)
    return Evolution(
        "Wave in a square, ten periods",
        lambda: pibls.Problem(
            pibls.Box({x: (0, 1), y: (0, 1)}).during(t, 0, 14),
            [w.diff(t, 2) - w.diff(x, 2) - w.diff(y, 2)],
            [
                pibls.Dirichlet(w, 0),
                pibls.Initial(w, sp.sin(sp.pi * x) * sp.sin(sp.pi * y)),
                pibls.Initial(w.diff(t), 0),
            ],
        ),
        sampled(
            [(0, 1), (0, 1), (0, 14)],
            lambda a, b, c: np.sin(np.pi * a) * np.sin(np.pi * b) * np.cos(np.sqrt(2) * np.pi * c),
        ),
        tol=1e-6,
    )


PROBLEMS = [
    advection(30), advection(100), advection(300), wave(), schroedinger(), shock(), solitons(), breather(),
    quenched(), payoff(), drum(),
]  # fmt: skip


def run(names: list[str]) -> None:
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    for evolution in PROBLEMS:
        if names and not any(n in evolution.name for n in names):
            continue
        reference = evolution.reference()
        rows = [ours(evolution, seed, reference) for seed in SEEDS]
        error = max(row["error"] for row in rows)
        peers = theirs(evolution, reference, error)
        stored[evolution.name] = {"tol": evolution.tol, "ours": rows, "peers": peers}
        STORED.write_text(json.dumps(stored, indent=1) + "\n")
        print(evolution.name, rows[0], best_of(peers, error), flush=True)


def table() -> str:
    """Markdown of what is stored: the worst of five seeds."""
    out = ["| problem | tol | error | estimate | windows | seconds | best of `solve_ivp`, its error |"]
    out.append("| --- | --- | --- | --- | --- | --- | --- |")
    for name, found in json.loads(STORED.read_text()).items():
        rows = found["ours"]
        error, estimate = max(r["error"] for r in rows), max(r["estimate"] for r in rows)
        best = best_of(found["peers"], error)
        beside = "" if best is None else f"{best['method']} {best['seconds']:.2f} s, {best['error']:.0e}"
        out.append(
            f"| {name} | {found['tol']:.0e} | {error:.0e} | {estimate:.0e} | {rows[0]['windows']} "
            f"| {rows[0]['seconds']:.2f} | {beside} |"
        )
    return "\n".join(out)


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2:])
    else:
        print(table())
