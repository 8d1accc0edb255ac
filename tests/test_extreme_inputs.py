"""Numbers, lengths, jumps and nesting at the limits of floating point and of Python: solved or rejected."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.spaces import CellTree

x, y, z, s, t = sp.symbols("x y z s t")
u = sp.Function("u")
BIG = sp.Integer(10) ** 400


def line(source: Any, a: Any = 0, b: Any = 1, factor: Any = 1, value: Any = 0) -> pibls.Problem:
    w = u(x)
    return pibls.Problem(
        pibls.Interval(x, a, b), [sp.Eq(factor * w.diff(x, 2), source)], [pibls.Dirichlet(w, value)]
    )


def poisson(domain: Any, source: Any = 1) -> pibls.Problem:
    w = u(*domain.coordinates)
    return pibls.Problem(
        domain, [sum(w.diff(c, 2) for c in domain.coordinates) + source], [pibls.Dirichlet(w, 0)]
    )


def nested(e: Any, depth: int) -> Any:
    for _ in range(depth):
        e = sp.sin(e, evaluate=False)
    return e


def ode(rate: Any) -> pibls.Problem:
    return pibls.Problem(pibls.Interval(t, 0, 1), [u(t).diff(t) - rate], [pibls.Initial(u(t), 0)])


SQUARE = pibls.Box({x: (0, 1), y: (0, 1)})
JUMPS = "at most 1000 planes inside the domain where it is not smooth"
LENGTHS = r"a size from 1e-70 to 1e\+70|a number between -1e\+70 and 1e\+70"
INVALID: dict[str, tuple[Callable[[], pibls.Problem], str]] = {
    "floor": (lambda: line(sp.floor(10**6 * x)), JUMPS),
    "ceiling": (lambda: line(sp.ceiling(10**6 * x)), JUMPS),
    "frac": (lambda: line(sp.frac(10**6 * x)), JUMPS),
    "Mod": (lambda: line(sp.Mod(x, sp.Rational(1, 10**6))), JUMPS),
    "floor of a huge number": (lambda: line(sp.floor(10**300 * x)), JUMPS),
    "floor of a pole": (lambda: line(sp.floor(1 / x)), JUMPS),
    "floor in time": (lambda: ode(sp.floor(10**6 * t)), JUMPS),
    "floor in a flux": (
        lambda: pibls.Problem(
            pibls.Interval(x, 0, 1),
            [sp.Derivative((1 + sp.floor(10**5 * x)) * u(x).diff(x), x) + 1],
            [pibls.Dirichlet(u(x), 0)],
        ),
        JUMPS,
    ),
    "many cells": (
        lambda: poisson(SQUARE, sp.floor(500 * x) * sp.floor(500 * y)),
        "expected jumps that divide the domain into at most 1562 cells, got 250000 cells",
    ),
    "long interval": (lambda: line(1, 0, 1e300), LENGTHS),
    "short interval": (lambda: line(1, 0, 1e-300), LENGTHS),
    "interval with an infinite difference": (lambda: line(1, -1e308, 1e308), LENGTHS),
    "interval far away": (lambda: line(1, 1e300, 1.0001e300), LENGTHS),
    "long interval for a beam": (
        lambda: pibls.Problem(
            pibls.Interval(x, 0, 1e60),
            [u(x).diff(x, 4) - 1],
            [pibls.Dirichlet(u(x), 0), pibls.Condition(u(x).diff(x, 2))],
        ),
        r"domain: expected lengths and coordinates between 3e-38 and 3e\+37 for order 4, got \(0, 1e\+60\)",
    ),
    "long time": (
        lambda: pibls.Problem(pibls.Interval(t, 0, 1e300), [u(t).diff(t) + u(t)], [pibls.Initial(u(t), 1)]),
        LENGTHS,
    ),
    "large ball": (
        lambda: poisson(pibls.Ball((x, y, z), (0, 0, 0), 1e300)),
        LENGTHS,
    ),
    "small disk": (lambda: poisson(pibls.Disk((x, y), (0, 0), 1e-300)), LENGTHS),
    "large box": (lambda: poisson(pibls.Box({x: (0, 1e300), y: (0, 1e300)})), LENGTHS),
    "large polygon": (lambda: poisson(pibls.Polygon((x, y), [(0, 0), (1e300, 0), (0, 1e300)])), LENGTHS),
    "small polygon": (lambda: poisson(pibls.Polygon((x, y), [(0, 0), (1e-200, 0), (0, 1e-200)])), LENGTHS),
    "large spline": (
        lambda: poisson(pibls.Spline((x, y), [(0, 0), (1e200, 0), (1e200, 1e200)])),
        LENGTHS,
    ),
    "flat ellipse": (lambda: poisson(pibls.Ellipse((x, y), (0, 0), (1e300, 1e-300))), LENGTHS),
    "large bounds of a level set": (
        lambda: poisson(pibls.Implicit(x**2 + y**2 - 1, {x: (-1e300, 1e300), y: (-1e300, 1e300)})),
        LENGTHS,
    ),
    "scaled disk": (lambda: poisson(pibls.Disk((x, y), (0, 0), 1).scaled(1e300)), LENGTHS),
    "nested functions of the unknown": (
        lambda: pibls.Problem(
            pibls.Interval(x, 0, 1), [u(x).diff(x, 2) - nested(u(x), 150)], [pibls.Dirichlet(u(x), 0)]
        ),
        "equations: expected expressions nested less deeply .* known\\(function, x\\)",
    ),
    "coefficient that overflows": (lambda: line(1, factor=BIG), "beyond the range of floating point"),
    "coefficient that underflows": (lambda: line(1, factor=1 / BIG), "beyond the range of floating point"),
    "value that overflows": (lambda: line(1, value=BIG), "beyond the range of floating point"),
    "infinite value": (lambda: line(1, value=sp.oo), "an expression with infinity"),
    "complex infinity as a coefficient": (lambda: line(1, factor=sp.zoo), "infinity|NaN"),
    "NaN as a source": (lambda: line(sp.nan), "NaN|true or false"),
    "end at infinity": (lambda: line(1, 0, sp.oo), r"Interval\(a, b\): expected a finite number"),
    "end beyond floating point": (lambda: line(1, 0, BIG), r"Interval\(a, b\): expected a finite number"),
}


@pytest.mark.parametrize("kind", INVALID)
def test_invalid_problem_is_an_error(kind: str) -> None:
    make, message = INVALID[kind]
    with pytest.raises(pibls.ProblemError, match=message) as error:
        pibls.solve(make(), tol=1e-4, time_limit=20.0)
    assert error.value.remedy


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_huge_and_tiny_coefficients_and_sources(size: float) -> None:
    """max|u| is 1/(8 size), size/8, and of order one."""
    assert pibls.solve(line(-1, factor=size))(0.5) * size == pytest.approx(0.125, rel=1e-9)
    assert pibls.solve(line(-size))(0.5) / size == pytest.approx(0.125, rel=1e-9)
    stiff = pibls.Problem(pibls.Interval(x, 0, 1), [u(x).diff(x, 2) + 1], [pibls.Robin(u(x), 0, 1e300, 1)])
    solution = pibls.solve(stiff)
    assert solution.converged
    assert solution(0.5) == pytest.approx(0.125, rel=1e-9)


@pytest.mark.parametrize("length", [1e70, 1e-70])
def test_lengths_within_the_limits(length: float) -> None:
    solution = pibls.solve(line(-1, 0, length))
    assert solution.converged
    assert solution(length / 2) / length / length == pytest.approx(0.125, rel=1e-9)


def test_cell_tree_of_many_planes_is_balanced() -> None:
    """A chain of a thousand branches exceeded Python's recursion limit."""
    tree = CellTree.divided_at(
        np.array([[0.0, 1.0], [0.0, 1.0]]), [(0, k / 999) for k in range(1, 999)] + [(1, 0.5)]
    )
    assert len(tree) == 999 * 2
    assert max(map(len, tree.paths)) <= 11
    assert np.array_equal(np.unique(tree.boxes[:, 0, 0]), np.arange(999) / 999)


