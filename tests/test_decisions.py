"""Where the search turns: on one side of each threshold it does this, on the other that."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive import candidate as attempts
from pibls.adaptive.budget import Budget
from pibls.adaptive.candidate import Candidate
from pibls.adaptive.cost_model import cell_cost, condensation_cost, dense_cost, tensor_product_cost
from pibls.adaptive.initial_guess import harmonic as starts
from pibls.adaptive.point_counts import default_points
from pibls.adaptive.random_features.family import RandomFeatureFamily
from pibls.adaptive.random_features.strategy import RandomFeatureStrategy
from pibls.adaptive.random_features.variable_coupling import coupled_coordinates
from pibls.adaptive.scheduler import StrategyScheduler
from pibls.adaptive.strategy import CostEstimate, Strategy
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


def after(
    relative: float, nodes: int, tol: float, last: tuple[float, int] | None = None
) -> RandomFeatureStrategy:
    """A plan after an attempt, and one before it."""
    one = make_strategy(tol, square_problem())
    one.current = replace(make_candidate(relative, nodes=nodes), work=1.0)
    one.previous = None if last is None else make_candidate(last[0], nodes=last[1])
    one._width_history = [*([] if last is None else [(last[1], last[0])]), (nodes, relative)]
    return one


@pytest.mark.parametrize(
    ("width", "digits", "tol", "times"),
    [
        (200, 4.0, 1e-8, 2.0),  # a doubling costs next to nothing
        (300, 6.0, 1e-8, 1.5),  # as many as the missing digits ask for, and one more
        (300, 8.5, 1e-8, 1.3),  # at least so many
        (1000, 2.8, 1e-4, 2.0),  # few digits say nothing
        (1000, 3.3, 1e-4, 1.5),
    ],
)
def test_the_next_width(width: int, digits: float, tol: float, times: float) -> None:
    wider = after(10.0**-digits, width, tol)._wider_width(width)
    assert 0.97 * times * width <= wider <= 1.03 * times * width


@pytest.mark.parametrize(("digits", "spectral"), [((0.6, 1.3), True), ((0.4, 0.9), False)])
def test_convergence_has_begun(digits: tuple[float, float], spectral: bool) -> None:
    one = after(10.0 ** -digits[1], 256, 1e-8, (10.0 ** -digits[0], 128))
    assert one._is_spectral is spectral


def test_twice_as_wide_is_some_times_the_work() -> None:
    assert 4.0 <= after(1e-3, 128, 1e-8)._work_ratio(2.0) <= 9.0


class Around:
    """Functions around holes that cost nothing."""

    hole_functions, vector_functions, is_essential, size = True, (), False, 0

    def at_refinement(self, _: int) -> Around:
        return self


@pytest.mark.parametrize(("tried", "hopeful"), [(2, True), (3, True), (5, False), (9, False)])
def test_around_holes_some_widths_are_tried_whatever_they_gain(tried: int, hopeful: bool) -> None:
    one = after(0.1, 256, 1e-8, (0.1, 128))
    one.enrichment, one._width_count = Around(), tried  # type: ignore[assignment]
    offer = one.estimate_cost()
    assert offer is not None
    assert math.isfinite(offer.remaining) is hopeful
    assert not hopeful or 2.0 <= offer.remaining / offer.work <= 5.0


def test_corners_of_nonlinear_systems_are_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RandomFeatureStrategy, "_is_algebraic", property(lambda _: True))
    offer = make_strategy(problem=square_problem()).estimate_cost()
    assert offer is not None
    assert 50.0 < offer.remaining < 1000.0


def test_shares_and_stretches_are_chosen_in_a_few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much each of them gains."""
    residual, shares, made = [0.9], [], []

    def attempted(self: RandomFeatureStrategy, family: Any, nodes: int, *_: Any, **__: Any) -> Candidate:
        residual[0] *= 0.5
        made.append(nodes)
        return make_candidate(residual[0], nodes=nodes)

    def shared(self: RandomFeatureStrategy, now: Candidate, nodes: int) -> Candidate:
        shares.append(nodes)
        return now

    monkeypatch.setattr(RandomFeatureStrategy, "_compute", attempted)
    one = make_strategy(problem=square_problem())
    one._select_anisotropy(make_candidate(0.9, nodes=128), 128)
    assert 4 <= len(made) <= 12
    monkeypatch.setattr(RandomFeatureStrategy, "_select_share", shared)
    monkeypatch.setattr(RandomFeatureStrategy, "_validate", lambda *_, **__: None)
    for _ in range(4):
        one.advance()
    assert len(shares) == 2


