"""Telegraph equation: a signal in a cable. uₜₜ + 2k uₜ = c² uₓₓ.

The equation combines wave propagation and diffusion: the signal oscillates and is damped.
"""

import sympy as sp

import pibls

x, t = sp.symbols("x t")
u = sp.Function("u")(x, t)
k, c = sp.Rational(1, 2), 1
omega = sp.sqrt((c * sp.pi) ** 2 - k**2)

exact = {u: sp.exp(-k * t) * sp.sin(sp.pi * x) * (sp.cos(omega * t) + k / omega * sp.sin(omega * t))}
problem = pibls.Problem(
    domain=pibls.Interval(x, 0, 1).during(t, 0, 2),
    equations=[sp.Eq(u.diff(t, 2) + 2 * k * u.diff(t), c**2 * u.diff(x, 2))],
    conditions=[
        pibls.Dirichlet(u, 0),
        pibls.Initial(u, sp.sin(sp.pi * x)),
        pibls.Initial(u.diff(t), 0),
    ],
)
tol = 1e-8

if __name__ == "__main__":
    from common import show

    show(__file__)
