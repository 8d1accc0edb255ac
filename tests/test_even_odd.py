"""Equations that are the same at the image of every place: solved in two halves, with the same answer."""

import dataclasses
from typing import Any, cast

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive.candidate import attempt, drawn, system_in
from pibls.adaptive.counts import default_points
from pibls.adaptive.validation.conditioning import probed_at
from pibls.adaptive.validation.context import Bench
from pibls.assembly.even_odd import EvenOddSystem, inversion_of
from pibls.assembly.system import System, assemble
from pibls.linalg import Levered, RidgeQR
from pibls.linalg.even_odd import EvenOdd
from pibls.nonlinear import GaussNewton
from pibls.problem.forms.lowering import lower
from pibls.spaces import Whole

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)
EXACT = sp.exp(x) * sp.sin(2 * y + 1)
BOX = pibls.Box({x: (0, 1), y: (-1, 3)})


def laplace(e: sp.Expr) -> sp.Expr:
    return e.diff(x, 2) + e.diff(y, 2)


def poisson(domain: Any, *conditions: Any, term: Any = 0) -> pibls.Problem:
    value = laplace(EXACT) + (term.subs(u, EXACT).doit() if term else 0)
    return pibls.Problem(domain, [sp.Eq(laplace(u) + term, value)], list(conditions))


def found(problem: pibls.Problem) -> bool:
    return inversion_of(lower(problem), problem.domain) is not None


def test_halves_are_the_same_least_squares_problem() -> None:
    rng = np.random.default_rng(0)
    A, b = EvenOdd(np.asfortranarray(rng.standard_normal((20, 12)))), rng.standard_normal(40)
    full = np.asarray(A)
    assert np.allclose(A @ np.arange(12.0), full @ np.arange(12.0))
    assert np.allclose(A.row_norms, np.linalg.norm(full, axis=1))
    mine, theirs = (cast("Levered", RidgeQR().factor(M)) for M in (A, full))
    assert np.allclose(mine.apply(b), theirs.apply(b))
    values, changes = rng.standard_normal((3, 12)), rng.random(40)
    assert np.allclose(mine.leverage(values), theirs.leverage(values))
    assert np.allclose(mine.influence(values, changes), theirs.influence(values, changes))
    assert mine.rank == theirs.rank


@pytest.mark.parametrize(
    ("problem", "same"),
    [
        (poisson(BOX, pibls.Dirichlet(u, EXACT)), True),
        (poisson(BOX, pibls.Neumann(u, x), term=3 * u), True),
        (poisson(BOX, pibls.Dirichlet(u, EXACT, on=sp.Eq(x, 0)), pibls.Dirichlet(u, EXACT)), False),
        (poisson(BOX, pibls.Dirichlet(u, EXACT), term=u.diff(x)), False),
        (poisson(BOX, pibls.Dirichlet(u, EXACT), term=(x - 0.5) ** 2 * u), True),
        (poisson(BOX, pibls.Dirichlet(u, EXACT), term=x * u), False),
        (poisson(pibls.Disk((x, y), (1, 2), 3), pibls.Dirichlet(u, EXACT)), True),
        (poisson(BOX - pibls.Disk((x, y), (0.5, 1), 0.2), pibls.Dirichlet(u, EXACT)), True),
        (poisson(BOX - pibls.Disk((x, y), (0.5, 0.9), 0.2), pibls.Dirichlet(u, EXACT)), False),
        (poisson(pibls.Polygon((x, y), [(0, 0), (1, 0), (0, 1)]), pibls.Dirichlet(u, EXACT)), False),
    ],
)  # fmt: skip
def test_what_is_the_same_at_images(problem: pibls.Problem, same: bool) -> None:
    assert found(problem) is same


