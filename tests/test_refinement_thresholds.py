"""Refinement decisions of cells and tensor products on both sides of their thresholds."""

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
from pibls.adaptive.cells import strategy as cell_strategy
from pibls.adaptive.cells.face_residuals import FaceResiduals
from pibls.adaptive.cells.hp_selection import CELL_NODES, SizedTree, initial_size_level, resolved_wavelengths
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
from pibls.adaptive.tensor_products.axes import (
    AxisPartitions,
    _decays_algebraically,
    _refine_axis,
    initial_partitions,
    interval_tails,
)
from pibls.adaptive.tensor_products.partition_strategy import _comparison_coordinates
from pibls.adaptive.tensor_products.strategy import TensorProductStrategy
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import ErrorEstimate
from pibls.arrays import Array
from pibls.geometry.subdomains.partition import _label_components
from pibls.nonlinear import GaussNewton, Outcome
from pibls.problem.forms.compilation import compile_problem
from pibls.spaces import CellTree, graded_node
from pibls.status import Status
from tests.strategy_helpers import make_candidate, make_strategy, square_problem

x, y = sp.symbols("x y")
u, v = sp.Function("u")(x), sp.Function("v")(x, y)


# -- axes --


def decaying_coefficients(rate: float, n: int = 16, flat: int = 8) -> Array:
    """Coefficients on one interval: constant up to degree ``flat``, then decaying by 10**-rate per degree."""
    return 10.0 ** (-rate * np.maximum(np.arange(n) - flat, 0.0))[None, :]


def refined_axis(
    S: Array, missing_digits: float, edges: tuple[float, ...] = (0.0, 1.0)
) -> tuple[tuple[float, ...], int]:
    limit = float(interval_tails(S).max()) * 10.0**-missing_digits
    return _refine_axis(edges, S.shape[1], S, limit, 28)


def test_interval_tails() -> None:
    S = np.full((1, 24), 1e-9)
    S[0, -8] = 1.0
    assert interval_tails(S)[0] == 1e-9
    S[0, -2] = 1.0
    assert interval_tails(S)[0] == 1.0


@pytest.mark.parametrize(
    ("rate", "missing_digits", "intervals", "functions"),
    [
        (0.3, 2.8, 1, 26),  # ten more degrees for three digits
        (0.3, 2.95, 1, 27),  # slightly more than the missing digits require_digits
        (0.3, 4.2, 2, 16),  # more functions than the maximum of one interval
        (0.001, 0.5, 2, 16),  # no decay yet: the interval is split
    ],
)
def test_axis_gets_more_functions_or_more_intervals(
    rate: float, missing_digits: float, intervals: int, functions: int
) -> None:
    edges, n = refined_axis(decaying_coefficients(rate), missing_digits)
    assert len(edges) - 1 == intervals
    assert n == functions


def test_algebraic_decay_leads_to_graded_intervals() -> None:
    S = np.asarray((np.arange(16) + 1.0)[None, :] ** -4.0, dtype=float)
    edges, _ = refined_axis(S, 2.9)
    assert len(edges) == 2 + 2  # graded once towards each end
    assert 0.05 < edges[1] < 0.4


def test_minimal_interval_length() -> None:
    S = np.concatenate([decaying_coefficients(0.001), decaying_coefficients(1.0)])
    for length, divided in ((1e-11, True), (1e-13, False)):
        edges, n = _refine_axis((0.0, length, 1.0), 16, S, 1e-5, 28)
        assert (len(edges) > 3 or n > 16) is divided


def test_algebraic_and_exponential_decay_are_distinguished() -> None:
    """By fits of the logarithm of the coefficients against the degree and its logarithm."""
    degrees = np.arange(2.0, 18.0)
    power, exponential = -4.0 * np.log10(degrees), -0.25 * degrees
    mixtures = {share: (1.0 - share) * power + share * exponential for share in (0.1, 0.3, 0.8, 0.95)}
    detected = {share: _is_algebraic(logs) for share, logs in mixtures.items()}
    assert detected == {0.1: True, 0.3: True, 0.8: False, 0.95: False}
    # The first two coefficients, mean and slope, are ignored.
    assert _is_algebraic(power, first=5.0)
    assert not _is_algebraic(exponential, first=5.0)


