"""Estimation of unknown functions (source, conductivity, growth law) and coverage of confidence bands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls import Data, Field, Problem, fit

x, y, t = sp.symbols("x y t")


def coverage(found: pibls.Fit, field: Field, true: Any, *points: Any) -> float:
    """Return the fraction of points at which the band contains the true value."""
    _, low, high = found.function(field, *points)
    return float(np.mean((low <= true) & (true <= high)))


def rod(k: Any, values: Any = None) -> Problem:
    u = sp.Function("u")(x)
    return Problem(
        pibls.Interval(x, 0, 1),
        [sp.Derivative(k * u.diff(x), x) + 1],
        [pibls.Dirichlet(u, 0, on=sp.Eq(x, 0)), pibls.Condition(k * u.diff(x) - 1, on=sp.Eq(x, 1))],
        values,
    )


def test_conductivity_from_thirty_values() -> None:
    true = 1 + sp.exp(-10 * (x - sp.Rational(1, 2)) ** 2)
    exact = pibls.solve(rod(true))
    u, xs, s = sp.Function("u")(x), np.linspace(0.03, 1, 30), np.linspace(0, 1, 41)
    shares, errors = [], []
    for seed in range(5):
        k = Field("k", (0, 1), positive=True, start=1.0)
        y = exact(xs) + 0.005 * np.random.default_rng(seed).standard_normal(30)
        found = fit(rod(k(x), k.parameters), Data(u, {x: xs}, y), {k: None})
        assert found.identifiable
        assert found.misfit.effective_parameters < 9
        expected = 1 + np.exp(-10 * (s - 0.5) ** 2)
        shares.append(coverage(found, k, expected, s))
        errors.append(np.sqrt(np.mean((found.function(k, s)[0] - expected) ** 2)))
    assert np.mean(shares) >= 0.9
    assert np.median(errors) < 0.15


def test_source_in_the_plane_from_fifty_values() -> None:
    u = sp.Function("u")(x, y)
    disk = pibls.Disk((x, y), (0, 0), 1)
    true = 4 * sp.exp(-3 * ((x - sp.Rational(1, 4)) ** 2 + y**2))
    exact = pibls.solve(Problem(disk, [u.diff(x, 2) + u.diff(y, 2) + true], [pibls.Dirichlet(u, 0)]))
    X = disk.interior(50, np.random.default_rng(0))
    S = 0.9 * disk.interior(200, np.random.default_rng(1))
    f = Field("f", [(-1, 1), (-1, 1)], degree=6)
    problem = Problem(disk, [u.diff(x, 2) + u.diff(y, 2) + f(x, y)], [pibls.Dirichlet(u, 0)], f.parameters)
    shares = []
    for seed in range(3):
        values = exact(*X.T) + 0.01 * np.random.default_rng(seed).standard_normal(50)
        found = fit(problem, Data(u, {x: X[:, 0], y: X[:, 1]}, values), {f: None})
        expected = 4 * np.exp(-3 * ((S[:, 0] - 0.25) ** 2 + S[:, 1] ** 2))
        shares.append(coverage(found, f, expected, *S.T))
        assert np.abs(found.function(f, *S.T)[0] - expected).mean() < 0.6
    assert np.mean(shares) >= 0.9


def test_growth_law_of_the_density() -> None:
    u = sp.Function("u")(x, t)

    def reaction_diffusion(law: Any, values: Any = None) -> Problem:
        return Problem(
            pibls.Interval(x, 0, 1).during(t, 0, 1),
            [u.diff(t) - u.diff(x, 2) / 20 - law],
            [
                pibls.Neumann(u, 0),
                pibls.Initial(u, sp.Rational(1, 2) + sp.cos(sp.pi * x) * sp.Rational(2, 5)),
            ],
            values,
        )

    exact = pibls.solve(reaction_diffusion(3 * u * (1 - u)), tol=1e-6)
    grid = {x: np.linspace(0, 1, 12)[:, None], t: np.array([0.25, 0.5, 0.75, 1.0])}
    f = Field("f", (0, 1.1), degree=5)
    problem = reaction_diffusion(f(u), f.parameters)
    s = np.linspace(0.15, 0.95, 33)
    shares = []
    for seed in range(3):
        values = exact(*grid.values()) + 0.01 * np.random.default_rng(seed).standard_normal((12, 4))
        found = fit(problem, Data(u, grid, values), {f: None}, tol=1e-5)
        shares.append(coverage(found, f, 3 * s * (1 - s), s))
        assert np.abs(found.function(f, s)[0] - 3 * s * (1 - s)).max() < 0.15
    assert np.mean(shares) >= 0.9


def rod_with_function_parameter(value: Any) -> Problem:
    """Return the rod with the function parameter k(x)."""
    k = sp.Function("k")
    return rod(k(x), {k(x): value})


def test_unknown_function_of_the_coordinates() -> None:
    k, u, xs = sp.Function("k"), sp.Function("u")(x), np.linspace(0.03, 1, 30)
    exact = pibls.solve(rod_with_function_parameter(1 + x / 2))
    assert float(exact.evaluate(k(x) * u.diff(x), 1.0)) == pytest.approx(1.0, abs=1e-9)
    s = np.linspace(0, 1, 21)
    data = Data(u, {x: xs}, exact(xs) + 0.003 * np.random.default_rng(0).standard_normal(30))
    found = fit(rod_with_function_parameter(1.0), data, {k(x): (0, None)})
    value, low, high = found.function(k(x), s)
    assert np.mean((low <= 1 + s / 2) & (1 + s / 2 <= high)) >= 0.9
    for key in (k, "k", "k(x)"):
        assert np.array_equal(found.function(key, s)[0], value)
    bounded = fit(rod_with_function_parameter(1.0), data, {"k": (1.0, 1.6)}).function(k, s)
    assert all(((v >= 1.0) & (v <= 1.6)).all() for v in bounded)
    assert bounded[0] == pytest.approx(value, abs=0.1)
    # The fit starts from the current function, and data may contain it.
    flux = fit(
        rod_with_function_parameter(1 + x / 2),
        [data, Data(k(x) * u.diff(x), {x: [1.0]}, [1.0], sigma=1e-3)],
        {k(x): None},
    )
    assert flux.unknowns.start[:2] == pytest.approx([1.25, 0.25])
    assert "k(0.5) = " in found.summary()
    assert "k_0" not in found.summary()
    assert len(found.plot().axes) == 2


def test_unknown_function_of_the_solution() -> None:
    u, f = sp.Function("u")(t), sp.Function("f")

    def growth(law: Any) -> Problem:
        return Problem(
            pibls.Interval(t, 0, 4), [u.diff(t) - f(u)], [pibls.Initial(u, sp.Rational(1, 10))], {f(u): law}
        )

    ts, s = np.linspace(0.1, 4, 40), np.linspace(0.12, 0.95, 30)
    exact = pibls.solve(growth(2 * u * (1 - u)), tol=1e-8)
    data = Data(u, {t: ts}, exact(ts) + 0.005 * np.random.default_rng(1).standard_normal(40))
    found = fit(growth(u / 2), data, {f(u): None})
    _, low, high = found.function(f, s)
    assert np.mean((low <= 2 * s * (1 - s)) & (2 * s * (1 - s) <= high)) >= 0.9
    assert found.fields[0].ranges[0][0] < 0.1


def test_values_of_function_parameters_are_replaced() -> None:
    k, u = sp.Function("k"), sp.Function("u")(x)
    ends = [pibls.Dirichlet(u, 0)]
    for flux in (
        (k(x) * u.diff(x)).diff(x),
        sp.Derivative(k(x) * u.diff(x), x),
        pibls.div(k(x) * pibls.grad(u)),
    ):
        problem = Problem(pibls.Interval(x, 0, 1), [flux + 1], ends, {k(x): 1 + x})
        expected = pibls.solve(
            Problem(pibls.Interval(x, 0, 1), [sp.Derivative((1 + x) * u.diff(x), x) + 1], ends)
        )
        assert pibls.solve(problem)(0.4) == pytest.approx(expected(0.4), rel=1e-12)
        for other in (problem.at({k(x): 2}), problem.at(k=2), problem.at({k: 2})):
            assert pibls.solve(other)(0.5) == pytest.approx(1 / 16, rel=1e-12)


U1, K1 = sp.Function("u")(x), sp.Function("k")(x)
LINE = pibls.Interval(x, 0, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Problem(LINE, [(K1 * U1.diff(x)).diff(x) + 1], [pibls.Dirichlet(U1, 0)]),
         r"give a function that is no unknown a value: parameters=\{k\(x\)"),
        (lambda: rod(K1, {K1: "x"}), r"parameters\[k\(x\)\]: expected a number, or a SymPy expression"),
        (lambda: rod(K1, {K1: 1, sp.Function("q")(x): 2}), r"parameters\[q\(x\)\].*occurs in none"),
        (lambda: rod(K1, {K1: 1, sp.Function("k")(x, y): 2}), "each name once"),
        (lambda: fit(rod(1 + x), Data(U1, {x: [0.1, 0.2]}, [1.0, 2.0]), {K1: None}),
         "Declare it: Problem"),
        (lambda: fit(rod(K1, {K1: 1}), Data(U1, {x: [0.1, 0.2]}, [1.0, 2.0]), {U1: None}),
         "which is an unknown of the equations"),
        (lambda: fit(rod(K1, {K1: 1}), Data(U1, {x: [0.1, 0.2]}, [1.0, 2.0]), {K1: (2, 1)}),
         "bounds of k: expected \\(low, high\\)"),
        (lambda: fit(rod(K1, {K1: 1}), Data(U1, {x: [0.1, 0.2]}, [1.0, 2.0]),
                     {K1: Field("k", [(0, 1), (0, 1)])}), "a Field of 1 argument"),
        (lambda: fit(rod(sp.Function("k")(U1.diff(x)), {sp.Function("k")(U1.diff(x)): 1}),
                     Data(U1, {x: [0.1, 0.2]}, [1.0, 2.0]), {"k": None}), "Give the range"),
    ],
)  # fmt: skip
def test_invalid_unknown_functions_are_rejected(call: Any, message: str) -> None:
    with pytest.raises(pibls.ProblemError, match=message):
        call()


def test_undetermined_function_is_reported() -> None:
    """With both boundary values and no flux given, k = (C - x)/u' for any C."""
    u, k = sp.Function("u")(x), Field("k", (0, 1), positive=True, start=1.0)
    ends = [pibls.Dirichlet(u, 0, on=sp.Eq(x, 0)), pibls.Dirichlet(u, 1, on=sp.Eq(x, 1))]
    problem = Problem(pibls.Interval(x, 0, 1), [sp.Derivative(k(x) * u.diff(x), x) + 1], ends, k.parameters)
    xs = np.linspace(0.05, 0.95, 30)
    y = xs + 0.3 * xs * (1 - xs) + 0.01 * np.random.default_rng(0).standard_normal(30)
    found = fit(problem, Data(u, {x: xs}, y), {k: None}, max_steps=20)
    assert not found.identifiable
    assert "k is poorly determined" in str(found.identifiable)


