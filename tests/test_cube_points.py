"""Point rules on the unit cube: Sobol (compared with SciPy), Halton, tensor grids, Latin hypercubes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import qmc

from pibls.arrays import Array
from pibls.basis.cube_points import (
    CLOSED_RULES,
    RULES,
    chebyshev,
    check_rule,
    closed_grid,
    grid,
    halton,
    lhs,
    lobatto,
    sobol,
)
from pibls.errors import ProblemError

RANDOM_RULES = ["sobol", "halton", "uniform", "lhs"]
TENSOR_RULES = ["grid", "chebyshev"]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("d", [*range(1, 15), 40])
@pytest.mark.parametrize("n", [1, 2, 3, 64, 1000])
def test_sobol_equals_scipy_up_to_a_digital_shift(n: int, d: int) -> None:
    """As 32-bit integers the two differ by one XOR per coordinate, the same for every point."""
    ours = sobol(n, d, rng()) * 2.0**32 - 0.5
    assert (ours == np.round(ours)).all()
    with np.errstate(all="ignore"):
        theirs = qmc.Sobol(d, scramble=False, bits=32).random(1024)[:n] * 2.0**32
    assert (theirs == np.round(theirs)).all()
    shift = ours.astype(np.uint64) ^ theirs.astype(np.uint64)
    np.testing.assert_array_equal(shift, np.broadcast_to(shift[0], (n, d)))


@pytest.mark.parametrize("d", [1, 2, 5, 12, 13, 30])
def test_sobol_is_stratified(d: int) -> None:
    """Each of 2^m slabs in every coordinate contains one of 2^m points; a digital shift preserves this."""
    for seed in range(3):
        slabs = np.sort(np.floor(256 * sobol(256, d, rng(seed))), axis=0)
        np.testing.assert_array_equal(slabs, np.repeat(np.arange(256.0)[:, None], d, axis=1))


def radical_inverse(i: int, base: int) -> float:
    digits, value, weight = i, 0.0, 1.0
    while digits:
        weight /= base
        value += weight * (digits % base)
        digits //= base
    return value


def test_halton_is_the_radical_inverse_up_to_a_shift() -> None:
    U = halton(40, 15, rng())
    for j, base in enumerate((2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)):
        shift = (U[:, j] - [radical_inverse(i, base) for i in range(1, 41)]) % 1.0
        # Distance on the circle: 0 and 1 are the same shift.
        assert np.abs((shift - shift[0] + 0.5) % 1.0 - 0.5).max() < 1e-14


@pytest.mark.parametrize("d", [1, 2, 3, 6, 14])
@pytest.mark.parametrize("n", [1, 7, 100])
@pytest.mark.parametrize("name", RANDOM_RULES)
def test_rules_give_n_points_of_the_cube(name: str, n: int, d: int) -> None:
    for seed in range(3):
        U = RULES[name](n, d, rng(seed))
        assert U.shape == (n, d)
        assert U.dtype == np.float64
        assert (U >= 0.0).all()
        assert (U <= 1.0).all()
        assert len(np.unique(U, axis=0)) == n


@pytest.mark.parametrize("name", RANDOM_RULES)
def test_rules_fill_the_cube_evenly(name: str) -> None:
    """Mean ½ and variance 1/12 in each coordinate, no correlation between two."""
    U = RULES[name](4096, 3, rng())
    assert np.abs(U.mean(axis=0) - 0.5).max() < 0.02
    assert np.abs(12 * U.var(axis=0) - 1.0).max() < 0.05
    assert np.abs(np.corrcoef(U.T) - np.eye(3)).max() < 0.05


@pytest.mark.parametrize("name", RULES)
def test_same_seed_same_points(name: str) -> None:
    first, repeated, other = (RULES[name](60, 2, rng(seed)) for seed in (4, 4, 5))
    np.testing.assert_array_equal(first, repeated)
    # Grids are deterministic; all other rules depend on the seed.
    assert np.array_equal(first, other) == (name in TENSOR_RULES)


@pytest.mark.parametrize("name", RULES)
def test_rules_in_dimension_zero(name: str) -> None:
    """The boundary of an interval consists of two points, cubes of dimension 0."""
    for rules in (RULES, CLOSED_RULES):
        assert rules[name](5, 0, rng()).shape == (5, 0)


@pytest.mark.parametrize("name", TENSOR_RULES)
@pytest.mark.parametrize(
    ("n", "d", "size"),
    [
        (10, 1, 10),
        (9, 2, 9),
        (11, 2, 9),
        (12, 2, 12),
        (64, 3, 64),
        (63, 3, 60),
        (1, 3, 1),
        (3, 2, 3),
        (35, 2, 35),
        (100, 2, 100),
    ],
)
def test_tensor_grids_are_the_largest_that_fit(name: str, n: int, d: int, size: int) -> None:
    """No larger grid fits, and sides are nearly equal: 63 points in 3D give 5 × 4 × 3, not 7 × 3 × 3."""
    for rules in (RULES, CLOSED_RULES):
        U = rules[name](n, d, rng())
        assert U.shape == (size, d)
        sides = [len(np.unique(U[:, j])) for j in range(d)]
        assert int(np.prod(sides)) == size
        assert max(sides) - min(sides) <= 2
        assert all(size // side * (side + 1) > n for side in sides)
        assert len(np.unique(U, axis=0)) == size


def column(U: Array) -> Array:
    return np.unique(U[:, 0])


def test_grid_points_are_midpoints() -> None:
    np.testing.assert_allclose(column(grid(16, 2, rng())), [0.125, 0.375, 0.625, 0.875], rtol=1e-15)


def test_chebyshev_points_are_the_roots_of_the_polynomial() -> None:
    """T₇(2u - 1) = 0 at each of seven nodes."""
    roots = column(chebyshev(49, 2, rng()))
    assert len(roots) == 7
    values = np.polynomial.chebyshev.chebval(2 * roots - 1, [0] * 7 + [1])
    assert np.abs(values).max() < 1e-14


def test_closed_rules_include_the_faces() -> None:
    np.testing.assert_allclose(column(closed_grid(25, 2, rng())), [0, 0.25, 0.5, 0.75, 1], atol=1e-16)
    ends = column(lobatto(25, 2, rng()))
    assert ends[0] == 0.0
    assert ends[-1] == 1.0
    # Interior nodes are the extrema of T₄: |T₄| = 1 at all of them.
    values = np.polynomial.chebyshev.chebval(2 * ends - 1, [0] * 4 + [1])
    np.testing.assert_allclose(np.abs(values), 1.0, rtol=1e-14)
    for name in TENSOR_RULES:
        inner, single = RULES[name](25, 2, rng()), CLOSED_RULES[name](1, 2, rng())
        assert inner.min() > 0.0
        assert inner.max() < 1.0
        np.testing.assert_array_equal(single, [[0.5, 0.5]])


@pytest.mark.parametrize(("n", "d"), [(1, 1), (10, 2), (37, 5)])
def test_lhs_has_one_point_in_every_slab(n: int, d: int) -> None:
    for seed in range(3):
        slabs = np.floor(n * lhs(n, d, rng(seed)))
        for j in range(d):
            np.testing.assert_array_equal(np.sort(slabs[:, j]), np.arange(n))


def test_unknown_rule_is_rejected_with_the_valid_ones() -> None:
    assert check_rule("lhs", "Points(rule)") == "lhs"
    with pytest.raises(ProblemError, match=r"Points\(rule\): expected one of 'sobol', .*got 'random'"):
        check_rule("random", "Points(rule)")
