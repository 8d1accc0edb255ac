"""Problems symmetric under point reflection: split into even and odd systems, with the same solution."""

import dataclasses
from typing import Any, cast

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive.candidate import assemble_system, compute_candidate, draw_space
from pibls.adaptive.point_counts import default_points
from pibls.adaptive.validation.conditioning import conditioning_at
from pibls.adaptive.validation.context import ValidationCache, ValidationContext
from pibls.assembly.even_odd import EvenOddSystem, inversion_of
from pibls.assembly.system import System, assemble
from pibls.linalg import LeverageFactorization, RidgeQR
from pibls.linalg.even_odd import EvenOdd
from pibls.nonlinear import GaussNewton
from pibls.problem.forms.compilation import compile_problem
from pibls.spaces import SingleDomainSpace

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)
EXACT = sp.exp(x) * sp.sin(2 * y + 1)
BOX = pibls.Box({x: (0, 1), y: (-1, 3)})


def laplace(e: sp.Expr) -> sp.Expr:
    return e.diff(x, 2) + e.diff(y, 2)


def poisson(domain: Any, *conditions: Any, term: Any = 0) -> pibls.Problem:
    value = laplace(EXACT) + (term.subs(u, EXACT).doit() if term else 0)
    return pibls.Problem(domain, [sp.Eq(laplace(u) + term, value)], list(conditions))


def has_point_symmetry(problem: pibls.Problem) -> bool:
    return inversion_of(compile_problem(problem), problem.domain) is not None


def test_even_odd_factorization_equals_full_factorization() -> None:
    rng = np.random.default_rng(0)
    A, b = EvenOdd(np.asfortranarray(rng.standard_normal((20, 12)))), rng.standard_normal(40)
    full = np.asarray(A)
    assert np.allclose(A @ np.arange(12.0), full @ np.arange(12.0))
    assert np.allclose(A.row_norms, np.linalg.norm(full, axis=1))
    even_odd, dense = (cast("LeverageFactorization", RidgeQR().factor(M)) for M in (A, full))
    assert np.allclose(even_odd.apply(b), dense.apply(b))
    values, changes = rng.standard_normal((3, 12)), rng.random(40)
    assert np.allclose(even_odd.leverage(values), dense.leverage(values))
    assert np.allclose(even_odd.influence(values, changes), dense.influence(values, changes))
    assert even_odd.rank == dense.rank


@pytest.mark.parametrize(
    ("problem", "symmetric"),
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
def test_detection_of_point_symmetry(problem: pibls.Problem, symmetric: bool) -> None:
    assert has_point_symmetry(problem) is symmetric


def test_split_and_full_systems_have_the_same_solution() -> None:
    """-Δu + 2u on a box: the even and odd systems against the full system."""
    problem = poisson(BOX, pibls.Dirichlet(u, EXACT), term=-2 * u)
    context = ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-10)
    spec = context.family.spec(128)
    split = compute_candidate(context, spec, None, None, 1)
    full = compute_candidate(
        dataclasses.replace(context, cache=ValidationCache(inversion=(None,))),
        spec,
        None,
        None,
        1,
    )
    points = default_points(spec, context.domain, context.density)
    system = assemble_system(context, draw_space(spec, context, 1), points, 1, context.inversion)
    assert system.fronts == 2
    assert split.relative_residual < 3.0 * full.relative_residual
    assert np.abs(split.values - full.values).max() < 1e-3 * full.magnitudes[0]


ADVECTION = pibls.Problem(
    BOX, [sp.Eq(term, term.subs(u, EXACT).doit()) for term in (u.diff(x) + 2 * u.diff(y),)],
    [pibls.Dirichlet(u, EXACT)],
)  # fmt: skip


@pytest.mark.parametrize("problem", [poisson(BOX, pibls.Dirichlet(u, EXACT)), ADVECTION], ids=["even", "odd"])
def test_conditioning_of_split_and_full_systems_agrees(problem: pibls.Problem) -> None:
    """Rows at mirrored points equal those of the problem; the stability constant that of the full system."""
    context = ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-10)
    inversion = context.inversion
    assert inversion is not None
    spec = context.family.spec(64)
    space = cast("SingleDomainSpace", draw_space(spec, context, 1))
    system = assemble_system(
        context, space, default_points(spec, context.domain, context.density), 1, inversion
    )
    assert isinstance(system, EvenOddSystem)
    outcome = GaussNewton(rounds=0).solve(system, np.random.default_rng(0))
    w = np.random.default_rng(1).standard_normal(space.columns)
    for block, sign in zip(system.images, inversion.signs, strict=True):
        mirrored = assemble(context.compiled, {b.residual.region: b.points for b in system.images}, space)
        rows = slice(block.rows.start + system.shape[0] // 2, block.rows.stop + system.shape[0] // 2)
        assert np.allclose(system.residual(w)[rows], sign * mirrored.residual(w)[block.rows])
    thresholds = dataclasses.replace(context.thresholds, min_safe_stability=np.inf)
    even_odd = conditioning_at(
        dataclasses.replace(context, thresholds=thresholds), system, outcome, 1, exactly=True
    )
    dense_outcome = dataclasses.replace(
        outcome, factors=RidgeQR().factor(np.asarray(system.jacobian(outcome.w)))
    )
    dense = conditioning_at(
        dataclasses.replace(context, thresholds=thresholds), system, dense_outcome, 1, exactly=True
    )
    assert even_odd.stability_constant == pytest.approx(dense.stability_constant, rel=0.05)
    assert even_odd.rounding == pytest.approx(dense.rounding, rel=0.3)


def test_source_undefined_at_a_mirrored_point_is_an_error() -> None:
    problem = pibls.Problem(
        BOX, [sp.Eq(laplace(u), sp.sqrt(1.99 - y))], [pibls.Dirichlet(u, 0)]
    )  # fmt: skip
    with pytest.raises(pibls.ProblemError, match="finite values at every point"):
        pibls.solve(problem)


def test_companion_solution_uses_the_same_fit_points() -> None:
    """Data at the fit points are evaluated once; other point counts and other solves have other points."""
    problem = poisson(BOX, pibls.Dirichlet(u, EXACT))
    context = ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-4)
    points = pibls.Points(200, 80)
    first, second = (
        assemble_system(context, draw_space(pibls.Waves(64, s), context, k), points, k)
        for k, s in ((1, 9.0), (2, 7.5))
    )
    assert isinstance(first, System)
    assert isinstance(second, System)
    assert all(
        a.points is b.points and a.data is b.data for a, b in zip(first.blocks, second.blocks, strict=True)
    )
    assert not np.array_equal(first.linear, second.linear)
    (shared,) = context.fit_points(points, 1)
    assert context.fit_points(pibls.Points(201, 80), 1)[0] is not shared
    (other,) = dataclasses.replace(context).fit_points(points, 2)
    region = first.blocks[0].residual.region
    assert not np.array_equal(other.points[region].sites[0], first.blocks[0].points.sites[0])
