"""Poisson's equation: a charge in a box. uₓₓ + u_yy = -f.

u is the electrostatic potential of a smooth charge between grounded walls.
"""

import sympy as sp

import pibls

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)

exact = {u: sp.sin(sp.pi * x) * sp.sin(2 * sp.pi * y)}
problem = pibls.Problem(
    domain=pibls.Box({x: (0, 1), y: (0, 1)}),
    equations=[sp.Eq(u.diff(x, 2) + u.diff(y, 2), -5 * sp.pi**2 * sp.sin(sp.pi * x) * sp.sin(2 * sp.pi * y))],
    conditions=[pibls.Dirichlet(u, 0)],
)
tol = 1e-10

if __name__ == "__main__":
    from common import show

    show(__file__)
