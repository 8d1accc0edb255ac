"""Decisions of the adaptive strategies, on both sides of each threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive import candidate as candidates
from pibls.adaptive.budget import Budget
from pibls.adaptive.candidate import Candidate
from pibls.adaptive.initial_guess import guess_sequence as harmonic
from pibls.adaptive.point_counts import default_points
from pibls.adaptive.random_features.family import RandomFeatureFamily
from pibls.adaptive.random_features.strategy import RandomFeatureStrategy
from pibls.adaptive.random_features.variable_coupling import coupled_coordinates
from pibls.adaptive.scheduler import StrategyScheduler
from pibls.adaptive.strategies import Row, Setup
from pibls.adaptive.strategy import Strategy
from pibls.adaptive.validation.context import ValidationContext, _at_final_time
from pibls.adaptive.validation.data_scan import narrow_extremes
from pibls.adaptive.validation.estimate import ErrorEstimate, unknowns_at
from pibls.assembly.points import PointSet
from pibls.basis import Waves
from pibls.geometry import box_of
from pibls.nonlinear import Outcome
from pibls.problem.forms.compilation import compile_problem
from pibls.status import Status
from tests.strategy_helpers import make_candidate, make_strategy, square_problem

x, y, t = sp.symbols("x y t")
u = sp.Function("u")


# -- widths --


def strategy_after(
    relative: float, nodes: int, tol: float, last: tuple[float, int] | None = None
) -> RandomFeatureStrategy:
    """Return a strategy after a candidate, and optionally a previous one."""
    strategy = make_strategy(tol, square_problem())
    strategy.current = replace(make_candidate(relative, nodes=nodes), seconds=1.0)
    strategy.previous = None if last is None else make_candidate(last[0], nodes=last[1])
    strategy._width_history = [*([] if last is None else [(last[1], last[0])]), (nodes, relative)]
    return strategy


@pytest.mark.parametrize(
    ("width", "digits", "tol", "times"),
    [
        (200, 4.0, 1e-8, 2.0),  # doubling is cheap
        (300, 6.0, 1e-8, 1.5),  # as many as the missing accuracy requires, and one more
        (300, 8.5, 1e-8, 1.3),  # the minimum ratio
        (1000, 2.8, 1e-4, 2.0),  # too little accuracy to extrapolate
        (1000, 3.3, 1e-4, 1.5),
    ],
)
def test_next_number_of_features(width: int, digits: float, tol: float, times: float) -> None:
    wider = strategy_after(10.0**-digits, width, tol)._wider_width(width)
    assert 0.97 * times * width <= wider <= 1.03 * times * width


@pytest.mark.parametrize(("digits", "spectral"), [((0.6, 1.3), True), ((0.4, 0.9), False)])
def test_spectral_convergence_is_detected(digits: tuple[float, float], spectral: bool) -> None:
    strategy = strategy_after(10.0 ** -digits[1], 256, 1e-8, (10.0 ** -digits[0], 128))
    assert strategy._is_spectral is spectral


def test_expected_duration_of_twice_the_width() -> None:
    strategy = strategy_after(1e-3, 128, 1e-8)
    assert strategy.current is not None
    strategy.current = replace(strategy.current, seconds=1.0)
    assert 4.0 <= strategy.expected_seconds <= 9.0


class FreeHoleFunctions:
    """An enrichment around holes of zero cost."""

    hole_functions, vector_functions, is_essential, size = True, (), False, 0

    def at_refinement(self, _: int) -> FreeHoleFunctions:
        return self


@pytest.mark.parametrize(("tried", "continues"), [(2, True), (3, True), (5, False), (9, False)])
def test_several_widths_are_tried_around_holes(tried: int, continues: bool) -> None:
    strategy = strategy_after(0.1, 256, 1e-8, (0.1, 128))
    strategy.enrichment, strategy._width_count = FreeHoleFunctions(), tried  # type: ignore[assignment]
    assert strategy.is_worthwhile(None) is continues


@pytest.mark.parametrize(("columns", "continues"), [(200, False), (300, True), (None, True)])
def test_random_features_are_limited_to_the_columns_that_the_next_row_costs(
    columns: int | None, continues: bool
) -> None:
    strategy = strategy_after(1e-5, 128, 1e-8, (1e-2, 64))
    assert strategy.is_worthwhile(columns) is continues


def test_number_of_rounds_for_share_and_anisotropy_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of rounds does not depend on the gain."""
    residual, shares, created = [0.9], [], []

    def compute(self: RandomFeatureStrategy, family: Any, nodes: int, *_: Any, **__: Any) -> Candidate:
        residual[0] *= 0.5
        created.append(nodes)
        return make_candidate(residual[0], nodes=nodes)

    def select_share(self: RandomFeatureStrategy, now: Candidate, nodes: int) -> Candidate:
        shares.append(nodes)
        return now

    monkeypatch.setattr(RandomFeatureStrategy, "_compute", compute)
    strategy = make_strategy(problem=square_problem())
    strategy._select_anisotropy(make_candidate(0.9, nodes=128), 128)
    assert 4 <= len(created) <= 12
    monkeypatch.setattr(RandomFeatureStrategy, "_select_share", select_share)
    monkeypatch.setattr(RandomFeatureStrategy, "_validate", lambda *_, **__: None)
    for _ in range(4):
        strategy.advance()
    assert len(shares) == 2


