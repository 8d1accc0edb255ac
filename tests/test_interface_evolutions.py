"""Evolutions of coupled unknowns with jumping coefficients, against manufactured solutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls import Dirichlet, Initial, Problem
from tests.test_interface_conditions import INTERFACE, LINE, d, step, t, x
from tests.test_interface_coupling import check

S = x - INTERFACE


def unknown(name: str) -> Any:
    return sp.Function(name)(x, t)


@dataclass(frozen=True)
class Evolution:
    """An evolution with a manufactured solution; ``operators`` are its equations in each layer, expanded."""

    exact: dict[Any, Sequence[Any]]
    equations: list[Any]
    operators: Callable[[int], list[Any]]
    initial: tuple[Any, ...]

    def problem(self) -> Problem:
        """Return the problem with sources that make the solution exact in each layer."""
        sides = [
            [e.subs({u: p[i] for u, p in self.exact.items()}).doit() for e in self.operators(i)]
            for i in (0, 1)
        ]
        equations = [
            sp.Eq(e, step(*pair)) for e, pair in zip(self.equations, zip(*sides, strict=True), strict=True)
        ]
        initial_conditions: list[Any] = []
        for u in self.initial:
            values = [p.subs(t, 0) for p in self.exact[_function_of(u)]]
            if isinstance(u, sp.Derivative):
                values = [p.diff(t).subs(t, 0) for p in self.exact[u.expr]]
            initial_conditions.append(Initial(u, step(*values)))
        boundary_conditions = [
            Dirichlet(u, self.exact[u][i].subs(x, i), on=sp.Eq(x, i))
            for u in self.exact
            if str(u.func) != "q"
            for i in (0, 1)
        ]
        return Problem(LINE.during(t, 0, 1), equations, [*initial_conditions, *boundary_conditions])


def _function_of(u: Any) -> Any:
    return u.expr if isinstance(u, sp.Derivative) else u


def heat_with_its_flux() -> Evolution:
    """u_t = q_x, q = k u_x."""
    u, q, ks = unknown("u"), unknown("q"), (1, 4)
    us = [sp.exp(-t) * (1 + sp.sin(S) / k) for k in ks]
    return Evolution(
        {u: us, q: [k * e.diff(x) for k, e in zip(ks, us, strict=True)]},
        [u.diff(t) - q.diff(x), q - step(*ks) * u.diff(x)],
        lambda i: [u.diff(t) - q.diff(x), q - ks[i] * u.diff(x)],
        (u,),
    )


def heat_with_part_of_its_flux() -> Evolution:
    """u_t = (m u_x)_x + q_x, q = a u_x: q jumps."""
    u, q, values, ms = unknown("u"), unknown("q"), (2, 5), (1, 3)
    us = [sp.exp(-t) * (1 + sp.sin(S) / (a + m)) for a, m in zip(values, ms, strict=True)]
    return Evolution(
        {u: us, q: [a * e.diff(x) for a, e in zip(values, us, strict=True)]},
        [u.diff(t) - d(step(*ms) * u.diff(x)) - q.diff(x), q - step(*values) * u.diff(x)],
        lambda i: [u.diff(t) - ms[i] * u.diff(x, 2) - q.diff(x), q - values[i] * u.diff(x)],
        (u,),
    )


def biot() -> Evolution:
    """(E u_x - α p)_x = 0, p_t + (α u_x)_t = (k p_x)_x."""
    u, p, E, alpha, ks = unknown("u"), unknown("p"), (2, 5), (1, 3), (1, 4)
    ps = [sp.exp(-t) * (1 + sp.sin(S) / k) for k in ks]
    us = [sp.exp(-t) * (1 + S * (1 + a) / e + S**2) for e, a in zip(E, alpha, strict=True)]
    return Evolution(
        {u: us, p: ps},
        [
            d(step(*E) * u.diff(x) - step(*alpha) * p),
            p.diff(t) + sp.Derivative(step(*alpha) * u.diff(x), t) - d(step(*ks) * p.diff(x)),
        ],
        lambda i: [
            E[i] * u.diff(x, 2) - alpha[i] * p.diff(x),
            p.diff(t) + alpha[i] * u.diff(x, t) - ks[i] * p.diff(x, 2),
        ],
        (p,),
    )


def waves_and_heat() -> Evolution:
    """u_tt = (k u_x)_x + a w_x, w_t = w_xx."""
    u, w, ks, values = unknown("u"), unknown("w"), (2, 5), (3, -4)
    us = [sp.cos(t) * (1 + sp.sin(S) / k) for k in ks]
    return Evolution(
        {u: us, w: [sp.sin(t) * sp.cos(x)] * 2},
        [u.diff(t, 2) - d(step(*ks) * u.diff(x)) - step(*values) * w.diff(x), w.diff(t) - w.diff(x, 2)],
        lambda i: [u.diff(t, 2) - ks[i] * u.diff(x, 2) - values[i] * w.diff(x), w.diff(t) - w.diff(x, 2)],
        (u, u.diff(t), w),
    )


def nernst_planck() -> Evolution:
    """n_t = (D n_x + μ n p_x)_x, (ε p_x)_x = -n, as in a semiconductor."""
    n, p, D, mu, eps, e = unknown("n"), unknown("p"), (1, 2), (1, 3), (2, 5), sp.exp(-t)
    ns = [e * (1 + S * (1 - b * e / c) / a + S**2) for a, b, c in zip(D, mu, eps, strict=True)]
    return Evolution(
        {n: ns, p: [e * S / c for c in eps]},
        [
            n.diff(t) - d(step(*D) * n.diff(x) + step(*mu) * n * p.diff(x)),
            d(step(*eps) * p.diff(x)) + n,
        ],
        lambda i: [
            n.diff(t) - (D[i] * n.diff(x) + mu[i] * n * p.diff(x)).diff(x),
            eps[i] * p.diff(x, 2) + n,
        ],
        (n,),
    )


def vibrating_timoshenko_beam() -> Evolution:
    w, p, K, EI = unknown("w"), unknown("p"), (2, 7), (1, 3)
    ws = [sp.cos(t) * (1 + S + S / k + k * S**3) for k in K]
    shear = step(*K) * (w.diff(x) - p)
    return Evolution(
        {w: ws, p: [sp.cos(t) * (1 + sp.sin(S) / e) for e in EI]},
        [w.diff(t, 2) - d(shear), p.diff(t, 2) - d(step(*EI) * p.diff(x)) - shear],
        lambda i: [
            w.diff(t, 2) - K[i] * (w.diff(x) - p).diff(x),
            p.diff(t, 2) - EI[i] * p.diff(x, 2) - K[i] * (w.diff(x) - p),
        ],
        (w, w.diff(t), p, p.diff(t)),
    )


@pytest.mark.parametrize(
    "make",
    [
        heat_with_its_flux,
        heat_with_part_of_its_flux,
        biot,
        waves_and_heat,
        nernst_planck,
        vibrating_timoshenko_beam,
    ],
    ids=lambda f: f.__name__,
)
def test_evolution(make: Callable[[], Evolution]) -> None:
    evolution = make()
    solution = pibls.solve(evolution.problem(), tol=1e-7)
    at = np.random.default_rng(5).random((2, 200))
    exact = {}
    for u, parts in evolution.exact.items():
        low, high = (sp.lambdify((x, t), p, "numpy")(*at) + np.zeros(200) for p in parts)
        exact[u] = np.where(at[0] < float(INTERFACE), low, high)
    check(solution, exact, (at[0], at[1]), 1e-7)
