"""Lane-Emden equation of index 5: a star. x u'' + 2 u' + x u⁵ = 0.

In the form u'' + 2u'/x + u⁵ = 0 the equation is singular at the centre of the star, so it is multiplied by x.
The exact solution is u = (1 + x²/3)^{-1/2}.
"""

import sympy as sp

import pibls

x = sp.Symbol("x")
u = sp.Function("u")(x)

exact = {u: 1 / sp.sqrt(1 + x**2 / 3)}
problem = pibls.Problem(
    domain=pibls.Interval(x, 0, 4),
    equations=[sp.Eq(x * u.diff(x, 2) + 2 * u.diff(x) + x * u**5, 0)],
    conditions=[pibls.Initial(u, 1), pibls.Initial(u.diff(x), 0)],
)
tol = 1e-7

if __name__ == "__main__":
    from common import show

    show(__file__)
