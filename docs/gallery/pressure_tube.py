"""Lamé's problem: a tube under pressure. μ Δu + (λ + μ) ∇(∇·u) = 0.

The inner pressure acts on the wall, σ n = -p n; the outer surface is traction-free. Conditions at three
points exclude rigid translations and rotations.
"""

import sympy as sp

import pibls

x, y = sp.symbols("x y")
u, v = sp.Function("u")(x, y), sp.Function("v")(x, y)
lam, mu, pressure = sp.Rational(3, 2), 1, sp.Rational(1, 2)
inner, outer = pibls.Disk((x, y), (0, 0), 1), pibls.Disk((x, y), (0, 0), 2)


def stress(u, v):
    both = lam * (u.diff(x) + v.diff(y))
    return both + 2 * mu * u.diff(x), both + 2 * mu * v.diff(y), mu * (u.diff(y) + v.diff(x))


sxx, syy, sxy = stress(u, v)
# σ_r = A - B/r²: -p at r = 1, zero at r = 2.
A, B = pressure / 3, 4 * pressure / 3
radial = A / (2 * (lam + mu)) + B / (2 * mu * (x**2 + y**2))
exact = {u: radial * x, v: radial * y}
problem = pibls.Problem(
    domain=outer - inner,
    equations=[sp.Eq(sxx.diff(x) + sxy.diff(y), 0), sp.Eq(sxy.diff(x) + syy.diff(y), 0)],
    conditions=[
        pibls.Condition(sp.Eq(x * sxx + y * sxy, -pressure * x), on=inner),
        pibls.Condition(sp.Eq(x * sxy + y * syy, -pressure * y), on=inner),
        pibls.Condition(sp.Eq(x * sxx + y * sxy, 0), on=outer),
        pibls.Condition(sp.Eq(x * sxy + y * syy, 0), on=outer),
        pibls.Dirichlet(v, 0, on={x: 2, y: 0}),
        pibls.Dirichlet(v, 0, on={x: -2, y: 0}),
        pibls.Dirichlet(u, 0, on={x: 0, y: 2}),
    ],
)
tol = 1e-8
picture = {"vector": (u, v), "kind": "deformed"}

if __name__ == "__main__":
    from common import show

    show(__file__)
