"""pickle, copy and deepcopy of problems, solutions and fits, in this process and in others."""

from __future__ import annotations

import copy
import functools
import multiprocessing
import pickle
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, cast

import numpy as np
import pytest
import sympy as sp

import pibls
from tests.saved_solutions import assert_same_solution, is_bitwise_equal, solve_quietly
from tests.solved_problems import Ring, t, x, y, z

u, v = sp.Function("u"), sp.Function("v")
HALF = sp.Rational(1, 2)


def conductivity(a: Any) -> Any:
    return 1 + a**2


class Ramp:
    """A callable object."""

    def __call__(self, a: Any) -> Any:
        return 2 * np.asarray(a)


def solve_silently(problem: pibls.Problem, **settings: Any) -> pibls.Solution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        return pibls.solve(problem, **{"tol": 1e-4, **settings})


def poisson(domain: Any, source: Any = 1, *more: Any) -> pibls.Problem:
    w = u(*domain.coordinates)
    laplacian = sum(w.diff(c, 2) for c in domain.coordinates)
    return pibls.Problem(domain, [laplacian + source], [*more, pibls.Dirichlet(w, 0)])


def heat(domain: Any, start: Any) -> pibls.Problem:
    w = u(*domain.coordinates, t)
    laplacian = sum(w.diff(c, 2) for c in domain.coordinates)
    conditions = [pibls.Initial(w, start), pibls.Dirichlet(w, 0)]
    return pibls.Problem(domain.during(t, 0, HALF), [w.diff(t) - laplacian], conditions)


SQUARE = pibls.Box({x: (0, 1), y: (0, 1)})
DISK = pibls.Disk((x, y), (0, 0), 1)
SHAPES = {
    "interval": pibls.Interval(x, 0, 1),
    "box": SQUARE,
    "disk": DISK,
    "ball": pibls.Ball((x, y, z), (0, 0, 0), 1),
    "ellipse": pibls.Ellipse((x, y), (0, 0), (2, 1)),
    "polygon": pibls.Polygon((x, y), [(0, 0), (2, 0), (1, 1)]),
    "difference": SQUARE - pibls.Disk((x, y), (HALF, HALF), 0.2),
    "union": SQUARE | pibls.Disk((x, y), (1, HALF), 0.2),
    "level set": pibls.Implicit(x**2 + y**4 - 1, {x: (-2, 2), y: (-2, 2)}),
    "slit": SQUARE - pibls.Slit((x, y), [(0.2, 0.5), (0.7, 0.5)]),
    "spline": pibls.Spline((x, y), [(0, 0), (1, 0), (1, 1), (0, 1)]),
    "rotated": DISK.rotated(0.3) if hasattr(DISK, "rotated") else DISK,
    "in time": DISK.during(t, 0, 1),
    "user-defined": Ring(),
}


@pytest.mark.parametrize("domain", SHAPES.values(), ids=SHAPES)
def test_domains(domain: Any) -> None:
    def sampled(shape: Any) -> list[Any]:
        X = shape.interior(50, np.random.default_rng(1))
        b = shape.boundary(20, np.random.default_rng(2))
        return [X, b.points, b.normals, shape.contains(1.1 * X)]

    before = sampled(domain)  # fills the caches
    for other in (pickle.loads(pickle.dumps(domain)), copy.copy(domain), copy.deepcopy(domain)):
        assert all(is_bitwise_equal(a, b) for a, b in zip(sampled(other), before, strict=True))


def coupled() -> pibls.Solution:
    a, b = u(x), v(x)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1),
        [a.diff(x, 2) - b, b.diff(x, 2) - a - 1],
        [pibls.Dirichlet(a, 0), pibls.Dirichlet(b, 1)],
    )
    return solve_silently(problem)


def layer() -> pibls.Solution:
    w = u(x)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1), [-w.diff(x, 2) / 10**4 + w.diff(x) - 1], [pibls.Dirichlet(w, 0)]
    )
    return solve_silently(problem)


