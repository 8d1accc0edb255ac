"""Plane elasticity: a stretched plate. μ Δu + (λ + μ) ∇(∇·u) + f = 0.

The two displacements are coupled in both equations and in the condition that the right edge is free of shear.
The forces f are computed from a manufactured solution.
"""

import sympy as sp

import pibls

x, y = sp.symbols("x y")
u, v = sp.Function("u")(x, y), sp.Function("v")(x, y)
lam, mu = 1, sp.Rational(1, 2)


def forces(u, v):
    div = u.diff(x) + v.diff(y)
    return [mu * (w.diff(x, 2) + w.diff(y, 2)) + (lam + mu) * div.diff(s) for w, s in [(u, x), (v, y)]]


exact = {u: sp.sin(sp.pi * x / 2) * sp.cos(y), v: sp.cos(sp.pi * x / 2) * sp.sin(2 * y) / 2}
loads = forces(exact[u], exact[v])
shear = exact[u].diff(y) + exact[v].diff(x)
problem = pibls.Problem(
    domain=pibls.Box({x: (0, 1), y: (0, 1)}),
    equations=[sp.Eq(left, right) for left, right in zip(forces(u, v), loads)],
    conditions=[
        pibls.Dirichlet(u, exact[u]),
        pibls.Dirichlet(v, exact[v], on=sp.Or(sp.Eq(x, 0), sp.Eq(y, 0), sp.Eq(y, 1))),
        pibls.Condition(sp.Eq(u.diff(y) + v.diff(x), shear), on=sp.Eq(x, 1)),
    ],
)
tol = 1e-6
picture = {"vector": (u, v)}

if __name__ == "__main__":
    from common import show

    show(__file__)
