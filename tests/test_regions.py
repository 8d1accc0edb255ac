"""The protocol of regions: sampling, membership of points and description."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.arrays import Array
from pibls.geometry import Domain, box_of, faces_of, is_box, leaves_of, space_of, time_of, with_range, within
from pibls.notebook.condition_text import PlainNotation
from pibls.problem import BoundaryPart, Interior, PeriodicFaces, Region, ScatteredPoints, SinglePoint, Slice
from pibls.problem.regions.selection import boundary_probes
from tests.solved_problems import Ring

x, y, t = sp.symbols("x y t")
SQUARE = pibls.Box({x: (0, 1), y: (-1, 2)})
TIMED = SQUARE.during(t, 0, 2)
COUNTS = pibls.Points(60, 80, 20)


class UserDefinedDisk:
    """A disk that implements only the protocol of a domain."""

    coordinates = (x, y)
    bounds = ((-1.0, 1.0), (-1.0, 1.0))

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        r, a = np.sqrt(rng.random(n)), 2 * np.pi * rng.random(n)
        return np.column_stack([r * np.cos(a), r * np.sin(a)])

    def boundary(self, n: int, rng: np.random.Generator) -> Any:
        a = 2 * np.pi * rng.random(n)
        X = np.column_stack([np.cos(a), np.sin(a)])
        return X, X, [self] * n

    def contains(self, X: Array) -> Any:
        return np.hypot(*X.T) <= 1


REGIONS: dict[str, tuple[Region, Domain]] = {
    "interior": (Interior(), SQUARE),
    "boundary": (BoundaryPart(), SQUARE),
    "periodic faces": (PeriodicFaces(0, 0.0, 1.0), SQUARE),
    "slice": (Slice(0, 0.5), SQUARE),
    "initial time": (Slice(2, 0.0), TIMED),
    "point": (SinglePoint((0.25, 0.25), None), SQUARE),
    "point in time": (SinglePoint((0.25, 0.25, None), None), TIMED),
    "scattered": (ScatteredPoints(np.array([[0.1, 0.1], [0.5, 0.9], [1.0, 2.0]])), SQUARE),
    "boundary in time": (BoundaryPart(), TIMED),
    "boundary of a user-defined domain": (BoundaryPart(), UserDefinedDisk()),
    "interior of a user-defined domain": (Interior(), UserDefinedDisk()),
}


def cells(domain: Domain, k: int) -> list[Array]:
    """Return the bounding box divided into k^d equal boxes."""
    edges = [np.linspace(a, b, k + 1) for a, b in box_of(domain)]
    grid = np.stack(np.meshgrid(*(np.arange(k),) * len(edges), indexing="ij"), -1).reshape(-1, len(edges))
    return [np.array([[e[i], e[i + 1]] for e, i in zip(edges, index, strict=True)]) for index in grid]


@pytest.mark.parametrize("name", REGIONS)
def test_every_region_implements_the_protocol(name: str) -> None:
    region, domain = REGIONS[name]
    d = len(domain.coordinates)
    found = region.sample(domain, COUNTS, np.random.default_rng(0))
    assert len(found.sites) == region.sites
    assert all(site.shape == found.normals.shape == (len(found), d) for site in found.sites)
    assert all(within(domain, site).all() for site in found.sites)
    assert region.mask(boundary_probes(domain)).shape == (4096,)
    assert region.mask(boundary_probes(domain)).any() == region.is_boundary
    assert region.isolated_points(domain).shape[1] == d
    assert isinstance(region.allows_time_stepping(domain), bool)
    assert region.describe(tuple(domain.coordinates), PlainNotation())
    assert region.holds(found.sites[0]).all()
    assert hash(region) is not None


@pytest.mark.parametrize("name", REGIONS)
def test_points_sampled_in_boxes_fill_the_region(name: str) -> None:
    region, domain = REGIONS[name]
    boxes = cells(domain, 3)
    found = [region.sample(domain, COUNTS, np.random.default_rng(0), box) for box in boxes]
    for box, sample in zip(boxes, found, strict=True):
        slack = 1e-8 * (box[:, 1] - box[:, 0])
        X = sample.sites[0]
        assert np.all((box[:, 0] - slack <= X) & (box[:, 1] + slack >= X))
        assert sample.normals.shape == X.shape
    sampled_in_cells = np.concatenate([sample.sites[0] for sample in found])
    sampled = region.sample(domain, COUNTS, np.random.default_rng(0)).sites[0]
    # Every point of the region has a close point among those sampled in the cells.
    distances = [np.abs(sampled_in_cells - p).max(axis=1).min() for p in sampled]
    assert max(distances) < 0.2


def test_each_single_point_belongs_to_one_cell() -> None:
    X = np.array([[a, b] for a in np.linspace(0, 1, 7) for b in np.linspace(-1, 2, 7)])
    found = [
        ScatteredPoints(X).sample(SQUARE, COUNTS, np.random.default_rng(0), box) for box in cells(SQUARE, 3)
    ]
    combined = np.concatenate([f.sites[0] for f in found])
    assert len(combined) == len(X)
    assert {tuple(p) for p in combined} == {tuple(p) for p in X}
    point = SinglePoint((1 / 3, 0.0), None)
    assert (
        sum(len(point.sample(SQUARE, COUNTS, np.random.default_rng(0), box)) for box in cells(SQUARE, 3)) == 1
    )


def test_scattered_points_have_normals_and_check_shapes() -> None:
    n = np.array([[1.0, 0.0]])
    region = ScatteredPoints([[1.0, 0.0]], n)
    assert region.has_normal
    assert (region.sample(SQUARE, COUNTS, np.random.default_rng(0)).normals == n).all()
    assert not ScatteredPoints([[1.0, 0.0]]).has_normal
    with pytest.raises(
        pibls.ProblemError, match=r"ScatteredPoints\(points\).*shape \(n, d\).*got shape \(2,\)"
    ):
        ScatteredPoints([1.0, 2.0])
    with pytest.raises(
        pibls.ProblemError, match=r"ScatteredPoints\(normals\).*shape \(1, 2\).*got shape \(2, 2\)"
    ):
        ScatteredPoints([[1.0, 2.0]], np.eye(2))


def test_number_of_boundary_points_is_independent_of_cell_size() -> None:
    """A cell at one side gets a quarter of the boundary points, however small it is."""
    for size in (0.5, 1e-3, 1e-6):
        box = np.array([[0.0, size], [0.3, 0.3 + size]])
        found = BoundaryPart().sample(SQUARE, COUNTS, np.random.default_rng(0), box)
        assert len(found) == COUNTS.boundary // 4
        assert (found.sites[0][:, 0] == 0.0).all()


def test_periodic_faces_are_sampled_in_the_cell_of_the_lower_face() -> None:
    region = PeriodicFaces(0, 0.0, 1.0)
    low = region.sample(SQUARE, COUNTS, np.random.default_rng(0), np.array([[0.0, 0.5], [0.0, 1.0]]))
    assert len(low) == 20
    assert (low.sites[0][:, 0] == 0.0).all()
    assert (low.sites[1][:, 0] == 1.0).all()
    assert (low.sites[0][:, 1] == low.sites[1][:, 1]).all()
    high = region.sample(SQUARE, COUNTS, np.random.default_rng(0), np.array([[0.5, 1.0], [0.0, 1.0]]))
    assert len(high) == 0
    assert len(high.sites) == 2


def test_slice_belongs_to_one_of_two_adjacent_boxes() -> None:
    region = Slice(0, 0.5)
    left, right = (
        region.sample(SQUARE, COUNTS, np.random.default_rng(0), np.array([[a, a + 0.5], [0.0, 1.0]]))
        for a in (0.0, 0.5)
    )
    assert len(left) == 0
    assert len(right) == 20


def test_zero_points_in_a_box_are_no_error() -> None:
    no_points = pibls.Points(10, 0, 0)
    box = np.array([[0.0, 0.5], [-1.0, 0.0]])
    for region in (BoundaryPart(), PeriodicFaces(0, 0.0, 1.0), Slice(0, 0.0)):
        assert len(region.sample(SQUARE, no_points, np.random.default_rng(0), box)) == 0
    with pytest.raises(pibls.ProblemError, match=r"points.boundary.*at least 1, for the condition here"):
        BoundaryPart().sample(SQUARE, no_points, np.random.default_rng(0), name="here")


def test_small_cell_at_the_boundary_has_interior_points() -> None:
    ring = Ring()
    for size in (1e-1, 1e-2):
        c = np.sqrt(0.5)
        box = np.array([[c - size, c + size], [c - size, c + size]])
        found = Interior().sample(ring, COUNTS, np.random.default_rng(0), box)
        assert len(found) == COUNTS.interior
        assert ring.contains(found.sites[0]).all()


def test_small_boundary_face_is_found() -> None:
    well, field = pibls.Disk((x, y), (0, 0), 0.01), pibls.Disk((x, y), (0, 0), 1000)
    assert BoundaryPart(owners=(well,)).mask(boundary_probes(field - well)).any()
    u = sp.Function("u")(x, y)
    ends = [pibls.Dirichlet(u, 0, on=sp.Eq(x, 0)), pibls.Dirichlet(u, 1, on=sp.Eq(x, 1)), pibls.Neumann(u, 0)]
    strip = pibls.Problem(pibls.Box({x: (0, 1), y: (0, 1e-6)}), [u.diff(x, 2) + u.diff(y, 2)], ends)
    assert all(isinstance(statement.region, BoundaryPart) for statement in strip.statements[1:])


def test_interior_curve_is_a_region() -> None:
    u = sp.Function("u")(x, y)
    circle = sp.Eq(x**2 + y**2, sp.Rational(1, 4))
    conditions = [pibls.Dirichlet(u, 0), pibls.Condition(u - 1, on=sp.And(circle, y > 0))]
    problem = pibls.Problem(SQUARE, [u.diff(x, 2) + u.diff(y, 2)], conditions)
    region = problem.statements[2].region
    X = region.sample(SQUARE, COUNTS, np.random.default_rng(0)).sites[0]
    assert len(X) > 4
    np.testing.assert_allclose(np.hypot(*X.T), 0.5, rtol=1e-12)
    assert (X >= 0).all()
    box = np.array([[0.3, 0.4], [0.3, 0.4]])
    inside = region.sample(SQUARE, COUNTS, np.random.default_rng(0), box).sites[0]
    assert len(inside) > 4
    assert np.all((box[:, 0] <= inside) & (box[:, 1] >= inside))
    assert "inside, where" in region.describe((x, y), PlainNotation())
    assert not region.allows_time_stepping(SQUARE)
    assert len(region.isolated_points(SQUARE)) > 10
    with pytest.raises(pibls.ProblemError, match="where the normal is defined"):
        pibls.Problem(SQUARE, [u.diff(x, 2) + u.diff(y, 2)], [conditions[0], pibls.Neumann(u, 1, on=circle)])


def test_regions_that_allow_time_stepping() -> None:
    line = pibls.Interval(t, 0, 1)
    assert Slice(0, 0.0).allows_time_stepping(line)
    assert not Slice(0, 0.5).allows_time_stepping(line)
    assert not BoundaryPart().allows_time_stepping(line)
    assert BoundaryPart().allows_time_stepping(TIMED)
    assert PeriodicFaces(0, 0.0, 1.0).allows_time_stepping(TIMED)
    assert not SinglePoint((0.0, 0.0, 1.0), None).allows_time_stepping(TIMED)
    assert SinglePoint((0.0, 0.0, None), None).allows_time_stepping(TIMED)


def test_defaults_for_a_user_defined_domain() -> None:
    disk = UserDefinedDisk()
    assert space_of(disk) is disk
    assert time_of(disk) is None
    assert leaves_of(disk) == (disk,)
    assert with_range(disk, 1, 0.0, 1.0) is None
    assert not is_box(disk)
    assert not faces_of(disk)[0].has_chart


def test_range_of_time_can_be_restricted() -> None:
    part = with_range(TIMED, 2, 0.5, 1.0)
    assert part is not None
    assert box_of(part)[-1].tolist() == [0.5, 1.0]
    line = with_range(pibls.Interval(t, 0, 1), 0, 0.0, 0.25)
    assert line == pibls.Interval(t, 0, 0.25)
    assert with_range(TIMED, 0, 0.0, 0.5) is None
    assert with_range(pibls.Disk((x, y), (0, 0), 1), 0, 0.0, 1.0) is None
    square = with_range(SQUARE, 1, 0.25, 0.5)
    assert square is not None
    assert box_of(square)[1].tolist() == [0.25, 0.5]
    assert leaves_of(TIMED) == (SQUARE,)


def test_planes_and_normals_of_box_faces() -> None:
    faces = faces_of(TIMED)
    assert [f.plane() for f in faces] == [(0, 0.0), (0, 1.0), (1, -1.0), (1, 2.0)]
    normals = faces[0].normals(np.zeros((1, 3)))
    assert normals is not None
    assert normals.tolist() == [[-1.0, 0.0, 0.0]]
    assert [p.measure(np.ones(3)) for p in faces[0].clipped(np.array([[0, 1], [0, 1], [0, 0.5]]))] == [0.5]
    assert faces[0].clipped(np.array([[0.5, 1], [0, 1], [0, 0.5]])) == ()
    assert (
        faces[1].clipped(np.array([[1.0, 2], [0, 1], [0, 0.5]])) == ()
    )  # the box is on the outer side of the face
