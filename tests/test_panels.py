"""Factorizations in panels: the same factors as one LAPACK call, with deadline checks between panels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import linalg
from scipy.linalg import lapack

from pibls.arrays import Array, Numbers
from pibls.linalg import PivotedQR, RidgeQR, panels
from pibls.linalg.streamed_matrix import StreamedMatrix
from pibls.runtime.deadline import OutOfTimeError, deadline


def random(rows: int, columns: int, seed: int = 0) -> Array:
    return np.asfortranarray(np.random.default_rng(seed).standard_normal((rows, columns)))


@pytest.fixture
def small_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the operation limits so that small matrices are factored in several panels."""
    monkeypatch.setattr(panels, "OPERATIONS_BETWEEN_CHECKS", 1e5)
    monkeypatch.setattr(panels, "MAX_OPERATIONS_ONE_CALL", 1e5)
    monkeypatch.setattr(panels, "_WIDTH", 32)


def is_close(found: Array, expected: Array) -> bool:
    return bool(np.abs(found - expected).max() <= 1e-13 * np.abs(expected).max())


@pytest.mark.parametrize("shape", [(300, 150), (300, 128), (60, 150)])
@pytest.mark.usefixtures("small_panels")
def test_panels_give_the_factors_of_one_call(shape: tuple[int, int]) -> None:
    """The routines that apply one factorization can therefore apply the other."""
    m, block = shape[1], 16
    triangle = np.triu(random(m, m, 1))
    R, V, T, _ = lapack.dtpqrt(0, block, triangle, random(*shape))
    found = panels.tpqrt(triangle.copy(order="F"), random(*shape), block)
    assert is_close(np.triu(found[0]), np.triu(R))
    assert is_close(found[1], V)
    for start in range(0, m, block):  # only the upper triangle of each block is used
        some = slice(start, min(start + block, m))
        assert is_close(np.triu(found[2][: some.stop - start, some]), np.triu(T[: some.stop - start, some]))
    above, below = random(m, 40, 2), random(shape[0], 40, 3)
    for trans in "NT":
        one = lapack.dtpmqrt(0, V, T, above, below, trans=trans)
        several = panels.tpmqrt(V, T, above.copy(order="F"), below.copy(order="F"), trans)
        assert is_close(several[0], one[0])
        assert is_close(several[1], one[1])
    for number in (0, 1):
        assert is_close(panels.trtrs(R, above, number), lapack.dtrtrs(R, above, trans=number)[0])


@pytest.mark.usefixtures("small_panels")
def test_geqrf_of_a_tall_matrix() -> None:
    A = random(400, 150)
    reflectors, tau, _, _ = lapack.dgeqrf(A)
    found = panels.geqrf(A.copy(order="F"), 64 * 150)
    assert is_close(found[0], reflectors)
    assert is_close(found[1], tau)


@pytest.mark.usefixtures("small_panels")
def test_qr_of_a_tall_matrix() -> None:
    A = random(400, 150)
    Q, R = panels.qr(A)
    expected = linalg.qr(A, mode="economic")
    assert is_close(Q, expected[0])
    assert is_close(R, expected[1])


@pytest.mark.parametrize("imaginary", [0.0, 1.0j])
@pytest.mark.usefixtures("small_panels")
def test_lu_of_a_square_matrix(imaginary: complex) -> None:
    A: Numbers = random(150, 150)
    if imaginary:
        A = np.asarray(A + imaginary * random(150, 150, 1), dtype=np.complex128)
    lu, pivots = panels.lu_factor(A)
    expected = linalg.lu_factor(A)
    assert np.array_equal(pivots, expected[1])
    assert np.abs(lu - expected[0]).max() < 1e-11
    x = np.arange(150.0)
    assert np.allclose(linalg.lu_solve((lu, pivots), A @ x), x, rtol=1e-9)


FACTORED: dict[str, Callable[[Array], Any]] = {
    "ridge": lambda A: RidgeQR().factor(A),
    "pivoted": lambda A: PivotedQR().factor(A),
    "streamed": lambda A: RidgeQR().factor(StreamedMatrix(A.shape, lambda: iter([A[:200], A[200:]]))),
}


@pytest.mark.parametrize("name", FACTORED)
@pytest.mark.usefixtures("small_panels")
def test_deadline_is_checked_between_panels(name: str) -> None:
    checks = 0

    def check(_: str) -> None:
        nonlocal checks
        checks += 1
        if checks == 5:
            raise OutOfTimeError

    A = random(400, 150)
    with deadline(check), pytest.raises(OutOfTimeError):
        FACTORED[name](A).apply(A[:, 0])
    b = A @ np.arange(150.0)
    assert np.allclose(FACTORED[name](A).apply(b), np.arange(150.0), rtol=1e-9, atol=1e-9)


def test_small_factorization_is_one_call() -> None:
    with deadline(lambda step: pytest.fail(f"checked: {step}")):
        panels.tpqrt(np.eye(100, order="F"), random(200, 100), 16)