# -- the loop --


@dataclass
class Stub(Strategy):
    """A plan that does as it is told."""

    offers: list[CostEstimate] = field(default_factory=list)
    gains: bool = False
    ends: Status | None = None
    left: float = 1.0
    asked: list[str] = field(default_factory=list)
    name: str = ""

    def estimate_cost(self) -> CostEstimate | None:
        return self.offers[0] if self.offers else None

    def advance(self) -> None:
        self.asked.append(self.name)
        self.offers.pop(0)
        self.best = make_candidate(1e-3)
        self.residual_history.append(1e-3)
        if not self.offers:
            self.status = self.ends

    @property
    def is_improving(self) -> bool:
        return self.gains

    def relative_error(self, *_: Any) -> float:
        return self.left if self.status is not None else math.inf


def looped(*plans: Stub, **more: Any) -> StrategyScheduler:
    context = make_strategy().context
    for one in plans:
        one.context = context
    return StrategyScheduler(context, Budget(0.0, None, 4000), strategies=list(plans), **more)


def stub(**more: Any) -> Stub:
    return Stub(make_strategy().context, Budget(0.0, None, 4000), **more)


@pytest.mark.parametrize(("mark", "none"), [(0.05, True), (0.003, False)])
def test_no_progress_where_nothing_was_found(mark: float, none: bool) -> None:
    one = stub()
    one.residual_history.extend([mark] * 5)
    assert one.is_stagnating is none


@pytest.mark.parametrize(("value", "stuck"), [(1.06, True), (1.3, False)])
def test_ends_of_newton_that_are_one(value: float, stuck: bool) -> None:
    one = stub()
    one.residual_history.extend([0.5] * 4)
    stalled = Outcome(np.zeros(4), 0.0, 1, Status.STALLED)
    one.recent.extend(replace(make_candidate(0.5, v), outcome=stalled) for v in (value, 1.0))
    assert one.repeats_same_function is stuck


@pytest.mark.parametrize(
    ("remaining", "status", "over"),
    [
        (math.inf, Status.STALLED, True),
        (math.inf, Status.STEP_LIMIT, True),
        (9.0, Status.STALLED, False),
        (math.inf, Status.SOLVED, False),
    ],
)
def test_nothing_more_is_tried_where_newton_ends_nowhere_and_nobody_hopes(
    remaining: float, status: Status, over: bool
) -> None:
    """Δu + 10 eᵘ = 0 has no solution: cells went on for minutes, by what indicators said of no solution."""
    v = sp.Function("u")(x, y)
    square = pibls.Box({x: (0, 1), y: (0, 1)})
    equation = v.diff(x, 2) + v.diff(y, 2) + 10 * sp.exp(v)
    one = stub()
    one.context = make_strategy(problem=pibls.Problem(square, [equation], [pibls.Dirichlet(v, 0)])).context
    one.residual_history.extend([0.3] * 4)
    ended = Outcome(np.zeros(4), 0.0, 1, status)
    one.recent.extend(replace(make_candidate(0.3, value), outcome=ended) for value in (2.0, 1.0))
    assert (
        StrategyScheduler(one.context, one.budget)._is_exhausted([(one, CostEstimate(1.0, remaining))])
        is over
    )


@pytest.mark.parametrize(
    ("marks", "nothing"),
    [
        ([1.0, 0.02, 0.02, 0.02], True),
        ([1.0, 0.02, 0.02], False),
        ([1.0, 0.5, 0.25, 0.12], False),
        ([0.5, 0.5, 0.5], True),
        ([0.02, 0.008, 0.02, 0.02], False),
    ],
)
def test_a_first_end_that_is_far_off_makes_no_progress_of_the_others(
    marks: list[float], nothing: bool
) -> None:
    """u'' + 3.6 eᵘ = 0 went on in cells for 17 s."""
    one = stub()
    one.residual_history.extend(marks)
    stalled = Outcome(np.zeros(4), 0.0, 1, Status.STALLED)
    one.recent.extend(replace(make_candidate(m), outcome=stalled) for m in marks[-3:])
    assert one.newton_fails is nothing