def test_roughness_matrix_agrees_with_exact_integral() -> None:
    """∫|∇²f|² over the ranges scaled to the unit square."""
    f = Field("f", [(0, 2), (1, 4)], degree=4)
    rng = np.random.default_rng(0)
    coefficients = rng.standard_normal(len(f.symbols))
    expression = f(x, y).subs(dict(zip(f.symbols, coefficients, strict=True)))
    scaled = expression.subs({x: 2 * x, y: 1 + 3 * y}, simultaneous=True)
    square = scaled.diff(x, 2) ** 2 + 2 * scaled.diff(x, y) ** 2 + scaled.diff(y, 2) ** 2
    expected = float(sp.integrate(sp.integrate(sp.expand(square), (x, 0, 1)), (y, 0, 1)))
    assert float(np.sum((f.roughness_matrix @ coefficients) ** 2)) == pytest.approx(expected, rel=1e-9)
    at = rng.random((5, 2)) * [2, 3] + [0, 1]
    table = f.basis_values(list(at.T)) @ coefficients
    assert table == pytest.approx([float(expression.subs({x: a, y: b})) for a, b in at], rel=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Field("f", (1, 0)), "Field\\(ranges\\)"),
        (lambda: Field("f", (0, 1), degree=40), "from 1 to 15"),
        (lambda: Field("f", (0, 1), positive=True), "values between 0 and inf"),
        (lambda: Field("f", (0, 1))(x, y), "1 argument"),
    ],
)
def test_invalid_fields_are_rejected(call: Any, message: str) -> None:
    with pytest.raises(pibls.ProblemError, match=message):
        call()


def test_robust_loss_with_an_unknown_function_is_rejected() -> None:
    u, f = sp.Function("u")(x), Field("f", (0, 1))
    problem = Problem(pibls.Interval(x, 0, 1), [u.diff(x, 2) + f(x)], [pibls.Dirichlet(u, 0)], f.parameters)
    with pytest.raises(pibls.ProblemError, match="'linear' if a function is unknown"):
        fit(problem, Data(u, {x: [0.2, 0.4, 0.6]}, [1.0, 2.0, 1.0]), {f: None}, loss="huber")
