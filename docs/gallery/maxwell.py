"""Maxwell's equations: a periodic wave. Eₜ = -Bₓ, Bₜ = -Eₓ.

These are two first-order equations in one dimension with periodic conditions. The wave travels without
changing its shape.
"""

import sympy as sp

import pibls

x, t = sp.symbols("x t")
E, B = sp.Function("E")(x, t), sp.Function("B")(x, t)


def wave(s):
    return sp.sin(2 * sp.pi * s) + sp.cos(4 * sp.pi * s) / 4


exact = {E: wave(x - t), B: wave(x - t)}
problem = pibls.Problem(
    domain=pibls.Interval(x, 0, 1).during(t, 0, sp.Rational(1, 2)),
    equations=[sp.Eq(E.diff(t), -B.diff(x)), sp.Eq(B.diff(t), -E.diff(x))],
    conditions=[
        pibls.Periodic(E, x),
        pibls.Periodic(B, x),
        pibls.Initial(E, wave(x)),
        pibls.Initial(B, wave(x)),
    ],
)
tol = 1e-6

if __name__ == "__main__":
    from common import show

    show(__file__)