@pytest.mark.parametrize(("times", "within"), [(10.0, True), (100.0, False)])
def test_one_more_attempt_where_little_is_missing(times: float, within: bool) -> None:
    one = stub(left=times * 1e-10)
    one.best, one.status = make_candidate(1e-8), Status.ROUNDING_LIMIT
    one.error = ErrorEstimate(1.0, 1.0)
    assert one.is_near_tolerance is within


@pytest.mark.parametrize(("left", "ends"), [(3e-10, True), (1e-7, False)])
def test_a_floor_is_that_of_rounding(left: float, ends: bool) -> None:
    asked: list[str] = []
    one = stub(
        offers=[CostEstimate(1.0, 1.0)], ends=Status.ROUNDING_LIMIT, left=left, asked=asked, name="first"
    )
    other = stub(offers=[CostEstimate(2.0, 2.0)], ends=Status.TOLERANCE, left=0.0, asked=asked, name="second")
    search = looped(one, other)
    search._run_strategies()
    assert asked == (["first"] if ends else ["first", "second"])


@pytest.mark.parametrize(("remaining", "later"), [(0.2, False), (0.9, True)])
def test_weak_corners_are_looked_at_where_nothing_is_nearly_there(remaining: float, later: bool) -> None:
    asked = []

    def weak() -> Any:
        asked.append(1)
        return ()

    one = stub(offers=[CostEstimate(1e-4, remaining)], ends=Status.TOLERANCE, left=0.0)
    looped(one, weak_enrichment=weak)._run_strategies()
    assert bool(asked) is later


@pytest.mark.parametrize(("work", "first"), [(0.01, "trifle"), (0.1, "best")])
def test_a_trifle_is_tried_at_once(work: float, first: str) -> None:
    asked: list[str] = []
    best = stub(offers=[CostEstimate(1.0, 1.0)], ends=Status.TOLERANCE, left=0.0, asked=asked, name="best")
    other = stub(offers=[CostEstimate(work, 9.0)], asked=asked, name="trifle", gains=True)
    looped(best, other)._run_strategies()
    assert asked[0] == first


@pytest.mark.parametrize(("seconds", "told"), [(1.2, False), (4.0, True)])
def test_what_takes_long_is_announced(seconds: float, told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Budget, "spent", property(lambda _: 0.1))
    one = stub(offers=[CostEstimate(seconds, seconds)], ends=Status.TOLERANCE, left=0.0)
    one.best = replace(make_candidate(1e-3), space=SimpleNamespace(nodes=64))
    search = looped(one)
    search._run_strategies()
    assert any(p.expected is not None for p in search.budget.history) is told


def test_there_is_always_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[RandomFeatureStrategy] = []
    monkeypatch.setattr(RandomFeatureStrategy, "advance", lambda self: made.append(self))
    monkeypatch.setattr(StrategyScheduler, "_create_strategies", lambda _: None)
    monkeypatch.setattr(StrategyScheduler, "_run_strategies", lambda _: None)
    looped().run()
    (last,) = made
    assert 16 <= last.budget.max_nodes <= 256
    assert 2 <= last.newton.max_steps <= 10


# -- points --


def cube(d: int, source: Any = sp.S.One, **more: Any) -> tuple[pibls.Problem, tuple[sp.Symbol, ...]]:
    axes = sp.symbols(f"x0:{d}")
    v = u(*axes)
    box = pibls.Box(dict.fromkeys(axes, (0, 1)))
    equation = sp.Eq(sum(v.diff(a, 2) for a in axes), source)
    return pibls.Problem(box, [equation], [pibls.Dirichlet(v, more.get("wall", 0))]), axes


def test_points_on_the_faces_of_many_dimensions() -> None:
    spec = Waves(900, scale=1.0)
    by_rule = {d: default_points(spec, cube(d)[0].domain, 1.75).boundary for d in (2, 3, 6)}
    assert 4 * 1.5 * 1800**0.5 * 0.9 < by_rule[2] < 4 * 1.5 * 1800**0.5 * 1.2
    assert 6 * 1.5 * 1800 ** (2 / 3) * 0.9 < by_rule[3] < 6 * 1.5 * 1800 ** (2 / 3) * 1.2
    assert 2 * 900 < by_rule[6] < 5 * 900


