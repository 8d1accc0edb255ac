"""Stokes flow: between rotating cylinders. -Δu + ∂p/∂x = 0, -Δv + ∂p/∂y = 0, ∇·(u, v) = 0.

Oil flows between a rotating shaft and a bearing that rotates in the opposite direction. The mean pressure is
zero.
"""

import sympy as sp

import pibls

x, y = sp.symbols("x y")
u, v, p = (sp.Function(name)(x, y) for name in "uvp")
shaft, bearing = pibls.Disk((x, y), (0, 0), 0.5), pibls.Disk((x, y), (0, 0), 1)
# The speed is A r + B/r: 1 on the shaft, -1/2 on the bearing.
A, B = -sp.Rational(4, 3), sp.Rational(5, 6)
turn = A + B / (x**2 + y**2)
exact = {u: -turn * y, v: turn * x, p: sp.Integer(0) * x}


def speeds(shape, rate):
    return [pibls.Dirichlet(u, -rate * y, on=shape), pibls.Dirichlet(v, rate * x, on=shape)]


problem = pibls.Problem(
    domain=bearing - shaft,
    equations=[
        sp.Eq(-u.diff(x, 2) - u.diff(y, 2) + p.diff(x), 0),
        sp.Eq(-v.diff(x, 2) - v.diff(y, 2) + p.diff(y), 0),
        sp.Eq(u.diff(x) + v.diff(y), 0),
    ],
    conditions=[
        *speeds(shaft, 2),
        *speeds(bearing, -sp.Rational(1, 2)),
        pibls.Condition(sp.Eq(pibls.integral(p), 0)),
    ],
)
tol = 1e-8
picture = {"vector": (u, v)}

if __name__ == "__main__":
    from common import show

    show(__file__)
