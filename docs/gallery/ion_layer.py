"""Poisson-Boltzmann equation: a charged wall. u'' = sinh u.

Ions in salt water screen the potential of the wall. The exact solution is that of Gouy and Chapman, tanh(u/4)
= tanh(u₀/4) e⁻ˣ.
"""

import sympy as sp

import pibls

x = sp.Symbol("x")
u = sp.Function("u")(x)
screened = 4 * sp.atanh(sp.tanh(sp.Rational(1, 2)) * sp.exp(-x))

exact = {u: screened}
problem = pibls.Problem(
    domain=pibls.Interval(x, 0, 3),
    equations=[sp.Eq(u.diff(x, 2), sp.sinh(u))],
    conditions=[pibls.Dirichlet(u, 2, on=sp.Eq(x, 0)), pibls.Dirichlet(u, screened, on=sp.Eq(x, 3))],
)
tol = 1e-8

if __name__ == "__main__":
    from common import show

    show(__file__)