def test_the_same_solution_in_two_halves() -> None:
    """-Δu + 2u on a box, against its exact solution and against the system as a whole."""
    problem = poisson(BOX, pibls.Dirichlet(u, EXACT), term=-2 * u)
    bench = Bench.of(lower(problem), problem.domain, 0, 1e-10)
    spec = bench.family.spec(128)
    halved = attempt(bench, spec, None, None, 1)
    whole = attempt(
        dataclasses.replace(bench, kept={"inversion": (bench.lowered, None)}), spec, None, None, 1
    )
    assert halved.work < whole.work
    assert halved.relative < 3.0 * whole.relative
    assert np.abs(halved.values - whole.values).max() < 1e-3 * whole.sizes[0]


CARRIED = pibls.Problem(
    BOX, [sp.Eq(term, term.subs(u, EXACT).doit()) for term in (u.diff(x) + 2 * u.diff(y),)],
    [pibls.Dirichlet(u, EXACT)],
)  # fmt: skip


@pytest.mark.parametrize("problem", [poisson(BOX, pibls.Dirichlet(u, EXACT)), CARRIED], ids=["even", "odd"])
def test_what_rounding_does_is_known_in_two_halves(problem: pibls.Problem) -> None:
    """Rows at images are those of the problem there; its stiffness is that of all rows without halves."""
    bench = Bench.of(lower(problem), problem.domain, 0, 1e-10)
    inversion = bench.inversion
    assert inversion is not None
    spec = bench.family.spec(64)
    space = cast("Whole", drawn(spec, bench, 1))
    system = system_in(bench, space, default_points(spec, bench.domain, bench.density), 1, inversion)
    assert isinstance(system, EvenOddSystem)
    outcome = GaussNewton(rounds=0).solve(system, np.random.default_rng(0))
    w = np.random.default_rng(1).standard_normal(space.columns)
    for block, n in zip(system.images, inversion.signs, strict=True):
        there = assemble(bench.lowered, {b.residual.region: b.points for b in system.images}, space)
        rows = slice(block.rows.start + system.shape[0] // 2, block.rows.stop + system.shape[0] // 2)
        assert np.allclose(system.residual(w)[rows], n * there.residual(w)[block.rows])
    limits = dataclasses.replace(bench.limits, firm=np.inf)
    mine = probed_at(dataclasses.replace(bench, limits=limits), system, outcome, 1, exactly=True)
    dense = dataclasses.replace(outcome, factors=RidgeQR().factor(np.asarray(system.jacobian(outcome.w))))
    theirs = probed_at(dataclasses.replace(bench, limits=limits), system, dense, 1, exactly=True)
    assert mine.stiffness == pytest.approx(theirs.stiffness, rel=0.05)
    assert mine.rounding == pytest.approx(theirs.rounding, rel=0.3)


def test_a_source_that_is_undefined_at_an_image_is_named() -> None:
    problem = pibls.Problem(
        BOX, [sp.Eq(laplace(u), sp.sqrt(1.99 - y))], [pibls.Dirichlet(u, 0)]
    )  # fmt: skip
    with pytest.raises(pibls.ProblemError, match="finite values at every point"):
        pibls.solve(problem)


def test_a_second_solution_is_fitted_at_the_same_places() -> None:
    """What the equations are there is worked out once; other counts have other places, other solves too."""
    problem = poisson(BOX, pibls.Dirichlet(u, EXACT))
    bench = Bench.of(lower(problem), problem.domain, 0, 1e-4)
    points = pibls.Points(200, 80)
    first, second = (
        system_in(bench, drawn(pibls.Waves(64, s), bench, k), points, k) for k, s in ((1, 9.0), (2, 7.5))
    )
    assert isinstance(first, System)
    assert isinstance(second, System)
    assert all(
        a.points is b.points and a.data is b.data for a, b in zip(first.blocks, second.blocks, strict=True)
    )
    assert not np.array_equal(first.linear, second.linear)
    (here,) = bench.placed(points, 1)
    assert bench.placed(pibls.Points(201, 80), 1)[0] is not here
    (again,) = dataclasses.replace(bench).placed(points, 2)
    region = first.blocks[0].residual.region
    assert not np.array_equal(again.points[region].sites[0], first.blocks[0].points.sites[0])
