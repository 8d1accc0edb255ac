"""Budget of a solve: cost predictions, progress reports, and the time limit."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive import budget as budgets
from pibls.adaptive.budget import Budget, OutOfTimeError, Progress
from pibls.adaptive.candidate import compute_candidate
from pibls.adaptive.cells.strategy import CellStrategy
from pibls.adaptive.evolutions.strategy import TimeWindowStrategy
from pibls.adaptive.random_features.strategy import RandomFeatureStrategy
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import unknowns_at
from pibls.analysis.corners.incompatible_conditions import incompatible_conditions
from pibls.analysis.corners.system_corners import system_corners
from pibls.problem.forms.compilation import compile_problem
from pibls.problem.interfaces.decomposition import subdomain_decomposition
from pibls.runtime.deadline import deadline
from pibls.time.discretizations import CollocationInSpace
from pibls.time.shape.operator import GalerkinOperator


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake = Clock()
    monkeypatch.setattr(budgets, "time", fake)
    return fake


def test_candidate_slightly_beyond_the_limit_is_started(clock: Clock) -> None:
    budget = Budget(0.0, 10.0, 4000)
    assert budget.fits(9.0)
    assert not budget.fits(20.0)
    clock.now = 9.5
    assert not budget.fits(4.0)
    clock.now = 10.5
    budget.check()  # without any candidate the limit may be exceeded
    budget.report(Progress(64, 1.0, None, 1.0))
    with pytest.raises(OutOfTimeError):
        budget.check()


def test_uncertain_candidates_are_started_if_interruptible(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells may start at half of the expected time; random features may not."""
    u_plane = sp.Function("u")(x, y)
    problem = pibls.Problem(SQUARE, [_laplace(u_plane, x, y) + 1], [pibls.Dirichlet(u_plane, 0)])
    context = ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-8)
    budget = Budget(0.0, 10.0, 4000)
    cells, features = CellStrategy(context, budget), RandomFeatureStrategy(context, budget)
    clock.now = 5.0
    for kind in (CellStrategy, RandomFeatureStrategy):
        monkeypatch.setattr(kind, "expected_seconds", 8.0)
    assert not cells.fits_budget()
    assert cells.may_fit_budget()
    assert not features.may_fit_budget()
    monkeypatch.setattr(CellStrategy, "expected_seconds", 20.0)
    assert not cells.may_fit_budget()


def test_step_that_would_exceed_the_limit_is_not_started(clock: Clock) -> None:
    """A step is predicted by the two before it of the same name; one long step alone predicts nothing."""
    budget = Budget(0.0, 10.0, 4000)
    for clock.now in (5.0, 5.1, 9.9):
        budget.check()
    budget = Budget(0.0, 10.0, 4000)
    for clock.now in (0.1, 4.5):
        budget.check("factors")
        clock.now += 4.3
        budget.check("rows")
    clock.now = 9.1
    budget.check("rows")
    with pytest.raises(OutOfTimeError):
        budget.check("factors")


def test_callback_is_called_regularly(clock: Clock) -> None:
    reports: list[Progress] = []
    budget = Budget(0.0, None, 4000, reports.append)
    budget.check()
    assert not reports
    for second in range(1, 11):
        clock.now = float(second)
        budget.check()
    assert 3 <= len(reports) <= 5
    assert reports[-1].seconds >= 9.0
    assert not budget.history, "there is no candidate yet"


def test_solution_is_returned_for_zero_time_limit() -> None:
    x = sp.Symbol("x")
    u = sp.Function("u")(x)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1), [sp.Eq(u.diff(x, 2), sp.exp(u) * sp.sin(9 * x))], [pibls.Dirichlet(u, 0)]
    )
    with pytest.warns(pibls.ConvergenceWarning):
        solution = pibls.solve(problem, time_limit=1e-9)
    assert not solution.converged
    assert solution.status.name == "TIME_LIMIT"
    assert solution.nodes <= 64


x, y, z, t = sp.symbols("x y z t")
ROD = pibls.Interval(x, 0, 1)
SQUARE = pibls.Box({x: (0, 1), y: (0, 1)})


def _laplace(e: sp.Expr, *coordinates: sp.Symbol) -> sp.Expr:
    return sum(e.diff(c, 2) for c in coordinates)


