"""Evolutions on boxes, solved along each coordinate by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.problem.lowering import lower
from pibls.search.bench import Bench
from pibls.search.chain import Places
from pibls.search.grading import Grading
from pibls.search.resolution import Resolution
from pibls.solver.stages import stages
from pibls.system.axial import Axial
from pibls.system.lines import Lines

x, y, z, t = sp.symbols("x y z t")
u, v = (sp.Function(name)(x, y, t) for name in "uv")
BOX = pibls.Box({x: (0, 1), y: (-1, 1)})
SQUARE = BOX.during(t, 0, 1)
SMOOTH = sp.exp(-t) * sp.cos(2 * x + y) + sp.exp(-8 * (x - sp.Rational(1, 2)) ** 2 - y**2) * sp.sin(3 * t)
LOW, HIGH = sp.Eq(x, 0), sp.Eq(x, 1)


def laplacian(f: sp.Expr) -> sp.Expr:
    return f.diff(x, 2) + f.diff(y, 2)


def manufactured(
    left: sp.Expr, conditions: list[object], exact: sp.Expr = SMOOTH, domain: Any = SQUARE
) -> pibls.Problem:
    """left = what it is for the exact solution, from its values at t = 0."""
    f = next(iter(left.atoms(sp.core.function.AppliedUndef)))
    initial = [pibls.Initial(f, exact.subs(t, 0))]
    if any(d.args[0] == f and (t, 2) in d.args for d in left.atoms(sp.Derivative)):
        initial.append(pibls.Initial(f.diff(t), exact.diff(t).subs(t, 0)))
    source = left.subs(f, exact).doit()
    return pibls.Problem(domain, [sp.Eq(left, source)], [*conditions, *initial])


PROBLEMS = {
    "values": manufactured(u.diff(t) - laplacian(u), [pibls.Dirichlet(u, SMOOTH)]),
    "slopes": manufactured(
        u.diff(t) - laplacian(u) / 5,
        [
            pibls.Neumann(u, SMOOTH.diff(x), on=HIGH),
            pibls.Dirichlet(u, SMOOTH, on=sp.Or(LOW, sp.Eq(y, -1), sp.Eq(y, 1))),
        ],
    ),
    "first order": manufactured(
        u.diff(t) + 2 * u.diff(x) + (1 + x) * u.diff(y),
        [pibls.Dirichlet(u, SMOOTH, on=sp.Or(LOW, sp.Eq(y, -1)))],
    ),
    "varying": manufactured(
        u.diff(t) - (1 + t) * ((1 + x * y / 2) * u.diff(x)).diff(x) - u.diff(y, 2) + y * u.diff(x),
        [pibls.Dirichlet(u, SMOOTH)],
    ),
    "wave": manufactured(u.diff(t, 2) - (1 + x) * laplacian(u), [pibls.Dirichlet(u, SMOOTH)]),
}


def places_of(problem: pibls.Problem) -> Places:
    places = Places.of(Bench.of(lower(problem), problem.domain, 0, 1e-6))
    assert places is not None
    return places


def lines_of(problem: pibls.Problem, sizes: tuple[int, int]) -> tuple[Places, Lines]:
    places = places_of(problem)
    first = Grading(places).first(12, True)
    return places, places.lines(Resolution(first.tree, sizes, first.repeated))


@pytest.mark.parametrize("name", ["values", "slopes"])
def test_it_is_the_inverse_of_the_whole_matrix(name: str) -> None:
    _, lines = lines_of(PROBLEMS[name], (9, 11))
    st = stages(3)
    moments = lines.at(0.1 * st.nodes)
    operator = moments.slopes([np.zeros((*lines.extent, 3))] * 2)
    assert lines.frame is not None
    made = Axial.of(lines, lines.frame, operator.weights, st.values / 0.1)
    assert made is not None
    assert made.is_exact
    rng = np.random.default_rng(1)
    for i, shift in enumerate(st.values / 0.1):
        A = operator.parts().at(shift)
        b = np.zeros((len(A), len(st.values)), dtype=complex)
        b[:, i] = rng.standard_normal(len(A)) + 1j * rng.standard_normal(len(A))
        c = made.solve(b)[:, i]
        assert np.abs(A @ c - b[:, i]).max() < 1e-9 * np.abs(A).max(axis=1).max() * np.abs(c).max()


@pytest.mark.parametrize("name", PROBLEMS)
def test_manufactured(name: str) -> None:
    solution = pibls.solve(PROBLEMS[name], tol=1e-6)
    X = np.random.default_rng(2).random((300, 3)) * [1, 2, 1] + [0, -1, 0]
    error = np.abs(solution(*X.T) - sp.lambdify((x, y, t), SMOOTH)(*X.T)).max()
    assert solution.converged
    assert error <= solution.error.max <= 1e-6


def test_a_narrow_cloud_that_turns() -> None:
    """1,900 functions on any shape had not held it."""
    width, s = sp.Rational(1, 30), sp.Rational(1, 3)
    middle = (x - s * sp.cos(t)) ** 2 + (y - s * sp.sin(t)) ** 2
    exact = width / (width + t / 100) * sp.exp(-middle / (width + t / 100))
    left = u.diff(t) - y * u.diff(x) + x * u.diff(y) - laplacian(u) / 400
    box = pibls.Box({x: (-1, 1), y: (-1, 1)}).during(t, 0, sp.Rational(1, 10))
    problem = manufactured(left, [pibls.Dirichlet(u, exact)], exact, box)
    solution = pibls.solve(problem, tol=1e-4)
    X = np.random.default_rng(2).random((300, 3)) * [2, 2, 0.1] + [-1, -1, 0]
    assert np.abs(solution(*X.T) - sp.lambdify((x, y, t), exact)(*X.T)).max() <= solution.error.max <= 1e-4


def test_what_holds_on_part_of_a_side_has_no_frame() -> None:
    part = sp.And(sp.Eq(x, 1), y < 0)
    rest = sp.Or(LOW, sp.Eq(y, -1), sp.Eq(y, 1), sp.And(sp.Eq(x, 1), y >= 0))
    problem = manufactured(
        u.diff(t) - laplacian(u),
        [pibls.Neumann(u, SMOOTH.diff(x), on=part), pibls.Dirichlet(u, SMOOTH, on=rest)],
    )
    places = places_of(problem)
    assert places.framed is None


def test_unknowns_that_only_move_each_other_have_no_frame() -> None:
    problem = pibls.Problem(
        SQUARE,
        [sp.Eq(u.diff(t), -laplacian(v)), sp.Eq(v.diff(t), laplacian(u))],
        [pibls.Dirichlet(u, 0), pibls.Dirichlet(v, 0), pibls.Initial(u, x * (1 - x)), pibls.Initial(v, 0)],
    )
    places = places_of(problem)
    assert places.framed is None


def test_three_coordinates_of_space() -> None:
    w = sp.Function("w")(x, y, z, t)
    exact = sp.exp(-t) * sp.sin(2 * x + y - z)
    left = w.diff(t) - w.diff(x, 2) - w.diff(y, 2) - w.diff(z, 2) / 2 + w**2
    cube = pibls.Box({x: (0, 1), y: (0, 1), z: (0, 1)}).during(t, 0, 1)
    solution = pibls.solve(manufactured(left, [pibls.Dirichlet(w, exact)], exact, cube), tol=1e-5)
    X = np.random.default_rng(2).random((300, 4))
    error = np.abs(solution(*X.T) - sp.lambdify((x, y, z, t), exact)(*X.T)).max()
    assert error <= solution.error.max <= 1e-5
