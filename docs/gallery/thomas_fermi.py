"""Thomas-Fermi equation: electrons of an atom. √x u'' = u^{3/2}.

The interval is far from the nucleus. The exact solution is Sommerfeld's u = 144/x³, with its values given at
both ends.
"""

import sympy as sp

import pibls

x = sp.Symbol("x", positive=True)
u = sp.Function("u")(x)

exact = {u: 144 / x**3}
problem = pibls.Problem(
    domain=pibls.Interval(x, 4, 8),
    equations=[sp.Eq(sp.sqrt(x) * u.diff(x, 2), u ** sp.Rational(3, 2))],
    conditions=[pibls.Dirichlet(u, 144 / x**3)],
)
tol = 1e-7

if __name__ == "__main__":
    from common import show

    show(__file__)