def _problems() -> dict[str, pibls.Problem]:
    u_line, u_plane = sp.Function("u")(x), sp.Function("u")(x, y)
    u_line_t, u_plane_t = sp.Function("u")(x, t), sp.Function("u")(x, y, t)
    a, b = (sp.Function(name)(x, y) for name in "ab")
    left, right = (sp.Function(name)(x) for name in ("left", "right"))
    corner = pibls.Polygon((x, y), [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)])
    jump = sp.Piecewise((9, (x - 0.5) ** 2 + (y - 0.5) ** 2 < 0.04), (1, True))
    elastic = [3 * a.diff(x, 2) + a.diff(y, 2) + 2 * b.diff(x, y) + 1, b.diff(x, 2) + 3 * b.diff(y, 2) + a**3]
    clamped = [pibls.Dirichlet(a, 0), pibls.Dirichlet(b, 0)]
    moving = [pibls.Initial(u_line_t, x * (1 - x)), pibls.Dirichlet(u_line_t, 0)]
    disc = pibls.Disk((x, y), (0, 0), 1).during(t, 0, 1)
    return {
        "interval": pibls.Problem(ROD, [u_line.diff(x, 2) - sp.exp(u_line)], [pibls.Dirichlet(u_line, 0)]),
        "corner of a system": pibls.Problem(corner, elastic, clamped),
        "materials": pibls.Problem(
            SQUARE, [pibls.div(jump * pibls.grad(u_plane)) + 1], [pibls.Dirichlet(u_plane, 0)]
        ),
        "collocation in space": pibls.Problem(
            ROD.during(t, 0, 1), [u_line_t.diff(t) - u_line_t.diff(x, 2) + u_line_t**3], moving
        ),
        "Galerkin in space": pibls.Problem(
            disc,
            [u_plane_t.diff(t) - _laplace(u_plane_t, x, y)],
            [pibls.Dirichlet(u_plane_t, 0), pibls.Initial(u_plane_t, 1 - x**2 - y**2)],
        ),
        "ODE": pibls.Problem(
            pibls.Interval(x, 0, 50), [u_line.diff(x, 2) + sp.sin(u_line)],
            [pibls.Initial(u_line, 1), pibls.Initial(u_line.diff(x), 0)],
        ),
        "singular for equal unknowns": pibls.Problem(
            pibls.Interval(x, 0, 50), [left.diff(x) - 1 / (left - right), right.diff(x) + 1 / (left - right)],
            [pibls.Initial(left, 2), pibls.Initial(right, 1)],
        ),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore::pibls.ConvergenceWarning")
@pytest.mark.parametrize("kind", list(_problems()))
def test_expired_limit_returns_small_unconverged_solution(kind: str) -> None:
    """Wherever the deadline is detected, an unconverged solution is returned."""
    solution = pibls.solve(_problems()[kind], time_limit=1e-9)
    assert not solution.converged
    assert solution.nodes <= 300  # plus the functions around an inclusion
    assert solution.status is pibls.Status.TIME_LIMIT


def test_galerkin_space_and_corner_exponents_check_the_deadline() -> None:
    """Building a Galerkin space and computing exponents of a corner stop at the next step."""

    class DeadlineError(Exception):
        pass

    def raise_deadline(_: str) -> None:
        raise DeadlineError

    problem = _problems()["Galerkin in space"]
    operator = GalerkinOperator.of(ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-6))
    assert operator is not None
    with pytest.raises(DeadlineError), deadline(raise_deadline):
        operator.space(8)
    corner = _problems()["corner of a system"]
    system_corner = system_corners(compile_problem(corner), corner.domain)[0]
    with pytest.raises(DeadlineError), deadline(raise_deadline):
        system_corner.pencil.exponents(4.0)


@pytest.mark.parametrize("kind", ["box", "materials", "collocation in space"])
def test_assembly_partition_and_collocation_check_the_deadline(kind: str) -> None:
    """Without these checks a linear system took twice its limit and five inclusions five times."""
    u_plane = sp.Function("u")(x, y)
    box = pibls.Problem(SQUARE, [_laplace(u_plane, x, y) + 1], [pibls.Dirichlet(u_plane, 0)])
    problem = box if kind == "box" else _problems()[kind]
    steps: list[str] = []
    record = steps.append

    with deadline(record):
        subdomain_decomposition(problem)
        context = ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-6)
        if kind == "collocation in space":
            strategy = TimeWindowStrategy(
                context, Budget(0.0, None, 500), discretization=CollocationInSpace()
            )
            strategy.tolerances = strategy.discretization.initial_tolerances(context)
            integrator = strategy.discretization.integrator(context, strategy.tolerances, lambda *_: None)
            assert integrator is not None
            integrator.run()
        else:
            compute_candidate(context, pibls.Waves(20, scale=2.0), None, None, 0)
    expected = {
        "box": {"single_domain", "linear"},
        "materials": {"materials", "partition"},
        "collocation in space": {"solver"},
    }
    partition_steps = [step for step in steps if step.endswith(".partition")]
    assert kind != "materials" or len(partition_steps) > 2, "the deadline is also checked before each face"
    assert expected[kind] <= {step.rpartition(".")[2] for step in steps}


