"""Examples of the gallery: the true error is below tolerance and estimate, in Python and in TOML."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pibls
from pibls.io import read_problem

GALLERY = Path(__file__).resolve().parents[1] / "docs" / "gallery"


def _common() -> Any:
    """Import docs/gallery/common.py, which is not in a package."""
    spec = importlib.util.spec_from_file_location("gallery_common", GALLERY / "common.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


common = _common()
NAMES = common.names()


@cache
def solved(name: str) -> pibls.Solution:
    solution: pibls.Solution = common.example(name).solve()
    return solution


def test_gallery_has_at_least_twenty_examples() -> None:
    assert len(NAMES) >= 20


@pytest.mark.parametrize("name", NAMES)
def test_error_is_below_tolerance_and_estimate(name: str) -> None:
    example, solution = common.example(name), solved(name)
    assert solution.converged, solution.message
    measured = common.true_error(example, solution)
    assert measured.error <= 3 * example.tol * measured.magnitude
    assert measured.error <= solution.error.max


@pytest.mark.parametrize("name", [n for n in NAMES if (GALLERY / f"{n}.toml").exists()])
def test_problem_file_gives_the_same_solution(name: str) -> None:
    """Equal within the tolerance: rounding may lead to another width."""
    example, from_python = common.example(name), solved(name)
    file = read_problem(example.toml)
    assert file.tol == example.tol
    from_file = pibls.solve(file.problem, **file.settings)
    assert from_file.converged == from_python.converged
    points = common.fresh_points(example.problem, 200)
    for u in example.problem.unknowns:
        a, b = from_python[u](*points), from_file[str(u.func)](*points)
        np.testing.assert_allclose(b, a, rtol=0, atol=example.tol * np.max(np.abs(a)))


@pytest.mark.parametrize("name", NAMES)
def test_docstring_starts_with_the_equation(name: str) -> None:
    example = common.example(name)
    first = example.text.splitlines()[0]
    assert ":" in first
    assert any(sign in first for sign in "=≥")
    assert len(example.title) < 50
