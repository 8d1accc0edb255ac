"""Two-group diffusion: neutrons in a slab. -D₁ f'' + Σ₁ f = S, -D₂ g'' + Σ₂ g = Σ₁₂ f.

Fast neutrons f are emitted by a source and slowed down to thermal neutrons g. Both fluxes vanish at the
surfaces.
"""

import sympy as sp

import pibls

x = sp.Symbol("x")
f, g = sp.Function("f")(x), sp.Function("g")(x)
D1, D2 = 1, sp.Rational("0.5")  # diffusion
S1, S2, S12 = 2, sp.Rational("0.5"), sp.Rational("1.5")  # removal, absorption, slowing down
source = 3

k1, k2 = sp.sqrt(2), sp.Integer(1)  # √(S1/D1) and √(S2/D2)
fast = source * (1 - sp.cosh(k1 * x) / sp.cosh(k1)) / S1
level = S12 * source / (S1 * S2)
follows = -S12 * source / (S1 * sp.cosh(k1) * (S2 - D2 * k1**2))
slow = level + follows * sp.cosh(k1 * x) - (level + follows * sp.cosh(k1)) * sp.cosh(k2 * x) / sp.cosh(k2)

exact = {f: fast, g: slow}
problem = pibls.Problem(
    domain=pibls.Interval(x, -1, 1),
    equations=[
        sp.Eq(-D1 * f.diff(x, 2) + S1 * f, source),
        sp.Eq(-D2 * g.diff(x, 2) + S2 * g, S12 * f),
    ],
    conditions=[pibls.Dirichlet(f, 0), pibls.Dirichlet(g, 0)],
)
tol = 1e-9

if __name__ == "__main__":
    from common import show

    show(__file__)