def test_estimate_is_kept_if_a_wider_candidate_is_worse() -> None:
    """The best candidate is not the last: with residuals 1e-4, 1e-6, 2e-6 there was no estimate."""
    u_plane = sp.Function("u")(x, y)
    exact = sp.sin(3 * x) * sp.exp(y)
    problem = pibls.Problem(
        SQUARE, [_laplace(u_plane, x, y) - _laplace(exact, x, y)], [pibls.Dirichlet(u_plane, exact)]
    )
    context = ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-12)
    strategy = RandomFeatureStrategy(context, Budget(0.0, None, 4000))
    for nodes in (40, 120, 20):
        candidate = compute_candidate(context, pibls.Waves(nodes, scale=2.0), None, None, nodes)
        strategy.previous, strategy.current = strategy.current, candidate
        strategy.best = (
            candidate
            if strategy.best is None or candidate.relative_residual < strategy.best.relative_residual
            else strategy.best
        )
        strategy.report(candidate)
    assert strategy.best is not None
    assert strategy.best is not strategy.current
    strategy.finalize_from_history()
    assert strategy.error.checked
    X, Y = (c.ravel() for c in np.meshgrid(np.linspace(0, 1, 21), np.linspace(0, 1, 21)))
    u = unknowns_at(*strategy.best.function, np.column_stack([X, Y]), 1)[0]
    assert np.abs(u - np.sin(3 * X) * np.exp(Y)).max() <= strategy.error.max < 1e-2


def test_no_hint_is_computed_after_the_deadline(clock: Clock) -> None:
    """Comparing conditions in corners with SymPy takes a second for a cube in time."""
    problem = _problems()["collocation in space"]
    assert incompatible_conditions(problem)
    clock.now = 3.0
    with deadline(Budget(0.0, 2.0, 4000).check):
        assert incompatible_conditions(problem) == ()


def test_evolution_imports_few_scipy_modules() -> None:
    """Importing `scipy.special` for a few nodes took a third of a second of the first evolution."""
    script = (
        "import sys, sympy as sp, pibls; x, t = sp.symbols('x t'); u = sp.Function('u')(x, t);"
        "heat = pibls.Problem(pibls.Interval(x, 0, 1).during(t, 0, 1), [u.diff(t) - u.diff(x, 2) + u**2],"
        "[pibls.Dirichlet(u, 0), pibls.Initial(u, sp.sin(sp.pi * x))]);"
        "print(len(pibls.solve(heat, tol=1e-4).windows) > 0);"
        "print([m for m in ('special', 'optimize', 'spatial', 'ndimage') if f'scipy.{m}' in sys.modules])"
    )
    completed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert completed.stdout.split("\n")[:2] == ["True", "[]"]


def test_tensor_products_are_not_imported_for_a_disc() -> None:
    """Unused imports took half a second of the first solve and of its time limit."""
    script = (
        "import sys, warnings, sympy as sp, pibls; warnings.simplefilter('ignore');"
        "x, y = sp.symbols('x y'); u = sp.Function('u')(x, y);"
        "layer = -(u.diff(x, 2) + u.diff(y, 2)) / 2000 + u.diff(x) - 1;"
        "disc = pibls.Problem(pibls.Disk((x, y), (0, 0), 1), [layer], [pibls.Dirichlet(u, 0)]);"
        "pibls.solve(disc, tol=1e-3, max_nodes=60);"
        "both = ('pibls.adaptive.cells.strategy', 'pibls.adaptive.tensor_products.strategy');"
        "print(*(module in sys.modules for module in both))"
    )
    completed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert completed.stdout.split() == ["True", "False"]


def test_deadline_is_checked_before_each_analysis() -> None:
    """Each analysis is computed once; one that was not started is not cached."""

    def raise_deadline(_: str) -> None:
        raise OutOfTimeError

    calls: list[pibls.Problem] = []

    def number_of_conditions(problem: pibls.Problem) -> int:
        calls.append(problem)
        return len(problem.conditions)

    u = sp.Function("u")(x)
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [u.diff(x, 2) + 1], [pibls.Dirichlet(u, 0)])
    with deadline(raise_deadline), pytest.raises(OutOfTimeError):
        problem.memo(number_of_conditions)
    assert calls == []
    assert problem.memo(number_of_conditions) == 1
    with deadline(raise_deadline):
        assert problem.memo(number_of_conditions) == 1
    assert len(calls) == 1
