r"""The scale-width rule R(N, d): the range of random weights for N functions in d dimensions.

The paper leaves open how to choose the range R of the random weights. If R is too small, the functions are
numerically dependent. If R is too large, neighbouring frequencies are so far apart that functions between
them are not represented. The best R, for any equation, is where the numerical rank of the N functions on
[-1, 1]^d is a fixed fraction of N. This R is measured without any equation and stored as a table; between and
beyond the tabulated widths R is linear in N^{1/d}, because a band |w| ≤ R contains about (R + const)^d
independent functions.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from pibls.basis.cube_points import sobol
from pibls.basis.feature import Features
from pibls.basis.protocol import BasisSpec
from pibls.basis.random_fourier import RandomFourierFeatures

RANK_FRACTION = 0.8
"""Numerical rank divided by N at the best R."""
MIN_SCALE = 1e-7
"""Lower end of the bisection for R; no entry of the table may equal it."""
WIDTHS = (32, 64, 128, 256, 512, 1024)
KINDS = ("waves", "tanh", "gaussian")

# Written by benchmarks/scale_table.py: R for each width of WIDTHS.
TABLE: dict[tuple[str, int], tuple[float, ...]] = {
    ("waves", 1): (11.7, 44.5, 119, 276, 556, 1.03e03),
    ("waves", 2): (0.0509, 0.397, 1.68, 4.84, 11.2, 22.1),
    ("waves", 3): (0.00161, 0.0157, 0.103, 0.406, 1.11, 2.48),
    ("waves", 4): (0.000129, 0.00207, 0.0141, 0.0718, 0.214, 0.536),
    ("waves", 5): (6.5e-05, 0.0012, 0.00292, 0.0156, 0.0608, 0.167),
    ("tanh", 1): (2.07, 5.7, 14.3, 31.5, 75.3, 173),
    ("tanh", 2): (0.0188, 0.112, 0.431, 1.01, 1.96, 3.34),
    ("tanh", 3): (0.000958, 0.00217, 0.026, 0.111, 0.303, 0.583),
    ("tanh", 4): (5.61e-07, 0.00107, 0.00191, 0.0209, 0.0705, 0.154),
    ("tanh", 5): (3.65e-07, 9.54e-07, 0.00117, 0.00212, 0.0201, 0.0561),
    ("gaussian", 1): (2.86, 7.95, 19.4, 44, 97.3, 214),
    ("gaussian", 2): (0.0207, 0.172, 0.584, 1.37, 2.75, 4.76),
    ("gaussian", 3): (0.00105, 0.0149, 0.0601, 0.167, 0.398, 0.775),
    ("gaussian", 4): (0.000659, 0.00113, 0.0138, 0.0267, 0.0863, 0.198),
    ("gaussian", 5): (0.000528, 0.000815, 0.00127, 0.0148, 0.0236, 0.0734),
}


@lru_cache(maxsize=256)
def scale_for(kind: str, nodes: int, dimension: int) -> float:
    """Return R for ``nodes`` functions; ``kind`` is "waves" (random Fourier features) or an activation."""
    radii = TABLE.get((kind, dimension))
    if radii is None:
        radii = tuple(measured_scale(kind, n, dimension) for n in WIDTHS[:4])
    i = min(max(sum(n < nodes for n in WIDTHS[: len(radii)]), 1), len(radii) - 1)
    (a, b), (low, high) = WIDTHS[i - 1 : i + 1], radii[i - 1 : i + 1]
    if nodes < a:
        return float(low * (nodes / a) ** (math.log(high / low) / math.log(b / a)))
    # A band |w| ≤ R on a box contains about (R + const)^d functions: R is linear in N^{1/d}.
    root = 1.0 / dimension
    return float(low + (high - low) * (nodes**root - a**root) / (b**root - a**root))


@lru_cache(maxsize=256)
def measured_scale(kind: str, nodes: int, dimension: int) -> float:
    """Return R with numerical rank RANK_FRACTION·nodes, by bisection on log R with the mean of two draws."""
    low, high = math.log(MIN_SCALE), math.log(20.0 * nodes)
    while high - low > 0.02:
        middle = 0.5 * (low + high)
        share = np.mean([rank_fraction(kind, nodes, dimension, math.exp(middle), seed) for seed in (0, 1)])
        low, high = (middle, high) if share < RANK_FRACTION else (low, middle)
    return math.exp(0.5 * (low + high))


def rank_fraction(kind: str, nodes: int, dimension: int, scale: float, seed: int) -> float:
    """Return the numerical rank of the functions on [-1, 1]^d divided by their number."""
    rng = np.random.default_rng(seed)
    box = np.array([[-1.0, 1.0]] * dimension)
    spec: BasisSpec = RandomFourierFeatures(nodes, scale) if kind == "waves" else Features(nodes, scale, kind)
    X = 2.0 * sobol(2 * nodes, dimension, rng) - 1.0
    A = spec.draw(box, rng).jets(X, [(0,) * dimension])[0]
    values = np.linalg.svd(A, compute_uv=False)
    # Singular values below eps·√N·σ₁ are rounding errors.
    return float(np.mean(values > np.finfo(float).eps * np.sqrt(nodes) * values[0]))
