"""Euler-Bernoulli beam: a cantilever. EI u'''' = -q.

The beam is clamped at the left (no deflection, no slope), free at the right (no moment, no shear force) and
loaded by its own weight.
"""

import sympy as sp

import pibls

x = sp.Symbol("x")
u = sp.Function("u")(x)
EI, q, L = 3, sp.Rational(1, 2), 2

exact = {u: -q * x**2 * (6 * L**2 - 4 * L * x + x**2) / (24 * EI)}
problem = pibls.Problem(
    domain=pibls.Interval(x, 0, L),
    equations=[sp.Eq(EI * u.diff(x, 4), -q)],
    conditions=[
        pibls.Dirichlet(u, 0, on=sp.Eq(x, 0)),
        pibls.Condition(sp.Eq(u.diff(x), 0), on=sp.Eq(x, 0)),
        pibls.Condition(sp.Eq(u.diff(x, 2), 0), on=sp.Eq(x, L)),
        pibls.Condition(sp.Eq(u.diff(x, 3), 0), on=sp.Eq(x, L)),
    ],
)
tol = 1e-8

if __name__ == "__main__":
    from common import show

    show(__file__)
