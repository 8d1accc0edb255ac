"""Wave equation: a vibrating string. uₜₜ = c² uₓₓ.

Both ends are fixed. The string starts at rest in a combination of its first and third mode.
"""

import sympy as sp

import pibls

x, t = sp.symbols("x t")
u = sp.Function("u")(x, t)
c = sp.Rational(1, 2)

exact = {u: sp.sin(sp.pi * x) * sp.cos(c * sp.pi * t) + sp.sin(3 * sp.pi * x) * sp.cos(3 * c * sp.pi * t) / 5}
problem = pibls.Problem(
    domain=pibls.Interval(x, 0, 1).during(t, 0, 2),
    equations=[sp.Eq(u.diff(t, 2), c**2 * u.diff(x, 2))],
    conditions=[
        pibls.Dirichlet(u, 0),
        pibls.Initial(u, sp.sin(sp.pi * x) + sp.sin(3 * sp.pi * x) / 5),
        pibls.Initial(u.diff(t), 0),
    ],
)
tol = 1e-8
picture = {"kind": "snapshots"}
animation = {}

if __name__ == "__main__":
    from common import show

    show(__file__)
