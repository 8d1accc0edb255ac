"""Hard problems in cells: error, estimate, cells and processor seconds, beside NGSolve at the same tolerance.

Layers, fronts, peaks, waves, walls of several materials: what one smooth basis does not resolve. Each problem
is solved with nothing but its tolerance, for seeds 0 to 4, and compared with a solution that owes nothing to
the solver. NGSolve (one thread) gets the first of a list of meshes and orders that meets the tolerance, found
beforehand, and its time is that of mesh, assembly and solve there alone. Results are stored as they come:

    python -m benchmarks.hard_cells [name ...] [--seeds 0 1 2 3 4] [--limit 120]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pibls
from benchmarks.measure import threads
from pibls.arrays import Array

STORE = Path(__file__).resolve().parents[1] / "docs" / "data" / "hard_cells.json"
x, y, z = sp.symbols("x y z")
ONE = sp.Rational(1, 1)


@dataclass(frozen=True)
class Hard:
    """A problem, its tolerance, its solution as a function of points (n, d), and where it is hard."""

    problem: pibls.Problem
    tol: float
    exact: Callable[[Array], Array] | None = None
    peer: Callable[[int, int], Callable[[Array], Array]] | None = None
    """(cells along a side, order) → NGSolve's solution, made there and then."""
    near: tuple[Array, float] | None = None
    """A place to look at more closely, and how closely."""


def line(e: float) -> Hard:
    """-ε u'' + u' = 1."""
    u = sp.Function("u")(x)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1), [sp.Eq(-e * u.diff(x, 2) + u.diff(x), 1)], [pibls.Dirichlet(u, 0)]
    )

    def exact(X: Array) -> Array:
        s = X[:, 0]
        return np.asarray(s - (np.exp((s - 1) / e) - np.exp(-1 / e)) / (1 - np.exp(-1 / e)))

    return Hard(problem, 1e-10, exact, near=(np.array([1.0]), 20 * e))


def made(expression: Any, tol: float, wave: float = 0.0, near: tuple[Array, float] | None = None) -> Hard:
    """Δu + κ² u = f with a given solution, on the unit square or cube."""
    names = (x, y, z) if expression.has(z) else (x, y)
    u = sp.Function("u")(*names)

    def left(w: Any) -> Any:
        return sum(w.diff(c, 2) for c in names) + wave**2 * w

    domain = pibls.Box(dict.fromkeys(names, (0, 1)))
    source = left(expression)
    problem = pibls.Problem(domain, [sp.Eq(left(u), source)], [pibls.Dirichlet(u, expression)])
    function = sp.lambdify(names, expression)
    return Hard(
        problem,
        tol,
        lambda X: np.asarray(function(*X.T)),
        lambda n, order: _ngsolve(expression, source, wave, len(names), n, order),
        near,
    )


def _ngsolve(
    expression: Any, source: Any, wave: float, d: int, n: int, order: int
) -> Callable[[Array], Array]:
    """The same by finite elements on n cells along each side."""
    import ngsolve as ng

    names = (x, y, z)[:d]
    modules = {k: getattr(ng, k) for k in ("exp", "sin", "cos", "sqrt")}
    given, f = (
        sp.lambdify(names, sp.sympify(e).rewrite(sp.exp) if e.has(sp.tanh) else e, [modules])(
            *(ng.x, ng.y, ng.z)[:d]
        )
        for e in (expression, source)
    )
    from ngsolve.meshes import MakeStructured2DMesh, MakeStructured3DMesh

    make = MakeStructured2DMesh if d == 2 else MakeStructured3DMesh
    mesh = make(True, *(n,) * d)
    space = ng.H1(mesh, order=order, dirichlet=".*")
    u, v = space.TnT()
    a = ng.BilinearForm((ng.grad(u) * ng.grad(v) - wave**2 * u * v) * ng.dx(bonus_intorder=4), condense=True)
    b = ng.LinearForm(space)
    if sp.simplify(source) != 0:
        b += -f * v * ng.dx(bonus_intorder=8)
    g = ng.GridFunction(space)
    a.Assemble()
    b.Assemble()
    g.Set(given, ng.BND)
    kind = "sparsecholesky" if not wave else "umfpack"
    ng.solvers.BVP(bf=a, lf=b, gf=g, inverse=kind)
    return lambda X: np.asarray(g(mesh(*X.T))).reshape(-1)


