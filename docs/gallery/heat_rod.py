"""Heat equation: a cooling rod. uₜ = a uₓₓ.

One end is kept at zero, the other is insulated. Every mode sin((2k-1)πx/2) decays at its own rate.
"""

import sympy as sp

import pibls

x, t = sp.symbols("x t")
u = sp.Function("u")(x, t)
a = sp.Rational("0.2")


def mode(k):
    wave = (2 * k - 1) * sp.pi / 2
    return sp.exp(-a * wave**2 * t) * sp.sin(wave * x)


exact = {u: mode(1) + mode(2) / 3}
problem = pibls.Problem(
    domain=pibls.Interval(x, 0, 1).during(t, 0, 1),
    equations=[sp.Eq(u.diff(t), a * u.diff(x, 2))],
    conditions=[
        pibls.Dirichlet(u, 0, on=sp.Eq(x, 0)),
        pibls.Neumann(u, 0, on=sp.Eq(x, 1)),
        pibls.Initial(u, sp.sin(sp.pi * x / 2) + sp.sin(3 * sp.pi * x / 2) / 3),
    ],
)
tol = 1e-8
animation = {}

if __name__ == "__main__":
    from common import show

    show(__file__)
