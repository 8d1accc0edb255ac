"""Heat conduction: a layered wall. (k u')' + q = 0.

The layers are brick, insulation and plaster, with a heating foil of one millimetre in the plaster. u and the
flux k u' are continuous between the layers; u is linear outside the foil and quadratic inside.
"""

import numpy as np
import sympy as sp

import pibls

x = sp.Symbol("x")
u = sp.Function("u")(x)
r = sp.Rational
k = sp.Piecewise((r("0.8"), x < r("0.24")), (r("0.04"), x < r("0.26")), (r("0.7"), True))
q = sp.Piecewise((100000, sp.And(x > r("0.265"), x < r("0.266"))), (0, True))


def _integrated(x):
    """-5 + ∫ (f - Q)/k with Q, the heat released below x, and f such that the room is at 20."""
    bends = np.array([0, 0.24, 0.26, 0.265, 0.266, 0.28])
    k, q = np.array([0.8, 0.04, 0.7, 0.7, 0.7]), np.array([0, 0, 0, 1e5, 0])
    step = np.diff(bends)
    released = np.concatenate([[0], np.cumsum(q * step)])

    def rise(f, i, h):
        return ((f - released[i]) * h - q[i] * h**2 / 2) / k[i]

    every = np.arange(len(k))
    f = (25 - rise(0, every, step).sum()) / np.sum(step / k)
    starts = -5 + np.concatenate([[0], np.cumsum(rise(f, every, step))])
    i = np.clip(np.searchsorted(bends, x, side="right") - 1, 0, len(k) - 1)
    return starts[i] + rise(f, i, x - bends[i])


exact = {u: _integrated}
problem = pibls.Problem(
    domain=pibls.Interval(x, 0, r("0.28")),
    equations=[sp.Eq(pibls.div(k * pibls.grad(u)) + q, 0)],
    conditions=[pibls.Dirichlet(u, -5, on=sp.Eq(x, 0)), pibls.Dirichlet(u, 20, on=sp.Eq(x, r("0.28")))],
)
tol = 1e-10

if __name__ == "__main__":
    from common import show

    show(__file__)
