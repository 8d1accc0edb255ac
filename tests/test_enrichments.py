"""Functions beside waves, starts and kept solutions: what they have on either side of each threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive.singular import enrichment as enrich
from pibls.adaptive.singular import system_corners as wedged
from pibls.adaptive.singular.cell_corners import CellCornerFunctions
from pibls.adaptive.singular.enrichment import (
    Enrichment,
    _graded_points,
    corner_enrichment,
    strongest_corners,
)
from pibls.adaptive.subdomains.family import SubdomainFamily
from pibls.adaptive.subdomains.subdomain_problem import SubdomainProblem
from pibls.adaptive.sweeps import shared_basis as repeated
from pibls.adaptive.sweeps.reduced_basis import ReducedBasis
from pibls.adaptive.sweeps.shared_basis import SharedBasisSolver
from pibls.analysis.corners.scalar_corners import VALUES, Corner, corners_of
from pibls.analysis.holes.enrichment import HoleEnrichment
from pibls.assembly.points import Points, PointSet
from pibls.errors import ProblemError
from pibls.geometry import Boundary
from pibls.problem.forms.compilation import compile_problem

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)
NOWHERE = Boundary(np.zeros((0, 2)), np.zeros((0, 2)), ())
L_SHAPE = pibls.Box({x: (-1, 1), y: (-1, 1)}) - pibls.Box({x: (0, 1), y: (-1, 0)})


def corner(angle: float) -> Corner:
    return Corner((0.0, 0.0), 0.0, angle, ((VALUES, VALUES),), True, NOWHERE)


# -- corners --


def test_the_worst_corners(monkeypatch: pytest.MonkeyPatch) -> None:
    angles = np.linspace(1.05, 1.9, 90) * math.pi
    monkeypatch.setattr(enrich, "corners_of", lambda *_: [corner(a) for a in angles])
    worst = strongest_corners(None, None)  # type: ignore[arg-type]
    assert 12 <= len(worst) <= 48
    assert min(c.angle for c in worst) > np.sort(angles)[-60]
    monkeypatch.setattr(enrich, "corners_of", lambda *_: [corner(a) for a in angles[:10]])
    assert len(strongest_corners(None, None)) == 10  # type: ignore[arg-type]


def test_points_towards_a_corner() -> None:
    problem = pibls.Problem(L_SHAPE, [u.diff(x, 2) + u.diff(y, 2) - 1], [pibls.Dirichlet(u, 0)])
    inner = next(c for c in corners_of(compile_problem(problem), L_SHAPE) if math.hypot(*c.point) < 1e-9)
    X = _graded_points(inner, L_SHAPE, 0.5)
    away = np.linalg.norm(X, axis=1)
    assert 40 <= len(X) <= 100
    assert 1e-5 < away.min() < 1e-3
    assert 3 <= len(np.unique(np.round(np.arctan2(X[:, 1], X[:, 0]), 6))) <= 10


@dataclass(frozen=True)
class Part:
    """Functions of a corner that can be fewer."""

    size: int

    def reduced(self, share: float) -> Part:
        return Part(int(share * self.size))


def test_functions_attempt_after_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HoleEnrichment, "boundary_points", lambda *_: NOWHERE)
    monkeypatch.setattr(HoleEnrichment, "__bool__", lambda _: True)
    extra = Enrichment(parts=(Part(4500),), hole_functions=HoleEnrichment(), domain=L_SHAPE)  # type: ignore[arg-type]
    made = [extra.at_refinement(k) for k in range(9)]
    digits = [one.hole_functions.efolds for one in made]
    assert 5.0 < digits[0] < 12.0
    assert all(1.1 < b / a < 1.7 for a, b in pairwise(digits[:6]))
    assert digits[5] == digits[8]
    sizes = [one.parts[0].size for one in made]
    for size, most in zip(sizes, (500, 1000, 2000, 4000), strict=False):
        assert 0.7 * most < size <= most
    few = Enrichment(parts=(Part(900),), hole_functions=HoleEnrichment(), domain=L_SHAPE)  # type: ignore[arg-type]
    assert 350 < few.at_refinement(0).parts[0].size <= 500


def test_points_in_a_corner_itself_are_not_fitted() -> None:
    rim = Boundary(np.array([[1.0, 1.0]]), np.array([[1.0, 0.0]]), (None,))
    extra = Enrichment(parts=(Part(1),), boundary_fit_points=rim, corners=np.zeros((1, 2)))  # type: ignore[arg-type]
    X = np.array([[1e-11, 0.0], [1e-7, 0.0]])

    class Side:
        is_integral, is_interior, is_boundary, sites = False, False, True, 1

        def mask(self, found: Boundary) -> Any:
            return np.zeros(len(found.points), dtype=bool)

    key: Any = Side()
    placed = extra.add_fit_points({key: PointSet((X,), np.zeros_like(X))})
    assert placed[key].sites[0].tolist() == [[1e-7, 0.0]]


def test_points_of_an_integral_shrink_towards_corners() -> None:
    counts: list[int] = []

    def place(domain: Any, points: Points, *_: Any) -> PointSet:
        counts.append(points.interior)
        return PointSet((np.zeros((1, 2)),), np.zeros((1, 2)), np.ones((1, 1)))

    region: Any = SimpleNamespace(is_divisible=lambda _: True, sample=place)
    extra = Enrichment(singular_points=np.zeros((1, 2)), domain=L_SHAPE)
    extra.integration_points(region, PointSet((np.zeros((2, 2)),), np.zeros((2, 2)), np.ones((1, 2))), 1.0)
    assert 25 <= min(counts) <= 60
    assert 70 <= max(counts) <= 200


def test_points_that_judge_the_rim_of_a_hole(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    rim = HoleEnrichment.boundary_points

    def recorded(self: HoleEnrichment, *more: float) -> Boundary:
        seen.append(self.efolds)
        return rim(self, *more)

    monkeypatch.setattr(HoleEnrichment, "boundary_points", recorded)
    domain = pibls.Box({x: (0, 1), y: (0, 1)}) - pibls.Disk((x, y), (0.5, 0.5), 0.2)
    problem = pibls.Problem(domain, [u.diff(x, 2) + u.diff(y, 2) - 1], [pibls.Dirichlet(u, 0)])
    corner_enrichment((), compile_problem(problem), domain)
    assert len(seen) == 1
    assert 4.0 < seen[0] < 9.0


def test_functions_of_corners_in_cells() -> None:
    asked: list[tuple[float, float]] = []

    class OfACorner(SimpleNamespace):
        def between(self, low: float, high: float) -> Any:
            asked.append((low, high))
            return SimpleNamespace(size=1)

    extra: Any = SimpleNamespace(vector_functions=(OfACorner(strong=True, exact=True, degrees=[0.54, 0.91]),))
    CellCornerFunctions.of(extra)
    (_, everywhere), (begin, here) = asked
    assert 1.0 < everywhere == begin < 4.0
    assert 5.0 < here < 12.0


# -- pieces of several materials --


def test_waves_in_pieces_and_in_mirrors() -> None:
    gap = ((0.0, 0.0), 0.1)
    made: Any = SubdomainFamily(((gap,), ()), 2).spec(1000)
    outside, inside = made.specs
    waves, mirror = outside.parts if hasattr(outside, "parts") else (outside, None)
    assert mirror is not None
    assert 0.4 < mirror.size / waves.size < 1.0
    assert 0.3 < inside.size / waves.size < 0.8


@pytest.mark.parametrize(("off", "whole"), [(2e-7, True), (1e-4, False)])
def test_pieces_of_an_integral_make_up_the_whole(off: float, whole: bool) -> None:
    def placed(weight: float) -> PointSet:
        return PointSet((np.zeros((1, 2)),), np.zeros((1, 2)), np.array([[weight]]))

    materials = SimpleNamespace(domain=None)
    r: Any = SimpleNamespace(region=SimpleNamespace(sample=lambda *_, **__: placed(1.0)), name="sum")
    pieced: Any = SimpleNamespace(decomposition=materials)
    rng = np.random.default_rng(0)
    if whole:
        SubdomainProblem._check_integral(pieced, r, placed(1.0 + off), Points(1, 1), rng)
        return
    with pytest.raises(ProblemError):
        SubdomainProblem._check_integral(pieced, r, placed(1.0 + off), Points(1, 1), rng)


def test_points_of_an_interface_beside_a_corner() -> None:
    X = np.array([[1e-9, 0.0], [1e-7, 0.0], [0.5, 0.0]])
    face = SimpleNamespace(at=lambda U, _: Boundary(np.full((len(U), 2), 9.0), np.zeros((len(U), 2)), ()))
    region = SimpleNamespace(sample=lambda *_: PointSet((X,), np.zeros_like(X)), faces=(face,))
    box = pibls.Box({x: (0, sp.sqrt(2) / 2), y: (0, sp.sqrt(2) / 2)})
    pieced: Any = SimpleNamespace(
        decomposition=SimpleNamespace(domain=box),
        enrichment=SimpleNamespace(vector_functions=[SimpleNamespace(point=(0.0, 0.0))]),
        _dimension=2,
    )
    found = SubdomainProblem._interface_points(pieced, region, Points(1, 1), np.random.default_rng(0), True)
    assert found.sites[0].tolist() == X[1:].tolist()


# -- kept solutions --


@pytest.mark.parametrize(("relative", "serves"), [(1e-7, True), (1e-5, False)])
def test_equations_hold_at_other_values(
    relative: float, serves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    each = SimpleNamespace(max=0.0)
    judge = SimpleNamespace(error=lambda *_: SimpleNamespace(each=(each,)), unknowns=1)
    kept: Any = SimpleNamespace(
        validator=judge,
        tol=1e-10,
        max_relative_error=1e-10,
        settings={},
        solves=(SimpleNamespace(basis=SimpleNamespace(basis=None)),),
    )
    monkeypatch.setattr(repeated, "SingleDomainSpace", SimpleNamespace(shared=lambda *_: None))
    values: Any = (np.ones((1, 4, 1)),)
    residuals: Any = {"equation": SimpleNamespace(relative=relative)}
    answer = SharedBasisSolver._accepted(kept, np.zeros(2), values, values, 0, residuals, None, 1)
    assert (answer is not None) is serves


def test_how_many_kept_solutions_are_combined(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def solve(lowered: Any, use: list[int], start: int) -> Any:
        asked.append(len(use))
        return np.zeros(2)

    side = SimpleNamespace(reduced=SimpleNamespace(solve=solve), basis=None)
    judge = SimpleNamespace(values=lambda *_: (np.zeros((1, 2, 1)),), residuals=lambda *_: [{}])
    places = [np.array([float(i)]) for i in range(60)]
    kept: Any = SimpleNamespace(
        snapshot_parameters=places, solves=(side, side), validator=judge, _accepted=lambda *_: None
    )
    monkeypatch.setattr(repeated, "compile_problem", lambda _: None)
    SharedBasisSolver._from_snapshots(kept, SimpleNamespace(parameters={"k": 3.0}), None)  # type: ignore[arg-type]
    assert 8 <= asked[0] <= 32


@pytest.mark.parametrize(("count", "remembered"), [(40, True), (90, False)])
def test_how_many_solutions_are_kept(count: int, remembered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[int] = []
    basis = SimpleNamespace(size=4)
    side = SimpleNamespace(
        basis=basis,
        space=None,
        solve=lambda *_: (np.zeros((2, 1)), 1),
        add_snapshot=lambda *_: said.append(1),
        is_determined=lambda *_: True,
    )
    judge = SimpleNamespace(unknowns=1, values=lambda *_: (np.zeros((1, 2, 1)),), residuals=lambda *_: [{}])
    kept: Any = SimpleNamespace(
        solves=(side, side),
        validator=judge,
        snapshot_parameters=[np.zeros(1)] * count,
        previous=None,
        context=None,
        _from_snapshots=lambda *_: None,
        _accepted=lambda *_: object(),
    )
    monkeypatch.setattr(repeated, "compile_problem", lambda _: SimpleNamespace(is_linear=False))
    problem: Any = SimpleNamespace(parameters={"k": 3.0})
    SharedBasisSolver.answers(kept, [problem], None, True)
    assert bool(said) is remembered


class Rows:
    """x² = a, one equation at a time, with snapshots 1 and what is nearly 1."""

    def __init__(self, a: float, J: Any) -> None:
        self.a, self.J, self.asked = a, J, 0

    def linearize(self, c: Any) -> tuple[Any, Any]:
        self.asked += 1
        value = float(c.sum())
        return 2.0 * value * self.J, np.array([value**2 + self.a])


def reduced(a: float, monkeypatch: pytest.MonkeyPatch, J: Any) -> tuple[float, int]:
    rows = Rows(a, J)
    monkeypatch.setattr("pibls.adaptive.sweeps.reduced_basis._Rows", SimpleNamespace(of=lambda *_: rows))
    stub: Any = SimpleNamespace(
        points={None: None},
        _snapshot_tables=lambda *_: None,
        scale=np.ones(1),
        snapshots=[np.ones(1)] * J.shape[1],
    )
    lowered: Any = SimpleNamespace(is_linear=False, residuals=[SimpleNamespace(region=None)])
    w = ReducedBasis.solve(stub, lowered, range(J.shape[1]), 0)
    return float(w[0]), rows.asked


def test_newton_among_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    one = np.ones((1, 1))
    root, steps = reduced(2.0, monkeypatch, one)
    assert root == pytest.approx(math.sqrt(2.0), rel=1e-14)
    assert 6 <= steps <= 7  # until nothing moves: not after the first that hardly does
    _, steps = reduced(-2.0, monkeypatch, one)  # which has no root
    assert 8 <= steps <= 24


@pytest.mark.parametrize(("size", "counts"), [(1e-12, True), (1e-16, False)])
def test_snapshots_that_are_nearly_dependent(
    size: float, counts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    J, b = np.diag([1.0, size]), np.array([1.0, size])
    rows = SimpleNamespace(linearize=lambda c: (J, b))
    monkeypatch.setattr("pibls.adaptive.sweeps.reduced_basis._Rows", SimpleNamespace(of=lambda *_: rows))
    stub: Any = SimpleNamespace(
        points={None: None}, _snapshot_tables=lambda *_: None, scale=np.ones(2), snapshots=[*np.eye(2)]
    )
    lowered: Any = SimpleNamespace(is_linear=True, residuals=[SimpleNamespace(region=None)])
    assert bool(ReducedBasis.solve(stub, lowered, [0, 1], 0)[1] > 0.5) is counts


# -- corners of systems --


def test_degrees_at_corners_of_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    class ToldError(Exception):
        pass

    def exponents(most: float) -> Any:
        asked.append(most)
        raise ToldError

    pencil = SimpleNamespace(conditions=(), has_exponents=lambda _: False, exponents=exponents, sectors=())
    wedge: Any = SimpleNamespace(angle=1.0, pencil=pencil, is_strong=True)
    for linear in (True, False):
        with pytest.raises(ToldError):
            wedged.with_system_corners(Enrichment(), [wedge], L_SHAPE, is_linear=linear)
    junction: Any = SimpleNamespace(point=(0.0, 0.0), pencil=pencil, subdomains=())
    with pytest.raises(ToldError):
        wedged.with_junctions(Enrichment(), [junction], L_SHAPE, None)  # type: ignore[arg-type]
    linear_one, bent, joined = asked
    assert 25.0 < linear_one < 50.0
    assert 8.0 < bent < 18.0
    assert 25.0 < joined < 45.0


@pytest.mark.parametrize(("count", "kept"), [(8, 8), (40, 0)])
def test_too_many_corners_of_a_system_are_none(
    count: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wedged, "leading_operator", lambda *_: None)
    monkeypatch.setattr(wedged, "system_corners", lambda *_: (None,) * count)
    lowered: Any = SimpleNamespace(unknowns=1)
    assert len(wedged.relevant_system_corners(lowered, L_SHAPE)) == kept


@pytest.mark.parametrize(("away", "close"), [(0.1, True), (0.6, False)])
def test_a_piece_beyond_a_seam(away: float, close: bool) -> None:
    box = np.array([[0.0, 0.6], [0.0, 0.8]])
    division = SimpleNamespace(box=lambda _: box, samples=[np.array([[2.0, 0.0], [0.0, away]])])
    materials: Any = SimpleNamespace(partition=division)
    assert wedged._is_close(np.zeros(2), 0, materials) is close
