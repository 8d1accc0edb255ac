"""Black-Scholes equation: price of an option. V_τ = σ²/2 Vₓₓ + (r - σ²/2) Vₓ - r V.

x = log(S/K) is the logarithm of the share price and τ the time to expiry. The payoff of a call has a kink, so
the problem starts a quarter of a year before expiry, with the Black-Scholes formula as initial condition, and
ends one year before expiry.
"""

import sympy as sp

import pibls

x, tau = sp.symbols("x tau")
V = sp.Function("V")(x, tau)
r, sigma = sp.Rational("0.05"), sp.Rational("0.4")


def normal(d):
    return (1 + sp.erf(d / sp.sqrt(2))) / 2


def call(tau):
    d1 = (x + (r + sigma**2 / 2) * tau) / (sigma * sp.sqrt(tau))
    d2 = (x + (r - sigma**2 / 2) * tau) / (sigma * sp.sqrt(tau))
    return sp.exp(x) * normal(d1) - sp.exp(-r * tau) * normal(d2)


exact = {V: call(tau)}
problem = pibls.Problem(
    domain=pibls.Interval(x, -1, 1).during(tau, sp.Rational(1, 4), 1),
    equations=[sp.Eq(V.diff(tau), sigma**2 / 2 * V.diff(x, 2) + (r - sigma**2 / 2) * V.diff(x) - r * V)],
    conditions=[pibls.Dirichlet(V, call(tau)), pibls.Initial(V, call(sp.Rational(1, 4)))],
)
tol = 1e-6

if __name__ == "__main__":
    from common import show

    show(__file__)
