r"""Scratch assay data and the Fisher-KPP equation u_t = ∂ₓ((D + E u/K) ∂ₓu) + r u (1 - u/K).

PC-3 cells at six initial densities, with three replicates each: 38 strips of 50 µm, every 12 hours (for the
source see `data/README.md`).

`problem` and `data` are for fits. As in the publications, the first strip is omitted and there is no flux
at the two ends. The initial state is the cosine interpolant of the mean of the replicates at t = 0, which
has zero slope at the ends. `forward` reproduces the run of the authors of PIBLS, with all strips, 0 ≤ x ≤
1950 µm, and linear interpolation of the initial state.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import sympy as sp

from pibls.arrays import Array
from pibls.assembly.points import Points
from pibls.basis import Broad
from pibls.expressions import Number, Parameter, Unknown
from pibls.geometry import Interval
from pibls.inverse.data import Data
from pibls.nonlinear import NLSQPerturb, TrustRegion
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
"""Published D in µm²/h and r in 1/h for each number of cells."""
CAPACITY = 1.7e-3
"""K in cells per µm²."""
TIMES = (12.0, 24.0, 36.0, 48.0)
"""Hours after t = 0 at which cells were counted."""
REPLICATES = (1, 2, 3)

x, t = sp.symbols("x t")
u = sp.Function("u")(x, t)
D, E, r, K = sp.symbols("D E r K")
g = sp.Function("g")
"""Per-capita growth rate as a function of the density, in 1/h."""


@cache
def all_strips() -> Array:
    """Return all measurements, (rows, 6): initial number of cells, x, t, and three densities."""
    text = (files("pibls.cases") / "data" / "scratch_assay.csv").read_text(encoding="utf-8")
    return np.array([[float(v) for v in row] for row in list(csv.reader(text.splitlines()))[1:]])


@cache
def included_strips() -> Array:
    """Return the rows of `all_strips` without the first strip."""
    rows = all_strips()
    return np.asarray(rows[rows[:, 1] > rows[:, 1].min()])


def experiment(cells: int) -> Array:
    """Return the rows of one experiment: x, t and three densities."""
    rows = included_strips()
    if cells not in INITIAL_CELLS:
        raise KeyError(f"no experiment with {cells} cells: there are {', '.join(map(str, INITIAL_CELLS))}")
    return np.asarray(rows[rows[:, 0] == cells, 1:])


def initial_density(cells: int, replicates: Sequence[int] = REPLICATES) -> sp.Expr:
    """Return Σ c_k cos(kπ(x - a)/(b - a)), which interpolates the means of the replicates at t = 0."""
    from scipy.fft import dct

    rows = experiment(cells)
    first = rows[rows[:, 1] == 0]
    c = dct(densities(first, replicates).mean(axis=1), type=1) / (len(first) - 1)
    c[[0, -1]] /= 2
    a, b = first[0, 0], first[-1, 0]
    s = sp.pi * (x - sp.Integer(int(a))) / sp.Integer(int(b - a))
    return sp.Add(*(sp.Float(v) * sp.cos(k * s) for k, v in enumerate(c)))


def problem(
    cells: int, *, crowding: bool = False, law: bool = False, replicates: Sequence[int] = REPLICATES
) -> Problem:
    """Return the Fisher-KPP problem; with ``crowding`` the diffusivity is D + E u/K instead of D.

    With ``law`` the growth term is u g(u), with a function g as a parameter instead of r (1 - u/K).
    The initial state is the mean of these ``replicates`` (1, 2, 3).
    """
    rows = experiment(cells)
    ends = rows[:, 0].min(), rows[:, 0].max()
    spread = D + E * u / K if crowding else D
    growth = u * g(u) if law else r * u * (1 - u / K)
    equation = sp.Eq(u.diff(t), (spread * u.diff(x)).diff(x) + growth)
    values: dict[Parameter | Unknown, Number] = {D: 600.0, r: 0.05, K: CAPACITY}
    if law:
        del values[r]
        values[g(u)] = 0.05 * (1 - u / CAPACITY)
        if not crowding:
            del values[K]
    return Problem(
        Interval(x, *ends).during(t, 0, rows[:, 1].max()),
        [equation],
        [Neumann(u, 0), Initial(u, initial_density(cells, replicates))],
        {**values, E: 100.0} if crowding else values,
    )


def data(cells: int, *, times: Sequence[float] = TIMES, replicates: Sequence[int] = REPLICATES) -> Data:
    """Return the data of these replicates at these times after t = 0; the noise level is estimated."""
    rows = experiment(cells)
    chosen = rows[np.isin(rows[:, 1], times)]
    return Data(u, {x: chosen[:, 0], t: chosen[:, 1]}, densities(chosen, replicates).T)


def densities(rows: Array, replicates: Sequence[int] = REPLICATES) -> Array:
    """Return the densities of these replicates, (rows, replicates), in rows of `experiment`."""
    return np.asarray(rows[:, [1 + i for i in replicates]])


@dataclass(frozen=True)
class Forward:
    """The authors' experiment with one initial density: the problem and the arguments of `pibls.solve`."""

    problem: Problem
    settings: dict[str, Any]
    units: tuple[float, float, float]
    """Units of x, t and u, in µm, hours and cells per µm²."""


def forward(cells: int, units: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> Forward:
    """Return the Fisher-KPP problem from the measured state at t = 0 with the published D and r.

    As in the authors' public code (Shawn-Yangdr/PIBLS at 9d9def0, `physics/applications.py` and
    `configs/experiments/Fisher.yaml`): 0 ≤ x ≤ 1950 µm, linear interpolation of the data at t = 0, no
    flux at the two ends; 20×10 + 20×10 tanh nodes with R = 5, not whitened; 2000 points inside, 800 on the
    boundary, 200 at t = 0; SciPy's tolerances of 1e-8, a loss threshold of ½‖r‖² < 1e-3 and seed 42. Their
    data file is not public: the means of the replicates of all 38 strips are used instead. Points (Sobol) and
    a bias per node are our choice.
    """
    length, hours, density = units
    experiment(cells)  # Raises a KeyError for an unknown number of cells.
    diffusion, rate = PUBLISHED[cells]
    rows = all_strips()
    first = rows[(rows[:, 0] == cells) & (rows[:, 2] == 0)]
    where, mean = first[:, 1] / length, first[:, 3:].mean(axis=1) / density
    equation = sp.Eq(
        u.diff(t),
        diffusion * hours / length**2 * u.diff(x, 2) + rate * hours * u * (1 - u * density / CAPACITY),
    )
    method = NLSQPerturb(
        delta=0.5, rounds=5, tolerance=2e-3, trust_region=TrustRegion(ftol=1e-8, xtol=1e-8, gtol=1e-8)
    )
    return Forward(
        Problem(
            Interval(x, 0, 1950 / length).during(t, 0, 48 / hours),
            [equation],
            [Neumann(u, 0), Initial(u, lambda s, _: np.interp(s, where, mean))],
        ),
        {
            "basis": Broad(20, 10, 20, 10, scale=5.0),
            "points": Points(2000, 800, 200),
            "method": method,
            "seed": 42,
        },
        units,
    )
