"""Helmholtz equation: sound in a room. uₓₓ + u_yy + k² u = 0.

A standing wave is driven from the left wall, where u is given; the other walls are sound-hard (zero normal
derivative). The wave number k = 10 is far from any resonance of the room.
"""

import sympy as sp

import pibls

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)
k = 10
across = sp.sqrt(k**2 - sp.pi**2)

exact = {u: sp.cos(across * (1 - x)) * sp.cos(sp.pi * y)}
problem = pibls.Problem(
    domain=pibls.Box({x: (0, 1), y: (0, 1)}),
    equations=[sp.Eq(u.diff(x, 2) + u.diff(y, 2) + k**2 * u, 0)],
    conditions=[
        pibls.Dirichlet(u, sp.cos(across) * sp.cos(sp.pi * y), on=sp.Eq(x, 0)),
        pibls.Neumann(u, 0),
    ],
)
tol = 1e-8

if __name__ == "__main__":
    from common import show

    show(__file__)
