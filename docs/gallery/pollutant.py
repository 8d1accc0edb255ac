"""Advection-diffusion-reaction: a pollutant. cₜ + v cₓ = D cₓₓ - k c.

A cloud of pollutant in a channel drifts, spreads and decays. Its initial distribution is a Gaussian.
"""

import sympy as sp

import pibls

x, t = sp.symbols("x t")
c = sp.Function("c")(x, t)
v, D, k = 1, sp.Rational("0.1"), sp.Rational("0.5")
width = sp.Rational("0.5") + 4 * D * t
cloud = sp.sqrt(sp.Rational("0.5") / width) * sp.exp(-((x - v * t) ** 2) / width - k * t)

exact = {c: cloud}
problem = pibls.Problem(
    domain=pibls.Interval(x, -1, 2).during(t, 0, 1),
    equations=[sp.Eq(c.diff(t) + v * c.diff(x), D * c.diff(x, 2) - k * c)],
    conditions=[pibls.Dirichlet(c, cloud), pibls.Initial(c, sp.exp(-2 * x**2))],
)
tol = 1e-5

if __name__ == "__main__":
    from common import show

    show(__file__)