def test_source_with_many_jumps() -> None:
    """u'' = floor(n x): u(1/2) is known from the Green's function."""
    n = 40
    solution = pibls.solve(line(sp.floor(n * x)), tol=1e-6)
    k = np.arange(1, n)
    # -G(1/2, ξ) integrated over [k/n, 1]: the Green's function of u'' with u(0) = u(1) = 0.
    exact = -sum(_green_integral(float(c)) for c in k / n)
    assert solution(0.5) == pytest.approx(exact, rel=1e-5)


def _green_integral(a: float) -> float:
    """∫ₐ¹ G(1/2, ξ) dξ with G = min(ξ, 1/2) (1 - max(ξ, 1/2))."""
    if a >= 0.5:
        return 0.25 * (1 - a) ** 2
    return 0.5 * (0.125 - a * a / 2) + 0.0625


@pytest.mark.parametrize("source", [sp.exp(-((s / (1 - s**2)) ** 2)), 1 / (1 + (s / (1 - s**2)) ** 2)])
def test_unbounded_line_mapped_to_an_interval(source: Any) -> None:
    """u_xx - u = -f on the line with x = s/(1 - s²), against the Green's function exp(-|x - ξ|)/2."""
    from scipy.integrate import quad

    g = sp.diff(s / (1 - s**2), s)

    def physical_derivative(e: Any) -> Any:
        return e.diff(s) / g

    w = u(s)
    problem = pibls.Problem(
        pibls.Interval(s, -1, 1),
        [physical_derivative(physical_derivative(w)) - w + source],
        [pibls.Dirichlet(w, 0)],
    )
    solution = pibls.solve(problem, tol=1e-6)
    assert solution.converged
    back = sp.lambdify(x, source.subs(s / (1 - s**2), x).subs((s / (1 - s**2)) ** 2, x**2))
    exact = quad(lambda c: math.exp(-c) * float(back(c)), 0, np.inf)[0]
    assert solution(0.0) == pytest.approx(exact, rel=1e-5)


def test_large_power_of_the_unknown() -> None:
    """The power was evaluated with exact fractions of a million digits."""
    w = u(x)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1), [w.diff(x, 2) + 1 - w ** (10**6)], [pibls.Dirichlet(w, 0)]
    )
    assert pibls.solve(problem, tol=1e-4)(0.5) == pytest.approx(0.125, rel=1e-3)


@pytest.mark.parametrize("zero", [0.0, -0.0, sp.Float(0), sp.Float("0", 30)])
def test_floating_zeros_are_numbers(zero: Any) -> None:
    """A source that is 0.0 in a part of the domain was rejected: sympy.Float(0) == 0 is False."""
    source = sp.Piecewise((zero, x < sp.Rational(2, 5)), (100.0, x < 0.41), (zero, True))
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1), [sp.Eq(pibls.div(pibls.grad(u(x))), -source)], [pibls.Dirichlet(u(x), 0)]
    )
    solution = pibls.solve(problem)
    assert solution.converged
    # u' jumps by -100 · 0.01 in all, and u = 0 at both ends: u(0.2) = 0.2 · (1 - 0.405).
    assert abs(float(solution(0.2)) - 0.2 * 0.595) < 1e-9
