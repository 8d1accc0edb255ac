"""Schrödinger equation: harmonic oscillator. -u''/2 + x²u/2 = E u.

This is the second excited state, with the energy E = 5/2. The value at x = 0 normalises u.
"""

import sympy as sp

import pibls

x = sp.Symbol("x")
u = sp.Function("u")(x)
state = (2 * x**2 - 1) * sp.exp(-(x**2) / 2)

exact = {u: state}
problem = pibls.Problem(
    domain=pibls.Interval(x, 0, 5),
    equations=[sp.Eq(-u.diff(x, 2) / 2 + x**2 * u / 2, sp.Rational(5, 2) * u)],
    conditions=[
        pibls.Dirichlet(u, -1, on=sp.Eq(x, 0)),
        pibls.Dirichlet(u, state, on=sp.Eq(x, 5)),
    ],
)
tol = 1e-8

if __name__ == "__main__":
    from common import show

    show(__file__)
