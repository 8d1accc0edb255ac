"""Point sets in the unit cube [0, 1]^d: Sobol, Halton, uniform, Latin hypercube, tensor grids.

Sobol points in up to 12 dimensions are generated here, because importing scipy.stats takes longer than most
solves; in more dimensions scipy.stats is used.
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
    """Return the first n Sobol points with a random digital shift."""
    shift = rng.integers(0, 1 << _BITS, size=d, dtype=np.uint64)
    if d > len(_JOE_KUO) + 1:
        from scipy.stats import qmc

        # SciPy warns unless the number of points is a power of two.
        theirs = qmc.Sobol(d, scramble=False, bits=_BITS).random_base2(max(n - 1, 0).bit_length())[:n]
        return np.asarray((((theirs * 2.0**_BITS).astype(np.uint64) ^ shift) + 0.5) / 2.0**_BITS)
    return np.asarray(((_sobol_integers(n, d) ^ shift).astype(float) + 0.5) / 2.0**_BITS)


@lru_cache(maxsize=64)
def _sobol_integers(n: int, d: int) -> npt.NDArray[np.uint64]:
    """The first n Sobol points as integers; cached because every cell uses the same points."""
    index = np.arange(n, dtype=np.uint64)
    gray = index ^ (index >> np.uint64(1))
    out = np.zeros((n, d), dtype=np.uint64)
    for j in range(d):
        for i, direction in enumerate(_directions(j)[: max(n, 2).bit_length()]):
            out[:, j] ^= np.where((gray >> np.uint64(i)) & np.uint64(1), np.uint64(direction), np.uint64(0))
    return out


def halton(n: int, d: int, rng: np.random.Generator) -> Array:
    """Return the first n Halton points with a random shift modulo 1."""
    return np.asarray((_halton_sequence(n, d) + rng.random(d)) % 1.0)


@lru_cache(maxsize=64)
def _halton_sequence(n: int, d: int) -> Array:
    """The first n Halton points; cached because every solve uses them."""
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
    """Return n independent uniform points."""
    return np.asarray(rng.random((n, d)))


@lru_cache(maxsize=64)
def fixed_halton(n: int, d: int, seed: int) -> Array:
    """Return n shifted Halton points that depend on the seed only; cached, so do not modify them."""
    return halton(n, d, np.random.default_rng(seed))


def lhs(n: int, d: int, rng: np.random.Generator) -> Array:
    """Return a Latin hypercube sample: one point in each of n slabs, in every coordinate."""
    slabs = np.column_stack([rng.permutation(n) for _ in range(d)]) if d else np.empty((n, 0))
    return np.asarray((slabs + rng.random((n, d))) / max(n, 1))


def _tensor(n: int, d: int, nodes: Callable[[int], Array]) -> Array:
    """Return the largest tensor grid of at most n points with nearly equal sides."""
    return _tensor_of(n, d, nodes).copy()


@lru_cache(maxsize=128)
def _tensor_of(n: int, d: int, nodes: Callable[[int], Array]) -> Array:
    if d == 0:
        return np.empty((n, 0))
    sides = [int(n ** (1.0 / d) + 1e-9)] * d
    grown = True
    while grown:
        # Extend each side in turn: extending the first one only would give 63 = 7 × 3 × 3.
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
    """Return midpoints (i + ½)/m of a tensor grid."""
    return _tensor(n, d, _midpoints)


def chebyshev(n: int, d: int, rng: np.random.Generator) -> Array:
    """Return a tensor grid of Chebyshev nodes ½ - ½ cos((i + ½)π/m), clustered towards the faces."""
    return _tensor(n, d, _chebyshev)


def closed_grid_subset(n: int, d: int, rng: np.random.Generator) -> Array:
    """Return n points, at random if it has more, of the grid i/(m - 1), m = ⌈n^{1/d}⌉ along each axis."""
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
    "closed-grid": closed_grid_subset,
    "chebyshev": chebyshev,
    "lhs": lhs,
}


def check_rule(name: str, argument: str) -> str:
    """Return the name if it is a rule, else raise an error that lists the valid names."""
    if not isinstance(name, str) or name not in RULES:
        raise ProblemError(
            argument,
            expected=f"one of {', '.join(map(repr, RULES))}",
            got=repr(name),
            remedy="Choose one of these names.",
        )
    return name


def closed_grid(n: int, d: int, rng: np.random.Generator) -> Array:
    """Return a tensor grid i/(m - 1) that includes the faces."""
    return _tensor(n, d, _evenly)


def lobatto(n: int, d: int, rng: np.random.Generator) -> Array:
    """Return a tensor grid of Chebyshev-Lobatto nodes ½ - ½ cos(iπ/(m - 1)), which includes the faces."""
    return _tensor(n, d, _lobatto)


# Rules for boundary faces: their ends are corners of the domain, where conditions are collocated as well.
CLOSED_RULES = {**RULES, "grid": closed_grid, "chebyshev": lobatto}
