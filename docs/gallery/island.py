"""Groundwater equation: rain on an island. -∇·(k ∇h) = f.

h is the water table of an island. The permeability increases to the east, k = 1 + x/4, and the coast is a
closed spline through twelve points. The rain f is computed from a manufactured solution.
"""

import sympy as sp

import pibls

x, y = sp.symbols("x y")
h = sp.Function("h")(x, y)
k = 1 + x / 4
coast = pibls.Spline(
    (x, y),
    [
        (1.3, 0.1), (1.0, 0.6), (0.5, 0.7), (0.1, 1.0), (-0.5, 0.9), (-0.8, 0.4),
        (-1.3, 0.2), (-1.1, -0.4), (-0.5, -0.5), (-0.1, -0.9), (0.6, -0.8), (0.9, -0.3),
    ],
)  # fmt: skip
exact = {h: 1 - x**2 / 4 - y**2 / 2 + sp.sin(2 * x) * sp.cos(y) / 8}
rain = -((k * exact[h].diff(x)).diff(x) + k * exact[h].diff(y, 2))
problem = pibls.Problem(
    domain=coast,
    equations=[sp.Eq(-pibls.div(k * pibls.grad(h)), rain)],
    conditions=[pibls.Dirichlet(h, exact[h])],
)
tol = 1e-8
picture = {"levels": 12}

if __name__ == "__main__":
    from common import show

    show(__file__)
