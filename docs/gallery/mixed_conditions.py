"""Laplace's equation: four kinds of conditions. uₓₓ + u_yy = 0.

The sides of a rectangle have a Dirichlet, a Neumann, a Robin and a general condition, an equation in u and
its derivatives.
"""

import sympy as sp

import pibls

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)
answer = sp.exp(x) * sp.cos(y)

exact = {u: answer}
problem = pibls.Problem(
    domain=pibls.Box({x: (0, 1), y: (0, 2)}),
    equations=[sp.Eq(u.diff(x, 2) + u.diff(y, 2), 0)],
    conditions=[
        pibls.Dirichlet(u, sp.cos(y), on=sp.Eq(x, 0)),
        pibls.Neumann(u, sp.E * sp.cos(y), on=sp.Eq(x, 1)),
        pibls.Robin(u, 2 * sp.exp(x), alpha=2, beta=3, on=sp.Eq(y, 0)),
        pibls.Condition(sp.Eq(pibls.dn(u) + u.diff(x), answer * (1 - sp.tan(y))), on=sp.Eq(y, 2)),
    ],
)
tol = 1e-8

if __name__ == "__main__":
    from common import show

    show(__file__)
