"""One budget for a solve: what still fits, what is told, and that a time limit is used and kept."""

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
from pibls.adaptive.evolutions.galerkin_operator import GalerkinOperator
from pibls.adaptive.evolutions.strategy import TimeWindowStrategy
from pibls.adaptive.evolutions.time_discretizations import CollocationInSpace
from pibls.adaptive.random_features.strategy import RandomFeatureStrategy
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import unknowns_at
from pibls.analysis.corners.compatibility import incompatible_conditions
from pibls.analysis.corners.system_corners import system_corners
from pibls.problem.forms.compilation import compile_problem
from pibls.problem.interfaces.decomposition import subdomain_decomposition
from pibls.runtime.deadline import deadline


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(budgets, "time", made)
    return made


def test_each_plan_has_its_own_pace(clock: Clock) -> None:
    budget = Budget(0.0, 10.0, 4000)
    slow, quick, new = object(), object(), object()
    budget.record(slow, work=0.1, seconds=2.0)
    budget.record(quick, work=0.1, seconds=0.2)
    assert budget.seconds_per_work(slow) == pytest.approx(20.0)
    assert budget.seconds_per_work(new) == budget.seconds_per_work(quick) == pytest.approx(2.0)
    assert budget.fits(quick, 4.0)
    assert not budget.fits(slow, 4.0)
    clock.now = 9.5
    assert not budget.fits(quick, 4.0)
    clock.now = 10.5
    budget.check()  # nothing was found yet: what is nearly there is better than nothing
    budget.report(Progress(64, 1.0, None, 1.0))
    with pytest.raises(OutOfTimeError):
        budget.check()


def test_what_may_fit_is_begun_where_nothing_else_does(clock: Clock) -> None:
    """Half of what is expected; waves, whose factors nothing ends in their middle, are not."""
    plane = sp.Function("u")(x, y)
    problem = pibls.Problem(SQUARE, [_laplace(plane, x, y) + 1], [pibls.Dirichlet(plane, 0)])
    context, budget = (
        ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-8),
        Budget(0.0, 10.0, 4000),
    )
    cells, waves = CellStrategy(context, budget), RandomFeatureStrategy(context, budget)
    for plan in (cells, waves):
        budget.record(plan, work=1.0, seconds=1.0)
    clock.now = 5.0
    assert not cells.fits_budget(8.0)
    assert cells.may_fit_budget(8.0)
    assert not cells.may_fit_budget(20.0)
    assert not waves.may_fit_budget(8.0)


def test_a_step_that_would_end_late_is_not_begun(clock: Clock) -> None:
    """As long as the two before it; one that was long says nothing of the next, nor do other steps."""
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


def test_a_callback_is_not_left_alone_for_long(clock: Clock) -> None:
    told: list[Progress] = []
    budget = Budget(0.0, None, 4000, told.append)
    budget.check()
    assert not told
    for second in range(1, 11):
        clock.now = float(second)
        budget.check()
    assert 3 <= len(told) <= 5
    assert told[-1].seconds >= 9.0
    assert not budget.history, "nothing has been found yet"


def test_there_is_an_answer_even_without_any_time() -> None:
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


