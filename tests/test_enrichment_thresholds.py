"""Enrichment at corners and holes, subdomains and reduced bases, on both sides of each threshold."""

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
from pibls.adaptive.singular.cell_corners import CellCornerFunctions
from pibls.adaptive.singular.corners import functions_at_corners
from pibls.adaptive.singular.enrichment import Enrichment
from pibls.adaptive.singular.functions import SingularFunctions
from pibls.adaptive.singular.holes import functions_around_holes
from pibls.adaptive.singular.pencils import functions_at_junctions, functions_at_system_corners
from pibls.adaptive.singular.reach import _is_close
from pibls.adaptive.subdomains.family import SubdomainFamily
from pibls.adaptive.subdomains.subdomain_problem import SubdomainProblem
from pibls.adaptive.sweeps import shared_basis as shared_basis
from pibls.adaptive.sweeps.reduced_basis import ReducedBasis
from pibls.adaptive.sweeps.shared_basis import SharedBasisSolver
from pibls.analysis.corners import scalar_corners, system_corners
from pibls.analysis.corners.scalar_corners import VALUES, Corner, strongest_corners
from pibls.analysis.singular_points import Strength
from pibls.assembly.points import Points, PointSet
from pibls.errors import ProblemError
from pibls.geometry import Boundary

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)
NO_BOUNDARY = Boundary(np.zeros((0, 2)), np.zeros((0, 2)), ())
L_SHAPE = pibls.Box({x: (-1, 1), y: (-1, 1)}) - pibls.Box({x: (0, 1), y: (-1, 0)})


def corner(angle: float) -> Corner:
    return Corner((0.0, 0.0), 0.0, angle, ((VALUES, VALUES),), True, NO_BOUNDARY)


# -- corners --


def test_strongest_corners(monkeypatch: pytest.MonkeyPatch) -> None:
    angles = np.linspace(1.05, 1.9, 90) * math.pi
    monkeypatch.setattr(scalar_corners, "corners_of", lambda *_: [corner(a) for a in angles])
    strongest = strongest_corners(None, None)  # type: ignore[arg-type]
    assert 12 <= len(strongest) <= 48
    assert min(c.angle for c in strongest) > np.sort(angles)[-60]
    monkeypatch.setattr(scalar_corners, "corners_of", lambda *_: [corner(a) for a in angles[:10]])
    assert len(strongest_corners(None, None)) == 10  # type: ignore[arg-type]


def test_points_graded_towards_a_corner() -> None:
    problem = pibls.Problem(L_SHAPE, [u.diff(x, 2) + u.diff(y, 2) - 1], [pibls.Dirichlet(u, 0)])
    blocks = functions_at_corners(problem.analysis)
    X = next(b.validation_points for b in blocks if np.abs(b.places).max() < 1e-9)
    distance = np.linalg.norm(X, axis=1)
    assert 40 <= len(X) <= 100
    assert 1e-5 < distance.min() < 1e-3
    assert 3 <= len(np.unique(np.round(np.arctan2(X[:, 1], X[:, 0]), 6))) <= 10


@dataclass(frozen=True)
class Part:
    """Corner functions whose number can be reduced."""

    size: int

    def reduced(self, share: float) -> Part:
        return Part(int(share * self.size))


def test_enrichment_grows_with_refinement() -> None:
    efolds: list[float] = []

    def functions(e: float) -> tuple[()]:
        efolds.append(e)
        return ()

    family: Any = SimpleNamespace(functions=functions)
    blocks = (SingularFunctions(parts=(Part(4500),)), SingularFunctions(family=family))  # type: ignore[arg-type]
    refinements = [Enrichment(blocks, L_SHAPE).at_refinement(k) for k in range(9)]
    sizes = [item.size for item in refinements]
    assert 5.0 < efolds[0] < 12.0
    assert all(1.1 < b / a < 1.7 for a, b in pairwise(efolds[:6]))
    assert efolds[5] == efolds[8]
    for size, maximum in zip(sizes, (500, 1000, 2000, 4000), strict=False):
        assert 0.7 * maximum < size <= maximum
    few = Enrichment((SingularFunctions(parts=(Part(900),)),), L_SHAPE)  # type: ignore[arg-type]
    assert 350 < few.at_refinement(0).size <= 500


