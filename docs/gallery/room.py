"""Wave equation: sound in an L-shaped room. uₜₜ = uₓₓ + u_yy.

The walls are sound-hard. Pressure pulses in three corners spread and meet at the re-entrant corner. This
initial state excites only modes that the L has in common with its unit squares. Other initial states excite
modes that are singular at the re-entrant corner; they are resolved by singular functions.
"""

import sympy as sp

import pibls

x, y, t = sp.symbols("x y t")
u = sp.Function("u")(x, y, t)
cos, pi, half = sp.cos, sp.pi, sp.Rational(1, 2)
heap = ((1 + cos(pi * x)) * (1 + cos(pi * y)) / 4) ** 2

shares = [3 * half**3, half, half**3]  # ((1 + cos πx)/2)² in cos 0, cos πx, cos 2πx
exact = {
    u: sum(
        a * b * cos(i * pi * x) * cos(j * pi * y) * cos(sp.sqrt(i**2 + j**2) * pi * t)
        for i, a in enumerate(shares)
        for j, b in enumerate(shares)
    )
}
problem = pibls.Problem(
    domain=pibls.Polygon((x, y), [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]).during(t, 0, 2),
    equations=[sp.Eq(u.diff(t, 2), u.diff(x, 2) + u.diff(y, 2))],
    conditions=[
        pibls.Neumann(u, 0),
        pibls.Initial(u, heap),
        pibls.Initial(u.diff(t), 0),
    ],
)
tol = 1e-4
animation = {"frames": 40, "dpi": 52}

if __name__ == "__main__":
    from common import show

    show(__file__)