def _kinds() -> dict[str, pibls.Problem]:
    one, flat = sp.Function("u")(x), sp.Function("u")(x, y)
    lines, plane = sp.Function("u")(x, t), sp.Function("u")(x, y, t)
    a, b = (sp.Function(name)(x, y) for name in "ab")
    left, right = (sp.Function(name)(x) for name in ("left", "right"))
    corner = pibls.Polygon((x, y), [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)])
    jump = sp.Piecewise((9, (x - 0.5) ** 2 + (y - 0.5) ** 2 < 0.04), (1, True))
    elastic = [3 * a.diff(x, 2) + a.diff(y, 2) + 2 * b.diff(x, y) + 1, b.diff(x, 2) + 3 * b.diff(y, 2) + a**3]
    at = [pibls.Dirichlet(a, 0), pibls.Dirichlet(b, 0)]
    moving = [pibls.Initial(lines, x * (1 - x)), pibls.Dirichlet(lines, 0)]
    disc = pibls.Disk((x, y), (0, 0), 1).during(t, 0, 1)
    return {
        "a line": pibls.Problem(ROD, [one.diff(x, 2) - sp.exp(one)], [pibls.Dirichlet(one, 0)]),
        "a corner of a system": pibls.Problem(corner, elastic, at),
        "materials": pibls.Problem(
            SQUARE, [pibls.div(jump * pibls.grad(flat)) + 1], [pibls.Dirichlet(flat, 0)]
        ),
        "moments": pibls.Problem(ROD.during(t, 0, 1), [lines.diff(t) - lines.diff(x, 2) + lines**3], moving),
        "a room": pibls.Problem(
            disc,
            [plane.diff(t) - _laplace(plane, x, y)],
            [pibls.Dirichlet(plane, 0), pibls.Initial(plane, 1 - x**2 - y**2)],
        ),
        "an orbit": pibls.Problem(
            pibls.Interval(x, 0, 50), [one.diff(x, 2) + sp.sin(one)],
            [pibls.Initial(one, 1), pibls.Initial(one.diff(x), 0)],
        ),
        "terms that are infinite at equal constants": pibls.Problem(
            pibls.Interval(x, 0, 50), [left.diff(x) - 1 / (left - right), right.diff(x) + 1 / (left - right)],
            [pibls.Initial(left, 2), pibls.Initial(right, 1)],
        ),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore::pibls.ConvergenceWarning")
@pytest.mark.parametrize("kind", list(_kinds()))
def test_a_limit_that_is_over_at_once_leaves_a_few_waves(kind: str) -> None:
    """Wherever it is noticed, there is an answer, and nothing is claimed of it."""
    solution = pibls.solve(_kinds()[kind], time_limit=1e-9)
    assert not solution.converged
    assert solution.nodes <= 300  # and what is known around an inclusion
    assert solution.status is pibls.Status.TIME_LIMIT


def test_what_takes_long_asks_whether_there_is_time() -> None:
    """A room of functions and the exponents of a corner stop at the next step."""

    class OverError(Exception):
        pass

    def over(_: str) -> None:
        raise OverError

    problem = _kinds()["a room"]
    places = GalerkinOperator.of(ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-6))
    assert places is not None
    with pytest.raises(OverError), deadline(over):
        places.space(8)
    corner = _kinds()["a corner of a system"]
    wedge = system_corners(compile_problem(corner), corner.domain)[0]
    with pytest.raises(OverError), deadline(over):
        wedge.pencil.exponents(4.0)


@pytest.mark.parametrize("kind", ["a box", "materials", "moments"])
def test_assembly_divisions_and_moments_ask_too(kind: str) -> None:
    """A linear system took twice its limit, and five inclusions five times, before anyone asked."""
    plane = sp.Function("u")(x, y)
    box = pibls.Problem(SQUARE, [_laplace(plane, x, y) + 1], [pibls.Dirichlet(plane, 0)])
    problem = box if kind == "a box" else _kinds()[kind]
    steps: list[str] = []
    heard = steps.append

    with deadline(heard):
        subdomain_decomposition(problem)
        context = ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-6)
        if kind == "moments":
            plan = TimeWindowStrategy(context, Budget(0.0, None, 500), discretization=CollocationInSpace())
            plan.tolerances = plan.discretization.initial_tolerances(context)
            follower = plan.discretization.stepper(context, plan.tolerances, 1, None, lambda *_: None)
            assert follower is not None
            follower.run()
        else:
            compute_candidate(context, pibls.Waves(20, scale=2.0), None, None, 0)
    wanted = {
        "a box": {"single_domain", "linear"},
        "materials": {"decomposition", "partition"},
        "moments": {"collocation_solver"},
    }
    division = [step for step in steps if step.endswith(".partition")]
    assert kind != "materials" or len(division) > 2, "before each of its faces, too"
    assert wanted[kind] <= {step.rpartition(".")[2] for step in steps}