def test_points_on_the_faces_of_a_cube() -> None:
    """The rule of a square holds in space, for few functions too."""
    assert default_points(Waves(64, scale=1.0), cube(3)[0].domain, 1.75).boundary > 215


def test_singular_functions_ask_for_more_points_on_the_boundary() -> None:
    spec = Waves(100, scale=1.0)
    crowded = SimpleNamespace(size=100, parts=(SimpleNamespace(needs_dense_boundary=True),))
    square = square_problem().domain
    few, more = (default_points(s, square, 1.75).boundary for s in (spec, crowded))  # type: ignore[arg-type]
    assert 1.5 < more / few < 3.0


def test_functions_of_few_coordinates() -> None:
    family = RandomFeatureFamily.isotropic(4)
    made = family.spec(1000)
    assert isinstance(made, Waves)
    assert 0.5 < sum(n for _, n, _ in made.groups) / 1000 < 0.7
    few = family.spec(20)
    assert isinstance(few, Waves)
    assert not few.groups  # ten groups of none
    assert all(0.2 < other.low_dimensional_share < 0.4 for other in family.alternatives())
    apart = replace(family, subsets=((0, 1), (2,))).spec(1000)
    assert isinstance(apart, Waves)
    (_, two, _), (_, one, _) = apart.groups
    assert 2.0 < two / one < 3.0
    assert 20 <= apart.nodes <= 100


@pytest.mark.parametrize(("size", "couples"), [(1e-10, False), (1e-7, True)])
def test_coordinates_that_data_couple(size: float, couples: bool) -> None:
    axes = sp.symbols("x0:4")
    problem, _ = cube(4, sum(sp.exp(a) for a in axes) + size * axes[0] * axes[1])
    groups = coupled_coordinates(compile_problem(problem), problem.domain, box_of(problem.domain))
    assert ((0, 1) in groups) is couples


def test_a_pair_of_coordinates_that_matters_in_a_tenth_of_the_domain_is_seen() -> None:
    axes = sp.symbols("x0:4")
    narrow = sp.Piecewise((axes[0] * axes[1], axes[2] < sp.Rational(1, 8)), (0, True))
    problem, _ = cube(4, sum(sp.exp(a) for a in axes) + narrow)
    assert any(
        {0, 1} <= set(g)
        for g in coupled_coordinates(compile_problem(problem), problem.domain, box_of(problem.domain))
    )


def test_places_where_data_are_extreme() -> None:
    problem = square_problem(sp.exp(-2000 * ((x - 0.31) ** 2 + (y - 0.57) ** 2)))
    inside = next(r for r in compile_problem(problem).residuals if r.region.is_interior)
    far = PointSet.inside(np.full((1, 2), 0.9))
    (places,) = narrow_extremes(inside.region, far, [inside], problem.domain, {})
    assert 10 <= len(places) <= 60
    assert np.linalg.norm(places.sites[0] - (0.31, 0.57), axis=1).max() < 0.06
    # Where the points that judge see it, it is not looked for.
    near = PointSet.inside(np.array([[0.31, 0.57]]))
    assert not narrow_extremes(inside.region, near, [inside], problem.domain, {})


def test_some_points_are_moved_to_the_end_of_time() -> None:
    X = np.random.default_rng(0).random((300, 2))
    moved = _at_final_time(X, SimpleNamespace(axis=1, stop=7.0))  # type: ignore[arg-type]
    assert 60 <= len(moved) <= 200
    assert np.all(moved[:, 1] == 7.0)


# -- starts --


@pytest.mark.parametrize(
    ("columns", "cornered", "relative", "several"),
    [
        (200, False, 0.5, True),
        (400, False, 0.5, False),
        (60, True, 0.02, False),  # singular functions do the rest
        (60, True, 0.2, True),
    ],
)
def test_several_starts_where_each_is_cheap(
    columns: int,
    cornered: bool,
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
        shape=(2 * columns, columns), linearise=lambda _: (np.ones(1),), has_singular_functions=cornered
    )
    context: Any = SimpleNamespace(evolution=None)
    method: Any = Method()
    monkeypatch.setattr(starts, "_initial_guesses", lambda *_: [(np.zeros(1), None)] * 3)
    starts.solve_from_data(system, method, context, np.random.default_rng(0))
    assert (len(tried) > 1) is several


