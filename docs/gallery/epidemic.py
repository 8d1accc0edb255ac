"""SIR model: an epidemic. S' = -β S I, I' = β S I - γ I.

This is the model of Kermack and McKendrick. The reference solution is SciPy's DOP853 at its tightest
tolerance with small steps.
"""

from functools import cache

import sympy as sp
from scipy.integrate import solve_ivp

import pibls

t = sp.Symbol("t")
S, J = sp.Function("S")(t), sp.Function("I")(t)  # the name J avoids confusion with sp.I
beta, gamma = sp.Rational("1.2"), sp.Rational("0.4")


@cache
def _integrated():
    def rates(_, y):
        new = float(beta) * y[0] * y[1]
        return [-new, new - float(gamma) * y[1]]

    # Small steps: between them the solver interpolates with a lower order.
    fine = {"rtol": 3e-14, "atol": 1e-16, "max_step": 0.02, "dense_output": True}
    return solve_ivp(rates, (0, 10), [0.9, 0.1], "DOP853", **fine).sol


exact = {S: lambda t: _integrated()(t)[0], J: lambda t: _integrated()(t)[1]}
problem = pibls.Problem(
    domain=pibls.Interval(t, 0, 10),
    equations=[sp.Eq(S.diff(t), -beta * S * J), sp.Eq(J.diff(t), beta * S * J - gamma * J)],
    conditions=[pibls.Initial(S, sp.Rational("0.9")), pibls.Initial(J, sp.Rational("0.1"))],
)
tol = 1e-7

if __name__ == "__main__":
    from common import show

    show(__file__)