# -- scheduler --


@dataclass
class Stub(Strategy):
    """A strategy with a prescribed number of candidates, status and error."""

    candidates: int = 1
    seconds: float = 0.0
    gains: bool = True
    final_status: Status | None = None
    error_left: float = 1.0
    calls: list[str] = field(default_factory=list)
    name: str = ""

    @property
    def has_ended(self) -> bool:
        return self.status is not None or self.candidates == 0

    @property
    def expected_seconds(self) -> float:
        return self.seconds

    def is_worthwhile(self, dense_columns: int | None) -> bool:
        return self.gains and (dense_columns is None or dense_columns > 512)

    def advance(self) -> None:
        self.calls.append(self.name)
        self.candidates -= 1
        self.best = make_candidate(1e-3)
        self.residual_history.append(1e-3)
        if self.candidates == 0:
            self.status = self.final_status

    def relative_error(self, *_: Any) -> float:
        return self.error_left if self.status is not None else math.inf


def row_of(strategy: Stub, cost: float | None) -> Row:
    return Row(strategy.name, lambda _: True, lambda _: strategy, cost=cost)


def scheduler_of(
    *strategies: Stub, cost: float | None = None, time_limit: float | None = None
) -> StrategyScheduler:
    """Return a scheduler whose table has these strategies; each with this cost."""
    setup = Setup(make_strategy().context, Budget(0.0, time_limit, 4000))
    for strategy in strategies:
        strategy.context = setup.context
        strategy.budget = setup.budget
    return StrategyScheduler(setup, tuple(row_of(strategy, cost) for strategy in strategies))


def stub_strategy(**options: Any) -> Stub:
    return Stub(make_strategy().context, Budget(0.0, None, 4000), **options)


@pytest.mark.parametrize(("residual", "stagnates"), [(0.05, True), (0.003, False)])
def test_stagnation_is_detected_for_large_residuals(residual: float, stagnates: bool) -> None:
    strategy = stub_strategy()
    strategy.residual_history.extend([residual] * 5)
    assert strategy.is_stagnating is stagnates


@pytest.mark.parametrize(
    ("residuals", "fails"),
    [
        ([1.0, 0.02, 0.02, 0.02], True),
        ([1.0, 0.02, 0.02], False),
        ([1.0, 0.5, 0.25, 0.12], False),
        ([0.5, 0.5, 0.5], True),
        ([0.02, 0.008, 0.02, 0.02], False),
    ],
)
def test_newton_failure_is_detected_after_a_large_first_residual(residuals: list[float], fails: bool) -> None:
    """Without this rule u'' + 3.6 eᵘ = 0 was refined in cells for 17 s."""
    strategy = stub_strategy()
    strategy.residual_history.extend(residuals)
    stalled = Outcome(np.zeros(4), 0.0, 1, Status.STALLED)
    strategy.recent.extend(replace(make_candidate(r), outcome=stalled) for r in residuals[-3:])
    assert strategy.newton_fails is fails


