"""Lorenz system: a chaotic trajectory. X' = σ(Y - X), Y' = X(ρ - Z) - Y, Z' = XY - βZ.

The distance between two neighbouring trajectories has grown by a factor of ten thousand at t = 10. The
problem is solved in many short time windows. The reference solution is SciPy's DOP853 at its tightest
tolerance with small steps.
"""

from functools import cache

import sympy as sp
from scipy.integrate import solve_ivp

import pibls

t = sp.Symbol("t")
X, Y, Z = (sp.Function(name)(t) for name in "XYZ")
sigma, rho, beta = 10, 28, sp.Rational(8, 3)


@cache
def _integrated():
    def rates(_, v):
        return [10 * (v[1] - v[0]), v[0] * (28 - v[2]) - v[1], v[0] * v[1] - 8 / 3 * v[2]]

    # Small steps: between them the solver interpolates with a lower order.
    fine = {"rtol": 3e-14, "atol": 1e-15, "max_step": 0.002, "dense_output": True}
    return solve_ivp(rates, (0, 10), [-8, 8, 27], "DOP853", **fine).sol


exact = {u: (lambda t, i=i: _integrated()(t)[i]) for i, u in enumerate((X, Y, Z))}
problem = pibls.Problem(
    domain=pibls.Interval(t, 0, 10),
    equations=[
        sp.Eq(X.diff(t), sigma * (Y - X)),
        sp.Eq(Y.diff(t), X * (rho - Z) - Y),
        sp.Eq(Z.diff(t), X * Y - beta * Z),
    ],
    conditions=[pibls.Initial(X, -8), pibls.Initial(Y, 8), pibls.Initial(Z, 27)],
)
tol = 1e-7

if __name__ == "__main__":
    from common import show

    show(__file__)