def walls(edges: list[float], k: list[float], source: list[float], d: int = 1) -> Hard:
    """(k u')' = -s in layers, u = 0 and 1 at the ends; in the plane the same across a strip."""
    names = (x, y)[:d]
    u = sp.Function("u")(*names)

    def piece(values: list[float]) -> Any:
        if len(set(values)) == 1:
            return sp.Float(values[0])
        ends = [(sp.Float(v), x < e) for v, e in zip(values, edges[1:-1], strict=False)]
        return sp.Piecewise(*ends, (sp.Float(values[-1]), True))

    exact = _layers(edges, k, source)
    equation = sp.Eq(pibls.div(piece(k) * pibls.grad(u)), -piece(source))
    conditions: list[Any] = [pibls.Dirichlet(u, 0, on=sp.Eq(x, 0)), pibls.Dirichlet(u, 1, on=sp.Eq(x, 1))]
    if d == 2:
        conditions.append(pibls.Neumann(u, 0, on=sp.Or(sp.Eq(y, 0), sp.Eq(y, 1))))
    domain = pibls.Interval(x, 0, 1) if d == 1 else pibls.Box({x: (0, 1), y: (0, 1)})
    return Hard(pibls.Problem(domain, [equation], conditions), 1e-10, lambda X: exact(X[:, 0]))


def _layers(edges: list[float], k: list[float], source: list[float]) -> Callable[[Array], Array]:
    """u = -s ξ²/2k + A ξ + B in each layer, ξ from its lower end; value and flux are continuous."""
    n, lengths = len(k), np.diff(edges)
    M, b = np.zeros((2 * n, 2 * n)), np.zeros(2 * n)
    M[0, 1] = 1.0
    M[1, -2:], b[1] = [lengths[-1], 1.0], 1.0 + source[-1] * lengths[-1] ** 2 / (2 * k[-1])
    for i in range(n - 1):
        M[2 + 2 * i, 2 * i : 2 * i + 4] = [lengths[i], 1.0, 0.0, -1.0]
        b[2 + 2 * i] = source[i] * lengths[i] ** 2 / (2 * k[i])
        M[3 + 2 * i, 2 * i], M[3 + 2 * i, 2 * i + 2] = k[i], -k[i + 1]
        b[3 + 2 * i] = source[i] * lengths[i]
    A = np.linalg.solve(M, b).reshape(n, 2)

    def exact(s: Array) -> Array:
        i = np.clip(np.searchsorted(edges, s, side="right") - 1, 0, n - 1)
        r = s - np.array(edges)[i]
        return np.asarray(-np.array(source)[i] * r**2 / (2 * np.array(k)[i]) + A[i, 0] * r + A[i, 1])

    return exact


def beam() -> Hard:
    """u'''' = δ(x - 1/3), clamped at the left and free at the right."""
    u = sp.Function("u")(x)
    a = sp.Rational(1, 3)
    left, right = sp.Eq(x, 0), sp.Eq(x, 1)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1),
        [sp.Eq(u.diff(x, 4), sp.DiracDelta(x - a))],
        [
            pibls.Dirichlet(u, 0, on=left),
            pibls.Neumann(u, 0, on=left),
            pibls.Condition(sp.Eq(u.diff(x, 2), 0), on=right),
            pibls.Condition(sp.Eq(u.diff(x, 3), 0), on=right),
        ],
    )

    def exact(X: Array) -> Array:
        s = X[:, 0]
        return np.asarray(s**2 / 6 - s**3 / 6 + np.maximum(s - 1 / 3, 0) ** 3 / 6)

    return Hard(problem, 1e-10, exact)