@pytest.mark.parametrize(("times", "within"), [(10.0, True), (100.0, False)])
def test_near_tolerance_is_detected(times: float, within: bool) -> None:
    strategy = stub_strategy(error_left=times * 1e-10)
    strategy.best, strategy.status = make_candidate(1e-8), Status.ROUNDING_LIMIT
    strategy.error = ErrorEstimate(1.0, 1.0)
    assert strategy.is_near_tolerance is within


@pytest.mark.parametrize(("error_left", "ends"), [(3e-10, True), (1e-7, False)])
def test_rounding_limit_ends_the_scheduler_near_tolerance(error_left: float, ends: bool) -> None:
    calls: list[str] = []
    strategy = stub_strategy(
        final_status=Status.ROUNDING_LIMIT, error_left=error_left, calls=calls, name="first"
    )
    other = stub_strategy(final_status=Status.TOLERANCE, error_left=0.0, calls=calls, name="second")
    scheduler_of(strategy, other).run()
    assert calls == (["first"] if ends else ["first", "second"])


@pytest.mark.parametrize(("cost", "order"), [(None, "first first second"), (1.0, "first second first")])
def test_cheap_row_takes_over_and_the_first_is_continued_later(cost: float | None, order: str) -> None:
    calls: list[str] = []
    first = stub_strategy(candidates=2, calls=calls, name="first")
    second = stub_strategy(calls=calls, name="second")
    scheduler = scheduler_of(first, second, cost=cost)
    scheduler.run()
    assert calls == order.split()
    assert scheduler.accepted is None


def test_strategy_that_gains_nothing_is_not_continued() -> None:
    calls: list[str] = []
    first = stub_strategy(candidates=3, gains=False, calls=calls, name="first")
    second = stub_strategy(final_status=Status.TOLERANCE, error_left=0.0, calls=calls, name="second")
    scheduler = scheduler_of(first, second)
    scheduler.run()
    assert calls == ["first", "second"]
    assert scheduler.status is Status.TOLERANCE


def test_rows_that_do_not_apply_are_skipped() -> None:
    calls: list[str] = []
    strategy = stub_strategy(final_status=Status.TOLERANCE, error_left=0.0, calls=calls, name="second")
    scheduler = scheduler_of(strategy)
    unused = Row("excluded", lambda _: False, lambda _: pytest.fail("it was built"))
    scheduler.table = (unused, Row("absent", lambda _: True, lambda _: None), *scheduler.table)
    scheduler.run()
    assert calls == ["second"]


def test_candidate_beyond_the_time_limit_is_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Budget, "spent", property(lambda _: 1.0))
    calls: list[str] = []
    strategy = stub_strategy(candidates=2, seconds=100.0, calls=calls, name="first")
    scheduler = scheduler_of(strategy, time_limit=10.0)
    scheduler.run()
    assert calls == ["first"]  # the first candidate is computed in any case
    assert scheduler.status is Status.TIME_LIMIT


@pytest.mark.parametrize(("seconds", "reported"), [(1.2, False), (4.0, True)])
def test_long_step_is_announced(seconds: float, reported: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Budget, "spent", property(lambda _: 0.1))
    strategy = stub_strategy(seconds=seconds, final_status=Status.TOLERANCE, error_left=0.0)
    strategy.best = replace(make_candidate(1e-3), space=SimpleNamespace(nodes=64))
    scheduler = scheduler_of(strategy)
    scheduler.run()
    assert any(p.expected is not None for p in scheduler.setup.budget.history) is reported


def test_small_fallback_solution_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    created: list[RandomFeatureStrategy] = []
    monkeypatch.setattr(RandomFeatureStrategy, "advance", lambda self: created.append(self))
    scheduler_of().run()
    (last,) = created
    assert 16 <= last.budget.max_nodes <= 256
    assert 2 <= last.newton.max_steps <= 10


# -- points --


def cube(d: int, source: Any = sp.S.One, **options: Any) -> tuple[pibls.Problem, tuple[sp.Symbol, ...]]:
    axes = sp.symbols(f"x0:{d}")
    v = u(*axes)
    box = pibls.Box(dict.fromkeys(axes, (0, 1)))
    equation = sp.Eq(sum(v.diff(a, 2) for a in axes), source)
    return pibls.Problem(box, [equation], [pibls.Dirichlet(v, options.get("boundary_value", 0))]), axes


