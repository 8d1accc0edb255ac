"""Pendulum equation: large amplitude. u'' + sin u = 0.

The pendulum starts at rest at the angle α. The exact solution is sin(u/2) = k cd(t, k) with k = sin(α/2),
where cd is a Jacobi elliptic function.
"""

import numpy as np
import sympy as sp
from scipy.special import ellipj

import pibls

t = sp.Symbol("t")
u = sp.Function("u")(t)
alpha = 2 * sp.pi / 3


def swing(t):
    k = np.sin(float(alpha) / 2)
    _, cn, dn, _ = ellipj(t, k**2)
    return 2 * np.arcsin(k * cn / dn)


exact = {u: swing}
problem = pibls.Problem(
    domain=pibls.Interval(t, 0, 5),
    equations=[sp.Eq(u.diff(t, 2) + sp.sin(u), 0)],
    conditions=[pibls.Initial(u, alpha), pibls.Initial(u.diff(t), 0)],
)
tol = 1e-8

if __name__ == "__main__":
    from common import show

    show(__file__)
