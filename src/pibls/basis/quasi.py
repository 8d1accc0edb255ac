"""Points of the unit cube: rules that fill [0, 1]^d evenly, at random, or clustered to the faces.

Sobol points of up to 12 dimensions are generated here rather than by scipy.stats, whose import alone
takes longer than most of our solves; it has the direction numbers of 21,201.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array
from pibls.errors import ProblemError

# Primitive polynomials and initial direction numbers of Joe and Kuo (2008), dimensions 2 to 12:
# degree, coefficients, m_1 … m_degree. Dimension 1 is the van der Corput sequence.
_JOE_KUO: tuple[tuple[int, int, tuple[int, ...]], ...] = (
    (1, 0, (1,)),
    (2, 1, (1, 3)),
    (3, 1, (1, 3, 1)),
    (3, 2, (1, 1, 1)),
    (4, 1, (1, 1, 3, 3)),
    (4, 4, (1, 3, 5, 13)),
    (5, 2, (1, 1, 5, 5, 17)),
    (5, 4, (1, 1, 5, 5, 5)),
    (5, 7, (1, 1, 7, 11, 19)),
    (5, 11, (1, 1, 5, 1, 1)),
    (5, 13, (1, 1, 1, 3, 11)),
)
_BITS = 32


def _directions(dimension: int) -> list[int]:
    if dimension == 0:
        return [1 << (_BITS - 1 - i) for i in range(_BITS)]
    degree, coefficients, initial = _JOE_KUO[dimension - 1]
    v = [m << (_BITS - 1 - i) for i, m in enumerate(initial)]
    for i in range(degree, _BITS):
        value = v[i - degree] ^ (v[i - degree] >> degree)
        for k in range(1, degree):
            if (coefficients >> (degree - 1 - k)) & 1:
                value ^= v[i - k]
        v.append(value)
    return v


def sobol(n: int, d: int, rng: np.random.Generator) -> Array:
    """The first n Sobol points, moved by a random digital shift."""
    shift = rng.integers(0, 1 << _BITS, size=d, dtype=np.uint64)
    if d > len(_JOE_KUO) + 1:
        from scipy.stats import qmc

        # Asked for 2^m points it does not warn that their number is no power of two.
        theirs = qmc.Sobol(d, scramble=False, bits=_BITS).random_base2(max(n - 1, 0).bit_length())[:n]
        return np.asarray((((theirs * 2.0**_BITS).astype(np.uint64) ^ shift) + 0.5) / 2.0**_BITS)
    return np.asarray(((_unshifted(n, d) ^ shift).astype(float) + 0.5) / 2.0**_BITS)


@lru_cache(maxsize=64)
def _unshifted(n: int, d: int) -> npt.NDArray[np.uint64]:
    """The first n Sobol points as whole numbers; cells ask for the same ones again and again."""
    index = np.arange(n, dtype=np.uint64)
    gray = index ^ (index >> np.uint64(1))
    out = np.zeros((n, d), dtype=np.uint64)
    for j in range(d):
        for i, direction in enumerate(_directions(j)[: max(n, 2).bit_length()]):
            out[:, j] ^= np.where((gray >> np.uint64(i)) & np.uint64(1), np.uint64(direction), np.uint64(0))
    return out


def halton(n: int, d: int, rng: np.random.Generator) -> Array:
    """The first n Halton points, shifted at random modulo 1."""
    return np.asarray((_unmoved(n, d) + rng.random(d)) % 1.0)


@lru_cache(maxsize=64)
def _unmoved(n: int, d: int) -> Array:
    """The first n Halton points: every solve asks for the same ones."""
    out = np.zeros((n, d))
    for j, prime in enumerate(_primes(d)):
        index, weight = np.arange(1, n + 1), 1.0
        while index.any():
            weight /= prime
            out[:, j] += weight * (index % prime)
            index //= prime
    return out


def _primes(count: int) -> list[int]:
    found: list[int] = []
    candidate = 2
    while len(found) < count:
        if all(candidate % p for p in found):
            found.append(candidate)
        candidate += 1
    return found


def uniform(n: int, d: int, rng: np.random.Generator) -> Array:
    """n independent uniform points."""
    return np.asarray(rng.random((n, d)))


@lru_cache(maxsize=64)
def spread(n: int, d: int, seed: int) -> Array:
    """n points of a Halton sequence that are always the same: do not write into them."""
    return halton(n, d, np.random.default_rng(seed))


def lhs(n: int, d: int, rng: np.random.Generator) -> Array:
    """A Latin hypercube: one point in each of n slabs, in every coordinate."""
    slabs = np.column_stack([rng.permutation(n) for _ in range(d)]) if d else np.empty((n, 0))
    return np.asarray((slabs + rng.random((n, d))) / max(n, 1))


def _tensor(n: int, d: int, nodes: Callable[[int], Array]) -> Array:
    """The largest tensor grid of at most n points with nearly equal sides."""
    return _tensor_of(n, d, nodes).copy()


@lru_cache(maxsize=128)
def _tensor_of(n: int, d: int, nodes: Callable[[int], Array]) -> Array:
    if d == 0:
        return np.empty((n, 0))
    sides = [int(n ** (1.0 / d) + 1e-9)] * d
    grown = True
    while grown:
        # One more for each side in turn: growing the first alone would make 63 = 7 × 3 × 3.
        grown = False
        for i in range(d):
            if np.prod(sides) // sides[i] * (sides[i] + 1) <= n:
                sides[i] += 1
                grown = True
    grids = np.meshgrid(*(nodes(s) for s in sides), indexing="ij")
    return np.column_stack([g.ravel() for g in grids])


def _midpoints(m: int) -> Array:
    return (np.arange(m) + 0.5) / m


def _chebyshev(m: int) -> Array:
    return 0.5 - 0.5 * np.cos((np.arange(m) + 0.5) * np.pi / m)


def _evenly(m: int) -> Array:
    return np.linspace(0.0, 1.0, m) if m > 1 else np.array([0.5])


def _lobatto(m: int) -> Array:
    return 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, m)) if m > 1 else np.array([0.5])


def grid(n: int, d: int, rng: np.random.Generator) -> Array:
    """Midpoints (i + ½)/m of a tensor grid."""
    return _tensor(n, d, _midpoints)


def chebyshev(n: int, d: int, rng: np.random.Generator) -> Array:
    """Chebyshev nodes ½ - ½ cos((i + ½)π/m), a tensor grid clustered towards the faces."""
    return _tensor(n, d, _chebyshev)


def closed_part(n: int, d: int, rng: np.random.Generator) -> Array:
    """n points of the grid i/(m - 1) with m = ⌈n^{1/d}⌉ along each axis: all of them, or some at random."""
    if d == 0:
        return np.empty((n, 0))
    sides = (max(2, math.ceil(round(n ** (1.0 / d), 9))) if d > 1 else n,) * d
    grids = np.meshgrid(*(_evenly(s) for s in sides), indexing="ij")
    every = np.column_stack([g.ravel() for g in grids])
    return every if len(every) == n else every[rng.permutation(len(every))[:n]]


RULES: dict[str, Callable[[int, int, np.random.Generator], Array]] = {
    "sobol": sobol,
    "halton": halton,
    "uniform": uniform,
    "grid": grid,
    "closed-grid": closed_part,
    "chebyshev": chebyshev,
    "lhs": lhs,
}


def rule(name: str, argument: str) -> str:
    """The name itself if it is a rule, else an error that lists the valid ones."""
    if not isinstance(name, str) or name not in RULES:
        raise ProblemError(
            argument,
            expected=f"one of {', '.join(map(repr, RULES))}",
            got=repr(name),
            remedy="Choose one of these names.",
        )
    return name


def closed_grid(n: int, d: int, rng: np.random.Generator) -> Array:
    """A tensor grid i/(m - 1) that includes the faces."""
    return _tensor(n, d, _evenly)


def lobatto(n: int, d: int, rng: np.random.Generator) -> Array:
    """Chebyshev-Lobatto nodes ½ - ½ cos(iπ/(m - 1)): clustered, and including the faces."""
    return _tensor(n, d, _lobatto)


# On a boundary face the ends are corners of the domain, where a condition should hold as well.
CLOSED_RULES = {**RULES, "grid": closed_grid, "chebyshev": lobatto}
