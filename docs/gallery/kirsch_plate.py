"""Kirsch's problem: a plate with a hole. μ Δu + (λ + μ) ∇(∇·u) = 0.

The boundary of the hole is traction-free. The outer sides have the displacements of an infinite plate under
tension along x. At the top of the hole the stress is three times the far-field stress. The plate is in
plane stress, with E = 1 and ν = 0.3.
"""

import sympy as sp

import pibls

x, y = sp.symbols("x y")
u, v = sp.Function("u")(x, y), sp.Function("v")(x, y)
nu = sp.Rational(3, 10)
mu, kappa = 1 / (2 * (1 + nu)), (3 - nu) / (1 + nu)
s = x**2 + y**2
cos2, sin2 = (x**2 - y**2) / s, 2 * x * y / s  # of twice the angle


def _displacements():
    """Return the Cartesian displacements, from the polar ones divided by r."""
    out = ((kappa - 1) / 2 + cos2 + (1 + (1 + kappa) * cos2) / s - cos2 / s**2) / (4 * mu)
    around = -(1 + (kappa - 1) / s + 1 / s**2) * sin2 / (4 * mu)
    return out * x - around * y, out * y + around * x


sxx = (u.diff(x) + nu * v.diff(y)) / (1 - nu**2)
syy = (v.diff(y) + nu * u.diff(x)) / (1 - nu**2)
sxy = mu * (u.diff(y) + v.diff(x))
hole = pibls.Disk((x, y), (0, 0), 1)
exact = dict(zip((u, v), _displacements()))
problem = pibls.Problem(
    domain=pibls.Box({x: (-3, 3), y: (-3, 3)}) - hole,
    equations=[sp.Eq(sxx.diff(x) + sxy.diff(y), 0), sp.Eq(sxy.diff(x) + syy.diff(y), 0)],
    conditions=[
        pibls.Condition(sp.Eq(x * sxx + y * sxy, 0), on=hole),
        pibls.Condition(sp.Eq(x * sxy + y * syy, 0), on=hole),
        pibls.Dirichlet(u, exact[u]),
        pibls.Dirichlet(v, exact[v]),
    ],
)
tol = 1e-8
picture = {"vector": (u, v), "kind": "deformed"}

if __name__ == "__main__":
    from common import show

    show(__file__)
