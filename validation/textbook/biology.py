"""Textbook problems: biology, finance and statistics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special
import sympy as sp

from validation.references.initial_values import initial_value
from validation.references.semilinear import on_times, semilinear
from validation.references.series import jump_defect
from validation.statements.statement import stated
from validation.statements.symbols import S, pi, t, tau, u_of, v_of, w_of, x
from validation.statements.types import Array, References


@stated(
    "ode",
    "biology",
    "Murray style",
    tags="smooth, nonlinear, units",
    exact={"u": 10000 / (1 + 199 * sp.exp(-sp.Rational(4, 5) * t))},
)
def logistic_colony(p: Any) -> Any:
    """Logistic growth of a colony counted in individuals."""
    u = u_of(t)
    return p.Problem(p.Interval(t, 0, 30), [sp.Eq(u.diff(t), 0.8 * u * (1 - u / 10000))], [p.Initial(u, 50)])


_prey = (lambda s, v: (1.1 * v[0] - 0.4 * v[0] * v[1], 0.1 * v[0] * v[1] - 0.4 * v[1]), (10, 10), 40.0)


@stated(
    "ode",
    "biology",
    "Murray style",
    tags="nonlinear, system, oscillation",
    unknowns="u v",
    numeric=initial_value("u v", *_prey),
    second=initial_value("u v", *_prey, "DOP853"),
    accuracy=1e-11,
)
def predator_prey(p: Any) -> Any:
    """Predators and prey over several cycles."""
    u, v = u_of(t), v_of(t)
    return p.Problem(
        p.Interval(t, 0, 40),
        [sp.Eq(u.diff(t), 1.1 * u - 0.4 * u * v), sp.Eq(v.diff(t), 0.1 * u * v - 0.4 * v)],
        [p.Initial(u, 10), p.Initial(v, 10)],
    )


_sir = (
    lambda s, v: (-0.3e-6 * v[0] * v[1], 0.3e-6 * v[0] * v[1] - 0.1 * v[1], 0.1 * v[1]),
    (999990, 10, 0),
    160.0,
)


@stated(
    "ode",
    "epidemiology",
    "Brauer style",
    tags="nonlinear, system, units, different sizes",
    unknowns="u v w",
    numeric=initial_value("u v w", *_sir),
    second=initial_value("u v w", *_sir, "DOP853"),
    accuracy=1e-10,
)
def epidemic(p: Any) -> Any:
    """A million people, ten of them ill, in days."""
    u, v, w = u_of(t), v_of(t), w_of(t)
    beta = 0.3 / 1_000_000
    return p.Problem(
        p.Interval(t, 0, 160),
        [
            sp.Eq(u.diff(t), -beta * u * v),
            sp.Eq(v.diff(t), beta * u * v - 0.1 * v),
            sp.Eq(w.diff(t), 0.1 * v),
        ],
        [p.Initial(u, 999990), p.Initial(v, 10), p.Initial(w, 0)],
    )


@stated(
    "ode", "statistics", "Boyce-DiPrima style", tags="smooth, end condition", exact={"u": sp.exp(-(x**2))}
)
def bell_from_left(p: Any) -> Any:
    """A first-order equation with a Dirichlet condition at the left end only."""
    u = u_of(x)
    return p.Problem(p.Interval(x, 0, 4), [u.diff(x) + 2 * x * u], [p.Dirichlet(u, 1, on=sp.Eq(x, 0))])


@stated(
    "ode",
    "finance",
    "Hull style",
    tags="smooth, end condition, units",
    exact={"u": 100 * sp.exp(-(10 - t) / 25) + 125 * (1 - sp.exp(-(10 - t) / 25))},
)
def bond_price(p: Any) -> Any:
    """A coupon bond valued backwards from its redemption: the condition stands at the right end."""
    u = u_of(t)
    return p.Problem(
        p.Interval(t, 0, 10), [sp.Eq(u.diff(t), 0.04 * u - 5)], [p.Dirichlet(u, 100, on=sp.Eq(t, 10))]
    )


_sy = sp.Rational(2, 5)


_cable = sp.Piecewise(
    (5 * sp.cosh(5 * x) * sp.cosh(5 * (1 - _sy)) / sp.sinh(5), x < _sy),
    (5 * sp.cosh(5 * _sy) * sp.cosh(5 * (1 - x)) / sp.sinh(5), True),
)


@stated(
    "bvp",
    "biology",
    "Koch style",
    tags="point load, jump",
    exact={"u": _cable},
    interfaces={"x": (0.4,)},
    extra=lambda: jump_defect(_cable, _sy, 1, -25.0),
)
def dendrite(p: Any) -> Any:
    """A passive nerve cable with one synapse and sealed ends."""
    u = u_of(x)
    return p.Problem(
        p.Interval(x, 0, 1),
        [sp.Eq(sp.Rational(1, 25) * u.diff(x, 2) - u, -sp.DiracDelta(x - _sy))],
        [p.Neumann(u, 0)],
    )


_genes = (1 - sp.tanh((x - 5 * t / sp.sqrt(6)) / (2 * sp.sqrt(6)))) ** 2 / 4


@stated("evolution", "biology", "Murray style", tags="time, nonlinear", exact={"u": _genes})
def gene_front(p: Any) -> Any:
    """Fisher's equation with the front of Ablowitz and Zeppetella."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, -10, 20).during(t, 0, 4),
        [sp.Eq(u.diff(t), u.diff(x, 2) + u * (1 - u))],
        [p.Dirichlet(u, _genes), p.Initial(u, _genes.subs(t, 0))],
    )