def test_points_at_a_corner_are_not_fitted() -> None:
    boundary = Boundary(np.array([[1.0, 1.0]]), np.array([[1.0, 0.0]]), (None,))
    enrichment = Enrichment((SingularFunctions(boundary_fit_points=boundary, places=np.zeros((1, 2))),))
    X = np.array([[1e-11, 0.0], [1e-7, 0.0]])

    class Side:
        is_integral, is_interior, is_boundary, sites = False, False, True, 1

        def mask(self, found: Boundary) -> Any:
            return np.zeros(len(found.points), dtype=bool)

    key: Any = Side()
    placed = enrichment.add_fit_points({key: PointSet((X,), np.zeros_like(X))})
    assert placed[key].sites[0].tolist() == [[1e-7, 0.0]]


def test_integration_cells_are_graded_towards_corners() -> None:
    counts: list[int] = []

    def sample(domain: Any, points: Points, *_: Any) -> PointSet:
        counts.append(points.interior)
        return PointSet((np.zeros((1, 2)),), np.zeros((1, 2)), np.ones((1, 1)))

    region: Any = SimpleNamespace(is_divisible=lambda _: True, sample=sample)
    found = PointSet((np.zeros((2, 2)),), np.zeros((2, 2)), np.ones((1, 2)))
    weak, strong = (
        SingularFunctions(strength, places=np.zeros((1, 2)))
        for strength in (Strength.WEAK, Strength.MODERATE)
    )
    assert Enrichment((weak,), L_SHAPE).integration_points(region, found, 1.0) is found
    Enrichment((weak, strong), L_SHAPE).integration_points(region, found, 1.0)
    assert 25 <= min(counts) <= 60
    assert 70 <= max(counts) <= 200


def test_validation_points_on_the_boundary_of_a_hole() -> None:
    domain = pibls.Box({x: (0, 1), y: (0, 1)}) - pibls.Disk((x, y), (0.5, 0.5), 0.2)
    problem = pibls.Problem(domain, [u.diff(x, 2) + u.diff(y, 2) - 1], [pibls.Dirichlet(u, 0)])
    (block,) = functions_around_holes(problem.analysis)
    assert block.boundary_validation_points is not None
    X = block.boundary_validation_points.points
    on_the_hole = np.abs(np.hypot(*(X - 0.5).T) - 0.2) < 1e-9
    assert 10 <= on_the_hole.sum() <= 60


def test_degrees_of_corner_functions_in_cells() -> None:
    requested: list[tuple[float, float]] = []

    class CornerFunctions(SimpleNamespace):
        def between(self, low: float, high: float) -> Any:
            requested.append((low, high))
            return SimpleNamespace(size=1)

    enrichment: Any = SimpleNamespace(
        vector_functions=(CornerFunctions(strong=True, exact=True, degrees=[0.54, 0.91]),)
    )
    CellCornerFunctions.of(enrichment)
    (_, global_degree), (first_local, last_local) = requested
    assert 1.0 < global_degree == first_local < 4.0
    assert 5.0 < last_local < 12.0


# -- subdomains --


def test_sizes_of_features_in_subdomains_and_mirrors() -> None:
    cavity = ((0.0, 0.0), 0.1)
    spec: Any = SubdomainFamily(((cavity,), ()), 2).spec(1000)
    outside, inside = spec.specs
    features, mirror = outside.parts if hasattr(outside, "parts") else (outside, None)
    assert mirror is not None
    assert 0.4 < mirror.size / features.size < 1.0
    assert 0.3 < inside.size / features.size < 0.8


@pytest.mark.parametrize(("off", "consistent"), [(2e-7, True), (1e-4, False)])
def test_integral_over_subdomains_must_equal_the_total(off: float, consistent: bool) -> None:
    def weighted_point(weight: float) -> PointSet:
        return PointSet((np.zeros((1, 2)),), np.zeros((1, 2)), np.array([[weight]]))

    materials = SimpleNamespace(domain=None)
    r: Any = SimpleNamespace(region=SimpleNamespace(sample=lambda *_, **__: weighted_point(1.0)), name="sum")
    subdomains: Any = SimpleNamespace(decomposition=materials)
    rng = np.random.default_rng(0)
    if consistent:
        SubdomainProblem._check_integral(subdomains, r, weighted_point(1.0 + off), Points(1, 1), rng)
        return
    with pytest.raises(ProblemError):
        SubdomainProblem._check_integral(subdomains, r, weighted_point(1.0 + off), Points(1, 1), rng)


