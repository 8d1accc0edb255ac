"""How axes and cells are divided: on one side of each threshold in this way, on the other in that."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.ndimage import label

import pibls
from pibls.adaptive.budget import Budget
from pibls.adaptive.cells import strategy as cellular
from pibls.adaptive.cells.face_residuals import FaceResiduals
from pibls.adaptive.cells.hp_selection import CELL_NODES, SizedTree, initial_level, resolved_wavelengths
from pibls.adaptive.cells.strategy import CellStrategy
from pibls.adaptive.decay_rates import (
    BoundaryLayerRates,
    LayerPlane,
    _samples,
    boundary_layer_rates,
    layer_planes,
    refine_at_layers,
    wavelengths_across,
)
from pibls.adaptive.tensor_products import strategy as product_plans
from pibls.adaptive.tensor_products.axes import (
    _decays_algebraically,
    _refine_axis,
    initial_partitions,
    spectral_tail,
)
from pibls.adaptive.tensor_products.strategy import TensorProductStrategy, _comparison_coordinates
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import ErrorEstimate
from pibls.arrays import Array
from pibls.assembly.tensor_products.box_problem import BoxProblem
from pibls.geometry.subdomains.partition import _label_components
from pibls.nonlinear import GaussNewton, Outcome
from pibls.problem.forms.compilation import compile_problem
from pibls.spaces import CellTree, graded_node
from pibls.status import Status
from tests.strategy_helpers import make_candidate, make_strategy, square_problem

x, y = sp.symbols("x y")
u, v = sp.Function("u")(x), sp.Function("v")(x, y)


# -- axes --


def falling(rate: float, n: int = 16, flat: int = 8) -> Array:
    """Coefficients of one piece that fall by ``rate`` digits a degree, from a degree on."""
    return 10.0 ** (-rate * np.maximum(np.arange(n) - flat, 0.0))[None, :]


def finer(S: Array, missing: float, edges: tuple[float, ...] = (0.0, 1.0)) -> tuple[tuple[float, ...], int]:
    limit = float(spectral_tail(S).max()) * 10.0**-missing
    return _refine_axis(edges, S.shape[1], S, limit)


def test_the_tail_of_a_spectrum() -> None:
    S = np.full((1, 24), 1e-9)
    S[0, -8] = 1.0
    assert spectral_tail(S)[0] == 1e-9
    S[0, -2] = 1.0
    assert spectral_tail(S)[0] == 1.0


@pytest.mark.parametrize(
    ("rate", "missing", "pieces", "functions"),
    [
        (0.3, 2.8, 1, 26),  # ten degrees more, for three digits
        (0.3, 2.95, 1, 27),  # some more than is missing
        (0.3, 4.2, 2, 16),  # more than a piece may have
        (0.001, 0.5, 2, 16),  # what does not fall yet is divided
    ],
)
def test_more_functions_or_more_pieces(rate: float, missing: float, pieces: int, functions: int) -> None:
    edges, n = finer(falling(rate), missing)
    assert len(edges) - 1 == pieces
    assert n == functions


def test_a_power_is_graded_for() -> None:
    S = np.asarray((np.arange(16) + 1.0)[None, :] ** -4.0, dtype=float)
    edges, _ = finer(S, 2.9)
    assert len(edges) == 2 + 2  # once towards each end
    assert 0.05 < edges[1] < 0.4


def test_the_shortest_piece() -> None:
    S = np.concatenate([falling(0.001), falling(1.0)])
    for length, divided in ((1e-11, True), (1e-13, False)):
        edges, n = _refine_axis((0.0, length, 1.0), 16, S, 1e-5)
        assert (len(edges) > 3 or n > 16) is divided


def test_a_power_is_told_from_an_exponential() -> None:
    """By how well the logarithm of the degree explains the digits, and the degree."""
    degrees = np.arange(2.0, 18.0)
    power, exponential = -4.0 * np.log10(degrees), -0.25 * degrees
    mixed = {share: (1.0 - share) * power + share * exponential for share in (0.1, 0.3, 0.8, 0.95)}
    told = {share: _told(logs) for share, logs in mixed.items()}
    assert told == {0.1: True, 0.3: True, 0.8: False, 0.95: False}
    # The first two coefficients, mean and slope, say nothing.
    assert _told(power, first=5.0)
    assert not _told(exponential, first=5.0)


def _told(logs: Array, first: float = 0.0) -> bool:
    both = np.full(2, float(logs[0]) + first)
    return bool(_decays_algebraically(np.concatenate([both, logs])[None, :])[0])


@cache
def square(equation: str, tol: float = 1e-8) -> ValidationContext:
    stated = {
        "waves": v.diff(x, 2) + v.diff(y, 2) + (2 * sp.pi * 8) ** 2 * v - 1,
        "few waves": v.diff(x, 2) + v.diff(y, 2) + (2 * sp.pi * 2) ** 2 * v - 1,
        "layers": v.diff(x, 2) + v.diff(y, 2) - 100**2 * v - 1,
        "no layers": v.diff(x, 2) + v.diff(y, 2) - 30**2 * v - 1,
        "bent": v.diff(x, 2) + v.diff(y, 2) - v**2 - 1,
    }
    problem = pibls.Problem(pibls.Box({x: (0, 1), y: (0, 1)}), [stated[equation]], [pibls.Dirichlet(v, 0)])
    return ValidationContext.of(compile_problem(problem), problem.domain, 0, tol)


def boxed(context: ValidationContext) -> BoxProblem:
    made = BoxProblem.of(context.compiled, context.domain, context.box)
    assert made is not None
    return made


def test_waves_have_longer_pieces() -> None:
    context = square("waves")
    axes = initial_partitions(context, boxed(context))
    assert all(18 <= n <= 28 for n in axes.sizes)


# -- rates --


def test_layers_and_waves_that_decide() -> None:
    assert len(layer_planes(square("layers"))) == 4
    assert not layer_planes(square("no layers"))
    assert wavelengths_across(square("waves")) == pytest.approx(8.0)
    assert not wavelengths_across(square("few waves")).any()
    assert 16 <= len(_samples(square("waves"))) <= 64


def test_cells_are_halved_until_they_resolve_a_layer() -> None:
    tree = CellTree.single_cell(np.array([[0.0, 1.0], [0.0, 1.0]]))
    fine = refine_at_layers(tree, (LayerPlane(0, 0.0, 1000.0),), 10)
    assert 8 <= len(fine) <= 14
    for rate, least, most in ((1e9, 2e-9, 7e-9), (100.0, 0.02, 0.07)):
        walls = BoundaryLayerRates(np.array([[0.3, 0.0]]), np.array([rate]))
        lengths = [np.ptp(box[0]) for box in walls.refine(tree, 10, 10_000).boxes]
        assert least < min(lengths) < most


def test_walls_are_looked_at_everywhere() -> None:
    problem = pibls.Problem(
        pibls.Disk((x, y), (0, 0), 1),
        [v.diff(x, 2) + v.diff(y, 2) - 200**2 * v - 1],
        [pibls.Dirichlet(v, 0)],
    )
    walls = boundary_layer_rates(ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-8))
    angles = np.sort(np.arctan2(walls.points[:, 1], walls.points[:, 0]))
    assert np.diff(angles).max() < 0.02
    assert len(angles) < 30_000


# -- sizes and seams --


def test_first_sizes_and_waves_in_a_cell() -> None:
    assert initial_level(1e-6) < initial_level(1e-8) < len(CELL_NODES[1])
    assert 0.4 < resolved_wavelengths(128, 2, 1e-8) < 0.6


def test_more_functions_where_the_spectrum_falls_fast() -> None:
    sized = SizedTree.uniform(CellTree.grid(np.array([[0.0, 1.0], [0.0, 1.0]]), (2, 2)), 1)
    tails = np.array([1e-4, 1e-4])
    wants = [sized.prefers_more_functions(0, tails, [0, 1], fall, 50.0) for fall in (0.1, 0.3, 3.0)]
    assert wants == [False, False, True]
    assert sized.prefers_more_functions(0, tails, [0, 1], 1.0, 50.0)


def seams(worst: list[float], places: Any = None) -> FaceResiduals:
    n = len(worst)
    X = np.zeros((n, 2)) if places is None else np.array(places)
    return FaceResiduals(
        np.array(worst), X, np.array([[i, i + 1] for i in range(n - 1)], dtype=int).reshape(-1, 2)
    )


def test_who_has_caused_what_stands_on_the_sides() -> None:
    tiny = np.full(2, 1e-9)
    assert seams([1e-3, 8e-4]).originating(tiny).tolist() == [1e-3, 8e-4]
    assert seams([1e-3, 5e-4]).originating(tiny).tolist() == [1e-3, 0.0]
    assert seams([1e-3, 1e-3]).originating(np.array([1e-9, 1e-4]))[0] == 1e-3
    assert seams([1e-3, 1e-3]).originating(np.array([1e-9, 6e-4]))[0] == 0.0


def test_singular_cells() -> None:
    assert seams([1e-3]).singular(np.array([5e-5])).tolist() == [True]
    assert seams([1e-3]).singular(np.array([3e-4])).tolist() == [False]
    assert seams([0.03]).singular(np.array([1e-4])).tolist() == [True]
    assert seams([0.5]).singular(np.array([1e-4])).tolist() == [False]  # one cannot tell
    box = np.array([[[0.0, 1.0], [0.0, 1.0]]])
    assert seams([1.0], [[0.01, 0.99]]).snap_to_corners(box)[1].tolist() == [True]
    assert seams([1.0], [[0.1, 0.9]]).snap_to_corners(box)[1].tolist() == [False]


# -- cells --


def cells(tol: float = 1e-8, *, n: int = 4, rounds: int = 3) -> CellStrategy:
    one = CellStrategy(make_strategy(tol, square_problem()).context, Budget(0.0, None, 4000))
    one.sized_tree = SizedTree.uniform(CellTree.grid(one.context.box, (n, n)), 1)
    count = n * n
    one._worst_points = np.array([box.mean(axis=1) for box in one.tree.boxes])
    one._singular = one._at_corner = np.zeros(count, dtype=np.bool_)
    one._last_result, one._refinements = (1.0, 1.0, 1e-3), rounds
    return one


@pytest.mark.parametrize(("rounds", "goes_on"), [(30, True), (60, False)])
def test_after_many_rounds_nothing_is_expected(rounds: int, goes_on: bool) -> None:
    one = cells(rounds=rounds)
    assert (one.estimate_cost() is not None) is goes_on
    context = square("layers")
    product = TensorProductStrategy(context, Budget(0.0, None, 4000))
    product._refinements = int(0.75 * rounds)
    assert (product.estimate_cost() is not None) is goes_on


def test_what_cells_and_products_may_have_and_take() -> None:
    assert 50_000 <= cells()._max_functions <= 200_000
    first = CellStrategy(
        make_strategy(1e-8, square_problem()).context, Budget(0.0, None, 4000)
    ).estimate_cost()
    assert first is not None
    assert 0.003 < first.work < 0.02
    assert (
        2_000_000
        <= TensorProductStrategy(square("layers"), Budget(0.0, None, 4000))._max_functions
        <= 8_000_000
    )


def test_an_evolution_in_space_and_time_comes_last() -> None:
    t = sp.Symbol("t")
    w = sp.Function("w")(x, t)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 1),
        [w.diff(t) - w.diff(x, 2)],
        [pibls.Dirichlet(w, 0), pibls.Initial(w, sp.sin(sp.pi * x))],
    )
    context = ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-8)
    offer = CellStrategy(context, Budget(0.0, None, 4000)).estimate_cost()
    assert offer is not None
    assert 40.0 < offer.remaining < 160.0


@pytest.mark.parametrize(("per_halving", "levels"), [(0.1, (6, 12)), (0.5, (6, 12)), (0.7, (1, 1))])
def test_halvings_towards_a_singular_place(per_halving: float, levels: tuple[int, int]) -> None:
    one = cells()
    one._per_halving = per_halving
    assert levels[0] <= one._halving_levels(1e6, True) <= levels[1]


@pytest.mark.parametrize(
    ("rate", "worst", "more"), [(1.0, 1e-3, True), (1.0, 0.1, False), (2.0, 1e-3, False)]
)
def test_halvings_at_once(rate: float, worst: float, more: bool) -> None:
    one = cells()
    one._digits_gained, one._last_result = rate, (1.0, 1.0, worst)
    assert (one._halving_levels(1e6, False) > 1) is more


def divisions(
    one: CellStrategy, indicator: Array, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[int], list[int]]:
    """The halvings of each divided cell, and the cells whose spectrum is asked for."""
    levels: list[int] = []
    asked: list[int] = []

    def recorded(box: Any, axes: Any, place: Any, n: int) -> Any:
        levels.append(n)
        return graded_node(box, axes, place, n)

    def steepness(frames: Any, found: Any, number: int, *_: Any) -> float:
        asked.append(number)
        return 0.0

    monkeypatch.setattr(cellular, "graded_node", recorded)
    monkeypatch.setattr(cellular, "spectral_decay", steepness)
    one._refine(make_candidate(1e-3), indicator, np.ones((len(indicator), 2)), 1e-9)
    return levels, asked


def test_a_place_that_is_known_roughly(monkeypatch: pytest.MonkeyPatch) -> None:
    one = cells()
    one._per_halving = 0.1
    one._singular = np.ones(16, dtype=np.bool_)
    found_levels, _ = divisions(one, np.full(16, 1e-3), monkeypatch)
    assert 2 <= max(found_levels) <= 5


@pytest.mark.parametrize(("worst", "asked"), [(3e-3, True), (0.05, False)])
def test_more_functions_only_where_something_is_resolved(
    worst: float, asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = cells(rounds=2)
    _, numbers = divisions(one, np.full(16, worst), monkeypatch)
    assert bool(numbers) is asked


@pytest.mark.parametrize(("steep", "divided"), [(5.0, True), (10.0, False)])
def test_the_second_solution_has_finer_cells_where_it_is_not_smooth(
    steep: float, divided: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = cells()
    monkeypatch.setattr(cellular, "spectral_decay", lambda *_: steep)
    hardest = one._refine_worst(make_candidate(1e-3), np.full(16, 1e-5), np.ones((16, 2)))
    assert (len(hardest) > 16) is divided


def attempted(
    monkeypatch: pytest.MonkeyPatch,
    worst: float,
    *,
    left: float = 0.0,
    excess: float = 1e-6,
    before: float = 1e-3,
) -> tuple[CellStrategy, dict[str, Any]]:
    """One round of cells whose worst indicator is that, and what it led to."""
    one = cells(1e-8)
    said: dict[str, Any] = {"compared": [], "limits": []}
    now = make_candidate(1e-9)
    one._last_result, one._previous = (1.0, 1.0, before), (None, None)  # type: ignore[assignment]
    one._singular = np.ones(16, dtype=np.bool_)
    monkeypatch.setattr(
        CellStrategy,
        "_solve",
        lambda *_: (replace(now, work=1.0), SimpleNamespace(max_residual=np.full(16, left))),
    )
    monkeypatch.setattr(CellStrategy, "_indicators", lambda *_: (np.full(16, worst), np.ones((16, 2))))
    monkeypatch.setattr(CellStrategy, "_refine_worst", lambda *_: None)
    monkeypatch.setattr(CellStrategy, "_comparison_points", lambda *_: SimpleNamespace(all=None))
    monkeypatch.setattr(CellStrategy, "_with_filled_cells", lambda self, found: found)
    monkeypatch.setattr(cellular, "cell_differences", lambda *_: np.zeros(16))
    monkeypatch.setattr(CellStrategy, "relative_error", lambda *_: excess)
    monkeypatch.setattr(CellStrategy, "scales", lambda *_: np.ones(1))
    monkeypatch.setattr(CellStrategy, "report", lambda *_, **__: None)
    monkeypatch.setattr(Attempted, "function", None, raising=False)

    def compare(a: Any, b: Any, unknowns: int, where: Any, *more: float) -> ErrorEstimate:
        said["compared"].append(more)
        return ErrorEstimate(1e-12, 1e-12, each=(ErrorEstimate(1e-12, 1e-12),))

    def refined(self: CellStrategy, now: Any, indicator: Any, axes: Any, limit: float) -> Any:
        said["limits"].append(limit)
        return self.sized_tree

    monkeypatch.setattr(cellular, "compare", compare)
    monkeypatch.setattr(CellStrategy, "_refine", refined)
    one._solve_and_refine()
    return one, said


Attempted = type(make_candidate(1.0))


@pytest.mark.parametrize(("worst", "compared"), [(1e-8, True), (1e-7, False)])
def test_tails_that_are_nearly_small_enough_are_compared(
    worst: float, compared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, said = attempted(monkeypatch, worst)
    assert bool(said["compared"]) is compared


def test_what_is_asked_for_after_a_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    one, said = attempted(monkeypatch, 1e-8, left=1e-6, excess=1e-8 * 1.1)
    assert 2e-9 < said["limits"][-1] < 9e-9
    assert 0.02 < said["compared"][-1][0] < 0.1  # of what the last division changed something is left
    assert 1e-4 < one.error.max < 4e-4  # what 16 cells leave together, in the corner more than on the sides


@pytest.mark.parametrize(("rate", "told"), [(0.6, True), (0.1, False)])
def test_when_the_time_is_over_the_last_division_tells(
    rate: float, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, compared = cells(), []
    now = make_candidate(1e-6)
    one._digits_gained = rate
    one._last_comparison = (now, SimpleNamespace(max_residual=np.zeros(16)), (None, None))  # type: ignore[assignment]

    def compare(*_: Any) -> ErrorEstimate:
        compared.append(1)
        return ErrorEstimate(1e-6, 1e-6, each=(ErrorEstimate(1e-6, 1e-6),))

    monkeypatch.setattr(Attempted, "function", None, raising=False)
    monkeypatch.setattr(cellular, "compare", compare)
    monkeypatch.setattr(CellStrategy, "_comparison_points", lambda *_: SimpleNamespace(all=None))
    monkeypatch.setattr(CellStrategy, "_with_filled_cells", lambda self, found: found)
    monkeypatch.setattr(CellStrategy, "scales", lambda *_: np.ones(1))
    one.finalize_from_history()
    assert bool(compared) is told


@pytest.mark.parametrize(("relative", "again"), [(0.02, False), (0.2, True)])
def test_a_start_in_few_cells_that_leads_nowhere(
    relative: float, again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, said = cells(), []
    stalled = Outcome(np.zeros(4), 0.0, 1, Status.STALLED, relative=relative)
    monkeypatch.setattr(GaussNewton, "descend", lambda *_: stalled)

    def solve(*_: Any) -> Outcome:
        said.append(1)
        return stalled

    monkeypatch.setattr(GaussNewton, "solve", solve)
    monkeypatch.setattr(cellular, "starting_values", lambda _: None)
    one._newton(SimpleNamespace(is_linear=False), None)  # type: ignore[arg-type]
    assert bool(said) is again


def test_two_solutions_are_compared_beside_a_singular_corner(monkeypatch: pytest.MonkeyPatch) -> None:
    one = cells(n=2)
    one._singular = np.array([True, False, False, False])
    one._worst_points = np.zeros((4, 2))
    monkeypatch.setattr(cellular, "cell_space_of", lambda _: SimpleNamespace(tree=one.tree))
    nearest = np.linalg.norm(one._comparison_points(make_candidate(1e-3)).all, axis=1)
    assert 1e-4 < nearest[nearest > 0].min() < 1e-3


def test_a_sliver_of_the_domain_is_seen() -> None:
    problem = pibls.Problem(
        pibls.Disk((x, y), (0, 0), 1), [v.diff(x, 2) + v.diff(y, 2) - 1], [pibls.Dirichlet(v, 0)]
    )
    one = CellStrategy(
        ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-8), Budget(0.0, None, 4000)
    )
    sliver = np.array([[0.6, 1.6], [0.6, 1.6]])  # two hundredths of it are in the disc
    places = one._clipped_cells.domain_points(sliver)
    assert places is not None
    assert 5 <= len(places) <= 60


# -- products --


@pytest.mark.parametrize(("times", "confirmed"), [(0.7, True), (2.0, False)])
def test_products_are_confirmed_where_tails_are_small_enough(
    times: float, confirmed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, said = TensorProductStrategy(square("layers"), Budget(0.0, None, 4000)), []
    tail = times * 0.3 * 1e-8
    now = make_candidate(1e-6)
    rows = SimpleNamespace(piecewise_coefficients=lambda U: None)
    monkeypatch.setattr(
        TensorProductStrategy,
        "_solve",
        lambda *_: (now, rows, SimpleNamespace(U=None, last_step=np.zeros(1))),
    )
    monkeypatch.setattr(product_plans, "axis_spectra", lambda *_: [np.full((1, 12), tail)])
    monkeypatch.setattr(TensorProductStrategy, "_has_corner_mismatch", lambda *_: False)
    monkeypatch.setattr(TensorProductStrategy, "report", lambda *_, **__: None)
    monkeypatch.setattr(TensorProductStrategy, "_refine", lambda *_: said.append("refined"))
    monkeypatch.setattr(TensorProductStrategy, "_confirm", lambda *_: said.append("confirmed"))
    one.advance()
    assert said == ["confirmed" if confirmed else "refined"]


@pytest.mark.parametrize(("excess", "share"), [(1e-7, 0.05), (1e-4, 0.02)])
def test_what_products_are_asked_for_next(
    excess: float, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, limits = TensorProductStrategy(square("layers"), Budget(0.0, None, 4000)), []
    one.partitions = initial_partitions(one.context, boxed(one.context))
    monkeypatch.setattr(TensorProductStrategy, "_solve", lambda *_: (None, None, None))
    monkeypatch.setattr(TensorProductStrategy, "_estimate_error", lambda *_: ErrorEstimate(1.0, 1.0))
    monkeypatch.setattr(TensorProductStrategy, "relative_error", lambda *_: excess)
    monkeypatch.setattr(TensorProductStrategy, "report", lambda *_, **__: None)
    monkeypatch.setattr(TensorProductStrategy, "_refine", lambda self, spectra, limit: limits.append(limit))
    one._confirm(make_candidate(1e-6), None, None, [np.full((1, 12), 1e-6)], False)  # type: ignore[arg-type]
    assert 0.5 * share < limits[0] / 1e-6 < 2.0 * share


@pytest.mark.parametrize(("left", "clash"), [(1e-4, False), (1e-2, True)])
def test_sides_that_disagree_in_their_corner(left: float, clash: bool) -> None:
    one = TensorProductStrategy(square("layers"), Budget(0.0, None, 4000))
    one._refinements = 3
    side = SimpleNamespace(
        terms=[(0, (0, 0))], residual=SimpleNamespace(nonlinear=()), coefficients=np.ones(1)
    )
    rows = SimpleNamespace(
        residual=lambda _: ([None, np.array([left])], None),
        statements=[None, side],
        box_problem=SimpleNamespace(equations=[None]),
    )
    assert one._has_corner_mismatch(rows, SimpleNamespace(U=None), np.ones(1)) is clash  # type: ignore[arg-type]


def test_points_ever_closer_to_the_ends() -> None:
    t = _comparison_coordinates(np.linspace(0.0, 1.0, 5), 6, 400, np.random.default_rng(0))
    near = np.sort(t[(t > 0) & (t < 0.1)])
    assert 24 + 2 * 5 <= len(t) <= 24 + 2 * 20
    assert (near[1:] / near[:-1]).max() < 10.0  # no gap between them
    assert near[0] < 1e-4


@pytest.mark.parametrize("shape", [(30, 40), (11, 12, 13)])
def test_what_hangs_together_on_a_grid(shape: tuple[int, ...]) -> None:
    """As SciPy's label does it, which takes 0.35 s to import."""
    mask = np.random.default_rng(0).random(shape) < 0.4
    (names, count), (expected, many) = _label_components(mask), label(mask)
    assert count == many
    assert len(set(zip(names.ravel(), expected.ravel(), strict=True))) == count + 1
    assert _label_components(mask & False)[1] == 0
