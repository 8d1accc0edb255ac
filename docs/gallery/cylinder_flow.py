"""Laplace's equation: flow around a cylinder. Δψ = 0, u = ∂ψ/∂y, v = -∂ψ/∂x.

The stream function of an ideal fluid is constant on the cylinder. On the sides of the channel it has the
values of the exact solution, a uniform stream plus a dipole.
"""

import sympy as sp

import pibls

x, y = sp.symbols("x y")
psi = sp.Function("psi")(x, y)
cylinder = pibls.Disk((x, y), (0, 0), 1)
exact = {psi: y * (1 - 1 / (x**2 + y**2))}
problem = pibls.Problem(
    domain=pibls.Box({x: (-4, 4), y: (-2, 2)}) - cylinder,
    equations=[sp.Eq(psi.diff(x, 2) + psi.diff(y, 2), 0)],
    conditions=[pibls.Dirichlet(psi, 0, on=cylinder), pibls.Dirichlet(psi, exact[psi])],
)
tol = 1e-8
picture = {"vector": (psi.diff(y), -psi.diff(x)), "kind": "stream"}

if __name__ == "__main__":
    from common import show

    show(__file__)
