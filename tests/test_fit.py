"""Parameter estimation: values, confidence intervals, identifiability and error messages."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls import Data, Problem, fit
from pibls.inverse.experiment import Experiment
from pibls.inverse.fit_parameters import parse_fit_parameters
from pibls.inverse.fixed_space_solver import FixedSpaceSolver, supports_fixed_space
from pibls.inverse.ode_parameter_solver import ODEParameterSolver
from pibls.inverse.parametric_solver import parametric_solver
from pibls.problem import PartialDerivative
from pibls.solution.settings import SolveSettings

x, y, t = sp.symbols("x y t")
a, c, k, D = sp.symbols("a c k D")
U, V = sp.Function("u"), sp.Function("v")


def decay(**values: float) -> Problem:
    u = U(t)
    return Problem(pibls.Interval(t, 0, 2), [u.diff(t) + k * u], [pibls.Initial(u, a)], {k: 1.0, a: 1.0}).at(
        values
    )


def predator_prey() -> Problem:
    u, v = U(t), V(t)
    return Problem(
        pibls.Interval(t, 0, 6),
        [u.diff(t) - (a * u - u * v), v.diff(t) - (c * u * v - v)],
        [pibls.Initial(u, 1), pibls.Initial(v, k)],
        {a: 1.1, c: 0.8, k: 0.5},
    )


def membrane() -> Problem:
    u = U(x, y)
    return Problem(
        pibls.Disk((x, y), (0, 0), 1),
        [k * u.diff(x, 2) + u.diff(y, 2) - c * u**3 + 1],
        [pibls.Dirichlet(u, a * x)],
        {k: 1.5, c: 1.2, a: 0.3},
    )


def reaction_diffusion() -> Problem:
    u = U(x, t)
    return Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 1),
        [u.diff(t) - k * u.diff(x, 2) - c * u * (1 - u)],
        [pibls.Neumann(u, 0), pibls.Initial(u, a * (1 + sp.cos(sp.pi * x)) / 2)],
        {k: 0.1, c: 2.0, a: 0.5},
    )


def layered_wall() -> Problem:
    u = U(x)
    conductivity = sp.Piecewise((k, x < 0.4), (c, True))
    return Problem(
        pibls.Interval(x, 0, 1),
        [sp.Derivative(conductivity * u.diff(x), x) + a],
        [pibls.Dirichlet(u, 0)],
        {k: 0.1, c: 2.0, a: 0.5},
    )


def pendulum_backwards_in_time() -> Problem:
    u = U(t)
    return Problem(
        pibls.Interval(t, 0, 6),
        [u.diff(t, 2) + k * u.diff(t) ** 3 + c * sp.sin(u)],
        [pibls.Condition(u - a, on={t: 6}), pibls.Condition(u.diff(t), on={t: 6})],
        {k: -0.1, c: 1.5, a: 1.0},
    )


def differential_algebraic() -> Problem:
    u, v = U(t), sp.Function("v")(t)
    return Problem(
        pibls.Interval(t, 0, 3),
        [u.diff(t) + k * v * u, v - u**2 - c],
        [pibls.Initial(2 * u, a)],
        {k: 1.0, c: 0.2, a: 2.5},
    )


def scattered_points(problem: Problem, n: int) -> dict[Any, Any]:
    X = problem.domain.interior(n, np.random.default_rng(3))
    return dict(zip(problem.coordinates, X.T, strict=True))


@pytest.mark.parametrize(
    "make",
    [
        decay,
        predator_prey,
        membrane,
        reaction_diffusion,
        layered_wall,
        pendulum_backwards_in_time,
        differential_algebraic,
    ],
)
def test_parameter_derivatives_agree_with_finite_differences(make: Any) -> None:
    """∂g/∂θ against differences of full solves, also for a flux that contains a parameter."""
    problem = make()
    u, first = problem.unknowns[0], problem.coordinates[0]
    points = scattered_points(problem, 12)
    data = (Data(u, points, np.zeros(12)), Data(k * u.diff(first), points, np.zeros(12)))
    unknowns = parse_fit_parameters(dict.fromkeys(problem.parameters), [problem], [u, k * u], None)
    settings: SolveSettings = {"tol": 1e-7}
    experiment = Experiment(problem, data, unknowns, settings)
    theta = unknowns.start
    found = experiment.jacobian(theta)
    for j, symbol in enumerate(unknowns.symbols):
        h = 1e-3 * abs(theta[j])
        sides = []
        for sign in (1, -1):
            at = problem.at({symbol: theta[j] + sign * h})
            solution = pibls.solve(at, tol=1e-9)
            sides.append(np.concatenate([solution.evaluate(d.expression, *points.values()) for d in data]))
        difference = (sides[0] - sides[1]) / (2 * h)
        assert np.abs(found[:, j] - difference).max() < 1e-4 * np.abs(found).max()
    moved = theta * 1.05
    predicted = experiment.predict(moved)
    solution = pibls.solve(problem.at(dict(zip(unknowns.symbols, moved, strict=True))), tol=1e-9)
    expected = np.concatenate([solution.evaluate(d.expression, *points.values()) for d in data])
    assert experiment.full_solves == 1
    assert np.abs(predicted - expected).max() < 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize("make", [decay, predator_prey, pendulum_backwards_in_time, differential_algebraic])
def test_trajectory_solver_agrees_with_fixed_space_solver(make: Any) -> None:
    """u(θ) and ∂u/∂θ by collocation and by least squares in the same time windows."""
    problem = make()
    moving, step = range(len(problem.parameters)), 0.02 * np.array([*problem.parameters.values()])
    solution = pibls.solve(problem, tol=1e-9)
    found = ODEParameterSolver.from_solution(solution, moving)
    assert found is not None
    trajectory_solver, trajectory = found
    fixed_solver = FixedSpaceSolver.from_solution(solution, moving)
    state = fixed_solver.reproduce(solution)
    X = problem.domain.interior(20, np.random.default_rng(5))
    derivatives = tuple(PartialDerivative(i, (j,)) for i in range(len(problem.unknowns)) for j in (0, 1))
    other = problem.at(dict(zip(problem.parameters, [*problem.parameters.values()] + step, strict=True)))
    trajectory_solver.differentiate(trajectory)
    fixed_solver.differentiate(state)
    trajectory, state = (
        trajectory_solver.solve_at(other, trajectory, step),
        fixed_solver.solve_at(other, state, step),
    )
    value, expected = (
        trajectory_solver.values(trajectory, X, derivatives),
        fixed_solver.values(state, X, derivatives),
    )
    assert np.abs(value - expected).max() < 1e-7 * np.abs(expected).max()
    slope, expected = (
        trajectory_solver.derivatives(trajectory, X, derivatives),
        fixed_solver.derivatives(state, X, derivatives),
    )
    assert np.abs(slope - expected).max() < 1e-5 * np.abs(expected).max()


def test_impulse_between_time_windows() -> None:
    """A Dirac source at the time between two windows has to be added to the initial values of the second."""
    u = U(t)
    problem = Problem(
        pibls.Interval(t, 0, 3), [u.diff(t) + k * u - c * sp.DiracDelta(t - 1)], [pibls.Initial(u, 1)],
        {k: 1.0, c: 1.0},
    )  # fmt: skip
    ts = np.linspace(0.1, 3, 30)
    exact = np.exp(-1.3 * ts) + np.where(ts > 1, 0.7 * np.exp(-1.3 * (ts - 1)), 0.0)
    found = fit(problem, Data(u, {t: ts}, exact, sigma=0.01), {k: (0, 5), c: (0, 5)})
    assert found.converged
    assert found.values == pytest.approx({k: 1.3, c: 0.7}, rel=1e-4)


def test_time_windows_are_recomputed_for_distant_parameters() -> None:
    """The windows found for k = 1 do not resolve k = 2500: a full solve replaces them."""
    u = U(t)
    problem = Problem(
        pibls.Interval(t, 0, 10), [u.diff(t, 2) + k * u], [pibls.Initial(u, 1), pibls.Initial(u.diff(t), 0)],
        {k: 1.0},
    )  # fmt: skip
    ts = np.linspace(0.5, 10, 20)
    unknowns = parse_fit_parameters({k: (0, 1e4)}, [problem], [u], None)
    experiment = Experiment(problem, (Data(u, {t: ts}, np.zeros(20)),), unknowns, {"tol": 1e-8})
    experiment.predict(np.array([1.0]))
    assert np.abs(experiment.predict(np.array([2500.0])) - np.cos(50 * ts)).max() < 1e-6
    assert experiment.full_solves == 2


@pytest.mark.parametrize("seed", range(3))
def test_system_with_two_sets_of_unknown_noise(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = predator_prey()
    true = {a: 1.3, c: 0.7, k: 0.6}
    exact = pibls.solve(problem.at(true))
    ts = np.linspace(0.3, 6, 25)
    u, v = problem.unknowns
    data = [
        Data(u, {t: ts}, exact[u](ts) + 0.02 * rng.standard_normal(25)),
        Data(v, {t: ts}, exact[v](ts) + 0.1 * rng.standard_normal(25)),
    ]
    found = fit(problem, data, {a: (0, 3), c: (0, 3), k: None})
    assert found.converged
    assert found.identifiable
    for symbol, value in true.items():
        assert abs(found.values[symbol] - value) < 4 * found.std[symbol]
        assert found.std[symbol] < 0.05
    assert 0.01 < found.sigma[0] < 0.04 < 0.05 < found.sigma[1] < 0.2
    assert found.correlation.shape == (3, 3)
    low, high = found.interval(a, 0.95)
    assert found.interval(a, 0.95, method="profile") == pytest.approx((low, high), rel=0.02)


def test_steady_flux_and_gain() -> None:
    """A flux is measured, by an instrument whose gain is unknown too."""
    problem, g = membrane(), sp.Symbol("g")
    u = problem.unknowns[0]
    exact = pibls.solve(problem.at(k=2.0, c=0.9), tol=1e-8)
    points = scattered_points(problem, 60)
    rng = np.random.default_rng(1)
    flux = exact.evaluate(-k * u.diff(x), *points.values()) + 1e-3 * rng.standard_normal(60)
    reading = 3.0 * exact(*points.values()) + 1e-3 * rng.standard_normal(60)
    data = [Data(-k * u.diff(x), points, flux, sigma=1e-3), Data(g * u, points, reading, sigma=1e-3)]
    found = fit(problem, data, {k: (0.5, 5), g: (1, 10)})
    assert found.values[g] == pytest.approx(3.0, abs=4 * found.std[g])
    assert found.residuals.chi2_p is not None
    assert found.residuals.look_like_noise or found.residuals.chi2_p > 1e-4
    # c is not fitted: 1.2 in the problem, 0.9 in the data; the bias of k is small.
    assert found.values[k] == pytest.approx(2.0, rel=0.1)


def test_experiments_share_parameters() -> None:
    first, second = decay(a=1.0), decay(a=2.0)
    u = U(t)
    ts = np.linspace(0.1, 2, 12)
    rng = np.random.default_rng(0)
    measured = [s * np.exp(-1.7 * ts) + 0.01 * rng.standard_normal(12) for s in (1.0, 2.0)]
    data = [Data(u, {t: ts}, y, sigma=0.01) for y in measured]
    alone = fit(first, data[0], {k: (0, 5)})
    both = fit([first, second], data, {k: (0, 5)})
    assert both.values[k] == pytest.approx(1.7, abs=4 * both.std[k])
    assert both.std[k] < 0.6 * alone.std[k]
    assert len(both.solutions) == 2
    assert both.solutions[1](0.0) == pytest.approx(2.0)


def test_robust_loss_tolerates_outliers() -> None:
    u, ts = U(t), np.linspace(0.1, 2, 30)
    rng = np.random.default_rng(2)
    values = np.exp(-1.5 * ts) + 0.01 * rng.standard_normal(30)
    values[[3, 11, 20]] += 1.0
    data = Data(u, {t: ts}, values)
    plain = fit(decay(), data, {k: (0, 5)})
    robust = fit(decay(), data, {k: (0, 5)}, loss="soft_l1")
    assert abs(robust.values[k] - 1.5) < 0.05 < abs(plain.values[k] - 1.5)
    assert abs(robust.values[k] - 1.5) < 4 * robust.std[k]


def test_exact_data_give_accurate_parameters() -> None:
    u, ts = U(t), np.linspace(0, 2, 9)
    found = fit(decay(), Data(u, {t: ts}, 0.7 * np.exp(-1.9 * ts)), {k: (0, 5), a: (0, 3)}, tol=1e-11)
    assert found.values[k] == pytest.approx(1.9, rel=1e-8)
    assert found.values[a] == pytest.approx(0.7, rel=1e-8)


def fit_exact_model(equation: Any, conditions: Any, values: dict[Any, float], data: Any = None) -> Any:
    u = U(x)
    problem = Problem(pibls.Interval(x, 0, 1), [equation(u)], conditions(u), values)
    xs = np.linspace(0.05, 0.95, 14)
    exact = pibls.solve(problem)
    expression = u if data is None else data(u)
    y = exact.evaluate(expression, xs) * (1 + 0.01 * np.random.default_rng(0).standard_normal(14))
    free = dict.fromkeys(values, (0.05, 20.0))
    return fit(problem.at({s: 1.1 * v for s, v in values.items()}), Data(expression, {x: xs}, y), free)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fit_exact_model(lambda u: a * c * u.diff(x, 2) + 1, lambda u: [pibls.Dirichlet(u, 0)],
                        {a: 1.3, c: 2.1}), "only a*c is determined"),
        (lambda: fit_exact_model(lambda u: a * u.diff(x, 2) + c, lambda u: [pibls.Dirichlet(u, 0)],
                        {a: 1.3, c: 2.1}), "only a/c is determined"),
        (lambda: fit_exact_model(lambda u: u.diff(x, 2) - (a + c) * u, lambda u: [pibls.Dirichlet(u, 1)],
                        {a: 1.3, c: 2.1}), "only a + c is determined"),
        (lambda: fit_exact_model(lambda u: u.diff(x) + (a - c) * u, lambda u: [pibls.Initial(u, 1)],
                        {a: 2.0, c: 1.3}), "only a - c is determined"),
        (lambda: fit_exact_model(lambda u: u.diff(x) + k * u, lambda u: [pibls.Initial(u, a * c**2)],
                        {k: 1.3, a: 0.8, c: 1.4}), "only a*c**2 is determined"),
        (lambda: fit_exact_model(lambda u: a * u.diff(x, 2) + c * u + k, lambda u: [pibls.Dirichlet(u, 0)],
                        {a: 1.0, c: 2.0, k: 3.0}), "only a/k and c/k are determined"),
        (lambda: fit_exact_model(lambda u: u.diff(x) + k * u, lambda u: [pibls.Initial(u, a)],
                        {k: 1.3, a: 0.8}, lambda u: u.diff(x) / u), "a is not determined"),
    ],
)  # fmt: skip
def test_unidentifiable_parameters_are_named(make: Any, message: str) -> None:
    found = make()
    assert not found.identifiable
    assert message in str(found.identifiable)
    assert max(found.std.values()) == np.inf
    assert message in found.summary()


def test_poorly_determined_parameter_is_named() -> None:
    u, ts = U(t), np.linspace(0.01, 0.05, 6)
    problem = decay()
    y = np.exp(-1.0 * ts) + 0.2 * np.random.default_rng(0).standard_normal(6)
    found = fit(problem, Data(u, {t: ts}, y, sigma=0.2), {k: (0, 2)})
    assert not found.identifiable
    assert "k is poorly determined" in str(found.identifiable)


def test_models_are_compared() -> None:
    u, ts = U(t), np.linspace(0, 2, 40)
    rng = np.random.default_rng(0)
    problem = Problem(
        pibls.Interval(t, 0, 2), [u.diff(t) + k * u + c * u**2], [pibls.Initial(u, 1)], {k: 1.0, c: 0.0}
    )
    exact = pibls.solve(problem.at(c=1.0))
    for truth, needed in ((exact(ts), True), (np.exp(-ts), False)):
        data = Data(u, {t: ts}, truth + 0.01 * rng.standard_normal(40))
        small, large = (fit(problem, data, free) for free in ({k: (0, 9)}, {k: (0, 9), c: (-1, 5)}))
        comparison = large.compare(small)
        assert comparison.p is not None
        assert (comparison.p < 0.01) == needed
        assert (comparison.aic < -2) == needed
        assert small.residuals.look_like_noise != needed
        assert ("residuals are autocorrelated" in str(small.residuals)) == needed


def test_band_contains_the_solution_and_widens_away_from_the_data() -> None:
    u, ts = U(t), np.linspace(0.1, 1, 20)
    y = np.exp(1.2 * ts) + 0.05 * np.random.default_rng(5).standard_normal(20)
    found = fit(decay(k=-1.0), Data(u, {t: ts}, y, sigma=0.05), {k: (-3, 0), a: (0, 3)})
    s = np.linspace(0, 2, 41)
    value, low, high = found.band(u, {t: s}, 0.999)
    assert ((low <= np.exp(1.2 * s)) & (np.exp(1.2 * s) <= high)).all()
    width = high - low
    assert width[s > 1.9].min() > 3 * width[s < 1].max()
    assert found.solution(s) == pytest.approx(value, abs=1e-5)
    _, wider, _ = found.band(u, {t: s}, 0.999, noise=True)
    assert (wider < low).all()
    assert (low - wider)[s < 1].min() > 0.05


def test_parameter_at_its_bound_is_reported() -> None:
    u, ts = U(t), np.linspace(0.1, 2, 20)
    data = Data(u, {t: ts}, np.exp(-3.0 * ts), sigma=0.01)
    found = fit(decay(), data, {k: (0, 2)})
    assert found.at_bounds == (k,)
    assert "at a bound: k" in found.summary()
    assert found.interval(k, method="profile")[1] == 2


def test_plot_has_points_curves_and_bands() -> None:
    problem = reaction_diffusion()
    u = problem.unknowns[0]
    exact = pibls.solve(problem, tol=1e-6)
    xs = np.linspace(0, 1, 9)
    points = {x: xs[:, None], t: np.array([0.5, 1.0])}
    found = fit(problem, Data(u, points, exact(xs[:, None], np.array([0.5, 1.0])), sigma=0.01), {k: (0, 1)})
    figure = found.plot()
    assert len(figure.axes) == 1
    assert len(figure.axes[0].lines) == 4
    assert [s.get_text() for s in figure.axes[0].get_legend().get_texts()] == ["t = 0.5", "t = 1"]


INVALID: list[tuple[Any, str]] = [
    (lambda: Data(U(t), {t: [0.1, 0.2]}, [1.0, np.nan]),
     "Data\\(values\\): expected finite numbers, got 1 NaN"),
    (lambda: Data(U(t), {t: [0.1, np.inf]}, [1.0, 2.0]), "Data\\(points\\)\\[t\\]: expected finite"),
    (lambda: Data(U(t), {t: [0.1, 0.2, 0.3]}, [1.0, 2.0]), "a value for each of them"),
    (lambda: Data(U(x, t), {x: [1.0, 2.0, 3.0], t: [0.1, 0.2]}, [1.0, 2.0]), "points that broadcast"),
    (lambda: Data(U(t), {t: [0.1]}, [1.0], sigma=0.0),
     "Data\\(sigma\\): expected positive numbers, got 0"),
    (lambda: Data(U(t), {t: [0.1]}, [1.0], sigma=[0.1, 0.2, 0.3]),
     "Data\\(sigma\\): expected one number, or an array"),
    (lambda: Data(U(t), {t: []}, []), "at least one value"),
    (lambda: Data("u", {t: [0.1]}, [1.0]), "strings are not evaluated"),
    (lambda: Data(U(t), cast("Any", [0.1]), [1.0]), "a mapping of the coordinates"),
    (lambda: Data(U(t), {t: [0.1]}, ["high"]), "real numbers"),
    (lambda: fit(decay(), Data(U(t), {t: [0.5, 2.5]}, [1.0, 2.0]), {k: (0, 5)}),
     "1 outside, the first at t = 2.5"),
    (lambda: fit(decay(), Data(U(t), {x: [0.5]}, [1.0], sigma=1), {k: (0, 5)}),
     "the coordinates t of the problem, got x"),
    (lambda: fit(decay(), Data(U(t), {t: [0.5]}, [1.0], sigma=1), {k: (0, 5), a: (0, 5)}),
     "at least as many values as"),
    (lambda: fit(decay(), Data(U(t), {t: [0.5]}, [1.0]), {k: (0, 5)}), "and one more to estimate sigma"),
    (lambda: fit(decay(), Data(U(t), {t: [0.5, 1]}, [1.0, 1]), {c: (0, 5)}),
     "a parameter of the problem \\(k, a\\)"),
    (lambda: fit(decay(), Data(U(t), {t: [0.5, 1]}, [1.0, 1]), {k: (5, 0)}), "low < high"),
    (lambda: fit(decay(), Data(U(t), {t: [0.5, 1]}, [1.0, 1]), {}),
     "a mapping of parameters to their bounds"),
    (lambda: fit(decay(), Data(c * U(t), {t: [0.5, 1]}, [1.0, 1]), {k: (0, 5)}), "the free symbol c"),
    (lambda: fit(decay(), Data(V(t), {t: [0.5, 1]}, [1.0, 1]), {k: (0, 5)}),
     "only the unknowns of the equations"),
    (lambda: fit(decay(), cast("Any", [1.0, 2.0]), {k: (0, 5)}), "pibls.Data, or a list"),
    (lambda: fit([decay(), decay()], [Data(U(t), {t: [0.5, 1]}, [1.0, 1])], {k: (0, 5)}),
     "the data of each of the 2"),
    (lambda: fit(decay(), Data(U(t), {t: [0.5, 1]}, [1.0, 1]), {k: (0, 5)}, loss="least"),
     "loss: expected one of linear"),
    (lambda: fit(U(t), Data(U(t), {t: [0.5, 1]}, [1.0, 1]), {k: (0, 5)}), "a pibls.Problem, or a list"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), INVALID)
def test_invalid_data_are_rejected(call: Any, message: str) -> None:
    with pytest.raises(pibls.ProblemError, match=message):
        call()


def test_invalid_queries_of_a_fit_are_rejected() -> None:
    u, ts = U(t), np.linspace(0, 2, 9)
    found = fit(decay(), Data(u, {t: ts}, np.exp(-ts), sigma=0.1), {k: (0, 5)})
    for query, message in (
        (lambda: found.interval(a), "a parameter that was fitted"),
        (lambda: found.interval(k, 95), "between 0 and 1"),
        (lambda: found.interval(k, 0.95, method=cast("Any", "guess")), "'covariance' or 'profile'"),
        (lambda: found.band(u), "a mapping of the coordinates"),
        (lambda: found.compare(fit(decay(), Data(u, {t: ts[1:]}, ts[1:]), {k: (0, 5)})), "the same 9 values"),
    ):
        with pytest.raises(pibls.ProblemError, match=message):
            query()


def test_integrals_as_data() -> None:
    """Diffusion with decay has mass m e^(-a t): it determines a, but not D."""
    w = sp.Function("w")(x, t)
    problem = Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 1),
        [w.diff(t) - D * w.diff(x, 2) + a * w],
        [pibls.Neumann(w, 0), pibls.Initial(w, 1 + sp.cos(sp.pi * x) / 2)],
        {D: 0.1, a: 0.5},
    )
    ts = np.linspace(0.1, 1, 10)
    mass = Data(2 * pibls.integral(w), {t: ts}, 2 * np.exp(-0.8 * ts), sigma=0.01)
    found = fit(problem, mass, {D: (0.01, 1), a: (0, 3)})
    assert found.values[a] == pytest.approx(0.8, rel=1e-4)
    assert not found.identifiable
    assert "D is not determined" in str(found.identifiable)
    value, low, high = found.band(2 * pibls.integral(w), {t: 0.5})
    assert low < value < high
    assert float(value) == pytest.approx(2 * np.exp(-0.4), rel=1e-4)
    assert len(found.plot().axes) == 1


def test_integrals_of_a_steady_problem_as_data() -> None:
    """u'' + a = 0 with zero ends: ∫u = a/12, and a flux a/2 leaves at each end."""
    w = sp.Function("w")(x)
    line = pibls.Interval(x, 0, 1)
    problem = Problem(line, [w.diff(x, 2) + a], [pibls.Dirichlet(w, 0)], {a: 1.0})
    for expression, factor in (
        (pibls.integral(w), 1 / 12),
        (-pibls.integral(pibls.dn(w), over=line.boundary), 1.0),
    ):
        data = Data(expression, {}, np.array([2.9, 3.0, 3.1]) * factor)
        found = fit(problem, data, {a: (0, 30)})
        assert found.values[a] == pytest.approx(3.0, rel=1e-6)
        assert len(found.plot().axes) == 1
    with pytest.raises(pibls.ProblemError, match=r"expected \{\}, for an integral, got x"):
        fit(problem, Data(pibls.integral(w), {x: [0.1, 0.2]}, [1.0, 2.0]), {a: (0, 30)})


def test_times_of_an_integral_are_checked() -> None:
    w = sp.Function("w")(x, t)
    problem = Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 1),
        [w.diff(t) - a * w.diff(x, 2)],
        [pibls.Dirichlet(w, 0), pibls.Initial(w, sp.sin(sp.pi * x))],
        {a: 0.1},
    )
    with pytest.raises(pibls.ProblemError, match="times from 0 to 1, got 1 outside, the first at t = 2"):
        fit(problem, Data(pibls.integral(w), {t: [0.5, 2.0]}, [1.0, 1.0]), {a: (0, 3)})
    with pytest.raises(pibls.ProblemError, match="t alone, for an integral over space, got x, t"):
        fit(problem, Data(pibls.integral(w), {x: 0.5, t: [0.5, 0.6]}, [1.0, 1.0]), {a: (0, 3)})


def test_confidence_interval_ends_at_the_bounds() -> None:
    w = sp.Function("w")(t)
    problem = Problem(pibls.Interval(t, 0, 2), [w.diff(t) + a * w], [pibls.Initial(w, 1)], {a: 0.5})
    ts = np.linspace(0.1, 2, 10)
    noise = 0.2 * np.random.default_rng(0).standard_normal(10)
    found = fit(problem, Data(w, {t: ts}, 1 + noise), {a: (0, 3)})
    low, high = found.interval(a)
    assert low >= 0.0
    assert high > 0.0


def test_tensor_product_solutions_are_solved_again() -> None:
    """No system is assembled in a tensor product space: a fit ended with an AssertionError."""
    w = sp.Function("w")(x, y)
    layers = pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1)}),
        [-k * (w.diff(x, 2) + w.diff(y, 2)) + w.diff(x) - 1],
        [pibls.Dirichlet(w, 0)],
        parameters={k: 0.02},
    )
    solution = pibls.solve(layers, tol=1e-4)
    assert not supports_fixed_space(solution.space)
    solver, state = parametric_solver(solution, (0,), {"tol": 1e-4})
    X = np.array([[0.5, 0.5], [0.9, 0.2]])
    (slope,) = solver.derivatives(state, X, (PartialDerivative(0, (0, 0)),))
    ahead, behind = pibls.sweep(layers, {k: [0.0201, 0.0199]}, tol=1e-8)
    assert np.allclose(slope, (ahead(*X.T) - behind(*X.T)) / 2e-4, rtol=0.02)
