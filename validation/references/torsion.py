"""-Δu = 1 on the unit square, and the quenched rod, by series."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy.integrate
import scipy.special

from validation.references.series import summed
from validation.statements.types import Array, References


def torsion_series(xs: Array, ys: Array, terms: int = 3000) -> Array:
    """-Laplace u = 1 on the unit square with u = 0 around, by its series in the better direction."""
    xs, ys = np.broadcast_arrays(np.asarray(xs, dtype=float), np.asarray(ys, dtype=float))
    swap = np.abs(xs - 0.5) < np.abs(ys - 0.5)
    a, b = np.where(swap, ys, xs), np.where(swap, xs, ys)
    n = 2.0 * np.arange(terms) + 1

    def term(k: Array, p: Array, q: Array) -> Array:
        ratio = (np.exp(-k * np.pi * q) + np.exp(-k * np.pi * (1 - q))) / (1 + np.exp(-k * np.pi))
        found: Array = 4 / (np.pi * k) ** 3 * np.sin(k * np.pi * p) * ratio
        return found

    result: Array = a * (1 - a) / 2 - summed(term, n, a, b)
    return result


def torsion_by_time(dimension: int) -> References:
    """The same as one integral over time.

    U = int_0^inf prod_i theta(x_i, s) ds with theta the quenched rod.
    """
    nodes, weights = np.polynomial.legendre.leggauss(20)
    edges = np.concatenate([[0.0], np.geomspace(1e-14, 0.15, 44), np.linspace(0.15, 2.5, 8)[1:]])
    s = np.concatenate([(a + b) / 2 + (b - a) / 2 * nodes for a, b in pairwise(edges)])
    w = np.concatenate([(b - a) / 2 * weights for a, b in pairwise(edges)])

    def evaluate(*coordinates: Array) -> Array:
        product = np.ones((1, len(s)))
        for c in np.broadcast_arrays(*coordinates)[:dimension]:
            product = product * cooled_rod(np.ravel(c)[:, None], s[None, :])
        return np.reshape(product @ w, np.shape(coordinates[0]))

    return {"u": evaluate}


def cooled_rod(xs: Array, ts: Array) -> Array:
    """u_t = u_xx on [0, 1], u = 1 at the beginning and 0 at both ends: images early, modes late."""
    xs, ts = np.broadcast_arrays(np.asarray(xs, dtype=float), np.asarray(ts, dtype=float))
    root = np.sqrt(4 * np.maximum(ts, 1e-300))
    early = np.ones(xs.shape)
    for k in range(6):
        early -= (-1) ** k * (scipy.special.erfc((k + xs) / root) + scipy.special.erfc((k + 1 - xs) / root))
    late = np.zeros(xs.shape)
    for k in range(1, 16, 2):
        late += 4 / (np.pi * k) * np.sin(k * np.pi * xs) * np.exp(-((k * np.pi) ** 2) * ts)
    return np.where(ts < 0.15, early, late)
