"""Laplace's equation: a re-entrant corner. Δu = 0, u = r^(2/3) sin(2θ/3).

The gradient is infinite at the re-entrant corner of the L-shaped domain. The exponent of the singular
function follows from the angle, and the function is added to the basis automatically.
"""

import numpy as np
import sympy as sp

import pibls

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)


def corner(x, y):
    """r^(2/3) sin(2θ/3), with θ from the side on the right of the corner."""
    return np.hypot(x, y) ** (2 / 3) * np.sin(2 / 3 * np.mod(np.arctan2(y, x), 2 * np.pi))


angle = sp.Piecewise((sp.atan2(y, x), y >= 0), (sp.atan2(y, x) + 2 * sp.pi, True))
value = (x**2 + y**2) ** sp.Rational(1, 3) * sp.sin(2 * angle / 3)
inner = sp.Or(sp.And(sp.Eq(y, 0), x > 0), sp.And(sp.Eq(x, 0), y < 0))
exact = {u: corner}
problem = pibls.Problem(
    domain=pibls.Polygon((x, y), [(0, 0), (1, 0), (1, 1), (-1, 1), (-1, -1), (0, -1)]),
    equations=[sp.Eq(u.diff(x, 2) + u.diff(y, 2), 0)],
    conditions=[pibls.Dirichlet(u, 0, on=inner), pibls.Dirichlet(u, value)],
)
tol = 1e-8
picture = {"kind": "surface"}

if __name__ == "__main__":
    from common import show

    show(__file__)
