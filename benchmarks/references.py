"""Reference solutions to 30 digits for the ODEs of `benchmarks.evolutions`: python -m benchmarks.references

Taylor series of degree 44 in fixed-point arithmetic with 170 bits; the stiff Robertson kinetics by Gauss
collocation with 40 decimal digits. Each is computed twice, with different degrees and steps, and the
difference is stored. The module is independent of pibls.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from operator import mul
from pathlib import Path
from typing import Any

import mpmath as mp

STORED = Path(__file__).resolve().parents[1] / "docs" / "data" / "evolutions_reference.json"
COUNT = 24  # number of stored times
BITS = 170
ONE = 1 << BITS
Series = list[list[int]]


def fixed(x: Any) -> int:
    """Return a number as integer multiple of 2^-BITS."""
    return int(mp.nint(mp.mpf(x) * ONE))


def times(a: int, b: int) -> int:
    """Return the fixed-point product."""
    return (a * b) >> BITS


def product(a: list[int], b: list[int], k: int) -> int:
    """Return coefficient k of the product of two series."""
    return int(sum(map(mul, a[: k + 1], b[k::-1]))) >> BITS


class Power:
    """Series of g^(p/2), extended coefficient by coefficient."""

    def __init__(self, p: int) -> None:
        self.p, self.c = p, list[int]()

    def next(self, g: list[int]) -> int:
        k, f = len(self.c), self.c
        if not k:
            f.append(fixed(mp.power(mp.mpf(g[0]) / ONE, mp.mpf(self.p) / 2)))
        else:
            total = sum((self.p * j - 2 * (k - j)) * times(g[j], f[k - j]) for j in range(1, k + 1))
            f.append((total << BITS) // (2 * k * g[0]))
        return f[-1]


def van_der_pol(mu: int) -> Callable[[], Callable[[Series, int], list[int]]]:
    def build_rhs() -> Callable[[Series, int], list[int]]:
        square: list[int] = []

        def rhs(X: Series, k: int) -> list[int]:
            x, y = X
            square.append(product(x, x, k))
            return [y[k], mu * (y[k] - product(square, y, k)) - x[k]]

        return rhs

    return build_rhs


def lorenz() -> Callable[[Series, int], list[int]]:
    def rhs(X: Series, k: int) -> list[int]:
        x, y, z = X
        return [10 * (y[k] - x[k]), 28 * x[k] - y[k] - product(x, z, k), product(x, y, k) - 8 * z[k] // 3]

    return rhs


def predator() -> Callable[[Series, int], list[int]]:
    def rhs(X: Series, k: int) -> list[int]:
        both = product(X[0], X[1], k)
        return [3 * X[0][k] // 2 - both, both - 3 * X[1][k]]

    return rhs


MOON = 0.012277471


def arenstorf() -> Callable[[Series, int], list[int]]:
    m = fixed(MOON)
    other = ONE - m
    near, far = Power(-3), Power(-3)
    a: list[int] = []
    b: list[int] = []
    ra: list[int] = []
    rb: list[int] = []

    def rhs(X: Series, k: int) -> list[int]:
        x, y, v, w = X
        a.append(x[k] + (m if k == 0 else 0))
        b.append(x[k] - (other if k == 0 else 0))
        yy = product(y, y, k)
        ra.append(product(a, a, k) + yy)
        rb.append(product(b, b, k) + yy)
        near.next(ra)
        far.next(rb)
        ax, bx = times(other, product(a, near.c, k)), times(m, product(b, far.c, k))
        ay, by = times(other, product(y, near.c, k)), times(m, product(y, far.c, k))
        return [v[k], w[k], x[k] + 2 * w[k] - ax - bx, y[k] - 2 * v[k] - ay - by]

    return rhs


def hires() -> Callable[[Series, int], list[int]]:
    rates = {c: fixed(float(c)) for c in ("1.71", "0.43", "8.32", "8.75", "10.03", "0.035", "1.12", "1.745",
                                   "0.69", "1.81", "0.0007")}  # fmt: skip

    def rhs(X: Series, k: int) -> list[int]:
        y = [c[k] for c in X]
        q = 280 * product(X[5], X[7], k)

        def r(c: str, i: int) -> int:
            return times(rates[c], y[i])

        return [
            -r("1.71", 0) + r("0.43", 1) + r("8.32", 2) + (rates["0.0007"] if k == 0 else 0),
            r("1.71", 0) - r("8.75", 1),
            -r("10.03", 2) + r("0.43", 3) + r("0.035", 4),
            r("8.32", 1) + r("1.71", 2) - r("1.12", 3),
            -r("1.745", 4) + r("0.43", 5) + r("0.43", 6),
            -q + r("0.69", 3) + r("1.71", 4) - r("0.43", 5) + r("0.69", 6),
            q - r("1.81", 6),
            -q + r("1.81", 6),
        ]

    return rhs


def series(
    build_rhs: Any, start: list[Any], stop: Any, degree: int, digits: int, where: list[Any]
) -> list[Any]:
    """Integrate by Taylor series whose last terms are 10^-digits of the first; return values at ``where``."""
    u = [fixed(x) for x in start]
    t, H = mp.mpf(0), mp.mpf("0.01")
    out: list[Any] = []
    left = list(where)
    while left:
        rhs, X, step = build_rhs(), [[c] for c in u], fixed(H)
        for k in range(degree):
            for c, f in zip(X, rhs(X, k), strict=True):
                c.append(times(step, f) // (k + 1))
        size = max(max(abs(c[0]) for c in X), 1)
        last = max(max(abs(c[-1]), abs(c[-2])) for c in X) or 1
        share = mp.power(mp.mpf(size) / last / mp.mpf(10) ** digits, mp.mpf(1) / degree)
        if share < 0.7:
            H *= share * 0.9
            continue
        share = min(share, mp.mpf(1))
        while left and left[0] <= t + share * H:
            out.append(_evaluate(X, fixed((left.pop(0) - t) / H)))
        u = [fixed(v) for v in _evaluate(X, fixed(share))]
        t += share * H
        H *= min(mp.mpf("1.1") * share, mp.mpf(2)) if share < 1 else mp.mpf("1.3")
    return out


def _evaluate(X: Series, x: int) -> list[Any]:
    out = []
    for c in X:
        total = 0
        for a in reversed(c):
            total = times(total, x) + a
        out.append(mp.mpf(total) / ONE)
    return out


def robertson(stop: Any, points: int, growth: Any, where: list[Any]) -> list[Any]:
    """Integrate Robertson's kinetics by Gauss collocation with growing step size."""
    roots = sorted(mp.polyroots(_legendre(points), maxsteps=400, extraprec=400))
    c = [(1 + r.real) / 2 for r in roots]
    V = mp.matrix(points, points)
    for i, x in enumerate(c):
        for j in range(points):
            V[i, j] = x**j
    inverse = V**-1
    W = mp.matrix(points, points)
    for i, x in enumerate(c):
        for j in range(points):
            W[i, j] = x ** (j + 1) / (j + 1)
    A = W * inverse
    ends = mp.matrix(1, points)
    for j in range(points):
        ends[0, j] = mp.mpf(1) / (j + 1)
    weights = ends * inverse
    u = [mp.mpf(1), mp.mpf(0), mp.mpf(0)]
    t, h = mp.mpf(0), mp.mpf("1e-5")
    out: list[Any] = []
    left = list(where)
    K = [[mp.mpf(0)] * 3 for _ in c]
    while left:
        h = min(h, stop - t)
        for _ in range(30):
            U = [[u[k] + h * mp.fsum(A[i, j] * K[j][k] for j in range(points)) for k in range(3)]
                 for i in range(points)]  # fmt: skip
            F = [_kinetics(x) for x in U]
            r = mp.matrix([K[i][k] - F[i][k] for i in range(points) for k in range(2)])
            J = mp.eye(2 * points)
            for i in range(points):
                D = _jacobian(U[i])
                for j in range(points):
                    for k in range(2):
                        for m in range(2):
                            J[2 * i + k, 2 * j + m] -= h * A[i, j] * D[k][m]
            d = mp.lu_solve(J, r)
            for i in range(points):
                for k in range(2):
                    K[i][k] -= d[2 * i + k]
                K[i][2] = -K[i][0] - K[i][1]
            if mp.norm(d, mp.inf) < mp.mpf(10) ** -34:
                break
        while left and left[0] <= t + h * (1 + mp.mpf(10) ** -30):
            x = (left.pop(0) - t) / h
            row = [x ** (j + 1) / (j + 1) for j in range(points)]
            b = [mp.fsum(row[j] * inverse[j, i] for j in range(points)) for i in range(points)]
            out.append([u[k] + h * mp.fsum(b[i] * K[i][k] for i in range(points)) for k in range(3)])
        u = [u[k] + h * mp.fsum(weights[0, i] * K[i][k] for i in range(points)) for k in range(3)]
        t += h
        h *= growth
    return out


