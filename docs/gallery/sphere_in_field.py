"""Laplace's equation: a conducting sphere. Δu = 0, u = -z (1 - a³/r³).

The sphere is in a field that is uniform far away. At its poles the field is three times as strong.
"""

import sympy as sp

import pibls

x, y, z = sp.symbols("x y z")
u = sp.Function("u")(x, y, z)
ball = pibls.Ball((x, y, z), (0, 0, 0), sp.Rational(1, 2))
exact = {u: -z * (1 - 1 / (8 * (x**2 + y**2 + z**2) ** sp.Rational(3, 2)))}
problem = pibls.Problem(
    domain=pibls.Ball((x, y, z), (0, 0, 0), 1) - ball,
    equations=[sp.Eq(u.diff(x, 2) + u.diff(y, 2) + u.diff(z, 2), 0)],
    conditions=[pibls.Dirichlet(u, 0, on=ball), pibls.Dirichlet(u, exact[u])],
)
tol = 1e-5
picture = {"at": {y: 0}, "levels": 13}

if __name__ == "__main__":
    from common import show

    show(__file__)
