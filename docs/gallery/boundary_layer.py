"""Advection-diffusion: a boundary layer. -ε u'' + u' = 1.

The flow transports u to the right end, where it drops to zero within a layer of width ε = 1/20.
"""

import sympy as sp

import pibls

x = sp.Symbol("x")
u = sp.Function("u")(x)
eps = sp.Rational("0.05")

exact = {u: x - (sp.exp((x - 1) / eps) - sp.exp(-1 / eps)) / (1 - sp.exp(-1 / eps))}
problem = pibls.Problem(
    domain=pibls.Interval(x, 0, 1),
    equations=[sp.Eq(-eps * u.diff(x, 2) + u.diff(x), 1)],
    conditions=[pibls.Dirichlet(u, 0)],
)
tol = 1e-8

if __name__ == "__main__":
    from common import show

    show(__file__)