def inclusion() -> pibls.Solution:
    w = u(x, y)
    k = sp.Piecewise((3, pibls.Disk((x, y), (0, 0), HALF).inside), (1, True))
    return solve_silently(pibls.Problem(DISK, [pibls.div(k * pibls.grad(w)) + 1], [pibls.Dirichlet(w, 0)]))


def jump() -> pibls.Solution:
    w, k = u(x), sp.Piecewise((1, x < HALF), (3, True))
    return solve_silently(
        pibls.Problem(pibls.Interval(x, 0, 1), [pibls.div(k * pibls.grad(w)) + 1], [pibls.Dirichlet(w, 0)])
    )


def oscillator() -> pibls.Solution:
    w = u(t)
    conditions = [pibls.Initial(w, 1), pibls.Initial(w.diff(t), 0)]
    return solve_silently(pibls.Problem(pibls.Interval(t, 0, 10), [w.diff(t, 2) + sp.sin(w)], conditions))


def with_parameter() -> pibls.Problem:
    k, w = sp.Symbol("k"), u(x)
    return pibls.Problem(
        pibls.Interval(x, 0, 1), [w.diff(x, 2) - k * w - 1], [pibls.Dirichlet(w, 0)], parameters={k: 2.0}
    )


def with_callables() -> pibls.Problem:
    w = u(x)
    equation = pibls.known(conductivity, x) * w.diff(x, 2) + functools.partial(conductivity, 0.5)()
    return pibls.Problem(pibls.Interval(x, 0, 1), [equation], [pibls.Dirichlet(w, Ramp())])


L_SHAPE = pibls.Polygon((x, y), [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)])
KINDS: dict[str, tuple[str, Callable[[], pibls.Solution]]] = {
    "random features": ("SingleDomainSpace", lambda: solve_silently(poisson(DISK))),
    "tensor product": ("TensorGridSpace", lambda: solve_silently(poisson(SQUARE, sp.exp(x * y)), tol=1e-8)),
    "cells": ("CellSpace", layer),
    "singular functions": ("SingleDomainSpace", lambda: solve_silently(poisson(L_SHAPE))),
    "subdomains": ("SubdomainSpace", inclusion),
    "interface": ("CellSpace", jump),
    "several unknowns": ("SingleDomainSpace", coupled),
    "ordinary evolution": ("TimeWindows", oscillator),
    "evolution": ("TimeWindows", lambda: solve_silently(heat(pibls.Interval(x, 0, 1), x * (1 - x)))),
    "evolution on a shape": (
        "TimeWindows",
        lambda: solve_silently(heat(DISK, (1 - x**2 - y**2) ** 2), tol=1e-2),
    ),
    "decomposed": (
        "CellSpace",
        lambda: solve_quietly(poisson(SQUARE), pibls.Decomposed((2, 2), pibls.Features(20, scale=2.0))),
    ),
    "broad": (
        "SingleDomainSpace",
        lambda: solve_quietly(poisson(SQUARE), pibls.Broad(5, 5, 2, 6, scale=1.5)),
    ),
    "sensitivity": ("SingleDomainSpace", lambda: solve_silently(with_parameter()).sensitivity("k")),
    "callables": ("SingleDomainSpace", lambda: solve_silently(with_callables())),
    "not converged": ("CellSpace", lambda: solve_silently(poisson(DISK, sp.exp(9 * x)), max_nodes=32)),
}


@functools.cache
def solution_of(kind: str) -> pibls.Solution:
    return KINDS[kind][1]()


@pytest.mark.parametrize("kind", KINDS)
def test_solutions_and_solved_problems(kind: str) -> None:
    solution = solution_of(kind)
    assert type(solution.space).__name__ == KINDS[kind][0]
    loaded = pickle.loads(pickle.dumps(solution))
    if kind not in ("callables", "sensitivity"):  # SymPy compares implementations by identity
        assert_same_solution(loaded, solution)
    assert loaded.settings == solution.settings
    X = solution.problem.domain.interior(9, np.random.default_rng(3)).T
    for other in (loaded, copy.copy(solution), copy.deepcopy(solution)):
        for w in solution.problem.unknowns:
            assert is_bitwise_equal(other[w](*X), solution[w](*X))
        assert other.error == solution.error
        assert other.summary() == solution.summary()
    assert isinstance(pickle.loads(pickle.dumps(solution.problem)), pibls.Problem)