def _is_algebraic(logs: Array, first: float = 0.0) -> bool:
    first_two = np.full(2, float(logs[0]) + first)
    return bool(_decays_algebraically(np.concatenate([first_two, logs])[None, :])[0])


@cache
def square(equation: str, tol: float = 1e-8) -> ValidationContext:
    equations = {
        "oscillating": v.diff(x, 2) + v.diff(y, 2) + (2 * sp.pi * 8) ** 2 * v - 1,
        "slowly oscillating": v.diff(x, 2) + v.diff(y, 2) + (2 * sp.pi * 2) ** 2 * v - 1,
        "layers": v.diff(x, 2) + v.diff(y, 2) - 100**2 * v - 1,
        "no layers": v.diff(x, 2) + v.diff(y, 2) - 30**2 * v - 1,
        "nonlinear": v.diff(x, 2) + v.diff(y, 2) - v**2 - 1,
    }
    problem = pibls.Problem(pibls.Box({x: (0, 1), y: (0, 1)}), [equations[equation]], [pibls.Dirichlet(v, 0)])
    return ValidationContext.of(compile_problem(problem), problem.domain, 0, tol)


def test_initial_functions_for_oscillating_solutions() -> None:
    context = square("oscillating")
    axes = initial_partitions(context, (2, 2))
    assert all(18 <= n <= 28 for n in axes.sizes)


# -- decay rates --


def test_layers_and_wavelengths_are_detected() -> None:
    assert len(layer_planes(square("layers"))) == 4
    assert not layer_planes(square("no layers"))
    assert wavelengths_across(square("oscillating")) == pytest.approx(8.0)
    assert not wavelengths_across(square("slowly oscillating")).any()
    assert 16 <= len(_samples(square("oscillating"))) <= 64


def test_cells_are_halved_until_they_resolve_a_layer() -> None:
    tree = CellTree.single_cell(np.array([[0.0, 1.0], [0.0, 1.0]]))
    fine = refine_at_layers(tree, (LayerPlane(0, 0.0, 1000.0),), 10)
    assert 8 <= len(fine) <= 14
    for rate, least, most in ((1e9, 2e-9, 7e-9), (100.0, 0.02, 0.07)):
        layer_rates = BoundaryLayerRates(np.array([[0.3, 0.0]]), np.array([rate]))
        lengths = [np.ptp(box[0]) for box in layer_rates.refine(tree, 10, 10_000).boxes]
        assert least < min(lengths) < most


def test_layer_rates_are_sampled_along_the_whole_boundary() -> None:
    problem = pibls.Problem(
        pibls.Disk((x, y), (0, 0), 1),
        [v.diff(x, 2) + v.diff(y, 2) - 200**2 * v - 1],
        [pibls.Dirichlet(v, 0)],
    )
    layer_rates = boundary_layer_rates(
        ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-8)
    )
    angles = np.sort(np.arctan2(layer_rates.points[:, 1], layer_rates.points[:, 0]))
    assert np.diff(angles).max() < 0.02
    assert len(angles) < 30_000


# -- numbers of functions and face residuals --


def test_initial_level_and_resolved_wavelengths() -> None:
    assert initial_size_level(1e-6) < initial_size_level(1e-8) < len(CELL_NODES[2])
    assert 0.4 < resolved_wavelengths(128, 2, 1e-8) < 0.6


def test_more_functions_where_the_spectrum_decays_fast() -> None:
    sized = SizedTree.uniform(CellTree.grid(np.array([[0.0, 1.0], [0.0, 1.0]]), (2, 2)), 1)
    tails = np.array([1e-4, 1e-4])
    preferences = [sized.prefers_more_functions(0, tails, [0, 1], decay, 50.0) for decay in (0.1, 0.3, 3.0)]
    assert preferences == [False, False, True]
    assert sized.prefers_more_functions(0, tails, [0, 1], 1.0, 50.0)


