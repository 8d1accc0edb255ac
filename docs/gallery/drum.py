"""Wave equation: a square drum. uₜₜ = uₓₓ + u_yy.

The membrane vibrates in its lowest mode, starting at rest with full amplitude.
"""

import sympy as sp

import pibls

x, y, t = sp.symbols("x y t")
u = sp.Function("u")(x, y, t)
sin, cos, pi = sp.sin, sp.cos, sp.pi
first = sin(pi * x) * sin(pi * y)

exact = {u: first * cos(sp.sqrt(2) * pi * t)}
problem = pibls.Problem(
    domain=pibls.Box({x: (0, 1), y: (0, 1)}).during(t, 0, sp.Rational(1, 4)),
    equations=[sp.Eq(u.diff(t, 2), u.diff(x, 2) + u.diff(y, 2))],
    conditions=[
        pibls.Dirichlet(u, 0),
        pibls.Initial(u, first),
        pibls.Initial(u.diff(t), 0),
    ],
)
tol = 1e-3
animation = {"frames": 30, "dpi": 52}

if __name__ == "__main__":
    from common import show

    show(__file__)
