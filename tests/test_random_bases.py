"""Random Fourier features, ridges and joined bases: distribution, derivatives and scale."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import roots_jacobi

import pibls
from pibls.arrays import Array
from pibls.basis import BasisSpec, jet
from pibls.basis.polynomials.quadrature import jacobi_nodes
from pibls.basis.scale import TABLE, WIDTHS, rank_fraction, scale_for
from pibls.basis.sincos import cos_and_sin, from_table, from_tangent

BOX = np.array([[0.0, 2.0], [-1.0, 0.5]])
SPECS: list[BasisSpec] = [
    pibls.Waves(21, scale=5.0),
    pibls.Waves(20, scale=(8.0, 2.0), groups=(((0,), 6, 9.0), ((0, 1), 4, 3.0))),
    pibls.Ridges(15, 8.0, ((0.5, 0.0), (1.5, -0.5))),
    pibls.Joined((pibls.Waves(10, scale=4.0), pibls.Ridges(7, 5.0, ((1.0, 0.0),)))),
    pibls.Features(12, scale=3.0, activation="gaussian"),
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: type(s).__name__)
def test_derivatives_agree_with_finite_differences(spec: BasisSpec) -> None:
    basis = spec.draw(BOX, np.random.default_rng(0))
    assert basis.size == spec.size
    X = np.random.default_rng(1).uniform(BOX[:, 0], BOX[:, 1], (9, 2))
    h = 1e-4
    for alpha in ((0, 0), (1, 0), (2, 1), (0, 3)):
        for axis in (0, 1):
            step = h * np.eye(2)[axis]
            higher = tuple(a + (i == axis) for i, a in enumerate(alpha))
            numeric = (jet(basis, X + step, alpha) - jet(basis, X - step, alpha)) / (2 * h)
            exact = jet(basis, X, higher)
            assert np.abs(numeric - exact).max() <= 1e-5 * np.abs(exact).max()
            assert exact.flags.f_contiguous


def test_frequencies_are_within_the_scale() -> None:
    basis = pibls.Waves(400, scale=(8.0, 2.0)).draw(BOX, np.random.default_rng(0))
    w = basis.frequencies
    assert np.all((w[0] / 8.0) ** 2 + (w[1] / 2.0) ** 2 <= 1.0 + 1e-12)
    assert np.abs(w[0]).max() > 6.0


@pytest.mark.parametrize("dimension", range(1, 6))
def test_groups_use_one_or_two_coordinates(dimension: int) -> None:
    from pibls.basis.random_fourier import coordinate_subsets

    assert all(1 <= len(c) <= 2 for c in coordinate_subsets(dimension))


@pytest.mark.parametrize("nodes", [48, 128, 300])
@pytest.mark.parametrize("kind", ["waves", "tanh"])
def test_scale_gives_the_intended_rank(kind: str, nodes: int) -> None:
    """In two dimensions, the numerical rank is near 0.8 N, also between the widths of the table."""
    assert rank_fraction(kind, nodes, 2, scale_for(kind, nodes, 2), seed=5) == pytest.approx(0.8, abs=0.13)


def test_scale_increases_with_width_and_is_computed_without_a_table() -> None:
    for kind, d in TABLE:
        radii = [scale_for(kind, n, d) for n in (40, *WIDTHS[1:], 2048, 4000)]
        assert all(b >= a for a, b in pairwise(radii))
    assert 0.05 < scale_for("sigmoid", 128, 2) < 5.0


def test_number_of_scales_must_match_the_dimension() -> None:
    with pytest.raises(pibls.ProblemError, match="one for each of the 2 coordinates"):
        pibls.Waves(10, scale=(1.0, 2.0, 3.0)).draw(BOX, np.random.default_rng(0))


@pytest.mark.parametrize("fill", [from_table, from_tangent])
def test_cosine_and_sine_are_accurate_to_rounding(fill: Callable[[Array, Array, Array], None]) -> None:
    angles = np.concatenate(
        [[0.0, np.pi / 2, np.pi, -np.pi], np.random.default_rng(0).uniform(-300, 300, 20_000)]
    )
    cosine, sine = np.empty_like(angles), np.empty_like(angles)
    fill(angles, cosine, sine)
    exact = angles.astype(np.longdouble)
    assert np.abs(cosine - np.cos(exact)).max() < 5e-16
    assert np.abs(sine - np.sin(exact)).max() < 5e-16


def test_cosine_and_sine_of_huge_angles_and_nan() -> None:
    angles = np.array([[1e12, -3e7], [np.nan, 2.0]])
    cosine, sine = cos_and_sin(angles)
    np.testing.assert_array_equal(cosine, np.cos(angles))
    np.testing.assert_array_equal(sine, np.sin(angles))


@pytest.mark.parametrize(("a", "b"), [(1, 0), (0, 1), (1, 1)])
def test_radau_and_lobatto_nodes(a: int, b: int) -> None:
    """The nodes agree with SciPy's up to rounding."""
    for n in (1, 2, 7, 40):
        expected = roots_jacobi(n, float(a), float(b))[0]
        np.testing.assert_allclose(jacobi_nodes(n, a, b), expected, rtol=0, atol=3e-16)
    assert jacobi_nodes(0, a, b).shape == (0,)
