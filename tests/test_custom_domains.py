"""User-defined domains: the five members of the protocol suffice, and errors in them are reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.arrays import Array, Mask
from tests.test_conditions import points_of

x, y, z, t = sp.symbols("x y z t")

u = sp.Function("u")(x, y)

ut = sp.Function("u")(x, t)

LINE = pibls.Interval(x, 0, 1)

STRIP = LINE.during(t, 0, 2)

LAPLACE = u.diff(x, 2) + u.diff(y, 2)

HEAT = ut.diff(t) - ut.diff(x, 2)


# --- user-defined domains -------------------------------------------------------------------------


@dataclass
class Disk:
    """A user-defined domain with the protocol only: not a pibls.Shape, not hashable, with an array field."""

    radius: float
    center: Array = field(default_factory=lambda: np.zeros(2))
    coordinates: tuple[Any, ...] = (x, y)

    @property
    def bounds(self) -> Any:
        return [[c - self.radius, c + self.radius] for c in self.center]

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        angle, r = rng.uniform(0, 2 * np.pi, n), self.radius * np.sqrt(rng.uniform(0, 1, n))
        return np.asarray(self.center + r[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))

    def boundary(self, n: int, rng: np.random.Generator) -> Any:
        angle = rng.uniform(0, 2 * np.pi, n)
        normals = np.column_stack([np.cos(angle), np.sin(angle)])
        return self.center + self.radius * normals, normals, [self] * n

    def contains(self, X: Array) -> Mask:
        return np.asarray(np.hypot(*(X - self.center).T) <= self.radius)


@dataclass
class Annulus:
    """outer - inner, with the two disks as owners of the boundary."""

    outer: Disk
    inner: Disk
    coordinates: tuple[Any, ...] = (x, y)

    @property
    def bounds(self) -> Any:
        return self.outer.bounds

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        X = self.outer.interior(20 * n, rng)
        return np.asarray(X[~self.inner.contains(X)][:n])

    def boundary(self, n: int, rng: np.random.Generator) -> Any:
        k = round(n * self.inner.radius / (self.inner.radius + self.outer.radius))
        outside, outward, outers = self.outer.boundary(n - k, rng)
        inside, inward, inners = self.inner.boundary(k, rng)
        return np.concatenate([outside, inside]), np.concatenate([outward, -inward]), outers + inners

    def contains(self, X: Array) -> Mask:
        return np.asarray(
            self.outer.contains(X) & (np.hypot(*(X - self.inner.center).T) >= self.inner.radius)
        )


@dataclass
class Ellipse:
    """x²/a² + y²/b² < 1, with a strict ``contains`` that excludes the boundary."""

    a: float
    b: float
    coordinates: tuple[Any, ...] = (x, y)

    @property
    def bounds(self) -> Any:
        return np.array([[-self.a, self.a], [-self.b, self.b]])

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        return Disk(1.0).interior(n, rng) * (self.a, self.b)

    def boundary(self, n: int, rng: np.random.Generator) -> Any:
        angle = rng.uniform(0, 2 * np.pi, n)
        normals = np.column_stack([np.cos(angle) / self.a, np.sin(angle) / self.b])
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        return np.column_stack([self.a * np.cos(angle), self.b * np.sin(angle)]), normals, [self] * n

    def contains(self, X: Array) -> Mask:
        return np.asarray((X[:, 0] / self.a) ** 2 + (X[:, 1] / self.b) ** 2 < 1)


EXACT = sp.exp(x / 2) * sp.sin(y + 0.3) + x * y
SETTINGS: dict[str, Any] = {"basis": pibls.Features(250, scale=4.0), "points": pibls.Points(500, 160, 40)}
SOURCE = EXACT.diff(x, 2) + EXACT.diff(y, 2)


def relative_error(solution: pibls.Solution, exact: Any, X: Array) -> float:
    truth = sp.lambdify(solution.problem.coordinates, exact, "numpy")(*X.T)
    return float(np.abs(solution(*X.T) - truth).max() / np.abs(truth).max())


def annulus() -> Annulus:
    return Annulus(Disk(1.0), Disk(0.4, np.array([0.1, 0.0])))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    "shape", [lambda: Ellipse(1.5, 0.7), annulus, lambda: Disk(2.0)], ids=["ellipse", "annulus", "disk"]
)
def test_poisson_on_user_defined_domain(shape: Callable[[], Any], seed: int) -> None:
    domain = shape()
    assert not isinstance(domain, pibls.Shape)
    problem = pibls.Problem(domain, [sp.Eq(LAPLACE, SOURCE)], [pibls.Dirichlet(u, EXACT)])
    solution = pibls.solve(problem, seed=seed)
    test_points = domain.interior(500, np.random.default_rng(77))
    assert relative_error(solution, EXACT, test_points) <= 1e-8


def test_condition_on_boundary_part_of_inner_shape() -> None:
    """on=hole is the part of the boundary that the hole contributes, with normals into the hole."""
    domain = annulus()
    r = sp.sqrt((x - 0.1) ** 2 + y**2)
    slope = -((x - 0.1) * EXACT.diff(x) + y * EXACT.diff(y)) / r
    problem = pibls.Problem(
        domain,
        [sp.Eq(LAPLACE, SOURCE)],
        [pibls.Dirichlet(u, EXACT), pibls.Neumann(u, slope, on=domain.inner)],
    )
    outer, inner = list(points_of(problem).values())[1:]
    assert np.allclose(np.hypot(*outer.sites[0].T), 1.0)
    assert np.allclose(np.hypot(*(inner.sites[0] - (0.1, 0.0)).T), 0.4)
    assert np.allclose(inner.normals, ((0.1, 0.0) - inner.sites[0]) / 0.4)
    share = 80 * 0.4 / 1.4
    assert len(inner) == pytest.approx(share, abs=4)
    assert len(outer) + len(inner) == pytest.approx(80, abs=4)
    solution = pibls.solve(problem)
    assert relative_error(solution, EXACT, domain.interior(500, np.random.default_rng(77))) <= 1e-8


def test_equal_shape_that_is_not_the_owner_is_rejected() -> None:
    """Shapes with array fields cannot be compared with ==, so only the identical object is the owner."""
    with pytest.raises(pibls.ProblemError, match=r"on: expected a shape that contributes to the boundary"):
        pibls.Problem(annulus(), [LAPLACE], [pibls.Dirichlet(u, 0, on=Disk(1.0, np.array([5.0, 5.0])))])


def test_user_defined_domain_in_time() -> None:
    w = sp.Function("u")(x, y, t)
    exact = sp.exp(-t / 2) * sp.sin(x + y / 2) + x * t / 3
    domain = pibls.During(Ellipse(1.0, 0.7), t, 0, 0.5)
    source = exact.diff(t) - exact.diff(x, 2) - exact.diff(y, 2)
    problem = pibls.Problem(
        domain,
        [sp.Eq(w.diff(t) - w.diff(x, 2) - w.diff(y, 2), source)],
        [pibls.Dirichlet(w, exact), pibls.Initial(w, exact)],
    )
    found = points_of(problem)
    lateral, start = found["Dirichlet(u)"], found["Initial(u)"].sites[0]
    assert np.allclose(lateral.sites[0][:, 0] ** 2 + (lateral.sites[0][:, 1] / 0.7) ** 2, 1.0)
    assert np.all(lateral.normals[:, 2] == 0.0)
    assert np.all(start[:, 2] == 0.0)
    assert Ellipse(1.0, 0.7).contains(start[:, :2]).all()
    settings: dict[str, Any] = {
        "basis": pibls.Features(600, scale=1.5),
        "points": pibls.Points(1200, 500, 200),
    }
    solution = pibls.solve(problem, **settings)
    assert relative_error(solution, exact, domain.interior(500, np.random.default_rng(77))) <= 1e-8


def test_solution_is_nan_outside_and_finite_on_the_boundary() -> None:
    domain = annulus()
    problem = pibls.Problem(domain, [LAPLACE], [pibls.Dirichlet(u, x**2 - y**2 + 1)])
    solution = pibls.solve(problem, **SETTINGS)
    boundary_points, _, _ = domain.boundary(300, np.random.default_rng(3))
    assert np.isfinite(solution(*boundary_points.T)).all()
    assert np.isfinite(solution(*domain.interior(300, np.random.default_rng(4)).T)).all()
    assert np.isnan(solution([0.1, 0.9, 0.4, 2.0, np.nan], [0.0, 0.9, 0.05, 0.0, 0.0])).all()


def test_solution_is_finite_where_contains_is_strict() -> None:
    domain = Ellipse(1.5, 0.7)
    problem = pibls.Problem(domain, [LAPLACE], [pibls.Dirichlet(u, x**2 - y**2 + 1)])
    solution = pibls.solve(problem, **SETTINGS)
    boundary_points, _, _ = domain.boundary(300, np.random.default_rng(3))
    assert np.isfinite(solution(*boundary_points.T)).all()
    assert np.isnan(solution(*(1.01 * boundary_points).T)).all()


def test_solution_is_finite_at_corners_and_nan_outside_space_time_box() -> None:
    exact = sp.exp(x + t)
    problem = pibls.Problem(STRIP, [HEAT], [pibls.Dirichlet(ut, exact), pibls.Initial(ut, exact)])
    solution = pibls.solve(problem, **SETTINGS)
    assert np.isfinite(solution([0, 1, 0, 1], [0, 0, 2, 2])).all()
    assert np.isnan(solution([0.5, 0.5, -0.1, 1.1], [-0.1, 2.1, 1, 1])).all()


# --- errors in user-defined domains ---------------------------------------------------------------


def _modified_disk(**changes: Any) -> Any:
    """Return a disk with some of its members replaced."""
    domain = Disk(1.0)
    members = {
        name: getattr(domain, name) for name in ("coordinates", "bounds", "interior", "boundary", "contains")
    }
    return type(
        "Own", (), {**members, **{k: staticmethod(f) if callable(f) else f for k, f in changes.items()}}
    )()


def _boundary(change: Callable[[Array, Array, Any], Any]) -> Callable[[int, np.random.Generator], Any]:
    return lambda n, rng: change(*Disk(1.0).boundary(n, rng))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"coordinates": ("x", "y")}, r"domain: coordinates: expected a SymPy symbol, got 'x'"),
        ({"coordinates": (x, x)}, r"domain: coordinates: expected coordinates with different names, got two"),
        ({"bounds": (-1, 1)}, r"domain: bounds: expected finite ends .* 2 coordinates, got \(-1, 1\)"),
        ({"bounds": ((1, -1), (-1, 1))}, r"domain: bounds: expected finite ends \(low, high\)"),
        ({"bounds": ((-1, np.inf), (-1, 1))}, r"domain: bounds: expected finite ends"),
        ({"bounds": ((0, 1), (0, 1))}, r"domain: bounds: expected a box that contains the domain"),
        (
            {"interior": lambda n, rng: np.zeros((2, n))},
            r"interior\(n, rng\): expected .* \(n, 2\), got shape",
        ),
        ({"interior": lambda n, rng: np.ones((n, 2))}, r"interior\(n, rng\): expected points inside"),
        ({"interior": lambda n, rng: None}, r"interior\(n, rng\): expected finite numbers"),
        (
            {"contains": lambda X: True},
            r"contains\(X\): expected one bool per point, .* got bool of shape",
        ),
        ({"contains": lambda X: 1 - np.hypot(*X.T)}, r"contains\(X\): expected one bool .* got float64"),
        ({"boundary": lambda n, rng: np.ones((n, 2))}, r"boundary\(n, rng\): expected a tuple"),
        (
            {"boundary": _boundary(lambda X, n, o: (X, 2 * n, o))},
            r"normals: expected unit vectors, got .* 2\.",
        ),
        (
            {"boundary": _boundary(lambda X, n, o: (X, -n, o))},
            r"normals: .* point out of the domain, got inward",
        ),
        ({"boundary": _boundary(lambda X, n, o: (X, n, [0]))}, r"owners: expected .* got 1 for 64 points"),
        ({"boundary": _boundary(lambda X, n, o: (X[:, 0], n, o))}, r"points: expected .* got shape \(64,\)"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_error_in_domain_is_reported(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(pibls.ProblemError, match=text):
        pibls.Problem(_modified_disk(**changes), [LAPLACE], [pibls.Dirichlet(u, 0)])


def test_unmodified_domain_is_accepted() -> None:
    """Control for the test above: without a modification the domain is valid."""
    assert pibls.Problem(_modified_disk(), [LAPLACE], [pibls.Dirichlet(u, 0)]).is_linear
