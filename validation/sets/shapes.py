"""Problems on shapes, systems of equations and many dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from benchmarks.shape_problems import ENTRIES
from benchmarks.shape_problems import Entry as Shape

import pibls
from pibls.arrays import Array
from validation.entry import Entry, Reference, References, Samples


def _problem(shape: Shape) -> pibls.Problem:
    return shape.build()[0]


def _references(shape: Shape) -> References:
    found: dict[str, Reference] = {}
    for name, reference in shape.build()[1].items():
        if isinstance(reference, tuple):
            found[name] = Samples(*reference)
        elif reference is not None:
            found[name] = reference
    return found


def points(problem: pibls.Problem, seed: int) -> Array:
    """Return points inside and on the boundary."""
    rng = np.random.default_rng(1234)
    return np.concatenate([problem.domain.interior(3000, rng), problem.domain.boundary(1000, rng).points])


def entries() -> Iterator[Entry]:
    """Yield the problems in a fixed order."""
    for shape in ENTRIES:
        yield Entry(
            name=shape.name,
            set="shapes",
            build=partial(_problem, shape),
            references=partial(_references, shape),
            tol=shape.tol,
            settings=shape.settings,
            required=shape.goal,
            points=points,
        )