def _legendre(n: int) -> list[Any]:
    a, b = [mp.mpf(1)], [mp.mpf(1), mp.mpf(0)]
    for k in range(1, n):
        up = [(2 * k + 1) * x for x in b] + [mp.mpf(0)]
        low = [mp.mpf(0)] * 2 + [k * x for x in a]
        a, b = b, [(x - y) / (k + 1) for x, y in zip(up, low, strict=True)]
    return b


def _kinetics(x: list[Any]) -> list[Any]:
    slow, back, fast = x[0] / 25, 10000 * x[1] * x[2], 30000000 * x[1] ** 2
    return [back - slow, slow - back - fast, fast]


def _jacobian(x: list[Any]) -> list[list[Any]]:
    """∂F/∂(a, b) with c = 1 - a - b."""
    slow = mp.mpf(1) / 25
    da, db = -10000 * x[1], 10000 * (x[2] - x[1])
    return [[-slow + da, db], [slow - da, -db - 60000000 * x[1]]]


PROBLEMS: dict[str, tuple[Any, list[Any], Any]] = {
    "Van der Pol, mu = 1": (van_der_pol(1), [2, 0], "13.33"),
    "Van der Pol, mu = 5": (van_der_pol(5), [2, 0], "23.2"),
    "Van der Pol, mu = 100": (van_der_pol(100), [2, 0], "325.7"),
    "Lorenz": (lorenz, [1, 1, 1], "15"),
    "Lotka-Volterra": (predator, [10, 5], "100"),
    "Arenstorf": (arenstorf, [0.994, 0, 0, -2.0015851063790824], "17.06521656015796"),
    "HIRES": (hires, [1, 0, 0, 0, 0, 0, 0, "0.0057"], "321.8122"),
}


