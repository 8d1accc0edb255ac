"""Darcy flow: groundwater in layered soil. (k uₓ)ₓ + (k u_y)_y = 0.

The permeability is proportional to e^{y} at height y. The side walls are impermeable, and u is given at the
top and the bottom.
"""

import sympy as sp

import pibls

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)
k = sp.exp(y)
down = (1 + sp.sqrt(1 + 4 * sp.pi**2)) / 2

exact = {u: 1 - sp.exp(-y) + sp.cos(sp.pi * x) * sp.exp(-down * y)}
problem = pibls.Problem(
    domain=pibls.Box({x: (0, 1), y: (0, 1)}),
    equations=[sp.Eq((k * u.diff(x)).diff(x) + (k * u.diff(y)).diff(y), 0)],
    conditions=[
        pibls.Dirichlet(u, sp.cos(sp.pi * x), on=sp.Eq(y, 0)),
        pibls.Dirichlet(u, 1 - sp.exp(-1) + sp.cos(sp.pi * x) * sp.exp(-down), on=sp.Eq(y, 1)),
        pibls.Neumann(u, 0),
    ],
)
tol = 1e-7

if __name__ == "__main__":
    from common import show

    show(__file__)
