"""Burgers' equation: a shock from a sine. uₜ + u uₓ = ν uₓₓ with ν = 1/(25π).

The sine steepens into a thin front whose width is set by the viscosity. The problem is solved in time windows
with cells that are refined at the front. The exact solution is the Cole-Hopf formula, evaluated by
Gauss-Hermite quadrature.
"""

import numpy as np
import sympy as sp

import pibls

x, t = sp.symbols("x t")
u = sp.Function("u")(x, t)
nu = 1 / (25 * sp.pi)


def _cole_hopf(x, t):
    nodes, weights = np.polynomial.hermite.hermgauss(200)
    v = float(nu)
    x, t = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(t, dtype=float))
    eta = x[..., None] - nodes * np.sqrt(4 * v * t[..., None])
    height = -np.cos(np.pi * eta) / (2 * np.pi * v)
    f = weights * np.exp(height - height.max(axis=-1, keepdims=True))
    return -np.sum(np.sin(np.pi * eta) * f, axis=-1) / np.sum(f, axis=-1)


exact = {u: _cole_hopf}
problem = pibls.Problem(
    domain=pibls.Interval(x, -1, 1).during(t, 0, 1),
    equations=[sp.Eq(u.diff(t) + u * u.diff(x), nu * u.diff(x, 2))],
    conditions=[pibls.Dirichlet(u, 0), pibls.Initial(u, -sp.sin(sp.pi * x))],
)
tol = 1e-4
picture = {"kind": "snapshots", "times": [0, 0.15, 0.3, 0.6, 1]}
animation = {}

if __name__ == "__main__":
    from common import show

    show(__file__)