def main(names: list[str]) -> None:
    mp.mp.dps = 45
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    for name, (build_rhs, start, stop) in PROBLEMS.items():
        if names and name not in names:
            continue
        # The float64 values passed to the solvers, not the decimal numbers.
        end = mp.mpf(float(stop))
        where = [mp.mpf(float(end * i / COUNT)) for i in range(1, COUNT)] + [end]
        given = [mp.mpf(x) if isinstance(x, int) else mp.mpf(float(x)) for x in start]
        one = series(build_rhs, given, end, 44, 38, where)
        two = series(build_rhs, given, end, 36, 36, where)
        stored[name] = _record(where, one, two)
        print(name, stored[name]["agree"], flush=True)
        STORED.write_text(json.dumps(stored, indent=1) + "\n")
    if not names or "Robertson" in names:
        mp.mp.dps = 40
        end = mp.mpf(10000)
        where = [mp.mpf(float(end * mp.mpf(10) ** (-8 + mp.mpf(8) * i / COUNT))) for i in range(1, COUNT)] + [
            end
        ]
        one = robertson(end, 14, mp.mpf("1.3"), where)
        two = robertson(end, 12, mp.mpf("1.25"), where)
        stored["Robertson"] = _record(where, one, two)
        print("Robertson", stored["Robertson"]["agree"], flush=True)
        STORED.write_text(json.dumps(stored, indent=1) + "\n")


def _record(where: list[Any], one: list[Any], two: list[Any]) -> dict[str, Any]:
    sizes = [max(abs(v[k]) for v in one) for k in range(len(one[0]))]
    agree = max(abs(a - b) / s for v, w in zip(one, two, strict=True)
                for a, b, s in zip(v, w, sizes, strict=True))  # fmt: skip
    return {"t": [float(t) for t in where], "values": [[mp.nstr(x, 30) for x in v] for v in one],
            "agree": float(agree)}  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