def face_residuals(max_residuals: list[float], points: Any = None) -> FaceResiduals:
    n = len(max_residuals)
    X = np.zeros((n, 2)) if points is None else np.array(points)
    return FaceResiduals(
        np.array(max_residuals), X, np.array([[i, i + 1] for i in range(n - 1)], dtype=int).reshape(-1, 2)
    )


def test_face_residuals_are_attributed_to_the_originating_cell() -> None:
    tiny = np.full(2, 1e-9)
    assert face_residuals([1e-3, 8e-4]).originating(tiny).tolist() == [1e-3, 8e-4]
    assert face_residuals([1e-3, 5e-4]).originating(tiny).tolist() == [1e-3, 0.0]
    assert face_residuals([1e-3, 1e-3]).originating(np.array([1e-9, 1e-4]))[0] == 1e-3
    assert face_residuals([1e-3, 1e-3]).originating(np.array([1e-9, 6e-4]))[0] == 0.0


def test_singular_cells_are_detected() -> None:
    assert face_residuals([1e-3]).singular(np.array([5e-5])).tolist() == [True]
    assert face_residuals([1e-3]).singular(np.array([3e-4])).tolist() == [False]
    assert face_residuals([0.03]).singular(np.array([1e-4])).tolist() == [True]
    assert face_residuals([0.5]).singular(np.array([1e-4])).tolist() == [
        False
    ]  # undecided: the residual is too large
    box = np.array([[[0.0, 1.0], [0.0, 1.0]]])
    assert face_residuals([1.0], [[0.01, 0.99]]).snap_to_corners(box)[1].tolist() == [True]
    assert face_residuals([1.0], [[0.1, 0.9]]).snap_to_corners(box)[1].tolist() == [False]


# -- cells --


def cells(tol: float = 1e-8, *, n: int = 4, refinements: int = 3) -> CellStrategy:
    strategy = CellStrategy(make_strategy(tol, square_problem()).context, Budget(0.0, None, 4000))
    strategy.sized_tree = SizedTree.uniform(CellTree.grid(strategy.context.box, (n, n)), 1)
    count = n * n
    strategy._worst_points = np.array([box.mean(axis=1) for box in strategy.tree.boxes])
    strategy._singular = strategy._at_corner = np.zeros(count, dtype=np.bool_)
    strategy._last_result, strategy._refinements = (1.0, 1.0, 1e-3), refinements
    return strategy


@pytest.mark.parametrize(("refinements", "continues"), [(30, True), (60, False)])
def test_no_further_refinement_after_many(refinements: int, continues: bool) -> None:
    strategy = cells(refinements=refinements)
    assert strategy.has_ended is not continues
    context = square("layers")
    product = TensorProductStrategy(context, Budget(0.0, None, 4000))
    product._refinements = int(0.75 * refinements)
    assert product.has_ended is not continues


def test_function_limits() -> None:
    assert 50_000 <= cells()._max_functions <= 200_000
    products = TensorProductStrategy(square("layers"), Budget(0.0, None, 4000))
    assert 2_000_000 <= products._max_functions <= 8_000_000


@pytest.mark.parametrize(("per_halving", "levels"), [(0.1, (6, 12)), (0.5, (6, 12)), (0.7, (1, 1))])
def test_halvings_towards_a_singular_point(per_halving: float, levels: tuple[int, int]) -> None:
    strategy = cells()
    strategy._per_halving = per_halving
    assert levels[0] <= strategy._halving_levels(1e6, True) <= levels[1]


@pytest.mark.parametrize(
    ("rate", "worst", "more"), [(1.0, 1e-3, True), (1.0, 0.1, False), (2.0, 1e-3, False)]
)
def test_several_halvings_per_refinement(rate: float, worst: float, more: bool) -> None:
    strategy = cells()
    strategy._digits_gained, strategy._last_result = rate, (1.0, 1.0, worst)
    assert (strategy._halving_levels(1e6, False) > 1) is more


