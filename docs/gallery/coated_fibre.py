"""Conduction: a coated fibre in a matrix. ∇·(k ∇u) = 0, k = 400, 10 and 1.

A field that is uniform far away passes through a fibre with a coating. u and the normal flux are continuous
on both circles; in each material the solution is a combination of x and x/r².
"""

import sympy as sp

import pibls

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)
a, b = sp.Rational(1, 4), sp.Rational(1, 2)
square = x**2 + y**2
k = sp.Piecewise((400, square < a**2), (10, square < b**2), (1, True))


def _layers():
    """Return the solution: a multiple of x in the fibre, x and x/r² in the coating and outside."""
    core, coat, image, far = sp.symbols("core coat image far")
    found = sp.solve(
        [
            core - coat - image / a**2,
            400 * core - 10 * (coat - image / a**2),
            coat + image / b**2 - 1 - far / b**2,
            10 * (coat - image / b**2) - (1 - far / b**2),
        ],
        [core, coat, image, far],
    )
    inner, middle = found[core] * x, x * (found[coat] + found[image] / square)
    return sp.Piecewise(
        (inner, square < a**2), (middle, square < b**2), (x * (1 + found[far] / square), True)
    )


exact = {u: _layers()}
problem = pibls.Problem(
    domain=pibls.Box({x: (-1, 1), y: (-1, 1)}),
    equations=[sp.Eq(pibls.div(k * pibls.grad(u)), 0)],
    conditions=[pibls.Dirichlet(u, exact[u].args[-1][0])],
)
tol = 1e-10

if __name__ == "__main__":
    from common import show

    show(__file__)
