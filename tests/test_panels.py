"""Factorisations in panels: the same factors as one call of LAPACK, with the deadline checked on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import linalg
from scipy.linalg import lapack

from pibls.arrays import Array
from pibls.deadline import OutOfTimeError, asked
from pibls.linalg import PivotedQR, RidgeQR, panels
from pibls.linalg.rows import Rows


def random(rows: int, columns: int, seed: int = 0) -> Array:
    return np.asfortranarray(np.random.default_rng(seed).standard_normal((rows, columns)))


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A moment that even small matrices take longer than."""
    monkeypatch.setattr(panels, "MOMENT", 1e5)
    monkeypatch.setattr(panels, "LONG", 1e5)
    monkeypatch.setattr(panels, "_WIDTH", 32)


def close(found: Array, wanted: Array) -> bool:
    return bool(np.abs(found - wanted).max() <= 1e-13 * np.abs(wanted).max())


@pytest.mark.parametrize("shape", [(300, 150), (300, 128), (60, 150)])
@pytest.mark.usefixtures("short")
def test_panels_have_the_factors_of_one_call(shape: tuple[int, int]) -> None:
    """So that what applies the one applies the other, too."""
    m, block = shape[1], 16
    triangle = np.triu(random(m, m, 1))
    R, V, T, _ = lapack.dtpqrt(0, block, triangle, random(*shape))
    found = panels.tpqrt(triangle.copy(order="F"), random(*shape), block)
    assert close(np.triu(found[0]), np.triu(R))
    assert close(found[1], V)
    for start in range(0, m, block):  # of each block the triangle counts
        some = slice(start, min(start + block, m))
        assert close(np.triu(found[2][: some.stop - start, some]), np.triu(T[: some.stop - start, some]))
    above, below = random(m, 40, 2), random(shape[0], 40, 3)
    for trans in "NT":
        one = lapack.dtpmqrt(0, V, T, above, below, trans=trans)
        several = panels.tpmqrt(V, T, above.copy(order="F"), below.copy(order="F"), trans)
        assert close(several[0], one[0])
        assert close(several[1], one[1])
    for number in (0, 1):
        assert close(panels.trtrs(R, above, number), lapack.dtrtrs(R, above, trans=number)[0])


@pytest.mark.usefixtures("short")
def test_reflectors_of_a_tall_matrix() -> None:
    A = random(400, 150)
    reflectors, tau, _, _ = lapack.dgeqrf(A)
    found = panels.geqrf(A.copy(order="F"), 64 * 150)
    assert close(found[0], reflectors)
    assert close(found[1], tau)


@pytest.mark.usefixtures("short")
def test_orthonormal_columns_of_a_tall_matrix() -> None:
    A = random(400, 150)
    Q, R = panels.qr(A)
    wanted = linalg.qr(A, mode="economic")
    assert close(Q, wanted[0])
    assert close(R, wanted[1])


@pytest.mark.parametrize("imaginary", [0.0, 1.0j])
@pytest.mark.usefixtures("short")
def test_triangles_of_a_square_matrix(imaginary: complex) -> None:
    A = random(150, 150) + (imaginary * random(150, 150, 1) if imaginary else 0.0)
    lu, pivots = panels.lu_factor(A)
    wanted = linalg.lu_factor(A)
    assert np.array_equal(pivots, wanted[1])
    assert np.abs(lu - wanted[0]).max() < 1e-11
    x = np.arange(150.0)
    assert np.allclose(linalg.lu_solve((lu, pivots), A @ x), x, rtol=1e-9)


FACTORED: dict[str, Callable[[Array], Any]] = {
    "ridge": lambda A: RidgeQR().factor(A),
    "pivoted": lambda A: PivotedQR().factor(A),
    "streamed": lambda A: RidgeQR().factor(Rows(A.shape, lambda: iter([A[:200], A[200:]]))),
}


@pytest.mark.parametrize("name", FACTORED)
@pytest.mark.usefixtures("short")
def test_the_deadline_is_checked_on_the_way(name: str) -> None:
    checks = 0

    def check(_: str) -> None:
        nonlocal checks
        checks += 1
        if checks == 5:
            raise OutOfTimeError

    A = random(400, 150)
    with asked(check), pytest.raises(OutOfTimeError):
        FACTORED[name](A).apply(A[:, 0])
    b = A @ np.arange(150.0)
    assert np.allclose(FACTORED[name](A).apply(b), np.arange(150.0), rtol=1e-9, atol=1e-9)


def test_a_factorisation_of_a_moment_is_one_call() -> None:
    with asked(lambda step: pytest.fail(f"checked: {step}")):
        panels.tpqrt(np.eye(100, order="F"), random(200, 100), 16)
