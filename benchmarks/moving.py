"""Time-dependent PDEs: error, estimate, windows and seconds, against the method of lines with `solve_ivp`.

python -m benchmarks.moving run [NAME …]      solve with seeds 0 to 4, and run the peers
python -m benchmarks.moving table             print the stored results as the table of docs/guide/time.md

References are closed formulas or sums of mirror images. The peers use Fourier or Chebyshev grids whose size
was chosen by hand, with the exact solution known; pibls gets the problem only.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp
from scipy.special import erf

import pibls
from benchmarks.evolutions import SEEDS, Evolution, Peer, Reference, best_run, measure_peers, measure_pibls
from benchmarks.method_of_lines import (
    Chebyshev,
    Mapped,
    Panels,
    Plane,
    Ring,
    formula,
    integrating_factor_peer,
    method_of_lines_peers,
    sampled_reference,
    t,
    x,
    y,
)
from benchmarks.moving_more import MORE

STORED = Path(__file__).resolve().parents[1] / "docs" / "data" / "moving.json"
u, v = sp.Function("u")(x, t), sp.Function("v")(x, t)


def advection(speed: int) -> Evolution:
    ring = Ring(9, 0, 2 * np.pi)
    return Evolution(
        f"Advection on a periodic interval, speed {speed}",
        lambda: pibls.Problem(
            pibls.Interval(x, 0, 2 * sp.pi).during(t, 0, 1),
            [u.diff(t) + speed * u.diff(x)],
            [pibls.Periodic(u, x), pibls.Initial(u, sp.sin(x))],
        ),
        sampled_reference([(0, 2 * np.pi), (0, 1)], lambda a, b: np.sin(a - speed * b)),
        lambda: method_of_lines_peers(
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
        sampled_reference([(0, 1), (0, 10)], *formula(sp.sin(2 * sp.pi * x) * sp.cos(2 * sp.pi * t))),
        lambda: method_of_lines_peers(rates, start, grid, 10, 1, ["DOP853", "LSODA", "Radau"]),
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
        sampled_reference(
            [(0, 1), (0, 10)],
            *formula(sp.sin(sp.pi * x) * sp.cos(omega * t), -sp.sin(sp.pi * x) * sp.sin(omega * t)),
        ),
        lambda: method_of_lines_peers(rates, start, grid, 10, 2, ["DOP853", "LSODA", "Radau"]),
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

    grid = Mapped(160, 5.0)
    D2 = grid.D @ grid.D

    def rates(_: float, f: Any) -> Any:
        out = nu * (D2 @ f) - f * (grid.D @ f)
        out[[0, -1]] = 0
        return out

    return Evolution(
        "Burgers, nu = 0.01/pi",
        lambda: pibls.Problem(
            pibls.Interval(x, -1, 1).during(t, 0, 1),
            [u.diff(t) + u * u.diff(x) - 0.01 / sp.pi * u.diff(x, 2)],
            [pibls.Dirichlet(u, 0), pibls.Initial(u, -sp.sin(sp.pi * x))],
        ),
        sampled_reference([(-1, 1), (0, 1)], exact),
        lambda: method_of_lines_peers(
            rates, -np.sin(np.pi * grid.nodes), grid, 1, 1, ["LSODA", "BDF", "Radau", "DOP853"]
        ),
        1e-6,
    )


def solitons() -> Evolution:
    k1, k2 = 1, sp.Rational(3, 2)
    f1, f2 = (sp.exp(2 * k * (x - s) - 8 * k**3 * t) for k, s in ((k1, 2), (k2, -3)))
    F = 1 + f1 + f2 + ((k1 - k2) / (k1 + k2)) ** 2 * f1 * f2
    exact = formula(2 * (F * F.diff(x, 2) - F.diff(x) ** 2) / F**2)[0]
    ring = Ring(512, -25, 25)
    start = 2 * (F * F.diff(x, 2) - F.diff(x) ** 2).subs(t, 0) / F.subs(t, 0) ** 2
    return Evolution(
        "KdV, two solitons",
        lambda: pibls.Problem(
            pibls.Interval(x, -25, 25).during(t, 0, 1),
            [u.diff(t) + 6 * u * u.diff(x) + u.diff(x, 3)],
            [pibls.Periodic(u, x), pibls.Initial(u, start)],
        ),
        sampled_reference([(-25, 25), (0, 1)], exact),
        lambda: integrating_factor_peer(
            1j * ring.k**3,
            lambda f: -6 * f.real * ring.d(f.real),
            exact(ring.nodes, 0 * ring.nodes),
            ring,
            1,
            lambda fields: [fields.real],
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
        sampled_reference([(-40, 40), (0, stop)], *formula(e)),
        lambda: method_of_lines_peers(
            rates, np.concatenate([first, 0 * first]), ring, stop, 1, ["DOP853", "LSODA"]
        ),
        1e-6,
    )


def quenched() -> Evolution:
    def exact(a: Any, b: Any) -> Any:
        k = np.arange(-8, 9)[:, None]
        parts = [erf((a - 2 * k + s) / np.sqrt(4 * b)) for s in (-1, 0, 1)]
        return (parts[1] - 0.5 * (parts[0] + parts[2])).sum(axis=0)

    grid = Chebyshev(96, 0, 1)
    D2 = grid.D @ grid.D

    def rates(_: float, f: Any) -> Any:
        f = f.copy()
        f[[0, -1]] = 0
        out = D2 @ f
        out[[0, -1]] = 0
        return out

    start = np.ones(97)
    start[[0, -1]] = 0
    return Evolution(
        "Quenched rod",
        lambda: pibls.Problem(
            pibls.Interval(x, 0, 1).during(t, 0, 0.2),
            [u.diff(t) - u.diff(x, 2)],
            [pibls.Dirichlet(u, 0), pibls.Initial(u, 1)],
        ),
        sampled_reference([(0, 1), (1e-4, 0.2)], exact),
        lambda: method_of_lines_peers(rates, start, grid, 0.2, 1, ["BDF", "Radau", "LSODA"]),
        1e-6,
    )


def payoff() -> Evolution:
    grid = Panels(40, 0, 100, 400)
    S = grid.nodes

    def rates(time: float, f: Any) -> Any:
        f = f.copy()
        f[0], f[-1] = 400 - 100 * np.exp(-time / 20), 0.0
        first, second = grid.slopes(f)
        out = S**2 * second / 50 + S * first / 20 - f / 20
        out[0], out[40], out[-1] = 5 * np.exp(-time / 20), 0.0, 0.0
        return out

    def peer(method: str) -> Peer:
        from scipy.integrate import solve_ivp

        def price(tolerance: float, reference: Reference) -> Any:
            found = solve_ivp(
                rates, (0, 1), np.maximum(S - 100, 0), method=method, rtol=tolerance, atol=tolerance
            )
            end = found.y[:, -1]
            right, left = grid.right.D, grid.left.D
            jump = left[0, 1:] @ end[41:] - right[40, :40] @ end[:40]
            return np.array([[jump / (right[40, 40] - left[0, 0])]]) if found.success else None

        return Peer(method, price, (1e-6, 1e-8, 1e-10, 1e-12))

    return Evolution(
        "Black-Scholes, payoff with a kink",
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
        lambda: [peer(method) for method in ("BDF", "Radau", "LSODA")],
        1e-8,
    )


def drum() -> Evolution:
    w = sp.Function("w")(x, y, t)
    plane = Plane(14)

    def rates(_: float, f: Any) -> Any:
        a, b = np.split(f, 2)
        return np.concatenate([b, plane.inside(plane.laplace(a))])

    shape = np.sin(np.pi * plane.X[:, 0]) * np.sin(np.pi * plane.X[:, 1])
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
        sampled_reference(
            [(0, 1), (0, 1), (0, 14)],
            lambda a, b, c: np.sin(np.pi * a) * np.sin(np.pi * b) * np.cos(np.sqrt(2) * np.pi * c),
        ),
        lambda: method_of_lines_peers(
            rates, np.concatenate([shape, 0 * shape]), plane, 14, 1, ["DOP853", "LSODA"]
        ),
        1e-6,
    )


PROBLEMS = [
    advection(30), advection(100), advection(300), wave(), schroedinger(), shock(), solitons(), breather(),
    quenched(), payoff(), drum(), *MORE,
]  # fmt: skip


def run(names: list[str]) -> None:
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    for evolution in PROBLEMS:
        if names and not any(n in evolution.name for n in names):
            continue
        reference = evolution.reference()
        rows = [measure_pibls(evolution, seed, reference, repeats=1) for seed in SEEDS]
        error = max(row["error"] for row in rows)
        peers = measure_peers(evolution, reference, error)
        stored[evolution.name] = {"tol": evolution.tol, "ours": rows, "peers": peers}
        STORED.write_text(json.dumps(stored, indent=1) + "\n")
        print(evolution.name, rows[0], best_run(peers, error), flush=True)


def table() -> str:
    """Return the Markdown table of stored results: the largest values of five seeds."""
    out = ["| problem | tol | error | estimate | windows | seconds | best of `solve_ivp`, its error |"]
    out.append("| --- | --- | --- | --- | --- | --- | --- |")
    for name, found in json.loads(STORED.read_text()).items():
        rows = found["ours"]
        error, estimate = max(r["error"] for r in rows), max(r["estimate"] for r in rows)
        best = best_run(found["peers"], error)
        peer_text = "" if best is None else f"{best['method']} {best['seconds']:.2f} s, {best['error']:.0e}"
        out.append(
            f"| {name} | {found['tol']:.0e} | {error:.0e} | {estimate:.0e} | {rows[0]['windows']} "
            f"| {min(r['seconds'] for r in rows):.2f} | {peer_text} |"
        )
    return "\n".join(out)


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2:])
    else:
        print(table())