def test_interface_points_at_a_corner_are_omitted() -> None:
    X = np.array([[1e-9, 0.0], [1e-7, 0.0], [0.5, 0.0]])
    face = SimpleNamespace(at=lambda U, _: Boundary(np.full((len(U), 2), 9.0), np.zeros((len(U), 2)), ()))
    region = SimpleNamespace(sample=lambda *_: PointSet((X,), np.zeros_like(X)), faces=(face,))
    box = pibls.Box({x: (0, sp.sqrt(2) / 2), y: (0, sp.sqrt(2) / 2)})
    subdomains: Any = SimpleNamespace(
        decomposition=SimpleNamespace(domain=box),
        enrichment=SimpleNamespace(vector_functions=[SimpleNamespace(point=(0.0, 0.0))]),
        _dimension=2,
    )
    found = SubdomainProblem._interface_points(
        subdomains, region, Points(1, 1), np.random.default_rng(0), True
    )
    assert found.sites[0].tolist() == X[1:].tolist()


# -- reduced bases --


@pytest.mark.parametrize(("relative", "accepted"), [(1e-7, True), (1e-5, False)])
def test_solution_for_other_parameters_is_validated(
    relative: float, accepted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    each = SimpleNamespace(max=0.0)
    validator = SimpleNamespace(error=lambda *_: SimpleNamespace(each=(each,)), unknowns=1)
    solver: Any = SimpleNamespace(
        validator=validator,
        tol=1e-10,
        max_relative_error=1e-10,
        settings={},
        solves=(SimpleNamespace(basis=SimpleNamespace(basis=None)),),
    )
    monkeypatch.setattr(shared_basis, "SingleDomainSpace", SimpleNamespace(shared=lambda *_: None))
    values: Any = (np.ones((1, 4, 1)),)
    residuals: Any = {"equation": SimpleNamespace(relative=relative)}
    result = SharedBasisSolver._accepted(solver, np.zeros(2), values, values, 0, residuals, None, 1)
    assert (result is not None) is accepted


def test_number_of_combined_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[int] = []

    def solve(compiled: Any, use: list[int], start: int) -> Any:
        requested.append(len(use))
        return np.zeros(2)

    side = SimpleNamespace(reduced=SimpleNamespace(solve=solve), basis=None)
    validator = SimpleNamespace(values=lambda *_: (np.zeros((1, 2, 1)),), residuals=lambda *_: [{}])
    parameters = [np.array([float(i)]) for i in range(60)]
    solver: Any = SimpleNamespace(
        snapshot_parameters=parameters, solves=(side, side), validator=validator, _accepted=lambda *_: None
    )
    monkeypatch.setattr(shared_basis, "compile_problem", lambda _: None)
    SharedBasisSolver._from_snapshots(solver, SimpleNamespace(parameters={"k": 3.0}), None)  # type: ignore[arg-type]
    assert 8 <= requested[0] <= 32


@pytest.mark.parametrize(("count", "added"), [(40, True), (90, False)])
def test_number_of_snapshots_is_limited(count: int, added: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots_added: list[int] = []
    basis = SimpleNamespace(size=4)
    side = SimpleNamespace(
        basis=basis,
        space=None,
        solve=lambda *_: (np.zeros((2, 1)), 1),
        add_snapshot=lambda *_: snapshots_added.append(1),
        is_determined=lambda *_: True,
    )
    validator = SimpleNamespace(
        unknowns=1, values=lambda *_: (np.zeros((1, 2, 1)),), residuals=lambda *_: [{}]
    )
    solver: Any = SimpleNamespace(
        solves=(side, side),
        validator=validator,
        snapshot_parameters=[np.zeros(1)] * count,
        previous=None,
        context=None,
        _from_snapshots=lambda *_: None,
        _accepted=lambda *_: object(),
    )
    monkeypatch.setattr(shared_basis, "compile_problem", lambda _: SimpleNamespace(is_linear=False))
    problem: Any = SimpleNamespace(parameters={"k": 3.0})
    SharedBasisSolver.answers(solver, [problem], None, True)
    assert bool(snapshots_added) is added


class SquareRootRows:
    """The equation c² = a for the sum c of the coefficients."""

    def __init__(self, a: float, J: Any) -> None:
        self.a, self.J, self.calls = a, J, 0

    def linearize(self, c: Any) -> tuple[Any, Any]:
        self.calls += 1
        value = float(c.sum())
        return 2.0 * value * self.J, np.array([value**2 + self.a])


def solve_reduced(a: float, monkeypatch: pytest.MonkeyPatch, J: Any) -> tuple[float, int]:
    rows = SquareRootRows(a, J)
    monkeypatch.setattr("pibls.adaptive.sweeps.reduced_basis._Rows", SimpleNamespace(of=lambda *_: rows))
    stub: Any = SimpleNamespace(
        points={None: None},
        _snapshot_tables=lambda *_: None,
        scale=np.ones(1),
        snapshots=[np.ones(1)] * J.shape[1],
    )
    compiled: Any = SimpleNamespace(is_linear=False, residuals=[SimpleNamespace(region=None)])
    w = ReducedBasis.solve(stub, compiled, range(J.shape[1]), 0)
    return float(w[0]), rows.calls


def test_newton_in_the_reduced_basis(monkeypatch: pytest.MonkeyPatch) -> None:
    J = np.ones((1, 1))
    root, steps = solve_reduced(2.0, monkeypatch, J)
    assert root == pytest.approx(math.sqrt(2.0), rel=1e-14)
    assert 6 <= steps <= 7  # until no step changes the value
    _, steps = solve_reduced(-2.0, monkeypatch, J)  # without a real root
    assert 8 <= steps <= 24


@pytest.mark.parametrize(("size", "is_used"), [(1e-12, True), (1e-16, False)])
def test_nearly_dependent_snapshots(size: float, is_used: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    J, b = np.diag([1.0, size]), np.array([1.0, size])
    rows = SimpleNamespace(linearize=lambda c: (J, b))
    monkeypatch.setattr("pibls.adaptive.sweeps.reduced_basis._Rows", SimpleNamespace(of=lambda *_: rows))
    stub: Any = SimpleNamespace(
        points={None: None}, _snapshot_tables=lambda *_: None, scale=np.ones(2), snapshots=[*np.eye(2)]
    )
    compiled: Any = SimpleNamespace(is_linear=True, residuals=[SimpleNamespace(region=None)])
    assert bool(ReducedBasis.solve(stub, compiled, [0, 1], 0)[1] > 0.5) is is_used


# -- system corners --


def test_maximum_degree_of_pencil_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[float] = []

    class StopError(Exception):
        pass

    def exponents(maximum: float) -> Any:
        requested.append(maximum)
        raise StopError

    pencil = SimpleNamespace(conditions=(), has_exponents=lambda _: False, exponents=exponents, sectors=())
    corner_stub: Any = SimpleNamespace(angle=1.0, pencil=pencil, is_strong=True)
    junction: Any = SimpleNamespace(point=(0.0, 0.0), pencil=pencil, subdomains=())
    for linear in (True, False):
        analysis: Any = SimpleNamespace(
            is_linear=linear,
            domain=L_SHAPE,
            decomposition=SimpleNamespace(),
            system_corners=[corner_stub],
            junctions=[junction],
        )
        with pytest.raises(StopError):
            list(functions_at_system_corners(analysis))
    with pytest.raises(StopError):
        list(functions_at_junctions(analysis))
    linear_limit, nonlinear_limit, junction_limit = requested
    assert 25.0 < linear_limit < 50.0
    assert 8.0 < nonlinear_limit < 18.0
    assert 25.0 < junction_limit < 45.0


@pytest.mark.parametrize(("count", "expected"), [(8, 8), (40, 0)])
def test_too_many_system_corners_are_ignored(
    count: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system_corners, "leading_operator", lambda *_: None)
    monkeypatch.setattr(system_corners, "system_corners", lambda *_: (None,) * count)
    compiled: Any = SimpleNamespace(unknowns=1)
    assert len(system_corners.relevant_system_corners(compiled, L_SHAPE)) == expected


@pytest.mark.parametrize(("distance", "close"), [(0.1, True), (0.6, False)])
def test_subdomain_close_to_a_junction(distance: float, close: bool) -> None:
    box = np.array([[0.0, 0.6], [0.0, 0.8]])
    partition = SimpleNamespace(box=lambda _: box, samples=[np.array([[2.0, 0.0], [0.0, distance]])])
    materials: Any = SimpleNamespace(partition=partition)
    assert _is_close(np.zeros(2), 0, materials) is close