def _call(spot: Array, left: Array) -> Array:
    """The price of a call struck at 100 with 5 % interest and 20 % volatility, left years before expiry."""
    spot, left = np.broadcast_arrays(np.asarray(spot, dtype=float), np.asarray(left, dtype=float))
    with np.errstate(divide="ignore", invalid="ignore"):
        d1 = (np.log(spot / 100) + 0.07 * left) / (0.2 * np.sqrt(left))
        value = spot * scipy.special.ndtr(d1) - 100 * np.exp(-0.05 * left) * scipy.special.ndtr(
            d1 - 0.2 * np.sqrt(left)
        )
    return np.where(left <= 0, np.maximum(spot - 100, 0), np.where(spot <= 0, 0.0, value))


def _call_expectation() -> References:
    """The same as a discounted expectation, by the Gauss-Legendre rule from the strike upwards."""
    nodes, weights = np.polynomial.legendre.leggauss(200)

    def evaluate(spot: Array, left: Array) -> Array:
        a, b = (np.ravel(c)[:, None] for c in np.broadcast_arrays(spot, left))
        spread = 0.2 * np.sqrt(b)
        low = np.clip((np.log(100 / a) - 0.03 * b) / spread, -10, 10)
        q = low + (10 - low) * (nodes[None, :] + 1) / 2
        gain = (a * np.exp(0.03 * b + spread * q) - 100) * np.exp(-(q**2) / 2) / math.sqrt(2 * math.pi)
        return np.reshape(np.exp(-0.05 * b[:, 0]) * (gain @ weights) * (10 - low[:, 0]) / 2, np.shape(spot))

    return {"u": evaluate}


@stated(
    "evolution",
    "finance",
    "Wilmott style",
    tags="time, jump, units, degenerate",
    numeric=lambda: {"u": _call},
    second=_call_expectation,
    accuracy=1e-12,
    tol=1e-4,
    patch=5e-3,
    residual_tol=1e-5,
)
def call_option(p: Any) -> Any:
    """Black and Scholes' call with its kinked payoff, in the time that is left."""
    u = u_of(S, tau)
    right = 0.02 * S**2 * u.diff(S, 2) + 0.05 * S * u.diff(S) - 0.05 * u
    return p.Problem(
        p.Interval(S, 0, 400).during(tau, 0, 1),
        [sp.Eq(u.diff(tau), right)],
        [
            p.Dirichlet(u, 0, on=sp.Eq(S, 0)),
            p.Dirichlet(u, 400 - 100 * sp.exp(-0.05 * tau), on=sp.Eq(S, 400)),
            p.Initial(u, sp.Max(S - 100, 0)),
        ],
    )


def _cosine_system(modes: int, windows: int) -> References:
    """Schnakenberg's kinetics with sealed ends by cosine modes."""
    k = np.arange(modes)
    grid = (np.arange(2 * modes) + 0.5) / (2 * modes)
    shapes = np.cos(np.pi * np.outer(grid, k))
    back = shapes.T / modes
    back[0] /= 2
    rates = np.concatenate([-0.01 * (np.pi * k) ** 2, -0.4 * (np.pi * k) ** 2])

    def nonlinear(c: Array) -> Array:
        a, b = shapes @ c[:modes], shapes @ c[modes:]
        both = a * a * b
        return np.concatenate([back @ (0.1 - a + both), back @ (0.9 - both)])

    start = np.zeros(2 * modes)
    start[0], start[modes], start[2] = 1.0, 0.9, 0.1
    solve = semilinear(rates, start, nonlinear, np.linspace(0, 4, windows).tolist())

    def basis(q: Any) -> Any:
        return np.cos(np.pi * np.outer(q, k))

    return {"u": on_times(solve, basis, slice(0, modes)), "v": on_times(solve, basis, slice(modes, None))}


@stated(
    "evolution",
    "biology",
    "Murray style",
    tags="time, system, nonlinear",
    unknowns="u v",
    numeric=lambda: _cosine_system(40, 41),
    second=lambda: _cosine_system(28, 61),
    accuracy=1e-12,
    tol=1e-6,
)
def animal_coat(p: Any) -> Any:
    """Two reacting and spreading substances with sealed ends."""
    u, v = u_of(x, t), v_of(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 4),
        [
            sp.Eq(u.diff(t), 0.01 * u.diff(x, 2) + 0.1 - u + u**2 * v),
            sp.Eq(v.diff(t), 0.4 * v.diff(x, 2) + 0.9 - u**2 * v),
        ],
        [p.Neumann(u, 0), p.Neumann(v, 0), p.Initial(u, 1 + 0.1 * sp.cos(2 * pi * x)), p.Initial(v, 0.9)],
    )


_spread = 1 - sp.Rational(3, 4) * sp.exp(-2 * t)


_cloud = sp.exp(-((x - 2 * sp.exp(-t)) ** 2) / (2 * _spread)) / sp.sqrt(2 * pi * _spread)


@stated("evolution", "statistics", "Risken style", tags="time, smooth, peak", exact={"u": _cloud})
def drifting_density(p: Any) -> Any:
    """Fokker and Planck's equation of a spring in a bath; the density is nothing far out."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, -9, 9).during(t, 0, 3),
        [sp.Eq(u.diff(t), sp.diff(x * u, x) + u.diff(x, 2))],
        [p.Dirichlet(u, 0), p.Initial(u, _cloud.subs(t, 0))],
    )
