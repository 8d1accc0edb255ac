"""A short fuzz run of everything that is read from files; `benchmarks.fuzz_files` is the long one."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
import sympy as sp
from benchmarks.fuzz_files import run

import pibls


@pytest.mark.parametrize(
    ("name", "count"), [("shapes", 200), ("solutions", 60), ("tables", 100), ("arguments", 200)]
)
def test_inputs_are_read_or_rejected(name: str, count: int) -> None:
    tally = run(name, count, seed=1)
    assert tally.inputs == count
    assert tally.read > 0
    assert not tally.crashes, tally.report()
    assert not tally.hangs, tally.report()


@pytest.mark.parametrize("path", [None, 3, b"a.svg", ["a.svg"], np.zeros(2)])
def test_read_shape_rejects_invalid_paths(path: object) -> None:
    with pytest.raises(pibls.ProblemError, match=r"read_shape\(path\): expected a file name"):
        pibls.read_shape(cast(Any, path))


def test_read_shape_rejects_a_name_with_a_null_character() -> None:
    with pytest.raises(pibls.ProblemError, match="a file that can be read"):
        pibls.read_shape("a\0.svg")


def test_solid_does_not_contain_a_distant_point() -> None:
    P = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    solid = pibls.Solid(sp.symbols("x y z"), P[[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]])
    np.testing.assert_array_equal(solid.contains(np.array([[9.0, 9.0, 9.0]])), [False])


def test_integers_beyond_floating_point_are_rejected() -> None:
    x = sp.Symbol("x")
    u = sp.Function("u")(x)
    with pytest.raises(pibls.ProblemError, match=r"Data\(values\): expected real numbers"):
        pibls.Data(u, {x: [0.5]}, [10**400])