def record_divisions(
    strategy: CellStrategy, indicator: Array, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[int], list[int]]:
    """Return the halvings of each divided cell and the cells whose spectral decay is computed."""
    levels: list[int] = []
    decay_cells: list[int] = []

    def recorded(box: Any, axes: Any, point: Any, n: int) -> Any:
        levels.append(n)
        return graded_node(box, axes, point, n)

    def decay(frames: Any, found: Any, number: int, *_: Any) -> float:
        decay_cells.append(number)
        return 0.0

    monkeypatch.setattr(cell_strategy, "graded_node", recorded)
    monkeypatch.setattr(cell_strategy, "spectral_decay", decay)
    strategy._refine(make_candidate(1e-3), indicator, np.ones((len(indicator), 2)), 1e-9)
    return levels, decay_cells


def test_halvings_towards_an_approximate_singular_point(monkeypatch: pytest.MonkeyPatch) -> None:
    strategy = cells()
    strategy._per_halving = 0.1
    strategy._singular = np.ones(16, dtype=np.bool_)
    found_levels, _ = record_divisions(strategy, np.full(16, 1e-3), monkeypatch)
    assert 2 <= max(found_levels) <= 5


@pytest.mark.parametrize(("worst", "computed"), [(3e-3, True), (0.05, False)])
def test_more_functions_only_where_the_solution_is_partly_resolved(
    worst: float, computed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    strategy = cells(refinements=2)
    _, numbers = record_divisions(strategy, np.full(16, worst), monkeypatch)
    assert bool(numbers) is computed


@pytest.mark.parametrize(("decay_rate", "divided"), [(5.0, True), (10.0, False)])
def test_companion_solution_has_finer_cells_where_decay_is_slow(
    decay_rate: float, divided: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    strategy = cells()
    monkeypatch.setattr(cell_strategy, "spectral_decay", lambda *_: decay_rate)
    refined_cells = strategy._refine_worst(make_candidate(1e-3), np.full(16, 1e-5), np.ones((16, 2)))
    assert (len(refined_cells) > 16) is divided


def refine_once(
    monkeypatch: pytest.MonkeyPatch,
    worst: float,
    *,
    residual: float = 0.0,
    relative_error: float = 1e-6,
    before: float = 1e-3,
) -> tuple[CellStrategy, dict[str, Any]]:
    """Run one refinement of cells with the largest indicator ``worst`` and record the calls."""
    strategy = cells(1e-8)
    calls: dict[str, Any] = {"compared": [], "limits": []}
    candidate = make_candidate(1e-9)
    strategy._last_result, strategy._previous = (1.0, 1.0, before), (None, None)  # type: ignore[assignment]
    strategy._singular = np.ones(16, dtype=np.bool_)
    monkeypatch.setattr(
        CellStrategy,
        "_solve",
        lambda *_: (replace(candidate, seconds=1.0), SimpleNamespace(max_residual=np.full(16, residual))),
    )
    monkeypatch.setattr(CellStrategy, "_indicators", lambda *_: (np.full(16, worst), np.ones((16, 2))))
    monkeypatch.setattr(CellStrategy, "_refine_worst", lambda *_: None)
    monkeypatch.setattr(CellStrategy, "_comparison_points", lambda *_: SimpleNamespace(all=None))
    monkeypatch.setattr(CellStrategy, "_with_filled_cells", lambda self, found: found)
    monkeypatch.setattr(cell_strategy, "cell_differences", lambda *_: np.zeros(16))
    monkeypatch.setattr(CellStrategy, "relative_error", lambda *_: relative_error)
    monkeypatch.setattr(CellStrategy, "scales", lambda *_: np.ones(1))
    monkeypatch.setattr(CellStrategy, "report", lambda *_, **__: None)
    monkeypatch.setattr(CandidateType, "function", None, raising=False)

    def compare(a: Any, b: Any, unknowns: int, points: Any, *more: float) -> ErrorEstimate:
        calls["compared"].append(more)
        return ErrorEstimate(1e-12, 1e-12, each=(ErrorEstimate(1e-12, 1e-12),))

    def refined(self: CellStrategy, candidate: Any, indicator: Any, axes: Any, limit: float) -> Any:
        calls["limits"].append(limit)
        return self.sized_tree

    monkeypatch.setattr(cell_strategy, "compare", compare)
    monkeypatch.setattr(CellStrategy, "_refine", refined)
    strategy._solve_and_refine()
    return strategy, calls


CandidateType = type(make_candidate(1.0))


@pytest.mark.parametrize(("worst", "compared"), [(1e-8, True), (1e-7, False)])
def test_solutions_are_compared_when_the_indicator_is_nearly_small_enough(
    worst: float, compared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, calls = refine_once(monkeypatch, worst)
    assert bool(calls["compared"]) is compared


def test_refinement_limit_after_a_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    strategy, calls = refine_once(monkeypatch, 1e-8, residual=1e-6, relative_error=1e-8 * 1.1)
    assert 2e-9 < calls["limits"][-1] < 9e-9
    assert 0.02 < calls["compared"][-1][0] < 0.1  # part of the last change is counted as remaining error
    assert (
        1e-4 < strategy.error.max < 4e-4
    )  # residuals of 16 cells together, larger in the corner than on the faces


@pytest.mark.parametrize(("rate", "compared"), [(0.6, True), (0.1, False)])
def test_last_comparison_is_used_when_time_runs_out(
    rate: float, compared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    strategy, comparisons = cells(), []
    candidate = make_candidate(1e-6)
    strategy._digits_gained = rate
    strategy._last_comparison = (candidate, SimpleNamespace(max_residual=np.zeros(16)), (None, None))  # type: ignore[assignment]

    def compare(*_: Any) -> ErrorEstimate:
        comparisons.append(1)
        return ErrorEstimate(1e-6, 1e-6, each=(ErrorEstimate(1e-6, 1e-6),))

    monkeypatch.setattr(CandidateType, "function", None, raising=False)
    monkeypatch.setattr(cell_strategy, "compare", compare)
    monkeypatch.setattr(CellStrategy, "_comparison_points", lambda *_: SimpleNamespace(all=None))
    monkeypatch.setattr(CellStrategy, "_with_filled_cells", lambda self, found: found)
    monkeypatch.setattr(CellStrategy, "scales", lambda *_: np.ones(1))
    strategy.finalize_from_history()
    assert bool(comparisons) is compared


@pytest.mark.parametrize(("relative", "solved_again"), [(0.02, False), (0.2, True)])
def test_newton_restarts_when_the_initial_guess_stalls(
    relative: float, solved_again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    strategy, solves = cells(), []
    stalled = Outcome(np.zeros(4), 0.0, 1, Status.STALLED, relative=relative)
    monkeypatch.setattr(GaussNewton, "descend", lambda *_: stalled)

    def solve(*_: Any) -> Outcome:
        solves.append(1)
        return stalled

    monkeypatch.setattr(GaussNewton, "solve", solve)
    monkeypatch.setattr(cell_strategy, "starting_values", lambda _: None)
    strategy._newton(SimpleNamespace(is_linear=False), None)  # type: ignore[arg-type]
    assert bool(solves) is solved_again


def test_comparison_points_approach_a_singular_corner(monkeypatch: pytest.MonkeyPatch) -> None:
    strategy = cells(n=2)
    strategy._singular = np.array([True, False, False, False])
    strategy._worst_points = np.zeros((4, 2))
    monkeypatch.setattr(cell_strategy, "cell_space_of", lambda _: SimpleNamespace(tree=strategy.tree))
    nearest = np.linalg.norm(strategy._comparison_points(make_candidate(1e-3)).all, axis=1)
    assert 1e-4 < nearest[nearest > 0].min() < 1e-3


def test_small_intersection_of_a_cell_with_the_domain_is_found() -> None:
    problem = pibls.Problem(
        pibls.Disk((x, y), (0, 0), 1), [v.diff(x, 2) + v.diff(y, 2) - 1], [pibls.Dirichlet(v, 0)]
    )
    strategy = CellStrategy(
        ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-8), Budget(0.0, None, 4000)
    )
    sliver = np.array([[0.6, 1.6], [0.6, 1.6]])  # 2 % of the cell is in the disk
    points = strategy._clipped_cells.domain_points(sliver)
    assert points is not None
    assert 5 <= len(points) <= 60


# -- tensor products --


def made(candidate: Any, partitions: AxisPartitions) -> Any:
    return SimpleNamespace(candidate=candidate, partitions=partitions, last_step=np.zeros(1))


@pytest.mark.parametrize(("times", "confirmed"), [(0.7, True), (2.0, False)])
def test_tensor_products_are_confirmed_when_spectral_tails_are_small(
    times: float, confirmed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    strategy, calls = TensorProductStrategy(square("layers"), Budget(0.0, None, 4000)), []
    tail = times * 0.3 * 1e-8
    candidate = make_candidate(1e-6)
    monkeypatch.setattr(TensorProductStrategy, "_solve", lambda self, partitions: made(candidate, partitions))
    monkeypatch.setattr(TensorProductStrategy, "_spectra", lambda *_: [np.full((1, 12), tail)])
    monkeypatch.setattr(TensorProductStrategy, "_is_unsuitable", lambda *_: False)
    monkeypatch.setattr(TensorProductStrategy, "report", lambda *_, **__: None)
    monkeypatch.setattr(TensorProductStrategy, "_refine", lambda *_: calls.append("refined"))
    monkeypatch.setattr(TensorProductStrategy, "_confirm", lambda *_: calls.append("confirmed"))
    strategy.advance()
    assert calls == ["confirmed" if confirmed else "refined"]


@pytest.mark.parametrize(("relative_error", "share"), [(1e-7, 0.05), (1e-4, 0.02)])
def test_next_refinement_limit_of_tensor_products(
    relative_error: float, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    strategy, limits = TensorProductStrategy(square("layers"), Budget(0.0, None, 4000)), []
    solution = made(make_candidate(1e-6), initial_partitions(strategy.context, (2, 2)))
    strategy.partitions = solution.partitions
    monkeypatch.setattr(TensorProductStrategy, "_solve", lambda *_: solution)
    monkeypatch.setattr(TensorProductStrategy, "_estimate_error", lambda *_: ErrorEstimate(1.0, 1.0))
    monkeypatch.setattr(TensorProductStrategy, "relative_error", lambda *_: relative_error)
    monkeypatch.setattr(TensorProductStrategy, "report", lambda *_, **__: None)
    monkeypatch.setattr(TensorProductStrategy, "_refine", lambda self, spectra, limit: limits.append(limit))
    strategy._confirm(solution, [np.full((1, 12), 1e-6)], False)
    assert 0.5 * share < limits[0] / 1e-6 < 2.0 * share


@pytest.mark.parametrize(("residual", "mismatch"), [(1e-4, False), (1e-2, True)])
def test_corner_mismatch_is_detected(residual: float, mismatch: bool) -> None:
    strategy = TensorProductStrategy(square("layers"), Budget(0.0, None, 4000))
    strategy._refinements = 3
    side = SimpleNamespace(
        terms=[(0, (0, 0))], residual=SimpleNamespace(nonlinear=()), coefficients=np.ones(1)
    )
    rows = SimpleNamespace(
        residual=lambda _: ([None, np.array([residual])], None),
        statements=[None, side],
        box_problem=SimpleNamespace(equations=[None]),
    )
    solution: Any = SimpleNamespace(system=rows, U=None)
    assert strategy._has_corner_mismatch(solution, np.ones(1)) is mismatch


def test_comparison_coordinates_accumulate_at_the_ends() -> None:
    t = _comparison_coordinates(np.linspace(0.0, 1.0, 5), 6, 400, np.random.default_rng(0))
    near = np.sort(t[(t > 0) & (t < 0.1)])
    assert 24 + 2 * 5 <= len(t) <= 24 + 2 * 20
    assert (near[1:] / near[:-1]).max() < 10.0  # no gap between them
    assert near[0] < 1e-4


@pytest.mark.parametrize("shape", [(30, 40), (11, 12, 13)])
def test_connected_components_on_a_grid(shape: tuple[int, ...]) -> None:
    """The result equals that of scipy.ndimage.label, which is not used since its import takes 0.35 s."""
    mask = np.random.default_rng(0).random(shape) < 0.4
    (names, count), (expected, many) = _label_components(mask), label(mask)
    assert count == many
    assert len(set(zip(names.ravel(), expected.ravel(), strict=True))) == count + 1
    assert _label_components(mask & False)[1] == 0