def convected(e: float) -> Hard:
    """-ε Δu + (1, 2)·∇u = 1 on the unit square, u = 0; the reference is NGSolve's at two orders."""
    u = sp.Function("u")(x, y)
    domain = pibls.Box({x: (0, 1), y: (0, 1)})
    equation = sp.Eq(-e * (u.diff(x, 2) + u.diff(y, 2)) + u.diff(x) + 2 * u.diff(y), 1)
    problem = pibls.Problem(domain, [equation], [pibls.Dirichlet(u, 0)])

    def peer(n: int, order: int) -> Callable[[Array], Array]:
        import ngsolve as ng
        from ngsolve.meshes import MakeStructured2DMesh

        def grade(s: float) -> float:
            """Fine towards 0, for the corner, and towards 1, for the layer."""
            if s < 0.3:
                return float(0.3 * (s / 0.3) ** 3)
            if s < 0.6:
                return float(0.3 + (s - 0.3) / 0.3 * (0.7 - min(12 * e, 0.35)))
            return float(1 - min(12 * e, 0.35) * ((1 - s) / 0.4))

        mesh = MakeStructured2DMesh(True, n, n, mapping=lambda p, q: (grade(p), grade(q)))
        space = ng.H1(mesh, order=order, dirichlet=".*")
        w, v = space.TnT()
        a = ng.BilinearForm(
            (e * ng.grad(w) * ng.grad(v) + (ng.grad(w)[0] + 2 * ng.grad(w)[1]) * v) * ng.dx, condense=True
        )
        b = ng.LinearForm(v * ng.dx)
        g = ng.GridFunction(space)
        a.Assemble()
        b.Assemble()
        ng.solvers.BVP(bf=a, lf=b, gf=g, inverse="umfpack")
        return lambda X: np.asarray(g(mesh(*X.T))).reshape(-1)

    fine: list[Callable[[Array], Array]] = []

    def exact(X: Array) -> Array:
        if not fine:
            fine.append(peer(40, 10))
        return fine[0](X)

    return Hard(problem, 1e-6, exact, peer, (np.array([1.0, 1.0]), 5 * e))


class LShape:
    """[-1, 1]² without its lower right quarter, as a shape of one's own that knows nothing of its corners."""

    coordinates = (x, y)
    bounds = ((-1.0, 1.0), (-1.0, 1.0))

    def contains(self, X: Array) -> Any:
        inside = np.all(np.abs(X) <= 1 + 1e-12, axis=1)
        return np.asarray(inside & ~((X[:, 0] > 1e-12) & (X[:, 1] < -1e-12)))

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        X = rng.uniform(-1, 1, (2 * n + 50, 2))
        return np.asarray(X[self.contains(X)][:n])

    def boundary(self, n: int, rng: np.random.Generator) -> Any:
        from pibls.domain.face import Boundary

        corners = np.array([[-1, -1], [0, -1], [0, 0], [1, 0], [1, 1], [-1, 1]], dtype=float)
        side = np.arange(n) % 6
        start, stop = corners[side], corners[(side + 1) % 6]
        along = (stop - start) / np.linalg.norm(stop - start, axis=1)[:, None]
        normals = np.stack([along[:, 1], -along[:, 0]], axis=1)
        return Boundary(start + rng.random((n, 1)) * (stop - start), normals, (self,) * n)


def corner() -> Hard:
    """Δu = 0, u = r^(2/3) sin(2θ/3), in cells alone."""
    u = sp.Function("u")(x, y)

    def exact(X: Array) -> Array:
        angle = np.mod(np.arctan2(X[:, 1], X[:, 0]), 2 * np.pi)
        return np.asarray(np.hypot(*X.T) ** (2 / 3) * np.sin(2 / 3 * angle))

    problem = pibls.Problem(
        LShape(),
        [sp.Eq(u.diff(x, 2) + u.diff(y, 2), 0)],
        [pibls.Dirichlet(u, lambda a, b: exact(np.stack([a, b], axis=1)))],
    )
    return Hard(problem, 1e-5, exact)


