"""Burgers' equation: a travelling front. uₜ + u uₓ = ν uₓₓ.

Steepening and viscosity ν = 1/5 balance in a front of width 4ν that travels at speed 1/2.
"""

import sympy as sp

import pibls

x, t = sp.symbols("x t")
u = sp.Function("u")(x, t)
nu = sp.Rational("0.2")
front = (1 - sp.tanh((x - t / 2) / (4 * nu))) / 2

exact = {u: front}
problem = pibls.Problem(
    domain=pibls.Interval(x, -1, 1).during(t, 0, 1),
    equations=[sp.Eq(u.diff(t) + u * u.diff(x), nu * u.diff(x, 2))],
    conditions=[pibls.Dirichlet(u, front), pibls.Initial(u, (1 - sp.tanh(x / (4 * nu))) / 2)],
)
tol = 1e-5
picture = {"kind": "surface"}

if __name__ == "__main__":
    from common import show

    show(__file__)