def test_points_on_the_faces_of_many_dimensions() -> None:
    spec = Waves(900, scale=1.0)
    by_rule = {d: default_points(spec, cube(d)[0].domain, 1.75).boundary for d in (2, 3, 6)}
    assert 4 * 1.5 * 1800**0.5 * 0.9 < by_rule[2] < 4 * 1.5 * 1800**0.5 * 1.2
    assert 6 * 1.5 * 1800 ** (2 / 3) * 0.9 < by_rule[3] < 6 * 1.5 * 1800 ** (2 / 3) * 1.2
    assert 2 * 900 < by_rule[6] < 5 * 900


def test_points_on_the_faces_of_a_cube() -> None:
    """The rule for a square also holds in three dimensions, for few functions."""
    assert default_points(Waves(64, scale=1.0), cube(3)[0].domain, 1.75).boundary > 215


def test_singular_functions_need_more_boundary_points() -> None:
    spec = Waves(100, scale=1.0)
    crowded = SimpleNamespace(size=100, parts=(SimpleNamespace(needs_dense_boundary=True),))
    square = square_problem().domain
    regular, singular = (default_points(s, square, 1.75).boundary for s in (spec, crowded))  # type: ignore[arg-type]
    assert 1.5 < singular / regular < 3.0


def test_low_dimensional_groups_of_features() -> None:
    family = RandomFeatureFamily.isotropic(4)
    spec = family.spec(1000)
    assert isinstance(spec, Waves)
    assert 0.5 < sum(n for _, n, _ in spec.groups) / 1000 < 0.7
    few = family.spec(20)
    assert isinstance(few, Waves)
    assert not few.groups  # too few functions for ten groups
    assert all(0.2 < other.low_dimensional_share < 0.4 for other in family.alternatives())
    grouped = replace(family, subsets=((0, 1), (2,))).spec(1000)
    assert isinstance(grouped, Waves)
    (_, pair, _), (_, single, _) = grouped.groups
    assert 2.0 < pair / single < 3.0
    assert 20 <= grouped.nodes <= 100


@pytest.mark.parametrize(("size", "couples"), [(1e-10, False), (1e-7, True)])
def test_coordinates_coupled_by_data_are_detected(size: float, couples: bool) -> None:
    axes = sp.symbols("x0:4")
    problem, _ = cube(4, sum(sp.exp(a) for a in axes) + size * axes[0] * axes[1])
    groups = coupled_coordinates(compile_problem(problem), problem.domain, box_of(problem.domain))
    assert ((0, 1) in groups) is couples


def test_coupling_in_part_of_the_domain_is_detected() -> None:
    axes = sp.symbols("x0:4")
    narrow = sp.Piecewise((axes[0] * axes[1], axes[2] < sp.Rational(1, 8)), (0, True))
    problem, _ = cube(4, sum(sp.exp(a) for a in axes) + narrow)
    assert any(
        {0, 1} <= set(g)
        for g in coupled_coordinates(compile_problem(problem), problem.domain, box_of(problem.domain))
    )


def test_narrow_extremes_of_data_are_located() -> None:
    problem = square_problem(sp.exp(-2000 * ((x - 0.31) ** 2 + (y - 0.57) ** 2)))
    inside = next(r for r in compile_problem(problem).residuals if r.region.is_interior)
    far = PointSet.inside(np.full((1, 2), 0.9))
    (extremes,) = narrow_extremes(inside.region, far, [inside], problem.domain, {})
    assert 10 <= len(extremes) <= 60
    assert np.linalg.norm(extremes.sites[0] - (0.31, 0.57), axis=1).max() < 0.06
    # No search if a validation point is at the extreme.
    near = PointSet.inside(np.array([[0.31, 0.57]]))
    assert not narrow_extremes(inside.region, near, [inside], problem.domain, {})


def test_some_points_are_moved_to_the_final_time() -> None:
    X = np.random.default_rng(0).random((300, 2))
    moved = _at_final_time(X, SimpleNamespace(axis=1, stop=7.0))  # type: ignore[arg-type]
    assert 60 <= len(moved) <= 200
    assert np.all(moved[:, 1] == 7.0)


# -- initial guesses --


