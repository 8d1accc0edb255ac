"""[Σ ∂ᵐ⁻¹⁻ʲ(aG)] = 0: interface conditions of systems where coefficients jump.

References on a line are matrix exponentials in each layer, of the continuous state; in the plane
they are manufactured solutions with piecewise sources.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls import Box, Condition, Dirichlet, Disk, Initial, Interval, Problem, div, grad
from pibls.arrays import Array
from tests.layered_solutions import LayeredSolution
from tests.test_interface_coupling import check

x, y, t = sp.symbols("x y t")
INTERFACE = sp.Rational(2, 5)
LINE, SQUARE = Interval(x, 0, 1), Box({x: (0, 1), y: (0, 1)})
X = np.linspace(0, 1, 41)
BELOW = float(INTERFACE) > X

ProblemData = tuple[list[Any], list[Any], dict[Any, Array]]
"""Equations, conditions, and the exact values at X."""


def step(a: Any, b: Any) -> Any:
    return sp.Piecewise((a, x < INTERFACE), (b, True))


def d(e: Any, times: int = 1) -> Any:
    return sp.Derivative(e, (x, times))


def unknown(name: str) -> Any:
    return sp.Function(name)(x)


def layers(rows: Callable[[int], Any], given: Sequence[float], first: Any, last: Any) -> Array:
    """The state at X; its matrix is rows(0) in the first layer and rows(1) in the second."""
    b = np.array(given, dtype=float)
    layer_data = [(end, np.array(rows(i), dtype=float), b) for i, end in enumerate((float(INTERFACE), 1.0))]
    return LayeredSolution.solve(layer_data, first, last)(X)


def zero(*expressions: Any) -> list[Any]:
    """Return homogeneous conditions at both ends."""
    return [Condition(sp.Eq(e, 0), on=sp.Eq(x, end)) for e in expressions for end in (0, 1)]


def beam(stiffness: tuple[int, int], force: tuple[int, int], spring: tuple[int, int]) -> Array:
    """(EI w'')'' + (N w')' + c w = 1, clamped: the state is w, w', EI w'', (EI w'')' + N w'."""

    def rows(i: int) -> list[list[float]]:
        return [[0, 1, 0, 0], [0, 0, 1 / stiffness[i], 0], [0, -force[i], 0, 1], [-spring[i], 0, 0, 0]]

    return layers(rows, [0, 0, 0, 1], {0: 0.0, 1: 0.0}, {0: 0.0, 1: 0.0})


def euler_bernoulli_on_springs() -> ProblemData:
    w = unknown("w")
    equation = d(step(2, 5) * w.diff(x, 2), 2) + step(3, 40) * w - 1
    return [equation], zero(w, w.diff(x)), {w: beam((2, 5), (0, 0), (3, 40))[0]}


def beam_column_of_two_sections() -> ProblemData:
    w = unknown("w")
    equation = d(step(2, 5) * w.diff(x, 2), 2) + d(step(3, -4) * w.diff(x)) - 1
    return [equation], zero(w, w.diff(x)), {w: beam((2, 5), (3, -4), (0, 0))[0]}


def beam_with_jumping_axial_force() -> ProblemData:
    w = unknown("w")
    equation = d(2 * w.diff(x, 2), 2) + d(step(3, -4) * w.diff(x)) - 1
    return [equation], zero(w, w.diff(x)), {w: beam((2, 2), (3, -4), (0, 0))[0]}


def timoshenko() -> Array:
    """w, V = K(w' - φ), φ, M = EI φ' with K = 2 | 7, EI = 1 | 3, V' = -1, M' = -V."""

    def rows(i: int) -> list[list[float]]:
        return [[0, 1 / (2, 7)[i], 1, 0], [0, 0, 0, 0], [0, 0, 0, 1 / (1, 3)[i]], [0, -1, 0, 0]]

    return layers(rows, [0, -1, 0, 0], {0: 0.0, 2: 0.0}, {0: 0.0, 2: 0.0})


def timoshenko_of_second_order() -> ProblemData:
    w, p, K, EI = unknown("w"), unknown("p"), step(2, 7), step(1, 3)
    exact = timoshenko()
    shear = K * (w.diff(x) - p)
    return [d(shear) + 1, d(EI * p.diff(x)) + shear], zero(w, p), {w: exact[0], p: exact[2]}


def timoshenko_with_two_outer_derivatives() -> ProblemData:
    w, p, K, EI = unknown("w"), unknown("p"), step(2, 7), step(1, 3)
    exact = timoshenko()
    equations = [d(K * w.diff(x)) - d(K * p) + 1, d(EI * p.diff(x)) + K * (w.diff(x) - p)]
    return equations, zero(w, p), {w: exact[0], p: exact[2]}


def timoshenko_of_first_order() -> ProblemData:
    w, p, V, M = (unknown(name) for name in "wpVM")
    exact = timoshenko()
    equations = [
        step(2, 7) * (w.diff(x) - p) - V,
        step(1, 3) * p.diff(x) - M,
        V.diff(x) + 1,
        M.diff(x) + V,
    ]
    return equations, zero(w, p), dict(zip((w, V, p, M), exact, strict=True))


def timoshenko_of_mixed_order() -> ProblemData:
    w, p, V = (unknown(name) for name in "wpV")
    exact = timoshenko()
    equations = [step(2, 7) * (w.diff(x) - p) - V, d(step(1, 3) * p.diff(x)) + V, V.diff(x) + 1]
    return equations, zero(w, p), {w: exact[0], V: exact[1], p: exact[2]}


def fourier_and_balance() -> ProblemData:
    """k u' = q, q' = -1."""
    u, q = unknown("u"), unknown("q")
    exact = layers(lambda i: [[0, 1 / (2, 5)[i]], [0, 0]], [0, -1], {0: 0.0}, {0: 0.0})
    return [sp.Eq(step(2, 5) * u.diff(x), q), sp.Eq(q.diff(x), -1)], zero(u), {u: exact[0], q: exact[1]}


def flux_partly_an_unknown() -> ProblemData:
    """q = a u', (m u')' + q' = -1: (a + m) u' is continuous, and q is not."""
    u, q = unknown("u"), unknown("q")
    exact = layers(lambda i: [[0, 1 / (3, 8)[i]], [0, 0]], [0, -1], {0: 0.0}, {0: 0.0})
    equations = [q - step(2, 5) * u.diff(x), d(step(1, 3) * u.diff(x)) + q.diff(x) + 1]
    return equations, zero(u), {u: exact[0], q: exact[1] * np.where(BELOW, 2 / 3, 5 / 8)}


def jumping_potential() -> ProblemData:
    """(k u')' = -1, (m u')' + w' = 0: m u' + w is continuous, and w is not."""
    u, w = unknown("u"), unknown("w")
    exact = layers(lambda i: [[0, 1 / (2, 5)[i]], [0, 0]], [0, -1], {0: 0.0}, {0: 0.0})
    equations = [d(step(2, 5) * u.diff(x)) + 1, d(step(1, 3) * u.diff(x)) + w.diff(x)]
    values = exact[1, 0] / 2 - exact[1] * np.where(BELOW, 1 / 2, 3 / 5)
    return equations, [*zero(u), Dirichlet(w, 0, on=sp.Eq(x, 0))], {u: exact[0], w: values}


def thermoelastic_bar() -> ProblemData:
    """(E u' - β T)' = -1/2, (k T')' = -1, each coefficient under the outer derivative."""
    u, T = unknown("u"), unknown("T")

    def rows(i: int) -> list[list[float]]:
        return [[0, 1 / (2, 5)[i], (1, 3)[i] / (2, 5)[i], 0], [0] * 4, [0, 0, 0, 1 / (1, 4)[i]], [0] * 4]

    exact = layers(rows, [0, -0.5, 0, -1], {0: 0.0, 2: 0.0}, {0: 0.0, 2: 0.0})
    stress = step(2, 5) * u.diff(x) - step(1, 3) * T
    return (
        [d(stress) + sp.Rational(1, 2), d(step(1, 4) * T.diff(x)) + 1],
        zero(u, T),
        {u: exact[0], T: exact[2]},
    )


def thermal_stress_outside_the_flux() -> ProblemData:
    """(E u')' - β T' = -1/2 with β outside: E u' is continuous."""
    u, T = unknown("u"), unknown("T")

    def rows(i: int) -> list[list[float]]:
        k = (1, 4)[i]
        return [[0, 1 / (2, 5)[i], 0, 0], [0, 0, 0, (1, 3)[i] / k], [0, 0, 0, 1 / k], [0] * 4]

    exact = layers(rows, [0, -0.5, 0, -1], {0: 0.0, 2: 0.0}, {0: 0.0, 2: 0.0})
    equations = [
        d(step(2, 5) * u.diff(x)) - step(1, 3) * T.diff(x) + sp.Rational(1, 2),
        d(step(1, 4) * T.diff(x)) + 1,
    ]
    return equations, zero(u, T), {u: exact[0], T: exact[2]}


def piezoelectric_rod() -> ProblemData:
    """(c u' + e φ')' = -1, (e u' - ε φ')' = 1/2."""
    u, p = unknown("u"), unknown("p")

    def rows(i: int) -> list[list[float]]:
        (a, b), (e, f) = np.linalg.inv([[(2, 5)[i], (1, -2)[i]], [(1, -2)[i], -(3, 1)[i]]]).tolist()
        return [[0, 0, a, b], [0, 0, e, f], [0] * 4, [0] * 4]

    exact = layers(rows, [0, 0, -1, 0.5], {0: 0.0, 1: 0.0}, {0: 0.0, 1: 1.0})
    equations = [
        d(step(2, 5) * u.diff(x) + step(1, -2) * p.diff(x)) + 1,
        d(step(1, -2) * u.diff(x) - step(3, 1) * p.diff(x)) - sp.Rational(1, 2),
    ]
    ends = [Dirichlet(u, 0), Dirichlet(p, 0, on=sp.Eq(x, 0)), Dirichlet(p, 1, on=sp.Eq(x, 1))]
    return equations, ends, {u: exact[0], p: exact[1]}


def electro_osmosis() -> ProblemData:
    """(μ v')' + 3 (ε ψ')' = -1, (ε ψ')' = 9 ψ."""
    v, p = unknown("v"), unknown("p")

    def rows(i: int) -> list[list[float]]:
        mu = (1, 4)[i]
        return [[0, 1 / mu, 0, -3 / mu], [0] * 4, [0, 0, 0, 1 / (2, 5)[i]], [0, 0, 9, 0]]

    exact = layers(rows, [0, -1, 0, 0], {0: 0.0, 2: 1.0}, {0: 0.0, 2: 1.0})
    charge = d(step(2, 5) * p.diff(x))
    return (
        [d(step(1, 4) * v.diff(x)) + 3 * charge + 1, charge - 9 * p],
        [*zero(v), Dirichlet(p, 1)],
        {
            v: exact[0],
            p: exact[2],
        },
    )


def integral_of_first_order() -> ProblemData:
    """(k u')' + a w' = -1, w' = u: w is of first order, and continuous where a jumps."""
    u, w = unknown("u"), unknown("w")
    exact = layers(
        lambda i: [[0, 1 / (2, 5)[i], 0], [-(3, -4)[i], 0, 0], [1, 0, 0]],
        [0, -1, 0],
        {0: 0.0, 2: 0.0},
        {0: 0.0},
    )
    equations = [d(step(2, 5) * u.diff(x)) + step(3, -4) * w.diff(x) + 1, w.diff(x) - u]
    return equations, [*zero(u), Dirichlet(w, 0, on=sp.Eq(x, 0))], {u: exact[0], w: exact[2]}


def cross_diffusion() -> ProblemData:
    """(k u')' + 2 w'' = -1, (m w')' = -1: k u' + 2 w' is continuous."""
    u, w = unknown("u"), unknown("w")

    def rows(i: int) -> list[list[float]]:
        k, m = (2, 5)[i], (3, 1)[i]
        return [[0, 1 / k, 0, -2 / m / k], [0] * 4, [0, 0, 0, 1 / m], [0] * 4]

    exact = layers(rows, [0, -1, 0, -1], {0: 0.0, 2: 0.0}, {0: 0.0, 2: 0.0})
    equations = [d(step(2, 5) * u.diff(x)) + 2 * w.diff(x, 2) + 1, d(step(3, 1) * w.diff(x)) + 1]
    return equations, zero(u, w), {u: exact[0], w: exact[2]}


def inner_flux_and_plain_derivative() -> ProblemData:
    """(u'' + (k u')')'' = 1: (1 + k) u' is continuous."""
    u = unknown("u")
    exact = layers(
        lambda i: [[0, 1 / (3, 6)[i], 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0] * 4],
        [0, 0, 0, 1],
        {0: 0.0, 2: 0.0},
        {0: 0.0, 2: 0.0},
    )
    inner = u.diff(x, 2) + d(step(2, 5) * u.diff(x))
    return [d(inner, 2) - 1], zero(u, u.diff(x, 2)), {u: exact[0]}


def jumping_factors_of_fluxes() -> ProblemData:
    """c (k u')' - (m w')' = -2, (m w')' = 1: each flux is continuous by itself."""
    u, w = unknown("u"), unknown("w")
    layer_data = []
    for i, end in enumerate((float(INTERFACE), 1.0)):
        A = np.zeros((4, 4))
        A[0, 1], A[2, 3] = 1 / (2, 5)[i], 1 / (3, 1)[i]
        layer_data.append((end, A, np.array([0, -1 / (1, 4)[i], 0, 1.0])))
    exact = LayeredSolution.solve(layer_data, {0: 0.0, 2: 0.0}, {0: 0.0, 2: 0.0})(X)
    other = d(step(3, 1) * w.diff(x))
    return (
        [step(1, 4) * d(step(2, 5) * u.diff(x)) - other + 2, other - 1],
        zero(u, w),
        {u: exact[0], w: exact[2]},
    )


def variable_factor_of_a_high_derivative() -> ProblemData:
    """(1 + x) w'''' + (EI w'')'' = (1 + x + EI) p'''' with the jumps of w'' and w''' that follow."""
    w, s = unknown("w"), x - INTERFACE
    at = [1 + INTERFACE + stiffness for stiffness in (2, 5)]
    second = [sp.Integer(7) / a for a in at]  # (1 + x)[w''] + [EI w''] = 0
    third = [(3 + b) / a for a, b in zip(at, second, strict=True)]  # (1 + x)[w'''] - [w''] + [EI w'''] = 0
    parts = [1 + s + b * s**2 / 2 + c * s**3 / 6 + s**4 for b, c in zip(second, third, strict=True)]
    source = step(*((1 + x + stiffness) * 24 for stiffness in (2, 5)))
    equation = sp.Eq((1 + x) * w.diff(x, 4) + d(step(2, 5) * w.diff(x, 2), 2), source)
    ends = [
        Condition(sp.Eq(w.diff(x, n), p.diff(x, n).subs(x, end)), on=sp.Eq(x, end))
        for end, p in zip((0, 1), parts, strict=True)
        for n in (0, 1)
    ]
    below, above = (sp.lambdify(x, p, "numpy")(X) for p in parts)
    return [equation], ends, {w: np.where(BELOW, below, above)}


def solution_as_factor_of_a_derivative() -> ProblemData:
    """(k u')' + u u'' + u'² = 0: (k + u) u' is continuous, and k u + u²/2 is linear in each layer."""
    u = unknown("u")
    h, (low, high), end = float(INTERFACE), (1.0, 3.0), 2.0
    # U at the interface: (1 - h)(k₁U + U²/2) = h(2k₂ + 2 - k₂U - U²/2), a quadratic equation.
    coefficients = [0.5, (1 - h) * low + h * high, -h * (high * end + end**2 / 2)]
    at = float(np.roots(coefficients).max())
    J = (low * at + at**2 / 2) / h
    left = -low + np.sqrt(low**2 + 2 * J * X)
    right = -high + np.sqrt(high**2 + 2 * (high * at + at**2 / 2 + J * (X - h)))
    ends = [Dirichlet(u, 0, on=sp.Eq(x, 0)), Dirichlet(u, 2, on=sp.Eq(x, 1))]
    equation = d(step(1, 3) * u.diff(x)) + u * u.diff(x, 2) + u.diff(x) ** 2
    return [equation], ends, {u: np.where(BELOW, left, right)}


def product_of_two_unknowns() -> ProblemData:
    """(k u')' + a u w' = k p'' + a p w' with k p' continuous, w = x(1 - x)/2."""
    u, w, s = unknown("u"), unknown("w"), x - INTERFACE
    parts = [1 + sp.sin(s) / k for k in (1, 3)]
    known = x * (1 - x) / 2
    source = step(
        *(k * p.diff(x, 2) + a * p * known.diff(x) for k, a, p in zip((1, 3), (2, 7), parts, strict=True))
    )
    equations = [sp.Eq(d(step(1, 3) * u.diff(x)) + step(2, 7) * u * w.diff(x), source), w.diff(x, 2) + 1]
    ends = [Dirichlet(u, p.subs(x, end), on=sp.Eq(x, end)) for end, p in zip((0, 1), parts, strict=True)]
    below, above = (sp.lambdify(x, p, "numpy")(X) for p in parts)
    return equations, [*ends, *zero(w)], {u: np.where(BELOW, below, above), w: X * (1 - X) / 2}


ON_A_LINE: tuple[Callable[[], ProblemData], ...] = (
    euler_bernoulli_on_springs, beam_column_of_two_sections, beam_with_jumping_axial_force,
    timoshenko_of_second_order, timoshenko_with_two_outer_derivatives, timoshenko_of_first_order,
    timoshenko_of_mixed_order, fourier_and_balance, flux_partly_an_unknown, jumping_potential,
    thermoelastic_bar, thermal_stress_outside_the_flux, piezoelectric_rod, electro_osmosis,
    integral_of_first_order,
    cross_diffusion, inner_flux_and_plain_derivative, jumping_factors_of_fluxes,
    variable_factor_of_a_high_derivative, solution_as_factor_of_a_derivative,
    product_of_two_unknowns,
)  # fmt: skip


@pytest.mark.parametrize("problem_data", ON_A_LINE, ids=lambda f: f.__name__)
def test_systems_on_a_line(problem_data: Callable[[], ProblemData]) -> None:
    equations, conditions, exact = problem_data()
    check(pibls.solve(Problem(LINE, equations, conditions), tol=1e-9), exact, (X,), 1e-9)


def piecewise(parts: Sequence[Any], inside: Any) -> Any:
    return sp.Piecewise((parts[0], inside), (parts[1], True))


def _check_plane(solution: Any, exact: dict[Any, Sequence[Any]], inside: Any, at: Array, tol: float) -> None:
    values = {}
    for u, parts in exact.items():
        low, high = (sp.lambdify((x, y), p, "numpy")(*at) + np.zeros(at.shape[1]) for p in parts)
        values[u] = np.where(inside, low, high)
    check(solution, values, (at[0], at[1]), tol)


def test_stokes_across_a_plane() -> None:
    """The traction is continuous where the viscosity jumps; the pressure is not."""
    u, v, p = (sp.Function(name)(x, y) for name in "uvp")
    s, viscosities = x - INTERFACE, (1, 4)
    stream = [
        sp.cos(s) + s + c * s**3 for c in (1, 2)
    ]  # u = F cos y, v = -F' sin y, F + F'' = 0 at the plane
    us, vs = [F * sp.cos(y) for F in stream], [-F.diff(x) * sp.sin(y) for F in stream]
    ps = [2 * m * sp.cos(y) + sp.sin(x * y) + s * m for m in viscosities]
    mu = step(*viscosities)
    shear = mu * (u.diff(y) + v.diff(x))
    forces: list[list[Any]] = [[], []]
    for m, a, b, c in zip(viscosities, us, vs, ps, strict=True):
        forces[0].append(2 * m * a.diff(x, 2) + m * (a.diff(y, 2) + b.diff(x, y)) - c.diff(x))
        forces[1].append(m * (a.diff(x, y) + b.diff(x, 2)) + 2 * m * b.diff(y, 2) - c.diff(y))
    equations = [
        sp.Eq(div([2 * mu * u.diff(x) - p, shear]), step(*forces[0])),
        sp.Eq(div([shear, 2 * mu * v.diff(y) - p]), step(*forces[1])),
        u.diff(x) + v.diff(y),
    ]
    conditions = [
        Dirichlet(u, step(*us)),
        Dirichlet(v, step(*vs)),
        Condition(sp.Eq(p, ps[0].subs({x: 0, y: 0})), on={x: 0, y: 0}),
    ]
    solution = pibls.solve(Problem(SQUARE, equations, conditions), tol=1e-6)
    at = np.random.default_rng(5).random((2, 200))
    _check_plane(solution, {u: us, v: vs, p: ps}, at[0] < float(INTERFACE), at, 1e-6)


@pytest.mark.parametrize("where", ["plane", "disc"])
def test_darcy_with_the_flux_as_unknown(where: str) -> None:
    """k ∇u = (q, r), q_x + r_y = f: u is continuous, and so is the normal component of (q, r)."""
    u, q, r = (sp.Function(name)(x, y) for name in "uqr")
    ks = (2, 5)
    core = Disk((x, y), (0, 0), sp.Rational(1, 2))
    square = x**2 + y**2 - sp.Rational(1, 4)
    inside = x < INTERFACE if where == "plane" else core.inside
    us = [
        sp.cos(y) * (1 + sp.sin(x - INTERFACE) / k)
        if where == "plane"
        else 1 + sp.sin(square * (1 + x / 2)) / k
        for k in ks
    ]
    qs, rs = ([k * e.diff(c) for k, e in zip(ks, us, strict=True)] for c in (x, y))
    k = piecewise(ks, inside)
    source = piecewise([a.diff(x) + b.diff(y) for a, b in zip(qs, rs, strict=True)], inside)
    equations = [k * u.diff(x) - q, k * u.diff(y) - r, sp.Eq(q.diff(x) + r.diff(y), source)]
    domain = SQUARE if where == "plane" else Disk((x, y), (0, 0), 1)
    solution = pibls.solve(Problem(domain, equations, [Dirichlet(u, piecewise(us, inside))]), tol=1e-5)
    at = np.random.default_rng(5).uniform(-0.7 * (where == "disc"), 0.7, (2, 200))
    below = at[0] < float(INTERFACE) if where == "plane" else np.sum(at**2, axis=0) < 0.25
    _check_plane(solution, {u: us, q: qs, r: rs}, below, at, 1e-5)


def test_mixed_derivative_and_flux_around_a_disc() -> None:
    """∇·(k ∇u) + u_xy: (k + n_x n_y) ∂ₙu is continuous; u_xy was counted twice."""
    u, ks = sp.Function("u")(x, y), (2, 5)
    core = Disk((x, y), (0, 0), sp.Rational(1, 2))
    square = x**2 + y**2 - sp.Rational(1, 4)
    us = [1 + square * (1 + x / 2) / (k + 4 * x * y) for k in ks]
    sources = [k * (e.diff(x, 2) + e.diff(y, 2)) + e.diff(x, y) for k, e in zip(ks, us, strict=True)]
    equation = sp.Eq(
        div(piecewise(ks, core.inside) * grad(u)) + u.diff(x, y), piecewise(sources, core.inside)
    )
    domain = Disk((x, y), (0, 0), sp.Rational(7, 10))
    solution = pibls.solve(Problem(domain, [equation], [Dirichlet(u, us[1])]), tol=1e-6)
    at = np.random.default_rng(5).uniform(-0.49, 0.49, (2, 200))
    _check_plane(solution, {u: us}, np.sum(at**2, axis=0) < 0.25, at, 1e-6)


def test_flux_factors_that_differ_between_axes() -> None:
    """c (k u_x)_x + (2 u_y)_y with a c that jumps: k u_x is continuous, not c k u_x."""
    u, ks, cs = sp.Function("u")(x, y), (1, 4), (3, 2)
    us = [sp.cos(y) * (1 + sp.sin(x - INTERFACE) / k) for k in ks]
    source = step(*(c * k * e.diff(x, 2) + 2 * e.diff(y, 2) for c, k, e in zip(cs, ks, us, strict=True)))
    flux = step(*cs) * sp.Derivative(step(*ks) * u.diff(x), x) + sp.Derivative(2 * u.diff(y), y)
    solution = pibls.solve(Problem(SQUARE, [sp.Eq(flux, source)], [Dirichlet(u, step(*us))]), tol=1e-7)
    at = np.random.default_rng(5).random((2, 200))
    _check_plane(solution, {u: us}, at[0] < float(INTERFACE), at, 1e-7)


def test_too_many_fluxes_are_rejected() -> None:
    """c (k u')' + (m u')' with a c that jumps: k u' and m u' cannot both be continuous."""
    u = unknown("u")
    equation = step(1, 4) * d(step(2, 5) * u.diff(x)) + d(step(3, 1) * u.diff(x)) + 1
    with pytest.raises(pibls.ProblemError, match=r"no more fluxes that jump on one plane.*at 0\.4"):
        pibls.solve(Problem(LINE, [equation], zero(u)))


def test_jumping_factor_of_a_flux_with_a_point_source_is_rejected() -> None:
    u = unknown("u")
    source = sp.DiracDelta(x - sp.Rational(1, 4))
    with pytest.raises(pibls.ProblemError, match="no factor that may jump in front of a flux"):
        Problem(LINE, [step(1, 4) * d(step(2, 5) * u.diff(x)) + source], zero(u))
    without_factor = pibls.solve(Problem(LINE, [d(step(2, 5) * u.diff(x)) + source], zero(u)))
    assert without_factor(0.25) == pytest.approx(1 / (2 / 0.25 + 1 / (0.15 / 2 + 0.6 / 5)), abs=1e-10)


def test_advection_with_a_jumping_speed_is_rejected() -> None:
    """(c u).diff(x) is c u_x in SymPy: it is unknown whether u or c u is continuous."""
    w = sp.Function("w")(x, t)
    conditions = [Initial(w, 0), Dirichlet(w, sp.sin(t), on=sp.Eq(x, 0))]
    with pytest.raises(
        pibls.ProblemError, match=r"that does not jump.*Derivative\(c\*u, x\).*divide the equation"
    ):
        Problem(LINE.during(t, 0, 1), [w.diff(t) + step(1, 2) * w.diff(x)], conditions)


def test_flux_factors_that_differ_around_a_disc_are_rejected() -> None:
    """c (k u_x)_x + (k u_y)_y with a c that jumps on a circle has no normal flux."""
    u, core = sp.Function("u")(x, y), Disk((x, y), (0, 0), sp.Rational(1, 2))
    k, c = (sp.Piecewise((a, core.inside), (1, True)) for a in (3, 5))
    equation = c * sp.Derivative(k * u.diff(x), x) + sp.Derivative(k * u.diff(y), y) + 1
    with pytest.raises(pibls.ProblemError, match=r"the same factor in front of all fluxes.*pibls\.div"):
        pibls.solve(Problem(Disk((x, y), (0, 0), 1), [equation], [Dirichlet(u, 0)]))
    shared = c * (sp.Derivative(k * u.diff(x), x) + sp.Derivative(k * u.diff(y), y)) + 1
    solution = pibls.solve(Problem(Disk((x, y), (0, 0), 1), [shared], [Dirichlet(u, 0)]), tol=1e-6)
    # r k u' = -r²/10 inside; outside r u' = -1/40 - (r² - 1/4)/2
    exact = (1 - 0.25) / 4 + (0.1 / 4 - 1 / 8) * np.log(2) + 0.25 / 60
    assert solution(0.0, 0.0) == pytest.approx(exact, abs=1e-6)
