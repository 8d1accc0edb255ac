"""Biharmonic equation: a bent plate. Δ²u = q.

The plate is simply supported on all edges: deflection and bending moment are zero, u = 0 and Δu = 0.
"""

import sympy as sp

import pibls

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)
square = pibls.Box({x: (0, 1), y: (0, 1)})
load = sp.sin(sp.pi * x) * sp.sin(sp.pi * y)

exact = {u: load / (4 * sp.pi**4)}
problem = pibls.Problem(
    domain=square,
    equations=[sp.Eq(u.diff(x, 4) + 2 * u.diff(x, 2, y, 2) + u.diff(y, 4), load)],
    conditions=[
        pibls.Dirichlet(u, 0, on=square),
        pibls.Condition(sp.Eq(u.diff(x, 2) + u.diff(y, 2), 0), on=square),
    ],
)
tol = 1e-7

if __name__ == "__main__":
    from common import show

    show(__file__)
