"""Points of the unit cube: rules that fill [0, 1]^d evenly, at random, or clustered to the faces.

Sobol points are generated here rather than by scipy.stats, whose import alone takes longer than
most of our solves.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

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
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)


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
    if d > len(_JOE_KUO) + 1:
        return halton(n, d, rng)
    index = np.arange(n, dtype=np.uint64)
    gray = index ^ (index >> np.uint64(1))
    shift = rng.integers(0, 1 << _BITS, size=d, dtype=np.uint64)
    out = np.empty((n, d))
    for j in range(d):
        bits = np.full(n, shift[j], dtype=np.uint64)
        for i, direction in enumerate(_directions(j)[: max(n, 2).bit_length()]):
            bits ^= np.where((gray >> np.uint64(i)) & np.uint64(1), np.uint64(direction), np.uint64(0))
        out[:, j] = (bits.astype(float) + 0.5) / 2.0**_BITS
    return out


def halton(n: int, d: int, rng: np.random.Generator) -> Array:
    """The first n Halton points, shifted at random modulo 1."""
    if d > len(_PRIMES):
        return np.asarray(rng.random((n, d)))
    out = np.zeros((n, d))
    for j in range(d):
        index, weight = np.arange(1, n + 1), 1.0
        while index.any():
            weight /= _PRIMES[j]
            out[:, j] += weight * (index % _PRIMES[j])
            index //= _PRIMES[j]
    return np.asarray((out + rng.random(d)) % 1.0)


def uniform(n: int, d: int, rng: np.random.Generator) -> Array:
    """n independent uniform points."""
    return np.asarray(rng.random((n, d)))


def lhs(n: int, d: int, rng: np.random.Generator) -> Array:
    """A Latin hypercube: one point in each of n slabs, in every coordinate."""
    slabs = np.column_stack([rng.permutation(n) for _ in range(d)]) if d else np.empty((n, 0))
    return np.asarray((slabs + rng.random((n, d))) / max(n, 1))


def _tensor(n: int, d: int, nodes: Callable[[int], Array]) -> Array:
    """The largest tensor grid of at most n points with nearly equal sides."""
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


def grid(n: int, d: int, rng: np.random.Generator) -> Array:
    """Midpoints (i + ½)/m of a tensor grid."""
    return _tensor(n, d, lambda m: (np.arange(m) + 0.5) / m)


def chebyshev(n: int, d: int, rng: np.random.Generator) -> Array:
    """Chebyshev nodes ½ - ½ cos((i + ½)π/m), a tensor grid clustered towards the faces."""
    return _tensor(n, d, lambda m: 0.5 - 0.5 * np.cos((np.arange(m) + 0.5) * np.pi / m))


RULES: dict[str, Callable[[int, int, np.random.Generator], Array]] = {
    "sobol": sobol,
    "halton": halton,
    "uniform": uniform,
    "grid": grid,
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
    return _tensor(n, d, lambda m: np.linspace(0.0, 1.0, m) if m > 1 else np.array([0.5]))


def lobatto(n: int, d: int, rng: np.random.Generator) -> Array:
    """Chebyshev-Lobatto nodes ½ - ½ cos(iπ/(m - 1)): clustered, and including the faces."""
    return _tensor(
        n, d, lambda m: 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, m)) if m > 1 else np.array([0.5])
    )


# On a boundary face the ends are corners of the domain, where a condition should hold as well.
CLOSED_RULES = {**RULES, "grid": closed_grid, "chebyshev": lobatto}