def plate() -> Hard:
    """-Δu = 1 on the unit square, u = 0: a series, and NGSolve on a mesh graded to the corners."""
    u = sp.Function("u")(x, y)
    domain = pibls.Box({x: (0, 1), y: (0, 1)})
    problem = pibls.Problem(domain, [sp.Eq(u.diff(x, 2) + u.diff(y, 2), -1)], [pibls.Dirichlet(u, 0)])

    def exact(X: Array) -> Array:
        # The parabola across, and a series that falls exponentially away from the ends: along the axis whose
        # ends are farther away.
        near = np.minimum(X, 1 - X)
        s = np.take_along_axis(X, near.argmin(axis=1)[:, None], axis=1)[:, 0]
        far = near.max(axis=1)
        out = 0.5 * s * (1 - s)
        for n in range(1, 4001, 2):
            k = n * np.pi
            ratio = (np.exp(-k * far) + np.exp(-k * (1 - far))) / (1 + np.exp(-k))
            out = out - 4 / k**3 * np.sin(k * s) * ratio
        return np.asarray(out)

    def peer(n: int, order: int) -> Callable[[Array], Array]:
        import ngsolve as ng
        from ngsolve.meshes import MakeStructured2DMesh

        def grade(s: float) -> float:
            return float(4 * s**3 if s < 0.5 else 1 - 4 * (1 - s) ** 3)

        mesh = MakeStructured2DMesh(True, n, n, mapping=lambda p, q: (grade(p), grade(q)))
        space = ng.H1(mesh, order=order, dirichlet=".*")
        w, v = space.TnT()
        a, b = ng.BilinearForm(ng.grad(w) * ng.grad(v) * ng.dx, condense=True), ng.LinearForm(v * ng.dx)
        g = ng.GridFunction(space)
        a.Assemble()
        b.Assemble()
        ng.solvers.BVP(bf=a, lf=b, gf=g, inverse="sparsecholesky")
        return lambda X: np.asarray(g(mesh(*X.T))).reshape(-1)

    return Hard(problem, 1e-8, exact, peer)


def bump(steepness: float, centre: tuple[float, ...]) -> Any:
    names = (x, y, z)[: len(centre)]
    return sp.exp(-steepness * sum((c - sp.Float(m)) ** 2 for c, m in zip(names, centre, strict=True)))


def near(centre: tuple[float, ...], width: float) -> tuple[Array, float]:
    return np.array(centre), width


PROBLEMS: dict[str, Callable[[], Hard]] = {
    **{f"outflow {e:g}": lambda e=e: line(e) for e in (1e-2, 1e-3, 1e-4, 1e-5)},  # type: ignore[misc]
    "wall 1|10": lambda: walls([0, 0.5, 1], [1, 10], [0, 0]),
    "wall 1|10 heated": lambda: walls([0, 0.5, 1], [1, 10], [1, 1]),
    "wall 1|400": lambda: walls([0, 0.3, 1], [1, 400], [0, 0]),
    "wall 1|400 heated": lambda: walls([0, 0.3, 1], [1, 400], [2, 2]),
    "five layers": lambda: walls([0, 0.1, 0.35, 0.5, 0.9, 1], [1, 20, 0.3, 5, 2], [1, 1, 1, 1, 1]),
    "heater of 0.01": lambda: walls([0, 0.4, 0.41, 1], [1, 1, 1], [0, 100, 0]),
    "gap of 1e-3": lambda: walls([0, 0.5, 0.501, 1], [1, 1e-3, 1], [1, 1, 1]),
    "point load": beam,
    "wall 1|10 in the plane": lambda: walls([0, 0.5, 1], [1, 10], [1, 1], 2),
    "wall 1|400 in the plane": lambda: walls([0, 0.3, 1], [1, 400], [0, 0], 2),
    "plate": plate,
    "L-shape in cells": corner,
    "peak exp(-1000 r²)": lambda: made(bump(1000, (0.4, 0.6)), 1e-8, near=near((0.4, 0.6), 0.05)),
    "source of 1/200": lambda: made(bump(2e4, (0.37, 0.61)), 1e-8, near=near((0.37, 0.61), 0.01)),
    "front tanh(20(x+y-1))": lambda: made(sp.tanh(20 * (x + y - 1)), 1e-8),
    "front tanh(30(x-2y+1/3))": lambda: made(sp.tanh(30 * (x - 2 * y + ONE / 3)), 1e-8),
    "30 wavelengths": lambda: made(sp.cos(190.0 * (0.8 * x + 0.6 * y)), 1e-8, 190.0),
    "convected 1e-2": lambda: convected(1e-2),
    "convected 1e-3": lambda: convected(1e-3),
    "cube, smooth": lambda: made(
        sp.sin(3 * x + 1) * sp.cos(4 * y) * sp.exp(z / 2) + sp.cos(5 * x * z), 1e-8, 10.0
    ),
    "cube, peak of 1/20": lambda: made(bump(400, (0.4, 0.55, 0.5)), 1e-6, near=near((0.4, 0.55, 0.5), 0.06)),
}


