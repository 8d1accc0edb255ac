"""A shock: uₜ + u uₓ = ν uₓₓ with ν = 1/(100π), from a sine.

The wave steepens until it is 0.004 wide, at t = 0.3; viscosity keeps it from breaking. Windows in time, and in
each of them cells that are small where the front is. The exact solution is that of Cole and Hopf, two integrals
of exp(-cos(πη)/(2πν)) by Gauss and Hermite.
"""

import numpy as np
import sympy as sp

import pibls

x, t = sp.symbols("x t")
u = sp.Function("u")(x, t)
nu = 1 / (100 * sp.pi)


def _cole_hopf(x, t):
    nodes, weights = np.polynomial.hermite.hermgauss(400)
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
tol = 1e-5
picture = {"kind": "snapshots", "times": [0, 0.15, 0.3, 0.6, 1]}

if __name__ == "__main__":
    from common import show

    show(__file__)
