"""Schrödinger equation: a coherent state. i ψₜ = -ψₓₓ/2 + x²ψ/2.

ψ = a + ib gives a real system of two equations. A coherent state of the harmonic oscillator oscillates
without spreading.
"""

import sympy as sp

import pibls

x, t = sp.symbols("x t")
a, b = sp.Function("a")(x, t), sp.Function("b")(x, t)
away = 1
envelope = sp.exp(-((x - away * sp.cos(t)) ** 2) / 2)
phase = t / 2 + x * away * sp.sin(t) - away**2 * sp.sin(2 * t) / 4

exact = {a: envelope * sp.cos(phase), b: -envelope * sp.sin(phase)}
problem = pibls.Problem(
    domain=pibls.Interval(x, -3, 3).during(t, 0, sp.Rational(1, 2)),
    equations=[
        sp.Eq(a.diff(t), -b.diff(x, 2) / 2 + x**2 * b / 2),
        sp.Eq(b.diff(t), a.diff(x, 2) / 2 - x**2 * a / 2),
    ],
    conditions=[
        pibls.Dirichlet(a, exact[a]),
        pibls.Dirichlet(b, exact[b]),
        pibls.Initial(a, sp.exp(-((x - away) ** 2) / 2)),
        pibls.Initial(b, 0),
    ],
)
tol = 1e-4
animation = {}

if __name__ == "__main__":
    from common import show

    show(__file__)
