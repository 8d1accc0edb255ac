"""Bratu's equation: combustion in a slab. u'' + λ eᵘ = 0.

The equation u'' + λ eᵘ = 0 has no solution for λ > 3.51, and two below that value; here λ = 1. Newton's
method from zero finds the lower one, u = -2 log(cosh(θ(x - 1/2)/2)/cosh(θ/4)) with θ = √(2λ) cosh(θ/4).
"""

import sympy as sp

import pibls

x = sp.Symbol("x")
u = sp.Function("u")(x)
strength = 1
theta = sp.Symbol("theta")
lower = sp.nsolve(theta - sp.sqrt(2 * strength) * sp.cosh(theta / 4), theta, 1.5, prec=30)

exact = {u: -2 * sp.log(sp.cosh(lower * (x - sp.Rational(1, 2)) / 2) / sp.cosh(lower / 4))}
problem = pibls.Problem(
    domain=pibls.Interval(x, 0, 1),
    equations=[sp.Eq(u.diff(x, 2) + strength * sp.exp(u), 0)],
    conditions=[pibls.Dirichlet(u, 0)],
)
tol = 1e-9

if __name__ == "__main__":
    from common import show

    show(__file__)