def points(hard: Hard) -> Array:
    """Where the error is taken: anywhere, and near the hard place."""
    rng = np.random.default_rng(99)
    X = np.asarray(hard.problem.domain.interior(4000, rng))
    if hard.near is None:
        return X
    close = hard.near[0] + hard.near[1] * rng.standard_normal((2000, X.shape[1]))
    close = close[np.asarray(hard.problem.domain.contains(close), dtype=bool)]
    return np.concatenate([X, close])


def solved(name: str, seed: int, limit: float) -> dict[str, Any]:
    """One solve."""
    hard = PROBLEMS[name]()
    began = time.process_time()
    with warnings.catch_warnings(), threads(1):
        warnings.simplefilter("ignore")
        solution = pibls.solve(hard.problem, tol=hard.tol, seed=seed, time_limit=limit)
    seconds = time.process_time() - began
    X = points(hard)
    assert hard.exact is not None
    exact = hard.exact(X)
    size = float(np.abs(exact).max())
    error = float(np.abs(solution(*X.T) - exact).max()) / size
    return {
        "name": name, "seed": seed, "tol": hard.tol, "error": error, "estimate": solution.error.max / size,
        "status": solution.status.name, "converged": bool(solution.converged), "seconds": seconds,
        "cells": int(solution.settings.get("cells", 1)), "functions": int(solution.nodes),
    }  # fmt: skip


def peer_seconds(name: str) -> dict[str, Any] | None:
    """NGSolve at the same tolerance: the quickest of the meshes that meet it."""
    hard = PROBLEMS[name]()
    if hard.peer is None or hard.exact is None:
        return None
    X = points(hard)
    exact = hard.exact(X)
    cube = X.shape[1] == 3
    tries = [
        (n, p) for n in ((2, 4, 8) if cube else (4, 8, 16, 32)) for p in ((6, 9) if cube else (6, 10, 14))
    ]
    best: dict[str, Any] | None = None
    with threads(1):
        for n, order in sorted(tries, key=lambda t: t[0] * t[1]):
            began = time.process_time()
            found = hard.peer(n, order)
            seconds = time.process_time() - began
            error = float(np.abs(found(X) - exact).max() / np.abs(exact).max())
            if error <= hard.tol and (best is None or seconds < best["seconds"]):
                best = {"seconds": seconds, "error": error, "cells": n, "order": order}
            if best is not None and n * order > 1.5 * best["cells"] * best["order"]:
                break
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--limit", type=float, default=120.0)
    given = parser.parse_args()
    stored: dict[str, Any] = json.loads(STORE.read_text()) if STORE.exists() else {"runs": [], "peers": {}}
    print(f"{'problem':26s} seed    error estimate   cells  functions  CPU s  NGSolve  status")
    for name in given.names or PROBLEMS:
        try:
            stored["peers"][name] = peer_seconds(name)
        except ImportError:
            stored["peers"].setdefault(name, None)
        peer = stored["peers"][name]
        for seed in given.seeds:
            run = solved(name, seed, given.limit)
            stored["runs"] = [r for r in stored["runs"] if (r["name"], r["seed"]) != (name, seed)] + [run]
            mark = "" if run["error"] <= run["estimate"] else "  BELOW"
            mark += "  FALSE" if run["converged"] and run["error"] > 3 * run["tol"] else ""
            beside = f"{peer['seconds']:8.2f}" if peer else "       -"
            print(
                f"{name:26s} {seed:4d} {run['error']:8.1e} {run['estimate']:8.1e} {run['cells']:7d} "
                f"{run['functions']:10d} {run['seconds']:6.1f} {beside}  {run['status']}{mark}",
                flush=True,
            )
            STORE.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
