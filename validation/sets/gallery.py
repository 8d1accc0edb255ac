"""The examples of docs/gallery."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import pibls
from pibls.arrays import Array
from validation.entry import Entry, References

GALLERY = Path(__file__).resolve().parents[2] / "docs" / "gallery"


def _common() -> Any:
    if str(GALLERY) not in sys.path:
        sys.path.insert(0, str(GALLERY))
    return import_module("common")


def _problem(name: str) -> pibls.Problem:
    problem: pibls.Problem = _common().example(name).problem
    return problem


def _references(name: str) -> References:
    common = _common()
    example = common.example(name)
    return {str(u.func): common.exact_function(example, u) for u in example.exact}


def _points(problem: pibls.Problem, seed: int) -> Array:
    return np.column_stack(_common().fresh_points(problem))


def entries() -> Iterator[Entry]:
    """Yield the examples in the order of their names."""
    common = _common()
    for name in common.names():
        yield Entry(
            name=name,
            set="gallery",
            build=partial(_problem, name),
            references=partial(_references, name),
            tol=common.example(name).tol,
            points=_points,
        )