@pytest.mark.parametrize(
    ("columns", "is_singular", "relative", "several"),
    [
        (200, False, 0.5, True),
        (400, False, 0.5, False),
        (60, True, 0.02, False),  # singular functions reduce the rest
        (60, True, 0.2, True),
    ],
)
def test_several_initial_guesses_if_each_is_cheap(
    columns: int,
    is_singular: bool,
    relative: float,
    several: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[int] = []

    class Method:
        continuation = 0

        def descend(self, *_: Any, **__: Any) -> Outcome:
            tried.append(1)
            return Outcome(np.zeros(columns), 1.0, 1, Status.STALLED, relative=relative)

    system: Any = SimpleNamespace(
        shape=(2 * columns, columns),
        linearize=lambda _: (np.ones(1),),
        has_singular_functions=is_singular,
    )
    context: Any = SimpleNamespace(evolution=None)
    method: Any = Method()
    monkeypatch.setattr(harmonic, "_initial_guesses", lambda *_: [(np.zeros(1), None)] * 3)
    harmonic.solve_from_data(system, method, context, np.random.default_rng(0))
    assert (len(tried) > 1) is several


def test_initial_guess_satisfies_conditions_and_is_smooth() -> None:
    """u(0) = 1, u(1) = 3: the harmonic lift is a straight line."""
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1),
        [sp.Eq(u(x).diff(x, 2), u(x) ** 2)],
        [pibls.Dirichlet(u(x), 1, on=sp.Eq(x, 0)), pibls.Dirichlet(u(x), 3, on=sp.Eq(x, 1))],
    )
    context = ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-8)
    spec = RandomFeatureFamily.isotropic(1).spec(64)
    space = candidates.draw_space(spec, context, 1)
    system: Any = candidates.assemble_system(context, space, default_points(spec, context.domain, 2.0), 1)
    w = harmonic.harmonic_lift(system, context)
    assert w is not None
    X = np.linspace(0.0, 1.0, 41)[:, None]
    deviation = unknowns_at(space, w, X, 1)[0] - (1.0 + 2.0 * X[:, 0])
    assert np.abs(deviation).max() < 1e-4
    assert np.abs(w).max() < 1e6


@pytest.mark.parametrize(
    ("term", "root"),
    [(sp.sqrt(u(x) - sp.Rational(1, 2)), 1.0), (sp.sqrt(-sp.Rational(1, 2) - u(x)), -1.0),
     (sp.sqrt(u(x) * (1 - u(x)) - sp.Rational(2, 25)), 0.1)],
)  # fmt: skip
def test_constant_initial_guesses(term: Any, root: float) -> None:
    """If the equation is undefined at 0, the guesses 1, -1 and 0.1 follow."""
    context = SimpleNamespace(box=np.array([[0.0, 1.0]]))

    class System(SimpleNamespace):
        as_stored, has_singular_functions = None, False

        def values_of_constant(self, value: float) -> np.ndarray:
            return np.full(3, value)

        def linearize(self, v: np.ndarray) -> tuple[np.ndarray, ...]:
            with np.errstate(invalid="ignore"):
                return (sp.lambdify(u(x), term)(v + 0.0),)

    tried = [float(v[0]) for v, _ in _guesses_until_finite(System(shape=(3, 3)), context)]
    assert tried[-1] == pytest.approx(root, rel=0.5)


def _guesses_until_finite(system: Any, context: Any) -> list[Any]:
    out = []
    for v, w in harmonic._initial_guesses(system, context):
        out.append((v, w))
        if all(np.isfinite(part).all() for part in system.linearize(v)):
            break
    return out


# -- costs and the budget --


def test_step_slightly_beyond_the_limit_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Budget, "spent", property(lambda _: 50.0))
    budget = Budget(0.0, 100.0, 4000)
    assert budget.fits(55.0)
    assert not budget.fits(80.0)


@pytest.mark.parametrize(("seconds", "reported"), [(0.5, False), (5.0, True)])
def test_callback_is_called_after_some_seconds(
    seconds: float, reported: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[Any] = []
    monkeypatch.setattr(Budget, "spent", property(lambda _: seconds))
    Budget(0.0, None, 4000, callback=reports.append).check()
    assert bool(reports) is reported