def test_an_estimate_is_kept_where_a_wider_attempt_is_worse() -> None:
    """Waves of 1e-4, 1e-6 and then 2e-6 had none when the time was over: the best was not the last."""
    plane = sp.Function("u")(x, y)
    exact = sp.sin(3 * x) * sp.exp(y)
    problem = pibls.Problem(
        SQUARE, [_laplace(plane, x, y) - _laplace(exact, x, y)], [pibls.Dirichlet(plane, exact)]
    )
    context = ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-12)
    plan = RandomFeatureStrategy(context, Budget(0.0, None, 4000))
    for nodes in (40, 120, 20):
        found = compute_candidate(context, pibls.Waves(nodes, scale=2.0), None, None, nodes)
        plan.previous, plan.current = plan.current, found
        plan.best = (
            found if plan.best is None or found.relative_residual < plan.best.relative_residual else plan.best
        )
        plan.report(found)
    assert plan.best is not None
    assert plan.best is not plan.current
    plan.finalize_from_history()
    assert plan.error.checked
    X, Y = (c.ravel() for c in np.meshgrid(np.linspace(0, 1, 21), np.linspace(0, 1, 21)))
    u = unknowns_at(*plan.best.function, np.column_stack([X, Y]), 1)[0]
    assert np.abs(u - np.sin(3 * X) * np.exp(Y)).max() <= plan.error.max < 1e-2


def test_no_hint_is_looked_for_when_the_time_is_over(clock: Clock) -> None:
    """Which conditions disagree in corners is asked of SymPy: a second for a cube in time."""
    problem = _kinds()["moments"]
    assert incompatible_conditions(problem)
    clock.now = 3.0
    with deadline(Budget(0.0, 2.0, 4000).check):
        assert incompatible_conditions(problem) == ()


def test_an_evolution_needs_few_modules_of_scipy() -> None:
    """A third of a second of the first evolution went into `scipy.special` for a few nodes, …"""
    script = (
        "import sys, sympy as sp, pibls; x, t = sp.symbols('x t'); u = sp.Function('u')(x, t);"
        "heat = pibls.Problem(pibls.Interval(x, 0, 1).during(t, 0, 1), [u.diff(t) - u.diff(x, 2) + u**2],"
        "[pibls.Dirichlet(u, 0), pibls.Initial(u, sp.sin(sp.pi * x))]);"
        "print(len(pibls.solve(heat, tol=1e-4).windows) > 0);"
        "print([m for m in ('special', 'optimize', 'spatial', 'ndimage') if f'scipy.{m}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["True", "[]"]


def test_on_a_disc_nothing_of_boxes_is_imported() -> None:
    """Half a second of the first solve, and of its time limit, went into what a disc has no use for."""
    script = (
        "import sys, warnings, sympy as sp, pibls; warnings.simplefilter('ignore');"
        "x, y = sp.symbols('x y'); u = sp.Function('u')(x, y);"
        "layer = -(u.diff(x, 2) + u.diff(y, 2)) / 2000 + u.diff(x) - 1;"
        "disc = pibls.Problem(pibls.Disk((x, y), (0, 0), 1), [layer], [pibls.Dirichlet(u, 0)]);"
        "pibls.solve(disc, tol=1e-3, max_nodes=60);"
        "both = ('pibls.adaptive.cells.strategy', 'pibls.adaptive.tensor_products.strategy');"
        "print(*(module in sys.modules for module in both))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


def test_the_deadline_is_checked_before_each_analysis() -> None:
    """Each is worked out once, and nothing is kept of one that was not begun."""

    def over(_: str) -> None:
        raise OutOfTimeError

    u = sp.Function("u")(x)
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [u.diff(x, 2) + 1], [pibls.Dirichlet(u, 0)])
    with deadline(over), pytest.raises(OutOfTimeError):
        problem.cached("analysis", lambda: pytest.fail("begun"))
    assert problem.cached("analysis", lambda: 1) == 1
    with deadline(over):
        assert problem.cached("analysis", lambda: 2) == 1
