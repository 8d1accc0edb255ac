"""Fin equation: a cooling fin. u'' = m² u, with u' + h u = 0 at the tip.

The base is hot. The fin loses heat to the air along its length and, by a Robin condition, at its tip.
"""

import sympy as sp

import pibls

x = sp.Symbol("x")
u = sp.Function("u")(x)
m, h = 2, sp.Rational("0.5")

exact = {u: (m * sp.cosh(m * (1 - x)) + h * sp.sinh(m * (1 - x))) / (m * sp.cosh(m) + h * sp.sinh(m))}
problem = pibls.Problem(
    domain=pibls.Interval(x, 0, 1),
    equations=[sp.Eq(u.diff(x, 2), m**2 * u)],
    conditions=[
        pibls.Dirichlet(u, 1, on=sp.Eq(x, 0)),
        pibls.Robin(u, 0, alpha=h, beta=1, on=sp.Eq(x, 1)),
    ],
)
tol = 1e-10

if __name__ == "__main__":
    from common import show

    show(__file__)
