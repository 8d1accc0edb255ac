"""Poisson's equation: a cube. uₓₓ + u_yy + u_zz = f.

The right-hand side f is computed from a manufactured solution.
"""

import sympy as sp

import pibls

x, y, z = sp.symbols("x y z")
u = sp.Function("u")(x, y, z)
answer = sp.exp(-x) * sp.sin(2 * y) * sp.cos(z)

exact = {u: answer}
problem = pibls.Problem(
    domain=pibls.Box({x: (0, 1), y: (0, 1), z: (0, 1)}),
    equations=[sp.Eq(u.diff(x, 2) + u.diff(y, 2) + u.diff(z, 2), -4 * answer)],
    conditions=[pibls.Dirichlet(u, answer)],
)
tol = 1e-6

if __name__ == "__main__":
    from common import show

    show(__file__)