@pytest.mark.parametrize("kind", ["random features", "subdomains", "callables", "ordinary evolution"])
def test_solving_a_copied_problem_gives_the_same_result(kind: str) -> None:
    problem = solution_of(kind).problem
    coefficients = solve_quietly(problem, pibls.Waves(30, scale=2.0)).coefficients
    for other in (pickle.loads(pickle.dumps(problem)), copy.copy(problem), copy.deepcopy(problem)):
        assert is_bitwise_equal(solve_quietly(other, pibls.Waves(30, scale=2.0)).coefficients, coefficients)


def test_error_estimate_after_round_trip() -> None:
    solution = solve_quietly(poisson(SQUARE), pibls.Waves(40, scale=2.0))
    other = pickle.loads(pickle.dumps(solution))
    assert "error" not in vars(other)
    assert other.error == solution.error
    assert "error" in vars(solution)
    assert pickle.loads(pickle.dumps(solution)).estimator() == solution.error


def test_conditions_estimates_and_fits() -> None:
    value = pibls.Dirichlet(u(x), conductivity, on=sp.Eq(x, 0))
    for other in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
        assert other == value
        assert other.value is conductivity
    error = solution_of("random features").error
    other = pickle.loads(pickle.dumps(error))
    assert (other.max, other.l2, other.each) == (error.max, error.l2, error.each)
    k, xs = sp.Symbol("k"), np.linspace(0.1, 0.9, 9)
    data = pibls.Data(u(x), {x: xs}, solve_silently(with_parameter())(xs))
    fit = pibls.fit(with_parameter(), data, {k: (0.5, 5.0)})
    for other_fit in (pickle.loads(pickle.dumps(fit)), copy.copy(fit), copy.deepcopy(fit)):
        assert other_fit.values == fit.values
        assert other_fit.std == fit.std
        assert other_fit.summary() == fit.summary()
        assert is_bitwise_equal(other_fit.solution(xs), fit.solution(xs))


def test_a_lambda_is_pickled_with_cloudpickle_or_named_in_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    w = u(x)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1), [w.diff(x, 2) + 1], [pibls.Dirichlet(w, lambda a: 3 * a)]
    )
    solution = solve_silently(problem)
    pytest.importorskip("cloudpickle")
    assert is_bitwise_equal(pickle.loads(pickle.dumps(solution))(0.3), solution(0.3))
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(pibls.ProblemError, match=r"in_the_error.<locals>.<lambda>, which has no such name"):
        pickle.dumps(solution)
    with pytest.raises(pibls.ProblemError, match="Define the function at the top level of a module"):
        pickle.dumps(problem)
    copied, original = (cast(Any, p.conditions[0]) for p in (copy.copy(problem), problem))
    assert copied.value is original.value


def _value_and_error(solution: pibls.Solution) -> tuple[float, float, str]:
    return float(solution(0.3, 0.2)), solution.error.max, solution.summary()


def _solved(problem: pibls.Problem) -> pibls.Solution:
    return pibls.solve(problem, tol=1e-4)


def test_other_processes_take_and_return_problems_and_solutions() -> None:
    """The processes are started with spawn and inherit nothing."""
    solution = solution_of("random features")
    started = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=started) as pool:
        computed = pool.submit(_value_and_error, solution).result(timeout=60)
        returned = pool.submit(_solved, solution.problem).result(timeout=60)
    assert computed == _value_and_error(solution)
    assert is_bitwise_equal(returned.coefficients, solution.coefficients)
    assert is_bitwise_equal(returned(0.3, 0.2), solution(0.3, 0.2))
