r"""u_t = ∂ₓ((D + E u/K) ∂ₓu) + r u (1 - u/K): cells that close a scratch, measured six times.

PC-3 cells, placed at six densities; three replicates each, 38 strips of 50 µm, every 12 hours (for their
source see `data/README.md`). As in the publications the first strip is left out, nothing passes the two
ends, and the mean of the replicates at t = 0 is the beginning: the cosines through these means, which have no
slope at the ends either.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import sympy as sp

from pibls.arrays import Array
from pibls.domain import Interval
from pibls.fitting.data import Data
from pibls.problem import Initial, Neumann, Problem

INITIAL_CELLS = (10_000, 12_000, 14_000, 16_000, 18_000, 20_000)
PUBLISHED = {
    10_000: (310.0, 0.044),
    12_000: (250.0, 0.044),
    14_000: (720.0, 0.048),
    16_000: (570.0, 0.049),
    18_000: (760.0, 0.054),
    20_000: (1030.0, 0.064),
}
"""D in µm²/h and r in 1/h, as published for each."""
CAPACITY = 1.7e-3
"""K in cells per µm²."""

x, t = sp.symbols("x t")
u = sp.Function("u")(x, t)
D, E, r, K = sp.symbols("D E r K")
g = sp.Function("g")
"""The rate of growth at a density, in 1/h."""


@cache
def table() -> Array:
    """(rows, 6): cells placed, x, t, and the density in three replicates; without the first strip."""
    text = (files("pibls.cases") / "data" / "scratch_assay.csv").read_text(encoding="utf-8")
    rows = np.array([[float(v) for v in row] for row in list(csv.reader(text.splitlines()))[1:]])
    return np.asarray(rows[rows[:, 1] > rows[:, 1].min()])


def of(cells: int) -> Array:
    """The rows of one experiment: x, t and three densities."""
    rows = table()
    if cells not in INITIAL_CELLS:
        raise KeyError(f"no experiment with {cells} cells: there are {', '.join(map(str, INITIAL_CELLS))}")
    return np.asarray(rows[rows[:, 0] == cells, 1:])


def beginning(cells: int) -> sp.Expr:
    """Σ c_k cos(kπ(x - a)/(b - a)) through the means of the replicates at t = 0."""
    from scipy.fft import dct

    rows = of(cells)
    first = rows[rows[:, 1] == 0]
    c = dct(first[:, 2:].mean(axis=1), type=1) / (len(first) - 1)
    c[[0, -1]] /= 2
    a, b = first[0, 0], first[-1, 0]
    s = sp.pi * (x - sp.Integer(int(a))) / sp.Integer(int(b - a))
    return sp.Add(*(sp.Float(v) * sp.cos(k * s) for k, v in enumerate(c)))


def problem(cells: int, *, crowding: bool = False, law: bool = False) -> Problem:
    """Fisher and KPP's equation; with ``crowding`` the cells spread by D + E u/K.

    With ``law`` they grow by u g(u), where the rate g is a function to be asked for, not r (1 - u/K).
    """
    rows = of(cells)
    ends = rows[:, 0].min(), rows[:, 0].max()
    spread = D + E * u / K if crowding else D
    growth = u * g(u) if law else r * u * (1 - u / K)
    equation = sp.Eq(u.diff(t), (spread * u.diff(x)).diff(x) + growth)
    values: dict[Any, Any] = {D: 600.0, r: 0.05, K: CAPACITY}
    if law:
        del values[r]
        values[g(u)] = 0.05 * (1 - u / CAPACITY)
        if not crowding:
            del values[K]
    return Problem(
        Interval(x, *ends).during(t, 0, rows[:, 1].max()),
        [equation],
        [Neumann(u, 0), Initial(u, beginning(cells))],
        {**values, E: 100.0} if crowding else values,
    )


def data(cells: int) -> Data:
    """All replicates after t = 0, with a noise that is to be estimated."""
    rows = of(cells)
    later = rows[rows[:, 1] > 0]
    return Data(u, {x: later[:, 0], t: later[:, 1]}, later[:, 2:].T)
