"""Fisher-KPP equation: an invading population. uₜ = uₓₓ + u(1 - u).

The exact solution is the travelling front of Ablowitz and Zeppetella, with speed 5/√6.
"""

import sympy as sp

import pibls

x, t = sp.symbols("x t")
u = sp.Function("u")(x, t)
front = 1 / (1 + sp.exp((x - 5 * t / sp.sqrt(6)) / sp.sqrt(6))) ** 2

exact = {u: front}
problem = pibls.Problem(
    domain=pibls.Interval(x, -5, 5).during(t, 0, 1),
    equations=[sp.Eq(u.diff(t), u.diff(x, 2) + u * (1 - u))],
    conditions=[pibls.Dirichlet(u, front), pibls.Initial(u, 1 / (1 + sp.exp(x / sp.sqrt(6))) ** 2)],
)
tol = 1e-6
picture = {"kind": "snapshots"}

if __name__ == "__main__":
    from common import show

    show(__file__)
