"""Sound in an L-shaped room: uₜₜ = uₓₓ + u_yy with hard walls, waves that meet at a corner.

Heaps of pressure in three corners spread, meet at the corner that juts out, and part again. In an L of unit
squares their tones are those of the squares; other beginnings excite tones that are singular at that corner,
which are resolved by functions of its own.
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
film = {"frames": 40, "dpi": 52}

if __name__ == "__main__":
    from common import show

    show(__file__)