def test_a_start_meets_the_conditions_and_is_smooth() -> None:
    """u(0) = 1, u(1) = 3: a straight line, whatever the equation makes of it."""
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1),
        [sp.Eq(u(x).diff(x, 2), u(x) ** 2)],
        [pibls.Dirichlet(u(x), 1, on=sp.Eq(x, 0)), pibls.Dirichlet(u(x), 3, on=sp.Eq(x, 1))],
    )
    context = ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-8)
    spec = RandomFeatureFamily.isotropic(1).spec(64)
    space = attempts.draw_space(spec, context, 1)
    system: Any = attempts.assemble_system(context, space, default_points(spec, context.domain, 2.0), 1)
    w = starts.harmonic_lift(system, context)
    assert w is not None
    X = np.linspace(0.0, 1.0, 41)[:, None]
    off = unknowns_at(space, w, X, 1)[0] - (1.0 + 2.0 * X[:, 0])
    assert np.abs(off).max() < 1e-4
    assert np.abs(w).max() < 1e6


@pytest.mark.parametrize(
    ("term", "root"),
    [(sp.sqrt(u(x) - sp.Rational(1, 2)), 1.0), (sp.sqrt(-sp.Rational(1, 2) - u(x)), -1.0),
     (sp.sqrt(u(x) * (1 - u(x)) - sp.Rational(2, 25)), 0.1)],
)  # fmt: skip
def test_constants_to_start_from(term: Any, root: float) -> None:
    """Where the equation is not defined at zero, it is at one, at minus one or at a tenth."""
    context = SimpleNamespace(box=np.array([[0.0, 1.0]]))

    class System(SimpleNamespace):
        as_stored, has_singular_functions = None, False

        def values_of_constant(self, value: float) -> np.ndarray:
            return np.full(3, value)

        def linearise(self, v: np.ndarray) -> tuple[np.ndarray, ...]:
            with np.errstate(invalid="ignore"):
                return (sp.lambdify(u(x), term)(v + 0.0),)

    tried = [float(v[0]) for v, _ in _levels(System(shape=(3, 3)), context)]
    assert tried[-1] == pytest.approx(root, rel=0.5)


def _levels(system: Any, context: Any) -> list[Any]:
    out = []
    for v, w in starts._initial_guesses(system, context):
        out.append((v, w))
        if all(np.isfinite(part).all() for part in system.linearise(v)):
            break
    return out


# -- costs and the budget --


@pytest.mark.parametrize(
    ("work", "seconds"),
    [
        (lambda: dense_cost(32, 1), 0.0035),
        (lambda: dense_cost(512, 1), 0.045),
        (lambda: dense_cost(1458, 1), 0.95),
        (lambda: cell_cost(16, 16 * 64, 16 * 64, 1), 0.12),
        (lambda: cell_cost(274, 274 * 64, 274 * 64, 1), 2.7),
        (lambda: cell_cost(100, 100, 0, 1), 0.25),
        (lambda: tensor_product_cost((290, 290), 0), 0.2),
        (lambda: tensor_product_cost((62, 62, 62), 1), 0.08),
        (lambda: condensation_cost(64, 22**2), 0.53),
        (lambda: condensation_cost(256, 12**2), 0.41),
    ],
)
def test_what_was_measured_of_attempts(work: Callable[[], float], seconds: float) -> None:
    assert 0.6 * seconds < work() < 1.6 * seconds


def test_what_ends_shortly_after_the_limit_is_still_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Budget, "spent", property(lambda _: 50.0))
    budget = Budget(0.0, 100.0, 4000)
    assert budget.fits(object(), 55.0)
    assert not budget.fits(object(), 80.0)


@pytest.mark.parametrize(("seconds", "told"), [(0.5, False), (5.0, True)])
def test_a_callback_hears_from_time_to_time(
    seconds: float, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Any] = []
    monkeypatch.setattr(Budget, "spent", property(lambda _: seconds))
    Budget(0.0, None, 4000, callback=heard.append).check()
    assert bool(heard) is told
