"""Laplace's equation: an eccentric coaxial cable. Δu = 0.

The wire is at the potential 1 and its round shield at 0. Both circles are level lines of the ratio of the
distances from two points, and the potential is a linear function of the logarithm of this ratio.
"""

import sympy as sp

import pibls

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)
wire, shield = pibls.Disk((x, y), (0.4, 0), 0.3), pibls.Disk((x, y), (0, 0), 1)
# The two points lie at a and 1/a, where the circle of the wire has the same ratio on both sides.
a = (sp.Rational(107, 100) - sp.sqrt(sp.Rational(107, 100) ** 2 - sp.Rational(64, 100))) / sp.Rational(8, 10)
ratio = ((x - a) ** 2 + y**2) / ((x - 1 / a) ** 2 + y**2)
on_wire, on_shield = (sp.log(ratio.subs({x: c, y: 0})) for c in (sp.Rational(7, 10), 1))
exact = {u: (sp.log(ratio) - on_shield) / (on_wire - on_shield)}
problem = pibls.Problem(
    domain=shield - wire,
    equations=[sp.Eq(u.diff(x, 2) + u.diff(y, 2), 0)],
    conditions=[pibls.Dirichlet(u, 1, on=wire), pibls.Dirichlet(u, 0, on=shield)],
)
tol = 1e-8
picture = {"levels": 11}

if __name__ == "__main__":
    from common import show

    show(__file__)
