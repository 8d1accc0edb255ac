"""Sine-Gordon equation: a moving kink. uₜₜ = uₓₓ - sin u.

The kink u = 4 arctan exp(γ(x - vt)) with γ = (1 - v²)^{-1/2} describes a twist that travels along a chain of
coupled pendulums.
"""

import sympy as sp

import pibls

x, t = sp.symbols("x t")
u = sp.Function("u")(x, t)
v = sp.Rational("0.6")
gamma = sp.Rational(5, 4)
kink = 4 * sp.atan(sp.exp(gamma * (x - v * t)))

exact = {u: kink}
problem = pibls.Problem(
    domain=pibls.Interval(x, -2, 2).during(t, 0, 1),
    equations=[sp.Eq(u.diff(t, 2), u.diff(x, 2) - sp.sin(u))],
    conditions=[
        pibls.Dirichlet(u, kink),
        pibls.Initial(u, 4 * sp.atan(sp.exp(gamma * x))),
        pibls.Initial(u.diff(t), -2 * gamma * v * sp.sech(gamma * x)),
    ],
)
tol = 1e-5
picture = {"kind": "snapshots"}
animation = {}

if __name__ == "__main__":
    from common import show

    show(__file__)
